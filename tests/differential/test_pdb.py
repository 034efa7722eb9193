"""Programs for Windows: the answers of llvm-symbolizer, from the same PDB.

llvm-symbolizer names a function by its public symbol or, with `-f=short`, by the symbol
of its module, without parameters; so both are asked.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from struct import pack, unpack_from
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from tests.conftest import find_peer
from tests.differential.peers import zig
from tests.differential.programs import SOURCES
from tests.inputs.pdb import TEXT, msf
from tests.referee import opening
from tests.referee.msf import Streams
from tests.symbolizer_runs import LLVM_SYMBOLIZER, run_llvm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

TARGETS = ("x86_64", "i686", "aarch64")
LEVELS = ("-O0", "-O1", "-O2", "-Os")
MOST = 20_000  # addresses of a program; of larger ones a part
COMPILER_OPTIONS = (
    *("-g", "-gcodeview", "-ffunction-sections", "-fno-exceptions", "-std=c++17"),
    *("-fno-stack-protector", "-mno-stack-arg-probe", "-w"),
)
LINKER_OPTIONS = (
    *("/nologo", "/debug", "/nodefaultlib", "/entry:mainCRTStartup"),
    "/subsystem:console",
)


class Frame(NamedTuple):
    name: str
    path: str
    line: int


Frames = list[Frame]


@pytest.fixture(scope="module", params=[(a, b) for a in TARGETS for b in LEVELS])
def compiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An object file."""
    target, level = request.param
    made = tmp_path_factory.mktemp("windows") / "made.obj"
    command = [find_peer("clang-19", "clang"), f"--target={target}-pc-windows-msvc"]
    source = str(SOURCES / "windows.cc")
    command += [*COMPILER_OPTIONS, level, "-c", source, "-o", str(made)]
    subprocess.run(command, check=True)
    return made


@pytest.fixture(params=["icf", "noicf"])
def program(request: pytest.FixtureRequest, compiled: Path) -> Path:
    """A program that is linked with its PDB beside it."""
    made = compiled.with_name(f"{request.param}.exe")
    return link(made, compiled, options=[f"/opt:ref,{request.param}"])


def link(made: Path, *objects: Path, options: Sequence[str] = ()) -> Path:
    linker = [find_peer("lld-link-19", "lld-link"), *LINKER_OPTIONS, *options]
    subprocess.run([*linker, f"/out:{made}", *map(str, objects)], check=True)
    return made


def theirs(program: Path, addresses: Iterable[int], names: str) -> list[Frames]:
    find_peer(LLVM_SYMBOLIZER)
    printed = run_llvm(
        *(f"--obj={program}", f"-f={names}", "--output-style=JSON"),
        lines="\n".join(map(hex, addresses)),
    )
    assert printed.status == 0
    answers = [json.loads(line)["Symbol"] for line in printed.out.splitlines()]
    return [
        [Frame(each["FunctionName"], each["FileName"], each["Line"]) for each in answer]
        for answer in answers
    ]


def ours(reader: gsym.Reader, address: int) -> Frames:
    answer = reader.lookup(address)
    frames = () if answer is None else answer.frames
    return [Frame(each.name, each.path, each.line) for each in frames]


class Case(NamedTuple):
    """Two answers that differ, innermost frame first."""

    mine: Frames
    other: Frames
    is_row: bool  # whether a row of ours starts at the address
    is_folded: bool  # whether several functions are there

    @property
    def names(self) -> tuple[list[str], list[str]]:
        return [each.name for each in self.mine], [each.name for each in self.other]


NOTHING = [Frame("", "", 0)]

# docs/differences.md explains them.
REASONS: dict[str, Callable[[Case], bool]] = {
    "a public or thunk, which -f=short does not look at": lambda case: (
        case.other == NOTHING
    ),
    "folded": lambda case: case.is_folded,
    "inlined range up to the next one": lambda case: (
        len(case.mine) > len(case.other)
        and case.names[0][-len(case.other) : -1] == case.names[1][:-1]
    ),
    "line that an operation of its own changes": lambda case: (
        len(case.mine) > 1 and case.mine[1:] == case.other[1:]
    ),
    "underscore of a name on x86": lambda case: (
        without_underscore(case.mine) == case.other
    ),
    "two lines at one address": lambda case: (
        len(case.mine) == 1 and case.is_row and case.names[0] == case.names[1]
    ),
}


def without_underscore(frames: Frames) -> Frames:
    """Frames of llvm-symbolizer on x86: it takes the first _ for decoration."""
    return [each._replace(name=each.name.removeprefix("_")) for each in frames]


def without_parameters(mine: Frames, other: Frames) -> Frames:
    """*mine* with the names of *other* where only parameters differ."""
    frames = mine[::-1]
    for at, (frame, known) in enumerate(zip(frames, other[::-1], strict=False)):
        if frame.name.startswith(f"{known.name}("):
            frames[at] = frame._replace(name=known.name)
    return frames[::-1]


def reason(mine: Frames, other: Frames, *, is_row: bool, is_folded: bool) -> str:
    """Why two answers differ; "" if they do not."""
    mine = without_parameters(mine, other)
    if other in (mine, mine or NOTHING):
        return ""
    case = Case(mine, other, is_row, is_folded)
    found = (name for name, holds in REASONS.items() if holds(case))
    return next(found, "unexplained")


def folded_ranges(program: Path, output: Path) -> list[range]:
    """Where the linker folded several functions into one."""
    gsym.convert(program, output, merged_functions=True)
    with gsym.open(output) as reader:
        return [
            range(each.start, each.start + each.size)
            for each in reader.functions()
            if each.merged
        ]


def compare(program: Path, output: Path, most: int = MOST) -> dict[str, int]:
    """Number of addresses by the reason of a difference."""
    folded = folded_ranges(program, output)
    gsym.convert(program, output)
    found: dict[str, int] = {}
    with ObjectFile(map_file(str(program)), str(program)) as image:
        start, end = image.code_extent or (0, 0)
    with gsym.open(output) as reader:
        rows = frozenset(
            row.address for each in reader.functions() for row in each.line_table or ()
        )
        addresses = sorted({*range(start, end, 1 + (end - start) // most)})
        answers = theirs(program, addresses, "short")
        for address, other in zip(addresses, answers, strict=True):
            why = reason(
                *(ours(reader, address), other),
                is_row=address in rows,
                is_folded=any(address in each for each in folded),
            )
            found[why] = found.get(why, 0) + 1
    return found


def test_every_address_of_a_program_has_the_answer_of_llvm(
    program: Path, tmp_path: Path
) -> None:
    found = compare(program, tmp_path / "made.gsym")
    assert found.pop("") > 500
    known = {"two lines at one address", *(["folded"] * (program.stem == "icf"))}
    assert set(found) <= known


PIECE = 48  # bytes of code that are moved together
MOVED = 0x400000  # where an optimizer could have put the code


def test_code_of_a_program_that_is_moved_keeps_its_answers(
    program: Path, tmp_path: Path
) -> None:
    """Pieces of it are put down in another order, with gaps; some are missing."""
    order = random.Random(program.name).sample(range(60), 50)  # noqa: S311 - no secret
    table = []
    for number, piece in enumerate(order):
        at = MOVED + 2 * PIECE * number
        table += [(at, TEXT + PIECE * piece), (at + PIECE + number % 3, 0)]
    whole = program.with_suffix(".pdb").read_bytes()
    moved = tmp_path / "moved.pdb"
    moved.write_bytes(with_omap(whole, table))
    gsym.convert(whole, tmp_path / "whole.gsym", name="whole.pdb")
    report = gsym.convert(moved)
    with (
        gsym.open(tmp_path / "whole.gsym") as before,
        gsym.open(report.outputs[0]) as after,
    ):
        for (at, source), (end, _) in zip(table[::2], table[1::2], strict=True):
            for offset in range(end - at):
                expected = ours(before, source + offset)
                assert ours(after, at + offset) == expected, hex(source + offset)
            assert ours(after, end) == []
    assert opening.compare(report.outputs[0], str(moved)).differences == []


def with_omap(pdb: bytes, table: Sequence[tuple[int, int]]) -> bytes:
    """*pdb* with one more stream, which translates addresses of the image."""
    read = Streams(memoryview(pdb), "made.pdb")
    streams = [read.read(number) for number in range(99)]  # there are fewer
    dbi = streams[3]
    sizes = unpack_from("<5I", dbi, 24)
    at = 64 + sum(sizes) + unpack_from("<I", dbi, 52)[0]
    streams[3] = dbi[: at + 6] + pack("<H", len(streams)) + dbi[at + 8 :]
    streams.append(b"".join(pack("<II", *entry) for entry in table))
    return msf(streams, 4096)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("target", TARGETS)
def test_a_program_of_rust_has_the_answers_of_llvm(
    target: str, level: int, tmp_path: Path
) -> None:
    made = tmp_path / "made.obj"
    command = [find_peer("rustc"), f"--target={target}-pc-windows-msvc", "--emit=obj"]
    command += [f"-Copt-level={level}", "-g", "-Cpanic=abort", f"-o{made}"]
    done = subprocess.run(
        [*command, str(SOURCES / "windows.rs")],
        env=os.environ | {"RUSTC_BOOTSTRAP": "1"},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("a core library of this source needs rustc 1.95 or newer")
    found = compare(link(made.with_suffix(".exe"), made), tmp_path / "x")
    assert found.keys() == {""}


def test_a_program_for_arm64ec_has_the_answers_of_llvm(tmp_path: Path) -> None:
    """Of the code between architectures only publics say anything."""
    compiler = [find_peer("clang-19", "clang"), "--target=arm64ec-pc-windows-msvc"]
    made = []
    for name in ("windows.cc", "arm64ec.cc"):
        made.append(tmp_path / f"{name}.obj")
        command = [*compiler, *COMPILER_OPTIONS, "-O1", "-c", str(SOURCES / name)]
        subprocess.run([*command, "-o", str(made[-1])], check=True)
    program = link(tmp_path / "made.exe", *made, options=["/machine:arm64ec"])
    found = compare(program, tmp_path / "made.gsym")
    assert found.pop("") > 500
    known = {"two lines at one address"}
    assert set(found) <= {*known, "a public or thunk, which -f=short does not look at"}


@pytest.mark.slow
def test_a_program_of_zig_has_the_answers_of_llvm(tmp_path: Path) -> None:
    compiler = zig()
    if not compiler:
        pytest.skip("not installed: zig")
    source = tmp_path / "made.zig"
    source.write_text(ZIG)
    made = tmp_path / "made.exe"
    command = [compiler, "build-exe", str(source), "-target", "x86-windows"]
    command.append(f"-femit-bin={made}")
    for option in ("--cache-dir", "--global-cache-dir"):
        command += [option, f"{tmp_path}/cache"]
    subprocess.run(command, check=True)
    found = compare(made, tmp_path / "made.gsym", most=4000)
    assert found.pop("") > 3600
    assert "unexplained" not in found


ZIG = """
const std = @import("std");
noinline fn work(n: u32) u32 {
    var sum: u32 = 0;
    for (0..n) |i| sum +%= @intCast(i * i);
    return sum;
}
pub fn main() void { std.debug.print("{d}\\n", .{work(1000)}); }
"""


@pytest.mark.fixtures
def test_a_program_of_msvc_has_the_answers_of_llvm(
    fixtures: Path, tmp_path: Path
) -> None:
    program = fixtures / "symbolic/windows/CrashWithException.exe"
    found = compare(program, tmp_path / "made.gsym")
    assert found.pop("") > 3500
    assert "unexplained" not in found


@pytest.mark.fixtures
@pytest.mark.parametrize(
    ("pdb", "text"),
    [
        ("crash.pdb", "crash.sym"),
        ("CrashWithException.pdb", "CrashWithException.pdb.sym"),
    ],
)
def test_functions_and_lines_are_those_of_dump_syms(
    fixtures: Path, tmp_path: Path, pdb: str, text: str
) -> None:
    """That of Breakpad, on Windows; it does not write inlined calls."""
    folder = fixtures / "symbolic/windows"
    folded = folded_ranges(folder / pdb, tmp_path / "pdb.gsym")
    gsym.convert(folder / pdb, tmp_path / "pdb.gsym")
    gsym.convert(folder / text, tmp_path / "sym.gsym")
    different = []
    with (
        gsym.open(tmp_path / "pdb.gsym") as reader,
        gsym.open(tmp_path / "sym.gsym") as peer,
    ):
        for function in peer.functions():
            for address in range(function.start, function.start + function.size):
                mine, other = ours(reader, address), ours(peer, address)
                is_known = not mine or any(address in each for each in folded)
                if is_known or other[0].line in NEVER_STEP:
                    continue
                if other[0].line not in {each.line for each in mine} or plain(
                    other[0].name
                ) != plain(mine[-1].name):
                    different.append((hex(address), mine, other))
    assert different == []


NEVER_STEP = (0xFEEFEE, 0xF00F00)


def plain(name: str) -> str:
    """A name without parameters, decoration, and what dump_syms has before it."""
    name = name.partition("(")[0].replace("`anonymous namespace'::", "")
    return name.rpartition(" ")[2].lstrip("_")


# What llvm-symbolizer adds to a type, and how it writes what is in both.
_ADDED = re.compile(
    r"\b(?:struct|class|enum|union|__cdecl|__thiscall) |(?<=\[)\d+(?=\])"
)


def test_names_with_parameters_are_those_of_llvm(program: Path, tmp_path: Path) -> None:
    """For functions without template arguments, whose spelling varies."""
    gsym.convert(program, tmp_path / "made.gsym")
    with gsym.open(tmp_path / "made.gsym") as reader:
        functions = {
            each.start: each.name
            for each in reader.functions()
            if "<" not in each.name and not each.name.startswith("same")
        }
    answers = theirs(program, functions, "linkage")
    compared = 0
    for (address, name), other in zip(functions.items(), answers, strict=True):
        text = _ADDED.sub("", other[-1].name).replace("(void)", "()")
        if "(" in text and name.startswith(text.partition("(")[0]):
            assert name == text, hex(address)
            compared += 1
    assert compared >= 4
