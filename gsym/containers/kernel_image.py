"""Images of Linux that boot: an ELF file or the bare kernel, compressed or not.

    x86     `vmlinuz` (bzImage): a stripped ELF file, compressed
    ARM64, RISC-V, LoongArch
            `Image`: the bare kernel; since Linux 6.1 also compressed, in a program of
            EFI (zboot)
    ARM     `zImage`: the bare kernel, compressed
    s390    `bzImage`: the bare kernel, compressed

A bare kernel has no headers that say where its code is. It becomes an ELF file with one
segment for all addresses, in which its own table of symbols is found by content.

Source: Documentation/arch/*/boot*.rst, arch/arm/boot/compressed/head.S and
drivers/firmware/efi/libstub/zboot-header.S of Linux.
"""

from __future__ import annotations

import re
import struct
from itertools import chain, islice

from gsym.containers.inflation import (
    inflate_data,
    inflate_gzip,
    inflate_one_gzip,
    inflate_xz,
    inflate_zstd,
)
from gsym.containers.lz4_frames import LEGACY_MAGIC, inflate_lz4
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import (
    KERNEL_ARM,
    KERNEL_BARE,
    KERNEL_S390,
    KERNEL_X86,
    KERNEL_ZBOOT,
    inflater_of,
    kernel_form,
)
from gsym.errors import GsymError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer

_SECTORS_AT, _VERSION_AT, _PAYLOAD_AT, _SIZE_AT = 0x1F1, 0x206, 0x248, 0x24C
_HEADER_SIZE = 0x250  # up to the last of these
_SECTOR = 512
_TRUNCATED = "the kernel reaches past the end of the file"
_MAGIC_SIZE = 10  # that of bzip2 is the longest
_FIRST_VERSION = 0x208  # which has the place of the payload
_SIZE_SIZE = 4  # the inflated size, behind all payloads; gzip has it itself
_ZBOOT_PLACE = struct.Struct("<8x2I")  # offset and size of the payload
_BARE_MARK_AT, _MARK_SIZE = 0x38, 4
_ARM_MARK_AT, _ARM_LITTLE = 0x24, b"\x18"
# What follows the program that inflates it, by its magic number.
_PAYLOADS = {
    b"\x1f\x8b\x08\0": inflate_one_gzip,
    b"\xfd7zXZ\0": inflate_xz,
    b"\x28\xb5\x2f\xfd": inflate_zstd,
    LEGACY_MAGIC: inflate_lz4,
    b"\x5d\0\0": inflate_xz,
}
_LEAST_KERNEL = 1 << 18  # bytes that a payload inflates to; other data has the magics
# Limit: Places in a kernel image at which a compressed kernel may start
_MOST_PLACES = 64
_MOST_LOADER = 1 << 18  # bytes of code that inflates a kernel
_ELF, _MIPS, _EXECUTABLE = b"\x7fELF", 8, 2
_KERNEL_SECTIONS = (b".appended_dtb", b".image")  # of the program of MIPS


class _Machine(NamedTuple):
    """A processor, as an ELF header has it."""

    number: int
    is_64: bool = True
    order: str = "<"  # of `struct`


_BARE_MACHINES = {
    b"ARMd": _Machine(183),
    b"RSC\x05": _Machine(243),
    b"\xcd\x23\x82\x81": _Machine(258),
}


def kernel_in(image: memoryview) -> memoryview:
    """The ELF file of a kernel image that is mapped.

    Raises:
        ValueError: It is damaged, or compressed in another way.
    """
    return inflate_data(inflate_kernel, image)


def kernel_in_elf(image: memoryview) -> memoryview | None:
    """The kernel in `vmlinuz` of MIPS, an ELF file that inflates it; None in others.

    Raises:
        ValueError: It is damaged, or compressed in another way.
    """
    machine = _loader_of(image)
    if machine is None:
        return None
    return inflate_data(lambda pieces: _as_elf(machine, _unpacked(pieces)), image)


def inflate_kernel(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The ELF file of a kernel image.

    Raises:
        ValueError: It is damaged, or compressed in another way.
    """
    given = iter(pieces)
    head = _first(given, _HEADER_SIZE)
    whole = chain((head,), given)
    form = kernel_form(head)
    if form == KERNEL_X86:
        return _inflate_x86(head, whole)
    if form == KERNEL_ZBOOT:
        given = _inflate_payload(_range(whole, *_ZBOOT_PLACE.unpack_from(head)))
        head = _first(given, _HEADER_SIZE)
        # Programs in programs have no end.
        form = KERNEL_BARE if kernel_form(head) == KERNEL_BARE else 0
    if form == KERNEL_BARE:
        mark = head[_BARE_MARK_AT:][:_MARK_SIZE]
        return _as_elf(_BARE_MACHINES[mark], chain((head,), map(bytes, given)))
    if form == KERNEL_ARM:
        is_little = head[_ARM_MARK_AT:].startswith(_ARM_LITTLE)
        machine = _Machine(40, is_64=False, order="<" if is_little else ">")
        return _as_elf(machine, _unpacked(whole))
    if form == KERNEL_S390:
        return _as_elf(_Machine(22, order=">"), _unpacked(whole))
    raise ValueError("what is compressed in it is no kernel")


def _inflate_x86(head: bytes, whole: Iterable[Buffer]) -> Iterator[bytes]:
    if _number(head, _VERSION_AT, 2) < _FIRST_VERSION:
        raise ValueError("it is a kernel image of before Linux 2.6.26")
    sectors = _number(head, _SECTORS_AT, 1) or 4
    start = (sectors + 1) * _SECTOR + _number(head, _PAYLOAD_AT, 4)
    size = _number(head, _SIZE_AT, 4)
    if not size:
        raise ValueError(_TRUNCATED)
    return _inflate_payload(_range(whole, start, size), size)


def _inflate_payload(payload: Iterator[Buffer], size: int = 0) -> Iterator[bytes]:
    """The contents of a payload; of a *size* other than 0 it ends with that."""
    first = _first(payload, _MAGIC_SIZE)
    inflate = inflate_lz4 if first.startswith(LEGACY_MAGIC) else inflater_of(first)
    if inflate is None:
        raise ValueError("the kernel is not compressed by gzip, xz, zstd, lz4 or bzip2")
    whole = chain((first,), payload)
    if not size or inflate is inflate_gzip:
        return inflate(whole)
    return inflate(_range(whole, 0, size - _SIZE_SIZE))


def _unpacked(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The kernel behind the code that inflates it, whose place nothing says."""
    image = b"".join(map(bytes, pieces))
    places = sorted(
        (found.start(), magic)
        for magic in _PAYLOADS
        for found in islice(re.finditer(re.escape(magic), image), _MOST_PLACES)
    )
    for at, magic in places[:_MOST_PLACES]:
        kernel = _PAYLOADS[magic]((memoryview(image)[at:],))
        try:
            first = _first(kernel, _LEAST_KERNEL)
        except ValueError:
            continue
        if len(first) >= _LEAST_KERNEL:
            return chain((first,), kernel)
    raise ValueError("no kernel compressed by gzip, xz, zstd, lz4 or lzma is in it")


def _as_elf(machine: _Machine, kernel: Iterator[bytes]) -> Iterator[bytes]:
    """An ELF file with one segment of a bare kernel, which may be at any address."""
    first = _first(kernel, len(_ELF))
    if first.startswith(_ELF):
        return chain((first,), kernel)
    number, is_64, order = machine
    word = "Q" if is_64 else "I"
    most = (1 << (64 if is_64 else 32)) - 1
    sizes = (64, 56) if is_64 else (52, 32)
    header = struct.pack(
        f"{order}4s3B9x2HI3{word}I6H",
        *(_ELF, 1 + is_64, 1 if order == "<" else 2, 1),
        *(_EXECUTABLE, number, 1, 0, sizes[0], 0, 0),
        *(sizes[0], sizes[1], 1, 0, 0, 0),
    )
    fields = 1, 7, sum(sizes), 0, 0, most, most, 0
    if is_64:
        segment = struct.pack(f"{order}2I6Q", *fields)
    else:
        kind, flags, *rest = fields
        segment = struct.pack(f"{order}8I", kind, *rest[:5], flags, rest[5])
    return chain((header + segment, first), kernel)


def _loader_of(image: memoryview) -> _Machine | None:
    """The processor of an ELF file of MIPS that has a kernel in it; None for others."""
    try:
        with ObjectFile(image, "") as file:
            size = sum(end - start for _, start, end in file.code_sections())
            has_kernel = any(map(file.has_section, _KERNEL_SECTIONS))
            is_loader = file.is_elf and file.machine == _MIPS and size < _MOST_LOADER
            order = ">" if file.big_endian else "<"
            found = _Machine(_MIPS, file.is_64, order)
            return found if is_loader and has_kernel else None
    except GsymError:
        return None  # damaged


def _first(pieces: Iterator[Buffer], size: int) -> bytes:
    """The first bytes, at least so many if there are."""
    found = []
    while size > 0 and (piece := next(pieces, None)) is not None:
        found.append(bytes(piece))
        size -= len(found[-1])
    return b"".join(found)


def _range(pieces: Iterable[Buffer], start: int, size: int) -> Iterator[memoryview]:
    """A range of all bytes.

    Raises:
        ValueError: It reaches past them.
    """
    for piece in pieces:
        part = memoryview(piece)[start : start + size]
        start = max(start - len(memoryview(piece)), 0)
        size -= len(part)
        if part:
            yield part
        if size <= 0:
            return
    raise ValueError(_TRUNCATED)


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
