"""Machine code without a binary, gone through for calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import gsym
from gsym.engine.native import check, ffi, lib, new_error
from gsym.symbfile.calls import Calls
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Buffer

X86_64 = lib.GSYM_INSTRUCTIONS_X86_64
AARCH64 = lib.GSYM_INSTRUCTIONS_AARCH64
START = 0x1000

# A function without a size goes as far as its code does.
_FILE = create([gsym.FunctionInfo(START, 0, "code")])


class Found(NamedTuple):
    """What was found: (offset, size) of each call, how many instructions in all."""

    calls: list[tuple[int, int]]
    instructions: int
    ended_early: bool = False


def find_calls(
    reader: gsym.Reader, pieces: Mapping[int, Buffer], instruction_set: int = X86_64
) -> Calls:
    """The calls of a GSYM file in code that is given as {address: bytes}."""
    alive = [ffi.from_buffer("uint8_t[]", code) for code in pieces.values()]
    held_pieces = ffi.new(
        "gsym_code[]",
        [
            (held, len(held), address)
            for held, address in zip(alive, pieces, strict=True)
        ],
    )
    code = ffi.new("gsym_machine_code *", (held_pieces, len(pieces), instruction_set))
    made, error = ffi.new("gsym_calls **"), new_error()
    status = lib.gsym_calls_find(reader.mapped.image, code, made, error)
    check(status, error)
    return Calls(made[0])


def go_through(code: bytes, instruction_set: int = X86_64) -> Found:
    """All instructions of *code*, up to the first that is undefined or cut off."""
    with gsym.Reader(_FILE) as reader:
        calls = find_calls(reader, {START: code}, instruction_set)
    return Found(
        [(address - START, behind - address) for address, behind in calls],
        calls.instructions,
        calls.ended_early > 0,
    )
