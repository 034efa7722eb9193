"""Input and output of the drop-ins: standard streams, GSYM files, failures."""

from __future__ import annotations

import os
import sys

from gsym.cli.terminal import one_line, standard_input
from gsym.errors import GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing_extensions import Buffer

    from gsym.reading.reader import Reader


class Failure(GsymError):  # noqa: N818 - ends the program
    """The command failed, for the reason in the text."""


def open_reader(path: str, addresses: int = 0) -> Reader:
    """Open a GSYM file; "-" is standard input."""
    import gsym.reading.reader

    try:
        if path == "-":
            return gsym.reading.reader.Reader(standard_input().buffer.read())
        read_ahead = gsym.reading.reader.wants_read_ahead(addresses)
        return gsym.reading.reader.open(path, read_ahead=read_ahead)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except GsymError as error:
        raise Failure(f"{path}: {error.reason}") from error


def say(text: str) -> None:
    """Write text to standard output; paths in it may have any encoding."""
    put(os.fsencode(text))


def say_line(text: str) -> None:
    """Write a line to standard output, without control characters on a terminal."""
    say(f"{one_line(text, sys.stdout)}\n")


def put(block: Buffer) -> None:
    """Write bytes to standard output."""
    sys.stdout.buffer.write(block)


def complain(text: str) -> None:
    """Write text to standard error; paths in it may have any encoding."""
    sys.stderr.buffer.write(os.fsencode(text))
    sys.stderr.buffer.flush()
