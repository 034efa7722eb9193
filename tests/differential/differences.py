"""The known differences from the readers of DWARF, each as a predicate.

docs/differences.md explains them. A predicate looks at one address where
llvm-symbolizer or GNU addr2line answers otherwise than we do and says whether its
difference is the reason; the first one that holds gives the case its name. What has
none is unexplained.
"""

from __future__ import annotations

import functools
import os.path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.layout import Gap, Symbol
    from tests.differential.peers import Frame

    NameRule = Callable[["Case", int], bool]
    Class = Callable[["Case"], bool]


_NO_ROW = 16  # bytes after a function in which no row starts


class Case(NamedTuple):
    """One address and what is said of it; frames are innermost first.

    *theirs* are the frames of the reader whose answer differs, *other* those of the
    other reader. *copies* are ours from every description of the function, *symbols*
    those that cover the address, *gap* the bytes around it that neither a symbol nor a
    function of ours covers, *symbol_files* and *data* what the symbol table says of
    files and variables, and *line_before* the line of the code right in front of the
    symbol. *has_supplement* is set where a part of the DWARF is in another file, and
    *is_foreign_object* where a file has relocations of a machine that is not this one,
    *is_unknown_object* where gsym does not know those of the machine, and
    *rows_have_isa_bits* where linkers leave such bits in line tables.
    """

    address: int
    ours: tuple[Frame, ...]
    theirs: tuple[Frame, ...]
    other: tuple[Frame, ...] = ()
    copies: tuple[tuple[Frame, ...], ...] = ()
    symbols: tuple[Symbol, ...] = ()
    gap: Gap | None = None
    symbol_files: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()
    line_before: int = 0
    has_supplement: bool = False
    is_foreign_object: bool = False
    is_unknown_object: bool = False
    rows_have_isa_bits: bool = False


# ---- answers where there is no function --------------------------------------------


def padding_has_no_line(case: Case) -> bool:
    """What aligns the next function belongs to none, though the last row runs on."""
    return not case.ours and case.gap is not None and case.gap.is_padding


def code_has_no_name(case: Case) -> bool:
    """Rows of code that no function and no symbol of its section covers are lost."""
    return not case.ours and case.gap is not None and has_lines(case)


def symbol_before_has_ended(case: Case) -> bool:
    """Nothing is named after a symbol that ended before, or in another section."""
    return not case.ours and case.gap is not None and not has_lines(case)


def stub_has_a_name(case: Case) -> bool:
    """A stub is named for the function that it calls, as debuggers do."""
    return len(case.ours) == 1 and case.ours[0].name.endswith("@plt")


def symbol_extends_to_next_function(case: Case) -> bool:
    """A symbol without a size answers up to the next function of its section."""
    return not case.theirs and not any(frame.path for frame in case.ours)


def row_runs_on_into_symbol(case: Case) -> bool:
    """No other line starts in the few bytes of a symbol; that before it runs on."""
    return (
        len(case.ours) == len(case.theirs) == 1
        and loses_line(case)
        and any(0 <= case.address - each.start < _NO_ROW for each in case.symbols)
        and case.theirs[0].line == case.line_before
        and _only_names_differ(case._replace(theirs=_nowhere(case.theirs)), None)
    )


# ---- names -------------------------------------------------------------------------


def alias_differs(case: Case) -> bool:
    """Of several names of a function, the linkage name in the DWARF comes first."""
    return _only_names_differ(case, _is_alias)


def suffix_is_of_symbol(case: Case) -> bool:
    """Where the DWARF has a linkage name, a part `f.cold` of its function is `f`."""
    return _only_names_differ(case, _lacks_suffix)


def name_is_of_symbol(case: Case) -> bool:
    """A symbol of the same range names what has no linkage name."""
    return _only_names_differ(case, _is_plain_name)


def underscore_is_left_out(case: Case) -> bool:
    """Of names of C on i386 Windows, the underscore and `@12` are left out."""
    return _only_names_differ(case, _lacks_underscore)


def assembler_label_is_no_name(case: Case) -> bool:
    """Labels such as `.L0` of RISC-V and mapping symbols such as `$x` name nothing."""
    return _only_names_differ(case, _is_assembler_label)


def data_names_no_code(case: Case) -> bool:
    """A symbol of data inside of a function, such as constants, names nothing."""
    return (
        len(case.theirs) == 1
        and case.theirs[0].name in case.data
        and not any(frame.line for frame in (*case.theirs, *case.ours))
    )


def scope_is_included(case: Case) -> bool:
    """A name without linkage includes the namespaces and classes around it."""
    return _only_names_differ(case, _has_scope)


def inlined_call_has_its_own_name(case: Case) -> bool:
    """An inlined function has the name that llvm-symbolizer gives it too."""
    return _only_names_differ(case, _is_of_other_reader)


# ---- descriptions ------------------------------------------------------------------


def copy_is_of_another_unit(case: Case) -> bool:
    """Of several descriptions of one function, such as of templates, one is kept."""
    return _is_thunk_without_calls(case) or any(
        copy == case.theirs or _only_names_differ(case._replace(ours=copy), None)
        for copy in case.copies
    )


def _is_thunk_without_calls(case: Case) -> bool:
    """One unit has rows for a thunk that holds its function, another the function."""
    return (
        len(case.theirs) == 1 < len(case.ours)
        and case.theirs[0].name.startswith(("_ZTh", "_ZTv", "_ZTc"))
        and case.theirs[0].name in _symbol_names(case)
        and case.theirs[0].path == case.ours[-1].path
    )


def rows_of_folded_code_differ(case: Case) -> bool:
    """Of several rows for code that the linker folded, the other reader takes ours."""
    return (
        len({symbol.name for symbol in case.symbols}) > 1
        and has_lines(case)
        and len(case.theirs) == len(case.ours) == len(case.other)
        and [frame.line for frame in case.ours] == [frame.line for frame in case.other]
    )


def call_is_outside_of_caller(case: Case) -> bool:
    """An inlined call outside of the range of its caller has no place in the file."""
    return (
        0 < len(case.ours) < len(case.theirs)
        and case.ours[0][1:] == case.theirs[0][1:]
        and not has_lines(case._replace(theirs=case.theirs[1:]))
        and _name_is_explained(
            case._replace(ours=case.ours[-1:], theirs=case.theirs[-1:]), 0
        )
    )


def path_is_joined_differently(case: Case) -> bool:
    """A path without `//`; or another file of the same row, where addr2line errs."""
    return len(case.theirs) == len(case.ours) > 0 and all(
        (our.name, our.line) == (their.name, their.line)
        for our, their in zip(case.ours, case.theirs, strict=True)
    )


def folder_is_in_supplement(case: Case) -> bool:
    """llvm-symbolizer does not read the folder of a unit in the other file of dwz."""
    return (
        case.has_supplement
        and len(case.theirs) == len(case.ours) > 0
        and all(
            our.line == their.line and our.path.endswith(their.path)
            for our, their in zip(case.ours, case.theirs, strict=True)
        )
    )


def symbol_has_no_file(case: Case) -> bool:
    """The file that STT_FILE names is not that of a symbol."""
    return (
        len(case.theirs) == 1
        and case.theirs[0].path in case.symbol_files
        and not has_lines(case)
        and _only_names_differ(case._replace(theirs=_nowhere(case.theirs)), None)
    )


def lines_are_missing(case: Case) -> bool:
    """One reader has no lines of a unit, as addr2line 2.40 of 64-bit DWARF 5."""
    return (
        len(case.theirs) == 1 <= len(case.ours)
        and not has_lines(case)
        and (
            [frame.line for frame in case.ours] == [frame.line for frame in case.other]
            or copy_is_of_another_unit(case._replace(theirs=case.other))
            or call_is_outside_of_caller(case._replace(theirs=case.other))
        )
        and _name_is_explained(
            case._replace(
                ours=case.ours[-1:], theirs=case.theirs, other=case.other[-1:]
            ),
            0,
        )
    )


def inlined_calls_are_missing(case: Case) -> bool:
    """addr2line 2.40 does not see the inlined calls of some units of DWARF 5."""
    return (
        0 < len(case.theirs) < len(case.ours)
        and case.theirs[0].line == case.ours[0].line
        and _name_is_explained(
            case._replace(theirs=case.theirs[-1:], ours=case.ours[-1:]), 0
        )
    )


def row_runs_on_out_of_its_unit(case: Case) -> bool:
    """addr2line at times lets the last row of a unit run on over its ranges."""
    return (
        len(case.ours) == len(case.theirs) == 1
        and loses_line(case)
        and case.ours == case.other
    )


def relocations_are_applied(case: Case) -> bool:
    """addr2line does not know the relocations of other machines."""
    return case.is_foreign_object and case.ours == case.other


def relocations_are_missing(case: Case) -> bool:
    """Neither reader knows the relocations of little-endian SPARC."""
    return (
        case.is_foreign_object
        and not case.is_unknown_object
        and len(case.theirs) == 1 <= len(case.ours)
        and not has_lines(case)
        and _name_is_explained(
            case._replace(ours=case.ours[-1:], other=case.other[-1:]), 0
        )
    )


def relocations_are_unknown(case: Case) -> bool:
    """Without its relocations, debug information says nothing true."""
    return case.is_unknown_object and not any(frame.path for frame in case.ours)


def isa_bit_is_no_address(case: Case) -> bool:
    """Rows at odd addresses are of the instruction before, Thumb or microMIPS."""
    return (
        case.rows_have_isa_bits
        and len(case.ours) > 0 < len(case.theirs)
        and case.ours[0].line != case.theirs[0].line
        and case.ours[-1].name == case.theirs[-1].name
    )


LLVM_SYMBOLIZER: tuple[Class, ...] = (
    isa_bit_is_no_address,
    stub_has_a_name,
    symbol_extends_to_next_function,
    padding_has_no_line,
    code_has_no_name,
    symbol_before_has_ended,
    suffix_is_of_symbol,
    assembler_label_is_no_name,
    alias_differs,
    underscore_is_left_out,
    name_is_of_symbol,
    data_names_no_code,
    scope_is_included,
    row_runs_on_into_symbol,
    copy_is_of_another_unit,
    rows_of_folded_code_differ,
    call_is_outside_of_caller,
    folder_is_in_supplement,
    relocations_are_missing,
    relocations_are_unknown,
    symbol_has_no_file,
    lines_are_missing,
)
ADDR2LINE: tuple[Class, ...] = (
    relocations_are_applied,
    *LLVM_SYMBOLIZER,
    inlined_call_has_its_own_name,
    path_is_joined_differently,
    inlined_calls_are_missing,
    row_runs_on_out_of_its_unit,
)


def why(case: Case, classes: tuple[Class, ...]) -> str:
    """The name of the first class that knows the difference; "" for none."""
    return next((each.__name__ for each in classes if each(case)), "")


def has_lines(case: Case) -> bool:
    """Whether they tell a line."""
    return any(frame.line for frame in case.theirs)


# Where it is no line of a function.
NO_LOSS = {
    each.__name__
    for each in (
        *(padding_has_no_line, row_runs_on_into_symbol),
        *(code_has_no_name, rows_of_folded_code_differ),
        *(row_runs_on_out_of_its_unit, relocations_are_applied),
    )
}


def loses_line(case: Case) -> bool:
    """Whether they tell a line and we do not."""
    return has_lines(case) and not any(frame.line for frame in case.ours)


# ---- why one name differs from another ---------------------------------------------


def _only_names_differ(case: Case, rule: NameRule | None) -> bool:
    """Whether names alone differ, for known reasons, of which *rule* is one."""
    if [place_of(frame) for frame in case.ours] != [
        place_of(frame) for frame in case.theirs
    ]:
        return False
    different = [
        at
        for at, (our, their) in enumerate(zip(case.ours, case.theirs, strict=True))
        if our.name != their.name
    ]
    return all(_name_is_explained(case, at) for at in different) and (
        rule is None or any(rule(case, at) for at in different)
    )


def _nowhere(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    return tuple(frame._replace(path="", line=0) for frame in frames)


def place_of(frame: Frame) -> tuple[str, int]:
    return _normal(frame.path), frame.line


_normal = functools.cache(os.path.normpath)


def _name_is_explained(case: Case, at: int) -> bool:
    is_outermost = at == len(case.ours) - 1
    rules = (*_OUTERMOST_RULES, *_RULES) if is_outermost else _RULES
    return case.ours[at].name == case.theirs[at].name or any(
        rule(case, at) for rule in rules
    )


def _is_alias(case: Case, at: int) -> bool:
    """Both are names of the function, theirs in the symbol table."""
    our, their = case.ours[at].name, case.theirs[at].name
    names = _symbol_names(case)
    # Go writes a dot for the middle dot of the DWARF.
    is_known = our.replace("\u00b7", ".") in names or (
        case.other and case.other[-1].name == our
    )
    return their in names and bool(is_known)


def _lacks_suffix(case: Case, at: int) -> bool:
    return case.theirs[at].name.startswith(case.ours[at].name + ".")


def _is_assembler_label(case: Case, at: int) -> bool:
    return case.theirs[at].name.startswith((".L", ".l_", "$"))


def _lacks_underscore(case: Case, at: int) -> bool:
    return case.theirs[at].name.partition("@")[0] == "_" + case.ours[at].name


def _is_plain_name(case: Case, at: int) -> bool:
    """Ours is the name of a symbol, theirs of none."""
    names = _symbol_names(case)
    return case.ours[at].name in names and case.theirs[at].name not in names


def _has_scope(case: Case, at: int) -> bool:
    return case.ours[at].name.endswith("::" + case.theirs[at].name)


def _is_of_other_reader(case: Case, at: int) -> bool:
    """Ours is what the other reader says, but for the scope."""
    if len(case.other) != len(case.ours):
        return False
    our, said = case.ours[at].name, case.other[at].name
    return our == said or our.endswith("::" + said)


_OUTERMOST_RULES: tuple[NameRule, ...] = (
    _is_alias,
    _lacks_suffix,
    _lacks_underscore,
    _is_assembler_label,
    _is_plain_name,
)
_RULES: tuple[NameRule, ...] = (_has_scope, _is_of_other_reader)


def _symbol_names(case: Case) -> set[str]:
    """The names of the symbols, with their versions and without."""
    names = {symbol.name for symbol in case.symbols}
    return names | {name.partition("@")[0] for name in names if name[0] != "."}
