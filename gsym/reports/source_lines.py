"""Source lines around the calls of a report."""

from __future__ import annotations

import os
from contextlib import suppress
from posixpath import isabs, normpath

from gsym.cache import BoundedCache
from gsym.model import rewritten
from gsym.modules.key import ModuleKey
from gsym.reports.report import SourceContext

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.model import Frame
    from gsym.reports.report import Report, ReportFrame

    ReadSource = Callable[[ModuleKey, str], bytes | None]
    """Reads the source file that a module has under a path; None if it is not there."""

MAX_SOURCE = 8 << 20  # bytes of a source file
_MAX_FILES = 64  # that are kept
# Limit: Source lines before and after that of a call
MAX_AROUND = 100


class SourceLines:
    """Adds source lines to reports.

    Args:
        read: Reads source files.
        around: Number of lines before and after that of a call.
    """

    def __init__(self, read: ReadSource, around: int) -> None:
        self._read = read
        self._around = min(around, MAX_AROUND)
        self._files: BoundedCache[tuple[ModuleKey, str], list[str]] = BoundedCache(
            _MAX_FILES
        )

    def added(self, report: Report) -> Report:
        """The report with the source lines of calls whose source files are there."""
        keys = [
            ModuleKey(debug_id=each.debug_id, code_id=each.code_id)
            for each in report.modules
        ]

        def with_sources(frame: ReportFrame) -> ReportFrame:
            if not frame.calls:
                return frame
            sources = [self._around_call(keys[frame.module], it) for it in frame.calls]
            return frame._replace(sources=tuple(sources))

        return report._replace(
            threads=tuple(
                thread._replace(frames=tuple(map(with_sources, thread.frames)))
                for thread in report.threads
            )
        )

    def _around_call(self, key: ModuleKey, call: Frame) -> SourceContext | None:
        if not call.line or not call.path:
            return None
        lines = self._files.get((key, call.path))
        if lines is None:
            data = None
            with suppress(OSError, ValueError):
                data = self._read(key, call.path)
            if data is None or len(data) > MAX_SOURCE:
                data = b""
            lines = data.decode("utf-8", "replace").splitlines()
            self._files.keep((key, call.path), lines)
        first = max(call.line - self._around, 1)
        shown = lines[first - 1 : call.line + self._around]
        if call.line > len(lines):
            return None  # it is another version of the file
        return SourceContext(first, tuple(map(_printable, shown)))


class LocalSources:
    """Source files on this machine, then those of servers."""

    def __init__(
        self,
        folders: Iterable[str],
        path_map: Iterable[tuple[str, str]] = (),
        fetch: ReadSource = lambda _key, _path: None,
    ) -> None:
        self._folders = tuple(folders)
        self._path_map = tuple(path_map)
        self._fetch = fetch

    def read(self, key: ModuleKey, path: str) -> bytes | None:
        """The contents of a source file of a module; None if there is none."""
        for place in self._places(path):
            if os.path.isfile(place):
                with open(place, "rb") as file:
                    return file.read(MAX_SOURCE + 1)
        return self._fetch(key, path)

    def _places(self, path: str) -> Iterable[str]:
        """Places where a file may be: its path, or an end of it in a folder."""
        moved = rewritten(path, self._path_map)
        if moved != path:
            yield moved
            return
        plain = normpath(path.replace("\\", "/"))
        if isabs(path):
            yield path
        parts = [each for each in plain.split("/") if each not in {"", ".", ".."}]
        for folder in self._folders:
            for first in range(len(parts)):
                yield os.path.join(folder, *parts[first:])


def _printable(line: str) -> str:
    return "".join(
        each if each.isprintable() or each == "\t" else "\N{REPLACEMENT CHARACTER}"
        for each in line
    )
