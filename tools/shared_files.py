"""Write the files of share/: manual pages and completions of the commands.

    python -m tools.shared_files FOLDER

A manual page is in the language of man(7), one a command and one a verb. The paths of
the files are printed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gsym import __version__
from gsym.cli.shells.completion import SHELLS, script
from gsym.cli.shells.programs import Program, choices_of, commands, programs_of
from tools.manual_sections import EXAMPLES, FILES, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.grammar import Option

_PLACE = "man/man1/{}.1"
_EXAMPLE = "  "  # lines that begin so are shown as they are
_EXIT_STATUS = {
    "0": "Success; an address without an answer is not an error.",
    "1": "An input or output could not be used, or what was checked has errors.",
    "2": "The command line is wrong.",
    "3": "The option --strict was given and the result is incomplete.",
}


def manual_files() -> Iterator[tuple[str, str]]:
    """The path of each page below share/, and the page."""
    for command in commands():
        for program in programs_of(command):
            yield _PLACE.format(program.page), manual_page(program)


def manual_page(program: Program) -> str:
    """The page of a command or verb."""
    return "".join(f"{line}\n" for line in _lines(program))


def _lines(program: Program) -> Iterator[str]:
    # Without a date: the same version gives the same page.
    yield f'.TH {_text(program.page.upper())} 1 "" "gsym {__version__}" "gsym"'
    yield ".SH NAME"
    yield f"{_text(program.page)} \\- {_text(program.summary)}"
    yield ".SH SYNOPSIS"
    words = ["VERB [ARGUMENT]..."] if program.verbs else ["[OPTION]..."]
    words += [each.usage for each in program.operands]
    yield f"{_bold(program.name)} {_text(' '.join(words))}"
    described = [(each.name, each.help) for each in program.operands if each.help]
    if described or program.notes:
        yield ".SH DESCRIPTION"
    for name, text in described:
        yield from _entry(_italic(name), text)
    if described and program.notes:
        yield ".PP"
    yield from _notes(program.notes)
    if program.verbs:
        yield ".SH VERBS"
    for verb, text in program.verbs.items():
        yield from _entry(_bold(verb), f"{text}. See {program.page}-{verb}(1).")
    if program.name in EXAMPLES:
        yield ".SH EXAMPLES"
    for command, text in EXAMPLES.get(program.name, ()):
        yield from _entry(_bold(command), text)
    yield ".SH OPTIONS"
    for option in program.options:
        if not option.help:
            continue
        again = " (repeatable)" if option.repeatable else ""
        yield from _entry(_heading(option), option.help + again)
    yield from _closing(program)


def _closing(program: Program) -> Iterator[str]:
    first, *drop_ins = commands()
    if program.name not in drop_ins:
        yield ".SH EXIT STATUS"
        for code, text in _EXIT_STATUS.items():
            yield from _entry(code, text)
    for title, entries in (("ENVIRONMENT", VARIABLES), ("FILES", FILES)):
        used = [
            (name, text)
            for name, (users, text) in entries.items()
            if program.name in users or any(map(program.has, users))
        ]
        if used:
            yield f".SH {title}"
        for name, text in used:
            yield from _entry(_bold(name), text)
    others = [each for each in (first, *drop_ins) if each != program.name]
    yield ".SH SEE ALSO"
    yield ", ".join(f"{_bold(each)}(1)" for each in others)


def _heading(option: Option) -> str:
    if option.shown:
        return _bold(option.shown)
    names = ", ".join(map(_bold, filter(None, (option.short, option.name))))
    value = _italic("|".join(choices_of(option)) or option.metavar)
    if not option.metavar:
        return names
    return f"{names}[={value}]" if option.optional is not None else f"{names} {value}"


def _entry(head: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield head
    yield _text(" ".join(text.split()))


def _notes(text: str) -> Iterator[str]:
    """Paragraphs, and examples as they are."""
    is_example = False
    for line in text.splitlines():
        if line.strip() and line.startswith(_EXAMPLE) != is_example:
            is_example = not is_example
            yield ".nf" if is_example else ".fi"
        yield _text(line) if line.strip() else ".PP"
    if is_example:
        yield ".fi"


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _italic(text: str) -> str:
    return f"\\fI{_text(text)}\\fR"


def _text(text: str) -> str:
    """*text* without a meaning for troff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in {".", "'"} else text


def script_files() -> Iterator[tuple[str, str]]:
    """The path of each completion below share/, and the script."""
    for shell, (_, _, place) in SHELLS.items():
        for command in commands():
            yield place.format(command), script(shell, command)


def main() -> None:
    """Write all files; print their paths."""
    for place, text in (*script_files(), *manual_files()):
        path = Path(sys.argv[1], place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
