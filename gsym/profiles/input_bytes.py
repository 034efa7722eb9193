"""The inflated bytes of an input, and its lines."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, IncrementalDecoder, getincrementaldecoder

from gsym.containers.mapped_file import map_file
from gsym.containers.recognition import inflater_of
from gsym.errors import FormatError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# The first bytes of JSON with typed arrays beside it (JSLB).
SLABS_MAGIC = b"\xdc\xdfJSLB\1\0"


class Bound(NamedTuple):
    """A limit on what comes of an input: a floor, and a factor of its size in bytes."""

    floor: int
    factor: int

    def of(self, size: int) -> int:
        """The limit for an input of *size* bytes."""
        return self.floor + self.factor * size


# Limit: Profile of pprof, OTLP or JSON
MOST_BYTES = Bound(64 << 20, 64)
"""The default limit of inflated profiles; they take up to 30 times as much memory."""

PIECE_SIZE = 1 << 20


def read_inflated(path: str, most_bytes: int | None = None) -> bytes:
    """All bytes of a file.

    Args:
        path: A regular file, compressed or not.
        most_bytes: The limit on their number, lower for a small compressed file; None:
            `MOST_BYTES` for a file of this size.
    """
    return b"".join(read_pieces(path, most_bytes, is_text=False))


def read_pieces(
    path: str, most_bytes: int | None = None, *, is_text: bool = True
) -> Iterator[bytes]:
    """The bytes of a file, inflated, piece by piece.

    Text may have any compression ratio: output of perf repeats complete stacks, and
    zstd shrinks it to a thousandth. It is not held in memory.
    """
    data = map_file(path)
    starts = range(0, len(data), PIECE_SIZE)
    pieces: Iterator[bytes] = (bytes(data[at : at + PIECE_SIZE]) for at in starts)
    inflate = inflater_of(data)
    if most_bytes is None:
        most_bytes = MOST_BYTES.of(len(data))
    if inflate is not None:
        pieces = inflate(pieces)
        if not is_text:
            from gsym.containers.inflation import believable_size

            most_bytes = believable_size(len(data), most_bytes)
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > most_bytes:
                raise FormatError(f"more than {most_bytes} bytes of data", path=path)
            yield piece
    except ValueError as error:
        reason = f"compressed data is damaged: {error}"
        raise FormatError(reason, path=path) from error


# Limit: Line of the text of a profile
MOST_CHARACTERS = 1 << 20
"""In a line: more than the longest known name of a function."""


def text_decoder(head: bytes) -> IncrementalDecoder:
    """Decoder of a text that begins like this: UTF-8, or UTF-16 with a mark.

    Marks of the order of bytes, which editors and shells of Windows write, are no text.
    """
    is_wide = head.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return getincrementaldecoder("utf-16" if is_wide else "utf-8-sig")("replace")


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The lines of a text without their ends; invalid UTF-8 is replaced."""
    decoder, rest, number = text_decoder(b""), "", 0
    for number_of_piece, piece in enumerate(pieces):
        if number_of_piece == 0:
            decoder = text_decoder(piece)
        *lines, rest = (rest + decoder.decode(piece)).split("\n")
        for line in lines:
            number += 1
            yield _checked(line, number)
        _checked(rest, number + 1)
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest


def _checked(line: str, number: int) -> str:
    if len(line) > MOST_CHARACTERS:
        raise FormatError(f"line {number} has more than {MOST_CHARACTERS} characters")
    return line.removesuffix("\r")
