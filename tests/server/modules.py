"""Small modules for a server to answer for."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from gsym import Creator, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.modules.key import Attempt, ModuleKey
from gsym.store.entries import Entry, Resolution
from tests.conftest import find_peer

if TYPE_CHECKING:
    from pathlib import Path


XUL_ID = "44E4EC8C2F41492B9369D6B9A059577C2"
LIB_ID = "0905AE80CEE75A33E3CAB61C274274DE0"
BASE = 0x180000000  # of xul.dll
MISSING_ID = "D74F79EB1F8D4A45ABCD2F476CCABACC2"
# A program with an inlined call.
SOURCE = """\
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
__attribute__((noinline)) int twice(int x) { return square(x) * 2; }
int main(int argc, char **argv) { (void)argv; return twice(argc + 1); }
"""


def run(*command: object) -> str:
    """The output of a tool; skips the test without it."""
    words = [find_peer(str(command[0])), *map(str, command[1:])]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class KnownModules:
    """Finds the modules it was given; remembers what it was asked."""

    def __init__(self, *entries: Entry) -> None:
        self.entries = {entry.identity.debug_id: entry for entry in entries}
        self.asked: list[ModuleKey] = []

    def resolve(self, key: ModuleKey) -> Resolution:
        self.asked.append(key)
        entry = self.entries.get(key.debug_id)
        attempts = (Attempt("here", "missing", "no such file"),)
        return Resolution(entry, () if entry else attempts, is_cached=True)


def make_modules(folder: Path) -> KnownModules:
    """`xul.pdb`, whose base is not 0, and `libdemo.so`, whose base is 0."""
    xul, lib = folder / "xul.gsym", folder / "libdemo.gsym"
    with Creator(base_address=BASE) as creator:
        inlined = InlineInfo(
            "_ZN1a5innerEi",
            "/src/a.cpp",
            12,
            (Range(BASE + 0x1010, BASE + 0x1020),),
            (
                InlineInfo(
                    "innermost",
                    "/src/b.h",
                    30,
                    (Range(BASE + 0x1014, BASE + 0x1018),),
                ),
            ),
        )
        creator.add(
            FunctionInfo(
                BASE + 0x1000,
                0x100,
                "_ZN1a5outerEv",
                line_table=(
                    LineEntry(BASE + 0x1000, "/src/a.cpp", 10),
                    LineEntry(BASE + 0x1010, "/src/b.h", 31),
                    LineEntry(BASE + 0x1014, "/src/c.h", 7),
                    LineEntry(BASE + 0x1018, "/src/b.h", 32),
                    LineEntry(BASE + 0x1020, "/src/a.cpp", 14),
                ),
                inline=InlineInfo(
                    "_ZN1a5outerEv",
                    "",
                    0,
                    (Range(BASE + 0x1000, BASE + 0x1100),),
                    (inlined,),
                ),
            )
        )
        creator.add(FunctionInfo(BASE + 0x2000, 0x10, 'operator"" _q'))
        creator.save(str(xul))
    with Creator(base_address=0) as creator:
        creator.add(FunctionInfo(0x400, 0x20, "main"))
        creator.save(str(lib))
    return KnownModules(
        Entry(
            str(xul),
            ModuleKey(
                os="windows",
                architecture="x86_64",
                debug_id=XUL_ID,
                code_id="",
                debug_file="xul.pdb",
                code_file="xul.dll",
            ),
        ),
        Entry(
            str(lib),
            ModuleKey(
                os="Linux",
                architecture="x86_64",
                debug_id=LIB_ID,
                code_id="",
                debug_file="libdemo.so",
                code_file="",
            ),
        ),
    )
