"""Output for people at a terminal: safe text, error lines, a progress bar."""

from __future__ import annotations

import os
import sys
import time

from gsym.errors import GsymError
from gsym.lazy import json

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Any, TextIO

    from typing_extensions import Self

_SHOW_AFTER = 0.5  # seconds; shorter work needs no bar
_REDRAW_AFTER = 0.1
_BAR_WIDTH = 32
_LEAST_NAME = 16  # characters of the last column of a table
_MOST_SHOWN = 1023  # characters of what came as input
_OUTPUTS = ("stdout", "stderr")

# Characters that a terminal interprets: control characters, also as bytes that are not
# UTF-8, and those that change the direction of text.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xDC80, 0xDCA0))
_DIRECTIONS = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
ESCAPES = {
    **{code: f"\\x{code & 0xFF:02x}" for code in _CONTROLS},
    **{code: f"\\u{code:04x}" for code in _DIRECTIONS},
}


def printable(text: str) -> str:
    r"""*text* with control characters as `\xNN`, so that it stays on its line.

    Names and paths come from files that anybody may have made; an escape code
    in one must not reach the terminal.
    """
    return text if text.isprintable() else text.translate(ESCAPES)


def printable_bytes(raw: bytes) -> bytes:
    """`printable` for text in any encoding."""
    shown = printable(raw.decode("utf-8", "surrogateescape"))
    return shown.encode("utf-8", "surrogateescape")


def one_line(text: str, stream: TextIO) -> str:
    """A line of a drop-in command: `printable` on a terminal, otherwise unchanged."""
    return printable(text) if stream.isatty() else text


def escape_for_output() -> Callable[[bytes], bytes] | None:
    """The function by which a drop-in command makes names printable.

    Returns:
        None if standard output is not a terminal: names are printed unchanged.
    """
    return printable_bytes if sys.stdout.isatty() else None


def shortened(text: str) -> str:
    """*text*, or its beginning with three dots after: a message is to be read."""
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
    """See to it that there are streams to print to."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise GsymError("standard output is closed")


def standard_input() -> TextIO:
    """Standard input.

    Raises:
        GsymError: It is closed.
    """
    if sys.stdin is None:
        raise GsymError("standard input is closed")
    return sys.stdin


def flush_or_discard(error: Exception) -> Exception:
    """Print what is still buffered; name the output in *error* where that failed."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as failed:
        discard_output()
        if str(failed) == str(error):
            return OSError(failed.errno, failed.strerror, "standard output")
    return error


def discard_output() -> None:
    """Send what is still buffered nowhere: the flush at exit must not fail."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


def guard_terminals() -> None:
    """Escape control characters in everything that is written to a terminal."""
    for name in _OUTPUTS:
        stream = getattr(sys, name)
        if hasattr(stream, "buffer") and stream.isatty():
            from gsym.cli.terminal_guard import GuardedStream

            setattr(sys, name, GuardedStream(stream))


def unguard_terminals() -> None:
    """Restore the streams."""
    for name in _OUTPUTS:
        setattr(sys, name, _unguarded(getattr(sys, name)))


def _unguarded(stream: Any) -> Any:
    return getattr(stream, "terminal", stream)


def let_colours_through() -> None:
    """Pass the colours of a log on to standard output, also on a terminal."""
    guard: Any = sys.stdout
    if _unguarded(guard) is not guard:
        guard.let_colours_through()


class Progress:
    """A bar on standard error: only on a terminal, only when the work is long.

    The end of a `with` block wipes it.
    """

    def __init__(self, label: str, *, is_shown: bool = True) -> None:
        self._label = printable(label)
        self._is_shown = is_shown
        self._next = time.monotonic() + _SHOW_AFTER
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    @property
    def callback(self) -> Self | None:
        """The callback for the work; None if nothing would be shown."""
        return self if self._is_shown else None

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Draw *done* of *total* and a note, if it is time to."""
        now = time.monotonic()
        if not self._is_shown or now < self._next or not total:
            return
        self._next = now + _REDRAW_AFTER
        filled = min(_BAR_WIDTH, _BAR_WIDTH * done // total)
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        percent = min(100, 100 * done // total)
        self._put(f"\r{self._label} [{bar}] {percent:3d} %{note}")
        self._drawn = True

    def clear(self) -> None:
        """Wipe the bar, so that the next line starts clean."""
        if self._drawn:
            self._put("\r\x1b[K")
            self._drawn = False

    def _put(self, text: str) -> None:
        terminal = _unguarded(sys.stderr)  # a bar moves the cursor
        terminal.write(text)
        terminal.flush()


def progress_for(label: str, *, quiet: bool = False) -> Progress:
    """A bar named *label*, shown where standard error is a terminal."""
    return Progress(label, is_shown=not quiet and sys.stderr.isatty())


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print lines for people, by default to standard output."""
    for line in lines:
        print(printable(line), file=stream)


def times(count: int) -> str:
    """The number of times that something happened, in words."""
    return "once" if count == 1 else f"{count} times"


def cut_middle(text: str, width: int) -> str:
    """*text* without its middle, if it is too wide: names differ in both ends."""
    if len(text) <= width:
        return text
    front = (width - 3) // 2
    return f"{text[:front]}...{text[front + 3 - width :]}"


def table_lines(
    rows: Iterable[Sequence[str]],
    width: int | None = None,
    left: Collection[int] = (),
) -> Iterator[str]:
    """Rows as columns, right-aligned but for those in *left* and the last one.

    If a line is longer than *width*, the cell of the last column is cut in the middle.
    """
    texts = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)][:-1]
    space = None
    if width is not None:
        space = max(width - sum(widths) - 2 * len(widths), _LEAST_NAME)
    for *cells, name in texts:
        columns = [
            cell.ljust(size) if at in left else cell.rjust(size)
            for at, (cell, size) in enumerate(zip(cells, widths, strict=True))
        ]
        last = name if space is None else cut_middle(name, space)
        yield "  ".join([*columns, last]).rstrip()


def print_json(record: object) -> None:
    """Print an object of JSON on a line."""
    sys.stdout.write(json.dumps(record) + "\n")


def tell(text: str) -> None:
    """Print a remark on standard error."""
    print(printable(text), file=sys.stderr, flush=True)


def warn(text: str, program: str = "gsym") -> None:
    """Print a warning: something is wrong that did not stop the work."""
    tell(f"{program}: warning: {text}")
