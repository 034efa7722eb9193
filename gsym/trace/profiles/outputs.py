"""Output formats of profiles: collapsed stacks, speedscope, and a writer for each."""

from __future__ import annotations

import json

from gsym.trace.profiles.call_tree import call_stacks, thread_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.trace.profiles.model import Frame, Profile, Sample

    # A profile, which of its values, a title, roots of stacks -> the file.
    Writer = Callable[[Profile, int, str, tuple[str, ...]], bytes]


# Characters that end a frame or a line in this format, or that a terminal interprets.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xDC80, 0xDCA0))
_REPLACED = {ord(";"): ":", **dict.fromkeys(_CONTROLS, " ")}


def collapsed_lines(
    profile: Profile, value: int = 0, roots: tuple[str, ...] = ()
) -> Iterator[str]:
    """The lines, without their ends, in the order of their text.

    Args:
        profile: Whose stacks they are; equal ones are one line.
        value: Which of its value types is summed, counted from 0.
        roots: Which of `call_tree.ROOTS` each stack begins with.

    Yields:
        Names have `:` in place of `;`, and a space in place of a control character.
        Stacks whose sum is 0 have no line.
    """
    sums: dict[str, int] = {}
    for frames, weight in call_stacks(profile, value, roots):
        text = ";".join(frame.name.translate(_REPLACED) for frame in frames)
        sums[text] = sums.get(text, 0) + weight
    for text, weight in sorted(sums.items()):
        if weight:
            yield f"{text} {weight}"


_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Units by those of pprof; speedscope shows others as bare numbers.
_UNITS = {
    "bytes": "bytes",
    "microseconds": "microseconds",
    "milliseconds": "milliseconds",
    "nanoseconds": "nanoseconds",
    "seconds": "seconds",
}


def speedscope_file(
    profile: Profile, value: int = 0, name: str = "profile"
) -> dict[str, Any]:
    """The file of speedscope, ready for JSON: a profile of samples for each thread.

    Source: speedscope's `file-format-spec.ts`, schema of version 0.0.1.

    Args:
        profile: Whose samples it has, in the order of their times where all have one.
        value: Which of its value types is the weight, counted from 0. Weights below 0,
            which the format does not have, are left out.
        name: Of the whole.
    """
    frames = _FrameTable()
    stacks = [
        [frames.index(frame) for frame in reversed(profile.frames_of(stack))]
        for stack in range(len(profile.stacks))
    ]
    unit = _UNITS.get(profile.value_types[value].unit, "none")
    by_thread: dict[int | None, list[Sample]] = {}
    for sample in profile.samples:
        by_thread.setdefault(sample.thread, []).append(sample)
    profiles = []
    for thread, samples in by_thread.items():
        if all(sample.time is not None for sample in samples):
            samples.sort(key=lambda sample: sample.time or 0)
        kept = [sample for sample in samples if sample.values[value] >= 0]
        weights = [sample.values[value] for sample in kept]
        profiles.append(
            {
                "type": "sampled",
                "name": name if thread is None else _thread_name(profile, thread),
                "unit": unit,
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [stacks[sample.stack] for sample in kept],
                "weights": weights,
            }
        )
    return {
        "$schema": _SCHEMA,
        "shared": {"frames": frames.entries},
        "profiles": profiles,
        "name": name,
        "activeProfileIndex": 0,
        "exporter": "gsym",
    }


class _FrameTable:
    """Frames by their indexes; those that look the same in speedscope are one."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._indexes: dict[tuple[str, str, int], int] = {}

    def index(self, frame: Frame) -> int:
        """The index of a frame."""
        key = (frame.name, frame.path, frame.line)
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = len(self.entries)
            entry: dict[str, Any] = {"name": frame.name}
            if frame.path:
                entry["file"] = frame.path
            if frame.line:
                entry["line"] = frame.line
            self.entries.append(entry)
        return found


def _thread_name(profile: Profile, thread: int) -> str:
    found = thread_frames(profile.threads[thread], ("process", "thread"))
    return " / ".join(frame.name for frame in found)


def _pprof(
    profile: Profile, _value: int, _title: str, _roots: tuple[str, ...]
) -> bytes:
    from gsym.trace.profiles.pprof_output import pprof_file

    return pprof_file(profile)


def _collapsed(
    profile: Profile, value: int, _title: str, roots: tuple[str, ...]
) -> bytes:
    lines = collapsed_lines(profile, value, roots)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _speedscope(
    profile: Profile, value: int, title: str, _roots: tuple[str, ...]
) -> bytes:
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
    """The form of a file by its name; None for an unknown one."""
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
            only one.
        title: In forms that have one.
        roots: Which of `call_tree.ROOTS` each stack begins with, in forms that hold
            only stacks.

    Raises:
        GsymError: A number is too large for the form.
        UnsupportedError: It needs a package that is not installed.
    """
    return _WRITERS[form](profile, value, title, roots)
