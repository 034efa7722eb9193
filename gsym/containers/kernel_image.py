"""Compressed kernels of Linux for x86: `vmlinuz`, which has a stripped ELF file inside.

Source: Documentation/arch/x86/boot.rst of Linux.
"""

from __future__ import annotations

from itertools import chain

from gsym.containers.inflation import inflate_data, inflate_gzip
from gsym.containers.lz4_frames import LEGACY_MAGIC, inflate_lz4
from gsym.containers.recognition import inflater_of

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


def kernel_in(image: memoryview) -> memoryview:
    """The ELF file in a kernel image that is mapped.

    Raises:
        ValueError: It is damaged, or compressed in another way.
    """
    return inflate_data(inflate_kernel, image)


def inflate_kernel(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The ELF file in a kernel image.

    Raises:
        ValueError: It is damaged, or compressed in another way.
    """
    given = iter(pieces)
    head = _first(given, _HEADER_SIZE)
    if _number(head, _VERSION_AT, 2) < _FIRST_VERSION:
        raise ValueError("it is a kernel image of before Linux 2.6.26")
    sectors = _number(head, _SECTORS_AT, 1) or 4
    start = (sectors + 1) * _SECTOR + _number(head, _PAYLOAD_AT, 4)
    size = _number(head, _SIZE_AT, 4)
    if not size:
        raise ValueError(_TRUNCATED)
    payload = _range(chain((head,), given), start, size)
    first = _first(payload, _MAGIC_SIZE)
    inflate = inflate_lz4 if first.startswith(LEGACY_MAGIC) else inflater_of(first)
    if inflate is None:
        raise ValueError("the kernel is not compressed by gzip, xz, zstd, lz4 or bzip2")
    end = size if inflate is inflate_gzip else size - _SIZE_SIZE
    return inflate(_range(chain((first,), payload), 0, end))


def _first(pieces: Iterator[Buffer], size: int) -> bytes:
    """The first bytes, at least so many if there are."""
    found = b""
    while len(found) < size and (piece := next(pieces, None)) is not None:
        found += bytes(piece)
    return found


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
