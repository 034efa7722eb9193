"""What a person at a terminal sees: safe text, error lines, a progress bar."""

from __future__ import annotations

import os
import sys
import time

from gsym.errors import GsymError

_SHOW_AFTER = 0.5  # seconds; shorter work needs no bar
_REDRAW_AFTER = 0.1
_BAR_WIDTH = 32
_MOST_SHOWN = 1023  # characters of what came as input


def printable(text: str) -> str:
    r"""*text* with control characters as `\xNN`, so that it stays on its line.

    Names and paths come from files that anybody may have made; an escape code
    in one must not reach the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        f"\\x{ord(character):02x}" if _is_control(character) else character
        for character in text
    )


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"


def shortened(text: str) -> str:
    """*text*, or its beginning with three dots behind: a message is to be read."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def describe(error: Exception) -> str:
    """One line that says what went wrong, and with which file."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return error.strerror
        return printable(f"{error.filename}: {error.strerror}")
    if isinstance(error, MemoryError):
        return printable(str(error)) or "out of memory"
    return printable(str(error))


def require_streams() -> None:
    """See to it that there are streams to print to.

    Raises:
        GsymError: Standard output is closed, so that no result can be told.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise GsymError("standard output is closed")


def flush_or_discard() -> None:
    """Print what is still buffered; the flush at exit must not fail once more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        discard_output()


def discard_output() -> None:
    """Send what is still buffered nowhere: the flush at exit must not fail."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


class Progress:
    """A bar on standard error: only on a terminal, only when the work is long."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._next = time.monotonic() + _SHOW_AFTER
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Draw *done* of *total*, if it is time to."""
        now = time.monotonic()
        if now < self._next or not total:
            return
        self._next = now + _REDRAW_AFTER
        filled = min(_BAR_WIDTH, _BAR_WIDTH * done // total)
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        percent = min(100, 100 * done // total)
        sys.stderr.write(f"\r{self._label} [{bar}] {percent:3d} %")
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Wipe the bar, so that the next line starts clean."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def progress_for(label: str) -> Progress | None:
    """A bar named *label*, or None where standard error is no terminal."""
    return Progress(printable(label)) if sys.stderr.isatty() else None
