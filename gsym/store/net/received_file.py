"""A file that comes piece by piece from elsewhere: inflated, within limits, whole."""

from __future__ import annotations

import os
from contextlib import suppress

from gsym.containers.inflation import inflate_gzip, inflate_zstd
from gsym.store.sources.source import SourceError
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer

_INFLATERS = {"gzip": inflate_gzip, "x-gzip": inflate_gzip, "zstd": inflate_zstd}


def within_size(pieces: Iterable[Buffer], most: int) -> Iterator[Buffer]:
    """*pieces*, as long as they are *most* bytes together.

    Raises:
        SourceError: They are more.
    """
    size = 0
    for piece in pieces:
        size += memoryview(piece).nbytes
        if size > most:
            raise SourceError(f"is larger than {most} bytes")
        yield piece


def inflated_pieces(
    pieces: Iterable[Buffer], encoding: str, most: int
) -> Iterator[Buffer]:
    """Contents that were sent in an encoding of HTTP.

    Args:
        pieces: As they were sent.
        encoding: "" or "identity", "gzip" or "zstd".
        most: Bytes, inflated.

    Raises:
        SourceError: They are damaged, more than *most*, or of another encoding.
    """
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        yield from pieces
        return
    inflate = _INFLATERS.get(encoding)
    if inflate is None:
        raise SourceError("is sent in an encoding that was not asked for")
    size = 0
    try:
        for piece in inflate(pieces):
            size += len(piece)
            if size > most:
                raise SourceError(f"inflates to more than {most} bytes")
            yield piece
    except ValueError as error:
        raise SourceError(f"its {encoding} encoding is damaged: {error}") from error


def keep_pieces(pieces: Iterable[Buffer], path: str) -> None:
    """Let a file appear at *path*, whole or not at all.

    Raises:
        OSError: The disk is full.
        SourceError: It is empty, or cannot be written for another reason.
    """
    partial = f"{path}.part"
    try:
        with open(partial, "wb") as file:
            file.writelines(pieces)
            is_empty = file.tell() == 0
        if is_empty:
            raise SourceError("is empty")
        os.replace(partial, path)
    except OSError as error:
        if error.errno in FULL_DISK:
            raise
        reason = error.strerror or str(error)
        raise SourceError(f"cannot be kept: {reason}") from error
    finally:
        with suppress(OSError):
            os.unlink(partial)
