"""Paths of source files as clients can use them.

A build names the folders of the machine it ran on. Rules turn them into folders of the
reader's machine, or into the forms that the Firefox Profiler downloads from:

    hg:HOST/REPOSITORY:PATH:REVISION
    git:HOST/REPOSITORY:PATH:REVISION
    s3:BUCKET:DIGEST/PATH:
"""

from __future__ import annotations

import posixpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACE = "{path}"


class PathMap:
    """Rewrites paths.

    Args:
        prefixes: (old, new); the first whose *old* a path opens with counts.
        sources: (old, template), asked for what came of that. `{path}` in a template
            stands for the path behind *old*, with slashes and without `..`.
    """

    def __init__(
        self,
        prefixes: Sequence[tuple[str, str]] = (),
        sources: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._prefixes = tuple(prefixes)
        self._sources = tuple(sources)

    def __bool__(self) -> bool:
        return bool(self._prefixes or self._sources)

    def __call__(self, path: str) -> str:
        """What becomes of *path*; itself where no rule fits."""
        for old, new in self._prefixes:
            if path.startswith(old):
                path = new + path[len(old) :]
                break
        for old, template in self._sources:
            if path.startswith(old):
                rest = path[len(old) :].replace("\\", "/").lstrip("/")
                inner = posixpath.normpath(rest)
                if inner == ".." or inner.startswith("../"):
                    continue  # it is another folder after all
                return template.replace(_PLACE, inner)
        return path


def read_rule(text: str, *, has_place: bool = False) -> tuple[str, str]:
    """The two parts of `OLD=NEW`.

    Args:
        text: The rule.
        has_place: Whether NEW has to have `{path}` in it.

    Raises:
        ValueError: It has another form.
    """
    old, equals, new = text.partition("=")
    if not old or not equals:
        raise ValueError(f"'{text}' is not of the form OLD=NEW")
    if has_place and _PLACE not in new:
        raise ValueError(f"'{text}' has no {_PLACE} behind the =")
    return old, new
