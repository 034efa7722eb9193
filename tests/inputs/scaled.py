"""Programs whose size is a number, written fast: doubling series of them.

All are DWARF 4, little endian, 64 bits. In each, one thing alone grows.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import code_section, elf_of
from tests.inputs.encoding import Encoding, cstring, uleb
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    File,
    LineProgram,
    Op,
    advance_line,
    advance_pc,
    set_address,
    set_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = 0x1000
FUNCTION_SIZE = 0x40

_ENCODING = Encoding()
_VERSION = 4
_UNIT, _ABSTRACT, _FUNCTION, _LEAF, _CALL, _PARTS, _OTHERS = range(1, 8)
_HEADER_SIZE = 11  # of a unit
_END = b"\0"  # of the children of a DIE


def _abbreviation(
    code: int, tag: int, *attributes: tuple[int, int], children: bool
) -> bytes:
    pairs = b"".join(uleb(at) + uleb(form) for at, form in attributes)
    return uleb(code) + uleb(tag) + bytes([children]) + pairs + b"\0\0"


_EXTENT = ((At.low_pc, Form.addr), (At.high_pc, Form.data4))
_CALLED = (
    (At.abstract_origin, Form.ref4),
    *_EXTENT,
    (At.call_file, Form.data1),
    (At.call_line, Form.udata),
)
_ABBREVIATIONS = b"".join(
    (
        _abbreviation(
            _UNIT,
            Tag.compile_unit,
            (At.name, Form.string),
            (At.comp_dir, Form.string),
            (At.stmt_list, Form.sec_offset),
            children=True,
        ),
        _abbreviation(
            _ABSTRACT,
            Tag.subprogram,
            (At.name, Form.string),
            (At.inline, Form.data1),
            children=False,
        ),
        _abbreviation(
            _FUNCTION, Tag.subprogram, (At.name, Form.string), *_EXTENT, children=True
        ),
        _abbreviation(
            _LEAF, Tag.subprogram, (At.name, Form.string), *_EXTENT, children=False
        ),
        _abbreviation(_CALL, Tag.inlined_subroutine, *_CALLED, children=True),
        _abbreviation(
            _PARTS,
            Tag.subprogram,
            (At.name, Form.string),
            (At.ranges, Form.sec_offset),
            children=True,
        ),
    )
)


def _extent(start: int, size: int) -> bytes:
    return struct.pack("<QI", start, size)


def _root(name: str, lines_offset: int = 0) -> bytes:
    offset = struct.pack("<I", lines_offset)
    return uleb(_UNIT) + cstring(name) + cstring("/src") + offset


def _unit(dies: bytes, abbreviations: int = 0) -> bytes:
    head = struct.pack("<HIB", _VERSION, abbreviations, 8)
    return _ENCODING.with_length(head + dies + _END)


def _function(number: int, children: bytes | None = None) -> bytes:
    code = _LEAF if children is None else _FUNCTION
    place = _extent(TEXT + number * FUNCTION_SIZE, FUNCTION_SIZE)
    own = uleb(code) + cstring(f"function_{number}") + place
    return own if children is None else own + children + _END


def _call(
    origin: int, start: int, size: int, line: int, children: bytes = b""
) -> bytes:
    own = struct.pack("<BI", _CALL, origin) + _extent(start, size)
    return own + b"\1" + uleb(line) + children + _END


def _lines(*functions: int) -> list[Op]:
    """A sequence for each function: rows on two lines of two files."""
    ops: list[Op] = []
    for number in functions:
        ops += [set_address(TEXT + number * FUNCTION_SIZE), advance_line(number % 50)]
        for file in (2, 1, 2, 1):
            ops += [set_file(file), advance_line(3), COPY, advance_pc(8)]
        ops += [advance_pc(FUNCTION_SIZE - 32), END_SEQUENCE]
    return ops


def _table(ops: list[Op]) -> bytes:
    program = LineProgram(ops, files=(File("a.c"), File("b.h")))
    return program.encode(_ENCODING, _VERSION, lambda _form, _text: 0)


def _program(
    info: bytes, lines: bytes, end: int, abbreviations: bytes = b"", **others: bytes
) -> bytes:
    sections = {
        ".debug_info": info,
        ".debug_abbrev": _ABBREVIATIONS + abbreviations + _END,
        ".debug_line": lines,
        **{f".debug_{name}": content for name, content in others.items()},
    }
    return elf_of(sections, code_section(TEXT, end - TEXT))


def _end_of(functions: int) -> int:
    return TEXT + functions * FUNCTION_SIZE


def _functions(first: int, count: int, name: str, lines_offset: int) -> bytes:
    """A unit of functions with an inlined call each."""
    root = _root(name, lines_offset)
    origin = _HEADER_SIZE + len(root)
    dies = [root, uleb(_ABSTRACT) + cstring(f"inlined_in_{name}") + b"\1"]
    for number in range(first, first + count):
        start = TEXT + number * FUNCTION_SIZE
        dies.append(_function(number, _call(origin, start + 8, 16, number % 90 + 1)))
    return _unit(b"".join(dies))


# ---- the series


def units(count: int) -> bytes:
    """Units of one function, each with a line table of its own."""
    info, lines = [], bytearray()
    for number in range(count):
        info.append(_functions(number, 1, f"unit_{number}.c", len(lines)))
        lines += _table(_lines(number))
    return _program(b"".join(info), bytes(lines), _end_of(count))


def units_of_one_line_table(count: int) -> bytes:
    """Units of one function, whose line table is the same one."""
    info = (_functions(number, 1, f"unit_{number}.c", 0) for number in range(count))
    return _program(b"".join(info), _table(_lines(*range(count))), _end_of(count))


def tiny_units(count: int) -> bytes:
    """Units of one function and nothing else."""
    info = b"".join(_unit(_root("u.c") + _function(number)) for number in range(count))
    return _program(info, _table([]), _end_of(count))


def one_giant_unit(count: int) -> bytes:
    """One unit of functions with lines and inlined calls."""
    info = _functions(0, count, "giant.c", 0)
    return _program(info, _table(_lines(*range(count))), _end_of(count))


def functions_of_a_unit(count: int) -> bytes:
    """One unit of bare functions."""
    info = _unit(_root("a.c") + b"".join(map(_function, range(count))))
    return _program(info, _table([]), _end_of(count))


def methods_before_their_class(count: int) -> bytes:
    """One unit of methods on a line each, and after them the class that declares them.

    Each has an inlined call, the first ten are there twice, and a unit of one function
    follows.
    """
    declared, class_, method = range(_OTHERS, _OTHERS + 3)
    table = b"".join(
        (
            _abbreviation(
                declared,
                Tag.subprogram,
                (At.name, Form.string),
                (At.declaration, Form.flag_present),
                children=False,
            ),
            _abbreviation(
                class_, Tag.class_type, (At.name, Form.string), children=True
            ),
            _abbreviation(
                method,
                Tag.subprogram,
                (At.specification, Form.ref4),
                *_EXTENT,
                children=True,
            ),
        )
    )
    root = _root("a.c")
    origin = _HEADER_SIZE + len(root)
    before = root + uleb(_ABSTRACT) + cstring("inlined") + b"\1"

    def method_at(number: int, declaration: int) -> bytes:
        start = TEXT + number * FUNCTION_SIZE
        own = struct.pack("<BI", method, declaration) + _extent(start, FUNCTION_SIZE)
        return own + _call(origin, start + 8, 16, number % 90 + 1) + _END

    head = uleb(class_) + cstring("C")
    declarations = [
        uleb(declared) + cstring(f"m{number:06}") for number in range(count)
    ]
    numbers = [*range(count), *range(10)]
    first = _HEADER_SIZE + len(before) + len(numbers) * len(method_at(0, 0)) + len(head)
    methods = [
        method_at(number, first + number * len(declarations[0])) for number in numbers
    ]
    large = _unit(b"".join((before, *methods, head, *declarations, _END)))
    a_line_each = (advance_pc(FUNCTION_SIZE) + advance_line(1) + COPY) * (count - 1)
    end = advance_pc(FUNCTION_SIZE)
    lines = _table([set_address(TEXT), COPY, a_line_each, end, END_SEQUENCE])
    small = _functions(count, 1, "after.c", len(lines))
    lines += _table(_lines(count))
    return _program(large + small, lines, _end_of(count + 1), table)


def rows_of_a_function(count: int) -> bytes:
    """One function of so many rows."""
    ops: list[Op] = [set_address(TEXT), b"\x4b\x58" * (count // 2), END_SEQUENCE]
    end = TEXT + 9 * (count // 2)
    die = uleb(_LEAF) + cstring("long") + _extent(TEXT, end - TEXT)
    return _program(_unit(_root("a.c") + die), _table(ops), end)


def rows_of_one_address(count: int) -> bytes:
    """One function of so many rows, all at its start."""
    ops: list[Op] = [set_address(TEXT), (advance_line(1) + COPY) * count]
    ops += [advance_pc(FUNCTION_SIZE), END_SEQUENCE]
    return _program(_unit(_root("a.c") + _function(0)), _table(ops), _end_of(1))


def sequences_of_one_address(count: int) -> bytes:
    """One function, and so many sequences that all begin where it does."""
    lines = _table(_lines(*[0] * count))
    return _program(_unit(_root("a.c") + _function(0)), lines, _end_of(1))


def functions_in_each_other(count: int) -> bytes:
    """Functions that all end at one place, with a row each."""
    end = TEXT + 2 * count
    dies = [
        uleb(_LEAF) + cstring(f"f{at}") + _extent(TEXT + at, 2 * count - at)
        for at in range(count)
    ]
    ops: list[Op] = [set_address(TEXT), b"\x4b\x58" * (count // 16), END_SEQUENCE]
    return _program(_unit(_root("a.c") + b"".join(dies)), _table(ops), end)


def depth_of_inlined_calls(count: int) -> bytes:
    """A function with calls in calls, each a byte shorter at both ends."""
    root = _root("a.c")
    abstract = uleb(_ABSTRACT) + cstring("inlined") + b"\1"
    origin = _HEADER_SIZE + len(root)
    whole = 2 * count + 16
    opened = [
        struct.pack("<BI", _CALL, origin)
        + _extent(TEXT + depth, whole - 2 * depth)
        + b"\1\5"
        for depth in range(1, count)
    ]
    die = uleb(_FUNCTION) + cstring("deep") + _extent(TEXT, whole)
    body = die + b"".join(opened) + _END * count
    return _program(_unit(root + abstract + body), _table([]), TEXT + whole)


def parts_of_a_function(count: int) -> bytes:
    """A function of so many ranges, with an inlined call in each."""
    root = _root("a.c")
    abstract = uleb(_ABSTRACT) + cstring("inlined") + b"\1"
    origin = _HEADER_SIZE + len(root)
    starts = [TEXT + number * FUNCTION_SIZE for number in range(count)]
    calls = b"".join(_call(origin, start + 8, 16, 5) for start in starts)
    die = uleb(_PARTS) + cstring("parts") + struct.pack("<I", 0)
    pairs = [struct.pack("<QQ", start, start + 32) for start in starts]
    return _program(
        _unit(root + abstract + die + calls + _END),
        _table([]),
        _end_of(count),
        ranges=b"".join(pairs) + bytes(16),
    )


def abbreviations(count: int) -> bytes:
    """A table of so many abbreviations, each used once."""
    table, dies = [], []
    for number in range(count):
        code = _OTHERS + number
        pairs = (
            uleb(At.name) + uleb(Form.string) + uleb(At.decl_line) + uleb(Form.udata)
        )
        table.append(uleb(code) + uleb(Tag.variable) + b"\0" + pairs + b"\0\0")
        dies.append(uleb(code) + cstring("v") + uleb(number % 100))
    info = _unit(_root("a.c") + _function(0) + b"".join(dies))
    return _program(info, _table([]), _end_of(1), b"".join(table))


def units_that_take_turns(count: int) -> bytes:
    """Units of one function, with twelve large abbreviation tables in turn."""
    others = (
        _abbreviation(_OTHERS + number, Tag.variable, children=False)
        for number in range(count)
    )
    rest = b"".join(others) + _END
    tables = 11 * (rest + _ABBREVIATIONS) + rest[:-1]
    size = len(_ABBREVIATIONS) + len(rest)
    info = b"".join(
        _unit(_root("u.c") + _function(number), number % 12 * size)
        for number in range(count)
    )
    return _program(info, _table([]), _end_of(count), tables)


def units_beside_type_units(count: int) -> bytes:
    """Units with a large abbreviation table each, which a type unit has as well."""
    others = (
        _abbreviation(_OTHERS + number, Tag.variable, children=False)
        for number in range(200)
    )
    rest = b"".join(others) + _END
    size = len(_ABBREVIATIONS) + len(rest)
    info, types = [], []
    for number in range(count):
        info.append(_unit(_root("u.c") + _function(number), number * size))
        head = struct.pack("<HIBQI", _VERSION, number * size, 8, number, 0)
        types.append(_ENCODING.with_length(head + _END))
    tables = (count - 1) * (rest + _ABBREVIATIONS) + rest[:-1]
    return _program(b"".join(info), b"", _end_of(count), tables, types=b"".join(types))


SERIES: tuple[Callable[[int], bytes], ...] = (
    units,
    units_of_one_line_table,
    tiny_units,
    one_giant_unit,
    functions_of_a_unit,
    rows_of_a_function,
    rows_of_one_address,
    sequences_of_one_address,
    functions_in_each_other,
    depth_of_inlined_calls,
    parts_of_a_function,
    abbreviations,
    units_that_take_turns,
)
