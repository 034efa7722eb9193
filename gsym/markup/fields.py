"""The fields of an element of symbolizer markup: numbers, counts, and what is wrong.

What is wrong is worded as llvm-symbolizer words it.
"""

from __future__ import annotations

import re

from gsym.engine.native import to_str
from gsym.model import UINT64_END
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import NoReturn


class Dialect(NamedTuple):
    """What counts as an element.

    Attributes:
        restarts: A `{{{` inside an element begins another one, and no field holds
            a `}`. Without, an element ends at the first `}}}` after its beginning,
            whatever is between.
        size_base: Base of the size of an mmap without a prefix: 10, 16; 0: octal
            where it begins with 0, else decimal.
        has_messages: A backtrace may have a message as its last field.
        has_colon_names: Names of modules may hold colons.
        has_batches: `reset:begin` and `reset:end` are resets as well.
        counts_fields: With a field too many, that of the kind of a code location
            counts for nothing.
    """

    restarts: bool
    size_base: int
    has_messages: bool
    has_colon_names: bool
    has_batches: bool
    counts_fields: bool


class Token(NamedTuple):
    """An element as it stands in a line.

    Attributes:
        text: All of it, with its braces.
        tag: What kind it says to be.
        fields: The texts between colons after the tag.
        start: Offset of its first byte in the line.
    """

    text: bytes
    tag: bytes
    fields: tuple[bytes, ...]
    start: int

    @property
    def end(self) -> int:
        """Offset in the line of the first byte after it."""
        return self.start + len(self.text)


class Fault(NamedTuple):
    """What is wrong with an element.

    Attributes:
        message: As llvm-symbolizer words it.
        offset: Of the byte in the line that is to blame.
        is_warning: Whether the element counts all the same.
    """

    message: bytes
    offset: int
    is_warning: bool = False


LLVM_DIALECT = Dialect(
    restarts=False,
    size_base=0,
    has_messages=False,
    has_colon_names=False,
    has_batches=False,
    counts_fields=True,
)
SPEC_DIALECT = LLVM_DIALECT._replace(restarts=True, size_base=16, counts_fields=False)
FUCHSIA_DIALECT = Dialect(
    restarts=True,
    size_base=10,
    has_messages=True,
    has_colon_names=True,
    has_batches=True,
    counts_fields=False,
)

BEGIN, END = b"{{{", b"}}}"
CODE_KINDS = (b"ra", b"pc")
HEX_DIGITS = re.compile(rb"[0-9a-fA-F]+")
_DECIMAL = re.compile(rb"[0-9]+")
# Base and digits by prefix, where the base is not known before.
_PREFIXES = (
    ((b"0x", b"0X"), 16, HEX_DIGITS),
    ((b"0b", b"0B"), 2, re.compile(rb"[01]+")),
    ((b"0o",), 8, re.compile(rb"[0-7]+")),  # no `0O`, as in LLVM
)
_HEXADECIMAL = 16
_OCTAL = re.compile(rb"0[0-7]+")
_MOST_DIGITS = 4096  # int() of more takes long


class MalformedError(Exception):
    """An element means nothing; the fault is told."""


class Fields:
    """Reads the fields of one element. What is wrong becomes a fault.

    Attributes:
        texts: All of them.
        dialect: How they are read.
        modules: The numbers that an mmap may name; None: any.
    """

    def __init__(
        self,
        token: Token,
        dialect: Dialect,
        faults: list[Fault],
        modules: Container[int] | None,
    ) -> None:
        self.texts = token.fields
        self.dialect = dialect
        self.modules = modules
        self._token = token
        self._faults = faults

    def refuse(self, message: bytes, field: int) -> NoReturn:
        """Say that a field is wrong.

        Raises:
            MalformedError: Always.
        """
        before = sum(len(text) + 1 for text in self.texts[:field])
        self._faults.append(Fault(message, self._behind_tag + 1 + before))
        raise MalformedError

    def refuse_type(self, what: bytes, field: int) -> NoReturn:
        """Say that a field is not *what* it should be.

        Raises:
            MalformedError: Always.
        """
        self.refuse(b"expected %s; found '%s'" % (what, self.texts[field]), field)

    def require(self, count: int) -> None:
        """Refuse too few fields; too many are let through with a warning.

        Raises:
            MalformedError: There are fewer.
        """
        found = len(self.texts)
        if found != count:
            self._tell_count(b"%d" % count, is_warning=found > count)

    def require_at_least(self, count: int) -> None:
        """Refuse too few fields.

        Raises:
            MalformedError: There are fewer.
        """
        if len(self.texts) < count:
            self._tell_count(b"at least %d" % count, is_warning=False)

    def warn_at_most(self, count: int) -> None:
        """Warn of too many fields."""
        if len(self.texts) > count:
            self._tell_count(b"at most %d" % count, is_warning=True)

    def address(self, field: int) -> int:
        """The address in a field.

        Raises:
            MalformedError: It is none.
        """
        value = _parse_address(self.texts[field])
        if value is None:
            self.refuse_type(b"address", field)
        return value

    def number(self, field: int, what: bytes, base: int = 0) -> int:
        """The number in a field, of base 0 by its prefix.

        Raises:
            MalformedError: It is none, or has more than 64 bits.
        """
        value = _parse_number(self.texts[field], base)
        if value is None:
            self.refuse_type(what, field)
        return value

    def size(self, field: int) -> int:
        """The size in a field; with a prefix it is hexadecimal in any dialect.

        Raises:
            MalformedError: It is none, or has more than 64 bits.
        """
        has_prefix = self.texts[field][:2] == b"0x"
        return self.number(field, b"size", 0 if has_prefix else self.dialect.size_base)

    def code_kind(self, field: int) -> str:
        """Which kind of code location the last field says; "": it is not there.

        Raises:
            MalformedError: None of those.
        """
        behind = len(self.texts) - field - 1
        if behind < 0 or (behind > 0 and self.dialect.counts_fields):
            return ""
        if self.texts[field] not in CODE_KINDS:
            self.refuse_type(b"PC type", field)
        return to_str(self.texts[field])

    @property
    def _behind_tag(self) -> int:
        return self._token.start + len(BEGIN) + len(self._token.tag)

    def _tell_count(self, count: bytes, *, is_warning: bool) -> None:
        message = b"expected %s field(s); found %d" % (count, len(self.texts))
        self._faults.append(Fault(message, self._behind_tag, is_warning))
        if not is_warning:
            raise MalformedError


def _parse_address(text: bytes) -> int | None:
    if text and not text.strip(b"0"):
        return 0
    return _bounded(text[2:], 16, HEX_DIGITS) if text.startswith(b"0x") else None


def _parse_number(text: bytes, base: int) -> int | None:
    """A number; *base* 0: as its prefix says, also one of octal."""
    if base == 0:
        prefix = text[:2]
        for known, prefix_base, digits in _PREFIXES:
            if prefix in known:
                return _bounded(text[2:], prefix_base, digits)
    if base == _HEXADECIMAL:
        return _bounded(text, base, HEX_DIGITS)
    if base == 0 and len(text) > 1 and text.startswith(b"0"):
        return _bounded(text, 8, _OCTAL)
    return _bounded(text, 10, _DECIMAL)


def _bounded(text: bytes, base: int, digits: re.Pattern[bytes]) -> int | None:
    if len(text) > _MOST_DIGITS or not digits.fullmatch(text):
        return None
    value = int(text.lstrip(b"0") or b"0", base)
    return value if value < UINT64_END else None
