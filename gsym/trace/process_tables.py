"""Tables of strings and threads that many threads of a process use as they write.

An entry never changes while somebody may use it. Where a table is full, strings and
threads stand in their records; the place of a thread that has ended is free again.
"""

from __future__ import annotations

from gsym.trace.fxt.references import MOST_STRING_SIZE, field, stream, text_bytes
from gsym.trace.traced_values import cut_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import RLock

    from gsym.trace.fxt.references import Words

_STRING, _THREAD = 2, 3  # types of records
_MOST_STRINGS, _MOST_THREADS = 0x7FFF, 0xFF
# Texts are values of any kind: they must not take all places of names, and longer ones
# are seldom the same again.
_MOST_TEXTS = _MOST_STRINGS // 2
_LONGEST_TEXT, _LONGEST_NAME = 64, 256  # characters
_INLINE = 0x8000


class ProcessTables:
    """Makes references for the records of one process.

    Args:
        words: Makes words.
        put: Takes the records of the tables.
        lock: Guards the tables, and the order of their records.
        lose: Counts texts that are cut.
    """

    def __init__(
        self,
        words: Words,
        put: Callable[[bytes], object],
        lock: RLock,
        lose: Callable[[str], None],
    ) -> None:
        self._lose = lose
        self._words = words
        self._put = put
        self._lock = lock
        self._strings: dict[str, int] = {}
        self._free_threads = list(range(_MOST_THREADS, 0, -1))
        self._threads: dict[tuple[int, int], int] = {}

    def name(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a string that is likely to come again."""
        return self._reference(text, _MOST_STRINGS, _LONGEST_NAME)

    def text(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a value."""
        return self._reference(text, _MOST_TEXTS, _LONGEST_TEXT)

    def thread(self, process: int, thread: int) -> tuple[int, bytes]:
        """Reference and words of a thread."""
        index = self._threads.get((process, thread), 0)
        return index, b"" if index else self._words(process, thread)

    def enter_thread(self, process: int, thread: int) -> int:
        """The index of a thread from now on; 0 where there is no place."""
        with self._lock:
            if not self._free_threads:
                return 0
            index = self._free_threads.pop()
            body = self._words(process, thread)
            self._put(self._words.with_header(_THREAD, index << 16, body))
            self._threads[process, thread] = index
        return index

    def leave_thread(self, process: int, thread: int) -> None:
        """A thread has ended.

        This may run at any time, also where the lock is held: it takes none.
        """
        index = self._threads.pop((process, thread), 0)
        if index:
            self._free_threads.append(index)

    def _reference(self, text: str, most: int, longest: int) -> tuple[int, bytes]:
        index = self._strings.get(text)
        if index is not None:
            return index, b""
        data = text_bytes(cut_text(text, MOST_STRING_SIZE, self._lose, "texts"))
        if not data:
            return 0, b""
        if len(text) > longest or len(self._strings) >= most:
            return _INLINE | len(data), stream(data)
        with self._lock:
            index = self._strings.get(text)
            if index is None:
                index = len(self._strings) + 1
                header = field(index, 16, 15, "the index") | len(data) << 32
                self._put(self._words.with_header(_STRING, header, stream(data)))
                # Not before the record: whoever finds it here writes behind that.
                self._strings[text] = index
        return index, b""
