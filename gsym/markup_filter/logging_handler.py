"""Markup in the messages of Python's `logging`, symbolized as they are printed."""

from __future__ import annotations

import logging

from gsym._native import to_str

__all__ = ["MarkupHandler"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from gsym.markup_filter.filter import MarkupFilter


class MarkupHandler(logging.StreamHandler["TextIO"]):
    """Prints messages with symbols in place of markup.

    Contextual lines of a library of C that logs through Python are taken in; a message
    of nothing else prints no line.

    Args:
        log_filter: Filters all messages of this handler.
        stream: Where to print; None: standard error.
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
        except RecursionError:  # as the library has it
            raise
        except Exception:  # noqa: BLE001 - logging must not end the program
            self.handleError(record)

    def close(self) -> None:
        """Print what was kept back."""
        self.acquire()
        try:
            self.stream.write(to_str(self._filter.finish()))
            self.flush()
        except ValueError:  # the stream is closed
            pass
        finally:
            self.release()
        super().close()
