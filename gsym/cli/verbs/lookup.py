"""`gsym lookup`: addresses -> functions, files, lines and inline chains."""

from __future__ import annotations

import sys

import gsym.reading.reader
from gsym.cli.options import (
    Command,
    Operand,
    Option,
    UsageError,
    Values,
    hex_bytes,
    parse_number,
)
from gsym.cli.terminal import printable, printable_bytes
from gsym.errors import FormatError, GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.formatting.lookup import LookupText
    from gsym.model import Frame, Lookup
    from gsym.reading.reader import Reader

COMMAND = Command(
    "gsym lookup",
    "Find function, file, line and inline chain of addresses",
    (
        Operand("FILE", "GSYM file, or binary that holds one"),
        Operand(
            "ADDRESS",
            "link-time address, decimal or hexadecimal with 0x",
            many=True,
            required=False,
        ),
    ),
    (
        Option("--uuid", "refuse FILE unless it has this id", metavar="HEX"),
        Option("--stdin", "read addresses from standard input, one a line"),
        Option("--json", "print one JSON object a line for each address"),
        Option(
            "--load-address",
            "the addresses are those of a process that has the module loaded at X",
            metavar="X",
        ),
        Option(
            "--return-addresses",
            "the addresses are where calls return to: look up the call before them",
        ),
        Option("--demangle", "print names as people write them", short="-C"),
        Option("--merged-functions", "show functions folded into one as well"),
        Option("--strict", "exit with 3 when an address has no answer"),
    ),
    """\
Frames stand innermost first; [inlined] marks a call that the compiler folded into
the function below it. `+ N` counts bytes from the start of the function.""",
)

EXIT_DAMAGED = 1
EXIT_MISSES = 3

_ADDRESS_END = 1 << 64


def run(arguments: list[str]) -> int:
    """Look up every address; the exit code is 3 for misses under `--strict`."""
    values = COMMAND.parse(arguments)
    path, words = values.operand("FILE"), values.operands("ADDRESS")
    if values.flag("--stdin") == bool(words):
        raise UsageError("give either ADDRESS or '--stdin'")
    addresses = [parse_number(word, "ADDRESS") for word in words]
    load_address = values.number("--load-address")
    uuid = hex_bytes("--uuid", values.text("--uuid"))
    read_ahead = gsym.reading.reader.wants_read_ahead(len(addresses))
    with gsym.reading.reader.open(path, uuid, read_ahead=read_ahead) as reader:
        session = _Session(reader, values, load_address)
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
        self._demangles = values.flag("--demangle")
        self._is_json = values.flag("--json")
        self._engine: LookupText | None = None
        self._missed = self._damaged = False

    @property
    def exit_code(self) -> int:
        """1 for a damaged record, 3 for a miss that counts, else 0."""
        engine = self._engine
        if self._damaged or (engine is not None and engine.damaged):
            return EXIT_DAMAGED
        missed = self._missed or (engine is not None and engine.missed)
        return EXIT_MISSES if self._strict and missed else 0

    def answer(self, addresses: list[int]) -> None:
        """Print the answers to *addresses*."""
        for address in addresses:
            sys.stdout.write(self._answer_one(address))

    def answer_standard_input(self) -> None:
        """Answer each line as soon as it is there, many at a time when they are."""
        if sys.stdin is None:
            raise GsymError("standard input is closed")
        from gsym.cli.line_stream import answer_lines
        from gsym.cli.verbs.lookup_stream import LookupStream

        self._engine = self._make_engine()
        stream = LookupStream(self._engine, self._answer_one)
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


def _demangled(found: Lookup) -> Lookup:
    from gsym.engine.demangling import demangle

    return found._replace(
        function=found.function._replace(name=demangle(found.function.name)),
        frames=tuple(
            frame._replace(name=demangle(frame.name)) for frame in found.frames
        ),
        merged=tuple(map(_demangled, found.merged)),
    )


# ---- text for people


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


# ---- JSON for programs


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
