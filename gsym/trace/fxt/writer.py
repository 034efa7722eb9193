"""Records -> Fuchsia traces (FXT).

What comes is checked against what the format has room for; unused bits are 0.
"""

from __future__ import annotations

from gsym.engine.native import lib
from gsym.errors import LimitError
from gsym.trace.fxt.record_writer import (
    MAKERS,
    MOST_FRAMES,
    argument_of,
    arguments_bytes,
)
from gsym.trace.fxt.records import (
    Blob,
    LargeBlob,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    TraceInfo,
    Unknown,
)
from gsym.trace.fxt.references import References, Words, field, stream

__all__ = ["MOST_FRAMES", "TAKEN_AFTER", "Encoder", "argument_of", "encode"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from gsym.trace.fxt.records import Record

_MAGIC = TraceInfo(0, lib.GSYM_FXT_MAGIC)
_MOST_BLOB_SIZE = 32000  # of one record; more is split
_MOST_LARGE_SIZE = (1 << 32) - 1  # in words
TAKEN_AFTER = 1 << 18
"""Bytes that are worth writing to a file."""

# They name the provider themselves, or are of the trace as a whole.
_OF_NO_PROVIDER = {ProviderInfo, ProviderSection, ProviderEvent, TraceInfo}


class Encoder:
    """Writes a trace; same records, same bytes.

    It begins with the magic number. A record of another provider than the one before
    gets a section in front of it; one without a provider (None) goes with those before.

    Args:
        byteorder: Of words.
        interning: Strings that are likely to come again, and threads, stand in tables
            of their provider; without, where they are used.
    """

    def __init__(
        self,
        byteorder: Literal["little", "big"] = "little",
        *,
        interning: bool = True,
    ) -> None:
        self._words = Words(byteorder)
        self._out = bytearray()
        self._references = References(self._words, self._out, interning=interning)
        self._provider: int | None = None
        self._has_records = False
        self._put(_MAGIC)

    def add(self, record: Record) -> None:
        """Append a record; a blob that is too large for one becomes several.

        Raises:
            LimitError: A text has more than 32000 bytes, or a name of a provider or a
                module or a build id more than 255; there are more than 15 arguments or
                255 frames; or all of it takes more than 32760 bytes.
            OverflowError: A number does not fit its field.
            ValueError: A kind or type is not known, or an event lacks its id or end, or
                a large blob without a time has other metadata, or a record of type
                `Unknown` is not of whole words, or a text has a surrogate that does not
                represent a byte.
        """
        kind = type(record)
        if kind not in _OF_NO_PROVIDER and record.provider != self._provider:
            self._enter_section(record.provider)
        if kind not in MAKERS:
            self._put_other(record)
        elif self._has_records or kind is not TraceInfo or record[:2] != _MAGIC[:2]:
            self._put(record)
        if isinstance(record, (ProviderInfo, ProviderSection)):
            self._enter(record.provider)
        self._has_records = True

    def take(self) -> bytes:
        """What was written since it was asked for last."""
        taken = bytes(self._out)
        self._out.clear()
        return taken

    @property
    def size(self) -> int:
        """Bytes that `take` would give."""
        return len(self._out)

    def _enter(self, provider: int) -> None:
        self._provider = provider
        self._references.enter(provider)

    def _enter_section(self, provider: int | None) -> None:
        if provider is not None:
            self._put(ProviderSection(provider))
            self._enter(provider)

    def _put(self, record: Record) -> None:
        parts = MAKERS[type(record)](record, self._words, self._references)
        self._out += self._words.with_header(*parts)

    def _put_other(self, record: Record) -> None:
        """Write a record that changes a table, takes several records or a large one."""
        if isinstance(record, String):
            self._references.define_string(record.string_index, record.value)
        elif isinstance(record, Thread):
            koids = (record.process, record.thread)
            self._references.define_thread(record.thread_index, *koids)
        elif isinstance(record, Blob):
            self._put_blob(record)
        elif isinstance(record, LargeBlob):
            self._put_large_blob(record)
        elif isinstance(record, Unknown):
            self._put_unknown(record)

    def _put_blob(self, record: Blob) -> None:
        kind = field(record.type, 48, 8, "the type of a blob")
        for start in range(0, len(record.data) or 1, _MOST_BLOB_SIZE):
            data = record.data[start : start + _MOST_BLOB_SIZE]
            name, body = self._references.name(record.name)
            header = name << 16 | len(data) << 32 | kind
            body += stream(data)
            self._out += self._words.with_header(lib.GSYM_FXT_TYPE_BLOB, header, body)

    def _put_large_blob(self, record: LargeBlob) -> None:
        words, references = self._words, self._references
        category, category_stream = references.name(record.category)
        name, name_stream = references.name(record.name)
        names, body = category | name << 16, category_stream + name_stream
        if record.ticks is not None:
            process, thread = record.process or 0, record.thread or 0
            reference, koids = references.thread(process, thread)
            count, args = arguments_bytes(record.args, words, references)
            names |= count << 32 | reference << 36
            body += words(record.ticks) + koids + args
        elif record.args or (record.process, record.thread) != (None, None):
            raise ValueError(
                f"large blob '{record.name}' has arguments or a thread but no time, "
                "which the format requires"
            )
        data = record.data
        size = 3 + (len(body) + len(data) + 7) // 8  # in words
        if size > _MOST_LARGE_SIZE:
            raise LimitError(f"a record of {size} words; there is room for 2^32 - 1")
        blob_format = 1 if record.ticks is None else 0
        self._out += (
            words(lib.GSYM_FXT_TYPE_LARGE | size << 4 | blob_format << 40, names) + body
        )
        self._out += words(len(data))
        self._out += data
        self._out += bytes(-len(data) % 8)

    def _put_unknown(self, record: Unknown) -> None:
        size = len(record.data)
        if not size or size % 8:
            raise ValueError(f"a record of {size} bytes is not one of whole words")
        self._out += record.data


def encode(
    records: Iterable[Record],
    byteorder: Literal["little", "big"] = "little",
    *,
    interning: bool = True,
) -> Iterator[bytes]:
    """The bytes of a trace of these records, in blocks.

    Raises:
        LimitError: As for `Encoder.add`.
        OverflowError: Likewise.
        ValueError: Likewise.
    """
    encoder = Encoder(byteorder, interning=interning)
    for record in records:
        encoder.add(record)
        if encoder.size > TAKEN_AFTER:
            yield encoder.take()
    yield encoder.take()
