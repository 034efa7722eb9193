"""Small modules to put into stores, each with an id of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym
from gsym.modules.key import ModuleKey, elf_debug_id
from gsym.store.entries import Quality

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.store.directory import Store
    from gsym.store.publication import Publication

PE_CODE_ID = "5E8F310E69D0000"


def build_id(number: int) -> bytes:
    """The build id of the module *number*."""
    return number.to_bytes(4, "little") + bytes(range(1, 17))


def identity(number: int, **fields: str) -> ModuleKey:
    """The identity of the module *number*: an ELF file, but for *fields*."""
    whole = build_id(number)
    debug_id = elf_debug_id(whole, "little")
    made = ModuleKey(
        os="Linux",
        architecture="x86_64",
        debug_id=debug_id,
        code_id=whole.hex().upper(),
        debug_file=f"lib{number}.so",
    )
    return made._replace(**fields)


def windows_identity(number: int, name: str = "xul") -> ModuleKey:
    """The identity of a PE file."""
    return identity(
        number,
        os="windows",
        code_id=PE_CODE_ID,
        debug_file=f"{name}.pdb",
        code_file=f"{name}.dll",
    )


def key(number: int) -> ModuleKey:
    """The key of the module *number* by debug id."""
    return ModuleKey(debug_id=identity(number).debug_id)


def write_gsym(path: Path | str, number: int, functions: int = 1) -> str:
    """A GSYM file of the module *number*, whose functions have its number in names."""
    with gsym.Creator(uuid=build_id(number)) as creator:
        for index in range(functions):
            start = 0x1000 + 0x10 * index
            creator.add(gsym.FunctionInfo(start, 0x10, f"f{number}_{functions}"))
        creator.save(str(path))
    return str(path)


def put(
    store: Store, number: int, functions: int = 1, *, source: str = "", **fields: str
) -> Publication:
    """Publish the module *number* as one with so many functions."""
    with store.temporary_folder() as folder:
        return store.publish(
            write_gsym(f"{folder}/new.gsym", number, functions),
            identity(number, **fields),
            uuid=build_id(number),
            quality=Quality(0, functions),
            source=source or f"source of {number}",
        )


def write_sym(path: Path, number: int, name: str = "") -> str:
    """A Breakpad file of the module *number*."""
    module = identity(number)
    text = (
        f"MODULE Linux x86_64 {module.debug_id} {name or module.debug_file}\n"
        f"INFO CODE_ID {module.code_id}\n"
        "FILE 0 /src/a.c\n"
        f"FUNC 1000 10 0 f{number}\n"
        "1000 10 5 0\n"
    )
    path.write_text(text)
    return str(path)
