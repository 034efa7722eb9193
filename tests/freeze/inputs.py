"""The files that the commands of made.txt are run on, and the kinds of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import gsym
from gsym.profiles.outputs import write_form
from gsym.symbfile.columns import LineTableRow, Range
from gsym.symbfile.format import encode
from tests.fxt.traces import profile_trace, small_trace
from tests.inputs.elf import Elf, Symbol, code_section
from tests.inputs.random_program import random_program
from tests.profiles.profiles import small_profile

if TYPE_CHECKING:
    from pathlib import Path

ID = "0123456789ABCDEF0123456789ABCDEF0"
BUILD_ID = bytes(range(20))


def kind_of(path: Path) -> str:
    """The kind of a file, which decides about its commands."""
    with path.open("rb") as file:
        data = file.read(1 << 16)
    if data[:4] in {b"GSYM", b"MYSG"}:
        return "gsym"
    if data.startswith(b"MODULE "):
        return "breakpad"
    if data.startswith(b"symbfile"):
        return "symbfile"
    if path.suffix == ".fxt":
        return "trace"
    if b"{{{" in data and b"\0" not in data:
        return "log"
    return "binary" if b"\0" in data else "text"


def gsym_bytes() -> bytes:
    """A function with an inlined call, call sites and merged ones; a bare one."""
    outer, inner = "/src/app.cc", "/src/app.h"
    call = gsym.InlineInfo("_ZN1a5innerEv", outer, 4, (gsym.Range(0x1008, 0x1010),))
    root = gsym.InlineInfo("main", "", 0, (gsym.Range(0x1000, 0x1040),), (call,))
    rows = (
        gsym.LineEntry(0x1000, outer, 3),
        gsym.LineEntry(0x1008, inner, 8),
        gsym.LineEntry(0x1010, outer, 5),
    )
    twin = gsym.FunctionInfo(0x1000, 0x40, "_Z4twinv", rows[:1])
    site = gsym.CallSite(0xC, 1, ("^_Z3foo", "bar"))
    with gsym.Creator(uuid=BUILD_ID) as creator:
        creator.add(
            gsym.FunctionInfo(0x1000, 0x40, "main", rows, root, (twin,), (site,))
        )
        creator.add(gsym.FunctionInfo(0x1080, 0x10, "bare"))
        return creator.to_bytes()


def write_made_files(folder: Path) -> None:
    """The files of the commands in `MADE`."""
    finished = gsym_bytes()
    stripped = Elf(
        [code_section(0x1000, 0x1000)],
        symbols=[Symbol("main", 0x1000, 0x40), Symbol("_Z5outerv", 0x1040, 0x20)],
        build_id=BUILD_ID,
    )
    records = "FILE 0 /src/app.cc\nFUNC 1000 40 0 main\n1000 10 3 0\n1010 30 5 0\n"
    symbols = f"MODULE Linux x86_64 {ID} app\n{records}PUBLIC 1080 0 bare\n"
    rows = (LineTableRow(0, 3), LineTableRow(16, 5))
    ranges = [
        Range(0x1000, 0x40, "main", "/src/app.cc", line_table=rows),
        Range(0x1008, 8, "inner", "/src/app.h", "/src/app.cc", 4, 1, rows[:1]),
    ]
    trace = small_trace()
    samples = (
        (1500, 1, (0x7F0000001008,)),
        (2500, 2, (0x7F0000001018, 0x7F0000001080)),
    )
    log = (
        f"{{{{{{reset}}}}}}\n{{{{{{module:0:app:elf:{BUILD_ID.hex()}}}}}}}\n"
        "{{{mmap:0x7000:0x1000:load:0:rx:0x1000}}}\n"
        "[1] {{{bt:0:0x7008:pc}}} and {{{pc:0x7084}}}\n"
        "{{{bt:1:0x9000:ra}}} {{{symbol:_Z1fv}}}\n"
    )
    contents: dict[str, bytes | str] = {
        "program": random_program(376),
        "stripped": stripped.to_bytes(),
        "app.gsym": finished,
        "cut.gsym": finished[:-40],
        "app.sym": symbols,
        "damaged.sym": f"{symbols}FUNC x\nLINE\n",
        "app.symbfile": b"".join(encode(ranges)),
        "other.symbfile": b"".join(encode(ranges[:1])),
        "app.fxt": trace,
        "cut.fxt": trace[:-20],
        "samples.fxt": profile_trace(BUILD_ID.hex(), 0x1000, samples),
        "app.pprof": write_form(small_profile(), "pprof"),
        "app.log": log,
        "addresses": "0x1008\n0x1018\n\n4096\n0x2000\n",
        "pairs": "0x1008 app.gsym\n0x2000 app.gsym\n0x1008 none.gsym\n",
        "list": f"app {ID}\nother 11112222333344445555666677778888F\n",
        "source.json": json.dumps(
            {
                "debugName": "app",
                "debugId": ID,
                "moduleOffset": "0x1008",
                "file": "/src/app.cc",
            }
        ),
        "asm.json": json.dumps(
            {"name": "stripped", "startAddress": "0x1000", "size": "0x10"}
        ),
        "stacks.json": json.dumps(
            {
                "memoryMap": [["app", ID]],
                "stacks": [[[0, 0x1008], [0, 0x5000], [-1, 7]]],
            }
        ),
    }
    for name, content in contents.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    (folder / "sources").mkdir()
    (folder / "sources/app.cc").write_text("int main() {}\n")
    place = folder / "modules/.build-id" / BUILD_ID.hex()[:2]
    place.mkdir(parents=True)
    (place / f"{BUILD_ID.hex()[2:]}.gsym").write_bytes(finished)
