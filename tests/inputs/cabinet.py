"""Writes cabinets of one file, as makecab does for symbol stores."""

from __future__ import annotations

import zlib
from struct import pack

import pytest

from gsym.containers.cabinet_library import libarchive
from tests.inputs.encoding import cstring

STORED, MSZIP, LZX = 0, 1, 3
_BLOCK = 0x8000
_WINDOW_BITS = 21


def cabinet(name: str, content: bytes, compression: int = MSZIP) -> bytes:
    """A cabinet with a file of this name and *content*.

    Skips the test if nothing reads it.
    """
    if libarchive is None:
        pytest.skip("not installed: the extra cab, or libarchive")
    blocks = [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)]
    data = b"".join(_data(*each) for each in _compressed(blocks, compression))
    kind = compression | (_WINDOW_BITS << 8 if compression == LZX else 0)
    file = pack("<IIHHHH", len(content), 0, 0, 0, 0, 0x20) + cstring(name)
    at = 36 + 8 + len(file)
    head = pack(
        *("<4sIIIIIBBHHHHH", b"MSCF", 0, at + len(data), 0, 36 + 8, 0),
        *(3, 1, 1, 1, 0, 0, 0),
    )
    return head + pack("<IHH", at, len(blocks), kind) + file + data


def _data(packed: bytes, size: int) -> bytes:
    return pack("<IHH", 0, len(packed), size) + packed  # without a checksum


def _compressed(blocks: list[bytes], compression: int) -> list[tuple[bytes, int]]:
    found = []
    for number, block in enumerate(blocks):
        packed = block
        if compression == MSZIP:
            before = b"".join(blocks[number - 1 : number]) if number else b""
            deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 8, 0, before)
            packed = b"CK" + deflate.compress(block) + deflate.flush()
        elif compression == LZX:
            packed = _uncompressed_lzx(block, is_first=number == 0)
        found.append((packed, len(block)))
    return found


def _uncompressed_lzx(block: bytes, *, is_first: bool) -> bytes:
    """A block of type 3, which has its bytes as they are."""
    bits = "0" * is_first + f"{3:03b}{len(block):024b}"  # no translation of calls
    bits += "0" * (-len(bits) % 16)
    words = (int(bits[at : at + 16], 2) for at in range(0, len(bits), 16))
    head = b"".join(pack("<H", each) for each in words) + pack("<III", 1, 1, 1)
    return head + block + b"\0" * (len(block) % 2)
