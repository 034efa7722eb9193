r"""POSIX extended regular expressions, as llvm-gsymutil's filters take them.

They become expressions of `re`, which is enough for "does it match anywhere": the
two differ in which of several matches they prefer, not in whether there is one.
What Python reads in another way (`[\d]`, `a*?`, `(?:`, `\d`, `$` before a newline)
is translated or refused, and what is refused matches nothing.
"""

from __future__ import annotations

import re

_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb"\t-\r ",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
_TRANSLATION = {b"^": rb"\A", b"$": rb"(?:\Z)", b".": b"."}
_REPEAT = re.compile(rb"[*+?]|\{(\d+)(?:(,)(\d*))?\}")
_STARTS_REPEAT = re.compile(rb"[*+?]|\{\d")
_BRACKET_ITEM = re.compile(
    rb"\[:(?P<name>[a-z]*):\]|\[\.(?P<dotted>.)\.\]|\[=(?P<equal>.)=\]|(?P<plain>[^\[]|\[(?![:.=]))",
    re.DOTALL,
)
_MOST_REPEATS = 255


class _InvalidError(Exception):
    """The expression is not one of POSIX."""


def compile_filter(pattern: bytes) -> re.Pattern[bytes] | None:
    """The same expression for `re`; None for one that POSIX does not allow."""
    try:
        return re.compile(_Translation(pattern).result(), re.DOTALL)
    except (_InvalidError, re.error, OverflowError):
        return None


class _Translation:
    """One pass over the expression, with what the grammar must remember."""

    def __init__(self, pattern: bytes) -> None:
        self._pattern = pattern
        self._at = 0
        self._out: list[bytes] = []
        self._open = 0  # groups that are not closed yet
        self._groups = 0
        self._empty = True  # nothing in the present branch so far
        self._repeatable = False

    def result(self) -> bytes:
        while self._at < len(self._pattern):
            self._step()
        if self._open or self._empty:
            raise _InvalidError
        return b"".join(self._out)

    def _step(self) -> None:
        if _STARTS_REPEAT.match(self._pattern, self._at):
            self._repeat()
            return
        byte = self._next()
        if byte == b"(":
            self._open_group()
        elif byte == b")":
            self._close_group()
        elif byte == b"|":
            self._next_branch()
        elif byte == b"[":
            self._put(self._bracket())
        elif byte == b"\\":
            self._put(self._escape())
        else:
            self._put(
                _TRANSLATION.get(byte) or re.escape(byte), repeatable=byte != b"^"
            )

    def _next(self) -> bytes:
        byte = self._pattern[self._at : self._at + 1]
        if not byte:
            raise _InvalidError
        self._at += 1
        return byte

    def _put(self, translated: bytes, *, repeatable: bool = True) -> None:
        self._out.append(translated)
        self._empty, self._repeatable = False, repeatable

    def _open_group(self) -> None:
        self._groups += 1
        if self._pattern.startswith(b")", self._at):
            self._at += 1
            self._put(b"()")
            return
        self._out.append(b"(")
        self._open += 1
        self._empty, self._repeatable = True, False

    def _close_group(self) -> None:
        if not self._open or self._empty:
            raise _InvalidError
        self._open -= 1
        self._put(b")")

    def _next_branch(self) -> None:
        if self._empty:
            raise _InvalidError
        self._out.append(b"|")
        self._empty, self._repeatable = True, False

    def _escape(self) -> bytes:
        byte = self._next()
        if byte in b"123456789":
            if int(byte) > self._groups:
                raise _InvalidError
            return rb"(?:\%s)" % byte
        return re.escape(byte)

    def _repeat(self) -> None:
        found = _REPEAT.match(self._pattern, self._at)
        if found is None or not self._repeatable:
            raise _InvalidError
        least, _comma, most = found.groups()
        counts = [int(count) for count in (least, most) if count]
        if counts != sorted(counts) or max(counts, default=0) > _MOST_REPEATS:
            raise _InvalidError
        self._out.append(found.group())
        self._at = found.end()
        self._repeatable = False

    def _bracket(self) -> bytes:
        for special, boundary in (
            (b"[:<:]]", rb"\b(?=\w)"),
            (b"[:>:]]", rb"\b(?<=\w)"),
        ):
            if self._pattern.startswith(special, self._at):
                self._at += len(special)
                return b"(?:%s)" % boundary
        out = [b"["]
        if self._pattern.startswith(b"^", self._at):
            self._at += 1
            out.append(b"^")
        first = True
        while first or not self._pattern.startswith(b"]", self._at):
            out.append(self._bracket_item())
            first = False
        self._at += 1
        return b"".join(out) + b"]"

    def _bracket_item(self) -> bytes:
        start = self._bracket_end()
        if len(start) != 1:
            return start
        rest = self._pattern[self._at : self._at + 2]
        if rest[:1] != b"-" or rest == b"-]":
            return re.escape(start)
        self._at += 1
        end = self._bracket_end()
        if len(end) != 1 or end < start:
            raise _InvalidError
        return re.escape(start) + b"-" + re.escape(end)

    def _bracket_end(self) -> bytes:
        """A single byte, or the members of a class in the form of `re`."""
        item = _BRACKET_ITEM.match(self._pattern, self._at)
        if item is None:
            raise _InvalidError
        self._at = item.end()
        if item["name"] is not None:
            if item["name"] not in _CLASSES:
                raise _InvalidError
            return _CLASSES[item["name"]]
        return bytes(item["plain"] or item["dotted"] or item["equal"])
