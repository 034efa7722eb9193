"""Command lines: options declared once, read by the rules of gsym, of GNU or of LLVM.

A verb declares a `Command`, which reads words into `Values` and prints the help. The
drop-ins declare their options in the same way and read them with `scan_getopt` (GNU) or
`scan_llvm`. Written by hand because argparse takes longer to import than a lookup takes
to run. The rules of gsym are the usual ones: `--name value`, `--name=value`,
`-n value`, `-nvalue`, short flags in one word, operands anywhere, `--` before operands
that start with `-`.
"""

from __future__ import annotations

from gsym import __version__
from gsym.model import UINT64_END
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Scanned = Iterator[tuple["Option | None", str]]
    Work = Callable[["Values"], int]

_MAX_DIGITS = 1024  # Python prints no number of many more digits
_HELP_COLUMN, _PEERS_COLUMN = 26, 25
_HELP_WIDTH = 80
# How alike a suggestion has to be, from 0 to 1; two letters of three in short words.
_CLOSE, _CLOSE_IF_SHORT = 0.75, 0.66
_SHORT = 4
_GIVEN = "yes"  # the value of a flag


class UsageError(Exception):
    """The command line is wrong; the text says what is, and how to correct it."""


class usage_errors:  # noqa: N801 - a function for its users
    """A `with` block whose `ValueError` is an error of the command line.

    Args:
        what: The option or operand that is wrong; "" if the error says so.
    """

    def __init__(self, what: str = "") -> None:
        self._opening = f"{what}: " if what else ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, ValueError):
            raise UsageError(f"{self._opening}{error}") from None


class HelpRequested(Exception):  # noqa: N818 - leaves the scanner, is not an error
    """`--help` or `--version` was given; the text is the answer."""


class Option:
    """An option: a flag, or with the name of a value one that takes a value.

    Args:
        text: Its letter, its long name and the name of its value, as the help has them,
            two spaces, and what the help says: `-o, --output OUT  file to write`. A
            value after `=` in brackets may be left out: `--color[=WHEN]`; with dots
            after its name all that are given are collected, while of any other option
            the last one counts: `--source SOURCE...`. In braces come the values that it
            may have, the default first, and at the end other spellings: `--to FORMAT
            {text|json} | --format`.
        optional: Its value where that is left out; by default that is the first choice.
        shown: How the help spells it, where that is not `head`.
    """

    __slots__ = (
        *("aliases", "choices", "head", "help", "metavar", "name", "optional"),
        *("repeatable", "short", "shown"),
    )

    def __init__(self, text: str, *, optional: str = "", shown: str = "") -> None:
        self.help: str
        declared, _, self.help = text.partition("  ")
        declared, *aliases = declared.split(" | ")
        head, _, listed = declared.partition(" {")
        self.head: str = head.removesuffix("...")
        self.repeatable: bool = self.head != head
        short, comma, spelled = self.head.rpartition(", ")
        self.short: str = short if comma else ""
        name, _, value = spelled.partition(" ")
        name, _, value_in_brackets = name.partition("[=")
        self.name: str = name
        self.metavar: str = value or value_in_brackets[:-1]
        choices = listed[:-1].split("|")  # [""] without any
        self.choices: tuple[str, ...] = tuple(filter(None, choices))
        self.optional: str | None = None
        if value_in_brackets:
            self.optional = optional or choices[0]
        self.aliases: tuple[str, ...] = tuple(aliases)
        self.shown: str = shown

    @property
    def spellings(self) -> tuple[str, ...]:
        """All of its names."""
        return tuple(filter(None, (self.name, self.short, *self.aliases)))


class Operand:
    """A positional argument.

    Args:
        text: Its name, two spaces, and what the help says. The name is in brackets if
            it may be left out, with dots if there may be many, as of the last one
            declared: `FILE`, `ADDRESS...`, `[ADDRESS...]`.
    """

    __slots__ = ("help", "many", "name", "required", "usage")

    def __init__(self, text: str) -> None:
        self.usage: str
        self.help: str
        self.usage, _, self.help = text.partition("  ")
        self.name: str = self.usage.strip("[].")
        self.many: bool = "..." in self.usage  # whether there may be many
        self.required: bool = not self.usage.startswith("[")  # whether it must be given


def read_declarations(
    *declared: str | Option,
) -> tuple[tuple[Operand, ...], tuple[Option, ...]]:
    """The operands and the options that texts declare, and options among the texts.

    Each begins a line; lines that are indented go on with its help.
    """
    operands: list[Operand] = []
    options: list[Option] = []
    for each in declared:
        if isinstance(each, Option):
            options.append(each)
            continue
        texts: list[str] = []
        for line in each.split("\n"):
            if not line.startswith("  "):
                texts.append(line)
            else:
                texts[-1] += ("\n" if "  " in texts[-1] else "  ") + line.strip()
        for text in texts:
            if text.startswith("-"):
                options.append(Option(text))
            else:
                operands.append(Operand(text))
    return tuple(operands), tuple(options)


class Values:
    """The values of a command line, by the declared names."""

    __slots__ = ("_declared", "_given", "_operands", "_options")

    def __init__(
        self,
        declared: Sequence[Option],
        options: Sequence[tuple[str, str]],
        operands: dict[str, list[str]],
    ) -> None:
        self._declared = {option.name: option for option in declared}
        self._options: dict[str, list[str]] = {name: [] for name in self._declared}
        for name, value in options:
            self._options[name].append(value)
        self._operands = operands
        self._given = options

    def flag(self, name: str) -> bool:
        """Whether the option was given."""
        return bool(self._options[name])

    def text(self, name: str) -> str | None:
        """The value of the option, or None where it was not given."""
        given = self._options[name]
        return given[-1] if given else None

    def required(self, name: str) -> str:
        """The value of an option that must be given."""
        given = self.text(name)
        if not given:
            raise UsageError(f"option '{name}' is required")
        return given

    def texts(self, name: str) -> list[str]:
        """All values of a repeatable option, in order."""
        return list(self._options[name])

    def has(self, name: str) -> bool:
        """Whether the command has such an option."""
        return name in self._declared

    def last_of(self, yes: str, no: str, *, default: bool) -> bool:
        """Whether *yes* was given after *no*; *default* where neither was."""
        given = [name for name, _ in self._given if name in {yes, no}]
        return given[-1] == yes if given else default

    def with_text(self, name: str, text: str = _GIVEN) -> Values:
        """Copy these values, with one more option, or value of one, at the end."""
        options = [*self._given, (name, text)]
        return Values([*self._declared.values()], options, self._operands)

    def number(
        self, name: str, *, minimum: int = 0, end: int = UINT64_END
    ) -> int | None:
        """The value as a whole number of at least *minimum* and below *end*."""
        given = self.text(name)
        if given is None:
            return None
        value = parse_number(given, f"option '{name}'")
        return _in_range(value, name, given, minimum, end)

    def size(self, name: str, *, minimum: int = 1) -> int | None:
        """The value as a number of bytes: `500000`, `500M`, `1GiB`."""
        given = self.text(name)
        if given is None:
            return None
        from gsym.sizes import read_size

        with usage_errors(f"option '{name}'"):
            value = read_size(given)
        return _in_range(value, name, given, minimum, UINT64_END)

    def seconds(self, name: str) -> float | None:
        """The value as a time in seconds, which may have a unit: `30`, `12h`."""
        given = self.text(name)
        if given is None:
            return None
        from gsym.sizes import read_duration

        with usage_errors(f"option '{name}'"):
            value = read_duration(given, "s")
        if not value:
            raise UsageError(
                f"option '{name}': invalid time '{given}': expected one above 0"
            )
        return value / 1e9

    def choice(self, name: str) -> str | None:
        """The value of an option with choices, or None where it was not given."""
        given, choices = self.text(name), self._declared[name].choices
        if given is not None and given not in choices:
            raise UsageError(f"option '{name}': choose {' or '.join(choices)}")
        return given

    def chosen(self, name: str) -> str:
        """The value of an option with choices; by default the first of them."""
        return self.choice(name) or self._declared[name].choices[0]

    def operand(self, name: str) -> str:
        """The value of a required operand."""
        return self._operands[name][0]

    def operands(self, name: str) -> list[str]:
        """All values of an operand that may come many times or not at all."""
        return list(self._operands[name])


class Command:
    """A verb's command line, and as a decorator the verb itself.

    Args:
        program: What a user types to get here, e.g. "gsym convert".
        declared: Operands and options in the order of the help, see
            `read_declarations`; `--help` and `--version` are added.
        epilog: Closing paragraphs of the help. They are filled, but for lines that
            start with two spaces.
        scan: Reads the words, in place of `scan_getopt`.
    """

    __slots__ = ("_scan", "_work", "epilog", "operands", "options", "program")

    def __init__(
        self,
        program: str,
        declared: Sequence[str | Option] = (),
        epilog: str = "",
        *,
        scan: Callable[[Sequence[str], Sequence[Option]], Scanned] | None = None,
    ) -> None:
        self.program: str = program
        self.operands: tuple[Operand, ...]
        self.options: tuple[Option, ...]
        self.operands, self.options = read_declarations(*declared, _ON_ITSELF)
        self.epilog: str = epilog
        self._scan = scan or (lambda words, options: scan_getopt(words, options, GSYM))
        self._work: Work | None = None

    def __call__(self, work: Work) -> Command:
        """Make *work*, which gives the exit code, what the verb does."""
        self._work = work
        return self

    @property
    def summary(self) -> str:
        """One sentence without a full stop, from the list of verbs."""
        from gsym.cli.verbs import VERBS

        return VERBS.get(self.program.removeprefix("gsym "), ("", ""))[1]

    def read(self, arguments: Sequence[str]) -> tuple[Work, Values]:
        """Read *arguments*: the function to call, and the values for it.

        Raises:
            HelpRequested: The help or the version was asked for.
            UsageError: The command line is wrong.
        """
        assert self._work is not None  # noqa: S101 - the decorator was applied
        return self._work, self.parse(arguments)

    def parse(self, arguments: Sequence[str]) -> Values:
        """Read *arguments*, those after the verb.

        Raises:
            UsageError: An option is unknown, lacks its value or has one too
                many, or an operand is missing or left over.
            HelpRequested: `--help` or `--version` was given.
        """
        given, words = gathered(self._scan(arguments, self.options))
        names = {name for name, _ in given}
        if "--help" in names:
            raise HelpRequested(self.help())
        if "--version" in names:
            raise HelpRequested(f"gsym {__version__}\n")
        operands: dict[str, list[str]] = {}
        for operand in self.operands:
            count = len(words) if operand.many else 1
            operands[operand.name], words = words[:count], words[count:]
            if operand.required and not operands[operand.name]:
                raise UsageError(f"{operand.name} is missing")
        if words:
            raise UsageError(f"unexpected argument '{words[0]}'")
        return Values(self.options, given, operands)

    def usage(self) -> str:
        """The usage line."""
        parts = [self.program, "[OPTION]..."]
        parts += [operand.usage for operand in self.operands]
        return " ".join(parts)

    def help(self) -> str:
        """The text of `--help`, with a newline at its end."""
        lines = [f"usage: {self.usage()}", "", f"{self.summary}.", ""]
        for operand in self.operands:
            lines += help_entry(operand.name, operand.help)
        lines += [""] if self.operands else []
        lines.append("options:")
        for option in self.options:
            again = " (repeatable)" if option.repeatable else ""
            lines += help_entry(option.shown or option.head, option.help + again)
        for paragraph in filter(None, self.epilog.rstrip("\n").split("\n\n")):
            is_filled = paragraph.startswith("  ")
            shown = paragraph.split("\n") if is_filled else _wrapped(paragraph)
            lines += ["", *shown]
        return "\n".join(lines) + "\n"


_ON_ITSELF = "-h, --help  show this text\n--version  show the version"


def gathered(
    scanned: Scanned, same_as: Mapping[str, str] = {}
) -> tuple[list[tuple[str, str]], list[str]]:
    """Name and value of each option in order, and the operands.

    An option that is the *same_as* another one counts as both.
    """
    given: list[tuple[str, str]] = []
    words: list[str] = []
    for option, value in scanned:
        if option is None:
            words.append(value)
        else:
            names = (option.name, same_as.get(option.name))
            given += [(name, value) for name in names if name]
    return given, words


# ---- the rules of getopt, as gsym and GNU have them


class Dialect(NamedTuple):
    """The differences between programs that read options as getopt_long does."""

    # About: an unknown letter, an unknown name, a value that is not taken, one
    # that is missing after a name, one that is missing after a letter.
    messages: tuple[str, str, str, str, str]
    abbreviates: bool = False
    suggests: bool = False
    takes_next: bool = False  # an optional value may be the next word


GSYM = Dialect(
    (
        "unknown option '-{}'",
        "unknown option '{}'",
        "option '{}' takes no value",
        "option '{}' needs a value",
        "option '-{}' needs a value",
    ),
    suggests=True,
    takes_next=True,
)
GNU = Dialect(
    (
        "invalid option -- '{}'",
        "unrecognized option '{}'",
        "option '{}' doesn't allow an argument",
        "option '{}' requires an argument",
        "option requires an argument -- '{}'",
    ),
    abbreviates=True,
)


def scan_getopt(
    words: Sequence[str],
    options: Sequence[Option],
    dialect: Dialect,
    *,
    options_first: bool = False,
) -> Scanned:
    """Each option with its value, and None with each operand, in order."""
    left = list(words[::-1])
    by_name = {spelling: each for each in options for spelling in each.spellings}
    while left:
        word = left.pop()
        is_end = False
        if word == "--":
            is_end = True
        elif word.startswith("--"):
            yield _long_option(word, left, by_name, dialect)
        elif word.startswith("-") and word != "-":
            yield from _short_options(word[1:], left, by_name, dialect)
        else:
            is_end = options_first
            yield None, word
        if is_end:
            yield from ((None, each) for each in left[::-1])
            return


def _long_option(
    word: str, left: list[str], by_name: dict[str, Option], dialect: Dialect
) -> tuple[Option, str]:
    _, unknown, no_value, needs_value, _ = dialect.messages
    given, equals, value = word.partition("=")
    name = _full_name(given, by_name) if dialect.abbreviates else given
    option = by_name.get(name)
    if option is None:
        hint = suggestion(given, list(by_name)) if dialect.suggests else ""
        raise UsageError(unknown.format(given) + hint)
    if equals:
        if not option.metavar:
            raise UsageError(no_value.format(name))
        return option, value
    if not option.metavar:
        return option, _GIVEN
    if option.optional is not None:
        is_next = dialect.takes_next and left and left[-1] in option.choices
        return option, left.pop() if is_next else option.optional
    if not left:
        raise UsageError(needs_value.format(name))
    return option, left.pop()


def _full_name(given: str, by_name: dict[str, Option]) -> str:
    """The option that a name, or the beginning of one, stands for."""
    if given in by_name:
        return given
    names = [name for name in by_name if name.startswith(given)]
    if len({by_name[name] for name in names}) > 1:
        known = " ".join(f"'{name}'" for name in names)
        raise UsageError(f"option '{given}' is ambiguous; possibilities: {known}")
    return names[0] if names else given


def _short_options(
    letters: str, left: list[str], by_name: dict[str, Option], dialect: Dialect
) -> Iterator[tuple[Option, str]]:
    unknown, *_, needs_value = dialect.messages
    while letters:
        letter, letters = letters[0], letters[1:]
        option = by_name.get(f"-{letter}")
        if option is None:
            raise UsageError(unknown.format(letter))
        if option.optional is not None and dialect.takes_next:
            is_joined = letters.startswith("=") or letters in option.choices
            if is_joined or (not letters and left and left[-1] in option.choices):
                yield option, letters.removeprefix("=") if is_joined else left.pop()
                return
        if not option.metavar or option.optional is not None:
            yield option, option.optional or _GIVEN
            continue
        if not letters and not left:
            raise UsageError(needs_value.format(letter))
        yield option, letters or left.pop()
        return


# ---- the rules of LLVM


def scan_llvm(
    words: Sequence[str], options: Sequence[Option], faults: list[str]
) -> Scanned:
    """Scan *words* by the rules of LLVM's tools.

    An option is the longest known spelling that the word starts with; the rest of a
    word with one dash is read as further letters. *faults* gets what is wrong, the
    first fault first. An optional value is joined by `=`. Flags have the value "".
    """
    flags, separate, joined = _llvm_spellings(options)
    left = list(words[::-1])
    while left:
        word = left.pop()
        if not word.startswith("-") or word == "-":
            yield None, word
            continue
        while word:
            rest = ""
            if word in flags:
                yield flags[word], flags[word].optional or ""
            elif word in separate:
                if left:
                    yield separate[word], left.pop()
                else:
                    faults.insert(0, f"{word}: missing argument")
            elif prefix := max(filter(word.startswith, joined), key=len, default=""):
                yield joined[prefix], word[len(prefix) :]
            elif word.startswith("--") or (word[:2] in flags and word[2:3] == "="):
                faults.append(f"unknown argument '{word}'")
            else:
                letter, rest = word[:2], word[2:]
                if letter in flags:
                    yield flags[letter], flags[letter].optional or ""
                else:
                    faults.append(f"unknown argument '{letter}'")
            word = rest and f"-{rest}"


def _llvm_spellings(
    options: Sequence[Option],
) -> tuple[dict[str, Option], dict[str, Option], dict[str, Option]]:
    """The spellings of flags, of options before a value, and of those joined to one."""
    flags, separate, joined = {}, {}, {}
    for option in options:
        for spelling in option.spellings:
            if not option.metavar or option.optional is not None:
                flags[spelling] = option
            else:
                separate[spelling] = option
            if option.metavar and spelling not in option.aliases:
                joined[f"{spelling}="] = option
        if option.metavar and option.optional is None and option.short:
            joined[option.short] = option
    return flags, separate, joined


# ---- response files


def split_words(text: str) -> list[str]:
    """Words between white space; quotes join, a backslash quotes.

    As libiberty and LLVM read the response files of GNU's style.
    """
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    characters = iter(text)
    for character in characters:
        if not quote and character.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        if character == "\\":
            word.append(next(characters, ""))
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        else:
            word.append(character)
    if word is not None:
        words.append("".join(word))
    return words


def expand_response_files(
    words: Sequence[str], most: int, *, is_strict: bool = False
) -> list[str]:
    """*words* with the contents of files in the place of `@FILE`.

    At most so many are read, as one may name itself. With *is_strict* a folder, and a
    file too many, are errors; else words like others.
    """
    done: list[str] = []
    left, opened = list(words[::-1]), 0
    while left:
        word = left.pop()
        if word.startswith("@") and opened < most:
            try:
                with open(word[1:], encoding="utf-8", errors="surrogateescape") as file:
                    left += split_words(file.read())[::-1]
            except OSError as error:
                if is_strict and isinstance(error, IsADirectoryError):
                    reason = "error: @-file refers to a directory"
                    raise UsageError(reason) from None
            else:
                opened += 1
                if is_strict and opened == most:
                    raise UsageError("error: too many @-files encountered")
                continue
        done.append(word)
    return done


# ---- values


def parse_number(text: str, what: str) -> int:
    """A whole number, decimal or with a prefix 0x, 0o or 0b.

    An error calls it *what*.
    """
    # int() takes signs and underscores as well.
    if len(text) <= _MAX_DIGITS and text.isalnum():
        try:
            return int(text, 0)
        except ValueError:
            pass
    raise UsageError(
        f"{what}: '{text}' is not a number (decimal, or hexadecimal with 0x)"
    )


def suggestion(word: str, known: list[str]) -> str:
    """`; did you mean 'X'?` where *word* is close to a known one, else nothing.

    The beginning of a known one is closest.
    """
    import difflib

    cutoff = _CLOSE if len(word.lstrip("-")) > _SHORT else _CLOSE_IF_SHORT
    close = [each for each in known if word.strip("-") and each.startswith(word)]
    close += difflib.get_close_matches(word, known, n=1, cutoff=cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""


def help_entry(head: str, text: str, *, wraps: bool = True) -> list[str]:
    """Two columns; a long head stands on a line of its own."""
    lines, column = [], _HELP_COLUMN if wraps else _PEERS_COLUMN
    line = f"  {head}"
    if len(line) > column - 1 - wraps:
        lines.append(line)
        line = ""
    line = line.ljust(column)
    if not wraps:
        first, *others = text.split("\n")
        return [*lines, line + first, *(" " * column + other for other in others)]
    return [*lines, *_wrapped(text, line, column)]


def _wrapped(text: str, line: str = "", column: int = 0) -> list[str]:
    """Lines of *text*, after what the first has; the others begin at a column."""
    lines = []
    for word in text.split():  # `textwrap` takes as long to import as all else
        if len(line) + len(word) > _HELP_WIDTH:
            lines.append(line.rstrip())
            line = " " * column
        line += word + " "
    return [*lines, line.rstrip()]


def _in_range(value: int, name: str, given: str, minimum: int, end: int) -> int:
    if value < minimum:
        raise UsageError(f"option '{name}': {given} is less than {minimum}")
    if value >= end:
        raise UsageError(f"option '{name}': {given} is too large")
    return value
