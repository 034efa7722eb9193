"""Integers, addresses and strings as the bytes of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ByteOrder = Literal["little", "big"]


def uleb(value: int, pad_to: int = 0) -> bytes:
    """ULEB128 of *value*, lengthened to *pad_to* bytes by needless zero groups."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        more = value != 0 or len(out) + 1 < pad_to
        out.append(byte | (0x80 if more else 0))
        if not more:
            return bytes(out)


def sleb(value: int) -> bytes:
    """SLEB128 of *value*."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        done = value == (-1 if byte & 0x40 else 0)
        out.append(byte if done else byte | 0x80)
        if done:
            return bytes(out)


def cstring(text: str) -> bytes:
    """*text* with its NUL."""
    return text.encode("utf-8", "surrogateescape") + b"\0"


@dataclass(frozen=True)
class Encoding:
    """The three choices that decide how a number becomes bytes."""

    byteorder: ByteOrder = "little"
    address_size: int = 8
    dwarf64: bool = False

    @property
    def offset_size(self) -> int:
        """Bytes of a section offset."""
        return 8 if self.dwarf64 else 4

    def uint(self, value: int, size: int) -> bytes:
        """Low *size* bytes of *value*; a negative one is stored modulo."""
        return (value & ((1 << (8 * size)) - 1)).to_bytes(size, self.byteorder)

    def address(self, value: int) -> bytes:
        return self.uint(value, self.address_size)

    def offset(self, value: int) -> bytes:
        return self.uint(value, self.offset_size)

    def with_length(self, body: bytes, length: int | None = None) -> bytes:
        """*body* behind its unit_length, or behind the wrong *length* given."""
        escape = self.uint(0xFFFFFFFF, 4) if self.dwarf64 else b""
        return escape + self.offset(len(body) if length is None else length) + body
