"""The second opinion on functions: DWARF -> FunctionInfo.

Slow and plain on purpose, and independent of the engine: it visits every DIE and
skips none. `gsym verify --against` and the differential tests compare with it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.ranges import intersection, merged, range_at
from gsym.verification.decoder.lines import Declaration
from gsym.verification.decoder.units import Unit, attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elftools.dwarf.die import DIE

# C89, C99, C11, C17, C23 and assembler have no scopes; names of Ada already have them.
_UNQUALIFIED_LANGUAGES = {
    *(0x01, 0x0C, 0x1D, 0x2C, 0x3E, 0x31, 0x8001),
    *(0x03, 0x0D, 0x2E, 0x2F),
}
# The same by the names that DWARF 6 gives to languages: C, assembly, Ada.
_UNQUALIFIED_LANGUAGE_NAMES = {0x03, 0x1D, 0x01}
_NAMING_SCOPES = {
    "DW_TAG_module",
    "DW_TAG_namespace",
    "DW_TAG_structure_type",
    "DW_TAG_union_type",
    "DW_TAG_class_type",
    "DW_TAG_subprogram",
}
# A call site returns to the address in this attribute, by its tag.
_RETURN_ADDRESS = {
    "DW_TAG_call_site": "DW_AT_call_return_pc",
    "DW_TAG_GNU_call_site": "DW_AT_low_pc",
}
_STMT_SEQUENCE = 0x3E0C
_BAD_FILE_INDEX = 0xFFFF_FFFF
# Limit: Namespaces and classes in a composed name
_MAX_SCOPES = 64


class _Scope:
    """A subprogram or an inlined call, with its direct contents."""

    __slots__ = ("call_sites", "calls", "die", "ranges")

    def __init__(self, die: DIE, ranges: list[Range], call_sites: list[DIE]) -> None:
        self.die = die  # of it
        # live ranges of a function, those of an inlined call; merged
        self.ranges = ranges
        self.calls: list[_Scope] = []  # inlined directly into it
        # call sites of the complete function; shared with the calls
        self.call_sites = call_sites


class UnitFunctions:
    """Decodes the functions of one unit."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._units = unit.units
        self.has_scopes: bool = (
            unit.language not in _UNQUALIFIED_LANGUAGES
            and unit.language_name not in _UNQUALIFIED_LANGUAGE_NAMES
        )
        self._name_of_origin: dict[tuple[str, int], str] = {}

    def __iter__(self) -> Iterator[tuple[int, FunctionInfo]]:
        """Offset of the DIE and the function; one for each live range.

        The name is "" where the DIE says none.
        """
        for scope in self._subprograms():
            self._units.take_failures()  # those of other DIEs
            live = self._unit.live_ranges(scope.die)
            self._units.uncompared.update(self._units.take_failures())
            name = self._name(scope.die) if live else ""
            failures = () if name else self._units.take_failures()
            self._units.uncompared.update(failures)
            if failures:
                continue
            scope.ranges = merged(live)
            calls = _calls_by_part(scope, live)
            for span in live:
                function = FunctionInfo(
                    span.start,
                    span.end - span.start,
                    name,
                    self._line_table(scope.die, span.start, span.end),
                    self._inline(scope, calls[span], span, name),
                    (),
                    tuple(self._call_sites(scope, span)),
                )
                yield scope.die.offset, function

    def _subprograms(self) -> list[_Scope]:
        found: list[_Scope] = []
        around: list[_Scope | None] = []
        scope: _Scope | None = None
        for die in self._unit.dies():
            if die.is_null():
                scope = around.pop() if around else None
                continue
            inner = scope
            if die.tag == "DW_TAG_subprogram":
                inner = _Scope(die, [], [])
                found.append(inner)
            elif scope is not None and die.tag == "DW_TAG_inlined_subroutine":
                ranges = merged(self._unit.ranges(die))
                inner = _Scope(die, ranges, scope.call_sites)
                scope.calls.append(inner)
            elif scope is not None and die.tag in _RETURN_ADDRESS:
                scope.call_sites.append(die)
            if die.has_children:
                around.append(scope)
                scope = inner
        return found

    def _line_table(
        self, die: DIE, start: int, end: int
    ) -> tuple[LineEntry, ...] | None:
        lines = self._unit.lines
        if lines is None:
            return None
        return lines.entries(start, end, *self.sequence(die)) or None

    def sequence(self, die: DIE) -> tuple[int | None, Callable[[], Declaration]]:
        """Start of the sequence with the rows of a function, and its declaration."""
        named = attribute(die, "DW_AT_LLVM_stmt_sequence", _STMT_SEQUENCE)
        # In a split unit it counts from the line table of the skeleton.
        start = self._unit.line_table_start
        sequence = None if named is None else named.value + start
        return sequence, lambda: self._declaration(die)

    def _inline(
        self, function: _Scope, calls: list[_Scope], span: Range, name: str
    ) -> InlineInfo | None:
        """The tree of inlined calls, of which *calls* are in *span*."""
        kept: list[tuple[_Scope, list[Range], int]] = []
        work = [(call, [span], -1) for call in reversed(calls)]
        while work:
            call, around, parent = work.pop()
            ranges = list(intersection(call.ranges, around))
            if ranges:
                work += [(inner, ranges, len(kept)) for inner in reversed(call.calls)]
                kept.append((call, ranges, parent))
        if not kept:
            return None
        # Children come after their parents, so going backwards finds them built.
        children: list[list[InlineInfo]] = [[] for _ in range(len(kept) + 1)]
        for number in range(len(kept) - 1, -1, -1):
            call, ranges, parent = kept[number]
            line = call.die.attributes.get("DW_AT_call_line")
            info = InlineInfo(
                self._name(call.die),
                self._call_path(
                    call, kept[parent][0] if parent >= 0 else function, function.die
                ),
                line.value if line else 0,
                tuple(ranges),
                tuple(reversed(children[number])),
            )
            children[parent].append(info)
        return InlineInfo(name, "", 0, (span,), tuple(reversed(children[-1])))

    def _declaration(self, die: DIE) -> Declaration:
        file = self._units.find(die, "DW_AT_decl_file")
        line = self._units.find(die, "DW_AT_decl_line")
        number = file[0].value if file and file[1].cu is die.cu else None
        return Declaration(number, line[0].value if line else 0)

    def _call_path(self, call: _Scope, caller: _Scope, function: DIE) -> str:
        found = self._units.find(call.die, "DW_AT_call_file")
        if found is None and "DW_AT_call_line" in call.die.attributes:
            found = self._units.find(caller.die, "DW_AT_decl_file")
            if found is None:
                return self._path_beside(call, caller, function)
        index = _BAD_FILE_INDEX if found is None else found[0].value
        lines = self._unit.lines
        return (lines.path(index) or "") if lines is not None else ""

    def _path_beside(self, call: _Scope, caller: _Scope, function: DIE) -> str:
        """The file of code of the caller, before the call or else after it."""
        for address in (
            at for span in call.ranges for at in (span.start - 1, span.end)
        ):
            is_called = any(range_at(each.ranges, address) for each in caller.calls)
            if range_at(caller.ranges, address) and not is_called:
                for row in self._line_table(function, address, address + 1) or ():
                    if row.path:
                        return row.path
        return ""

    def _call_sites(self, scope: _Scope, span: Range) -> Iterator[CallSite]:
        for die in scope.call_sites:
            value = die.attributes.get(_RETURN_ADDRESS[str(die.tag)])
            if value is None:
                continue
            address = self._unit.address(value) & ~self._units.file.isa_bit
            # A call that ends the range returns to its end.
            if not span.start <= address <= span.end:
                continue
            name = ""
            for link in ("DW_AT_abstract_origin", "DW_AT_call_origin"):
                callee = self._units.follow(die, link)
                if callee is not None:
                    name = self._name(callee)
                    break
            yield CallSite(address - span.start, 0, (name,) if name else ())

    def _name(self, die: DIE) -> str:
        """The linkage name, else the qualified name; "" for none."""
        origin = die.attributes.get("DW_AT_abstract_origin")
        if die.tag != "DW_TAG_inlined_subroutine" or origin is None:
            return self._name_uncached(die)
        key = (origin.form, origin.value)
        if key not in self._name_of_origin:
            self._name_of_origin[key] = self._name_uncached(die)
        return self._name_of_origin[key]

    def _name_uncached(self, die: DIE) -> str:
        linkage = self._units.text(die, "DW_AT_MIPS_linkage_name", "DW_AT_linkage_name")
        if linkage:
            return linkage
        name = self._units.text(die, "DW_AT_name")
        if not name or not self.has_scopes or name.startswith(("-[", "+[")):
            return name
        if name.startswith("_Z") and (".isra." in name or ".part." in name):
            return name
        scope = self._naming_scope(die, set())
        for _ in range(_MAX_SCOPES):
            if scope is None:
                break
            outer = self._units.text(scope, "DW_AT_name")
            if outer.startswith("<") and outer.endswith(">"):
                outer = "{" + outer[1:-1] + "}"
            if outer:
                name = f"{outer}::{name}"
            scope = self._naming_scope(scope, set())
        return name

    def _naming_scope(self, die: DIE, seen: set[int]) -> DIE | None:
        """The DIE whose name qualifies that of *die*.

        References may lead in circles, so no DIE of *seen* is asked again.
        """
        if id(die) in seen:
            return None
        seen.add(id(die))
        for link in ("DW_AT_specification", "DW_AT_abstract_origin"):
            target = self._units.follow(die, link)
            scope = self._naming_scope(target, seen) if target else None
            if scope is not None:
                return scope
        if die.tag == "DW_TAG_inlined_subroutine":
            return None  # its parent is where it is inlined, not its scope
        parent = die.get_parent()
        if parent is not None and parent.tag == "DW_TAG_lexical_block":
            return self._naming_scope(parent, seen)
        return parent if parent is not None and parent.tag in _NAMING_SCOPES else None


def _calls_by_part(scope: _Scope, parts: list[Range]) -> dict[Range, list[_Scope]]:
    """The outermost calls in each part of a function, in their order.

    There may be thousands of both, so that not each is compared with each.
    """
    found: dict[Range, dict[int, _Scope]] = {part: {} for part in parts}
    order = sorted(found)
    reach = list(accumulate((part.end for part in order), max))
    starts = [part.start for part in order]
    for number, call in enumerate(scope.calls):
        for start, end in call.ranges:
            for part in order[bisect_right(reach, start) : bisect_left(starts, end)]:
                found[part][number] = call
    return {part: list(calls.values()) for part, calls in found.items()}
