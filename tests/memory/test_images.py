"""What the headers of an image in memory say."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from gsym.memory.module_files import SavedMemory
from gsym.unwinding.images import image_in_memory
from tests.inputs.elf import PT_NOTE, note

if TYPE_CHECKING:
    from collections.abc import Callable

BUILD_ID = bytes(range(20))


def image(*segments: bytes) -> bytes:
    """A file of one loaded segment, with others of notes in it."""
    count, head = len(segments) + 1, 64
    start = head + 56 * count
    headers, contents, at = b"", b"", start
    for segment in segments:
        headers += struct.pack(
            "<II6Q", PT_NOTE, 4, at, at, at, len(segment), len(segment), 4
        )
        contents += segment
        at += len(segment)
    loaded = struct.pack("<II6Q", 1, 5, 0, 0, 0, at, at, 0x1000)
    magic = b"\x7fELF\2\1\1".ljust(16, b"\0")
    rest = struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, head, 0, 0, head, 56, count, 64, 0, 0
    )
    return magic + rest + loaded + headers + contents


def memory_of(data: bytes) -> Callable[[int, int], bytes]:
    return lambda at, size: data[at : at + size]


@pytest.mark.parametrize(
    ("before", "expected"),
    [(0, BUILD_ID), (5000, BUILD_ID), (1 << 19, BUILD_ID), (1 << 20, b"")],
)
def test_notes_before_the_build_id_may_be_long(before: int, expected: bytes) -> None:
    long = note(b"FDO\0", 0x407C0C0A, bytes(before), "little")
    own = note(b"GNU\0", 3, BUILD_ID, "little")
    for segments in ((long + own,), (long, own)):
        data = image(*segments)
        found = image_in_memory(memory_of(data), 0)
        assert found.build_id == expected.hex()


def test_many_segments_of_notes_are_read() -> None:
    own = note(b"GNU\0", 3, BUILD_ID, "little")
    data = image(*([note(b"x\0\0\0", 1, b"", "little")] * 12), own)
    found = image_in_memory(memory_of(data), 0)
    assert found.build_id == BUILD_ID.hex()


def test_parts_of_memory_that_overlap_are_read_whole() -> None:
    data = memoryview(bytes(range(64)))
    parts = [(0x100, 0x20, 0), (0x108, 8, 8), (0x118, 0x10, 0x18), (0x140, 4, 0x30)]
    saved = SavedMemory(data, parts)
    for address in range(0x100, 0x128):
        left = 0x128 - address
        found = saved.read(address, left)
        assert found
        assert found == bytes(data[address - 0x100 :][: len(found)])
        assert address + len(found) in {0x120, 0x128}
    assert saved.read(0x128, 1) == b""
    assert [(start, len(part)) for start, part in saved.within(0x110, 0x150)] == [
        (0x110, 0x10),
        (0x120, 8),
        (0x140, 4),
    ]
