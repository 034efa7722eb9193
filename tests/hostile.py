"""A small file with everything in it, and a way to ask an image everything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import gsym
from tests import oracle
from tests.guarded import GuardedMemory
from tests.views import to_oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")

START = 0x1000
SIZE = 0x40

LINES = (
    gsym.LineEntry(START, "/src/a.c", 10),
    gsym.LineEntry(START + 4, "/src/a.c", 300),
    gsym.LineEntry(START + 9, "b.h", 4),
)
INLINE = gsym.InlineInfo(
    *("full", "", 0, (gsym.Range(START, START + SIZE),)),
    (
        gsym.InlineInfo(
            *("one", "/src/a.c", 11),
            (gsym.Range(START + 4, START + 8), gsym.Range(START + 9, START + 0x20)),
            (gsym.InlineInfo("two", "b.h", 5, (gsym.Range(START + 10, START + 12),)),),
        ),
    ),
)
FUNCTIONS = [
    gsym.FunctionInfo(START - 0x10, 0, "symbol"),
    gsym.FunctionInfo(
        *(START, SIZE, "full", LINES, INLINE),
        (gsym.FunctionInfo(START, SIZE, "twin", LINES),),
        (gsym.CallSite(10, 1, ("callee", "other.*")),),
        {9: b"\x01\x02\x03"},
    ),
    gsym.FunctionInfo(
        START + 0x100, 8, "last", (gsym.LineEntry(START + 0x100, "", 0),)
    ),
]
ADDRESSES = [
    *(0, START - 0x10, START - 1, START, START + 4, START + 10, START + 0x3F),
    *(START + 0x40, START + 0x100, START + 0x107, 2**32, 2**64 - 1),
]


def small_records(version: int, byteorder: str) -> oracle.GsymFile:
    file = to_oracle(FUNCTIONS, version, byteorder, uuid=b"\xaa\xbb\xcc\xdd")
    sections = {77: b"unknown"} if version == 2 else {}
    return replace(file, extra_sections=sections)


def small_file(version: int, byteorder: str) -> bytes:
    return oracle.encode_file(small_records(version, byteorder))


def copy(reader: gsym.Reader) -> bytes:
    with gsym.Creator(version=2) as creator:
        creator.add_reader(reader)
        return creator.to_bytes()


class Tally:
    """Asks images everything, and counts answers and refusals.

    Each image stands against an unreadable page, so a read past its end is a crash.
    """

    def __init__(self, capacity: int) -> None:
        self._memory = GuardedMemory(capacity)
        self.answers = 0
        self.reasons: list[str] = []

    def _attempt(self, question: Callable[[], Result]) -> Result | None:
        try:
            answer = question()
        except gsym.GsymError as error:
            self.reasons.append(error.reason)
            return None
        self.answers += 1
        return answer

    def ask(self, data: bytes, addresses: Sequence[int] = ADDRESSES) -> None:
        memory = self._memory.hold(data)
        reader = self._attempt(lambda: gsym.Reader(memory))
        if reader is None:
            return
        with reader:
            for address in addresses:
                self._attempt(lambda at=address: reader.lookup(at, merged=True))  # type: ignore[misc]
            self._attempt(lambda: reader.lookup_many(addresses).to_pylist())
            self._attempt(lambda: reader.find("full"))
            self._attempt(lambda: [reader.header, reader.uuid, len(reader)])
            self._attempt(lambda: list(reader.functions()))
            self._attempt(lambda: copy(reader))


def ask(data: bytes, addresses: Sequence[int] = ADDRESSES) -> Tally:
    tally = Tally(len(data))
    tally.ask(data, addresses)
    return tally
