"""Core files and minidumps that are sent to a server, read by confined processes.

Such a process knows no files of modules but those that it is given. It says of which
modules more files may give longer stacks, and is run again with these.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gsym.confined.adding import is_file_in
from gsym.confined.process import run_confined
from gsym.errors import FormatError
from gsym.memory.stack_parts import (
    ParsedReport,
    StackFrame,
    StackHeading,
    StackModule,
)
from gsym.model import UINT64_END
from gsym.modules.key import ModuleKey
from gsym.reports.confined_dump import module_name
from gsym.server.modules import child_limits

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.modules.symbolizer import Symbolizer
    from gsym.server.settings import Settings
    from gsym.store.listing import StoreListing

_MOST_RUNS = 16
_MOST_OF_NAME = 4  # stored modules of one name, of which one may be that of the dump
_INVALID = "reading the dump had an invalid result"


class Frame(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Fields of a `StackFrame`."""

    text: str
    module: Annotated[int, Meta(ge=-1)]
    address: int
    base: Literal["image", "link", "file"]
    is_return: bool
    stack: Annotated[int, Meta(ge=0)]
    trust: str


class Stacks(msgspec.Struct, forbid_unknown_fields=True):
    """The stacks of a dump: a `ParsedReport` as the confined process wrote it."""

    form: str
    reason: str
    notes: list[str]
    stacks: list[tuple[str, bool, str, int, tuple[tuple[str, int], ...], str]]
    modules: list[Annotated[list[str], Meta(min_length=6, max_length=6)]]
    parts: list[str | Frame]

    def report(self) -> ParsedReport:
        """The report."""
        for each in self.parts:
            if isinstance(each, Frame) and not (
                each.module < len(self.modules)
                and 0 <= each.address < UINT64_END
                and each.stack < len(self.stacks)
            ):
                raise FormatError(_INVALID)
        return ParsedReport(
            self.form,
            tuple(
                each
                if isinstance(each, str)
                else StackFrame(
                    *(each.text, each.module, each.address, each.base, each.is_return),
                    stack=each.stack,
                    trust=each.trust,
                )
                for each in self.parts
            ),
            tuple(
                StackModule(row[0], ModuleKey(*row[2:]), path=row[1])
                for row in self.modules
            ),
            notes=tuple(self.notes),
            stacks=tuple(StackHeading(*each) for each in self.stacks),
            reason=self.reason,
        )


class _Answer(msgspec.Struct):
    file: str
    report: Stacks | None = None
    wanted: list[Annotated[list[str], Meta(min_length=6, max_length=6)]] = []


class DumpReader:
    """Reads dumps in confined processes; used by several threads."""

    def __init__(
        self, settings: Settings, symbolizer: Symbolizer, listing: StoreListing | None
    ) -> None:
        self._most = settings.limits.max_dump_inflated
        self._limits = child_limits(settings, self._most)
        self._symbolizer = symbolizer
        self._listing = listing

    def read(self, path: str, folder: str) -> ParsedReport | str:
        """The stacks of a dump; or the path of a text, which may have been compressed.

        Args:
            path: The file.
            folder: A folder for the confined process, in which the file is.

        Raises:
            ConfinedError: The process was stopped or failed.
            LimitError: It exceeds a limit.
        """
        places: dict[str, Iterator[str]] = {}
        files: dict[str, list[str]] = {}
        answer = self._run(path, folder, files)
        for _ in range(_MOST_RUNS):
            if answer.report is None:
                return answer.file
            is_more = False
            for row in answer.wanted:
                name = module_name(row)
                if name not in places:
                    places[name] = self._files(ModuleKey(*row[2:]), row[0])
                file = next(places[name], None)
                if file is not None:
                    files.setdefault(name, []).append(file)
                    is_more = True
            if not is_more:
                break
            answer = self._run(answer.file, folder, files)
        return answer.file if answer.report is None else answer.report.report()

    def _run(self, path: str, folder: str, files: dict[str, list[str]]) -> _Answer:
        order = {
            "path": path,
            "folder": folder,
            "files": files,
            "most_inflated": self._most,
        }
        known = {each: None for several in files.values() for each in several}
        there = [os.path.realpath(each) for each in known if os.path.isfile(each)]
        found = run_confined(
            *("dump", order, folder, self._limits),
            inputs=[path],
            companions=there,
            readable=list(known),
        )
        try:
            answer = msgspec.convert(found, _Answer)
        except msgspec.ValidationError:
            raise FormatError(_INVALID) from None
        if not is_file_in(answer.file, folder):
            raise FormatError(_INVALID)
        return answer

    def _files(self, key: ModuleKey, name: str) -> Iterator[str]:
        """The files of a module that may have its code."""
        yield from (each.path for each in self._symbolizer.binaries(key))
        if self._listing is not None and not (key.debug_id or key.code_id):
            for entry in islice(self._listing.named(name), _MOST_OF_NAME):
                yield from entry.originals.values()
