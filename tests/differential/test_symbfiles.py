"""What symbfiles hold of real programs: calls as llvm-objdump shows them, and chains.

The chains, of ranges and of return pads, are those of llvm-symbolizer.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.symbfile.address_index import AddressIndex
from gsym.symbfile.calls import Calls, find_calls
from gsym.symbfile.columns import ReturnPad
from gsym.symbfile.extraction import extract, symbfile_blocks
from gsym.symbfile.format import Decoder, open_symbfile
from tests.conftest import find_peer
from tests.differential import peers
from tests.differential.chains import unexplained
from tests.differential.peers import LLVM_OBJDUMP, objdump_calls, run
from tests.differential.programs import SOURCES
from tests.differential.targets import TARGETS, dsym, executable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.targets import Target

BUILDS = (
    ("gcc", "shapes.c", "-O2"),
    ("gcc", "shapes.c", "-O0"),
    ("gcc", "shapes.c", "-O3 -march=x86-64-v4 -ffunction-sections"),
    ("gcc", "calls.c", "-O2"),
    ("gcc", "calls.c", "-O3 -fcf-protection -fno-plt"),
    ("clang-19", "calls.c", "-O2"),
    ("g++", "shapes.cc", "-O2"),
    ("g++", "shapes.cc", "-O2 -static"),
    ("clang-19", "shapes.c", "-O2 -mtune=native"),
    ("clang++-19", "shapes.cc", "-O3 -mavx512f -mavx512vl"),
)
OPEN_END = 1 << 64
MACHINES = ("x86_64", "aarch64", "arm64")
MOST_ADDRESSES = 6000


def end_of_function(reader: gsym.Reader, address: int) -> int:
    """The end of the function at an address; 0 if there is none."""
    found = reader.lookup(address)
    if found is None:
        return 0
    start, size = found.function.start, found.function.size
    return start + size if size else OPEN_END


def compare_calls(reader: gsym.Reader, code: Path) -> Calls:
    """Each call in a function is found, and nothing else."""
    calls = find_calls(reader, code)
    expected = {
        after
        for address, after in objdump_calls(code).items()
        if after <= end_of_function(reader, address)
    }
    found = {
        after
        for at, (_, after) in enumerate(calls)
        if calls.columns.has_line[at]  # or it is the exit of goroutines
    }
    assert found == expected
    assert len(expected) > 0
    return calls


def compare_pads(reader: gsym.Reader, calls: Calls, output: Path, judge: Path) -> None:
    blocks = symbfile_blocks(reader, calls=calls, names="mangled")
    chains = [
        tuple(peers.Frame(*entry) for entry in reversed(pad.entries))
        for pad in Decoder(blocks).records()
        if isinstance(pad, ReturnPad)
    ]
    addresses = [address for address, _ in calls]
    assert unexplained(output, judge, addresses, chains)[:5] == []


def compare_ranges(output: Path, judge: Path) -> None:
    """At all bytes of functions with lines, or at some of them if they are many."""
    ranges = output.with_suffix(".symbfile")
    extract(output, ranges=ranges, names="mangled")
    with gsym.open(output) as reader:
        found = [
            address
            for each in reader.functions()
            if each.line_table
            for address in range(each.start, each.start + each.size)
        ]
    assert found
    addresses = found[:: len(found) // MOST_ADDRESSES + 1]
    index = AddressIndex(open_symbfile(ranges).records())
    chains = [
        tuple(peers.Frame(*frame) for frame in index.lookup(address) or ())
        for address in addresses
    ]
    assert unexplained(output, judge, addresses, chains)[:5] == []


def compare(binary: Path, judge: Path, code: Path, folder: Path) -> None:
    find_peer(LLVM_OBJDUMP)
    output = folder / "out.gsym"
    gsym.convert(binary, output)
    with gsym.open(output) as reader:
        calls = compare_calls(reader, code)
        compare_pads(reader, calls, output, judge)
    compare_ranges(output, judge)


@pytest.mark.parametrize("name", ["inline", "inline-no-tco"])
def test_a_real_program(name: str, fixtures: Path, tmp_path: Path) -> None:
    binary = fixtures / "symblib" / name
    compare(binary, binary, binary, tmp_path)


@pytest.mark.parametrize("name", ["go-1.20.14", "go-1.22.12", "go-1.24.0"])
def test_a_real_program_of_go(name: str, fixtures: Path, tmp_path: Path) -> None:
    """Its return pads have the exit of goroutines, which LLVM does not know."""
    binary, output = fixtures / "symblib" / name, tmp_path / "out.gsym"
    gsym.convert(binary, output)
    with gsym.open(output) as reader:
        compare_calls(reader, binary)
    compare_ranges(output, binary)


@pytest.mark.parametrize("chosen", BUILDS, ids=" ".join)
def test_a_program_built_here(chosen: tuple[str, str, str], tmp_path: Path) -> None:
    compiler, source, options = chosen
    program = tmp_path / "program"
    command = [find_peer(compiler), "-g", *options.split(), str(SOURCES / source)]
    try:
        run(*command, "-o", str(program))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not built here: {error.stderr.strip()[:200]}")
    compare(program, program, program, tmp_path)


@pytest.mark.parametrize(
    "target",
    [each for each in TARGETS if any(name in each.title for name in MACHINES)],
    ids=lambda target: target.title,
)
def test_code_for_other_machines(target: Target, tmp_path: Path) -> None:
    if target.container == "macho":
        program = dsym(target, tmp_path)
        code = tmp_path / "program"
    else:
        program = executable(target, tmp_path)
        code = program.binary
    compare(program.binary, program.judge, code, tmp_path)
