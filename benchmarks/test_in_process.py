"""Lookups in GSYM files and in DWARF, for pytest-benchmark.

    pytest benchmarks

`benchmarks.in_process` also runs it, on the `prepare`d inputs of the folder in
GSYM_BENCH_INPUTS. By default the input is a library compiled from the engine's DWARF
decoder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from symbolic.symcache import SymCache

import gsym
from benchmarks.prepared import Prepared, prepare, read
from benchmarks.pyelftools_process import answers
from benchmarks.report import ROOT
from tests.differential.peers import LLVM_SYMBOLIZER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS = 5
SINGLE = 20_000  # addresses that are asked for one by one
FEW = 20  # addresses, for which pyelftools takes seconds
IN_DWARF = "DWARF or GSYM, start included"
OWN = Path("dwarf.so")  # compiled by the fixture
FOLDER = os.environ.get("GSYM_BENCH_INPUTS")
INPUTS = sorted(Path(FOLDER).glob("*")) if FOLDER else [OWN]
PROCESSES = {
    "gsym lookup": [str(Path(sys.executable).with_name("gsym")), "lookup", "--stdin"],
    "llvm-symbolizer": [LLVM_SYMBOLIZER, "--disable-gsym", "-e"],
    "addr2line": ["addr2line", "-fie"],
}


@pytest.fixture(scope="module", params=INPUTS, ids=lambda path: path.name)
def prepared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Prepared:
    """Each input in turn."""
    if request.param != OWN:
        return read(request.param)
    if shutil.which("cc") is None:
        pytest.skip("not installed: cc")
    folder = tmp_path_factory.mktemp("inputs")
    sources = sorted(ROOT.glob("csrc/dwarf/*.c"))
    command = ["cc", "-g", "-O2", "-fPIC", "-shared", f"-iquote{ROOT / 'csrc'}"]
    command += [f"-I{ROOT / 'csrc/include'}"]
    subprocess.run([*command, *sources, "-o", folder / OWN], check=True)
    return prepare(folder / OWN, folder / "prepared")


def measure(
    benchmark: Any,
    prepared: Prepared,
    work: Callable[[], object],
    count: int,
) -> None:
    """Time *work*, which looks *count* addresses up, when all is warm."""
    benchmark.extra_info.update(input=prepared.name, count=count)
    benchmark.pedantic(work, rounds=ROUNDS, warmup_rounds=3)


def one_by_one(
    look_up: Callable[[int], object], addresses: Sequence[int]
) -> Callable[[], None]:
    """Look each address up by a call of its own."""

    def work() -> None:
        for address in addresses:
            look_up(address)

    return work


def test_lookup(benchmark: Any, prepared: Prepared) -> None:
    """`Reader.lookup`, which answers in objects."""
    with gsym.open(prepared.gsym) as reader:
        addresses = prepared.addresses("random")[:SINGLE].tolist()
        measure(benchmark, prepared, one_by_one(reader.lookup, addresses), SINGLE)


def test_symbolic(benchmark: Any, prepared: Prepared) -> None:
    """`SymCache.lookup`, which does so, too."""
    cache = SymCache.open(str(prepared.symcache))  # type: ignore[no-untyped-call]
    addresses = prepared.addresses("random", prepared.load_address)[:SINGLE].tolist()
    measure(benchmark, prepared, one_by_one(cache.lookup, addresses), SINGLE)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", ["random", "ascending"])
def test_lookup_many(
    benchmark: Any,
    prepared: Prepared,
    order: str,
    threads: int,
) -> None:
    """A million addresses by `Reader.lookup_many`."""
    addresses = prepared.addresses("random")
    if order == "ascending":
        addresses = array("Q", sorted(addresses))
    with gsym.open(prepared.gsym) as reader:
        measure(
            benchmark,
            prepared,
            lambda: reader.lookup_many(addresses, threads=threads),
            len(addresses),
        )


def test_a_few_in_gsym(benchmark: Any, prepared: Prepared) -> None:
    """A few addresses in a GSYM file, opened each time."""
    addresses = prepared.addresses("random")[:FEW].tolist()

    def work() -> list[object]:
        with gsym.open(prepared.gsym) as reader:
            return [reader.lookup(address) for address in addresses]

    benchmark.group = IN_DWARF
    measure(benchmark, prepared, work, FEW)


def test_a_few_with_pyelftools(benchmark: Any, prepared: Prepared) -> None:
    """The same addresses in the DWARF with pyelftools, without inlined calls."""
    addresses = prepared.addresses("random")[:FEW].tolist()

    def work() -> list[object]:
        with prepared.binary.open("rb") as stream:
            return list(answers(stream, addresses))

    benchmark.group = IN_DWARF
    measure(benchmark, prepared, work, FEW)


@pytest.mark.parametrize("tool", PROCESSES)
def test_a_few_by_a_process(benchmark: Any, prepared: Prepared, tool: str) -> None:
    """The same addresses in a process: `gsym` reads the GSYM file, others the DWARF."""
    command = PROCESSES[tool]
    if shutil.which(command[0]) is None:
        pytest.skip(f"not installed: {command[0]}")
    file = prepared.gsym if tool.startswith("gsym") else prepared.binary
    addresses = prepared.addresses("random")[:FEW]
    lines = "".join(f"0x{address:x}\n" for address in addresses).encode()

    def work() -> None:
        subprocess.run([*command, file], input=lines, capture_output=True, check=True)

    benchmark.group = IN_DWARF
    measure(benchmark, prepared, work, FEW)
