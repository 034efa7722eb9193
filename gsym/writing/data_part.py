"""The variables of a binary, appended to its GSYM file.

They are a separate GSYM file, with variables instead of functions, after the last byte
of the other one, before the part that names the module; a footer of 16 bytes follows:

    8 bytes  "GSYMDATA"
    u64      bytes of the GSYM file of variables, little-endian

Other readers only use the tables of the first file.
"""

from __future__ import annotations

from struct import Struct

from gsym.errors import GsymError
from gsym.model import FunctionInfo
from gsym.modules.part import end_without_parts

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from gsym.containers.data_symbols import DataSymbol
    from gsym.reading.reader import Reader

# Alignment of the part in the file.
DATA_ALIGNMENT = 16
_FOOTER = Struct("<8sQ")
_MAGIC = b"GSYMDATA"
_LONGEST_UUID = 20  # of version 1


def make_data_part(symbols: Iterable[DataSymbol], uuid: bytes) -> bytes:
    """The part with *symbols*; b"" if none has a size.

    Of several at one address the largest one is kept; of *uuid* the first 20 bytes.
    """
    return _make(
        [
            FunctionInfo(symbol.start, symbol.size, symbol.name)
            for symbol in symbols
            if symbol.size and symbol.name
        ],
        uuid,
    )


def merge_data_parts(parts: Iterable[bytes], uuid: bytes) -> bytes:
    """One part with the variables of several; b"" if they have none."""
    whole = list(dict.fromkeys(filter(None, parts)))
    if len(whole) <= 1:
        return b"".join(whole)
    return _make([each for part in whole for each in _reader(part).functions()], uuid)


def count_variables(part: bytes) -> int:
    """Number of variables in a part."""
    return len(_reader(part)) if part else 0


def data_part_of(data: Buffer) -> bytes:
    """The part of a GSYM file with these bytes, or b""."""
    view = memoryview(data)
    view = view[: end_without_parts(view)]
    start = data_part_start(view, len(view))
    return bytes(view[start:]) if start >= 0 else b""


def _reader(part: bytes) -> Reader:
    from gsym.reading.reader import Reader

    return Reader(part[: -_FOOTER.size])


def _make(variables: list[FunctionInfo], uuid: bytes) -> bytes:
    if not variables:
        return b""
    from gsym.writing.creator import Creator

    with Creator(uuid=uuid[:_LONGEST_UUID]) as creator:
        for variable in variables:
            creator.add(variable)
        image = creator.to_bytes()
    return image + _FOOTER.pack(_MAGIC, len(image))


def data_part_start(tail: Buffer, size: int) -> int:
    """The offset of the part in a file, or -1.

    *tail* and *size* are without what `end_without_parts` leaves out.
    """
    end = memoryview(tail)[-_FOOTER.size :]
    if len(end) < _FOOTER.size:
        return -1
    magic, image_size = _FOOTER.unpack(end)
    start = size - _FOOTER.size - image_size
    return start if magic == _MAGIC and start >= 0 else -1


def open_data_part(
    path: str, offset: int = 0, size: int | None = None
) -> Reader | None:
    """A reader of the variables that are appended to the GSYM file at *path*.

    Returns:
        None if there are none, or they are damaged.
    """
    from gsym.containers.mapped_file import map_file
    from gsym.reading.reader import Reader

    try:
        data = map_file(path)
        part = data_part_of(data[offset : len(data) if size is None else offset + size])
        return Reader(part[: -_FOOTER.size], path=path) if part else None
    except GsymError:
        return None
