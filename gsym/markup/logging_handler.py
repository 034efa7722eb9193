"""Symbolizes markup in the messages of Python's `logging`."""

from __future__ import annotations

import logging
import threading

from gsym.engine.native import to_str

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import TextIO

    from gsym.markup.filter import MarkupFilter

    _StreamHandler = logging.StreamHandler[TextIO]
else:
    _StreamHandler = logging.StreamHandler  # no generic class in Python 3.10


class MarkupHandler(_StreamHandler):
    """Prints messages with markup replaced by symbols.

    A message with only contextual elements, such as those of a C library that logs
    through Python, prints no line. A dictionary may span several messages.

    Args:
        log_filter: The filter for all messages of this handler.
        stream: The output; default: standard error.
    """

    def __init__(self, log_filter: MarkupFilter, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._filter = log_filter

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        try:
            text = self._filter.feed(self.format(record) + self.terminator)
            self.stream.write(text)
            self.flush()
        except RecursionError:  # as in the library
            raise
        except Exception:  # noqa: BLE001 - logging must not end the program
            self.handleError(record)

    def close(self) -> None:
        """Print the rest of the output."""
        self.acquire()
        try:
            self.stream.write(to_str(self._filter.finish()))
            self.flush()
        except ValueError:  # the stream is closed
            pass
        finally:
            self.release()
        super().close()


class MarkupFormatter(logging.Formatter):
    """Formats messages with markup replaced by symbols, for any handler.

    A message with only contextual elements becomes an empty line, or the line about the
    module before. Nothing else of a message is delayed until the next one.

    Args:
        log_filter: The filter for all messages of this formatter.
        inner: Formats messages first; default: `logging.Formatter()`.
    """

    def __init__(
        self, log_filter: MarkupFilter, inner: logging.Formatter | None = None
    ) -> None:
        super().__init__()
        self._filter = log_filter
        self._inner = inner or logging.Formatter()
        self._lock = threading.Lock()  # several handlers may share it

    def format(self, record: logging.LogRecord) -> str:
        """The text of one message."""
        text = self._inner.format(record) + "\n"
        with self._lock:
            shown = self._filter.feed(text) + to_str(self._filter.release())
        return shown.removesuffix("\n")
