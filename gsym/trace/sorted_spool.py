"""Values sorted by time, kept on disk: a trace may be larger than the memory."""

from __future__ import annotations

import marshal
from array import array
from contextlib import suppress
from itertools import groupby
from tempfile import TemporaryFile, gettempdir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_LAST_TIME = 2**64 - 1


class SortedSpool:
    """Takes values in any order and returns them in the order of their times.

    They are of the types that `marshal` supports. Each takes 16 bytes of memory, and
    about 100 during the sort.

    Raises:
        OSError: The disk is full.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._times = array("Q")
        self._ends = array("Q", [0])

    def __len__(self) -> int:
        return len(self._times)

    def close(self) -> None:
        """Delete the file."""
        with suppress(OSError):  # a failed write was already reported
            self._file.close()

    def add(self, time: int, value: Any) -> None:
        """Take a value; all times from 2 ** 64 - 1 count as equal."""
        data = marshal.dumps(value)
        self._on_disk(self._file.write, data)
        self._times.append(min(time, _LAST_TIME))
        self._ends.append(self._ends[-1] + len(data))

    def first_time(self) -> int:
        """The lowest of the times; 0 without any value."""
        return min(self._times, default=0)

    def values(
        self, arrange: Callable[[list[Any]], list[Any]] | None = None
    ) -> Iterator[Any]:
        """The values; those of one time in the order in which they were added.

        Args:
            arrange: Puts several values of one time into another order.
        """
        self._on_disk(self._file.flush)
        time_of = self._times.__getitem__
        for _, group in groupby(sorted(range(len(self)), key=time_of), time_of):
            values = [self._value(index) for index in group]
            yield from values if arrange is None else arrange(values)

    @staticmethod
    def _on_disk(write: Callable[..., object], *data: bytes) -> None:
        try:
            write(*data)
        except OSError as error:
            error.filename = gettempdir()  # the file has no name
            raise

    def _value(self, index: int) -> Any:
        start, end = self._ends[index : index + 2]
        self._file.seek(start)
        return marshal.loads(self._file.read(end - start))  # noqa: S302 - our own bytes
