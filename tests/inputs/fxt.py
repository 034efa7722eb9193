"""Fuchsia traces written word by word, sound or not, in either byte order."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

MAGIC = 0x0016547846040010


def stream(data: bytes) -> bytes:
    """Bytes, filled up with zeros to whole words."""
    return data + bytes(-len(data) % 8)


def inline(data: bytes) -> int:
    """The reference to a string that stands in the record."""
    return 0x8000 | len(data)


class Words:
    """Writes records in a byte order."""

    def __init__(self, byteorder: Literal["little", "big"]) -> None:
        self.byteorder = byteorder
        self._order = "<" if byteorder == "little" else ">"

    def __call__(self, *values: int) -> bytes:
        return struct.pack(f"{self._order}{len(values)}Q", *values)

    def double(self, value: float) -> bytes:
        return struct.pack(f"{self._order}d", value)

    def magic(self) -> bytes:
        return self(MAGIC)

    def record(self, kind: int, header: int = 0, body: bytes = b"") -> bytes:
        """A record of a type; *header* has its other bits in their places."""
        return self(kind | (1 + len(body) // 8) << 4 | header) + body

    def argument(
        self, kind: int, name: bytes, field: int = 0, body: bytes = b""
    ) -> bytes:
        """An argument with an inline name; *field* is the upper half of its header."""
        header = inline(name) << 16 | field << 32
        return self.record(kind, header, stream(name) + body)

    def large(self, header: int, body: bytes) -> bytes:
        return self(15 | (1 + len(body) // 8) << 4 | header) + body

    def provider_info(self, provider: int, name: bytes) -> bytes:
        header = 1 << 16 | provider << 20 | len(name) << 52
        return self.record(0, header, stream(name))

    def provider_section(self, provider: int) -> bytes:
        return self.record(0, 2 << 16 | provider << 20)

    def initialization(self, rate: int) -> bytes:
        return self.record(1, 0, self(rate))

    def string(self, index: int, value: bytes) -> bytes:
        return self.record(2, index << 16 | len(value) << 32, stream(value))

    def thread(self, index: int, process: int, thread: int) -> bytes:
        return self.record(3, index << 16, self(process, thread))

    def event(
        self,
        kind: int,
        ticks: int,
        refs: tuple[int, int, int],
        body: bytes = b"",
        argument_count: int = 0,
    ) -> bytes:
        """An event; *refs* are its thread, category and name, *body* what follows."""
        thread, category, name = refs
        header = kind << 16 | argument_count << 20 | thread << 24 | category << 32
        return self.record(4, header | name << 48, self(ticks) + body)

    def named_event(
        self, kind: int, ticks: int, name: bytes, last: bytes = b""
    ) -> bytes:
        """An event of process 7 and thread 8, without a category or arguments."""
        body = self(7, 8) + stream(name) + last
        return self.event(kind, ticks, (0, 0, inline(name)), body)


def events_of_a_trace(count: int) -> bytes:
    """Durations with two arguments each, of several threads, and context switches."""
    w = Words("little")
    names = [f"name {number}".encode() for number in range(100)]
    parts = [w.magic(), w.provider_info(1, b"provider"), w.initialization(24_000_000)]
    parts += [w.string(number, name) for number, name in enumerate(names, 1)]
    parts += [w.thread(number, 7, number) for number in range(1, 9)]
    for number in range(count):
        text = w.record(6, 1 << 16 | (1 + number % 7) << 32)
        arguments = text + w.record(4, 2 << 16, w(number << 33))
        refs = (1 + number % 8, 1 + number % 5, 1 + number % 100)
        body = arguments + w(24 * number + 12)
        parts.append(w.event(4, 24 * number, refs, body, argument_count=2))
        if number % 4 == 0:
            threads = (number % 8, (number + 1) % 8)
            parts.append(w.record(8, 3 << 36 | 1 << 60, w(24 * number, *threads)))
    return b"".join(parts)
