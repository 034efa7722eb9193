"""The fields of a protobuf message as bytes: what there is, and where it breaks off.

Source: developers.google.com/protocol-buffers, "Encoding".
"""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.records import NamedTuple

__all__ = ["LENGTH_DELIMITED", "VARINT", "Field", "each_field"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Field(NamedTuple):
    """A field: its number and wire type, and where it is in the message.

    Attributes:
        number: From 1 on.
        wire_type: How its value is written.
        start: Where its key starts.
        content: Where its value starts; behind the length, where there is one.
        end: Behind its value.
    """

    number: int
    wire_type: int
    start: int
    content: int
    end: int


VARINT = 0
_FIXED64 = 1
LENGTH_DELIMITED = 2
"""The wire type of texts, messages and packed numbers."""
_FIXED32 = 5
_MOST_NUMBER = (1 << 29) - 1
_MOST_VARINT_BYTES = 10


def each_field(data: bytes) -> Iterator[Field]:
    """The fields of a message, one after the other; groups are not known.

    Raises:
        FormatError: One is damaged or reaches past the end; the offset is its start.
    """
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(data, at, start)
        number, wire_type = key >> 3, key & 7
        if not 0 < number <= _MOST_NUMBER:
            raise FormatError(f"no protobuf field has number {number}", offset=start)
        content = at
        if wire_type == VARINT:
            _, at = _varint(data, at, start)
        elif wire_type == LENGTH_DELIMITED:
            size, content = _varint(data, at, start)
            at = content + size
        elif wire_type in {_FIXED64, _FIXED32}:
            at += 8 if wire_type == _FIXED64 else 4
        else:
            reason = f"protobuf field {number} has wire type {wire_type}"
            raise FormatError(reason, offset=start)
        if at > len(data):
            reason = f"protobuf field {number} reaches past the end"
            raise FormatError(reason, offset=start)
        yield Field(number, wire_type, start, content, at)


def _varint(data: bytes, at: int, start: int) -> tuple[int, int]:
    """A number at *at*, and where it ends."""
    value = 0
    for index, byte in enumerate(data[at : at + _MOST_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
            return value, at + index + 1
    raise FormatError("a number of a protobuf field breaks off", offset=start)
