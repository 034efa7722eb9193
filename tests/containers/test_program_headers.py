"""Loaded parts of ELF files, both classes and byte orders; damaged headers."""

from __future__ import annotations

import struct

import pytest

from gsym.containers.headers import Segment, load_segments
from gsym.errors import FormatError

Headers = tuple[tuple[int, int, int, int, int, int], ...]

LOADED: Headers = (
    (1, 0x5, 0x16E0, 0x26E0, 0x220, 0x300),  # PT_LOAD: flags offset address sizes
    (2, 0x6, 0x910, 0x2910, 0x1D0, 0x1D0),  # PT_DYNAMIC
    (1, 0x4, 0x0, 0x1000, 0x0, 0x80),
)
EXPECTED = (
    Segment(0x16E0, 0x220, 0x26E0, is_executable=True),
    Segment(0x0, 0x80, 0x1000, is_executable=False),
)


def elf(bits: int, order: str, headers: Headers = LOADED, **fields: int) -> memoryview:
    """A file of an ELF header, program headers and one section header."""
    size = {1: 32, 2: 56}[bits]
    start = {1: 52, 2: 64}[bits]
    count = fields.get("count", len(headers))
    sections = start + size * len(headers)
    data = b"\x7fELF" + bytes([bits, {"<": 1, ">": 2}[order], 1]) + bytes(9)
    word = {1: "I", 2: "Q"}[bits]
    data += struct.pack(f"{order}HHI{word}", 3, 62, 1, 0)
    data += struct.pack(
        f"{order}{word}{word}IHHHHHH",
        *(fields.get("start", start), sections, 0, start),
        *(fields.get("size", size), count, 64, 1, 0),
    )
    assert len(data) == start
    parts = [data]
    for kind, flags, offset, address, file_size, memory_size in headers:
        sizes = offset, address, address, file_size, memory_size
        if bits == 1:
            parts.append(struct.pack(f"{order}I5III", kind, *sizes, flags, 0x1000))
        else:
            parts.append(struct.pack(f"{order}II5QQ", kind, flags, *sizes, 0x1000))
    info = {1: 28, 2: 44}[bits]
    parts.append(bytes(info) + struct.pack(f"{order}I", len(headers)) + bytes(16))
    return memoryview(b"".join(parts))


@pytest.mark.parametrize("bits", [1, 2])
@pytest.mark.parametrize("order", ["<", ">"])
def test_loaded_segments_are_found(bits: int, order: str) -> None:
    assert load_segments(elf(bits, order), "app") == EXPECTED


@pytest.mark.parametrize("bits", [1, 2])
def test_a_count_that_does_not_fit_stands_in_the_first_section(bits: int) -> None:
    assert load_segments(elf(bits, "<", count=0xFFFF), "app") == EXPECTED


def test_other_formats_have_none() -> None:
    assert load_segments(memoryview(b"MZ" + bytes(100)), "app.exe") == ()
    assert load_segments(memoryview(b"\x7fELF"), "app") == ()


def test_places_that_no_loader_takes_are_not_believed() -> None:
    moved = ((1, 0x5, 0x16E4, 0x26E0, 0x220, 0x300),)
    assert load_segments(elf(2, "<", moved), "app") == ()


@pytest.mark.parametrize("bits", [1, 2])
def test_every_truncation_is_refused(bits: int) -> None:
    whole = elf(bits, "<", count=0xFFFF)
    last = len(whole) - 16
    for size in range(16, last):
        with pytest.raises(FormatError):
            load_segments(whole[:size], "app")
    assert load_segments(whole[:last], "app") == EXPECTED


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"start": (1 << 64) - 1}, "its program headers reach past the file"),
        ({"count": 5}, "its program headers reach past the file"),
        ({"size": 55}, "it cannot have 3 program headers of 55 bytes"),
    ],
)
def test_headers_that_are_not_there_are_refused(
    fields: dict[str, int], reason: str
) -> None:
    with pytest.raises(FormatError) as caught:
        load_segments(elf(2, "<", LOADED, **fields), "app")
    assert (caught.value.reason, caught.value.path) == (reason, "app")


def test_a_process_may_have_more_mappings_than_16_bits_count() -> None:
    """vm.max_map_count is 1,048,576 on some systems; a core has a header for each."""
    many = LOADED[:1] * 70_000
    assert len(load_segments(elf(2, "<", many, count=0xFFFF), "core")) == len(many)


@pytest.mark.parametrize("at", [4, 5])
def test_a_class_or_byte_order_that_is_unknown_is_refused(at: int) -> None:
    data = bytearray(elf(2, "<"))
    data[at] = 3
    with pytest.raises(FormatError, match="class or byte order"):
        load_segments(memoryview(bytes(data)), "app")
