"""`gsym-addr2line`: GNU addr2line's options, protocol and output, from GSYM files.

Each line is answered immediately: profilers start the program once, write an address
and wait for the answer. Options are read as by getopt: short ones may share a word,
long names may be abbreviated if unambiguous, options may follow addresses, and `@FILE`
is replaced by the words in a file.
"""

from __future__ import annotations

import os
import sys

from gsym import __version__
from gsym.cli.dropins.streams import complain
from gsym.cli.grammar import (
    GNU,
    HelpRequested,
    Option,
    UsageError,
    Values,
    expand_response_files,
    gathered,
    help_entry,
    read_declarations,
    scan_getopt,
)
from gsym.cli.program import EXIT_FAILED, run_program
from gsym.cli.streams import answer_lines
from gsym.cli.terminal import describe, escape_for_output, one_line
from gsym.containers.recognition import recognise_file
from gsym.engine.native import to_str
from gsym.errors import GsymError
from gsym.formatting.formatter import Formatter
from gsym.formatting.styles import addr2line_style
from gsym.model import UINT64_END, UINT64_MAX
from gsym.modules.binary_lookup import OPENING, find_gsym
from gsym.reading.reader import Reader, wants_read_ahead

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    Sections = list[tuple[int, int]] | None

PROGRAM = "gsym-addr2line"

_LINE_SIZE = 99  # addr2line's buffer: a longer line counts as several
_SPACES = b" \t\n\v\f\r"
_MAX_FILES = 2000  # a response file may include itself
_STYLES = ("none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust")

OPTIONS: tuple[Option, ...] = read_declarations(
    """\
-a, --addresses  Show addresses
-b, --target bfdname  Accepted and ignored: files are recognized by their content
-e, --exe file  Binary, or GSYM file, to look addresses up in
  (default is a.out)
-i, --inlines  Show the functions that one was inlined into
-j, --section name  Read section-relative offsets instead of addresses
-p, --pretty-print  Show each location on one line
-s, --basenames  Strip directory names
-f, --functions  Show function names""",
    Option("-C, --demangle[=style]  Demangle function names", optional="auto"),
    """\
-R, --recurse-limit | --recursion-limit
  Accepted and ignored: demangling is always limited
-r, --no-recurse-limit | --no-recursion-limit  Accepted and ignored
-h, --help | -H  Display this information
-v, --version | -V  Display the program's version""",
)[1]


def help_text() -> str:
    """The text of `--help`."""
    lines = [
        f"Usage: {PROGRAM} [option(s)] [addr(s)]",
        " Convert addresses into line number/file name pairs.",
        (
            " If no addresses are specified on the command line, they will be read "
            "from stdin"
        ),
        " The options are:",
        *help_entry("@<file>", "Read options from <file>", wraps=False),
    ]
    for option in OPTIONS:
        value = f"=<{option.metavar}>" if option.metavar else ""
        value = f"[={option.metavar}]" if option.optional else value
        head = f"{option.short} {option.name}{value}".strip()
        lines += help_entry(head, option.help, wraps=False)
    return "\n".join(lines) + "\n\n"


def parse(arguments: list[str]) -> Values:
    """Read a command line; the first wrong option, or `--help`, ends it."""
    try:
        words = expand_response_files(arguments, _MAX_FILES, is_strict=True)
    except UsageError as error:
        raise UsageError(f"{PROGRAM}: {error}\n") from None
    is_posix = "POSIXLY_CORRECT" in os.environ
    scanned = scan_getopt(words, OPTIONS, GNU, options_first=is_posix)
    try:
        given, addresses = gathered(map(_checked, scanned))
    except UsageError as error:
        raise UsageError(f"{PROGRAM}: {error}\n{help_text()}") from None
    except ValueError as error:
        raise UsageError(f"{PROGRAM}: {error}\n") from None
    return Values(OPTIONS, given, {"ADDRESS": addresses})


def _checked(found: tuple[Option | None, str]) -> tuple[Option | None, str]:
    option, value = found
    name = "" if option is None else option.name
    if name == "--help":
        raise HelpRequested(help_text())
    if name == "--version":
        version = f"{PROGRAM} (gsym) {__version__}"
        raise HelpRequested(f"{version}\nPrints what GNU addr2line 2.40 prints.\n")
    if name == "--demangle" and value not in _STYLES:
        raise ValueError(f"unknown demangling style `{value}'")
    return found


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    return run_program(argv, lambda words: (_answer_all, parse(words)), _complain)


def _complain(error: Exception, _arguments: list[str]) -> int:
    if isinstance(error, UsageError):
        complain(str(error))
    else:
        _report(describe(error))
    return EXIT_FAILED


def _report(text: str) -> None:
    complain(f"{PROGRAM}: {one_line(text, sys.stderr)}\n")


def _answer_all(options: Values) -> int:
    addresses, path = options.operands("ADDRESS"), options.text("--exe")
    # The first search for a name reads all names.
    are_numbers = all(map(_is_number, addresses))
    path = "a.out" if path is None else path
    kind, section = _kind_of(path), options.text("--section")
    read_ahead = wants_read_ahead(len(addresses) if are_numbers else 0)
    found = find_gsym(path, OPENING._replace(read_ahead=read_ahead))
    is_64, sections = _properties(kind, path, section)
    for note in filter(None, (*found.notes, found.unsure)):
        _report(note)
    style = addr2line_style(
        addresses=options.flag("--addresses"),
        functions=options.flag("--functions"),
        inlines=options.flag("--inlines"),
        pretty=options.flag("--pretty-print"),
        basenames=options.flag("--basenames"),
        demangle=options.text("--demangle") not in {None, "none"},
        is_64=is_64,
        escape=escape_for_output(),
    )
    text = Formatter(found.reader, style, is_64=is_64, sections=sections)
    session = _Session(found.reader, text)
    if addresses:
        words = [os.fsencode(word) for word in addresses]
        text.expect(b"".join(word + b"\n" for word in words))
        for word in words:
            line = word.lstrip(_SPACES).partition(b"\n")[0] + b"\n"
            session.answer(line, len(line))  # of any length
    elif sys.stdin is not None:
        answer_lines(sys.stdin.fileno(), session.answer)
    return 0


def _is_number(word: str) -> bool:
    """Whether *word* is unambiguously a number."""
    digits = word.lower().removeprefix("0x")
    return bool(digits) and not digits.strip("0123456789abcdef")


def _kind_of(path: str) -> str:
    """The kind of a file, which has to be one that can be read."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise GsymError(f"'{path}': No such file") from None
    if os.path.isdir(path):
        if path.rstrip(os.sep).endswith(".dSYM"):
            return "bundle"
        raise GsymError(f"Warning: '{path}' is a directory")
    if not os.path.isfile(path):
        raise GsymError(f"Warning: '{path}' is not an ordinary file")
    if not status.st_size:
        raise GsymError("file is empty", path=path)
    kind = recognise_file(path)
    if kind == "archive":
        raise GsymError("cannot get addresses from archive", path=path)
    if not kind:
        raise GsymError("file format not recognized", path=path)
    return kind


def _properties(kind: str, path: str, section: str | None) -> tuple[bool, Sections]:
    """Whether addresses of a file have 64 bits, and the sections they are relative to.

    None: they are link-time addresses.
    """
    if kind != "object":
        if section is not None:
            reason = f"cannot find section {section}: give the binary instead"
            raise GsymError(reason, path=path)
        return True, None
    from gsym.containers.fat import open_slice

    with open_slice(path) as binary:
        if section is not None:
            found = binary.code_range(os.fsencode(section))
            if found is None:
                raise GsymError(f"cannot find section {section}", path=path)
            return binary.is_64, [found]
        if not binary.is_relocatable:
            return binary.is_64, None
        # In addr2line, each of its sections starts at 0.
        return binary.is_64, [(start, end) for _, start, end in binary.placements]


class _Session:
    """Prints the answers to lines."""

    def __init__(self, reader: Reader | None, text: Formatter) -> None:
        self._reader = reader
        self._text = text

    def answer(self, lines: bytes, line_size: int = _LINE_SIZE) -> bytes:
        """Print the answers to all complete lines; return the rest of *lines*."""
        put = sys.stdout.buffer.write
        view = memoryview(lines)
        while view:
            view = view[self._text.answer(view, put, line_size=line_size) :]
            line = bytes(view[:line_size]).partition(b"\n")
            if not line[1] and len(line[0]) < line_size:
                break  # incomplete
            put(self._text.one(self._symbol_address(line[0])))
            view = view[len(line[0] + line[1]) :]
        return bytes(view)

    def _symbol_address(self, line: bytes) -> int:
        """The address of `NAME+OFFSET`; 0 if the name is unknown."""
        text = line.partition(b"\0")[0].lstrip()
        name = text.split(None, 1)[0].partition(b"+")[0]
        rest = text[len(name) :].lstrip()
        offset = _number(rest[1:]) if rest.startswith(b"+") else 0
        if not name:
            return offset
        start = self._start_of(to_str(name))
        return 0 if start is None else (start + offset) % UINT64_END

    def _start_of(self, name: str) -> int | None:
        # The first search for a name reads all names, and perf sends commas.
        if self._reader is None or not any(map(str.isalnum, name)):
            return None
        found = self._reader.find(name, exact=True)
        return found[0].start if found else None


def _number(text: bytes) -> int:
    """Parse a number as strtoul() does with base 0; 0 if there is none."""
    text = text.lstrip(_SPACES)
    sign = -1 if text.startswith(b"-") else 1
    text = text[1:] if text.startswith((b"-", b"+")) else text
    digits, base = b"0123456789", 10
    if text[:2].lower() == b"0x":
        text, digits, base = text[2:], b"0123456789abcdefABCDEF", 16
    elif text.startswith(b"0"):
        digits, base = b"01234567", 8
    word = text[: len(text) - len(text.lstrip(digits))]
    if not word:
        return 0
    return min(int(word, base), UINT64_MAX) * sign % UINT64_END


if __name__ == "__main__":
    sys.exit(main())
