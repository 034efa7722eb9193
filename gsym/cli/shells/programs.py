"""The commands and verbs as declared, in one form for shells and manual pages."""

from __future__ import annotations

from gsym import import_module
from gsym.cli.dropins import DROP_INS
from gsym.cli.grammar import Operand, Option
from gsym.cli.main import SUMMARY, find_command
from gsym.cli.verbs import VERBS, verbs_of
from gsym.records import NamedTuple

_ROOT = "gsym"
_COMMON = (Option("--help  show this text"), Option("--version  show the version"))


class Program(NamedTuple):
    """A command or a verb."""

    name: str  # what a user types to get here, e.g. "gsym store add"
    summary: str  # one sentence without a full stop
    operands: tuple[Operand, ...]  # in order
    options: tuple[Option, ...]  # in the order of the help
    verbs: dict[str, str]  # what each verb below it does, by its name
    notes: str = ""  # closing lines of the help

    @property
    def next_words(self) -> tuple[str, ...]:
        """The words of which one may come next: verbs, or what an operand may be."""
        words = (word for each in self.operands for word in alternatives(each.name))
        return (*self.verbs, *words)

    def has(self, name: str) -> bool:
        """Whether it has an option of that name."""
        return any(name == each.name for each in self.options)

    @property
    def page(self) -> str:
        """The name of its manual page."""
        return self.name.replace(" ", "-")


def commands() -> tuple[str, ...]:
    """The commands that are installed."""
    return (_ROOT, *DROP_INS)


def programs_of(command: str) -> list[Program]:
    """A command, before the verbs below it."""
    if command in DROP_INS:
        return [_drop_in(command)]
    return [_verb(verb) for verb in ("", *VERBS)]


def choices_of(option: Option) -> tuple[str, ...]:
    """The values that an option may have; none where there are too many to name."""
    return option.choices or alternatives(option.metavar)


def alternatives(text: str) -> tuple[str, ...]:
    """The words of `a|b|c`; none of another text."""
    return tuple(text.split("|")) if "|" in text else ()


def names_of(option: Option) -> tuple[str, ...]:
    """The spellings of an option without its value."""
    return tuple(name for name in option.spellings if "=" not in name)


def _verb(verb: str) -> Program:
    name = f"{_ROOT} {verb}".rstrip()
    if not verb or not VERBS[verb][0]:
        below = {name: VERBS[f"{verb} {name}".lstrip()][1] for name in verbs_of(verb)}
        return Program(name, VERBS[verb][1] if verb else SUMMARY, (), _COMMON, below)
    command = find_command(verb)
    declared = command.summary, command.operands, command.options
    return Program(name, *declared, {}, command.epilog.rstrip("\n"))


def _drop_in(command: str) -> Program:
    module, operand, summary = DROP_INS[command]
    declared = import_module(f"gsym.cli.dropins.{module}").OPTIONS
    return Program(command, summary, (Operand(f"[{operand}...]"),), declared, {})
