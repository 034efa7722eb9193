"""Names that are the ends of one long string: a small input, any number of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversions import convert_bytes
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form
from tests.inputs.elf import Elf, Symbol, code_section, elf_of
from tests.inputs.program import function, unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COUNT = 20_000
NAMES = [f"name{n:05}" for n in range(COUNT)]
TABLE = b"\0".join(name.encode() for name in NAMES)
SHARED = "its names share their bytes"


def share(image: bytes) -> bytes:
    """Take the ends off the names that stand one behind the other in *image*."""
    assert image.count(TABLE) == 1
    return image.replace(TABLE, TABLE.replace(b"\0", b"_"))


def with_symbols() -> bytes:
    symbols = [Symbol(name, 0x1000 + n, 1) for n, name in enumerate(NAMES)]
    return Elf([code_section(size=COUNT)], symbols=symbols).to_bytes()


def with_functions() -> bytes:
    functions = [
        function(None, 0x1000 + n, 0x1001 + n, attributes={At.name: Form.strp(name)})
        for n, name in enumerate(NAMES)
    ]
    sections = Dwarf([unit(*functions, version=4)]).sections()
    return elf_of(sections, code_section(size=COUNT))


@pytest.mark.hostile
@pytest.mark.slow
@pytest.mark.parametrize("make", [with_symbols, with_functions])
def test_they_are_refused_before_they_take_all_memory(
    make: Callable[[], bytes], tmp_path: Path
) -> None:
    image = make()
    assert convert_bytes(tmp_path, image)[0].functions == COUNT
    with pytest.raises(gsym.GsymError, match=SHARED):
        convert_bytes(tmp_path, share(image))
