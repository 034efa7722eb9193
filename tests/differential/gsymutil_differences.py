"""The deliberate differences from llvm-gsymutil, each as a predicate.

docs/differences.md explains them. A predicate looks at one address where the two
files answer differently and says whether its difference is the reason; the first
one that holds gives the case its name. That the answer of ours is the right one is
not for the predicates to say: every address is also asked of the readers of DWARF.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.layout import Symbol
    from tests.differential.peers import Frame
    from tests.differential.sampling import Function


class Case(NamedTuple):
    """One address that the two files answer differently.

    Frames are innermost first and none where the address is not found; a function is
    the record that the answer came from. *symbols* are those at or before the address
    that may cover it, *copies* our answers from every description of the function.
    *is_relocatable* is set for a file that no linker made, *is_before_rows* where our
    record has no row at or before the address, *is_base_wrong* where code has addresses
    below the base address of their file.
    """

    address: int
    theirs: tuple[Frame, ...]
    ours: tuple[Frame, ...]
    their_function: Function | None
    our_function: Function | None
    symbols: tuple[Symbol, ...]
    has_zdebug: bool = False
    copies: tuple[tuple[Frame, ...], ...] = ()
    is_relocatable: bool = False
    is_before_rows: bool = False
    is_base_wrong: bool = False


def name_is_qualified(case: Case) -> bool:
    """Names include their namespaces and classes in every language version."""
    return _differ_only_in_names(case) and all(
        our.name == their.name
        or our.name.endswith("::" + their.name)
        or (our is case.ours[-1] and _symbol_starts_range(case))
        for our, their in zip(case.ours, case.theirs, strict=True)
    )


def name_is_of_symbol_table(case: Case) -> bool:
    """The name of a symbol at the same address replaces a plain DWARF name."""
    return (
        _differ_only_in_names(case)
        and case.ours[:-1] == case.theirs[:-1]
        and _symbol_starts_range(case)
    )


def path_is_exact(case: Case) -> bool:
    """Paths are unchanged: a file in the root directory has one slash."""
    return len(case.ours) == len(case.theirs) > 0 and all(
        our == their
        or our == their._replace(path=their.path.removeprefix("/"))
        or _with_slashes(our) == _with_slashes(their)
        for our, their in zip(case.ours, case.theirs, strict=True)
    )


def old_compression_is_read(case: Case) -> bool:
    """Sections named .zdebug_* are read."""
    return case.has_zdebug and not _has_lines(case.theirs)


def symbol_inside_function_is_dropped(case: Case) -> bool:
    """A symbol inside a DWARF function hides neither its lines nor its tail."""
    if case.our_function is None or case.our_function.is_bare or not _is_bare(case):
        return False
    start, end, _ = case.our_function
    return any(
        start <= symbol.start and (symbol.start, symbol.size) != (start, end - start)
        for symbol in case.symbols
    )


def symbol_without_type_is_added(case: Case) -> bool:
    """Symbols of hand-written code are used, with or without a type."""
    return any(
        symbol.name == case.ours[0].name and symbol.kind != "FUNC"
        for symbol in case.symbols
        if case.ours and _starts(symbol, case.our_function)
    )


def inline_below_try_block_is_kept(case: Case) -> bool:
    """Calls inlined in try and catch blocks are found."""
    return (
        _is_same_record(case)
        and len(case.ours) > len(case.theirs) > 0
        and case.ours[0][1:3] == case.theirs[0][1:3]
        and case.ours[-1].offset == case.theirs[-1].offset
    )


def lines_are_kept(case: Case) -> bool:
    """Rows without a function go to symbols; a range after an invalid one is kept."""
    return (
        case.our_function is not None
        and not case.our_function.is_bare
        and _is_bare(case)
    )


def rows_after_start_are_kept(case: Case) -> bool:
    """A function whose first row is after its start keeps its rows."""
    if not _is_same_record(case) or not case.theirs:
        return False
    # Theirs has the line of the declaration everywhere, or no line table at all and
    # with it no inlined calls.
    compared = case.ours[-1:] if not case.theirs[0].path else case.ours
    return compared[1:] == case.theirs[1:] and [
        (frame.name, frame.offset) for frame in compared[:1]
    ] == [(frame.name, frame.offset) for frame in case.theirs[:1]]


def relocatable_file_is_read(case: Case) -> bool:
    """Symbols and rows of a relocatable file are those of their own section."""
    return case.is_relocatable and (
        rows_after_start_are_kept(case)
        or lines_are_kept(case)
        or (_is_bare(case) and (not case.ours or _symbol_starts_range(case)))
    )


def declared_line_is_not_given(case: Case) -> bool:
    """Code before the first row has no line, not that of the declaration."""
    return (
        case.is_before_rows
        and not _is_bare(case)
        and case.their_function is not None
        and case.our_function is not None
        and case.their_function[:2] == case.our_function[:2]
    )


def code_below_base_is_kept(case: Case) -> bool:
    """The first segment is not always that with the lowest address."""
    return case.is_base_wrong and _is_bare(case)


def suffix_is_left_out(case: Case) -> bool:
    """A part `f.cold` without lines has the linkage name in the DWARF, too."""
    return _differ_only_in_names(case) and all(
        our.name == their.name or their.name.startswith(our.name + ".")
        for our, their in zip(case.ours, case.theirs, strict=True)
    )


def label_ends_with_its_function(case: Case) -> bool:
    """A symbol without a size ends with the function that contains it."""
    theirs = case.their_function
    return (
        not case.ours
        and theirs is not None
        and (
            theirs.start == theirs.end
            or any(each.size == 0 and _starts(each, theirs) for each in case.symbols)
        )
    )


def stub_has_a_name(case: Case) -> bool:
    """A stub of an ELF file is named for what it calls, not the symbol before it."""
    return (
        len(case.ours) == 1
        and case.ours[0].name.endswith("@plt")
        and not _has_lines(case.theirs)
    )


def first_copy_is_kept(case: Case) -> bool:
    """Of copies of a function that differ, the first is that of the linker."""
    said = tuple(frame._replace(offset=-1) for frame in case.theirs)
    return _is_same_record(case) and said in case.copies


CLASSES: tuple[Callable[[Case], bool], ...] = (
    name_is_of_symbol_table,
    name_is_qualified,
    path_is_exact,
    old_compression_is_read,
    relocatable_file_is_read,
    symbol_without_type_is_added,
    symbol_inside_function_is_dropped,
    inline_below_try_block_is_kept,
    rows_after_start_are_kept,
    declared_line_is_not_given,
    code_below_base_is_kept,
    suffix_is_left_out,
    stub_has_a_name,
    label_ends_with_its_function,
    lines_are_kept,
    first_copy_is_kept,
)


def _differ_only_in_names(case: Case) -> bool:
    return len(case.ours) == len(case.theirs) > 0 and all(
        our[1:] == their[1:] for our, their in zip(case.ours, case.theirs, strict=True)
    )


def _with_slashes(frame: Frame) -> Frame:
    return frame._replace(path=frame.path.replace("\\", "/"))


def _has_lines(frames: tuple[Frame, ...]) -> bool:
    return any(frame.path for frame in frames)


def _is_bare(case: Case) -> bool:
    """Whether theirs knows the address from the symbol table alone, or not at all."""
    return case.their_function is None or case.their_function.is_bare


def _is_same_record(case: Case) -> bool:
    """Whether both answers come from debug information of the same range."""
    return case.their_function == case.our_function is not None and not _is_bare(case)


def _starts(symbol: Symbol, function: Function | None) -> bool:
    return function is not None and symbol.start == function.start


def _symbol_starts_range(case: Case) -> bool:
    return any(
        symbol.name == case.ours[-1].name and _starts(symbol, case.our_function)
        for symbol in case.symbols
        if case.ours
    )


def with_our_name(case: Case) -> Case:
    """The case without the difference that the name of a symbol makes."""
    if not (case.ours and case.theirs and _symbol_starts_range(case)):
        return case
    outermost = case.theirs[-1]._replace(name=case.ours[-1].name)
    return case._replace(theirs=(*case.theirs[:-1], outermost))
