"""Signatures of Mach-O files that are made anew, checked by a reader of their own."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.embedding.test_macho import Commands
from tests.embeddings import assert_answers, macho, write_gsym
from tests.inputs.macho_executable import (
    AD_HOC,
    IDENTITY,
    PAGE,
    MachoExecutable,
    code_directory,
)

if TYPE_CHECKING:
    from pathlib import Path

REQUIREMENTS = struct.pack(">3I", 0xFADE0C01, 12, 0)
ENTITLEMENTS = struct.pack(">2I", 0xFADE7171, 20) + b"<plist/>   \n"
NO_CMS, CMS = (
    struct.pack(">2I", 0xFADE0B01, 8),
    struct.pack(">2I", 0xFADE0B01, 12) + b"cms!",
)
HASHES = {1: "sha1", 2: "sha256"}


class Directory(NamedTuple):
    version: int
    flags: int
    identifier: bytes
    special: list[bytes]
    code_limit: int
    hash_type: int
    exec_seg: tuple[int, ...]


def blobs_of(signature: bytes) -> dict[int, bytes]:
    magic, size, count = struct.unpack_from(">3I", signature)
    assert magic == 0xFADE0CC0
    assert size <= len(signature) < size + 16
    found = {}
    for index in range(count):
        slot, offset = struct.unpack_from(">2I", signature, 12 + 8 * index)
        found[slot] = signature[
            offset : offset + struct.unpack_from(">I", signature, offset + 4)[0]
        ]
    assert sum(map(len, found.values())) + 12 + 8 * count == size
    return found


def verify(data: bytes) -> tuple[Directory, dict[int, bytes]]:
    """Compare all hashes of a signed file; what else is in the signature."""
    offset, size = Commands(data).fields(0x1D, "II")
    assert offset % 16 == 0
    assert offset + size == len(data)
    blobs = blobs_of(data[offset:])
    raw = blobs[0]
    fields = struct.unpack_from(">9I4BI3IQ3Q", raw)
    magic, length, version, flags, hashes, identifier, special, pages, limit = fields[
        :9
    ]
    hash_size, hash_type, _, page_shift = fields[9:13]
    assert (magic, length, limit) == (0xFADE0C02, len(raw), offset)
    # After the size of pages: spare2, scatterOffset, teamOffset, spare3, codeLimit64.
    assert fields[13:17] == (0, 0, 0, 0)
    assert hashes + pages * hash_size == length
    digests = [
        hashlib.new(
            HASHES[hash_type], data[at : min(at + (1 << page_shift), limit)]
        ).digest()
        for at in range(0, limit, 1 << page_shift)
    ]
    assert raw[hashes:] == b"".join(digests)
    slots = [
        raw[hashes - slot * hash_size : hashes - (slot - 1) * hash_size]
        for slot in range(1, special + 1)
    ]
    for slot, blob in blobs.items():
        if 0 < slot <= special:
            assert hashlib.new(HASHES[hash_type], blob).digest() == slots[slot - 1]
    name = raw[identifier : raw.index(b"\0", identifier)]
    return Directory(
        version, flags, name, slots, limit, hash_type, fields[18:21]
    ), blobs


def digest(blob: bytes, hash_type: int = 2) -> bytes:
    return hashlib.new(HASHES[hash_type], blob).digest()


def embedded(tmp_path: Path, binary: MachoExecutable | bytes) -> tuple[str, bytes]:
    """What the report says of the signature, and the output."""
    source, path = write_gsym(tmp_path / "file.gsym"), tmp_path / "program"
    path.write_bytes(binary if isinstance(binary, bytes) else binary.to_bytes())
    report = gsym.embed(source, path, share_strings=True)
    assert_answers(path)
    return report.signature, path.read_bytes()


@pytest.mark.parametrize(
    ("bits", "fixups", "flags"),
    [(32, False, AD_HOC), (64, True, AD_HOC), (64, False, 0x2), (32, True, 0x2)],
)
def test_an_ad_hoc_signature_is_made_again_for_the_new_file(
    *, bits: int, fixups: bool, flags: int, tmp_path: Path
) -> None:
    binary = macho(bits, signature=flags, fixups=fixups)
    said, data = embedded(tmp_path, binary)
    before, _ = verify(binary.to_bytes())
    after, _ = verify(data)
    assert said == "ad hoc"
    assert after == before._replace(code_limit=after.code_limit)
    assert after.flags == flags


@pytest.mark.parametrize("hash_type", [1, 2])
def test_hashes_and_blobs_of_an_ad_hoc_signature_are_kept(
    hash_type: int, tmp_path: Path
) -> None:
    blobs = {2: REQUIREMENTS, 5: ENTITLEMENTS, 0x10000: NO_CMS}
    absent = bytes(len(digest(b"", hash_type)))
    special = (
        digest(b"Info.plist", hash_type),
        *(digest(REQUIREMENTS, hash_type), digest(b"CodeResources", hash_type), absent),
        digest(ENTITLEMENTS, hash_type),
    )
    binary = macho(
        signature=AD_HOC,
        special=special,
        hash_type=hash_type,
        blobs=tuple(blobs.items()),
    )
    said, data = embedded(tmp_path, binary)
    directory, after = verify(data)
    assert said == "ad hoc"
    assert directory.special == list(special)
    assert directory.hash_type == hash_type
    assert {slot: blob for slot, blob in after.items() if slot} == blobs


@pytest.mark.parametrize(
    ("flags", "cms"), [(IDENTITY, CMS), (IDENTITY, NO_CMS), (2, CMS)]
)
def test_an_identity_is_dropped_with_all_that_depends_on_it(
    flags: int, cms: bytes, tmp_path: Path
) -> None:
    blobs = {2: b"\xfa\xde\x0c\x01\0\0\0\x0cname", 5: ENTITLEMENTS, 0x10000: cms}
    special = (
        *(digest(b"Info.plist"), digest(blobs[2]), digest(b"CodeResources")),
        *(bytes(32), digest(ENTITLEMENTS)),
    )
    binary = macho(signature=flags, special=special, blobs=tuple(blobs.items()))
    said, data = embedded(tmp_path, binary)
    directory, after = verify(data)
    assert said == "identity dropped"
    assert directory.flags == 2
    assert after.keys() == {0, 2}
    assert after[2] == REQUIREMENTS
    assert directory.special == [special[0], digest(REQUIREMENTS), special[2]]
    assert directory.identifier == b"com.example.program"


def test_the_strongest_of_several_directories_is_used(tmp_path: Path) -> None:
    """Old files have one of SHA-1, and one of SHA-256 as its alternate."""
    alternate = code_directory(bytes(PAGE), AD_HOC)
    binary = macho(signature=AD_HOC, hash_type=1, blobs=((0x1000, alternate),))
    _, data = embedded(tmp_path, binary)
    directory, blobs = verify(data)
    assert directory.hash_type == 2
    assert list(blobs) == [0]


@pytest.mark.parametrize(
    ("version", "size"),
    [
        (0x20001, 44),
        (0x20100, 48),
        (0x20200, 52),
        (0x20300, 64),
        (0x20500, 96),
        (0x20600, 108),
    ],
)
def test_directories_of_all_versions_are_read(
    version: int, size: int, tmp_path: Path
) -> None:
    """Those of later versions become the last that is known."""
    data = bytearray(macho(signature=AD_HOC).to_bytes())
    offset, _ = Commands(bytes(data)).fields(0x1D, "II")
    at = offset + 20
    identifier = b"com.example.program\0"
    pages = -(-offset // 0x4000)
    raw = bytearray(data[at : at + min(size, 88)].ljust(size, b"\0"))
    hashes = size + len(identifier)
    struct.pack_into(">I", raw, 4, hashes + 32 * pages)
    struct.pack_into(">I", raw, 8, version)
    struct.pack_into(">2I", raw, 16, hashes, size)
    if size >= 96:
        struct.pack_into(">I", raw, 88, 0xD0000)  # runtime
    blob = bytes(raw) + identifier + bytes(32 * pages)
    whole = struct.pack(">5I", 0xFADE0CC0, 20 + len(blob), 1, 0, 20) + blob
    room = len(data) - offset
    assert len(whole) <= room + 32
    data[offset:] = whole.ljust(room, b"\0")
    command = data.index(struct.pack("<4I", 0x1D, 16, offset, room))
    struct.pack_into("<I", data, command + 12, len(data) - offset)
    linkedit = data.index(b"__LINKEDIT")
    start = struct.unpack_from("<Q", data, linkedit + 32)[0]
    struct.pack_into("<Q", data, linkedit + 40, len(data) - start)
    _, result = embedded(tmp_path, bytes(data))
    offset, _ = Commands(result).fields(0x1D, "II")
    after = blobs_of(result[offset:])[0]
    kept, identifier_at = (
        struct.unpack_from(">I", after, 8)[0],
        struct.unpack_from(">I", after, 20)[0],
    )
    assert (kept, identifier_at) == (min(version, 0x20500), min(size, 96))
    assert after[identifier_at:].startswith(identifier)
    if size >= 96:
        assert struct.unpack_from(">2I", after, 88) == (0xD0000, 0)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (0, 0, "no SuperBlob"),
        (4, 1 << 31, "no SuperBlob"),
        (8, 0, "no CodeDirectory"),
        (8, 1 << 31, "damaged"),
        (16, 1 << 31, "damaged"),
        (24, 1 << 31, "a blob outside of it"),
        (20, 0xFADE0C01, "unknown kind"),
        (20 + 16, 1 << 31, "hashes outside"),
        (20 + 20, 1 << 31, "damaged"),
        (20 + 24, 1 << 24, "hashes outside"),
        (20 + 36, 0x20090000, "unknown kind"),
        (20 + 36, 0x1F02000C, "hashes outside"),
        (20 + 36, 0x20020020, "pages of"),
        (20 + 36, 0x20020001, "pages of"),
    ],
)
def test_a_damaged_signature_is_refused(
    at: int, value: int, reason: str, tmp_path: Path
) -> None:
    data = bytearray(macho(signature=AD_HOC).to_bytes())
    offset, _ = Commands(bytes(data)).fields(0x1D, "II")
    struct.pack_into(">I", data, offset + at, value)
    with pytest.raises(gsym.FormatError, match=reason) as problem:
        embedded(tmp_path, bytes(data))
    assert problem.value.offset == offset
    assert (tmp_path / "program").read_bytes() == data


def test_a_signature_that_does_not_come_last_is_refused(tmp_path: Path) -> None:
    data = bytearray(macho(signature=AD_HOC).to_bytes())
    offset, size = Commands(bytes(data)).fields(0x1D, "II")
    command = data.index(struct.pack("<4I", 0x1D, 16, offset, size))
    struct.pack_into("<I", data, command + 12, size - 64)
    with pytest.raises(gsym.FormatError, match="does not come last"):
        embedded(tmp_path, bytes(data))
