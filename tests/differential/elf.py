"""What the comparison wants to know of a binary itself: its symbols."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from tests.differential.differences import Symbol
from tests.differential.peers import run

if TYPE_CHECKING:
    from pathlib import Path

# A symbol further away than this is not looked at.
_REACH = 1 << 16


def symbols(binary: Path) -> list[Symbol]:
    """The defined symbols of *binary* that may name code, by address."""
    printed = run("readelf", "--syms", "--wide", str(binary))
    found = set()
    for line in printed.splitlines():
        fields = line.split(maxsplit=7)
        if len(fields) != 8 or fields[3] not in {"FUNC", "NOTYPE", "IFUNC"}:
            continue
        _, value, size, kind, _, _, section, name = fields
        if section.isdigit():
            extent = int(size, 16 if size.startswith("0x") else 10)
            found.add(Symbol(int(value, 16), extent, kind, name))
    return sorted(found)


def symbols_near(by_address: list[Symbol], address: int) -> tuple[Symbol, ...]:
    """Those symbols that start at or less than 64 KiB before *address*."""
    first = bisect.bisect_left(by_address, (address - _REACH,))
    last = bisect.bisect_left(by_address, (address + 1,))
    return tuple(by_address[first:last])
