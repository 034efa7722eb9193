"""Mapped files that another process truncates in place, or that the disk fails.

Stores replace files by rename, so this is the fault of somebody else. A read beyond the
end of a mapped file would end the worker with SIGBUS. Here it yields zeros and is
counted. No answer that may contain such zeros is sent, and all files are opened again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gsym.modules.open_module import OpenModule
from gsym.modules.symbolizer import Symbolizer
from gsym.server import _bus_errors
from gsym.server.errors import HttpError

_LOG = logging.getLogger("gsym.server")
_RETRY_AFTER = 1

survive_bus_errors: Callable[[], None] = _bus_errors.guard
bus_errors: Callable[[], int] = _bus_errors.count


class TruncatedFileError(HttpError):
    """A mapped file was truncated or unreadable while it was used."""

    def __init__(self) -> None:
        title = "a file of the store was changed while it was read"
        super().__init__(503, title, retry_after=_RETRY_AFTER)


class MappedFiles:
    """Detects answers from files that lack a part."""

    def __init__(self, symbolizer: Symbolizer) -> None:
        self._symbolizer = symbolizer
        self._seen = _bus_errors.count()

    @contextmanager
    def guarded(self) -> Iterator[list[OpenModule]]:
        """Do work that looks up addresses, and lists the modules that it used.

        Raises:
            TruncatedFileError: What it found may be wrong; to be repeated.
        """
        before = _bus_errors.count()
        if before != self._seen:  # an error that no open module has seen
            self._symbolizer.forget()
            self._seen = before
        used: list[OpenModule] = []
        try:
            yield used
        finally:
            readers = [each.reader for each in used if each.reader]
            cut = [each for each in readers if not each.is_whole]
            if cut or _bus_errors.count() != before:
                paths = [str(reader.path) for reader in cut]
                text = "a mapped file was truncated or cannot be read: %s"
                _LOG.error(text, ", ".join(paths) or "unknown which")
                self._symbolizer.forget()
                raise TruncatedFileError
