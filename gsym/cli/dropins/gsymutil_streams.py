"""What comes into `gsymutil` and goes out of it: files, standard output, failures."""

from __future__ import annotations

import os
import sys

from gsym.cli.terminal import one_line
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader


class Failure(Exception):  # noqa: N818 - ends the program, with this on standard error
    """What was asked for cannot be done."""


def standard_input() -> BinaryIO:
    """Standard input, as bytes.

    Raises:
        Failure: It is closed.
    """
    if sys.stdin is None:
        raise Failure("standard input is closed")
    return sys.stdin.buffer


def open_reader(path: str, addresses: int = 0) -> Reader:
    """Open a GSYM file; "-" is one that comes through standard input.

    Args:
        path: The file.
        addresses: How many are going to be looked up; 0 if that is not known.

    Raises:
        Failure: It cannot be opened.
    """
    import gsym.reading.reader

    try:
        if path == "-":
            return gsym.reading.reader.Reader(standard_input().read())
        read_ahead = gsym.reading.reader.wants_read_ahead(addresses)
        return gsym.reading.reader.open(path, read_ahead=read_ahead)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except GsymError as error:
        raise Failure(f"{path}: {error.reason}") from error


def say(text: str) -> None:
    """Put text on standard output; paths in it may be of any encoding."""
    put(os.fsencode(text))


def say_line(text: str) -> None:
    """Write a line to standard output; on a terminal, names cannot break it."""
    say(f"{one_line(text, sys.stdout)}\n")


def put(block: Buffer) -> None:
    """Put bytes on standard output."""
    sys.stdout.buffer.write(block)
