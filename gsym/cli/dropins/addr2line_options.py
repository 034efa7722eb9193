"""The command line of `gsym-addr2line`: GNU addr2line's options, read as getopt does.

Letters may share a word, long names may be cut short as long as one option is meant,
options may stand behind addresses, and `@FILE` stands for the words in a file.
"""

from __future__ import annotations

import os

from gsym.cli.response_files import split_words
from gsym.errors import CopyableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "gsym-addr2line"

_MOST_FILES = 2000  # one may name itself
_DEFAULT_FILE = "a.out"
_STYLES = ("none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust")

_NO, _OPTIONAL, _REQUIRED = range(3)
# Long name -> letter, and whether there is a value.
_LONG = {
    "addresses": ("a", _NO),
    "basenames": ("s", _NO),
    "demangle": ("C", _OPTIONAL),
    "exe": ("e", _REQUIRED),
    "functions": ("f", _NO),
    "inlines": ("i", _NO),
    "pretty-print": ("p", _NO),
    "recurse-limit": ("R", _NO),
    "recursion-limit": ("R", _NO),
    "no-recurse-limit": ("r", _NO),
    "no-recursion-limit": ("r", _NO),
    "section": ("j", _REQUIRED),
    "target": ("b", _REQUIRED),
    "help": ("h", _NO),
    "version": ("v", _NO),
}
_LETTERS = "aCsfipRrhHvV"
_LETTERS_WITH_VALUE = "bej"

_HELP = """\
Usage: {program} [option(s)] [addr(s)]
 Convert addresses into line number/file name pairs.
 If no addresses are specified on the command line, they will be read from stdin
 The options are:
  @<file>                Read options from <file>
  -a --addresses         Show addresses
  -b --target=<bfdname>  Accepted and ignored: files are told by their content
  -e --exe=<file>        Binary, or GSYM file, to look addresses up in
                         (default is a.out)
  -i --inlines           Show the functions that one was inlined into
  -j --section=<name>    Read section-relative offsets instead of addresses
  -p --pretty-print      Show each place on one line
  -s --basenames         Strip directory names
  -f --functions         Show function names
  -C --demangle[=style]  Demangle function names
  -R --recurse-limit     Accepted and ignored: demangling is always limited
  -r --no-recurse-limit  Accepted and ignored
  -h --help              Display this information
  -v --version           Display the program's version

"""


class ExitRequested(CopyableError):  # noqa: N818 - leaves the scanner; need not be an error
    """The command line ends the program, with a text and a status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Options:
    """What a command line said.

    Attributes:
        file: The file to look in.
        section: The section that addresses count from; None for none.
        addresses: As they were given; none: they come from standard input.
    """

    def __init__(self) -> None:
        self.file = _DEFAULT_FILE
        self.section: str | None = None
        self.addresses: list[str] = []
        self._letters: set[str] = set()
        self._style = "auto"

    def has(self, letter: str) -> bool:
        """Whether the option was given."""
        return letter in self._letters

    @property
    def demangle(self) -> bool:
        """Whether names shall be demangled."""
        return self.has("C") and self._style != "none"

    def take(self, letter: str, value: str | None) -> None:
        """An option as it comes; help and version end the program at once."""
        if letter in "hH":
            raise ExitRequested(help_text(), 0)
        if letter in "vV":
            raise ExitRequested(_version_text(), 0)
        self._letters.add(letter)
        if letter == "e":
            self.file = value or ""
        elif letter == "j":
            self.section = value
        elif letter == "C" and value is not None:
            if value not in _STYLES:
                reason = f"unknown demangling style `{value}'"
                raise ExitRequested(f"{PROGRAM}: {reason}\n", 1)
            self._style = value


def help_text() -> str:
    """The text of `--help`."""
    return _HELP.format(program=PROGRAM)


def _version_text() -> str:
    from gsym import __version__

    return f"{PROGRAM} (gsym) {__version__}\nPrints what GNU addr2line 2.40 prints.\n"


def parse(arguments: list[str]) -> Options:
    """Read a command line.

    Raises:
        ExitRequested: It asks for help or the version, or is wrong.
    """
    options = Options()
    words = iter(_expanded(arguments))
    for word in words:
        if word == "--":
            options.addresses.extend(words)
        elif word.startswith("--"):
            _take_long(word[2:], words, options)
        elif word.startswith("-") and word != "-":
            _take_letters(word[1:], words, options)
        else:
            options.addresses.append(word)
            if "POSIXLY_CORRECT" in os.environ:
                options.addresses.extend(words)
    return options


def _take_letters(letters: str, words: Iterator[str], options: Options) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in _LETTERS_WITH_VALUE:
            value = letters or next(words, None)
            if value is None:
                raise _mistake(f"option requires an argument -- '{letter}'")
            options.take(letter, value)
            return
        if letter not in _LETTERS:
            raise _mistake(f"invalid option -- '{letter}'")
        options.take(letter, None)


def _take_long(word: str, words: Iterator[str], options: Options) -> None:
    given, equals, text = word.partition("=")
    name = _full_name(given)
    letter, kind = _LONG[name]
    value = text if equals else None
    if value is not None and kind == _NO:
        raise _mistake(f"option '--{name}' doesn't allow an argument")
    if value is None and kind == _REQUIRED:
        value = next(words, None)
        if value is None:
            raise _mistake(f"option '--{name}' requires an argument")
    options.take(letter, value)


def _full_name(given: str) -> str:
    """The option that a name, or the beginning of one, stands for."""
    if given in _LONG:
        return given
    names = [name for name in _LONG if name.startswith(given)]
    if not names:
        raise _mistake(f"unrecognized option '--{given}'")
    if len({_LONG[name] for name in names}) > 1:
        known = " ".join(f"'--{name}'" for name in names)
        raise _mistake(f"option '--{given}' is ambiguous; possibilities: {known}")
    return names[0]


def _mistake(reason: str) -> ExitRequested:
    return ExitRequested(f"{PROGRAM}: {reason}\n{help_text()}", 1)


# ---- words in files


def _expanded(arguments: list[str]) -> list[str]:
    """*arguments* with the words of a file in place of each `@FILE` that is there."""
    waiting = arguments[::-1]
    words: list[str] = []
    files = 0
    while waiting:
        word = waiting.pop()
        text = _text_of(word[1:]) if word.startswith("@") else None
        if text is None:
            words.append(word)
            continue
        files += 1
        if files >= _MOST_FILES:
            raise ExitRequested(f"{PROGRAM}: error: too many @-files encountered\n", 1)
        waiting += split_words(text)[::-1]
    return words


def _text_of(path: str) -> str | None:
    """None where there is no such file; the word then means itself."""
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read())
    except IsADirectoryError:
        reason = "error: @-file refers to a directory"
        raise ExitRequested(f"{PROGRAM}: {reason}\n", 1) from None
    except OSError:
        return None
