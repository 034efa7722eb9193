"""PDBs of any size, for tests of growth."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

from tests.inputs.pdb import (
    CODE,
    FIRST_TYPE,
    LF_POINTER,
    TEXT,
    Function,
    Inline,
    Module,
    Pdb,
    argument_list,
    procedure_type,
    record,
)
from tests.inputs.pdb_examples import IDS, INLINEES, INNER, LENGTH, OFFSET, OUTER

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE_SIZE = 4096
_SIZE = 16  # of a function or an inlined call
_ARGUMENTS = 4000


def _number(value: int) -> bytes:
    """An operand of four bytes."""
    return pack(">I", 0xC0000000 | value)


def _pdb(modules: list[Module], size: int, types: Sequence[bytes] = ()) -> bytes:
    sections = ((TEXT, size, CODE),)
    made = Pdb(modules, types=types, ids=IDS, sections=sections, page_size=_PAGE_SIZE)
    return made.to_bytes()


def pdb_modules(count: int) -> bytes:
    """Modules with a function that has an inlined call."""
    site = Inline(INNER, bytes([OFFSET, 4, LENGTH, 4]))
    modules = [
        Module(
            [Function(f"f{at}", _SIZE * at, _SIZE, [(0, at + 1), (8, at)], [site])],
            name=f"{at}.obj",
            inlinees=INLINEES,
        )
        for at in range(count)
    ]
    return _pdb(modules, _SIZE * count)


def pdb_sites(count: int) -> bytes:
    """A function with inlined calls one after the other."""
    sites = [
        Inline(
            (INNER, OUTER)[at % 2],
            bytes([OFFSET]) + _number(_SIZE * at) + bytes([LENGTH, 8]),
        )
        for at in range(count)
    ]
    lines = [(_SIZE * at, at + 1) for at in range(count)]
    function = Function("f", 0, _SIZE * count, lines, sites)
    return _pdb([Module([function], inlinees=INLINEES)], _SIZE * count)


def pdb_same_sites(count: int) -> bytes:
    """A function with inlined calls that all claim all of it, in very many lines."""
    site = Inline(INNER, bytes([OFFSET, 0, LENGTH]) + _number(_SIZE * count))
    lines = [(_SIZE * at, at + 1) for at in range(count)]
    function = Function("f", 0, _SIZE * count, lines, [site] * count)
    return _pdb([Module([function], inlinees=INLINEES)], _SIZE * count)


def pdb_endless_types(count: int) -> bytes:
    """Functions whose parameters are pointers to such functions."""
    types = [
        record(LF_POINTER, pack("<II", FIRST_TYPE + 2, 0x1000C)),
        argument_list(*[FIRST_TYPE] * _ARGUMENTS),
        procedure_type(FIRST_TYPE + 1),
    ]
    functions = [
        Function("f", _SIZE * at, _SIZE, type=FIRST_TYPE + 2) for at in range(count)
    ]
    return _pdb([Module(functions)], _SIZE * count, types)
