"""`gsym lookup`: addresses -> functions, files, lines and inline chains."""

from __future__ import annotations

import sys

import gsym.reading.reader
from gsym.cli.grammar import Command, Operand, Option, UsageError
from gsym.cli.gsym_input import open_gsym
from gsym.cli.options import (
    DEMANGLE,
    GSYM_FILE,
    JSON,
    STRICT,
    VERBOSE,
    demangles,
    hex_bytes,
    parse_address,
)
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import printable, printable_bytes, shortened
from gsym.engine.native import to_bytes
from gsym.errors import FormatError, GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.grammar import Values
    from gsym.formatting.lookup import LookupText
    from gsym.model import Frame, Lookup
    from gsym.reading.reader import Reader

_ADDRESS_END = 1 << 64


@Command(
    "gsym lookup",
    (
        GSYM_FILE,
        Operand(
            "ADDRESS",
            "link-time address as nm prints it: 1f64, 0x1f64; only digits, without a "
            "leading zero, are decimal",
            many=True,
            required=False,
        ),
    ),
    (
        Option("--uuid", "refuse FILE unless it has this id", metavar="HEX"),
        Option("--stdin", "read addresses from standard input, one a line"),
        JSON,
        Option(
            "--load-address",
            "the addresses are those of a process that has the module loaded at X",
            metavar="X",
        ),
        Option(
            "--return-addresses",
            "the addresses are where calls return to: look up the call before them",
        ),
        *DEMANGLE,
        Option("--merged-functions", "show functions folded into one as well"),
        STRICT,
        VERBOSE,
    ),
    """\
Frames stand innermost first; [inlined] marks a call that the compiler folded into
the function below it. `+ N` counts bytes from the start of the function.""",
)
def lookup(values: Values) -> int:
    """Look up every address; the exit code is 3 for misses under `--strict`."""
    path, words = values.operand("FILE"), values.operands("ADDRESS")
    if values.flag("--stdin") == bool(words):
        raise UsageError("give either ADDRESS or '--stdin'")
    addresses = [parse_address(word, "ADDRESS") for word in words]
    load_address = values.text("--load-address")
    uuid = hex_bytes("--uuid", values.text("--uuid"))
    read_ahead = gsym.reading.reader.wants_read_ahead(len(addresses))
    base = None
    if load_address is not None:
        base = parse_address(load_address, "option '--load-address'")
    with open_gsym(path, values, uuid=uuid, read_ahead=read_ahead) as reader:
        session = _Session(reader, values, base)
        if addresses:
            session.answer(addresses)
        else:
            session.answer_standard_input()
    return session.exit_code


class _Session:
    """Answers addresses in the chosen form and remembers how that went."""

    def __init__(
        self, reader: Reader, values: Values, load_address: int | None
    ) -> None:
        base = reader.header.base_address
        self._reader = reader
        self._shift = 0 if load_address is None else base - load_address
        if values.flag("--return-addresses"):
            self._shift -= 1
        self._merged = values.flag("--merged-functions")
        self._strict = values.flag("--strict")
        self._demangles = demangles(values)
        self._is_json = values.flag("--json")
        self._engine: LookupText | None = None
        self._missed = self._damaged = False

    @property
    def exit_code(self) -> int:
        """1 for a damaged record, 3 for a miss that counts, else 0."""
        engine = self._engine
        if self._damaged or (engine is not None and engine.damaged):
            return EXIT_FAILED
        missed = self._missed or (engine is not None and engine.missed)
        return EXIT_INCOMPLETE if self._strict and missed else 0

    def answer(self, addresses: list[int]) -> None:
        """Print the answers to *addresses*."""
        for address in addresses:
            sys.stdout.write(self._answer_one(address))
        if self._missed:
            self._explain(addresses)

    def _explain(self, addresses: list[int]) -> None:
        """Say on standard error if an address is not of the module at all."""
        from gsym.reading.names import module_range

        found = module_range(self._reader)
        if found is None:
            return
        start, end = (bound - self._shift for bound in found)
        outside = next((each for each in addresses if not start <= each < end), None)
        if outside is not None:
            print(
                f"gsym: note: {outside:#x} is outside of the module, whose addresses "
                f"are {start:#x}-{end:#x}: is it of a running process? "
                "(see --load-address)",
                file=sys.stderr,
            )

    def answer_standard_input(self) -> None:
        """Answer each line as soon as it is there, many at a time when they are."""
        if sys.stdin is None:
            raise GsymError("standard input is closed")
        from gsym.cli.streams import answer_lines

        self._engine = self._make_engine()
        stream = LookupStream(self._engine, self._answer_one, self._refuse)
        answer_lines(sys.stdin.fileno(), stream.answer)

    def _make_engine(self) -> LookupText | None:
        """What answers lines; None where it takes more than one record of one file."""
        if self._merged or not isinstance(self._reader, gsym.reading.reader.Reader):
            return None
        from gsym.formatting.lookup import LookupText

        if self._is_json:
            from gsym.formatting.json_text import ascii_text

            escape = ascii_text
        else:
            escape = printable_bytes
        return LookupText(
            self._reader,
            shift=self._shift,
            json=self._is_json,
            demangle=self._demangles,
            escape=escape,
        )

    def _answer_one(self, address: int) -> str:
        wanted = address + self._shift
        found, reason = None, ""
        if not 0 <= wanted < _ADDRESS_END:
            reason = "not an address of this module"
        else:
            try:
                found = self._reader.lookup(wanted, merged=self._merged)
            except FormatError as error:
                self._damaged = True
                reason = f"damaged record: {error.reason}"
        if found is None:
            self._missed = True
        elif self._demangles:
            found = _demangled(found)
        line = _json_line if self._is_json else _text
        return line(address, found, reason or "no function covers this address")

    def _refuse(self, word: str, number: int) -> str:
        """The answer to a line that is not an address."""
        self._damaged = True
        reason = "not an address"
        print(
            f"gsym: error: standard input, line {number}: '{printable(word)}' is "
            f"{reason}",
            file=sys.stderr,
        )
        if not self._is_json:
            return f"{printable(word)}: ?? ({reason})\n"
        import json

        answer: dict[str, object] = {
            "address": None,
            "line": word,
            "function": None,
            "frames": [],
        }
        return json.dumps({**answer, "reason": reason}) + "\n"


def _demangled(found: Lookup) -> Lookup:
    from gsym.engine.demangling import demangle

    return found._replace(
        function=found.function._replace(name=demangle(found.function.name)),
        frames=tuple(
            frame._replace(name=demangle(frame.name)) for frame in found.frames
        ),
        merged=tuple(map(_demangled, found.merged)),
    )


def _text(address: int, found: Lookup | None, reason: str) -> str:
    head = f"{address:#x}: "
    if found is None:
        return f"{head}?? ({printable(reason)})\n"
    indent = " " * len(head)
    lines = _frame_lines(found)
    if found.call_site_patterns:
        patterns = ", ".join(map(printable, found.call_site_patterns))
        lines.append(f"calls {patterns}")
    for other in found.merged:
        first, *rest = _frame_lines(other)
        lines.append(f"same code: {first}")
        lines += [f"           {line}" for line in rest]
    return head + f"\n{indent}".join(lines) + "\n"


def _frame_lines(found: Lookup) -> list[str]:
    return [_frame_line(frame) for frame in found.frames]


def _frame_line(frame: Frame) -> str:
    offset = f" + {frame.offset}" if frame.offset else ""
    line = str(frame.line) if frame.line else "?"
    place = f" at {printable(frame.path)}:{line}" if frame.path else ""
    inlined = " [inlined]" if frame.inlined else ""
    return printable(frame.name) + offset + place + inlined


def _json_line(address: int, found: Lookup | None, reason: str) -> str:
    import json

    answer: dict[str, object] = {"address": address}
    if found is None:
        answer |= {"function": None, "frames": [], "reason": reason}
    else:
        answer |= _json_answer(found)
        if found.merged:
            answer["merged"] = [_json_answer(other) for other in found.merged]
    return json.dumps(answer) + "\n"


def _json_answer(found: Lookup) -> dict[str, object]:
    answer: dict[str, object] = {
        "function": found.function._asdict(),
        "frames": [frame._asdict() for frame in found.frames],
    }
    if found.call_site_patterns:
        answer["call_site_patterns"] = found.call_site_patterns
    return answer


class LookupStream:
    """Answers lines as they come.

    Args:
        text: Answers what it can; None: nothing.
        answer: Answers any one address.
        refuse: Answers a line that is not an address, given with its number.
    """

    def __init__(
        self,
        text: LookupText | None,
        answer: Callable[[int], str],
        refuse: Callable[[str, int], str],
    ) -> None:
        self._text = text
        self._answer = answer
        self._refuse = refuse
        self._line_count = 0  # of lines that came before

    def answer(self, lines: bytes) -> bytes:
        """Print the answers to all complete lines; what is left of *lines*."""
        view, at = memoryview(lines), 0
        while True:
            if self._text is not None:
                at += self._text.answer(view[at:], sys.stdout.buffer.write)
            behind = self._answer_one(lines, at)
            if not behind:
                break
            at = behind
        self._line_count += lines.count(b"\n")
        return lines[lines.rfind(b"\n") + 1 :]

    def _answer_one(self, lines: bytes, at: int) -> int:
        """Answer the next line that is not blank: the place behind it, 0 for none."""
        while behind := lines.find(b"\n", at) + 1:
            word = lines[at:behind].strip()
            if word:
                sys.stdout.buffer.write(to_bytes(self._text_of(word, lines, at)))
                break
            at = behind
        return behind

    def _text_of(self, word: bytes, lines: bytes, at: int) -> str:
        try:
            address = parse_address(word.decode("ascii", "replace"), "line")
        except UsageError:
            number = self._line_count + lines.count(b"\n", 0, at) + 1
            shown = shortened(word.decode("utf-8", "backslashreplace"))
            return self._refuse(shown, number)
        return self._answer(address)
