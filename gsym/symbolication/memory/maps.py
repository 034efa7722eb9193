"""The list of mappings of a process of Linux: `/proc/PID/maps`."""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PATH_AT = 5  # in a line


class Mapping(NamedTuple):
    """A line; *offset* is in the file of *path*, which has the number *inode*."""

    start: int
    end: int
    is_executable: bool
    offset: int
    inode: int
    path: str


def read_maps(maps: str) -> Iterator[Mapping]:
    """The mappings; lines of another form are left out."""
    for line in maps.split("\n"):
        words = line.split(None, _PATH_AT)
        try:
            span, mode, offset, _, inode = words[:_PATH_AT]
            start, end = (int(address, 16) for address in span.split("-"))
            place = int(offset, 16), int(inode)
        except ValueError:
            continue
        path = words[_PATH_AT] if len(words) > _PATH_AT else ""
        yield Mapping(start, end, mode[2:3] == "x", *place, path.replace("\\012", "\n"))
