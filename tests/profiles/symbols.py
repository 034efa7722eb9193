"""A module with lines and an inlined call, and what opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym
from gsym import FunctionInfo, InlineInfo, LineEntry, Range
from gsym.modules.open_module import OpenModule

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.modules.key import ModuleKey

BUILD_ID = "0123456789abcdef0123456789abcdef01234567"
BASE = 0x400000
"""The image base; `outer` starts 0x1000 behind it, `next()` follows it."""

_INLINED = Range(BASE + 0x1010, BASE + 0x1020)
_FUNCTIONS = (
    FunctionInfo(
        BASE + 0x1000,
        0x40,
        "_Z5outeri",
        (
            LineEntry(BASE + 0x1000, "/src/a.cc", 10),
            LineEntry(BASE + 0x1010, "/src/a.h", 3),
            LineEntry(BASE + 0x1020, "/src/a.cc", 12),
        ),
        InlineInfo(
            "_Z5outeri",
            "",
            0,
            (Range(BASE + 0x1000, BASE + 0x1040),),
            (InlineInfo("_Z5innerv", "/src/a.cc", 11, (_INLINED,)),),
        ),
    ),
    FunctionInfo(
        BASE + 0x1040, 0x10, "_Z4nextv", (LineEntry(BASE + 0x1040, "/src/b.cc", 7),)
    ),
)


class Modules:
    """Opens the one module; says of others that they are not known."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "module.gsym"
        self.asked: list[ModuleKey] = []
        with gsym.Creator(base_address=BASE, uuid=bytes.fromhex(BUILD_ID)) as creator:
            for function in _FUNCTIONS:
                creator.add(function)
            creator.save(self.path)

    def open(self, key: ModuleKey) -> OpenModule:
        self.asked.append(key)
        if key.code_id != BUILD_ID.upper():
            return OpenModule(None, None)
        return OpenModule(None, gsym.open(self.path))


class OneModule:
    """Opens one GSYM file, whatever is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, _key: ModuleKey) -> OpenModule:
        return OpenModule(None, gsym.open(self._path))
