"""The command line of `gsymutil`: llvm-gsymutil's options, parsed by its rules.

They differ from those of the `gsym` verbs: short options may share a word, `--` is not
a separator, every error ends with exit code 1, and a number with a leading 0 is octal.
"""

from __future__ import annotations

from gsym.cli.grammar import Option, UsageError, help_entry, scan_llvm
from gsym.model import UINT64_END

PROGRAM = "gsymutil"

_UINT32_END = 1 << 32
_BASE_OF_PREFIX = {"0x": 16, "0X": 16, "0b": 2, "0B": 2, "0o": 8}
_HELP_COLUMN = 25
_SHORTEST_SUGGESTION = 4

# In the order of the help, which omits options without a text.
OPTIONS = (
    Option("--address value", "Look up an address; may be given many times"),
    Option(
        "--addresses-from-stdin",
        "Look up addresses read from standard input, one a line,\n"
        "each followed by a space and the path of a GSYM file: <addr> <gsym-path>",
    ),
    Option(
        "--arch value",
        "Of a file for several architectures convert only this one, given by\n"
        "name or number; may be given many times",
    ),
    Option("--benchmark-reader[=value]", optional=""),
    Option("--callsites-yaml-file value"),
    Option(
        "--convert value",
        "Convert the debug information (DWARF) and symbol table of a file to\n"
        "GSYM, or the records of a Breakpad symbol file",
    ),
    Option(
        "--dwarf-callsites",
        "Convert call sites as well, where the debug information has them",
    ),
    Option("--help", "Print this text"),
    Option("-h", "Same as --help"),
    Option(
        "--json-summary-file value",
        "Write how often each kind of warning occurred to this file, as JSON",
    ),
    Option(
        "--merged-functions-filter value",
        "Of merged functions show those only whose name matches this regular\n"
        "expression; may be given many times to show what matches any of them",
    ),
    Option(
        "--merged-functions",
        "With --convert: keep all functions of one address range, the others as\n"
        "merged functions of the first; without it one of them is kept.\n"
        "With lookups: answer with all functions at an address",
    ),
    Option("--num-threads value", "Threads that convert (default: one for each core)"),
    Option(
        "--out-file value",
        "Where the converted file goes (default: input path with .gsym after it)",
    ),
    Option("-o value", "Same as --out-file"),
    Option("--output-version value", "GSYM version to write, 1 or 2 (default: 1)"),
    Option("--quiet", "Print counts of warnings, not the warnings"),
    Option(
        "--segment-size value", "Split the output into files of about this many bytes"
    ),
    Option(
        "--statistics[=value]",
        "Print what the bytes of a file are spent on; --statistics=json and\n"
        "--statistics=pretty-json print it as JSON",
        optional="",
    ),
    Option(
        "--stubs-file value",
        "Take the names of symbol stubs from this Mach-O file, such as the program\n"
        "of a dSYM bundle, which does not have them",
    ),
    Option(
        "--symtab-file value",
        "Take the symbol table from this file, not from the one converted",
    ),
    Option("--verbose", "With lookups: print all that is known of the function"),
    Option("--verify", "Check the converted file against the debug information"),
    Option("--version", "Print the version"),
    Option("-v", "Same as --version"),
    Option("-dwarf value", "Same as --convert, for an object file only"),
    Option("-breakpad value", "Same as --convert, for a Breakpad symbol file only"),
    Option("-out-file value", "Same as --out-file"),
)
_SAME_AS = {"-h": "--help", "-o": "--out-file", "-v": "--version"} | {
    "-dwarf": "--convert",
    "-breakpad": "--convert",
    "-out-file": "--out-file",
}


class Options:
    """A parsed command line."""

    def __init__(self, given: dict[str, list[str]], inputs: list[str]) -> None:
        """Check and convert the values; the order decides which error is reported."""
        self._given = given
        self.inputs = inputs  # paths of GSYM files, in order
        self.help: bool = bool(given.get("--help"))
        self.version: bool = bool(given.get("--version"))
        if self.help or self.version:
            return
        self.verbose: bool = bool(given.get("--verbose"))
        self.convert: str = self._last("--convert")
        if "-dwarf" in self._given and "-breakpad" in self._given:
            raise UsageError(f"{PROGRAM}: -dwarf and -breakpad exclude each other")
        # "object" or "breakpad" if the file to convert must be of that kind, else ""
        self.input_kind = (
            "breakpad"
            if "-breakpad" in self._given
            else ("object" if "-dwarf" in self._given else "")
        )
        self.symtab_file: str = self._last("--symtab-file")
        self.stubs_file: str = self._last("--stubs-file")
        self.output: str = self._last("--out-file")
        self.architectures: list[str] = given.get("--arch", [])
        self.json_summary_file: str = self._last("--json-summary-file")
        self.verify: bool = bool(given.get("--verify"))
        self.threads: int = self._number("--num-threads", _UINT32_END)
        self.segment_size: int = self._number("--segment-size", UINT64_END)
        self.quiet: bool = bool(given.get("--quiet"))
        # numbers of --address, in order
        self.addresses: list[int] = [
            _parse("--address", text, UINT64_END) for text in given.get("--address", [])
        ]
        self.from_stdin: bool = bool(given.get("--addresses-from-stdin"))
        self.merged_functions: bool = bool(given.get("--merged-functions"))
        self.call_sites_yaml: str = self._last("--callsites-yaml-file")
        if "--callsites-yaml-file" in given and not self.call_sites_yaml:
            raise UsageError(
                f"{PROGRAM}: --callsites-yaml-file option requires a non-empty "
                "argument."
            )
        self.dwarf_call_sites: bool = bool(given.get("--dwarf-callsites"))
        self.filters: list[str] = self._filters()
        self.output_version: int = self._output_version()
        # "text", "json" or "pretty-json", or None
        self.statistics: str | None = self._statistics()
        # first entry and stride of --benchmark-reader, or None
        self.benchmark: tuple[int, int] | None = self._benchmark()

    def _last(self, name: str) -> str:
        return self._given.get(name, [""])[-1]

    def _number(self, name: str, end: int) -> int:
        return _parse(name, self._last(name), end) if name in self._given else 0

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
        style = self._last("--statistics") or "text"
        if style not in {"text", "json", "pretty-json"}:
            raise UsageError(
                f"{PROGRAM}: for the --statistics option: '{style}' is invalid. "
                "Use 'text', 'json' or 'pretty-json'."
            )
        return style

    def _benchmark(self) -> tuple[int, int] | None:
        if "--benchmark-reader" not in self._given:
            return None
        start, _, stride = self._last("--benchmark-reader").partition(",")
        first = _parse("--benchmark-reader", start or "0", UINT64_END)
        return first, _parse("--benchmark-reader", stride or "1", UINT64_END) or 1


def parse(arguments: list[str]) -> Options:
    """Parse the words after the program's name."""
    given: dict[str, list[str]] = {}
    inputs: list[str] = []
    errors: list[str] = []
    for option, value in scan_llvm(arguments, OPTIONS, errors):
        if option is None:
            inputs += filter(None, [value])
            continue
        for name in filter(None, (option.name, _SAME_AS.get(option.name))):
            given.setdefault(name, []).append(value)
    if errors:
        _, _, word = errors[0].partition("unknown argument ")
        raise UsageError(errors[0] + _suggestion(word.strip("'")))
    return Options(given, inputs)


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
    # int() accepts a second prefix and underscores; `0b` may be digits of base 16.
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
    """LLVM's suggestion of an option that differs by one edit; else ""."""
    name, equals, value = word.partition("=")
    for option in sorted(OPTIONS, key=lambda each: each.name):
        if equals and option.metavar:
            if _is_one_edit(name, option.name):
                return f", did you mean '{option.name}={value}'?"
        elif _is_one_edit(word, option.name):
            return f", did you mean '{option.name}'?"
    return ""


def _is_one_edit(left: str, right: str) -> bool:
    """Whether one letter was added, removed or changed; false for short words."""
    shortest = min(len(left), len(right))
    if shortest < _SHORTEST_SUGGESTION or abs(len(left) - len(right)) > 1:
        return False
    same = next((i for i in range(shortest) if left[i] != right[i]), shortest)
    skip_left, skip_right = len(left) >= len(right), len(right) >= len(left)
    return left[same + skip_left :] == right[same + skip_right :]


# ---- help


def help_text() -> str:
    """The text of --help."""
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
    for option in OPTIONS:
        if option.help:
            separator = "=" if option.name.startswith("--") else " "
            has_value = option.metavar and option.optional is None
            value = f"{separator}<{option.metavar}>" if has_value else ""
            lines += help_entry(
                option.name + value, option.help, _HELP_COLUMN, wraps=False
            )
    return "\n".join(lines) + "\n"
