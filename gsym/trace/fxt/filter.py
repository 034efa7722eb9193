"""Which records of a Fuchsia trace are handed out."""

from __future__ import annotations

from gsym.arguments import strings_of
from gsym.engine.native import check, ffi, lib, to_bytes
from gsym.records import NamedTuple

_MOST_NS = 2**64 - 1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Filter(NamedTuple):
    """Conditions on a record; a field without one may have any value.

    Records by which others are read and those that describe objects, modules and
    mappings are handed out all the same. Others that do not have what is asked for
    are left out: a context switch names no process, only events and large blobs
    have a category, and besides them blobs a name.

    Attributes:
        from_ns: It ends at this time or later; an event has its own end or is over
            at once.
        to_ns: It begins at this time or earlier.
        processes: It is of one of these koids.
        threads: Likewise; of a context switch either thread counts.
        categories: It matches one of these patterns, in which `*` stands for any
            text and `?` for a character.
        names: Likewise.
    """

    from_ns: int = 0
    to_ns: int = _MOST_NS
    processes: Sequence[int] = ()
    threads: Sequence[int] = ()
    categories: Sequence[str] = ()
    names: Sequence[str] = ()


def set_filter(reader: Any, chosen: Filter, error: Any) -> None:
    """Have the engine's reader hand out only what passes.

    Raises:
        OverflowError: A time or a koid is not a number of 64 bits.
        ValueError: A pattern holds a NUL.
    """
    processes = ffi.new("uint64_t[]", list(chosen.processes))
    threads = ffi.new("uint64_t[]", list(chosen.threads))
    categories = ffi.from_buffer("char[]", _joined("categories", chosen.categories))
    names = ffi.from_buffer("char[]", _joined("names", chosen.names))
    wanted = ffi.new("gsym_fxt_filter *")
    wanted.from_ns, wanted.to_ns = chosen.from_ns, chosen.to_ns
    wanted.processes, wanted.process_count = processes, len(processes)
    wanted.threads, wanted.thread_count = threads, len(threads)
    wanted.categories, wanted.categories_size = categories, len(categories)
    wanted.names, wanted.names_size = names, len(names)
    check(lib.gsym_fxt_reader_set_filter(reader, wanted, error), error)


def _joined(name: str, patterns: Sequence[str]) -> bytes:
    patterns = strings_of(name, patterns)
    if any("\0" in pattern for pattern in patterns):
        raise ValueError("a pattern cannot hold a NUL")
    return b"".join(to_bytes(pattern) + b"\0" for pattern in patterns)
