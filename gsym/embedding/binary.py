"""What containers have in common: bounds-checked headers, payload, string table.

Offsets count from the start of the binary, and errors name them.
"""

from __future__ import annotations

from struct import Struct

from gsym.errors import FormatError, LimitError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

_BLOCK_SIZE = 1 << 20


class Payload:
    """A GSYM file on its way into a binary.

    Attributes:
        size: In bytes.
        chunks: Its bytes, each valid until the next is asked for.
    """

    def __init__(self, size: int, chunks: Iterable[Buffer]) -> None:
        self.size = size
        self.chunks = chunks


class SharedTable:
    """A string table of a binary, as it will stand after a GSYM file.

    Attributes:
        table: Its bytes.
        distance: Bytes from the end of the GSYM file to the table.
    """

    def __init__(self, table: bytes | memoryview, distance: int) -> None:
        self.table = table
        self.distance = distance


class Binary:
    """The bytes of a binary, in its byte order.

    Args:
        data: The whole file.
        path: The name that errors carry.
        order: "<" or ">", as `struct` spells the byte order.
    """

    def __init__(self, data: memoryview, path: str, order: str) -> None:
        self.data = data
        self.path = path
        self.order = order

    def struct(self, fields: str) -> Struct:
        """*fields* in the byte order of the binary, without padding."""
        return Struct(self.order + fields)

    def unpack(self, fields: Struct, offset: int, what: str) -> tuple[int, ...]:
        """The integers at *offset*.

        Raises:
            FormatError: They reach past the end of the file.
        """
        return fields.unpack(self.part(offset, fields.size, what))

    def part(self, offset: int, size: int, what: str) -> memoryview:
        """The *size* bytes at *offset*.

        Raises:
            FormatError: They reach past the end of the file.
        """
        if offset + size > len(self.data):
            raise self.damaged(offset, f"{what} reaches past the end of the file")
        return self.data[offset : offset + size]

    def is_zero(self, start: int, end: int) -> bool:
        """Whether all bytes from *start* to *end* are zero; there may be fewer."""
        end = min(end, len(self.data))
        return not any(
            bytes(self.data[at : min(at + _BLOCK_SIZE, end)]).strip(b"\0")
            for at in range(start, end, _BLOCK_SIZE)
        )

    def damaged(self, offset: int, reason: str) -> FormatError:
        """The error for headers that contradict each other or the file."""
        return FormatError(reason, path=self.path, offset=offset)

    def unsupported(self, reason: str) -> UnsupportedError:
        """The error for a sound binary that has no place for a GSYM file."""
        return UnsupportedError(reason, path=self.path)

    def too_large(self) -> LimitError:
        """The error for offsets that do not fit the headers."""
        return LimitError(
            "the binary would be too large for its 32-bit offsets", path=self.path
        )


def align(offset: int, alignment: int) -> int:
    """The next multiple of *alignment*."""
    return -(-offset // alignment) * alignment
