"""The deliberate differences from llvm-gsymutil, each as a predicate.

docs/differences.md explains them. A predicate looks at one address where the two
files answer differently and says whether its difference is the reason; the first
one that holds gives the case its name. That the answer of ours is the right one is
not for the predicates to say: `agrees` asks the DWARF, as llvm-symbolizer reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.peers import Frame


class Symbol(NamedTuple):
    """An entry of the symbol table; *kind* is FUNC, NOTYPE, IFUNC, ..."""

    start: int
    size: int
    kind: str
    name: str


class Case(NamedTuple):
    """One address that the two files answer differently.

    Frames are innermost first and none where the address is not found; a range is
    that of the record the answer came from. *linkage* and *short* are the frames of
    llvm-symbolizer on the DWARF: with linkage names, where the outermost name is
    the symbol table's, and with the short names of the DWARF. *symbols* are those at
    or before the address that may cover it.
    """

    address: int
    theirs: tuple[Frame, ...]
    ours: tuple[Frame, ...]
    their_range: tuple[int, int] | None
    our_range: tuple[int, int] | None
    linkage: tuple[Frame, ...]
    short: tuple[Frame, ...]
    symbols: tuple[Symbol, ...]


def name_is_qualified(case: Case) -> bool:
    """Names carry their namespaces and classes in every language version."""
    return _differ_only_in_names(case) and all(
        our.name == their.name or our.name.endswith("::" + their.name)
        for our, their in zip(case.ours, case.theirs, strict=True)
    )


def name_is_of_symbol_table(case: Case) -> bool:
    """A plain DWARF name gives way to the linkage name of a symbol at its place."""
    return (
        _differ_only_in_names(case)
        and case.ours[:-1] == case.theirs[:-1]
        and f"{len(case.theirs[-1].name)}{case.theirs[-1].name}" in case.ours[-1].name
        and _symbol_starts_range(case)
    )


def symbol_inside_function_is_dropped(case: Case) -> bool:
    """A symbol inside a DWARF function hides neither its lines nor its tail."""
    if not _has_lines(case.ours) or _has_lines(case.theirs):
        return False
    start, end = case.our_range or (0, 0)
    return any(
        start <= symbol.start < end
        and (symbol.start, symbol.size) != (start, end - start)
        for symbol in case.symbols
    )


def untyped_symbol_is_added(case: Case) -> bool:
    """Symbols of hand-written code count, with or without a type."""
    return (
        len(case.ours) == 1
        and not _has_lines(case.ours)
        and any(
            symbol.name == case.ours[0].name and symbol.kind != "FUNC"
            for symbol in case.symbols
        )
    )


def inline_below_other_block_is_kept(case: Case) -> bool:
    """Calls inlined below try and catch blocks are found."""
    return (
        case.their_range == case.our_range
        and len(case.ours) > len(case.theirs) > 0
        and case.ours[-1].name == case.theirs[-1].name
        and case.ours[0].path == case.theirs[0].path
        and case.ours[0].line == case.theirs[0].line
    )


def later_range_is_kept(case: Case) -> bool:
    """A bad range of a function does not lose the good ones behind it."""
    return _has_lines(case.ours) and not _has_lines(case.theirs)


def rows_behind_start_are_kept(case: Case) -> bool:
    """A function whose first row lies behind its start keeps its rows."""
    return (
        case.their_range == case.our_range
        and [frame.name for frame in case.ours] == [frame.name for frame in case.theirs]
        and case.ours[1:] == case.theirs[1:]
    )


CLASSES: tuple[Callable[[Case], bool], ...] = (
    name_is_qualified,
    name_is_of_symbol_table,
    symbol_inside_function_is_dropped,
    untyped_symbol_is_added,
    inline_below_other_block_is_kept,
    rows_behind_start_are_kept,
    later_range_is_kept,
)


def _differ_only_in_names(case: Case) -> bool:
    return len(case.ours) == len(case.theirs) > 0 and all(
        our[1:] == their[1:] for our, their in zip(case.ours, case.theirs, strict=True)
    )


def _has_lines(frames: tuple[Frame, ...]) -> bool:
    return any(frame.path for frame in frames)


def _symbol_starts_range(case: Case) -> bool:
    return case.our_range is not None and any(
        symbol.name == case.ours[-1].name and symbol.start == case.our_range[0]
        for symbol in case.symbols
    )


def agrees(case: Case) -> bool:
    """Whether the DWARF and the symbol table confirm the answer of ours."""
    if not case.ours:
        return not case.linkage
    if len(case.ours) != len(case.linkage):
        return False
    inner = zip(case.ours[:-1], case.linkage[:-1], strict=True)
    if not all(
        _is_name(our.name, judge.name) and _is_place(our, judge) for our, judge in inner
    ):
        return False
    outer = case.ours[-1]
    # The judge takes the file of a symbol without DWARF from its STT_FILE entry.
    is_place = _is_place(outer, case.linkage[-1]) or not case.linkage[-1].line
    names = {frames[-1].name for frames in (case.linkage, case.short) if frames}
    return is_place and (
        any(_is_name(outer.name, name) for name in names) or _symbol_starts_range(case)
    )


def _is_name(ours: str, judge: str) -> bool:
    return ours == judge or ours.endswith("::" + judge)


def _is_place(ours: Frame, judge: Frame) -> bool:
    return (ours.path, ours.line) == (judge.path, judge.line)
