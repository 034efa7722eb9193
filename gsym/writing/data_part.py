"""The variables of a binary, kept after its GSYM file.

They are a GSYM file by themselves, of variables instead of functions, which stands
after the last byte of the other one; after it a footer of 16 bytes:

    8 bytes  "GSYMDATA"
    u64      bytes of the GSYM file of variables, little-endian

Readers that do not know of it read the tables of the first file and never come there.
"""

from __future__ import annotations

import os
from struct import Struct

from gsym.errors import GsymError
from gsym.model import FunctionInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from gsym.containers.data_symbols import DataSymbol
    from gsym.reading.reader import Reader

# Of the place of the part in its file.
DATA_ALIGNMENT = 16
_FOOTER = Struct("<8sQ")
_MAGIC = b"GSYMDATA"
_LONGEST_UUID = 20  # of version 1


def make_data_part(symbols: Iterable[DataSymbol], uuid: bytes) -> bytes:
    """The part with *symbols*; b"" where there is none with a size.

    Args:
        symbols: In any order. Of several at one address the largest one is kept.
        uuid: That of the binary, of which the first 20 bytes are kept.
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
    """One part with the variables of several; b"" where they have none.

    Args:
        parts: As `data_part_of` gives them.
        uuid: That of the binary.
    """
    whole = list(dict.fromkeys(filter(None, parts)))
    if len(whole) <= 1:
        return b"".join(whole)
    return _make([each for part in whole for each in _reader(part).functions()], uuid)


def count_variables(part: bytes) -> int:
    """How many variables are in a part."""
    return len(_reader(part)) if part else 0


def data_part_of(data: Buffer) -> bytes:
    """The part of a GSYM file with these bytes; b"" where it has none."""
    view = memoryview(data)
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
    """Where the part begins in a file; -1 where it has none.

    Args:
        tail: The end of the file, 16 bytes at least.
        size: Of the file.
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
    """A reader of the variables that are kept after the GSYM file at *path*.

    Args:
        path: The file, or a binary that holds one.
        offset: Where the GSYM file begins in it.
        size: Of the GSYM file; None: up to the end of the file at *path*.

    Returns:
        None where there are none, and where they are damaged.
    """
    from gsym.reading.reader import Reader

    with open(path, "rb") as file:
        end = os.fstat(file.fileno()).st_size if size is None else offset + size
        file.seek(max(offset, end - _FOOTER.size))
        start = data_part_start(file.read(_FOOTER.size), end - offset)
        if start < 0:
            return None
        file.seek(offset + start)
        image = file.read(end - _FOOTER.size - offset - start)
    try:
        return Reader(image, path=path)
    except GsymError:
        return None
