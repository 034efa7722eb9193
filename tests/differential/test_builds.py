"""Our answers for many builds against those of the readers of DWARF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.differential import layout, peers, sampling
from tests.differential.building import program
from tests.differential.builds import BUILDS, QUICK
from tests.differential.judges import judge
from tests.differential.line_coverage import LLVM_DWARFDUMP, Rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.programs import Flavour

pytestmark = pytest.mark.long

RANDOM = 2_000
MOST = 12_000
SHOWN = 5


def addresses_of(binary: Path) -> list[int]:
    """Those of rows and symbols, or some of them if they are many, and random ones."""
    code = layout.code(binary)
    starts = {symbol.start for symbol in layout.symbol_table(binary).symbols}
    starts |= set(Rows(binary).addresses)
    known = [each for each in sorted(starts) if any(a <= each < b for a, b in code)]
    return sorted(
        {
            *known[:: len(known) // MOST + 1],
            *sampling.addresses_in(code, RANDOM, seed=4),
        }
    )


@pytest.mark.parametrize(
    "flavour",
    [
        pytest.param(each, id=each.title, marks=pytest.mark.quick)
        if each.title in QUICK
        else pytest.param(each, id=each.title)
        for each in BUILDS
    ],
)
def test_the_readers_of_dwarf_agree(flavour: Flavour, tmp_path: Path) -> None:
    tools = (peers.LLVM_SYMBOLIZER, LLVM_DWARFDUMP, "addr2line", "readelf")
    missing = peers.missing_tools(*tools)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    binary = peers.decompressed(program(flavour, tmp_path), tmp_path)
    output = tmp_path / "ours.gsym"
    report = gsym.convert(str(binary), str(output))
    assert report.functions_with_lines > 0
    judges = judge(binary, output, addresses_of(binary))
    assert judges.unexplained[:SHOWN] == []
    assert judges.lost_lines == {}


def test_every_title_is_of_one_build() -> None:
    titles = [each.title for each in BUILDS]
    assert len(titles) == len(set(titles)) > 90
