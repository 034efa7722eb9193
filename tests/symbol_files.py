"""Breakpad files of modules that tests ask stores and sources for."""

from __future__ import annotations

from gsym.modules.key import ModuleKey

GUID = "44E4EC8C2F41492B9369D6B9A059577C"


def debug_id(number: int = 0) -> str:
    return f"{number:08X}{GUID[8:]}0"


def symbols(number: int = 0, name: str = "app", functions: int = 1) -> bytes:
    """The file of module *number*; its functions are named after it."""
    lines = [f"MODULE Linux x86_64 {debug_id(number)} {name}", "FILE 1 main.c"]
    for each in range(functions):
        start = 0x1000 + each * 0x10
        lines += [f"FUNC {start:x} 10 0 f{number}_{each}", f"{start:x} 10 7 1"]
    return "\n".join([*lines, ""]).encode()


def key(number: int = 0, name: str = "app") -> ModuleKey:
    return ModuleKey(name, debug_id(number))


def path(number: int = 0, name: str = "app") -> str:
    """Where a Breakpad server has it."""
    return f"/{name}/{debug_id(number)}/{name}.sym"
