"""Data that a trace carries: large blobs, and blobs of one name put together."""

from __future__ import annotations

from gsym.formats.fxt_records import Blob, LargeBlob, begins_trace

__all__ = ["BLOB_TYPES", "Blobs"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from gsym.formats.fxt_records import Record

    class Stream(NamedTuple):
        """A large blob, or the blobs of one name of a provider, in their order.

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
        pieces: list[bytes]

else:
    from gsym.records import record_type

    Stream = record_type("Stream", "provider category name type pieces")
    Stream.__doc__ = "A large blob, or the blobs of one name of a provider."

BLOB_TYPES = {1: "data", 2: "last_branch", 3: "perfetto"}


class Blobs:
    """Gathers the blobs of a trace while it is read.

    Blobs of one name are pieces of one stream of data, as the document says; of a large
    blob it says no such thing, so that each is a stream by itself.
    """

    def __init__(self) -> None:
        self._streams: list[Stream] = []
        self._by_name: dict[tuple[int | None, str], Stream] = {}

    def add(self, record: Record) -> None:
        """Take the data of a record, if it has some."""
        if isinstance(record, Blob):
            key = (record.provider, record.name)
            stream = self._by_name.get(key)
            if stream is None:
                stream = Stream(record.provider, "", record.name, record.type, [])
                self._by_name[key] = stream
                self._streams.append(stream)
            stream.pieces.append(record.data)
        elif isinstance(record, LargeBlob):
            texts = record.category, record.name
            stream = Stream(record.provider, *texts, None, [record.data])
            self._streams.append(stream)
        elif begins_trace(record):
            self._by_name.clear()

    def streams(self) -> list[Stream]:
        """What has been gathered, in the order of the first pieces."""
        return self._streams
