"""Lookups of `gsymutil`: of addresses on the command line or on standard input."""

from __future__ import annotations

import os
import sys

from gsym.cli.dropins.gsymutil_options import Options, parse_number
from gsym.cli.dropins.streams import (
    open_reader,
    put,
    say,
    say_line,
)
from gsym.cli.program import EXIT_FAILED
from gsym.cli.streams import answer_lines
from gsym.cli.terminal import shortened, standard_input
from gsym.engine.text_buffer import TextBuffer
from gsym.formatting.formatter import Formatter
from gsym.formatting.gsymutil import LlvmText, lookup_style

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re

    from gsym.reading.reader import Reader


class Answers:
    """Answers from one file, in the format of the options.

    In a stream, each line has *path* after the address.
    """

    def __init__(
        self, reader: Reader, options: Options, path: bytes | None = None
    ) -> None:
        escape = sys.stdout.isatty()
        self._filters = [
            _compiled(os.fsencode(each))
            for each in options.texts("--merged-functions-filter")
        ]
        merged = options.flag("--merged-functions")
        # Whether the engine formats them without help.
        self.are_plain: bool = not self._filters and (
            merged or not options.flag("--verbose")
        )
        is_stream = path is not None
        self.text: Formatter = Formatter(
            reader,
            lookup_style(merged=merged, blank_line=is_stream and self.are_plain),
            buffer=TextBuffer(escape=escape),
            suffix=b" %b" % path if path is not None else b"",
        )
        self._functions = LlvmText(reader, escape=escape)

    def to(self, addresses: list[int]) -> bytes:
        """The answers to *addresses*, in order."""
        one = self._filtered if self._filters else self._verbose
        return b"".join(map(self.text.one if self.are_plain else one, addresses))

    def _filtered(self, address: int) -> bytes:
        keep = [
            any(
                pattern is not None and pattern.search(name)
                for pattern in self._filters
            )
            for name in self._functions.merged_names(address)
        ]
        return self.text.one(address, keep)

    def _verbose(self, address: int) -> bytes:
        answer = self.text.one(address)
        function = self._functions.function(address)
        at = f"{address:#018x}:\n".encode()
        if function is None:
            return b"\nLookupResult for " + at + answer + b"\n"
        if function:
            info = b"FunctionInfo for " + at + function
            answer = info + b"\nLookupResult for " + at + answer
        return answer + b"\n"


def answer_standard_input(options: Options) -> int:
    """Answer lines `ADDRESS PATH` immediately; return the exit code."""
    if options.addresses or options.inputs:
        say(
            "error: no input files or addresses can be specified when using the "
            "--addresses-from-stdin option.\n"
        )
        return EXIT_FAILED
    stream = _Stream(options)
    try:
        answer_lines(standard_input().fileno(), stream.answer)
    except _BadAddressError as error:
        word = shortened(str(error))
        say_line(f"error: invalid address {word}, expected: Address GsymFile.")
        return EXIT_FAILED
    finally:
        stream.close()
    return 0


class _BadAddressError(Exception):
    """The text is not a number."""


class _Stream:
    """Answers lines; keeps the last file open."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._path = b""
        self._reader: Reader | None = None
        self._answers: Answers | None = None

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            self._reader.close()

    def answer(self, lines: bytes) -> bytes:
        """Print the answers to all complete lines; return the rest of *lines*."""
        lines = lines.replace(b"\r", b"")
        view, at = memoryview(lines), 0
        while (end := lines.find(b"\n", at)) >= 0:
            word, _, path = lines[at:end].partition(b" ")
            if self._answers is None and not path:
                _address(word)  # the first error is reported, as in LLVM
            if self._answers is None or path != self._path:
                self.close()
                self._path = path
                self._reader = open_reader(os.fsdecode(path))
                self._answers = Answers(self._reader, self._options, path)
            if self._answers.are_plain:
                used = self._answers.text.answer(view[at:], put)
                if not used:
                    raise _BadAddressError(os.fsdecode(word))
                at += used
            else:
                put(self._answers.to([_address(word)]) + b"\n")
                at = end + 1
        return lines[at:]


def _address(word: bytes) -> int:
    text = os.fsdecode(word)
    number = parse_number(text)
    if number is None or number >> 64:
        raise _BadAddressError(text)
    return number


def benchmark(reader: Reader, path: str, first: int, stride: int) -> None:
    """Look up every *stride*-th function of a file, starting with *first*."""
    from gsym.reading.statistics import footprints

    addresses = [entry.address for entry in footprints(reader)]
    wanted = addresses[first::stride]
    reader.lookup_many(wanted)
    say_line(
        f"Benchmarked {len(wanted)} lookups (out of {len(addresses)} addresses) in "
        f'"{path}"'
    )


def _compiled(pattern: bytes) -> re.Pattern[bytes] | None:
    """Compile an expression of `re`, which may contain POSIX character classes.

    None if it is invalid; then it matches nothing.
    """
    import re
    import warnings

    classes = {
        b"alnum": rb"0-9A-Za-z",
        b"alpha": rb"A-Za-z",
        b"blank": rb" \t",
        b"cntrl": rb"\x00-\x1f\x7f",
        b"digit": rb"0-9",
        b"graph": rb"!-~",
        b"lower": rb"a-z",
        b"print": rb" -~",
        b"punct": rb"!-/:-@\[-`{-~",
        b"space": rb"\t-\r ",
        b"upper": rb"A-Z",
        b"xdigit": rb"0-9A-Fa-f",
    }
    names = b"|".join(classes)
    translated = re.sub(rb"\[:(%s):\]" % names, lambda m: classes[m[1]], pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about possible nested sets
            return re.compile(translated, re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        return None
