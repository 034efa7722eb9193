"""Words and streams of a Fuchsia trace that is written, and what they may hold."""

from __future__ import annotations

import struct

from gsym._native import lib
from gsym.errors import LimitError

__all__ = ["MOST_STRING_SIZE", "Words", "field", "stream", "text_bytes"]

MOST_STRING_SIZE = 32000
"""In bytes; the document's limit, though references could say more."""

_MOST_QUOTED = 40  # characters
_MOST_RECORD_SIZE = lib.GSYM_FXT_MAX_RECORD_SIZE


class Words:
    """Makes words in a byte order, and what has a header."""

    def __init__(self, byteorder: str) -> None:
        self._order = "<" if byteorder == "little" else ">"
        self._pack = [struct.Struct(f"{self._order}{n}Q").pack for n in range(8)]

    def __call__(self, *values: int) -> bytes:
        """Words of these numbers.

        Raises:
            OverflowError: One is not of 64 bits.
        """
        try:
            if len(values) < len(self._pack):
                return self._pack[len(values)](*values)
            return struct.pack(f"{self._order}{len(values)}Q", *values)
        except struct.error as error:
            wrong = [value for value in values if value >> 64]
            raise OverflowError(f"{wrong} has no 64 bits without a sign") from error

    def double(self, value: float) -> bytes:
        """A word that is a floating-point number."""
        return struct.pack(f"{self._order}d", value)

    def with_header(self, kind: int, header: int, body: bytes) -> bytes:
        """A record or an argument of a type.

        Args:
            kind: Number of the type.
            header: The other bits of the header in their places.
            body: What is behind the header, whole words.

        Raises:
            LimitError: It has more bytes than its header can tell.
        """
        size = 8 + len(body)
        if size > _MOST_RECORD_SIZE:
            reason = f"a record of {size} bytes; there is room for {_MOST_RECORD_SIZE}"
            raise LimitError(reason)
        return self(kind | size // 8 << 4 | header) + body


def field(value: int, first: int, count: int, what: str) -> int:
    """A number in its place in a word: *count* bits from bit *first* on.

    Raises:
        OverflowError: It does not fit.
    """
    if value >> count:
        raise OverflowError(f"{what} {value} is not a number of {count} bits")
    return value << first


def stream(data: bytes) -> bytes:
    """Bytes, filled up with zeros to whole words."""
    return data + bytes(-len(data) % 8)


def text_bytes(text: str, most: int = MOST_STRING_SIZE) -> bytes:
    """The bytes of a text.

    Raises:
        LimitError: There are more than *most*.
        ValueError: It has a surrogate that does not represent a byte.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        wrong = ord(text[error.start])
        raise ValueError(
            f"the text {text[:_MOST_QUOTED]!a} has the surrogate U+{wrong:04X} at "
            f"{error.start}, which cannot be encoded as UTF-8"
        ) from None
    if len(data) > most:
        raise LimitError(f"a text of {len(data)} bytes; there is room for {most}")
    return data
