"""The words of a `gsym filter` command line, put as `Command` reads them.

Options of llvm-symbolizer have spellings of their own: letters in one word, values that
may be left out. In style `llvm` they mean what they mean there.
"""

from __future__ import annotations

from gsym.cli.options import UsageError
from gsym.markup.settings import HEXDICT_FORMS
from gsym.markup.symbols import FUNCTION_NAMES
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.cli.options import Option


class FilterWords(NamedTuple):
    """A command line.

    Attributes:
        words: It, each option by its long name and in one word with its value.
        notes: Sentences on what may not be what was meant.
    """

    words: list[str]
    notes: list[str]


# The value of these may be left out; alone it is the first one.
CHOICES = {
    "--color": ("always", "auto", "never"),
    "--functions": FUNCTION_NAMES,
    "--hexdict": (*HEXDICT_FORMS, "off"),
}
_LLVM_CHOICES = ("--color", "--functions")
# Options of llvm-symbolizer -> ours, where a filter heeds them.
_OURS = {
    "color": "--color",
    "color=": "--color",
    "fallback-debug-path": "--debug-file-directory",
    "functions": "--functions",
    "functions=": "--functions",
    "gsym-file-directory": "--gsym-dir",
} | {
    name: f"--{name}"
    for name in (
        *("basenames", "debug-file-directory", "debuginfod", "demangle", "help"),
        *("inlines", "no-debuginfod", "no-demangle", "no-inlines", "relativenames"),
    )
}
_WITH_VALUE = ("--color", "--debug-file-directory", "--functions", "--gsym-dir")
# They do something else there than to filter.
_OTHER_WORK = ("exact", "version")


def read_words(words: Sequence[str], options: Sequence[Option]) -> FilterWords:
    """Read a command line without the verb.

    Args:
        words: It.
        options: Those of the command. Any other stays as it is, to be refused, unless
            llvm-symbolizer has it and the style is its own.

    Raises:
        UsageError: In that style, letters are none of its options.
    """
    return _Reader(words, options).read()


class _Reader:
    def __init__(self, words: Sequence[str], options: Sequence[Option]) -> None:
        self._left = list(words[::-1])
        self._takes_value = {each.name: bool(each.metavar) for each in options}
        self._is_llvm = _style(words) == "llvm"
        self._done: list[str] = []
        self._notes: list[str] = []
        self._last: list[str] = []  # what counts, whatever else is said

    def read(self) -> FilterWords:
        operands: list[str] = []
        while self._left:
            word = self._left.pop()
            if word == "--":
                operands += self._left[::-1]
                break
            if not word.startswith("-") or word == "-":
                operands.append(word)
            elif not self._read_own(word):
                self._read_foreign(word)
        words = [*self._done, *self._last, *(["--"] if operands else []), *operands]
        return FilterWords(words, self._notes)

    def _read_own(self, word: str) -> bool:
        """Take a long option of the command in, if it is one."""
        name, equals, _ = word.partition("=")
        if name not in self._takes_value:
            return False
        if equals:
            self._done.append(word)
        elif name in CHOICES:
            self._read_choice(name)
        elif self._takes_value[name] and self._left:
            self._done.append(f"{name}={self._left.pop()}")
        else:
            self._done.append(name)
        return True

    def _read_choice(self, name: str) -> None:
        """An option whose value may be the next word, or be left out."""
        choices = CHOICES[name]
        follows = bool(self._left) and self._left[-1] in choices
        value = self._left.pop() if follows else choices[0]
        if self._is_llvm and name in _LLVM_CHOICES:
            if value != choices[0]:
                self._notes.append(
                    f"'{name} {value}' is '{name}={choices[0]}' in style llvm, as to "
                    f"llvm-symbolizer; '{name}={value}' is the other"
                )
            # Nor do values elsewhere count there.
            self._last.append(f"{name}={choices[0]}")
        else:
            self._done.append(f"{name}={value}")

    def _read_foreign(self, word: str) -> None:
        """Take letters in, and what only llvm-symbolizer has."""
        from gsym.cli.dropins.symbolizer_options import read_word

        faults: list[str] = []
        coming = iter(self._left[:-2:-1])  # at most one is a value
        found = read_word(word, coming, faults)
        names = [name for name, _ in found]
        is_known = all(name in _OURS for name in names)
        if self._is_llvm:
            is_known = not any(name in _OTHER_WORK for name in names)
        is_ours = not word.startswith("--") or self._is_llvm
        if faults and self._is_llvm and not word.startswith("--"):
            raise UsageError(faults[0])
        if faults or not (is_known and is_ours):
            self._done.append(word)
            return
        if self._left and next(coming, None) is None:
            self._left.pop()
        for name, value in found:
            if name in {"color", "functions"}:
                self._read_choice(_OURS[name])
            elif name in _OURS:
                ours = _OURS[name]
                self._done.append(f"{ours}={value}" if ours in _WITH_VALUE else ours)


def _style(words: Sequence[str]) -> str:
    """What the last `--style` says."""
    style = ""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "--style":
            style = following
        elif word.startswith("--style="):
            style = word.partition("=")[2]
    return style
