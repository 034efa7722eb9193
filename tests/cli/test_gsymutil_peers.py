"""`gsymutil` and llvm-gsymutil 22, side by side on the same files: the same bytes.

Version 22 prints nothing for a miss with merged functions, and words three messages
in another way; all else of what is compared here is as in version 24.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range
from tests import oracle
from tests.gsymutil_runs import Printed, Run, stream
from tests.hostile import FUNCTIONS, small_file
from tests.views import boundaries, to_oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    Peer = Callable[..., Printed]

pytestmark = pytest.mark.slow

BASE = 0x400000

PROGRAM = """\
struct box { int wide, high; };
static inline int clamp(int x, int low, int high)
{ return x < low ? low : x > high ? high : x; }
static inline int scale(int x, int by) { return clamp(x * by, 0, 1000); }
static inline int area(const struct box *b) { return scale(b->wide, b->high); }
extern int sink(int);
__attribute__((noinline)) int grow(struct box *b, int n)
{
    for (int i = 0; i < n; ++i) {
        b->wide = scale(b->wide, sink(i));
        b->high = clamp(b->high + i, 1, 99);
    }
    return area(b);
}
int main(int argc, char **argv)
{
    struct box b = {argc, (int)(long)argv};
    return grow(&b, argc) + clamp(sink(argc), 0, 5);
}
__attribute__((noinline)) int sink(int x) { return x * 7 + 1; }
"""


@pytest.fixture
def peer(llvm_gsymutil: str) -> Peer:
    """Run llvm-gsymutil 22; its name in messages becomes ours."""

    def run_peer(*arguments: str) -> Printed:
        done = subprocess.run(
            [llvm_gsymutil, *arguments],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode >= 0, "it crashed"
        err = done.stderr.decode().replace(llvm_gsymutil, "gsymutil")
        return Printed(done.returncode, done.stdout.decode(), err)

    return run_peer


def addresses_of(path: str) -> list[str]:
    """Options for every address at which an answer of the file may change."""
    with gsym.open(path) as reader:
        places = boundaries(list(reader.functions()))
    return [f"--address={place:#x}" for place in places]


# ---- programs


@pytest.fixture(scope="module", params=[("-O2",), ("-O0",), ("-O2", "-gdwarf-4")])
def program(
    request: pytest.FixtureRequest,
    compiler: str,
    llvm_gsymutil: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """A GSYM file of a compiled program, with call sites."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "box.c").write_text(PROGRAM)
    flags = ["-g", *request.param]
    subprocess.run([compiler, *flags, "box.c", "-o", "box"], cwd=folder, check=True)
    subprocess.run(
        [llvm_gsymutil, "--convert=box", "--dwarf-callsites", "--quiet"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return str(folder / "box.gsym")


def every_address(path: str) -> list[str]:
    """Options for each byte of each function of a small program."""
    with gsym.open(path) as reader:
        return [
            f"--address={info.start + offset:#x}"
            for info in reader.functions()
            for offset in range(-1, info.size + 2)
        ]


def test_a_program_is_dumped_alike(program: str, run: Run, peer: Peer) -> None:
    ours = run(program)
    assert ours == peer(program)
    assert "LineTable:" in ours.out


@pytest.mark.parametrize("options", [[], ["--verbose"]])
def test_a_program_is_looked_up_alike(
    options: list[str], program: str, run: Run, peer: Peer
) -> None:
    addresses = every_address(program)
    assert len(addresses) > 200
    assert run(*options, *addresses, program) == peer(*options, *addresses, program)


def test_a_program_is_looked_up_alike_through_a_stream(
    program: str, llvm_gsymutil: str
) -> None:
    words = [word.partition("=")[2] for word in every_address(program)]
    lines = "".join(f"{word} {program}\n" for word in words).encode()
    theirs = subprocess.run(
        [llvm_gsymutil, "--addresses-from-stdin"],
        input=lines,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert stream(lines).stdout == theirs.stdout


# ---- files that no compiler makes


def line(offset: int, path: str, number: int) -> LineEntry:
    return LineEntry(BASE + offset, path, number)


def spread(offset: int, *ends: tuple[int, int]) -> tuple[Range, ...]:
    return tuple(
        Range(BASE + offset + start, BASE + offset + end) for start, end in ends
    )


ODD = [
    FunctionInfo(BASE, 0, "no size"),
    FunctionInfo(
        *(BASE + 0x10, 0x20, "paths"),
        (
            line(0x12, r"C:\src\a.c", 1),
            line(0x14, r"mixed/dir\b.c", 0),
            line(0x16, "/r.c", 2**32 - 1),
            line(0x18, "only", 7),
            line(0x1A, "dir/", 8),
            line(0x1A, "", 9),
            line(0x1C, "hg:host/repo:a.c:12", 10),
        ),
    ),
    FunctionInfo(
        *(BASE + 0x40, 0x40, "ranges"),
        (line(0x40, "/a.c", 1),),
        InlineInfo(
            *("ranges", "", 0, spread(0x40, (0, 0x40))),
            (
                InlineInfo(
                    *("split", "/a.c", 2, spread(0x40, (4, 8), (0x10, 0x18))),
                    (InlineInfo("inner", "/b.h", 3, spread(0x40, (0x11, 0x12))),),
                ),
                InlineInfo("no caller", "", 4, spread(0x40, (0x20, 0x28))),
            ),
        ),
        (),
        (
            CallSite(4, 3, ("a", "b.*")),
            CallSite(8, 0, ()),
            CallSite(0x10000, 2, ("c",)),
        ),
    ),
    FunctionInfo(
        *(BASE + 0x100, 8, "many"),
        (line(0x100, "/a.c", 1),),
        InlineInfo("many", "", 0, spread(0x100, (0, 8))),
        tuple(
            FunctionInfo(
                *(BASE + 0x100, 8, f"many{index}"),
                (line(0x100, f"/{index}.c", index),) if index else None,
                InlineInfo(
                    *(f"many{index}", "", 0, spread(0x100, (0, 8))),
                    (InlineInfo("deep", "/a.c", 5, spread(0x100, (1, 3))),),
                ),
                (),
                (CallSite(index, 1, (f"site{index}",)),),
            )
            for index in range(3)
        ),
        (CallSite(2, 1, ("own",)),),
    ),
    FunctionInfo(BASE + 0x200, 0x10, "overlapping"),
    FunctionInfo(BASE + 0x204, 4, "inside"),
]
FAR = [FunctionInfo(at, 4, f"f{at:x}") for at in (0x10, 0x20)]

FILES = {
    "odd": lambda order: to_oracle(ODD, 1, order, uuid=b"\x0a\xff", base_address=BASE),
    "one-byte-offsets": lambda order: to_oracle(FAR, 1, order),
    "four-byte-offsets": lambda order: to_oracle(
        [*FAR, FunctionInfo(0x12345678, 4, "far")], 1, order, uuid=bytes(range(20))
    ),
    "eight-byte-offsets": lambda order: to_oracle(
        [*FAR, FunctionInfo(0x1234567890, 4, "farther")], 1, order
    ),
    "everything": lambda order: to_oracle(FUNCTIONS, 1, order),
}


@pytest.fixture(params=FILES)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file in both byte orders: the folder of `little` and `big`."""
    for order in ("little", "big"):
        data = oracle.encode_file(FILES[request.param](order))
        (tmp_path / order).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("order", ["little", "big"])
def test_handmade_files_are_dumped_alike(
    made: Path, run: Run, peer: Peer, order: str
) -> None:
    path = str(made / order)
    assert run(path) == peer(path)


@pytest.mark.parametrize(("order", "options"), [("little", ["--verbose"]), ("big", [])])
def test_handmade_files_are_looked_up_alike(
    order: str, options: list[str], made: Path, run: Run, peer: Peer
) -> None:
    path = str(made / order)
    arguments = [*options, *addresses_of(path), path]
    assert run(*arguments) == peer(*arguments)


@pytest.mark.parametrize("filters", [[], ["many[0-1]", "2$"], ["x"], ["(", "y$"]])
def test_merged_functions_are_looked_up_alike(
    filters: list[str], tmp_path: Path, run: Run, peer: Peer
) -> None:
    path = tmp_path / "odd"
    path.write_bytes(oracle.encode_file(FILES["odd"]("little")))
    hits = [BASE, BASE + 0x44, *(BASE + 0x100 + offset for offset in range(8))]
    arguments = [
        "--merged-functions",
        *(f"--address={at}" for at in hits),
        *(f"--merged-functions-filter={text}" for text in filters),
        str(path),
    ]
    ours = run(*arguments)
    assert ours == peer(*arguments)
    assert ours.out.count("Found ") == len(hits)


# ---- mistakes and damage


def test_mistakes_are_answered_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, peer: Peer
) -> None:
    for arguments in [
        *(["--nope"], ["-x"], ["-vx"], ["-address=1"], ["--quiet=1"], ["--"], [""], []),
        *(["--hel"], ["--conver=x"], ["--addres", "5"], ["--num-thread=4"], ["-vo"]),
        *(["--address"], ["--arch"], ["-o"], ["--nope", "--convert"], ["-ofile"]),
        *(["--address=zz"], ["--address", "-5"], ["--address="], ["--segment-size=x"]),
        ["--address=1", "--num-threads=4294967296"],
        ["--merged-functions-filter=a"],
        ["--merged-functions-filter=a", "--address=1"],
        ["--callsites-yaml-file="],
        *(["missing"], ["."], ["--address=1", "missing"], ["--convert="]),
        *(["--convert=missing"], ["--convert=.", "--quiet"], ["--convert=a", "b"]),
        *(["--convert=text"], ["--addresses-from-stdin", "a"]),
        ["--addresses-from-stdin", "--address=1"],
    ]:
        monkeypatch.chdir(tmp_path)
        Path("text").write_text("no object file")
        assert run(*arguments) == peer(*arguments)


def without_reasons(dump: str) -> str:
    """Return the dump without the offsets and reasons of damaged records."""
    return re.sub(r"FunctionInfo:.*", "FunctionInfo: damaged", dump)


def cut_records() -> list[bytes]:
    """The small file with the record of `full` cut short or wrong in some way."""
    whole = small_file(1, "little")
    start = whole.index(b"\x40\0\0\0")
    end = whole.rindex(b"\x08\0\0\0")
    files = [whole[:size] for size in range(start + 1, end, 5)]
    for place in (4, 12, 20, 30, 40):
        damaged = bytearray(whole)
        damaged[start + place : start + place + 4] = bytes(4)
        files.append(bytes(damaged))
    return files


def test_the_same_records_are_damaged(tmp_path: Path, run: Run, peer: Peer) -> None:
    path = tmp_path / "cut"
    complaints = set()
    for data in cut_records():
        path.write_bytes(data)
        ours, theirs = run(str(path)), peer(str(path))
        assert ours._replace(out=without_reasons(ours.out)) == theirs._replace(
            out=without_reasons(theirs.out)
        )
        complaints |= {
            line.rpartition(": ")[2] for line in ours.out.splitlines() if ":0x" in line
        }
    assert len(complaints) > 5


# ---- segments


def test_segments_break_where_llvms_break(
    program: str, tmp_path: Path, run: Run, llvm_gsymutil: str
) -> None:
    binary = program.removesuffix(".gsym")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for command in ("ours", "theirs"):
        (tmp_path / command).mkdir()
    options = ["--segment-size=400", "--num-threads=1", "--quiet"]
    assert run("--convert", binary, "-o", str(ours / "s"), *options).status == 0
    subprocess.run(
        [llvm_gsymutil, "--convert", binary, "-o", theirs / "s", *options],
        check=True,
        capture_output=True,
    )
    names = sorted(path.name for path in ours.iterdir())
    assert names == sorted(path.name for path in theirs.iterdir())
    assert len(names) > 1
    for name in names:
        assert run(str(ours / name)).out.count("FunctionInfo @") == run(
            str(theirs / name)
        ).out.count("FunctionInfo @")
