"""The list of mappings of a process of Linux: `/proc/PID/maps`."""

from __future__ import annotations

from gsym.lazy import regex
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

DELETED = " (deleted)"  # after the path of a file that is gone
# `55d1c0ffd000-55d1c0ffe000 r-xp 00000000 fd:00 123   /opt/app (deleted)`
MAPPING = regex(
    r"^(?:0x)?(?P<start>[0-9a-fA-F]{1,16})-(?:0x)?(?P<end>[0-9a-fA-F]{1,16}):? "
    r"(?P<mode>[r-][w-][x-])\S?\s+(?P<at>[0-9a-fA-F]{1,16})\s+\S+\s+(?P<inode>\d{1,20})"
    r"[ \t]*(?P<path>(?P<module>/\S*(?:[^\S\n]+\S+)*?)(?: \(deleted\))?|[^\s/].*)?\s*$"
)


class Mapping(NamedTuple):
    """A line of the list."""

    start: int  # first address
    end: int  # the address after the last one
    is_executable: bool  # whether it may have code
    offset: int  # of its start in the file at *path*
    inode: int  # number of this file
    # as it is there: a file, perhaps with ` (deleted)`, a name such as `[heap]` or
    # nothing
    path: str
    mode: str  # of `r`, `w` and `x` those that are allowed


def read_maps(maps: str) -> Iterator[Mapping]:
    """The mappings; lines of another form are left out."""
    for found in filter(None, map(MAPPING.match, maps.split("\n"))):
        start, end, offset = (int(found[each], 16) for each in ("start", "end", "at"))
        path = (found["path"] or "").replace("\\012", "\n")
        mode, inode = found["mode"].replace("-", ""), int(found["inode"])
        yield Mapping(start, end, "x" in mode, offset, inode, path, mode)
