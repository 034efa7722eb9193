"""The forms that a profile can be written in, and what their files are called."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.trace.profiles.model import Profile

    # A profile, which of its values, a title, roots of stacks -> the file.
    Writer = Callable[[Profile, int, str, tuple[str, ...]], bytes]


def _pprof(
    profile: Profile, _value: int, _title: str, _roots: tuple[str, ...]
) -> bytes:
    from gsym.trace.profiles.pprof_output import pprof_file

    return pprof_file(profile)


def _collapsed(
    profile: Profile, value: int, _title: str, roots: tuple[str, ...]
) -> bytes:
    from gsym.trace.profiles.call_stacks import collapsed_lines

    lines = collapsed_lines(profile, value, roots)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _speedscope(
    profile: Profile, value: int, title: str, _roots: tuple[str, ...]
) -> bytes:
    from gsym.trace.profiles.speedscope import speedscope_file

    return json.dumps(speedscope_file(profile, value, title)).encode()


def _firefox(
    profile: Profile, value: int, title: str, _roots: tuple[str, ...]
) -> bytes:
    from gsym.trace.profiles.firefox import firefox_profile

    return json.dumps(firefox_profile(profile, value, title)).encode()


def _html(profile: Profile, value: int, title: str, roots: tuple[str, ...]) -> bytes:
    from gsym.trace.profiles.flame_graph import flame_graph

    return flame_graph((profile,), title, value=value, roots=roots).encode(
        "utf-8", "replace"
    )


def _fxt(profile: Profile, _value: int, _title: str, _roots: tuple[str, ...]) -> bytes:
    from gsym.trace.profiles.fxt_output import fxt_file

    return fxt_file(profile)


_WRITERS: dict[str, Writer] = {
    "pprof": _pprof,
    "collapsed": _collapsed,
    "speedscope": _speedscope,
    "firefox": _firefox,
    "html": _html,
    "fxt": _fxt,
}
FORMS = tuple(_WRITERS)
_ENDINGS = {
    ".pb.gz": "pprof",
    ".pprof": "pprof",
    ".folded": "collapsed",
    ".collapsed": "collapsed",
    ".txt": "collapsed",
    ".speedscope.json": "speedscope",
    ".speedscope": "speedscope",
    ".firefox.json": "firefox",
    ".html": "html",
    ".fxt": "fxt",
}


def form_of(path: str) -> str | None:
    """The form that the name of a file stands for; None for an unknown one."""
    name = path.lower()
    return next((form for end, form in _ENDINGS.items() if name.endswith(end)), None)


def write_form(
    profile: Profile,
    form: str,
    *,
    value: int = 0,
    title: str = "profile",
    roots: tuple[str, ...] = (),
) -> bytes:
    """A profile as a file.

    Args:
        profile: What to write.
        form: One of `FORMS`.
        value: Which of its value types is written, counted from 0, by forms that hold
            one only.
        title: Of the whole, in forms that have one.
        roots: Which of `call_stacks.ROOTS` stand in front of each stack, in forms that
            hold stacks alone.

    Raises:
        GsymError: A number is too large for the form.
        UnsupportedError: It needs a package that is not installed.
    """
    return _WRITERS[form](profile, value, title, roots)
