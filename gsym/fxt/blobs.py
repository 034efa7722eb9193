"""Data that a trace carries in pieces: the blobs of one name, put together."""

from __future__ import annotations

from gsym.formats.fxt_records import Blob, LargeBlob

__all__ = ["BLOB_TYPES", "Blobs"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from gsym.formats.fxt_records import Record

    _Key = tuple[int | None, str | None, str]  # provider, category of large blobs, name

    class Stream(NamedTuple):
        """The blobs of one name of a provider, in their order.

        Attributes:
            provider: Id, None in front of any provider.
            category: Of large blobs; "" for others.
            name: What they are called.
            type: As in `Blob`, the first one's; None for large blobs.
            pieces: Their data.
        """

        provider: int | None
        category: str
        name: str
        type: int | None
        pieces: tuple[bytes, ...]

else:
    from gsym.records import record_type

    Stream = record_type("Stream", "provider category name type pieces")
    Stream.__doc__ = "The blobs of one name of a provider, in their order."

BLOB_TYPES = {1: "data", 2: "last_branch", 3: "perfetto"}


class Blobs:
    """Gathers the blobs of a trace while it is read.

    The document calls what has one name one stream of data. Large blobs of one name are
    gathered likewise, apart from others.
    """

    def __init__(self) -> None:
        self._streams: dict[_Key, tuple[int | None, list[bytes]]] = {}

    def add(self, record: Record) -> None:
        """Take the data of a record, if it has some."""
        if isinstance(record, Blob):
            self._take((record.provider, None, record.name), record.type, record.data)
        elif isinstance(record, LargeBlob):
            key = (record.provider, record.category, record.name)
            self._take(key, None, record.data)

    def streams(self) -> Iterator[Stream]:
        """What has been gathered, in the order of the first pieces."""
        for (provider, category, name), (kind, pieces) in self._streams.items():
            yield Stream(provider, category or "", name, kind, tuple(pieces))

    def _take(self, key: _Key, kind: int | None, data: bytes) -> None:
        self._streams.setdefault(key, (kind, []))[1].append(data)
