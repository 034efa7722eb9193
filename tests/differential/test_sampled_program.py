"""A program that samples itself: its trace has the functions of llvm-symbolizer."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from gsym.fxt.reader import open_trace
from gsym.modules.symbolizer import Symbolizer
from gsym.profiles.flame_graph import flame_page
from gsym.profiles.fxt_input import read_fxt_samples
from gsym.profiles.symbolizing import symbolize
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.conftest import find_peer
from tests.differential.peers import run
from tests.symbolizer_runs import run_llvm

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/trace"
FLAGS = ("-O2", "-g", "-fno-omit-frame-pointer")
BUILDS = [("g++", ()), ("g++", ("-no-pie",)), ("clang++-19", ("-fuse-ld=lld-19",))]


@pytest.fixture(params=BUILDS, ids=[f"{name}{flags}" for name, flags in BUILDS])
def sampled(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The program; its samples are in `samples.fxt` beside it."""
    if platform.machine() not in {"x86_64", "aarch64"}:
        pytest.skip("the example knows the registers of two processors")
    compiler, flags = request.param
    program = tmp_path / "sampled"
    build = [find_peer(compiler), *FLAGS, *flags, "-Wl,--build-id"]
    subprocess.run(
        [*build, str(EXAMPLE / "sampled.cc"), "-o", str(program)], check=True
    )
    run(str(program), str(tmp_path / "samples.txt"))
    script, *paths = (EXAMPLE / "samples_to_trace.py", tmp_path / "samples.txt")
    run(sys.executable, str(script), *map(str, paths), str(tmp_path / "samples.fxt"))
    return program


@pytest.mark.usefixtures("llvm_symbolizer")
def test_samples_have_the_functions_that_llvm_symbolizer_names(sampled: Path) -> None:
    trace = open_trace(sampled.with_name("samples.fxt"), strict=True)
    profile = read_fxt_samples(trace)
    assert len(profile.samples) > 20
    assert profile.losses == {}
    store = Store(sampled.with_name("store"))
    add_file(store, sampled)
    symbolizer = Symbolizer(store)
    symbolize(profile, symbolizer)
    symbolizer.close()
    own = [each for each in profile.mappings if each.path == str(sampled)]
    asked = []
    for location in profile.locations:
        mapping = profile.mappings[location.mapping or 0]
        if location.mapping is not None and mapping in own:
            assert mapping.link_start is not None
            address = location.address - mapping.start + mapping.link_start
            asked.append((location, address - location.is_return))
    assert len(asked) > 20
    options = ("--output-style=JSON", "--no-demangle", f"--obj={sampled}")
    said = run_llvm(*options, *(f"{address:#x}" for _, address in asked)).out
    for (location, address), answer in zip(asked, json.loads(said), strict=True):
        found = [frame.system_name for frame in location.frames]
        if found and not found[0].endswith("@plt"):
            names = [each["FunctionName"] for each in answer["Symbol"]]
            assert found == names, hex(address)
        else:
            # In stubs of the linker, it names what stands in front of them.
            lines = [each["Line"] for each in answer["Symbol"]]
            assert lines == [0] * len(lines), hex(address)
    page = flame_page([profile], "sampled")
    for name in ("hash_all", "fibonacci", "Work::run", "main"):
        assert name in page


def test_stacks_go_down_to_main(sampled: Path) -> None:
    profile = read_fxt_samples(open_trace(sampled.with_name("samples.fxt")))
    store = Store(sampled.with_name("store"))
    add_file(store, sampled)
    symbolize(profile, Symbolizer(store))
    stacks = [
        [frame.name for frame in profile.frames_of(sample.stack)]
        for sample in profile.samples
    ]
    # Code without frame pointers, as in the C library, ends a stack early.
    whole = [stack for stack in stacks if "main" in stack]
    assert any("Work::run(int)" in stack for stack in whole)
    assert any(stack.count("fibonacci(int)") > 3 for stack in whole)
