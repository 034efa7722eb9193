"""lz4 files as the tool `lz4` writes them, in pieces of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.lz4_frames import inflate_lz4
from tests.inputs.core import small_core

if TYPE_CHECKING:
    from pathlib import Path

CONTENTS = b"".join(b"line %d of a core file\n" % (at % 7) for at in range(40))
CONTENTS += bytes(300)
BLOCK = (
    "4a000000f1076c696e652030206f66206120636f72652066696c650a16001f311600021f32160002"
    "1f331600021f341600021f351600021f361600020f9a00ffffc01f000100ff14500000000000"
)
INDEPENDENT = f"04224d186440a7{BLOCK}0000000052ef6422"
# lz4 -B4 -BD -BX --content-size: linked blocks, with checksums
LINKED = f"04224d187c409c04000000000000c7{BLOCK}a90072200000000052ef6422"


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def literals(data: bytes, *, linked: bool = False, stored: bool = False) -> bytes:
    """A frame of which each block of 5 bytes has literals alone."""
    frame = b"\x04\x22\x4d\x18" + bytes([0x40 if linked else 0x60]) + b"\x40\0"
    for piece in cut(data, 5):
        block = piece if stored else bytes([len(piece) << 4]) + piece
        frame += (len(block) | stored << 31).to_bytes(4, "little") + block
    return frame + bytes(4)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("data", [INDEPENDENT, LINKED])
def test_files_of_the_tool(data: str, size: int) -> None:
    whole = bytes.fromhex(data)
    assert b"".join(inflate_lz4(cut(whole, size))) == CONTENTS
    twice = cut(2 * whole + b"rest", size)
    assert b"".join(inflate_lz4(twice)) == 2 * CONTENTS


def test_blocks_that_are_stored() -> None:
    assert b"".join(inflate_lz4([literals(CONTENTS, stored=True)])) == CONTENTS
    assert b"".join(inflate_lz4([literals(CONTENTS)])) == CONTENTS


@pytest.mark.parametrize("linked", [True, False])
def test_a_block_refers_to_the_one_before_if_they_are_linked(*, linked: bool) -> None:
    match = b"\x0f\x05\x00\x01"  # 20 bytes from 5 bytes before
    frame = literals(b"abcde", linked=linked)[:-4]
    frame += len(match).to_bytes(4, "little") + match + bytes(4)
    if linked:
        assert b"".join(inflate_lz4([frame])) == b"abcde" * 5
    else:
        with pytest.raises(ValueError, match="a match is not in its window"):
            list(inflate_lz4([frame]))


@pytest.mark.parametrize(
    ("head", "block", "reason"),
    [
        ("0000", "", "its version or dictionary is not known"),
        ("6140", "", "its version or dictionary is not known"),
        ("6040", "01004000", "a block is too large"),
        ("6040", "02000000 f0ff", "it is truncated"),
        ("6040", "02000000 5041", "it is truncated"),
        ("6040", "05000000 1041000041", "a match is not in its window"),
        ("6040", "05000000 1041020041", "a match is not in its window"),
    ],
)
def test_damaged_files_are_refused(head: str, block: str, reason: str) -> None:
    data = bytes.fromhex(f"04224d18 {head} 00 {block}") + bytes(0x401000)
    with pytest.raises(ValueError, match=reason):
        list(inflate_lz4([data]))


def test_files_that_are_cut_are_refused() -> None:
    whole = bytes.fromhex(LINKED)
    for size in range(len(whole)):
        with pytest.raises(ValueError, match="it is truncated"):
            list(inflate_lz4([whole[:size]]))


def test_a_core_file(tmp_path: Path) -> None:
    data = small_core()
    path = tmp_path / "core.app.lz4"
    path.write_bytes(literals(data))
    (tmp_path / "core").write_bytes(data)
    report = gsym.symbolicate(path)
    assert report.form == "ELF core file"
    assert str(report) == str(gsym.symbolicate(tmp_path / "core"))
