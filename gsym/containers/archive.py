r"""Static archives (`.a`): the files in them, of GNU and BSD tools; members of bundles.

"!<arch>\n", then of each member 60 bytes of text and its data, padded to 2 bytes
"""

from __future__ import annotations

import os

from gsym.containers.mapped_file import map_file
from gsym.containers.recognition import recognise, recognise_file
from gsym.engine.native import to_str, zero_ended
from gsym.errors import FormatError, MemberError, UnsupportedError, listed
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Member(NamedTuple):
    """A file in an archive.

    *offset* and *size* are those of its bytes; offset 0: it is not in a thin archive,
    which only names it, relative to its own folder. *mtime* is in seconds since 1970.
    """

    name: str
    offset: int
    size: int
    mtime: int


_MAGIC_SIZE = 8
_ARCHIVE = b"!<arch>\n"
_THIN = b"!<thin>\n"
_HEADER_SIZE = 60
_HEADER_END = b"`\n"
_BSD_NAME = b"#1/"
_GNU_NAMES = b"//"
# What tools put before the members; those of Microsoft's open with "/<".
_INDEXES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED", b"__.SYMDEF_64")
_MICROSOFT = b"/<"
_PADDING = b"\0\n "
_HEAD_SIZE = 64
# Limit: Name of a member of an archive
_MAX_NAME = 4096
_MAX_LISTED = 20  # members in an error message


def list_members(
    data: memoryview, path: str, *, may_be_cut: bool = False
) -> Iterator[Member]:
    """The files of an archive, in its order, of which the last one *may_be_cut*.

    Raises:
        UnsupportedError: A thin archive names members of other archives.
    """
    is_thin = bytes(data[:_MAGIC_SIZE]) == _THIN
    names = b""
    place = _MAGIC_SIZE
    while place < len(data):
        header = bytes(data[place : place + _HEADER_SIZE])
        if len(header) < _HEADER_SIZE and not header.strip(_PADDING):
            return
        if header[_HEADER_SIZE - len(_HEADER_END) :] != _HEADER_END:
            raise FormatError("damaged member of an archive", path=path, offset=place)
        offset, size = place + _HEADER_SIZE, _number(header[48:58])
        name = header[:16].rstrip(b" ")
        stored = 0 if is_thin and not _is_table(name) else size
        if stored > len(data) - offset and not may_be_cut:
            reason = "member of an archive reaches past its end"
            raise FormatError(reason, path=path, offset=place)
        if name == _GNU_NAMES:
            names = bytes(data[offset : offset + size])
        if name.startswith(_BSD_NAME):
            length = min(_number(name[len(_BSD_NAME) :]), size)
            name = bytes(data[offset : offset + length]).rstrip(b"\0")
            offset, size = offset + length, size - length
        elif not _is_table(name):
            if is_thin and name.startswith(b"/") and b":" in name:
                reason = "a thin archive of other archives"
                raise UnsupportedError(reason, path=path, offset=place)
            name = _gnu_name(name, names)
        if not _is_table(name):
            mtime = _number(header[16:28])
            yield Member(to_str(name), 0 if is_thin else offset, size, mtime)
        place += _HEADER_SIZE + stored + stored % 2


def object_members(
    data: memoryview, path: str
) -> Iterator[tuple[str, Callable[[], memoryview]]]:
    """The object files of an archive, or those for devices in another file.

    Each has its name and a function that returns its bytes. The second file of one name
    is called `NAME#2`, and so on.

    Raises:
        UnsupportedError: It is a thin archive of other archives.
    """
    counts: dict[str, int] = {}
    for name, read in _members_of(data, path):
        count = counts[name] = counts.get(name, 0) + 1
        yield name if count == 1 else f"{name}#{count}", read


def _members_of(
    data: memoryview, path: str
) -> Iterator[tuple[str, Callable[[], memoryview]]]:
    if bytes(data[:_MAGIC_SIZE]) not in {_ARCHIVE, _THIN}:
        from gsym.containers.bundles import bundled_members

        yield from bundled_members(data, path)
        return
    for member in list_members(data, path):
        if _kind_of(member, data, path) in {"object", "fat"}:

            def read(member: Member = member) -> memoryview:
                if member.offset:
                    return data[member.offset :][: member.size]
                try:
                    return map_file(_thin_path(member, path))
                except FileNotFoundError as error:
                    reason = f"{error.strerror}, though {path} names it"
                    what = error.errno, reason, error.filename
                    raise FileNotFoundError(*what) from None

            yield member.name, read


def matching_members(
    members: Iterable[str], wanted: Sequence[str], path: str
) -> tuple[str, ...]:
    """The members that *wanted* names, in order; without one, the only one there is.

    Raises:
        MemberError: One of *wanted* matches none; or none is given for several members.
    """
    from fnmatch import fnmatchcase

    names = tuple(members)
    if not wanted:
        if len(names) == 1:
            return names
        if not names:
            raise MemberError("an archive without object files", path=path)
        reason = (
            f"an archive of {len(names)} object files: {listed(names, _MAX_LISTED)}"
        )
        choice = "'gsym convert --member NAME' chooses ('*': all)"
        raise MemberError(f"{reason}; {choice}", path=path)
    chosen = set()
    for pattern in wanted:
        found = {pattern} & {*names} or {
            name for name in names if fnmatchcase(name, pattern)
        }
        if not found:
            others = f", but {listed(names, _MAX_LISTED)}" if names else " nor any"
            raise MemberError(f"has no object file '{pattern}'{others}", path=path)
        chosen |= found
    return tuple(name for name in names if name in chosen)


class Members:
    """The object files of an archive, which is read from its start once."""

    def __init__(self, data: memoryview, path: str) -> None:
        self._path = path
        self._found: dict[str, Callable[[], memoryview]] = {}
        self._rest = object_members(data, path)

    def names(self) -> Iterator[str]:
        """Their names, in order."""
        yield from tuple(self._found)
        for name, read in self._rest:
            self._found[name] = read
            yield name

    def open(self, name: str) -> memoryview:
        """The bytes of one.

        Raises:
            MemberError: The archive has no such object file.
            UnsupportedError: It is a thin archive of other archives.
        """
        if name not in self._found and not any(name == each for each in self.names()):
            raise MemberError(f"has no object file '{name}'", path=self._path)
        return self._found[name]()


def _kind_of(member: Member, data: memoryview, path: str) -> str:
    if member.offset:
        size = min(member.size, _HEAD_SIZE)
        return recognise(bytes(data[member.offset :][:size]))
    try:
        return recognise_file(_thin_path(member, path))
    except OSError:
        return "object"  # so that opening it reports an error with its name


def _thin_path(member: Member, path: str) -> str:
    return os.path.join(os.path.dirname(path), member.name)


def _is_table(name: bytes) -> bool:
    """Whether it is a table of the archive and not a member."""
    return name in {_GNU_NAMES, *_INDEXES} or name.startswith(_MICROSOFT)


def _gnu_name(name: bytes, names: bytes) -> bytes:
    """A name without the slash at its end; a long one is in a table, at a number."""
    if name.startswith(b"/"):
        start = _number(name[1:])
        # Microsoft's tools end a name with a NUL.
        rest = zero_ended(names[start : start + _MAX_NAME])
        name = rest.partition(b"\n")[0]
    return name.removesuffix(b"/")


def _number(text: bytes) -> int:
    """A number in a header; other text counts as 0, as in `ar`."""
    text = text.strip(b" ")
    return int(text) if text.isdigit() else 0
