"""What is said of files that are no input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.recognition import recognise, refuse

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = [
    (b"Microsoft C/C++ program database 2.00", "PDB file of before 2002: "),
    (b"MSCF\0\0\0\0", r"cabinet file \(\.pd_\): .*cabextract"),
    (b"BSJB\1\0\1\0", r"portable PDB file: .*\.NET"),
    (b"MDMP\x93\xa7", "minidump: .*binaries"),
    (b"BC\xc0\xde\x35", "LLVM bitcode: compile"),
    (b"\xca\xfe\xba\xbe\0\0\0\x34", "Java class"),
    (b"\x1f\x8b\x08", "gzip file: unpack"),
    (b"\x28\xb5\x2f\xfd", "zstd file: unpack"),
    (b"\xfd7zXZ\0", "xz file: unpack"),
    (b"PK\3\4", "zip archive: unpack"),
    (b"!<arch>\ndebian-binary   ", "Debian package: 'gsym store add' reads"),
    (b"\xed\xab\xee\xdb\3\0", "RPM package: 'gsym store add' reads"),
    (b"\xff\xfeM\0O\0", "UTF-16"),
]


@pytest.mark.parametrize(("head", "reason"), KNOWN, ids=[each for _, each in KNOWN])
def test_a_known_kind_is_named_with_advice(
    head: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "input"
    path.write_bytes(head)
    with pytest.raises(gsym.UnsupportedError, match=reason) as caught:
        gsym.convert(str(path))
    assert caught.value.path == str(path)
    assert not (tmp_path / "input.gsym").exists()


@pytest.mark.parametrize("head", [b"#!/bin/sh\n", b"\0", b"\x7fEL", bytes(64)])
def test_an_unknown_kind_is_refused_with_the_known_ones(
    head: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "input"
    path.write_bytes(head)
    with pytest.raises(gsym.FormatError, match=r"ELF, Mach-O, PE.*Breakpad.*GSYM"):
        gsym.convert(str(path))


def test_an_empty_file_is_refused_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.touch()
    with pytest.raises(gsym.FormatError, match="the file is empty"):
        gsym.convert(str(path))


def test_each_kind_without_a_reader_is_refused() -> None:
    kinds = {recognise(head) for head, _ in KNOWN}
    assert not kinds & {"", "object", "fat", "archive", "breakpad", "gsym"}
    for kind in kinds:
        with pytest.raises(gsym.UnsupportedError):
            refuse(kind, "input")
