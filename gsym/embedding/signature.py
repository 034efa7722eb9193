"""The code signature of a Mach-O file, made anew ad hoc.

A signature is a `SuperBlob` of blobs, all numbers big-endian. Its CodeDirectory has a
hash of each page of the file up to the signature and, in the "special slots", of other
blobs and files. Who signed with an identity has to do so again: an ad-hoc signature
only says that the file is what its maker left, as the one of a linker does.
"""

from __future__ import annotations

import struct
import sys
from struct import (
    Struct,
    error as StructError,  # noqa: N812 - an exception, named as one
)

from gsym.embedding.binary import Binary, align
from gsym.lazy import hashlib

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from typing_extensions import Buffer

_SUPER_BLOB, _CODE_DIRECTORY, _REQUIREMENTS = 0xFADE0CC0, 0xFADE0C02, 0xFADE0C01
_HEAD = Struct(">3I")  # of a SuperBlob: magic, size, number of blobs
_INDEX = Struct(">2I")  # slot, offset
_BLOB = Struct(">2I")  # magic, size
_SLOT_REQUIREMENTS, _SLOT_CMS = 2, 0x10000
_SLOTS_CODE_DIRECTORY = (0, *range(0x1000, 0x1005))  # and its alternates
_SLOTS_OF_FILES = (1, 3)  # Info.plist, CodeResources: no matter who signs

# magic, size, version, flags, hashOffset, identOffset, nSpecialSlots, nCodeSlots,
# codeLimit, hashSize, hashType, platform, pageSize, spare2; and later: scatterOffset,
# teamOffset, spare3, codeLimit64, execSegBase, execSegLimit, execSegFlags, runtime,
# preEncryptOffset.
_DIRECTORY = Struct(">9I4BI3IQ3Q2I")
# How much of that each version has, the latest first.
_SIZES = {0x20500: 96, 0x20400: 88, 0x20300: 64, 0x20200: 52, 0x20100: 48, 0: 44}
_AD_HOC = 0x2  # a flag
_MAIN_BINARY = 0x1  # a flag of the executable segment
# 0: one hash for all. Smaller pages than memory has would be more hashes than file.
_PAGE_SHIFTS = {0, *range(12, 17)}
# By hashType, the weakest first: name and size.
_HASHES = {1: ("sha1", 20), 3: ("sha256", 20), 2: ("sha256", 32), 4: ("sha384", 48)}
_ALIGNMENT = 16


class _CodeDirectory:
    """The preserved parts of a CodeDirectory."""

    flags: int
    hash_type: int
    platform: int
    page_shift: int
    runtime: int
    hash_name: str
    hash_size: int

    def __init__(self, raw: bytes) -> None:
        """Raises StructError or ValueError where it is damaged."""
        (version,) = struct.unpack_from(">I", raw, 8)
        self.version: int = min(version, max(_SIZES))
        self._size = next(s for least, s in _SIZES.items() if self.version >= least)
        fields = _DIRECTORY.unpack(raw[: self._size].ljust(_DIRECTORY.size, b"\0"))
        magic, _, _, self.flags, hashes, identifier, special = fields[:7]
        size, self.hash_type, self.platform, self.page_shift = fields[9:13]
        self.exec_seg: tuple[int, ...] = fields[18:21]
        self.runtime = fields[21]
        if magic != _CODE_DIRECTORY or self.hash_type not in _HASHES:
            raise ValueError("an unknown kind of CodeDirectory")
        self.hash_name, self.hash_size = _HASHES[self.hash_type]
        if not special * size <= hashes <= len(raw) or size != self.hash_size:
            raise ValueError("a CodeDirectory with hashes outside of it")
        if self.page_shift not in _PAGE_SHIFTS:
            raise ValueError(f"pages of 1 << {self.page_shift} bytes")
        self.identifier: bytes = raw[identifier : raw.index(b"\0", identifier)]
        # By slot, from slot 1 on; they precede the hashes of pages.
        self.special: list[bytes] = [
            raw[hashes - slot * size : hashes - (slot - 1) * size]
            for slot in range(1, special + 1)
        ]

    def new_hash(self) -> Any:
        """Hash for one page or blob; its digest may have to be cut to `hash_size`."""
        return hashlib.new(self.hash_name)

    @property
    def page_size(self) -> int:
        """Bytes of the file that have one hash."""
        return 1 << self.page_shift if self.page_shift else sys.maxsize

    def to_bytes(self, code_limit: int, pages: bytes) -> bytes:
        """Encode with the hashes of the *pages* before *code_limit*."""
        special = b"".join(reversed(self.special))
        hashes = self._size + len(self.identifier) + 1 + len(special)
        head = _DIRECTORY.pack(
            *(_CODE_DIRECTORY, hashes + len(pages), self.version, self.flags),
            *(hashes, self._size, len(self.special), len(pages) // self.hash_size),
            *(code_limit, self.hash_size, self.hash_type, self.platform),
            *(self.page_shift, 0, 0, 0, 0, 0, *self.exec_seg, self.runtime, 0),
        )
        return head[: self._size] + self.identifier + b"\0" + special + pages


class Signature:
    """The signature of a file, to be made again for the file as it will be."""

    def __init__(self, binary: Binary, offset: int, size: int) -> None:
        """Read the signature at *offset* of the file."""
        data = bytes(binary.part(offset, size, "the code signature"))
        try:
            blobs = dict(_read_blobs(data))
            directories = [
                _CodeDirectory(blobs.pop(slot))
                for slot in _SLOTS_CODE_DIRECTORY
                if slot in blobs
            ]
        except (StructError, ValueError) as problem:
            reason = f"the code signature is damaged: {problem}"
            raise binary.damaged(offset, reason) from problem
        if not directories:
            raise binary.damaged(offset, "the code signature has no CodeDirectory")
        strength = list(_HASHES).index
        directory = max(directories, key=lambda found: strength(found.hash_type))
        has_cms = len(blobs.get(_SLOT_CMS, b"")) > _BLOB.size
        # whether somebody signed it, whose name and entitlements are lost
        self.had_identity: bool = has_cms or not directory.flags & _AD_HOC
        self._directory = directory
        self._blobs = blobs
        if self.had_identity:
            self._drop_identity()
        self._digests: list[bytes] = []
        self._page = directory.new_hash()
        self._missing = directory.page_size  # bytes of the page that has begun

    def _drop_identity(self) -> None:
        """Keep only blobs that describe the file."""
        requirements = _HEAD.pack(_REQUIREMENTS, _HEAD.size, 0)
        self._blobs = {_SLOT_REQUIREMENTS: requirements}
        directory = self._directory
        directory.flags, directory.runtime = _AD_HOC, 0
        base, limit, flags = directory.exec_seg
        directory.exec_seg = base, limit, flags & _MAIN_BINARY
        kept = dict(enumerate(directory.special, 1))
        kept = {slot: kept[slot] for slot in _SLOTS_OF_FILES if slot in kept}
        digest = hashlib.new(directory.hash_name, requirements).digest()
        kept[_SLOT_REQUIREMENTS] = digest[: directory.hash_size]
        absent = bytes(directory.hash_size)
        directory.special = [kept.get(slot, absent) for slot in range(1, max(kept) + 1)]

    def update(self, data: Buffer) -> None:
        """Take the next bytes of the file before the signature."""
        left = memoryview(data).cast("B")
        while left:
            part, left = left[: self._missing], left[self._missing :]
            self._page.update(part)
            self._missing -= len(part)
            if not self._missing:
                self._end_page()

    def finish(self, code_limit: int) -> bytes:
        """The signature, with the hashes of all pages; the last one may be shorter."""
        if self._missing < self._directory.page_size:
            self._end_page()
        return self._to_bytes(code_limit, b"".join(self._digests))

    def _end_page(self) -> None:
        self._digests.append(self._page.digest()[: self._directory.hash_size])
        self._page = self._directory.new_hash()
        self._missing = self._directory.page_size

    def size(self, code_limit: int) -> int:
        """Size of a signature at offset *code_limit* of the file."""
        pages = -(-code_limit // self._directory.page_size)
        return len(self._to_bytes(code_limit, bytes(pages * self._directory.hash_size)))

    def _to_bytes(self, code_limit: int, pages: bytes) -> bytes:
        """The signature with the hashes of all pages."""
        blobs = {0: self._directory.to_bytes(code_limit, pages), **self._blobs}
        offset = _HEAD.size + _INDEX.size * len(blobs)
        index = []
        for slot, blob in sorted(blobs.items()):
            index.append(_INDEX.pack(slot, offset))
            offset += len(blob)
        head = _HEAD.pack(_SUPER_BLOB, offset, len(blobs))
        whole = b"".join([head, *index, *(blob for _, blob in sorted(blobs.items()))])
        return whole.ljust(align(len(whole), _ALIGNMENT), b"\0")


def _read_blobs(data: bytes) -> Iterable[tuple[int, bytes]]:
    """(slot, bytes) of each blob; raises StructError or ValueError."""
    magic, size, count = _HEAD.unpack_from(data)
    if magic != _SUPER_BLOB or size > len(data):
        raise ValueError("no SuperBlob")
    total = 0
    for at in range(count):
        slot, offset = _INDEX.unpack_from(data, _HEAD.size + at * _INDEX.size)
        _, blob_size = _BLOB.unpack_from(data, offset)
        if blob_size > len(data) - offset:
            raise ValueError("a blob outside of it")
        total += blob_size
        if total > len(data):
            raise ValueError("blobs overlap")
        yield slot, data[offset : offset + blob_size]
