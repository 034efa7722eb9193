"""The events of a trace as Arrow record batches."""

from __future__ import annotations

from gsym.errors import UnsupportedError
from gsym.fxt.decoder import KINDS
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pyarrow as pa

    from gsym.fxt.decoder import Columns
    from gsym.fxt.reader import Trace

_WITHOUT_VALUE = ("instant", "duration_begin", "duration_end")
_COMPLETE = "duration_complete"


def event_batches(trace: Trace) -> Iterator[pa.RecordBatch]:
    """The events in file order, some thousands a batch; other records are left out.

    Columns are offset, provider (id), kind, ticks, ns, process, thread, category, name,
    id, end_ticks, end_ns and argument_count, as in `Event`; null where an event has no
    such value, and in ns and end_ns where it is 2^64 - 1 or more. Texts are
    dictionary-encoded; bytes in them that are not UTF-8 are replaced.

    Raises:
        UnsupportedError: The package pyarrow is missing.
    """
    try:
        import pyarrow as pa
    except ImportError as missing:
        reason = "Arrow batches need the package pyarrow: pip install 'gsym[arrow]'"
        raise UnsupportedError(reason) from missing
    batches = _Batches(pa)
    for columns in trace.columns():
        if columns.event_count:
            yield batches.batch(columns)


class _Batches:
    """Makes batches of columns; texts are encoded once as long as none is new."""

    def __init__(self, arrow: Any) -> None:
        from pyarrow import compute

        self._pa: Any = arrow
        self._compute: Any = compute
        self._kinds = arrow.array(KINDS, arrow.string())
        self._version: int | None = None
        self._dictionary: Any = None

    def batch(self, columns: Columns) -> pa.RecordBatch:
        """The events of columns, at least one."""
        pa = self._pa
        if columns.strings_version != self._version:
            self._version = columns.strings_version
            words = [
                text.encode("utf-8", "replace").decode() for text in columns.strings
            ]
            self._dictionary = self._pa.array(words, self._pa.string())
        kinds = pa.DictionaryArray.from_arrays(
            self._numbers(columns.event_kinds(), pa.uint8()), self._kinds
        )
        value = self._column(columns, "value")
        is_complete = self._compute.equal(kinds, _COMPLETE)
        is_other = self._compute.is_in(
            kinds.cast(pa.string()), pa.array([*_WITHOUT_VALUE, _COMPLETE])
        )
        arguments = self._compute.subtract(
            self._column(columns, "argument_end", pa.uint32()),
            self._column(columns, "argument_first", pa.uint32()),
        )
        choose, none = self._compute.if_else, pa.scalar(None, pa.uint64())
        end_ns = self._narrow(self._column(columns, "end_ns"))
        made = {
            "offset": self._column(columns, "offset"),
            "provider": self._providers(columns),
            "kind": kinds,
            "ticks": self._column(columns, "ticks"),
            "ns": self._narrow(self._column(columns, "ns")),
            "process": self._column(columns, "process"),
            "thread": self._column(columns, "thread"),
            "category": self._text(columns, "category"),
            "name": self._text(columns, "name"),
            "id": choose(is_other, none, value),
            "end_ticks": choose(is_complete, value, none),
            "end_ns": choose(is_complete, end_ns, none),
            "argument_count": arguments,
        }
        return pa.RecordBatch.from_pydict(made)

    def _numbers(self, values: bytes, kind: Any) -> Any:
        """An array of the bytes of its values."""
        pa = self._pa
        count = 8 * len(values) // kind.bit_width
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(values)])

    def _column(self, columns: Columns, name: str, kind: Any = None) -> Any:
        values = columns.event_column(name).tobytes()
        return self._numbers(values, kind or self._pa.uint64())

    def _narrow(self, times: Any) -> Any:
        """Times, null where they do not fit."""
        wide = self._pa.scalar(UINT64_MAX, self._pa.uint64())
        is_wide = self._compute.equal(times, wide)
        none = self._pa.scalar(None, self._pa.uint64())
        return self._compute.if_else(is_wide, none, times)

    def _providers(self, columns: Columns) -> Any:
        pa = self._pa
        ids = pa.array(columns.providers, pa.uint32())
        return ids.take(self._column(columns, "provider", pa.uint32()))

    def _text(self, columns: Columns, name: str) -> Any:
        numbers = self._column(columns, name, self._pa.uint32())
        return self._pa.DictionaryArray.from_arrays(numbers, self._dictionary)
