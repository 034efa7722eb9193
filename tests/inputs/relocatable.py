"""Debug sections of a relocatable file, whose addresses come by relocations.

The sections are written with markers where addresses belong:

    sections, relocations = relocate(dwarf, {0x1122334455667788: Target("f")}, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.inputs.elf import Relocation
from tests.inputs.encoding import Encoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.inputs.encoding import ByteOrder


class Target(NamedTuple):
    """What a marker stands for: a place behind a symbol."""

    symbol: str
    addend: int = 0


class Relocated(NamedTuple):
    sections: dict[str, bytes]
    relocations: list[tuple[str, list[Relocation]]]


def relocate(  # noqa: PLR0913 - keywords, each a choice of its own
    sections: Mapping[str, bytes],
    markers: Mapping[int, Target],
    kind: int,
    *,
    bits: int = 64,
    byteorder: ByteOrder = "little",
    explicit_addends: bool = True,
) -> Relocated:
    """Put a relocation of type *kind* in place of each marker."""
    encoding = Encoding(byteorder, bits // 8)
    written, relocations = {}, []
    for name, data in sections.items():
        found = sorted(_find(data, markers, encoding))
        out = bytearray(data)
        for offset, target in found:
            present = 0 if explicit_addends else target.addend
            out[offset : offset + bits // 8] = encoding.address(present)
        written[name] = bytes(out)
        if found:
            entries = [Relocation(at, kind, to.symbol, to.addend) for at, to in found]
            relocations.append((name, entries))
    return Relocated(written, relocations)


def _find(
    data: bytes, markers: Mapping[int, Target], encoding: Encoding
) -> Iterator[tuple[int, Target]]:
    for marker, target in markers.items():
        pattern = encoding.address(marker)
        offset = data.find(pattern)
        while offset >= 0:
            yield offset, target
            offset = data.find(pattern, offset + 1)
