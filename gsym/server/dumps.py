"""Core files and minidumps, read by confined processes.

Such a process knows no files of modules but those that it is given. It says of which
modules more files may give longer stacks, and is run again with these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gsym.confined.adding import is_file_in
from gsym.confined.confinement import ChildLimits
from gsym.confined.process import run_confined
from gsym.errors import FormatError
from gsym.memory.stack_parts import (
    NO_LIMITS,
    ParsedReport,
    StackBuilder,
    StackFrame,
    StackHeading,
    StackModule,
)
from gsym.model import UINT64_END
from gsym.modules.key import ModuleKey
from gsym.reports.confined_dump import module_name

_MOST_RUNS = 16
_INVALID = "reading the dump had an invalid result"
_ModuleRow = Annotated[list[str], Meta(min_length=6, max_length=6)]


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
    modules: list[_ModuleRow]
    parts: list[str | Frame]

    def report(self) -> ParsedReport:
        """The report."""
        stack = StackBuilder(NO_LIMITS)
        for each in self.parts:
            if isinstance(each, str):
                stack.add_text(each)
                continue
            is_known = each.module < len(self.modules) and each.stack < len(self.stacks)
            if not (is_known and 0 <= each.address < UINT64_END):
                raise FormatError(_INVALID)
            stack.heading = each.stack
            stack.add_frame(StackFrame(**msgspec.structs.asdict(each)))
        return stack.finish(self.form)._replace(
            modules=tuple(
                StackModule(row[0], ModuleKey(*row[2:]), path=row[1])
                for row in self.modules
            ),
            notes=tuple(self.notes),
            headings=tuple(StackHeading(*each) for each in self.stacks),
            reason=self.reason,
        )


class _Answer(msgspec.Struct):
    file: str
    report: Stacks | None = None
    wanted: list[_ModuleRow] = []


def read_dump(
    path: str,
    folder: str,
    files_of: Callable[[ModuleKey, str], Iterator[str]],
    limits: ChildLimits,
    most_inflated: int,
) -> ParsedReport | str:
    """The stacks of a dump in *folder*, or the path of a text that was compressed.

    *files_of* returns the files of a module, given its key and name, that may have its
    code.
    """
    places: dict[str, Iterator[str]] = {}
    files: dict[str, list[str]] = {}

    def run(file: str) -> _Answer:
        order = {
            "path": file,
            "folder": folder,
            "files": files,
            "most_inflated": most_inflated,
        }
        known = {each: None for paths in files.values() for each in paths}
        there = [os.path.realpath(each) for each in known if os.path.isfile(each)]
        found = run_confined(
            *("dump", order, folder, limits),
            inputs=[file],
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

    answer = run(path)
    for _ in range(_MOST_RUNS):
        is_more = False
        for row in answer.wanted:
            name = module_name(row)
            if name not in places:
                places[name] = files_of(ModuleKey(*row[2:]), row[0])
            file = next(places[name], None)
            if file is not None:
                files.setdefault(name, []).append(file)
                is_more = True
        if not is_more:
            break
        answer = run(answer.file)
    return answer.file if answer.report is None else answer.report.report()
