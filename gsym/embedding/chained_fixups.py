"""One more segment in the chained fixups of a Mach-O file.

They list for each segment where its pointers are, and dyld refuses a file with another
number of segments. One without pointers takes an offset of zero at the end of the list.
Where nothing is free there, what follows moves by as much as keeps it aligned.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.embedding.binary import Binary

_HEADER = "7I"  # version, starts, imports, symbols, number of imports, two formats
_ENTRY_SIZE = 4
_GROWTH = 8


def with_one_more_segment(
    binary: Binary, offset: int, size: int, segments: int
) -> bytes:
    """The data of LC_DYLD_CHAINED_FIXUPS for a file with one more segment.

    Args:
        binary: The file.
        offset: Of the data in it.
        size: Of the data.
        segments: How many segments the file has.

    Raises:
        FormatError: The data is damaged.
    """
    what = "the chained fixups"
    old = bytes(binary.part(offset, size, what))
    header = binary.struct(_HEADER)
    version, starts, imports, symbols, *rest = binary.unpack(header, offset, what)
    (count,) = binary.unpack(binary.struct("I"), offset + starts, what)
    if count != segments:
        return old  # dyld takes it, for a reason that holds further on
    entries = binary.struct(f"{1 + count}I")
    _, *places = binary.unpack(entries, offset + starts, what)
    end = starts + entries.size
    parts = [imports, *(starts + place for place in places if place)]
    used = min(parts)
    if not header.size <= starts < end <= used <= max(parts) <= size:
        raise binary.damaged(offset + starts, f"parts of {what} lie over each other")
    growth = 0 if used - end >= _ENTRY_SIZE else _GROWTH
    places = [place + growth if place else 0 for place in places]
    pieces = (
        header.pack(version, starts, imports + growth, symbols + growth, *rest),
        old[header.size : starts],
        binary.struct(f"{2 + count}I").pack(1 + count, *places, 0),
        bytes(growth - _ENTRY_SIZE) + old[end:] if growth else old[end + _ENTRY_SIZE :],
    )
    return b"".join(pieces)
