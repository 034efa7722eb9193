"""Source files that debug information has, and where it says that others are."""

from __future__ import annotations

import struct
from contextlib import suppress
from struct import Struct

from gsym.engine.native import ffi, kept_view, lib, new_object, to_str
from gsym.errors import FormatError
from gsym.writing.source_part import NO_SOURCES, SourceFiles, fitting_sources

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.containers.pdb_file import PdbFile

_WORD = Struct("<I")
# PDB stream: version, signature, age, GUID; then the named streams.
_NAMED_STREAMS_AT = 28
_PDB_STREAM = 1
# /src/headerblock: its header, and the fields of an entry: name in /names, name of the
# stream there, compression.
_HEADER_BLOCK_SIZE = 64
_ENTRY = Struct("<16xI4xIB11x")
_NAMES_HEADER_SIZE = 12
_LINKS = ("sourcelink", "srcsrv")


def sources_of_units(conversion: Any, owner: object, path: str) -> SourceFiles:
    """The texts in line tables of a conversion that was scanned.

    Args:
        conversion: The engine's `gsym_conversion *`.
        owner: Keeps the bytes of its sections.
        path: The file, for errors.
    """
    life = lib.gsym_embedded_sources_create, lib.gsym_embedded_sources_destroy
    handle = new_object("embedded_sources", *life, conversion, path=path)
    source, texts = ffi.new("gsym_embedded_source *"), dict[str, bytes | memoryview]()
    for index in range(lib.gsym_embedded_sources_count(handle)):
        lib.gsym_embedded_source_at(handle, index, source)
        name = to_str(bytes(ffi.buffer(source.path, source.path_size)))
        texts[name] = kept_view(source.text, source.text_size, owner)
    return fitting_sources(texts, ())


def sources_of_pdb(pdb: PdbFile) -> SourceFiles:
    """The files that were injected into a PDB, uncompressed ones, and its links.

    What is damaged is left out.
    """
    with suppress(struct.error, FormatError, KeyError):
        info = pdb.stream(_PDB_STREAM)
        (size,) = _WORD.unpack_from(info, _NAMED_STREAMS_AT)
        start = _NAMED_STREAMS_AT + _WORD.size
        names, table = info[start : start + size], info[start + size :]
        entries = _hash_table(table, _WORD)
        streams = {_name_at(names, at): number for at, (number,) in entries}
        # A stream of several names is taken once: all together are no larger than the
        # file.
        numbers = {number: name for name, number in streams.items()}
        links = [
            (kind, pdb.stream(number))
            for number, name in sorted(numbers.items())
            if (kind := name.partition("$")[0]) in _LINKS
        ]
        texts = dict[str, bytes | memoryview]()
        with suppress(struct.error, FormatError, KeyError):
            for path, name in _injected(pdb, streams):
                if numbers.pop(streams[name], None) is not None:
                    texts[path] = pdb.stream(streams[name])
        return fitting_sources(texts, (each for each in links if each[1]))
    return NO_SOURCES


def _injected(pdb: PdbFile, streams: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The path and the stream of each injected file that is not compressed."""
    block = pdb.stream(streams["/src/headerblock"])[_HEADER_BLOCK_SIZE:]
    names = pdb.stream(streams["/names"])[_NAMES_HEADER_SIZE:]
    for _, (name, stream_name, compression) in _hash_table(block, _ENTRY):
        if not compression:
            yield _name_at(names, name), f"/src/files/{_name_at(names, stream_name)}"


def _hash_table(table: bytes, value: Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The keys and values of a hash table of a PDB.

    It has the number of entries, the capacity, two sets of bits, then the entries: a
    key of 32 bits and the fields of a value.
    """
    (count,), at = _WORD.unpack_from(table), 2 * _WORD.size
    for _ in range(2):
        at += _WORD.size * (1 + _WORD.unpack_from(table, at)[0])
    for _ in range(count):
        (key,) = _WORD.unpack_from(table, at)
        yield key, value.unpack_from(table, at + _WORD.size)
        at += _WORD.size + value.size


def _name_at(names: bytes, at: int) -> str:
    return to_str(names[at : max(names.find(b"\0", at), at)])
