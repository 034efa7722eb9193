"""WebAssembly modules: sections, functions, names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.inputs.encoding import uleb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAGIC = b"\0asm\1\0\0\0"
FUNCTION, TABLE, MEMORY, GLOBAL, TAG = range(5)  # kinds of imports and exports
LIMITS = b"\1\1\2"  # with a maximum
DESCRIPTIONS = {
    FUNCTION: b"\0",
    TABLE: b"\x64\x70" + LIMITS,
    MEMORY: LIMITS,
    GLOBAL: b"\x7f\0",
    TAG: b"\0\0",
}


def name(text: str) -> bytes:
    return uleb(len(text.encode())) + text.encode()


def section(kind: int, contents: bytes) -> bytes:
    return bytes([kind]) + uleb(len(contents)) + contents


def custom(title: str, contents: bytes) -> bytes:
    return section(0, name(title) + contents)


def vector(items: Sequence[bytes]) -> bytes:
    return uleb(len(items)) + b"".join(items)


@dataclass(frozen=True)
class Wasm:
    """A module; the bodies of functions are *sizes* bytes long.

    *imports* are kinds, *names* and *exports* have numbers of functions, imported ones
    among them.
    """

    sizes: Sequence[int] = ()
    imports: Sequence[int] = ()
    names: Mapping[int, str] | None = None
    exports: Mapping[str, int] | None = None
    custom: Mapping[str, bytes] | None = None

    def to_bytes(self) -> bytes:
        out = MAGIC
        if self.imports:
            items = [
                name("env") + name("x") + bytes([kind]) + DESCRIPTIONS[kind]
                for kind in self.imports
            ]
            out += section(2, vector(items))
        if self.exports:
            items = [name(text) + b"\0" + uleb(at) for text, at in self.exports.items()]
            out += section(7, vector(items))
        if self.sizes:
            bodies = [uleb(size) + bytes(size) for size in self.sizes]
            out += section(10, vector(bodies))
        if self.names:
            items = [uleb(at) + name(text) for at, text in self.names.items()]
            out += custom("name", section(0, name("app")) + section(1, vector(items)))
        for title, contents in (self.custom or {}).items():
            out += custom(title, contents)
        return out

    @property
    def code_offset(self) -> int:
        """Where addresses count from."""
        bodies = vector([uleb(size) + bytes(size) for size in self.sizes])
        return (
            self.to_bytes().index(section(10, bodies))
            + len(section(10, bodies))
            - len(bodies)
        )
