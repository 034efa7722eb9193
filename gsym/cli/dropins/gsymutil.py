"""`gsymutil`: llvm-gsymutil's options, output and exit codes, without its crashes.

Answers follow LLVM's lookup rules. For lookups, dumps and statistics, standard output
is byte for byte that of version 24; messages of a conversion are similar.
"""

from __future__ import annotations

import os
import sys

from gsym.cli.dropins.gsymutil_options import Options, parse, parse_number
from gsym.cli.dropins.streams import (
    Failure,
    complain,
    open_reader,
    put,
    say,
    say_line,
)
from gsym.cli.grammar import UsageError
from gsym.cli.program import EXIT_FAILED, run_program
from gsym.cli.streams import answer_lines
from gsym.cli.terminal import describe, one_line, shortened, standard_input
from gsym.engine.text_buffer import TextBuffer
from gsym.formatting.formatter import Formatter
from gsym.formatting.gsymutil import LlvmText, lookup_style
from gsym.lazy import re

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.reading.reader import Reader


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    return run_program(argv, lambda words: (_run, parse(words)), _complain)


def _complain(error: Exception, _arguments: list[str]) -> int:
    if isinstance(error, Failure):
        reason = one_line(str(error), sys.stderr)
    else:
        reason = str(error) if isinstance(error, UsageError) else describe(error)
    complain(f"{reason}\n")
    return EXIT_FAILED


def _run(options: Options) -> int:
    if options.text("--convert"):
        from gsym.cli.dropins.gsymutil_convert import convert

        return convert(options)
    if options.flag("--addresses-from-stdin"):
        return _answer_standard_input(options)
    for path in options.inputs:
        with open_reader(path, len(options.addresses)) as reader:
            _show(reader, path, options)
    return 0


def _show(reader: Reader, path: str, options: Options) -> None:
    if options.statistics is not None:
        from gsym.cli.dropins.gsymutil_statistics import as_json, as_text
        from gsym.reading.statistics import measure

        found = measure(reader)
        if options.statistics == "text":
            say(as_text(found, one_line(path, sys.stdout)))
        else:
            say(as_json(found, path, pretty=options.statistics == "pretty-json"))
    elif options.benchmark is not None:
        _benchmark(reader, path, *options.benchmark)
    elif options.addresses:
        say_line(f'Looking up addresses in "{path}":')
        put(_Answers(reader, options).to(options.addresses))
    else:
        for block in LlvmText(reader, escape=sys.stdout.isatty()).dump():
            put(block)


def _benchmark(reader: Reader, path: str, first: int, stride: int) -> None:
    """Look up every *stride*-th function of a file, starting with *first*."""
    from gsym.reading.statistics import footprints

    addresses = [entry.address for entry in footprints(reader)]
    wanted = addresses[first::stride]
    reader.lookup_many(wanted)
    say_line(
        f"Benchmarked {len(wanted)} lookups (out of {len(addresses)} addresses) in "
        f'"{path}"'
    )


class _Answers:
    """Answers from one file, in the format of the options.

    In a stream, each line has *path* after the address.
    """

    def __init__(
        self, reader: Reader, options: Options, path: bytes | None = None
    ) -> None:
        self.reader = reader
        self.path = path
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
        blank_line = path is not None and self.are_plain
        self.text: Formatter = Formatter(
            reader,
            lookup_style(merged=merged, blank_line=blank_line),
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
            any(pattern and pattern.search(name) for pattern in self._filters)
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


def _answer_standard_input(options: Options) -> int:
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
        self._answers: _Answers | None = None

    def close(self) -> None:
        """Close the file."""
        if self._answers is not None:
            self._answers.reader.close()

    def answer(self, lines: bytes) -> bytes:
        """Print the answers to all complete lines; return the rest of *lines*."""
        lines = lines.replace(b"\r", b"")
        view, at = memoryview(lines), 0
        while (end := lines.find(b"\n", at)) >= 0:
            word, _, path = lines[at:end].partition(b" ")
            if self._answers is None and not path:
                _address(word)  # the first error is reported, as in LLVM
            if self._answers is None or path != self._answers.path:
                self.close()
                reader = open_reader(os.fsdecode(path))
                self._answers = _Answers(reader, self._options, path)
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


def _compiled(pattern: bytes) -> re.Pattern[bytes] | None:
    """Compile an expression of `re`, which may contain POSIX character classes.

    None if it is invalid; then it matches nothing.
    """
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


if __name__ == "__main__":
    sys.exit(main())
