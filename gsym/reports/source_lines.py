"""Source lines around the calls of a report."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from posixpath import isabs, normpath

from gsym.cache import BoundedCache
from gsym.errors import GsymError
from gsym.model import rewritten
from gsym.modules.key import ModuleKey
from gsym.reports.report import SourceContext
from gsym.reports.source_links import SourceLinks
from gsym.writing.source_part import MAX_SOURCE

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.model import Frame
    from gsym.reports.report import Report, ReportFrame
    from gsym.writing.source_part import SourceFiles

    ReadSource = Callable[[ModuleKey, str], bytes | None]
    """Reads the source file that a module has under a path; None if it is not there."""

_MAX_FILES = 64  # that are kept
# Limit: Source lines before and after that of a call
MAX_AROUND = 100
# Limit: Source line that is shown
MAX_LINE = 4096
_CUT = "..."
# Limit: All source lines and links that are shown of a report
MAX_SHOWN = 64 << 20


class SourceLines:
    """Adds source lines to reports.

    The source files that a module has with it come first, then those that *read* finds.
    Of others, what the module says of their place is added.

    Args:
        read: Reads source files.
        around: Number of lines before and after that of a call.
        sources: Returns the source files that the module with an index has with it.
    """

    def __init__(
        self, read: ReadSource, around: int, sources: Callable[[int], SourceFiles]
    ) -> None:
        self._read = read
        self._around = min(around, MAX_AROUND)
        self._find_sources = sources
        self._sources: dict[int, tuple[SourceFiles, SourceLinks]] = {}
        self._files: BoundedCache[tuple[int, str, int], list[bytes]] = BoundedCache(
            _MAX_FILES
        )
        self._left = MAX_SHOWN
        self._omitted = 0

    def added(self, report: Report) -> Report:
        """The report with the source lines of calls whose source files are there."""
        report = report.with_records()
        keys = [
            ModuleKey(debug_id=each.debug_id, code_id=each.code_id)
            for each in report.modules
        ]

        def with_sources(frame: ReportFrame) -> ReportFrame:
            if not frame.calls:
                return frame
            at = frame.module
            sources = [self._around_call(at, keys[at], each) for each in frame.calls]
            return frame._replace(sources=tuple(sources))

        threads = tuple(
            thread._replace(frames=tuple(map(with_sources, thread.frames)))
            for thread in report.threads
        )
        notes = report.notes
        if self._omitted:
            most = f"a report has at most {MAX_SHOWN} characters of them"
            notes += (f"source lines of {self._omitted} calls are left out: {most}",)
        return report._replace(threads=threads, notes=notes)

    def _around_call(
        self, module: int, key: ModuleKey, call: Frame
    ) -> SourceContext | None:
        if not call.line or not call.path:
            return None
        if module not in self._sources:
            files = self._find_sources(module)
            self._sources[module] = files, SourceLinks(files.links)
        sources, links = self._sources[module]
        lines: list[bytes] = []
        readers: tuple[Callable[[str], bytes | None], ...]
        readers = sources.text, partial(self._read, key)
        for at, read in enumerate(readers):  # a text without the line is another one
            if call.line > len(lines):
                place = module, call.path, at
                known = self._files.get(place)
                lines = self._read_lines(read, call.path) if known is None else known
                self._files.keep(place, lines)
        if call.line <= len(lines):
            first = max(call.line - self._around, 1)
            shown = lines[first - 1 : call.line + self._around]
            found = SourceContext(first, tuple(map(_shown, shown)))
        else:  # the file is not there, or it is another version
            link = links.of(call.path)
            found = SourceContext(call.line, (), _printable(link))
        self._left -= len(found.link) + sum(map(len, found.lines))
        self._omitted += self._left < 0
        return found if self._left >= 0 and (found.lines or found.link) else None

    @staticmethod
    def _read_lines(read: Callable[[str], bytes | None], path: str) -> list[bytes]:
        with suppress(OSError, ValueError, GsymError):
            data = read(path)
            if data is not None and len(data) <= MAX_SOURCE:
                return data.splitlines()  # at ends of lines only, unlike that of `str`
        return []


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


def _shown(line: bytes) -> str:
    text = _printable(line[: MAX_LINE + 1].decode("utf-8", "replace"))
    return text if len(line) <= MAX_LINE else text[: MAX_LINE - len(_CUT)] + _CUT


def _printable(line: str) -> str:
    return "".join(
        each if each.isprintable() or each == "\t" else "\N{REPLACEMENT CHARACTER}"
        for each in line
    )
