"""Rewrite paths of source files for clients.

Debug information has paths of the build machine. Rules turn them into paths of the
user's machine, or into the formats that the Firefox Profiler downloads from:

    hg:HOST/REPOSITORY:PATH:REVISION
    git:HOST/REPOSITORY:PATH:REVISION
    s3:BUCKET:DIGEST/PATH:
"""

from __future__ import annotations

import posixpath

from gsym.model import rewritten

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACE = "{path}"


class PathMap:
    """Rewrites paths.

    Args:
        prefixes: (old, new); the first one whose *old* is a prefix of the path is used.
        sources: (old, template), applied to the result. `{path}` in a template is the
            path after *old*, with slashes and without `..`.

    Raises:
        ValueError: A template lacks `{path}`.
    """

    def __init__(
        self,
        prefixes: Sequence[tuple[str, str]] = (),
        sources: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._prefixes = tuple(prefixes)
        self._sources = tuple(sources)
        for old, template in self._sources:
            if _PLACE not in template:
                text = f"'{old}={template}' lacks {_PLACE}"
                raise ValueError(f"setting 'source_map': {text}")

    def __bool__(self) -> bool:
        return bool(self._prefixes or self._sources)

    def __call__(self, path: str) -> str:
        """The rewritten path; *path* if no rule matches."""
        path = rewritten(path, self._prefixes)
        for old, template in self._sources:
            if path.startswith(old):
                rest = path[len(old) :].replace("\\", "/").lstrip("/")
                inner = posixpath.normpath(rest)
                if inner == ".." or inner.startswith("../"):
                    continue  # it is outside the folder
                return template.replace(_PLACE, inner)
        return path
