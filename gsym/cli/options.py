"""Options of a verb: one declaration gives the scanner, its errors and the help.

A verb declares a `Command` and reads the `Values` that `Command.parse` returns.
Written by hand because argparse takes longer to import than a lookup takes to run.
The rules are the usual ones: `--name value`, `--name=value`, `-n value`, `-nvalue`,
short flags in one word, operands anywhere, `--` before operands that open with `-`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_UINT64_END = 1 << 64
_LONGEST_NUMBER = 1024  # characters; Python prints no number of many more digits
_HELP_COLUMN = 26
_HELP_WIDTH = 80


class UsageError(Exception):
    """The command line is wrong; the text says what and how to better it."""


class HelpRequested(Exception):  # noqa: N818 - leaves the scanner, is no error
    """`--help` was given; the text is the answer."""


class Option:
    """An option: a flag without *metavar*, else one that takes a value.

    A *repeatable* option collects its values; of any other the last one counts.
    """

    __slots__ = ("help", "metavar", "name", "repeatable", "short")

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - the word for it
        *,
        short: str = "",
        metavar: str = "",
        repeatable: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.short = short
        self.metavar = metavar
        self.repeatable = repeatable


class Operand:
    """An argument told by its place; only the last one declared may be *many*."""

    __slots__ = ("help", "many", "name", "required")

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - the word for it
        *,
        many: bool = False,
        required: bool = True,
    ) -> None:
        self.name = name
        self.help = help
        self.many = many
        self.required = required

    @property
    def usage(self) -> str:
        """As the usage line shows it: `FILE`, `ADDRESS...`, `[ADDRESS...]`."""
        text = self.name + ("..." if self.many else "")
        return text if self.required else f"[{text}]"


class Values:
    """What a command line said, by the declared names."""

    __slots__ = ("_operands", "_options")

    def __init__(
        self, options: dict[str, list[str]], operands: dict[str, list[str]]
    ) -> None:
        self._options = options
        self._operands = operands

    def flag(self, name: str) -> bool:
        """Whether the flag was given."""
        return bool(self._options[name])

    def text(self, name: str) -> str | None:
        """The value of the option, or None where it was not given."""
        given = self._options[name]
        return given[-1] if given else None

    def texts(self, name: str) -> list[str]:
        """All values of a repeatable option, in order."""
        return list(self._options[name])

    def number(
        self, name: str, *, minimum: int = 0, end: int = _UINT64_END
    ) -> int | None:
        """The value as a whole number of at least *minimum* and below *end*.

        Raises:
            UsageError: It is no such number.
        """
        given = self.text(name)
        if given is None:
            return None
        number = parse_number(given, f"option '{name}'")
        if number < minimum:
            raise UsageError(f"option '{name}': {given} is less than {minimum}")
        if number >= end:
            raise UsageError(f"option '{name}': {given} is too large")
        return number

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        """The value of the option, which is one of *choices*; None without one.

        Raises:
            UsageError: It is none of them.
        """
        given = self.text(name)
        if given is not None and given not in choices:
            raise UsageError(f"option '{name}': choose {' or '.join(choices)}")
        return given

    def operand(self, name: str) -> str:
        """The value of a required operand."""
        return self._operands[name][0]

    def operands(self, name: str) -> list[str]:
        """All values of an operand that may come many times or not at all."""
        return list(self._operands[name])


class Command:
    """A verb's command line.

    Args:
        program: What a user types to get here, e.g. "gsym convert".
        summary: One sentence, without a full stop, for the list of verbs.
        operands: In order.
        options: In the order of the help; `--help` is added.
        epilog: Closing lines of the help, printed as they are.
    """

    __slots__ = ("epilog", "operands", "options", "program", "summary")

    def __init__(
        self,
        program: str,
        summary: str,
        operands: tuple[Operand, ...],
        options: tuple[Option, ...],
        epilog: str = "",
    ) -> None:
        self.program = program
        self.summary = summary
        self.operands = operands
        self.options = (*options, Option("--help", "show this text", short="-h"))
        self.epilog = epilog

    def parse(self, arguments: list[str]) -> Values:
        """Read *arguments*, those behind the verb.

        Raises:
            UsageError: An option is unknown, lacks its value or has one too
                many, or an operand is missing or left over.
            HelpRequested: `--help` was given.
        """
        options: dict[str, list[str]] = {option.name: [] for option in self.options}
        words: list[str] = []
        rest = iter(arguments)
        for argument in rest:
            if argument == "--":
                words.extend(rest)
            elif argument.startswith("--"):
                self._take_long(argument, rest, options)
            elif argument.startswith("-") and argument != "-":
                self._take_short(argument, rest, options)
            else:
                words.append(argument)
        if options["--help"]:
            raise HelpRequested(self.help())
        return Values(options, self._assign(words))

    def _take_long(
        self, argument: str, rest: Iterator[str], options: dict[str, list[str]]
    ) -> None:
        name, equals, value = argument.partition("=")
        option = next((o for o in self.options if o.name == name), None)
        if option is None:
            names = [candidate.name for candidate in self.options]
            raise UsageError(f"unknown option '{name}'{suggestion(name, names)}")
        if not option.metavar:
            if equals:
                raise UsageError(f"option '{name}' takes no value")
            value = "yes"
        elif not equals:
            value = _next_value(name, rest)
        options[option.name].append(value)

    def _take_short(
        self, argument: str, rest: Iterator[str], options: dict[str, list[str]]
    ) -> None:
        letters = argument[1:]
        while letters:
            short, letters = "-" + letters[0], letters[1:]
            option = next((o for o in self.options if o.short == short), None)
            if option is None:
                raise UsageError(f"unknown option '{short}'")
            if option.metavar:
                value = letters or _next_value(short, rest)
                letters = ""
            else:
                value = "yes"
            options[option.name].append(value)

    def _assign(self, words: list[str]) -> dict[str, list[str]]:
        operands: dict[str, list[str]] = {}
        for operand in self.operands:
            count = len(words) if operand.many else 1
            operands[operand.name], words = words[:count], words[count:]
            if operand.required and not operands[operand.name]:
                raise UsageError(f"{operand.name} is missing")
        if words:
            raise UsageError(f"unexpected argument '{words[0]}'")
        return operands

    def usage(self) -> str:
        """The usage line."""
        parts = [self.program, "[OPTION]..."]
        parts += [operand.usage for operand in self.operands]
        return " ".join(parts)

    def help(self) -> str:
        """The text of `--help`, with a newline at its end."""
        lines = [f"usage: {self.usage()}", "", f"{self.summary}.", ""]
        for operand in self.operands:
            lines += _help_entry(operand.name, operand.help)
        lines += ["", "options:"]
        for option in self.options:
            head = f"{option.short}, {option.name}" if option.short else option.name
            if option.metavar:
                head += f" {option.metavar}"
            again = " (repeatable)" if option.repeatable else ""
            lines += _help_entry(head, option.help + again)
        if self.epilog:
            lines += ["", self.epilog.rstrip("\n")]
        return "\n".join(lines) + "\n"


def parse_number(text: str, what: str) -> int:
    """A whole number, decimal or with a prefix 0x, 0o or 0b.

    Args:
        text: What was given.
        what: What it stands for, as the error shall call it.

    Raises:
        UsageError: *text* is no number.
    """
    # int() takes signs and underscores as well.
    if len(text) <= _LONGEST_NUMBER and text.isalnum():
        try:
            return int(text, 0)
        except ValueError:
            pass
    raise UsageError(
        f"{what}: '{text}' is not a number (decimal, or hexadecimal with 0x)"
    )


def path_rule(option: str, rule: str) -> tuple[str, str]:
    """The two prefixes of a value `OLD=NEW` of *option*.

    Raises:
        UsageError: It has another form.
    """
    old, equals, new = rule.partition("=")
    if not old or not equals:
        raise UsageError(f"option '{option}': '{rule}' is not of the form OLD=NEW")
    return old, new


def address_range(text: str) -> tuple[int, int]:
    """Start and end of a value `START-END` of `--address-range`.

    Raises:
        UsageError: It has another form, or there is no address in it.
    """
    start, dash, end = text.partition("-")
    what = "option '--address-range'"
    if not dash:
        raise UsageError(f"{what}: '{text}' is not of the form START-END")
    bounds = parse_number(start, what), parse_number(end, what)
    if not bounds[0] < bounds[1] < _UINT64_END:
        raise UsageError(f"{what}: '{text}' holds no address")
    return bounds


def hex_bytes(option: str, text: str | None) -> bytes | None:
    """The bytes that a value of *option* spells, None without a value.

    Raises:
        UsageError: It has another form, or no byte.
    """
    if text is None:
        return None
    try:
        value = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        value = b""
    if not value:
        raise UsageError(f"option '{option}': '{text}' is not a string of hex bytes")
    return value


def version_and_byteorder(values: Values) -> tuple[int | None, str | None]:
    """The values of `--output-version` and `--byte-order`, None where not given.

    Raises:
        UsageError: There is no such version or byte order.
    """
    version = values.number("--output-version")
    if version not in {None, 1, 2}:
        raise UsageError("option '--output-version': choose 1 or 2")
    return version, values.choice("--byte-order", ("little", "big"))


def suggestion(word: str, known: list[str]) -> str:
    """`; did you mean 'X'?` where *word* is close to a known one, else nothing."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _next_value(name: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"option '{name}' needs a value")
    return value


def _help_entry(head: str, text: str) -> list[str]:
    """Two columns; a long head stands on a line of its own."""
    lines = []
    line = f"  {head}"
    if len(line) > _HELP_COLUMN - 2:
        lines.append(line)
        line = ""
    line = line.ljust(_HELP_COLUMN)
    for word in text.split():
        if len(line) + len(word) > _HELP_WIDTH:
            lines.append(line.rstrip())
            line = " " * _HELP_COLUMN
        line += word + " "
    lines.append(line.rstrip())
    return lines
