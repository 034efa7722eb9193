"""The command line of `gsymutil`: llvm-gsymutil's options, parsed by its rules.

They differ from those of the `gsym` verbs: short options may share a word, `--` is not
a separator, every error ends with exit code 1, and a number with a leading 0 is octal.
"""

from __future__ import annotations

from gsym import __version__
from gsym.cli.grammar import (
    HelpRequested,
    Option,
    UsageError,
    Values,
    gathered,
    help_entry,
    read_declarations,
    scan_llvm,
)
from gsym.model import UINT64_END

PROGRAM = "gsymutil"

_UINT32_END = 1 << 32
_BASE_OF_PREFIX = {"0x": 16, "0X": 16, "0b": 2, "0B": 2, "0o": 8}
_SHORTEST_SUGGESTION = 4
_FILTER = "--merged-functions-filter"

# In the order of the help, which omits options without a text.
OPTIONS: tuple[Option, ...] = read_declarations(
    """\
--address value  Look up an address; may be given many times
--addresses-from-stdin  Look up addresses read from standard input, one a line,
  each followed by a space and the path of a GSYM file: <addr> <gsym-path>
--arch value  Of a file for several architectures convert only this one, given by
  name or number; may be given many times
--benchmark-reader[=value]
--callsites-yaml-file value
--convert value  Convert the debug information (DWARF) and symbol table of a file to
  GSYM, or the records of a Breakpad symbol file
--dwarf-callsites  Convert call sites as well, where the debug information has them
--help  Print this text
-h  Same as --help
--json-summary-file value
  Write how often each kind of warning occurred to this file, as JSON
--merged-functions-filter value
  Of merged functions show those only whose name matches this regular
  expression; may be given many times to show what matches any of them
--merged-functions
  With --convert: keep all functions of one address range, the others as
  merged functions of the first; without it one of them is kept.
  With lookups: answer with all functions at an address
--num-threads value  Threads that convert (default: one for each core)
--out-file value
  Where the converted file goes (default: input path with .gsym after it)
-o value  Same as --out-file
--output-version value  GSYM version to write, 1 or 2 (default: 1)
--quiet  Print counts of warnings, not the warnings
--segment-size value  Split the output into files of about this many bytes
--statistics[=value]  Print what the bytes of a file are spent on; --statistics=json and
  --statistics=pretty-json print it as JSON
--stubs-file value
  Take the names of symbol stubs from this Mach-O file, such as the program
  of a dSYM bundle, which does not have them
--symtab-file value  Take the symbol table from this file, not from the one converted
--verbose  With lookups: print all that is known of the function
--verify  Check the converted file against the debug information
--version  Print the version
-v  Same as --version
-dwarf value  Same as --convert, for an object file only
-breakpad value  Same as --convert, for a Breakpad symbol file only
-out-file value  Same as --out-file""",
)[1]
_SAME_AS = {"-h": "--help", "-o": "--out-file", "-v": "--version"} | {
    "-dwarf": "--convert",
    "-breakpad": "--convert",
    "-out-file": "--out-file",
}


class Options(Values):
    """A parsed command line; attributes are what is more than one value."""

    def __init__(self, given: list[tuple[str, str]], inputs: list[str]) -> None:
        """Check and convert the values; the order decides which error is reported."""
        super().__init__(OPTIONS, given, {})
        self.inputs = inputs  # paths of GSYM files, in order
        if self.flag("--help"):
            raise HelpRequested(help_text())
        if self.flag("--version"):
            version = f"{PROGRAM}\ngsym version {__version__}"
            raise HelpRequested(f"{version}\n  Prints what LLVM 24 prints.\n")
        if self.flag("-dwarf") and self.flag("-breakpad"):
            raise UsageError(f"{PROGRAM}: -dwarf and -breakpad exclude each other")
        self.threads: int = self._number("--num-threads", _UINT32_END)
        self.segment_size: int = self._number("--segment-size", UINT64_END)
        # numbers of --address, in order
        self.addresses: list[int] = [
            _parse("--address", text, UINT64_END) for text in self.texts("--address")
        ]
        if self.text("--callsites-yaml-file") == "":
            raise UsageError(
                f"{PROGRAM}: --callsites-yaml-file option requires a non-empty "
                "argument."
            )
        if self.flag(_FILTER):
            if not (self.addresses or self.flag("--addresses-from-stdin")):
                reason = "can only be used with --address/--addresses-from-stdin"
                raise UsageError(f"{PROGRAM}: {_FILTER} {reason}")
            if not self.flag("--merged-functions"):
                reason = "requires --merged-functions"
                raise UsageError(f"{PROGRAM}: {_FILTER} {reason}")
        self.output_version: int = int(self._one_of("--output-version", "1", "2"))
        # "text", "json" or "pretty-json", or None
        self.statistics: str | None = None
        if self.flag("--statistics"):
            styles = "text", "json", "pretty-json"
            self.statistics = self._one_of("--statistics", *styles)
        # first entry and stride of --benchmark-reader, or None
        self.benchmark: tuple[int, int] | None = None
        if (text := self.text("--benchmark-reader")) is not None:
            start, _, stride = text.partition(",")
            first, step = (
                _parse("--benchmark-reader", each, UINT64_END)
                for each in (start or "0", stride or "1")
            )
            self.benchmark = first, step or 1

    def _number(self, name: str, end: int) -> int:
        text = self.text(name)
        return 0 if text is None else _parse(name, text, end)

    def _one_of(self, name: str, *choices: str) -> str:
        """The value of an option; the first choice without one."""
        text = self.text(name) or choices[0]
        if text not in choices:
            *others, last = (f"'{each}'" for each in choices)
            raise UsageError(
                f"{PROGRAM}: for the {name} option: '{text}' is invalid. "
                f"Use {', '.join(others)} or {last}."
            )
        return text


def parse(arguments: list[str]) -> Options:
    """Parse the words after the program's name."""
    errors: list[str] = []
    given, inputs = gathered(scan_llvm(arguments, OPTIONS, errors), _SAME_AS)
    if errors:
        _, _, word = errors[0].partition("unknown argument ")
        raise UsageError(errors[0] + _suggestion(word.strip("'")))
    return Options(given, [*filter(None, inputs)])


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
            lines += help_entry(option.name + value, option.help, wraps=False)
    return "\n".join(lines) + "\n"
