"""Our files of small programs against llvm-gsymutil's, in many flavours of DWARF."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.differential import peers, sampling
from tests.differential.building import flavours, program
from tests.differential.compare import compare
from tests.differential.programs import FLAVOURS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.programs import Flavour

ADDRESSES = 2_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs stand, built once for all tests."""
    missing = peers.missing_tools(peers.LLVM_GSYMUTIL, peers.LLVM_SYMBOLIZER, "readelf")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return tmp_path_factory.mktemp("programs")


@flavours
def test_answers_equal_those_of_llvm_or_differ_for_a_known_reason(
    flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    binary = program(flavour, folder)
    found = compare(binary, tmp_path, ADDRESSES)
    assert found.unexplained == []
    assert found.misread == {}
    for each in found.judgements:
        assert each.equal + each.classes.total() == found.addresses
    assert 0 < found.addresses <= ADDRESSES
    ours = tmp_path / "ours.gsym"
    report = gsym.convert(str(binary), str(ours))
    dump = peers.run(peers.LLVM_GSYMUTIL, str(ours))
    assert dump.count("\nFunctionInfo @ ") == report.functions > 0


@pytest.mark.parametrize(
    "flavour",
    [flavour for flavour in FLAVOURS if flavour.has_halves],
    ids=lambda flavour: flavour.title,
)
def test_llvm_gsymutil_finds_the_functions_we_merged(
    flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "ours.gsym"
    binary = program(flavour, folder)
    report = gsym.convert(str(binary), str(ours), merged_functions=True)
    assert report.functions_merged > 0
    starts = [function.start for function in sampling.functions(ours)]
    options = ["--merged-functions", *(f"--address={start + 1}" for start in starts)]
    printed = peers.run(peers.LLVM_GSYMUTIL, *options, str(ours))
    assert peers.run(*peers.OUR_GSYMUTIL, *options, str(ours)) == printed
    assert printed.count("Found 2 functions at address") == report.functions_merged


@flavours
def test_llvm_symbolizer_reads_ours_for_a_stripped_program(
    flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    if shutil.which("strip") is None:
        pytest.skip("not installed: strip")
    binary = program(flavour, folder)
    stripped, elsewhere = tmp_path / "program", tmp_path / "symbols"
    peers.run("strip", "-o", str(stripped), str(binary))
    elsewhere.mkdir()
    ours = elsewhere / "program.gsym"
    gsym.convert(str(binary), str(ours))
    addresses = sampling.random_addresses(sampling.functions(ours), 500, seed=2)
    expected = [
        tuple(frame._replace(offset=-1) for frame in peers.parse_frames(answer))
        for answer in peers.gsymutil_answers(peers.OUR_GSYMUTIL, ours, addresses)
    ]
    option = f"--gsym-file-directory={elsewhere}"
    ask = partial(peers.symbolizer_answers, stripped, addresses, reads_gsym=True)
    assert ask(option) == expected
    ours.rename(tmp_path / "program.gsym")
    assert ask() == expected
