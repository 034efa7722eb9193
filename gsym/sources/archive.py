r"""Static archives (`.a`): the files in them, of GNU and BSD tools.

"!<arch>\n", then of each member 60 bytes of text and its data, padded to 2 bytes
"""

from __future__ import annotations

from gsym._native import to_str
from gsym.errors import FormatError

__all__ = ["Member", "list_members"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    class Member(NamedTuple):
        """A file in an archive.

        *offset* and *size* are those of its bytes; offset 0: it is not in a thin
        archive, which only names it, relative to its own folder. *mtime* is in
        seconds since 1970.
        """

        name: str
        offset: int
        size: int
        mtime: int

else:
    from collections import namedtuple

    Member = namedtuple("Member", "name offset size mtime")
    Member.__doc__ = "A file in an archive."

_MAGIC_SIZE = 8
_THIN = b"!<thin>\n"
_HEADER_SIZE = 60
_BSD_NAME = b"#1/"
_GNU_NAMES = b"//"
# What tools put in front of the members.
_INDEXES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED", b"__.SYMDEF_64")


def list_members(data: memoryview, path: str) -> Iterator[Member]:
    """The files of an archive, in its order.

    Args:
        data: The bytes of the archive.
        path: Of the archive, for errors.

    Raises:
        FormatError: A header is damaged, or a member reaches past the end.
    """
    is_thin = bytes(data[:_MAGIC_SIZE]) == _THIN
    names = b""
    place = _MAGIC_SIZE
    while place < len(data):
        header = bytes(data[place : place + _HEADER_SIZE])
        if len(header) < _HEADER_SIZE or header[58:] != b"`\n":
            raise FormatError("damaged member of an archive", path=path, offset=place)
        offset, size = place + _HEADER_SIZE, _number(header[48:58])
        name = header[:16].rstrip(b" ")
        is_table = name in {_GNU_NAMES, *_INDEXES}
        stored = 0 if is_thin and not is_table else size
        if stored > len(data) - offset:
            reason = "member of an archive reaches past its end"
            raise FormatError(reason, path=path, offset=place)
        place = offset + stored + stored % 2
        if name == _GNU_NAMES:
            names = bytes(data[offset : offset + size])
        if name.startswith(_BSD_NAME):
            length = min(_number(name[len(_BSD_NAME) :]), size)
            name = bytes(data[offset : offset + length]).rstrip(b"\0")
            offset, size = offset + length, size - length
        elif name.startswith(b"/") and name[1:].isdigit():
            name = names[int(name[1:]) :].partition(b"\n")[0].removesuffix(b"/")
        elif not is_table:
            name = name.removesuffix(b"/")
        if name not in {_GNU_NAMES, *_INDEXES}:
            mtime = _number(header[16:28])
            yield Member(to_str(name), 0 if is_thin else offset, size, mtime)


def _number(text: bytes) -> int:
    """A number of a header; other text is taken for 0, as `ar` does."""
    text = text.strip(b" ")
    return int(text) if text.isdigit() else 0
