"""Dump files that a log announces: what other tools need to read them."""

from __future__ import annotations

import struct

from gsym.engine.native import to_str
from gsym.errors import FormatError
from gsym.markup.answers import answer_at
from gsym.markup.parser import DumpFile, Pc

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.markup.address_space import AddressSpace
    from gsym.markup.symbols import Symbols

# The magic number of a .sancov file -> the type of its addresses.
_MAGICS = {0xC0BFFFFFFFFFFF64: "Q", 0xC0BFFFFFFFFFFF32: "I"}
_MAGIC_SIZE = 8


def dump_record(dump: DumpFile, space: AddressSpace) -> dict[str, Any]:
    """A dump and the address space, in the format of Fuchsia's symbolizer."""
    return {
        "type": dump.kind,
        "name": dump.name,
        "modules": [
            {
                "id": module.id,
                "name": to_str(module.name),
                "build": module.build_id.hex(),
            }
            for module in space.modules.values()
        ],
        "segments": [
            {
                "mod": segment.module.id,
                "vaddr": segment.start,
                "size": segment.size,
                "flags": to_str(segment.mode),
                "mod_rel_addr": segment.address,
            }
            for segment in space
        ],
    }


def coverage_lines(data: bytes, space: AddressSpace, symbols: Symbols) -> Iterator[str]:
    """The coverage points of a .sancov file, a line for each.

    A function without a known file is at `??:0`, as llvm-symbolizer prints it.
    """
    magic = int.from_bytes(data[:_MAGIC_SIZE], "little")
    code = _MAGICS.get(magic)
    if code is None:
        raise FormatError("not a .sancov file")
    size = struct.calcsize(code)
    end = len(data) - (len(data) - _MAGIC_SIZE) % size
    for (address,) in struct.iter_unpack(f"<{code}", data[_MAGIC_SIZE:end]):
        answer = answer_at(Pc(address, "pc"), address, space, symbols)
        if answer.frames:
            inner = answer.frames[0]
            place = f"{to_str(inner.file) or '??'}:{inner.line}"
            yield f"{address:#x} {to_str(inner.function)} {place}"
        elif answer.segment is not None:
            name = to_str(answer.segment.module.name)
            yield f"{address:#x} {name}+{answer.linked:#x}"
        else:
            yield f"{address:#x}"
