"""Inlined calls in a profile of the Firefox Profiler: rows of its tables.

A row of the table of stacks has one frame. Where more functions are at the address of
that, as many rows follow it, and what meant the row means the innermost of them.

Source: the Firefox Profiler's `src/profile-logic/symbolication.js`.
"""

from __future__ import annotations

from gsym.engine.demangling import demangle
from gsym.lazy import json
from gsym.memory.stack_parts import ReportLimits, StackBuilder
from gsym.reports.stacks.browser_profile import (
    HAS_LINE,
    IS_INLINED,
    Scope,
    is_address_name,
    item_of,
    library_modules,
    named_places,
    string_scopes,
)
from gsym.reports.stacks.documents import as_list, as_object

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gsym.model import Frame
    from gsym.reports.report import ReportFrame

    _Place = tuple[int, int]  # a module and an address in it

_STACK_COLUMNS = ("samples", "jsAllocations", "nativeAllocations")


def with_inlined_calls(text: str, frames: Iterable[ReportFrame]) -> str:
    """A profile with the names of functions, and with the calls inlined into them."""
    profile = json.loads(text)
    modules = library_modules(profile, StackBuilder(ReportLimits()))
    known = {(each.module, each.address): each.calls for each in frames if each.calls}
    done: set[int] = set()
    for scope in string_scopes(profile):
        calls = _answer_names(scope, modules, known)
        for tables in scope.threads:
            stacks = as_object(tables.get("stackTable"))
            if not stacks or id(stacks) in done:  # shared with a thread before
                continue
            done.add(id(stacks))
            sharing = [t for t in scope.threads if t.get("stackTable") is stacks]
            _Tables(tables, scope.strings, calls).add_to(sharing)
    return json.dumps(profile, ensure_ascii=False, separators=(",", ":"))


def _answer_names(
    scope: Scope, modules: list[int], known: dict[_Place, tuple[Frame, ...]]
) -> dict[int, tuple[Frame, ...]]:
    """Replace addresses by names; returns the calls by the indexes of these."""
    found: dict[int, tuple[Frame, ...]] = {}
    for index, places in named_places(scope, modules).items():
        is_known = len(places) == 1 and 0 <= index < len(scope.strings)
        if is_known and is_address_name(scope.strings[index]):
            calls = known.get(next(iter(places)), ())
            if calls:
                scope.strings[index] = demangle(calls[-1].name)
                found[index] = calls
    return found


class _Tables:
    """The tables of one or more threads."""

    def __init__(
        self,
        tables: dict[str, Any],
        strings: list[Any],
        calls: dict[int, tuple[Frame, ...]],
    ) -> None:
        self._stacks = as_object(tables.get("stackTable"))
        self._frames = as_object(tables.get("frameTable"))
        self._functions = as_object(tables.get("funcTable"))
        self._strings = strings
        self._numbers: dict[str, int] = {}
        self._calls = calls
        self._inlined: dict[int, list[int]] = {}

    def add_to(self, threads: list[dict[str, Any]]) -> None:
        """Add the inlined calls, and correct what means a row of the stacks."""
        frames = as_list(self._frames.get("func"))
        names = as_list(self._functions.get("name"))
        for row in range(len(frames)):
            name = item_of(names, item_of(frames, row))
            calls = self._calls.get(-1 if name is None else name)
            if calls is not None:
                self._inlined[row] = self._frame_rows(row, calls)
        rows = self._new_stacks()
        for thread in threads:
            for table in _STACK_COLUMNS:
                _renumber(as_object(thread.get(table)), "stack", rows)
            for data in as_list(as_object(thread.get("markers")).get("data")):
                cause = as_object(as_object(data).get("cause"))
                if cause.get("stack") is not None:
                    cause["stack"] = item_of(rows, cause["stack"])

    def _frame_rows(self, row: int, calls: tuple[Frame, ...]) -> list[int]:
        """New rows for the calls inlined at a frame, the outermost first."""
        function = self._frames["func"][row]
        outermost = calls[-1]
        self._place(row, function, outermost)
        made = []
        for depth, call in enumerate(reversed(calls[:-1]), 1):
            new_function = _copy_row(self._functions, function)
            self._functions["name"][new_function] = self._string(demangle(call.name))
            new = _copy_row(self._frames, row)
            self._frames["func"][new] = new_function
            if isinstance(self._frames.get("inlineDepth"), list):
                self._frames["inlineDepth"][new] = depth
            self._flag(new, IS_INLINED)
            self._place(new, new_function, call)
            made.append(new)
        return made

    def _place(self, row: int, function: int, call: Frame) -> None:
        """Set the line of a frame and the file of its function."""
        if call.line and isinstance(self._frames.get("line"), list):
            self._frames["line"][row] = call.line
            self._flag(row, HAS_LINE)
        if call.path and isinstance(self._functions.get("fileName"), list):
            self._functions["fileName"][function] = self._string(call.path)

    def _flag(self, row: int, flag: int) -> None:
        flags = as_list(self._frames.get("flags"))
        if item_of(flags, row) is not None:
            flags[row] |= flag

    def _new_stacks(self) -> list[int]:
        """Make the rows anew; returns the new row of each old one."""
        old = {name: list(values) for name, values in _columns(self._stacks)}
        for _, values in _columns(self._stacks):
            values.clear()
        made = 0
        rows: list[int] = []
        distances = old.get("prefixOffset")  # in place of `prefix` since version 66
        for row, frame in enumerate(as_list(old.get("frame"))):
            if distances is None:
                prefix = item_of(as_list(old.get("prefix")), row)
            else:
                prefix = row - distances[row] if item_of(distances, row) else None
            above = item_of(rows, prefix)
            for each in (frame, *self._inlined.get(frame, ())):
                for name, values in _columns(self._stacks):
                    values.append(old[name][row] if row < len(old[name]) else None)
                if distances is None:
                    self._stacks["prefix"][made] = above
                else:
                    self._stacks["prefixOffset"][made] = (
                        0 if above is None else made - above
                    )
                self._stacks["frame"][made] = each
                above = made
                made += 1
            rows.append(made - 1)
        if "length" in self._stacks:
            self._stacks["length"] = made
        return rows

    def _string(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._strings)
            self._strings.append(text)
        return found


def _columns(table: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    return [(name, each) for name, each in table.items() if isinstance(each, list)]


def _copy_row(table: dict[str, Any], row: int) -> int:
    """Add a copy of a row; returns its index."""
    for _, values in _columns(table):
        values.append(values[row] if row < len(values) else None)
    table["length"] = max(len(values) for _, values in _columns(table))
    return int(table["length"]) - 1


def _renumber(table: dict[str, Any], name: str, rows: list[int]) -> None:
    values = as_list(table.get(name))
    values[:] = [None if each is None else item_of(rows, each) for each in values]
