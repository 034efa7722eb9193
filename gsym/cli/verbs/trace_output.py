"""Where the verbs of `gsym trace` write to: a file that appears whole, or a pipe."""

from __future__ import annotations

import sys

from gsym.cli.options import Option, UsageError
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

OUTPUT = Option(
    "--output",
    "where to write it (default and -: standard output)",
    short="-o",
    metavar="FILE",
)


def write_output(path: str | None, pieces: Iterable[bytes], *, is_text: bool) -> None:
    """Write to a file, or to standard output, which may be a terminal for text only.

    Raises:
        OSError: It cannot be written.
        UsageError: It is no text, and standard output is a terminal.
    """
    if path is not None and path != "-":
        with AtomicFile(path) as file:
            for piece in pieces:
                file.write(piece)
        return
    if not is_text and sys.stdout.isatty():
        raise UsageError("this is no text: choose a file with '-o FILE'")
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
