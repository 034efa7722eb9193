"""Breakpad files of binaries, in the layout of symbol servers."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

import gsym
from gsym.engine.demangling import demangle_bytes

if TYPE_CHECKING:
    from pathlib import Path

_FIELDS_BEFORE_NAME = {b"FUNC": 4, b"PUBLIC": 3, b"INLINE_ORIGIN": 2}


class SymbolFile(NamedTuple):
    """A Breakpad file and the module it is of."""

    path: Path
    debug_file: str
    debug_id: str


def export(binary: Path, tree: Path, *, inlines: bool = True) -> SymbolFile:
    """Put the Breakpad file of *binary* into *tree*, with or without INLINE records.

    Names are readable, as dump_syms writes them.
    """
    name = binary.name if inlines else f"{binary.name}.flat"
    tree.mkdir(parents=True, exist_ok=True)
    image, raw, text = (tree / f"{name}.{kind}" for kind in ("gsym", "raw", "sym"))
    gsym.convert(binary, image)
    identity = gsym.identify(binary)._replace(debug_file=name)
    gsym.export_breakpad(image, raw, identity=identity)
    with raw.open("rb") as source, text.open("wb") as target:
        target.writelines(
            _with_readable_name(line)
            for line in source
            if inlines or not line.startswith(b"INLINE")
        )
    image.unlink()
    raw.unlink()
    return place(text, tree)


def _with_readable_name(line: bytes) -> bytes:
    kind, _, rest = line.partition(b" ")
    fields = _FIELDS_BEFORE_NAME.get(kind)
    if fields is None:
        return line
    count = fields + rest.startswith(b"m ")
    *others, name = line.rstrip(b"\n").split(b" ", count)
    return b" ".join([*others, demangle_bytes(name)]) + b"\n"


def place(text: Path, tree: Path) -> SymbolFile:
    """Move a Breakpad file to where its MODULE line says it belongs."""
    with text.open("rb") as stream:
        *_, debug_id, name = stream.readline().decode().split(" ", 4)
    name = name.rstrip()
    folder = tree / name / debug_id
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.removesuffix('.pdb')}.sym"
    text.replace(path)
    return SymbolFile(path, name, debug_id)


def with_new_id(symbols: SymbolFile) -> SymbolFile:
    """The same file under an id that nobody has asked for yet."""
    debug_id = secrets.token_hex(16).upper() + "0"
    with symbols.path.open("r+b") as stream:
        line = stream.readline()
        stream.seek(0)
        stream.write(line.replace(symbols.debug_id.encode(), debug_id.encode()))
    folder = symbols.path.parent.with_name(debug_id)
    return symbols._replace(
        path=symbols.path.parent.rename(folder) / symbols.path.name, debug_id=debug_id
    )
