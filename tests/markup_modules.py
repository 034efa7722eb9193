"""Modules of logs with markup, without a file anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym
from gsym.modules.key import Attempt
from gsym.modules.open_module import OpenModule

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.modules.key import ModuleKey

BUILD_ID = b"\xab\xcd\xef"
CONTEXT = b"{{{module:0:a.o:elf:abcdef}}}\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n"
SUMMARY = b'[[[ELF module #0x0 "a.o"; BuildID=abcdef [0x1000-0x10ff](rx)]]]\n'


def gsym_bytes() -> bytes:
    """`_Z5firstv`, 0x10 to 0x30, of which 0x18 to 0x20 is inlined from `second`."""
    outer, inner = "/src/a.c", "/src/b.h"
    lines = (
        gsym.LineEntry(0x10, outer, 3),
        gsym.LineEntry(0x18, inner, 8),
        gsym.LineEntry(0x20, outer, 5),
    )
    call = gsym.InlineInfo("second", outer, 4, (gsym.Range(0x18, 0x20),))
    root = gsym.InlineInfo("_Z5firstv", "", 0, (gsym.Range(0x10, 0x30),), (call,))
    with gsym.Creator(uuid=BUILD_ID) as creator:
        creator.add(gsym.FunctionInfo(0x10, 0x20, "_Z5firstv", lines, root))
        creator.add(gsym.FunctionInfo(0x40, 0x10, "bare"))
        return creator.to_bytes()


def write_module(path: Path) -> None:
    """Write the GSYM file of the module."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gsym_bytes())


class Modules:
    """Opens the module of BUILD_ID and no other."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._module = OpenModule(None, gsym.Reader(gsym_bytes()))

    def open(self, key: ModuleKey) -> OpenModule:
        self.asked.append(key.code_id)
        if key.code_id == BUILD_ID.hex().upper():
            return self._module
        return OpenModule(None, None, (Attempt("a folder", "missing"),))
