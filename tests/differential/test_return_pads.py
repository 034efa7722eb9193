"""The chains of return pads in real programs: those of llvm-symbolizer at each call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.symbfile.calls import find_calls
from gsym.symbfile.extraction import symbfile_blocks
from gsym.symbfile.format import Decoder, ReturnPad
from tests.differential import peers
from tests.differential.chains import unexplained
from tests.differential.targets import TARGETS, dsym, executable
from tests.differential.test_calls import BUILDS, MACHINES, build

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.targets import Target


def compare(binary: Path, judge: Path, code: Path, output: Path) -> None:
    """The chain at each call is that of llvm-symbolizer, as far as that knows one."""
    gsym.convert(binary, output)
    with gsym.open(output) as reader:
        calls = find_calls(reader, code)
        addresses = [address for address, _ in calls]
        chains = [
            tuple(peers.Frame(*entry) for entry in reversed(pad.entries))
            for pad in Decoder(
                symbfile_blocks(reader, calls=calls, names="mangled")
            ).records()
            if isinstance(pad, ReturnPad)
        ]
    assert addresses
    assert unexplained(output, judge, addresses, chains)[:5] == []


@pytest.mark.parametrize("name", ["inline", "inline-no-tco"])
def test_the_chains_of_a_fixture(name: str, fixtures: Path, tmp_path: Path) -> None:
    binary = fixtures / "symblib" / name
    compare(binary, binary, binary, tmp_path / "out.gsym")


@pytest.mark.parametrize("chosen", BUILDS, ids=" ".join)
def test_the_chains_of_a_program_built_here(
    chosen: tuple[str, str, str], tmp_path: Path
) -> None:
    binary = build(chosen, tmp_path)
    compare(binary, binary, binary, tmp_path / "out.gsym")


@pytest.mark.parametrize(
    "target",
    [each for each in TARGETS if any(name in each.title for name in MACHINES)],
    ids=lambda target: target.title,
)
def test_the_chains_of_code_for_other_machines(target: Target, tmp_path: Path) -> None:
    if target.container == "macho":
        program = dsym(target, tmp_path)
        code = tmp_path / "program"
    else:
        program = executable(target, tmp_path)
        code = program.binary
    compare(program.binary, program.judge, code, tmp_path / "out.gsym")
