"""Symbol tables, debug maps, Breakpad files and Go programs whose size is a number."""

from __future__ import annotations

from tests.inputs import macho
from tests.inputs.archive import bsd_archive
from tests.inputs.breakpad import Call, Func, Public, Range, Row, text_of
from tests.inputs.debug_map import object_file, stabs
from tests.inputs.elf import Elf, Symbol, code_section
from tests.inputs.go import GoCall, GoFunction, go_elf
from tests.inputs.program import function
from tests.inputs.scaled import TEXT

_HEADS = ("FILE 0 a.c", "INLINE_ORIGIN 0 inlined")


def _symbols(symbols: list[Symbol], size: int) -> bytes:
    return Elf([code_section(TEXT, size)], symbols=symbols).to_bytes()


def symbols_in_each_other(count: int) -> bytes:
    """Symbols that all end at one place."""
    symbols = [Symbol(f"s{at}", TEXT + at, 2 * count - at) for at in range(count)]
    return _symbols(symbols, 2 * count)


def symbols_of_one_address(count: int) -> bytes:
    """Symbols of all sizes at one address."""
    symbols = [Symbol(f"s{at}", TEXT, at % 64) for at in range(count)]
    return _symbols(symbols, 64)


def breakpad_depth(count: int) -> bytes:
    """A function with calls in calls, each a byte shorter at both ends."""
    whole = 2 * count + 16
    calls = tuple(
        Call(depth, 3, 0, 0, (Range(TEXT + depth, whole - 2 * depth),))
        for depth in range(count)
    )
    function = Func(Range(TEXT, whole), "f", calls=calls)
    return text_of(*_HEADS, function)


def breakpad_calls(count: int) -> bytes:
    """A function with calls side by side, in the lines of which others begin."""
    calls = tuple(
        Call(0, at + 1, 0, 0, (Range(TEXT + 16 * at + 4, 16),)) for at in range(count)
    )
    rows = tuple(Row(Range(TEXT + 16 * at, 16), at + 1, 0) for at in range(count))
    return text_of(*_HEADS, Func(Range(TEXT, 16 * count + 32), "f", rows, calls))


def breakpad_ranges(count: int) -> bytes:
    """A call of so many ranges, in each of which is one of another call."""
    outer = tuple(Range(TEXT + 16 * at, 12) for at in range(count))
    inner = tuple(Range(TEXT + 16 * at + 4, 4) for at in range(count))
    calls = (Call(0, 3, 0, 0, outer), Call(1, 4, 0, 0, inner))
    return text_of(*_HEADS, Func(Range(TEXT, 16 * count), "f", calls=calls))


def breakpad_twins(count: int) -> bytes:
    """Functions that all end at one place, and symbols in them."""
    functions = [
        Func(Range(TEXT + at, 2 * count - at), f"f{at}", multiple=True)
        for at in range(count)
    ]
    publics = [Public(TEXT + at, f"p{at}") for at in range(count)]
    return text_of(*_HEADS, *functions, *publics)


def breakpad_merged(count: int) -> bytes:
    """Functions of one range, which are merged."""
    functions = [Func(Range(TEXT, 16), f"f{at}", multiple=True) for at in range(count)]
    return text_of(*_HEADS, *functions)


def macho_functions(count: int) -> bytes:
    """A debug map of one object file, whose functions are in another order there."""
    functions = {f"_f{at}": (TEXT + 16 * at, 16) for at in reversed(range(count))}
    return _linked(stabs(f"macho_functions-{count}.o", functions), count)


def _object_of_functions(count: int) -> bytes:
    dies = [function(f"f{at}", 16 * at, 16 * at + 16) for at in range(count)]
    symbols = [macho.Symbol(f"_f{at}", 16 * at) for at in range(count)]
    return object_file(*dies, symbols=symbols, size=16 * count)


def macho_objects(count: int) -> bytes:
    """A debug map of so many object files in an archive, with a function each."""
    groups = (
        stabs(f"macho_objects-{count}.o(m{at}.o)", {f"_f{at}": (TEXT + 16 * at, 16)})
        for at in range(count)
    )
    return _linked([symbol for group in groups for symbol in group], count)


def _archive_of_objects(count: int) -> bytes:
    objects = {
        f"m{at}.o": object_file(
            function(f"f{at}", 0, 16), symbols=[macho.Symbol(f"_f{at}", 0)]
        )
        for at in range(count)
    }
    return bsd_archive(objects)


def _linked(symbols: list[macho.Symbol], count: int) -> bytes:
    text = macho.code(TEXT, 16 * count)
    return macho.Macho([text], symbols, base=TEXT - 0x1000).to_bytes()


# What is beside a file, with `.o` after its name.
COMPANIONS = {
    macho_functions: _object_of_functions,
    macho_objects: _archive_of_objects,
}


def go_functions(count: int) -> bytes:
    """Functions with an inlined call each, so small that .text holds all of them."""
    functions = [
        GoFunction(
            f"main.f{at}",
            2 * at,
            2,
            rows=((0, "/go/a.go", at + 1), (1, "/go/b.go", 5)),
            calls=(GoCall("lib.G", 0, "/go/a.go", at + 1),),
            spans=((0, -1), (1, 0)),
        )
        for at in range(count)
    ]
    return go_elf(functions).to_bytes()


SERIES = (
    symbols_in_each_other,
    symbols_of_one_address,
    breakpad_depth,
    breakpad_calls,
    breakpad_ranges,
    breakpad_twins,
    breakpad_merged,
    macho_functions,
    macho_objects,
    go_functions,
)
