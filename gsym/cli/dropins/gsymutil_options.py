"""The command line of `gsymutil`: llvm-gsymutil's options, read by its rules.

They differ from those of the `gsym` verbs: options of one dash are letters that
may share a word, `--` is no separator, every mistake ends with exit code 1, and a
number may open with 0 for octal.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "gsymutil"

_UINT32_END = 1 << 32
_UINT64_END = 1 << 64
_BASE_OF_PREFIX = {"0x": 16, "0X": 16, "0b": 2, "0B": 2, "0o": 8}
_HELP_COLUMN = 25
_SHORTEST_SUGGESTION = 4

# Name, value ("" = a flag), help ("" = not shown). In the order of the help.
_OPTIONS = (
    ("--address", "value", "Look up an address; may be given many times"),
    (
        "--addresses-from-stdin",
        "",
        (
            "Look up addresses read from standard input, one a line,\n"
            "each followed by a space and the path of a GSYM file: <addr> <gsym-path>"
        ),
    ),
    (
        "--arch",
        "value",
        (
            "Of a file for several architectures convert only this one, given by\n"
            "name or number; may be given many times"
        ),
    ),
    ("--benchmark-reader", "", ""),
    ("--callsites-yaml-file", "value", ""),
    (
        "--convert",
        "value",
        (
            "Convert the debug information (DWARF) and symbol table of a file to\n"
            "GSYM, or the records of a Breakpad symbol file"
        ),
    ),
    (
        "--dwarf-callsites",
        "",
        "Convert call sites as well, where the debug information has them",
    ),
    ("--help", "", "Print this text"),
    ("-h", "", "Same as --help"),
    (
        "--json-summary-file",
        "value",
        "Write how often each kind of warning occurred to this file, as JSON",
    ),
    (
        "--merged-functions-filter",
        "value",
        (
            "Of merged functions show those only whose name matches this regular\n"
            "expression; may be given many times to show what matches any of them"
        ),
    ),
    (
        "--merged-functions",
        "",
        (
            "With --convert: keep all functions of one address range, the others as\n"
            "merged functions of the first; without it one of them is kept.\n"
            "With lookups: answer with all functions at an address"
        ),
    ),
    ("--num-threads", "value", "Threads that convert (default: one for each core)"),
    (
        "--out-file",
        "value",
        "Where the converted file goes (default: input path with .gsym behind it)",
    ),
    ("-o", "value", "Same as --out-file"),
    ("--output-version", "value", "GSYM version to write, 1 or 2 (default: 1)"),
    ("--quiet", "", "Print counts of warnings, not the warnings"),
    (
        "--segment-size",
        "value",
        "Split the output into files of about this many bytes",
    ),
    (
        "--statistics",
        "",
        (
            "Print what the bytes of a file are spent on; --statistics=json and\n"
            "--statistics=pretty-json print it as JSON"
        ),
    ),
    (
        "--symtab-file",
        "value",
        ("Take the symbol table from this file, not from the one converted"),
    ),
    ("--verbose", "", "With lookups: print all that is known of the function"),
    ("--verify", "", "Check the converted file against the debug information"),
    ("--version", "", "Print the version"),
    ("-v", "", "Same as --version"),
    # As the proposal of the format spelled them.
    ("-dwarf", "value", "Same as --convert, for an object file only"),
    ("-breakpad", "value", "Same as --convert, for a Breakpad symbol file only"),
    ("-out-file", "value", "Same as --out-file"),
)
# Options whose value is optional take it behind `=` only.
_OPTIONAL_VALUE = {"--benchmark-reader", "--statistics"}
_LONG_OF = {"-h": "--help", "-o": "--out-file", "-v": "--version"}
_PROPOSED = {
    "-dwarf": "--convert",
    "-breakpad": "--convert",
    "-out-file": "--out-file",
}
_TAKES_VALUE = {name for name, value, _ in _OPTIONS if value}
_FLAGS = {name for name, value, _ in _OPTIONS if not value}


class UsageError(Exception):
    """The command line is wrong; the text is the whole message."""


class Options:
    """What a command line of `gsymutil` asks for.

    Attributes:
        inputs: Paths of GSYM files, in order.
        addresses: Numbers given by --address, in order.
        input_kind: "object" or "breakpad" if the file to convert has to be of that
            kind, else "".
        statistics: "text", "json" or "pretty-json", or None.
        benchmark: First entry and stride of --benchmark-reader, or None.
    """

    def __init__(self, given: dict[str, list[str]], inputs: list[str]) -> None:
        """Check and convert the values; the order decides which fault is named."""
        self._given = given
        self.inputs = inputs
        self.help = bool(given.get("--help"))
        self.version = bool(given.get("--version"))
        if self.help or self.version:
            return
        self.verbose = bool(given.get("--verbose"))
        self.convert = self._last("--convert")
        self.input_kind = self._input_kind()
        self.symtab_file = self._last("--symtab-file")
        self.output = self._last("--out-file")
        self.architectures = given.get("--arch", [])
        self.json_summary_file = self._last("--json-summary-file")
        self.verify = bool(given.get("--verify"))
        self.threads = self._number("--num-threads", _UINT32_END)
        self.segment_size = self._number("--segment-size", _UINT64_END)
        self.quiet = bool(given.get("--quiet"))
        self.addresses = [
            _parse("--address", text, _UINT64_END)
            for text in given.get("--address", [])
        ]
        self.from_stdin = bool(given.get("--addresses-from-stdin"))
        self.merged_functions = bool(given.get("--merged-functions"))
        self.call_sites_yaml = self._last("--callsites-yaml-file")
        if "--callsites-yaml-file" in given and not self.call_sites_yaml:
            raise UsageError(
                f"{PROGRAM}: --callsites-yaml-file option requires a non-empty "
                "argument."
            )
        self.dwarf_call_sites = bool(given.get("--dwarf-callsites"))
        self.filters = self._filters()
        self.output_version = self._output_version()
        self.statistics = self._statistics()
        self.benchmark = self._benchmark()

    def _last(self, name: str) -> str:
        """The value that counts, "" where there is none."""
        return self._given.get(name, [""])[-1]

    def _number(self, name: str, end: int) -> int:
        """The value as a number, 0 where there is none."""
        return _parse(name, self._last(name), end) if name in self._given else 0

    def _input_kind(self) -> str:
        if "-dwarf" in self._given and "-breakpad" in self._given:
            raise UsageError(f"{PROGRAM}: -dwarf and -breakpad exclude each other")
        return (
            "breakpad"
            if "-breakpad" in self._given
            else ("object" if "-dwarf" in self._given else "")
        )

    def _filters(self) -> list[str]:
        filters = self._given.get("--merged-functions-filter", [])
        if filters and not (self.addresses or self.from_stdin):
            raise UsageError(
                f"{PROGRAM}: --merged-functions-filter can only be used with "
                "--address/--addresses-from-stdin"
            )
        if filters and not self.merged_functions:
            raise UsageError(
                f"{PROGRAM}: --merged-functions-filter requires --merged-functions"
            )
        return filters

    def _output_version(self) -> int:
        text = self._last("--output-version") or "1"
        if text not in {"1", "2"}:
            raise UsageError(
                f"{PROGRAM}: for the --output-version option: '{text}' is invalid. "
                "Use '1' or '2'."
            )
        return int(text)

    def _statistics(self) -> str | None:
        if "--statistics" not in self._given:
            return None
        form = self._last("--statistics") or "text"
        if form not in {"text", "json", "pretty-json"}:
            raise UsageError(
                f"{PROGRAM}: for the --statistics option: '{form}' is invalid. "
                "Use 'text', 'json' or 'pretty-json'."
            )
        return form

    def _benchmark(self) -> tuple[int, int] | None:
        if "--benchmark-reader" not in self._given:
            return None
        start, _, stride = self._last("--benchmark-reader").partition(",")
        first = _parse("--benchmark-reader", start or "0", _UINT64_END)
        return first, _parse("--benchmark-reader", stride or "1", _UINT64_END) or 1


def parse(arguments: list[str]) -> Options:
    """Read the words behind the program's name.

    Raises:
        UsageError: They are not a command line of this program.
    """
    given: dict[str, list[str]] = {}
    inputs: list[str] = []
    unknown: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument:
            continue
        if argument.partition("=")[0] in _PROPOSED:
            _take_proposed(argument, rest, given)
        elif argument.startswith("--"):
            _take_long(argument, rest, given, unknown)
        elif argument.startswith("-") and argument != "-":
            _take_short(argument, rest, given, unknown)
        else:
            inputs.append(argument)
    if unknown:
        raise UsageError(f"unknown argument '{unknown[0]}'{_suggestion(unknown[0])}")
    return Options(given, inputs)


def _take_long(
    argument: str,
    rest: Iterator[str],
    given: dict[str, list[str]],
    unknown: list[str],
) -> None:
    name, equals, value = argument.partition("=")
    if name in _FLAGS and (not equals or name in _OPTIONAL_VALUE):
        given.setdefault(name, []).append(value)
    elif name in _TAKES_VALUE:
        given.setdefault(name, []).append(value if equals else _next(name, rest))
    else:
        unknown.append(argument)


def _take_proposed(
    argument: str, rest: Iterator[str], given: dict[str, list[str]]
) -> None:
    name, equals, value = argument.partition("=")
    value = value if equals else _next(name, rest)
    given.setdefault(name, []).append(value)
    given.setdefault(_PROPOSED[name], []).append(value)


def _take_short(
    argument: str,
    rest: Iterator[str],
    given: dict[str, list[str]],
    unknown: list[str],
) -> None:
    for place, letter in enumerate(argument[1:], 2):
        name = "-" + letter
        if name in _FLAGS:
            given.setdefault(_LONG_OF[name], []).append("")
        elif name in _TAKES_VALUE and place == len(argument):
            given.setdefault(_LONG_OF[name], []).append(_next(name, rest))
        else:
            unknown.append(name)


def _next(name: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"{name}: missing argument")
    return value


def _parse(name: str, text: str, end: int) -> int:
    number = parse_number(text)
    if number is None or number >= end:
        raise UsageError(
            f"{PROGRAM}: for the {name} option: '{text}' value invalid for uint "
            "argument!"
        )
    return number


def parse_number(text: str) -> int | None:
    """A number as LLVM reads it, or None: 10, 0x1F, 0b11, 0o17 and 017."""
    digits, base = text, 10
    if text[:2] in _BASE_OF_PREFIX:
        digits, base = text[2:], _BASE_OF_PREFIX[text[:2]]
    elif len(text) > 1 and text[0] == "0":
        digits, base = text[1:], 8
    # int() lets a second prefix pass, and underscores; `0b` may be digits of base 16.
    prefix = digits[:2].lower()
    is_doubled = prefix in {"0x", "0o"} or (prefix == "0b" and base == 2)  # noqa: PLR2004
    if is_doubled or not digits.isascii() or not digits.isalnum():
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None


# ---- "did you mean"


def _suggestion(word: str) -> str:
    """A known option one edit away, in the words of LLVM; else nothing."""
    name, equals, value = word.partition("=")
    for option in sorted(_FLAGS | _TAKES_VALUE):
        if equals and option in _TAKES_VALUE | _OPTIONAL_VALUE:
            if _is_one_edit(name, option):
                return f", did you mean '{option}={value}'?"
        elif _is_one_edit(word, option):
            return f", did you mean '{option}'?"
    return ""


def _is_one_edit(left: str, right: str) -> bool:
    """One letter put in, left out or changed; short words are too alike."""
    shortest = min(len(left), len(right))
    if shortest < _SHORTEST_SUGGESTION or abs(len(left) - len(right)) > 1:
        return False
    same = next((i for i in range(shortest) if left[i] != right[i]), shortest)
    skip_left, skip_right = len(left) >= len(right), len(right) >= len(left)
    return left[same + skip_left :] == right[same + skip_right :]


# ---- help


def help_text() -> str:
    """What --help prints."""
    lines = [
        "OVERVIEW: Print, search and make GSYM files.",
        "",
        "Given paths of GSYM files, print all that is in them;",
        "with --address as well, look addresses up in them.",
        "With --convert, make a GSYM file of the debug information of another file.",
        "",
        f"USAGE: {PROGRAM} [options] <input GSYM files>",
        "",
        "OPTIONS:",
    ]
    for name, value, text in _OPTIONS:
        if text:
            lines += _help_entry(name, value, text.split("\n"))
    return "\n".join(lines) + "\n"


def _help_entry(name: str, value: str, texts: list[str]) -> list[str]:
    separator = "=" if name.startswith("--") else " "
    head = f"  {name}{separator}<{value}>" if value else f"  {name}"
    indent = " " * _HELP_COLUMN
    if len(head) < _HELP_COLUMN:
        return [head.ljust(_HELP_COLUMN) + texts[0], *(indent + t for t in texts[1:])]
    return [head, *(indent + text for text in texts)]
