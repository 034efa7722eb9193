"""Code of several devices in one file: fat binaries of CUDA, bundles of Clang.

A fat binary is a header of 16 bytes and, of each member, a header and its bytes. A
bundle is a table of offsets, sizes and targets, and the members; `CCOB` is the header
of one that is compressed. Programs for the host have them in sections, one after
another. A component of WebAssembly has core modules, in sections that may be nested.

Source: clang/docs/ClangOffloadBundler.rst of LLVM; Binary.md of the component model;
fat binaries as nvcc 13 writes them.
"""

from __future__ import annotations

import re
import struct
from functools import partial
from struct import unpack_from

from gsym.containers.inflation import (
    believable_size,
    inflate_data,
    inflate_zlib,
    inflate_zstd,
)
from gsym.containers.lz4_frames import inflate_lz4_block
from gsym.containers.object_file import BUNDLE_SECTIONS, ObjectFile
from gsym.engine.native import to_str
from gsym.errors import FormatError, MemberError, UnsupportedError
from gsym.leb128 import read_leb

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import TypeAlias

    from typing_extensions import Buffer

    Bundled: TypeAlias = "tuple[str, Callable[[], memoryview]]"
    Members: TypeAlias = "Generator[Bundled, None, int]"  # returns the end of a bundle

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
FATBIN_MAGIC = b"\x50\xed\x55\xba"
COMPONENT_MAGIC = b"\0asm\x0d\0\1\0"
MAGICS = (BUNDLE_MAGIC, COMPRESSED_MAGIC, FATBIN_MAGIC, COMPONENT_MAGIC)

_COMPRESSED_HEADER = re.compile(rb"CCOB[\1-\3]\0[\0\1]\0")
_OBJECTS = (b"\x7fELF", b"\0asm\1\0\0\0")
# Limit: Inflated members of the bundles of a file
_MAX_INFLATED = 16 << 30
_CUBIN = 2  # the kind of a member of a fat binary; others have source text
_SM_AT = 28
_FATBIN_HEADER = 16
_LZ4, _ZSTD = 0x2000, 0x8000  # flags of it
_CORE_MODULE, _COMPONENT = 1, 4  # kinds of sections
_HEADER_SIZE = 8
_PIECE = 1 << 16
_MAX_LEB = 5  # bytes of a number of 32 bits


class _Budget:
    """The bytes that the members of a file may inflate to, together."""

    def __init__(self, data: memoryview, path: str) -> None:
        self._left = believable_size(len(data), _MAX_INFLATED)
        self._path = path

    def take(self, size: int) -> None:
        """Charge a member, and refuse it if they are more than is believable."""
        self._left -= size
        if self._left < 0:
            reason = "its members inflate to more than is believable"
            raise FormatError(reason, path=self._path)


def bundled_members(data: memoryview, path: str) -> Iterator[Bundled]:
    """Names of the object files in a bundle, or in the sections of a program.

    Each comes with a function that returns its bytes.

    Raises:
        FormatError: A bundle is damaged.
        MemberError: It is another file.
        UnsupportedError: It is compressed in an unknown way.
    """
    if bytes(data[: len(COMPONENT_MAGIC)]) == COMPONENT_MAGIC:
        yield from _core_modules(data, path)
        return
    budget = _Budget(data, path)
    if _starts(data, 0, MAGICS):
        yield from _sequence(data, 0, path, budget)
        return
    with ObjectFile(data, path) as binary:
        found = [binary.stored_range(name) for name in BUNDLE_SECTIONS]
    if not any(found):
        raise MemberError("not an archive: it has no members", path=path)
    for each in filter(None, found):
        yield from _sequence(data[: each[1]], each[0], path, budget)


def _starts(data: memoryview, at: int, magics: tuple[bytes, ...]) -> bool:
    return bytes(data[at : at + len(BUNDLE_MAGIC)]).startswith(magics)


def _sequence(
    data: memoryview, at: int, path: str, budget: _Budget
) -> Iterator[Bundled]:
    """The members of bundles that follow each other, with zeros between them."""
    while True:
        while at < len(data) and not data[at]:
            piece = bytes(data[at : at + _PIECE])
            at += len(piece) - len(piece.lstrip(b"\0"))
        if at == len(data):
            return
        try:
            if _starts(data, at, (FATBIN_MAGIC,)):
                at = yield from _fat_binary(data, at, path, budget)
            elif _starts(data, at, (BUNDLE_MAGIC,)):
                at = yield from _bundle(data, at, path)
            elif _starts(data, at, (COMPRESSED_MAGIC,)):
                at = yield from _compressed_bundle(data, at, path, budget)
            else:
                raise FormatError("no bundle of code", path=path, offset=at)
        except struct.error:
            raise _past_end(path, at) from None


def _past_end(path: str, at: int) -> FormatError:
    return FormatError("a bundle reaches past its end", path=path, offset=at)


def _part(data: memoryview, at: int, size: int, path: str) -> memoryview:
    if size > len(data) or at > len(data) - size:
        raise _past_end(path, at)
    return data[at : at + size]


def _as_it_is(member: memoryview) -> memoryview:
    return member


def _fat_binary(data: memoryview, start: int, path: str, budget: _Budget) -> Members:
    _, _, header, size = unpack_from("<IHHQ", data, start)
    if header < _FATBIN_HEADER:
        raise FormatError("a fat binary has no header", path=path, offset=start)
    end = start + len(_part(data, start, header + size, path))
    at = start + header
    while at < end:
        kind, header, size, compressed = unpack_from("<H2xIQI", data, at)
        sm, flags, full = unpack_from("<I8xQ8xQ", data, at + _SM_AT)
        payload = _part(data[:end], at + header, size, path)
        if kind == _CUBIN:
            budget.take(full if compressed else 0)
            yield (
                f"sm_{sm}.cubin",
                partial(_cubin, payload, compressed, flags, full, path),
            )
        at += max(header + size, 1)
    return end


def _cubin(
    payload: memoryview, compressed: int, flags: int, full: int, path: str
) -> memoryview:
    if not compressed:
        return payload
    payload = payload[:compressed]

    def inflate_block(pieces: Iterable[Buffer]) -> Iterator[bytes]:
        yield inflate_lz4_block(b"".join(map(bytes, pieces)), full)

    try:
        if flags & _LZ4 and full <= believable_size(compressed, _MAX_INFLATED):
            return inflate_data(inflate_block, payload)
        if flags & _ZSTD:
            return inflate_data(inflate_zstd, payload)
    except ValueError as error:
        raise FormatError(
            f"a compressed cubin is damaged: {error}", path=path
        ) from None
    if flags & _LZ4:
        raise FormatError("a cubin inflates to more than is believable", path=path)
    raise UnsupportedError("a cubin is compressed in an unknown way", path=path)


def _bundle(data: memoryview, start: int, path: str) -> Members:
    at = start + len(BUNDLE_MAGIC) + 8
    (count,) = unpack_from("<Q", data, at - 8)
    end = at
    for _ in range(count):
        offset, size, length = unpack_from("<QQQ", data, at)
        name = to_str(bytes(_part(data, at + 24, length, path)))
        at += 24 + length
        member = _part(data, start + offset, size, path)
        if _starts(member, 0, _OBJECTS):
            yield name, partial(_as_it_is, member)
        end = max(end, at, start + offset + size)
    return end


def _compressed_bundle(
    data: memoryview, start: int, path: str, budget: _Budget
) -> Members:
    version, method = unpack_from("<HH", data, start + 4)
    layout = {1: "<8xI8x", 2: "<8xI12x", 3: "<8xQ16x"}.get(version)
    if layout is None or method > 1:
        reason = f"a compressed bundle of version {version}, method {method}"
        raise UnsupportedError(reason, path=path, offset=start)
    size: int = unpack_from(layout, data, start)[0]
    header = {1: 20, 2: 24, 3: 32}[version]
    if version == 1:  # which does not say it: up to the next one, or all
        found = _COMPRESSED_HEADER.search(data, start + 1)
        size = (found.start() if found else len(data)) - start
    payload = _part(data, start, size, path)[header:]
    try:
        inflated = inflate_data(inflate_zstd if method else inflate_zlib, payload)
    except ValueError as error:
        reason = f"a compressed bundle is damaged: {error}"
        raise FormatError(reason, path=path, offset=start) from None
    budget.take(len(inflated))
    if not _starts(inflated, 0, (BUNDLE_MAGIC,)):
        raise FormatError("no bundle of code", path=path, offset=start)
    try:
        yield from _bundle(inflated, 0, path)
    except struct.error:
        raise _past_end(path, start) from None
    return start + max(size, header)


def _core_modules(data: memoryview, path: str) -> Iterator[Bundled]:
    count = 0
    ends = [len(data)]  # of nested components, too
    at = len(COMPONENT_MAGIC)
    while ends:
        if at >= ends[-1]:
            ends.pop()
            continue
        kind, place = data[at], at
        size, at = read_leb(data[: ends[-1]], at + 1, _MAX_LEB)
        if at == 0:
            raise FormatError("a section is cut off", path=path, offset=place)
        contents = _part(data[: ends[-1]], at, size, path)
        if kind == _CORE_MODULE:
            yield f"module{count}", partial(_as_it_is, contents)
            count += 1
        if kind == _COMPONENT:
            ends.append(at + size)
            at += _HEADER_SIZE
        else:
            at += size
