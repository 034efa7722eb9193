"""Compressed bytes that come in pieces of any size: all of them, or a refusal."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
import zlib
from binascii import crc32
from typing import TYPE_CHECKING

import pytest

from gsym.containers.inflation import (
    inflate_bzip2,
    inflate_gzip,
    inflate_xz,
    inflate_zlib,
    inflate_zstd,
)

pytestmark = pytest.mark.long

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAIRS = pytest.mark.parametrize(
    ("pack", "inflate"),
    [
        (zlib.compress, inflate_zlib),
        (gzip.compress, inflate_gzip),
        (lzma.compress, inflate_xz),
        (zstd.compress, inflate_zstd),
        (bz2.compress, inflate_bzip2),
    ],
    ids=["zlib", "gzip", "xz", "zstd", "bzip2"],
)
CONTENTS = random.Random(3).randbytes(70_000) + bytes(1 << 21)  # noqa: S311


@pytest.fixture(params=["zlib", "isal"], autouse=True)
def inflater(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which module inflates zlib's streams."""
    if request.param == "isal":
        pytest.importorskip("isal", reason="there is no wheel of isal for this machine")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@PAIRS
def test_pieces_of_any_size_give_the_contents(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
) -> None:
    packed = pack(CONTENTS)
    for size in (97, 1 << 30):
        assert b"".join(inflate(cut(packed, size))) == CONTENTS


@pytest.mark.slow
@PAIRS
def test_no_piece_is_larger_than_a_mebibyte(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
) -> None:
    pieces = inflate(iter([pack(bytes(64 << 20))]))
    assert max(map(len, pieces)) <= 1 << 20


@PAIRS
def test_a_stream_that_ends_early_is_refused(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
) -> None:
    packed = pack(CONTENTS)
    for kept in (0, 1, 5, -1, -9):
        with pytest.raises(ValueError, match="truncated"):
            list(inflate(cut(packed[:kept], 1000)))


@PAIRS
def test_bytes_that_are_not_compressed_are_refused(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
) -> None:
    del pack
    with pytest.raises(ValueError, match=r"."):
        list(inflate(iter([b"MODULE Linux x86_64 0 a\n" * 9])))


@pytest.mark.parametrize(
    ("pack", "inflate", "between"),
    [
        (gzip.compress, inflate_gzip, b""),
        (bz2.compress, inflate_bzip2, b""),
        (lzma.compress, inflate_xz, b""),
        (lzma.compress, inflate_xz, bytes(8)),
        (zstd.compress, inflate_zstd, b""),
        (zstd.compress, inflate_zstd, b"\x5a\x2a\x4d\x18\x03\0\0\0abc"),
    ],
)
def test_concatenated_streams_are_all_inflated(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
    between: bytes,
) -> None:
    data = pack(b"one") + between + pack(b"two") + between + pack(b"")
    for size in (1, 7, 1 << 30):
        assert b"".join(inflate(cut(data, size))) == b"onetwo"
        with pytest.raises(ValueError, match=r"."):
            list(inflate(cut(data[:-2], size)))


STREAMS = pytest.mark.parametrize(
    ("pack", "inflate"),
    [
        (gzip.compress, inflate_gzip),
        (bz2.compress, inflate_bzip2),
        (lzma.compress, inflate_xz),
        (zstd.compress, inflate_zstd),
    ],
    ids=["gzip", "bzip2", "xz", "zstd"],
)


@STREAMS
def test_an_empty_piece_goes_through_and_no_other_is_made(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
) -> None:
    packed = pack(b"one")
    pieces = [b"", packed[:9], *[b""] * 50, packed[9:], pack(b""), b"", pack(b"two")]
    found = list(inflate(iter(pieces)))
    assert b"".join(found) == b"onetwo"
    assert found.count(b"") == pieces.count(b"")


class Decompressor:
    """One of xz that counts what it copies after the end of its stream."""

    copied = 0
    made = lzma.LZMADecompressor

    def __init__(self, memlimit: int) -> None:
        self._inner = self.made(memlimit=memlimit)

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._inner.decompress(data, most)

    def __getattr__(self, name: str) -> object:
        value = getattr(self._inner, name)
        if name == "unused_data":
            Decompressor.copied += len(value)
        return value


def test_what_comes_after_many_streams_is_not_copied_by_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lzma, "LZMADecompressor", Decompressor)
    count = 10_000
    data = lzma.compress(b"") * count
    assert b"".join(inflate_xz(iter([data]))) == b""
    assert 0 < Decompressor.copied < count * 16_384 < len(data) * count / 10


@pytest.mark.parametrize(
    ("pack", "inflate"), [(lzma.compress, inflate_xz), (zstd.compress, inflate_zstd)]
)
@pytest.mark.parametrize("size", [1, 1 << 30])
def test_bytes_after_the_streams_are_left_out(
    pack: Callable[[bytes], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
    size: int,
) -> None:
    assert b"".join(inflate(cut(pack(b"one") + b"and more", size))) == b"one"


def xz_of_dictionary(size: int) -> bytes:
    """An xz stream of "x" that asks for a dictionary of this power of two."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 12}]
    data = bytearray(lzma.compress(b"x", filters=filters))
    header = slice(12, 12 + 4 * (data[12] + 1))  # after that of the stream
    data[header.start + 4] = 2 * (size.bit_length() - 13)
    data[header.stop - 4 : header.stop] = crc32(
        data[header.start : header.stop - 4]
    ).to_bytes(4, "little")
    return bytes(data)


def zstd_of_window(size: int) -> bytes:
    """A zstd frame of "x" that asks for a window of this power of two."""
    window = bytes([0, size.bit_length() - 11 << 3])
    return b"\x28\xb5\x2f\xfd" + window + b"\x09\0\0" + b"x"


@pytest.mark.parametrize(
    ("make", "inflate", "most"),
    [
        (xz_of_dictionary, inflate_xz, 128 << 20),  # with the rest less than 256
        (zstd_of_window, inflate_zstd, 128 << 20),
    ],
)
def test_the_window_of_a_compression_is_limited(
    make: Callable[[int], bytes],
    inflate: Callable[[Iterator[bytes]], Iterator[bytes]],
    most: int,
) -> None:
    assert b"".join(inflate(iter([make(most)]))) == b"x"
    for size in (2 * most, 4 * most):
        with pytest.raises(ValueError, match=r"[Mm]emory"):
            list(inflate(iter([make(size)])))
