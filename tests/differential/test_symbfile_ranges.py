"""The chains that the ranges of symbfiles give: those of llvm-symbolizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.symbfile.address_index import AddressIndex
from gsym.symbfile.extraction import extract
from gsym.symbfile.format import open_symbfile
from tests.differential import peers
from tests.differential.chains import unexplained
from tests.differential.targets import TARGETS, executable
from tests.differential.test_calls import BUILDS, MACHINES, build

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.targets import Target

MOST_ADDRESSES = 6000


def chains(ranges: Path, addresses: list[int]) -> list[tuple[peers.Frame, ...]]:
    index = AddressIndex(open_symbfile(ranges).records())
    answers = map(index.lookup, addresses)
    return [tuple(peers.Frame(*frame) for frame in each or ()) for each in answers]


def addresses_of(output: Path) -> list[int]:
    """All bytes of functions with lines, or some of them where they are many."""
    with gsym.open(output) as reader:
        found = [
            address
            for each in reader.functions()
            if each.line_table
            for address in range(each.address, each.address + each.size)
        ]
    return found[:: len(found) // MOST_ADDRESSES + 1]


def compare(binary: Path, judge: Path, folder: Path) -> None:
    """The chain at each address is that of llvm-symbolizer."""
    output, ranges = folder / "out.gsym", folder / "out.symbfile"
    gsym.convert(binary, output)
    extract(output, ranges=ranges, names="mangled")
    addresses = addresses_of(output)
    assert addresses
    assert unexplained(output, judge, addresses, chains(ranges, addresses))[:5] == []


@pytest.mark.parametrize(
    "name",
    [
        *("inline", "inline-no-tco", "inline-compressed-dwarf"),
        *("inline-compressed-dwarf-zstd", "go-1.20.14", "go-1.24.0"),
    ],
)
def test_the_chains_of_a_fixture(name: str, fixtures: Path, tmp_path: Path) -> None:
    binary = fixtures / "symblib" / name
    compare(binary, binary, tmp_path)


@pytest.mark.parametrize("chosen", BUILDS, ids=" ".join)
def test_the_chains_of_a_program_built_here(
    chosen: tuple[str, str, str], tmp_path: Path
) -> None:
    binary = build(chosen, tmp_path)
    compare(binary, binary, tmp_path)


@pytest.mark.parametrize(
    "target",
    [
        each
        for each in TARGETS
        if each.container != "macho" and any(name in each.title for name in MACHINES)
    ],
    ids=lambda target: target.title,
)
def test_the_chains_of_code_for_other_machines(target: Target, tmp_path: Path) -> None:
    program = executable(target, tmp_path)
    compare(program.binary, program.judge, tmp_path)
