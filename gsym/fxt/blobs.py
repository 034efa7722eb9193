"""Data in a trace: large blobs, joined blobs of one name, names of files for them."""

from __future__ import annotations

from gsym.fxt.records import Blob, LargeBlob, Record, begins_trace
from gsym.lazy import regex
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Stream(NamedTuple):
    """A large blob, or the blobs of one name of a provider, in their order."""

    provider: int | None  # id; None before any provider
    category: str  # of large blobs; "" for others
    name: str  # of the blobs
    type: int | None  # as in `Blob`, the first one's; None for large blobs
    pieces: Sequence[bytes | memoryview]  # their data


BLOB_TYPES = {1: "data", 2: "last_branch", 3: "perfetto"}


def blob_streams(records: Iterable[Record]) -> list[Stream]:
    """The data in the records of a trace, in the order of the first pieces.

    Blobs of one name are pieces of one stream of data, as the document defines it. It
    has no such rule for large blobs, so each is a stream by itself.
    """
    streams: list[Stream] = []
    by_name: dict[tuple[int | None, str], list[bytes | memoryview]] = {}
    for record in records:
        if isinstance(record, Blob):
            key = record.provider, record.name
            if key not in by_name:
                pieces = by_name[key] = []
                streams.append(Stream(key[0], "", key[1], record.type, pieces))
            by_name[key].append(record.data)
        elif isinstance(record, LargeBlob):
            head = record.provider, record.category, record.name
            streams.append(Stream(*head, None, [record.data]))
        elif begins_trace(record):
            by_name.clear()
    return streams


# Characters that not all systems allow in file names; a leading dot hides a file.
_OTHERS = regex(r"[^A-Za-z0-9._-]|^[.-]")
_LONGEST = 128  # characters, without the number of equal names
_PERFETTO = 3  # type of blobs


def blob_file_names(streams: Iterable[Stream]) -> list[str]:
    """A name for each, all different, of letters, digits, dots, lines and underscores.

    Names stay in the folder: they contain no slash, do not begin with a dot, and are
    not too long for a file system.
    """
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the last one of each name
    names = []
    for stream in streams:
        text = f"{stream.category}.{stream.name}" if stream.category else stream.name
        name = _OTHERS.sub("_", text)[:_LONGEST] or "blob"
        if stream.provider is not None:
            name = f"{stream.provider}.{name}"
        ending = ".perfetto-trace" if stream.type == _PERFETTO else ""
        chosen = name + ending
        key = chosen.lower()
        # File systems may ignore case.
        while chosen.lower() in taken:
            numbers[key] = numbers.get(key, 1) + 1
            chosen = f"{name}.{numbers[key]}{ending}"
        taken.add(chosen.lower())
        names.append(chosen)
    return names
