"""Logs as they come: from files and pipes, also compressed ones."""

from __future__ import annotations

import sys

from gsym.cli.line_stream import read_ready
from gsym.errors import FormatError, GsymError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# Comes where nothing has come for a moment, again and again.
IDLE = b""
IDLE_AFTER = 0.2  # seconds
_PIECE_SIZE = 1 << 19
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Programs whose files are no logs, by how these begin.
_OTHER_MAGICS = {b"\xfd7zXZ\0": "xz", b"BZh91AY&SY": "bzip2", b"PK\3\4": "zip"}


def log_pieces(paths: Sequence[str]) -> Iterator[bytes]:
    """The bytes of all files, one behind the other; IDLE where a pipe is silent.

    Args:
        paths: `-` is standard input; so it is without any.

    Raises:
        FormatError: What is compressed is damaged.
        GsymError: Standard input is closed.
        UnsupportedError: One is compressed in another way.
        OSError: One cannot be read.
    """
    for path in paths or ("-",):
        if path != "-":
            with open(path, "rb", buffering=0) as file:
                yield from _pieces_of(file.fileno(), path)
        elif sys.stdin is None:
            raise GsymError("standard input is closed")
        else:
            yield from _pieces_of(sys.stdin.fileno(), "standard input")


def _pieces_of(source: int, path: str) -> Iterator[bytes]:
    pieces = _read_all(source)
    first = next((piece for piece in pieces if piece != IDLE), None)
    if first is None:
        return
    for magic, program in _OTHER_MAGICS.items():
        if first.startswith(magic):
            reason = f"compressed by {program}; only gzip and zstd are read"
            raise UnsupportedError(f"{path}: {reason}")
    inflate = _inflater(first)
    chained = _chained(first, pieces)
    if inflate is None:
        yield from chained
        return
    try:
        yield from inflate(chained)
    except ValueError as error:
        reason = f"what is compressed is damaged: {error}"
        raise FormatError(reason, path=path) from None


def _read_all(source: int) -> Iterator[bytes]:
    while True:
        piece = read_ready(source, _PIECE_SIZE, IDLE_AFTER)
        if piece is None:
            yield IDLE
        elif piece:
            yield piece
        else:
            return


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _inflater(
    first: bytes,
) -> Callable[[Iterable[bytes]], Iterator[bytes]] | None:
    if not first.startswith((_GZIP_MAGIC, _ZSTD_MAGIC)):
        return None
    from gsym.containers.inflation import inflate_gzip, inflate_zstd

    return inflate_gzip if first.startswith(_GZIP_MAGIC) else inflate_zstd
