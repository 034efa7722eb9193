"""Merge Fuchsia traces into one, with a section for each provider.

Each provider keeps its strings, its threads and the unit of its times. A provider whose
id is taken gets the lowest free one. Records before any provider, and those of a
provider without a name, belong to one that is named after the trace.
"""

from __future__ import annotations

import os
from itertools import count

from gsym.errors import LimitError
from gsym.records import NamedTuple
from gsym.trace.fxt.records import (
    Initialization,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    TraceInfo,
    Unknown,
    begins_trace,
)
from gsym.trace.fxt.references import text_bytes
from gsym.trace.fxt.writer import FLUSH_SIZE, Encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from gsym.trace.fxt.records import Record


class MergedProvider(NamedTuple):
    """A provider of the merged trace.

    Attributes:
        trace: Name of the trace that it comes from.
        old_id: Its id there; None for records before any provider.
        id: Its id now.
        name: Its name.
    """

    trace: str
    old_id: int | None
    id: int
    name: str


_DEFAULT_RATE = 1_000_000_000  # ticks per second
_MOST_NAME_SIZE = 255  # of a provider, in bytes
_LARGE = 15  # type of records whose size has 32 bits
_METADATA = (TraceInfo, ProviderInfo, ProviderSection, ProviderEvent, Initialization)


class TraceMerger:
    """Takes one trace after the other and writes them as one.

    What it holds grows with the number of providers, not with that of records.

    Args:
        byteorder: Of the output.
        nanoseconds: All times become nanoseconds, for readers that know one unit for a
            whole trace; parts of one are lost.

    Attributes:
        providers: Those of the merged trace, in the order of their first records.
        records: How many were written, metadata not counted.
        dropped: What was left out, and how often.
    """

    def __init__(
        self,
        byteorder: Literal["little", "big"] = "little",
        *,
        nanoseconds: bool = False,
    ) -> None:
        self.providers: list[MergedProvider] = []
        self.records = 0
        self.dropped: dict[str, int] = {}
        self._byteorder = byteorder
        self._nanoseconds = nanoseconds
        self._has_begun = False
        self._taken: set[int] = set()
        self._free = count(1)

    def pieces(self, records: Iterable[Record], name: str) -> Iterator[bytes]:
        """The bytes that a trace adds; the first adds the magic number as well.

        Args:
            records: Of the trace, in its order.
            name: Of the trace, such as its path; its last part is the name of providers
                without one.
        """
        # Tables are of a provider, and providers of a trace: those of the trace before
        # are needed no more.
        encoder = Encoder(self._byteorder)
        magic = encoder.take()
        if not self._has_begun:
            self._has_begun = True
            yield magic
        trace = _Trace(self, encoder, name)
        for record in records:
            if begins_trace(record):  # of several in one file, or the first
                trace.finish()
                trace = _Trace(self, encoder, name)
            else:
                trace.take(record)
            if encoder.size > FLUSH_SIZE:
                yield encoder.take()
        trace.finish()
        yield encoder.take()

    def drop(self, kind: str) -> None:
        """Count something that is left out."""
        self.dropped[kind] = self.dropped.get(kind, 0) + 1

    def announce(self, trace: str, old_id: int | None, name: str) -> int:
        """The id that a provider has from now on."""
        new = old_id
        if new is None or new in self._taken:
            new = next(number for number in self._free if number not in self._taken)
        self._taken.add(new)
        self.providers.append(MergedProvider(trace, old_id, new, name))
        return new

    def in_common_unit(self, record: Record) -> Record:
        """A record with its times in nanoseconds, if that was asked for."""
        ns = getattr(record, "ns", None) if self._nanoseconds else None
        if ns is None:
            return record
        changed = {"ticks": ns}
        if getattr(record, "end_ticks", None) is not None:
            changed["end_ticks"] = record.end_ns  # type: ignore[union-attr]
        return record._replace(**changed)

    def rate(self, ticks_per_second: int) -> int:
        """The unit that times are written in, given that of the trace."""
        return _DEFAULT_RATE if self._nanoseconds else ticks_per_second

    def is_foreign(self, record: Unknown) -> bool:
        """Whether a record that is copied unchanged has the other byte order."""
        header = int.from_bytes(record.data[:8], self._byteorder)
        mask = 0xFFFFFFFF if record.type == _LARGE else 0xFFF
        is_ours = header & 0xF == record.type
        return not is_ours or header >> 4 & mask != len(record.data) // 8


class _Trace:
    """One of the traces, on its way through the encoder."""

    def __init__(self, merger: TraceMerger, encoder: Encoder, name: str) -> None:
        self._merger = merger
        self._encoder = encoder
        self._name = name
        self._short_name = os.path.basename(name) or name
        self._names: dict[int, str] = {}  # of providers that were announced
        self._rates: dict[int | None, int] = {}
        self._ids: dict[int | None, int] = {}  # old -> new, once there are records
        self._written_rates: dict[int | None, int] = {}
        self._entered: int | None = -1  # no provider: the one in force is unknown

    def take(self, record: Record) -> None:
        """Take one record."""
        if isinstance(record, _METADATA):
            self._take_metadata(record)
            return
        old = record.provider
        if old != self._entered:
            self._enter(old)
        if isinstance(record, Unknown) and self._merger.is_foreign(record):
            self._merger.drop("unknown records of the other byte order")
            return
        new = self._ids[old]
        if new != old:
            record = record._replace(provider=new)
        self._add(self._merger.in_common_unit(record))

    def finish(self) -> None:
        """The trace ends."""
        for old in self._names:
            if old not in self._ids:
                self._merger.drop("providers without records")

    def _add(self, record: Record) -> None:
        try:
            self._encoder.add(record)
        except LimitError:
            self._merger.drop("records that are larger than can be written")
        except OverflowError:
            self._merger.drop(
                "records with times that do not fit in 64 bits as nanoseconds"
            )
        else:
            self._merger.records += 1

    def _take_metadata(self, record: Record) -> None:
        if isinstance(record, TraceInfo):
            self._merger.drop("trace infos that are not a magic number")
        elif isinstance(record, ProviderInfo):
            self._take_provider_info(record)
        elif isinstance(record, ProviderEvent):
            self._take_provider_event(record)
        elif isinstance(record, Initialization):
            self._take_initialization(record)

    def _take_provider_info(self, record: ProviderInfo) -> None:
        old = record.provider
        known = self._names.get(old)
        if known == record.name:
            self._merger.drop("providers that are named again")
            return
        self._names[old] = record.name
        new = self._ids.get(old)
        if new is not None:  # it has another name from now on
            self._encoder.add(ProviderInfo(record.name, new))

    def _take_provider_event(self, record: ProviderEvent) -> None:
        if record.provider not in self._names and record.provider not in self._ids:
            self._merger.drop("events of providers that are not named")
            return
        if record.provider != self._entered:
            self._enter(record.provider)
        self._encoder.add(record._replace(provider=self._ids[record.provider]))

    def _take_initialization(self, record: Initialization) -> None:
        old, rate = record.provider, record.ticks_per_second
        if not rate:
            self._merger.drop("initializations of 0 ticks a second")
        elif self._rates.get(old) == rate:
            self._merger.drop("initializations that repeat")
        else:
            self._rates[old] = rate
            self._entered = -1

    def _enter(self, old: int | None) -> None:
        """Begin records of a provider: announce it, with the unit of its times.

        Without a unit of its own it has that of the records before any provider.
        """
        new = self._ids.get(old)
        if new is None:
            name = self._names.get(old) if old is not None else None
            name = _provider_name(self._short_name if name is None else name)
            new = self._ids[old] = self._merger.announce(self._name, old, name)
            self._encoder.add(ProviderInfo(name, new))
        rate = self._rates.get(old) or self._rates.get(None) or _DEFAULT_RATE
        rate = self._merger.rate(rate)
        if self._written_rates.get(old) != rate:
            self._written_rates[old] = rate
            self._encoder.add(Initialization(rate, new))
        self._entered = old


def _provider_name(name: str) -> str:
    """A name, cut to the longest that fits."""
    data = text_bytes(name, len(name) * 4)[:_MOST_NAME_SIZE]
    return data.decode("utf-8", "surrogateescape")
