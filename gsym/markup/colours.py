"""Colours as llvm-symbolizer prints them, combined with the colours of the log.

A line of a log may switch colours on and off with `ESC[0m`, `ESC[1m` and `ESC[30m` to
`ESC[37m`; after the text of an element, the previous state is restored.
"""

from __future__ import annotations

from gsym.lazy import regex

SGR = regex(rb"\x1b\[(?:[01]|3[0-7])m")
ANY_SGR = regex(rb"\x1b\[[0-9;:]*m")  # the specification has a few of these

_ELEMENT_OR_SGR = regex(rb"(\{\{\{[^{}\n]*\}\}\})|" + ANY_SGR.pattern)
_RESET, _BOLD = b"\x1b[0m", b"\x1b[1m"
_BLUE, _CYAN, _GREEN = b"34", b"36", b"32"


def remove_colours(lines: bytes) -> bytes:
    """Remove the colours from lines of a log, but not from elements."""
    return _ELEMENT_OR_SGR.sub(rb"\1", lines) if b"\x1b" in lines else lines


class Colours:
    """The state of colours within a line."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self._colour = b""
        self._bold = False

    @property
    def is_set(self) -> bool:
        """Whether the next line begins with a reset."""
        return bool(self._colour or self._bold)

    def interpret(self, code: bytes) -> bytes:
        """The output for an escape sequence of the log."""
        if code == _RESET:
            return self.reset()
        if code == _BOLD:
            self._bold = True
            return _BOLD if self.is_on else b""
        self._colour = code[2:-1]
        return b"\x1b[0;%sm" % self._colour if self.is_on else b""

    def reset(self) -> bytes:
        """The output that restores the default, as at the beginning of a line."""
        if not self.is_set:
            return b""
        self._colour, self._bold = b"", False
        return _RESET if self.is_on else b""

    def begin(self) -> bytes:
        """The output before the text of an element."""
        if not self.is_on:
            return b""
        return self._code(_CYAN if self._colour == _BLUE else _BLUE)

    def value(self, text: bytes) -> bytes:
        """A value in the text of an element."""
        if not self.is_on:
            return text
        return b"%s%s%s" % (self._code(_GREEN), text, self.begin())

    def end(self) -> bytes:
        """The output after the text of an element."""
        if not self.is_on:
            return b""
        if self._colour:
            return self._code(self._colour)
        return _RESET + (_BOLD if self._bold else b"")

    def _code(self, colour: bytes) -> bytes:
        return b"\x1b[0;%s%sm" % (b"1;" if self._bold else b"", colour)
