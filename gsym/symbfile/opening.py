"""Opens a symbfile, whether or not it is compressed by zstd."""

from __future__ import annotations

import os

from gsym.containers.inflation import inflate_zstd
from gsym.containers.mapped_file import map_file
from gsym.errors import FormatError
from gsym.symbfile.format import Decoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_READ_SIZE = 1 << 20


def open_symbfile(path: str | os.PathLike[str]) -> Decoder:
    """A decoder of the symbfile at *path*; servers hand them out compressed.

    Raises:
        FormatError: It is empty or no regular file. Damage is told while it is read.
        OSError: It cannot be opened.
    """
    name = os.fspath(path)
    return decode(map_file(name), name)


def decode(data: memoryview | bytes, path: str | None = None) -> Decoder:
    """A decoder of a symbfile in memory.

    Args:
        data: Its bytes, plain or compressed by zstd.
        path: What it is called, for errors. Offsets count in what is inflated.
    """
    inflated = inflated_pieces(data, path)
    pieces: Iterable[Buffer] = (data,) if inflated is None else inflated
    return Decoder(pieces, path)


def inflated_pieces(
    data: memoryview | bytes, path: str | None = None
) -> Iterator[bytes] | None:
    """The bytes of a symbfile that is compressed by zstd; None for a plain one.

    Args:
        data: The bytes of the file.
        path: What it is called, for errors.

    Raises:
        FormatError: While they are taken: the stream is damaged.
    """
    if bytes(data[: len(_ZSTD_MAGIC)]) != _ZSTD_MAGIC:
        return None
    return _inflated(memoryview(data), path)


def _inflated(data: memoryview, path: str | None) -> Iterator[bytes]:
    starts = range(0, len(data), _READ_SIZE)
    try:
        yield from inflate_zstd(data[start : start + _READ_SIZE] for start in starts)
    except ValueError as error:
        reason = f"the zstd stream around it is damaged: {error}"
        raise FormatError(reason, path=path) from error
