"""Records of a Fuchsia trace (FXT) by which those that follow are read.

They say where records come from, how long a tick is, and what references to strings
and threads mean. `gsym.formats.fxt_records` says what all records have.
"""

from __future__ import annotations

from gsym._native import lib
from gsym.records import NamedTuple

__all__ = [
    "Initialization",
    "ProviderEvent",
    "ProviderInfo",
    "ProviderSection",
    "String",
    "Thread",
    "TraceInfo",
    "begins_trace",
]


class ProviderInfo(NamedTuple):
    """Names a provider; what follows comes from it."""

    name: str
    provider: int
    offset: int = 0


class ProviderSection(NamedTuple):
    """What follows comes from this provider."""

    provider: int
    offset: int = 0


class ProviderEvent(NamedTuple):
    """Something befell a provider; *event* 0: its buffer filled up."""

    event: int
    provider: int
    offset: int = 0


class TraceInfo(NamedTuple):
    """Of the trace as a whole; *type* 0: the magic number, which is *value*."""

    type: int
    value: int
    provider: int | None = None
    offset: int = 0


class Initialization(NamedTuple):
    """The unit of the times that follow."""

    ticks_per_second: int
    provider: int | None = None
    offset: int = 0


class String(NamedTuple):
    """An entry of the string table; it replaces one of the same index."""

    string_index: int
    value: str
    provider: int | None = None
    offset: int = 0


class Thread(NamedTuple):
    """An entry of the thread table; it replaces one of the same index."""

    thread_index: int
    process: int
    thread: int
    provider: int | None = None
    offset: int = 0


def begins_trace(record: object) -> bool:
    """Whether a record is the magic number, which ends the state of earlier records."""
    return isinstance(record, TraceInfo) and record[:2] == (0, lib.GSYM_FXT_MAGIC)
