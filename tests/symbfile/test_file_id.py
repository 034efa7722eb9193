"""gsym.symbfile.file_id: what profilers call an executable."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.symbfile.file_id import FileId

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What the tests of the reference implementation have for a file of theirs.
INLINE_HEX = "c34f3585fca1b579fb458e827851a599"
INLINE_BASE64 = "w081hfyhtXn7RY6CeFGlmQ"


def expected(data: bytes) -> bytes:
    """The rule, as the specification words it."""
    hashed = data[:4096] + data[max(0, len(data) - 4096) :]
    return hashlib.sha256(hashed + len(data).to_bytes(8, "big")).digest()[:16]


def pieces_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def test_a_file_of_symblib_has_the_id_that_its_tests_have(fixtures: Path) -> None:
    found = FileId.of_file(fixtures / "symblib/inline")
    assert found.hex() == INLINE_HEX
    assert found.base64 == INLINE_BASE64


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 100_000])
def test_both_ends_and_the_size_are_hashed(tmp_path: Path, size: int) -> None:
    data = bytes(index * index % 251 for index in range(size))
    path = tmp_path / "executable"
    path.write_bytes(data)
    assert FileId.of_file(path) == expected(data)
    for piece_size in (1000, 4096, 5000):
        assert FileId.of_pieces(pieces_of(data, piece_size)) == expected(data)


def test_an_empty_file_has_the_id_of_eight_zeros() -> None:
    assert FileId.of_pieces([]).hex() == "af5570f5a1810b7af78caf4bc70a660f"


def test_a_pipe_has_an_id_too(tmp_path: Path) -> None:
    data, path = b"x" * 10_000, tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    assert FileId.of_file(path) == expected(data)
    writer.join()


@given(st.binary(min_size=16, max_size=16))
def test_each_form_as_text_is_read_back(value: bytes) -> None:
    file_id = FileId(value)
    assert len(file_id.base64) == 22
    plain = file_id.base64.replace("-", "+").replace("_", "/")
    for text in (
        *(file_id.hex(), file_id.hex().upper(), file_id.base64),
        *(file_id.base64 + "==", plain, plain + "=="),
    ):
        assert FileId.parse(text) == file_id
    assert file_id.swapped.swapped == file_id
    assert eval(repr(file_id)) == file_id  # noqa: S307 - our own text


def test_other_text_is_refused() -> None:
    for text in (
        *("", "0", INLINE_HEX[:-1], INLINE_HEX + "0", "g" * 32, INLINE_BASE64[:-1]),
        *(INLINE_BASE64 + "=", INLINE_BASE64 + "===", "!" * 22, " " + INLINE_BASE64),
        *("\xe9" * 22, "\xe9" * 32, INLINE_BASE64[:-1] + "R"),
    ):
        with pytest.raises(ValueError, match="is not a FileID"):
            FileId.parse(text)


@pytest.mark.parametrize("size", [15, 17])
def test_another_number_of_bytes_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        FileId(bytes(size))


def fnv_1a(data: bytes) -> int:
    """FNV-1a as its authors publish it, for 128 bits."""
    value = 144066263297769815596495629667062367629
    for byte in data:
        value = (value ^ byte) * 309485009821345068724781371 % 2**128
    return value


def test_the_id_of_a_kernel_is_made_of_its_build_id() -> None:
    build_id = bytes.fromhex("f83ea4af4d01a4d1b2a2d3a6e2f7c2f9d0b1a2c3")
    kernel = FileId.of_kernel(build_id)
    assert int.from_bytes(kernel, "big") == fnv_1a(build_id.hex().encode())
    assert FileId.of_kernel(build_id, debug_file=True) == kernel[8:] + kernel[:8]
