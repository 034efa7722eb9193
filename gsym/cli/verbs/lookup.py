"""`gsym lookup`: addresses -> functions, files, lines and inline chains."""

from __future__ import annotations

import sys

import gsym.reading.reader
from gsym.cli import options
from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.gsym_input import find_for
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import (
    printable,
    printable_bytes,
    shortened,
    standard_input,
    tell,
)
from gsym.engine.native import to_bytes
from gsym.errors import GsymError
from gsym.formatting.formatter import Formatter, Style
from gsym.formatting.styles import OUTSIDE, json_style, text_style, unanswered
from gsym.model import UINT64_END

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.reading.reader import Reader


@Command(
    "gsym lookup",
    (
        options.GSYM_FILE,
        """\
[ADDRESS...]  link-time address as nm prints it, 1f64 or 0x1f64 (digits alone, without a
  leading zero, are decimal), or FUNCTION+OFFSET, such as main+0x40
--uuid HEX  refuse FILE unless it has this id""",
        options.ARCH,
        "--stdin  read addresses from standard input, one a line",
        options.JSON,
        """\
--oneline  print one line for each address, callers after '<-'
--load-address X  take addresses of a process that loaded the module at X
--return-addresses  take return addresses: look up the call before each""",
        options.DEMANGLE,
        "--merged-functions  also show other functions of the same code",
        options.STRICT,
        options.VERBOSE,
    ),
    """\
Frames are listed innermost first; [inlined] marks a call inlined into the function
on the next line. `+ N` counts bytes from the start of the function. FILE may also be
the https, s3, gs or az URL of a GSYM file; only the parts that are needed are read.""",
)
def lookup(values: Values) -> int:
    """Look up every address; the exit code is 3 for misses under `--strict`."""
    path, words = values.operand("FILE"), values.operands("ADDRESS")
    if values.flag("--stdin") == bool(words):
        raise UsageError("give either ADDRESS or '--stdin'")
    if values.flag("--json") and values.flag("--oneline"):
        raise UsageError("'--json' and '--oneline' exclude each other")
    given = [_number_or_name(word, "ADDRESS") for word in words]
    load_address = values.text("--load-address")
    uuid = options.hex_bytes("--uuid", values.text("--uuid"))
    read_ahead = gsym.reading.reader.wants_read_ahead(len(words))
    base = None
    if load_address is not None:
        base = options.parse_address(load_address, "option '--load-address'")
    reader, unsure = find_for(
        path, values, values.text("--arch"), uuid=uuid, read_ahead=read_ahead
    )
    with reader:
        session = _Session(reader, values, base, unsure)
        if words:
            session.answer(given)
        else:
            session.answer_standard_input()
    return session.exit_code


def _number_or_name(word: str, what: str) -> int | str:
    """An address, or *word* itself if it is `NAME+OFFSET`."""
    if "+" in word:
        # Few lookups are by name.
        from gsym.reading.named_address import split_name

        if split_name(word):
            return word
    return options.parse_address(word, what, " nor FUNCTION+OFFSET (main+0)")


class _Session:
    """Answers addresses in the chosen style and remembers how that went."""

    def __init__(
        self, reader: Reader, values: Values, load_address: int | None, unsure: str
    ) -> None:
        self._reader = reader
        self._unsure = unsure
        self._load_shift = 0
        if load_address is not None:
            self._load_shift = reader.header.base_address - load_address
        self._shift = self._load_shift - values.flag("--return-addresses")
        self._strict = values.flag("--strict")
        self._style = _style(values, unsure)
        self._text = self._formatter(reader)
        self._has_more_bits = self._refused = False
        self._line_count = 0  # of standard input, of lines that came before

    @property
    def exit_code(self) -> int:
        """1 for a damaged record or a bad line, 3 for what `--strict` counts, else 0.

        That is a miss, and a file that may be of another build.
        """
        if self._refused or self._text.damaged:
            return EXIT_FAILED
        missed = self._text.missed or self._has_more_bits or self._unsure
        return EXIT_INCOMPLETE if self._strict and missed else 0

    def placed(self, given: int | str) -> tuple[int, Formatter]:
        """An address as those that are given, and what answers it.

        Raises:
            GsymError: No function, or several, have the name and the offset.
        """
        if isinstance(given, int):
            return given, self._text
        from gsym.reading.named_address import place_of

        place = place_of(self._reader, given)
        is_own = place.reader is self._reader
        text = self._text if is_own else self._formatter(place.reader)
        return place.address - self._load_shift, text

    def answer(self, given: list[int | str]) -> None:
        """Print the answers to addresses."""
        places = [self.placed(each) for each in given]
        addresses = [address for address, _ in places]
        self._text.expect(b"".join(b"%#x\n" % address for address in addresses))
        for address, text in places:
            sys.stdout.buffer.write(self._answer_one(address, text))
        if self._text.missed or self._has_more_bits:
            self._explain(addresses)

    def _formatter(self, reader: Reader) -> Formatter:
        return Formatter(reader, self._style, shift=self._shift, wraps=False)

    def _explain(self, addresses: list[int]) -> None:
        """Say on standard error if an address is not of the module at all."""
        found = self._reader.module_range
        if found is None:
            return
        start, end = (bound - self._shift for bound in found)
        outside = next((each for each in addresses if not start <= each < end), None)
        if outside is not None:
            tell(
                f"gsym: note: {outside:#x} is outside the module ({start:#x}-{end:#x})"
                "; for an address of a running process, use --load-address"
            )

    def answer_standard_input(self) -> None:
        """Answer each line as soon as it is there, many at a time when they are."""
        source = standard_input().fileno()
        from gsym.cli.streams import answer_lines

        answer_lines(source, self._answer_lines)

    def _answer_lines(self, lines: bytes) -> bytes:
        """Print the answers to all complete lines; what is left of *lines*."""
        view, at = memoryview(lines), 0
        while True:
            at += self._text.answer(view[at:], sys.stdout.buffer.write)
            after = self._answer_line(lines, at)
            if not after:
                break
            at = after
        self._line_count += lines.count(b"\n")
        return lines[lines.rfind(b"\n") + 1 :]

    def _answer_line(self, lines: bytes, at: int) -> int:
        """Answer the next line that is not blank; the offset after it, 0 at the end."""
        while after := lines.find(b"\n", at) + 1:
            word = lines[at:after].strip()
            if word:
                sys.stdout.buffer.write(self._text_of(word, lines, at))
                break
            at = after
        return after

    def _text_of(self, word: bytes, lines: bytes, at: int) -> bytes:
        try:
            given = _number_or_name(word.decode("utf-8", "surrogateescape"), "line")
            place = self.placed(given)
        except (UsageError, GsymError):
            number = self._line_count + lines.count(b"\n", 0, at) + 1
            shown = shortened(word.decode("utf-8", "backslashreplace"))
            return self._refuse(shown, number)
        return self._answer_one(*place)

    def _answer_one(self, address: int, text: Formatter) -> bytes:
        if address < UINT64_END:
            return text.one(address)
        self._has_more_bits = True
        asked = {"address": address}
        return unanswered(b"%#x" % address, asked, OUTSIDE, self._style, self._unsure)

    def _refuse(self, word: str, number: int) -> bytes:
        """The answer to a line that is not an address."""
        self._refused = True
        reason = "not an address"
        tell(f"gsym: error: standard input, line {number}: '{word}' is {reason}")
        asked = {"address": None, "line": word}
        shown = to_bytes(printable(word))
        return unanswered(shown, asked, reason, self._style, self._unsure)


def _style(values: Values, unsure: str) -> Style:
    demangle, merged = options.demangles(values), values.flag("--merged-functions")
    if values.flag("--json"):
        return json_style(demangle=demangle, merged=merged, unsure=unsure)
    return text_style(
        escape=printable_bytes,
        demangle=demangle is not False,
        merged=merged,
        oneline=values.flag("--oneline"),
    )
