"""Symbolizer markup: elements in lines of a log <-> records.

`{{{tag:field:field}}}` is to be looked up later. Lines and fields are bytes, since a
log may have any encoding; names in records are text that keeps bytes that are not
UTF-8.

Programs differ in what they accept as an element: a `Dialect` defines that. All of them
read the output of `encode` in the same way. This is the complete grammar; the engine
reads only code locations as programs print them (`csrc/text/markup_element.c`).
"""

from __future__ import annotations

from gsym.engine.native import to_str
from gsym.lazy import regex
from gsym.model import UINT64_END
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Container, Iterator
    from typing import Any, NoReturn


# ---- records


class Symbol(NamedTuple):
    """A symbol or a type, by its linkage name."""

    name: str


class Pc(NamedTuple):
    """A code location; *kind* is "ra", "pc" or "" (not given)."""

    address: int
    kind: str = ""


class Data(NamedTuple):
    """A data location."""

    address: int


class Backtrace(NamedTuple):
    """A frame of a backtrace, numbered from 0; *kind* as in `Pc`."""

    frame: int
    address: int
    kind: str = ""
    message: str = ""


class HexDict(NamedTuple):
    """Keys and values; *text* is everything after the tag, including newlines."""

    text: str


class DumpFile(NamedTuple):
    """A dump that was published: its kind and its name."""

    kind: str
    name: str


class Reset(NamedTuple):
    """Removes all modules; *batch* is "begin", "end" or ""."""

    batch: str = ""


class Module(NamedTuple):
    """A loaded binary, with the number that mmaps refer to."""

    id: int
    name: str
    build_id: bytes


class Mmap(NamedTuple):
    """A segment in memory."""

    start: int  # address of its first byte in memory
    size: int  # in bytes
    module: int  # number of the module
    mode: str  # one or more of r, w and x, in this order
    address: int  # link-time address of its first byte


Element = Symbol | Pc | Data | Backtrace | HexDict | DumpFile | Reset | Module | Mmap

# ---- finding


class Dialect(NamedTuple):
    """The rules for elements; the defaults are those of the specification."""

    # a `{{{` inside an element begins another one, and fields contain no `}`. Otherwise
    # an element ends at the first `}}}`
    restarts: bool = True
    # base of the size of an mmap without a prefix: 10 or 16; 0: octal if it begins with
    # 0, else decimal
    size_base: int = 16
    # a backtrace may have a message as its last field
    has_messages: bool = False
    has_colon_names: bool = False  # names of modules may contain colons
    # `reset:begin` and `reset:end` are resets, too
    has_batches: bool = False
    # with one field too many, the kind of a code location is ignored
    counts_fields: bool = False


class Token(NamedTuple):
    """An element as written in a line."""

    text: bytes  # all of it, with its braces
    tag: bytes  # its kind
    fields: tuple[bytes, ...]  # the texts between colons after the tag
    start: int  # offset of its first byte in the line

    @property
    def end(self) -> int:
        """Offset in the line of the first byte after it."""
        return self.start + len(self.text)

    @property
    def fields_start(self) -> int:
        """Offset in the line of its first field."""
        return self.start + len(BEGIN) + len(self.tag) + 1


class Fault(NamedTuple):
    """An error in an element."""

    message: bytes  # in the words of llvm-symbolizer
    offset: int  # offset in the line of the invalid byte
    is_warning: bool = False  # whether the element is accepted


SPEC_DIALECT = Dialect()
LLVM_DIALECT = Dialect(restarts=False, size_base=0, counts_fields=True)
FUCHSIA_DIALECT = Dialect(
    size_base=10, has_messages=True, has_colon_names=True, has_batches=True
)

BEGIN, _END = b"{{{", b"}}}"
_KINDS = (b"ra", b"pc")
_HEX = regex(rb"[0-9a-fA-F]+")
# Numbers whose prefix decides the base; no `0O`, as in LLVM.
_ANY_BASE = regex(rb"0[xX][0-9a-fA-F]+|0[bB][01]+|0o?[0-7]+|0|[1-9][0-9]*")
_DIGITS = {10: regex(rb"[0-9]+"), 16: _HEX}
_MODE = regex(rb"(?=.)[rR]?[wW]?[xX]?")
_MAX_DIGITS = 4096  # int() of more is slow


def find_elements(line: bytes, dialect: Dialect) -> Iterator[Token]:
    """All elements in *line*, valid or not, from left to right."""
    if dialect.restarts:
        yield from _find_strict(line)
        return
    end = 0
    while (start := line.find(BEGIN, end)) >= 0:
        stop = line.find(_END, start + len(BEGIN))
        if stop < 0:
            return
        end = stop + len(_END)
        tag, *parts = line[start + len(BEGIN) : stop].split(b":")
        if tag:
            yield Token(line[start:end], tag, tuple(parts), start)


def _find_strict(line: bytes) -> Iterator[Token]:
    """Elements that end at the first `}` and begin at the last `{{{` before it."""
    begin = 0
    while (stop := line.find(b"}", begin)) >= 0:
        start = line.rfind(BEGIN, begin, stop)
        begin = stop + 1
        if start < 0 or not line.startswith(_END, stop):
            continue
        begin = stop + len(_END)
        tag, *parts = line[start + len(BEGIN) : stop].split(b":")
        if tag and b"{" not in tag:
            yield Token(line[start:begin], tag, tuple(parts), start)


# ---- reading


def decode(
    token: Token,
    dialect: Dialect,
    faults: list[Fault],
    modules: Container[int] | None = None,
) -> Element | None:
    """The record of an element; None if its tag is unknown, or it has an error.

    *modules* are valid numbers of modules in an mmap; None: any.
    """
    read = _READERS.get(token.tag)
    if read is None:
        return None
    try:
        return read(_Fields(token, dialect, faults, modules))
    except _MalformedError as error:
        faults.append(error.args[0])
        return None


class _MalformedError(Exception):
    """An element is malformed, by a `Fault`."""


class _Fields:
    """Reads the fields of one element, and adds warnings to a list."""

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
        self._start = token.fields_start
        self._faults = faults

    def refuse(self, message: bytes, field: int) -> NoReturn:
        before = sum(len(text) + 1 for text in self.texts[:field])
        raise _MalformedError(Fault(message, self._start + before))

    def refuse_type(self, what: bytes, field: int) -> NoReturn:
        self.refuse(b"expected %s; found '%s'" % (what, self.texts[field]), field)

    def expect(self, count: bytes, least: int, most: int | None = None) -> None:
        """Refuse too few fields; accept too many with a warning."""
        found = len(self.texts)
        if found >= least and (most is None or found <= most):
            return
        message = b"expected %s field(s); found %d" % (count, found)
        fault = Fault(message, self._start - 1, is_warning=found >= least)
        if not fault.is_warning:
            raise _MalformedError(fault)
        self._faults.append(fault)

    def expect_exactly(self, count: int) -> _Fields:
        self.expect(b"%d" % count, count, count)
        return self

    def expect_texts(self, count: int) -> Iterator[str]:
        return map(to_str, self.expect_exactly(count).texts[:count])

    def address(self, field: int) -> int:
        text = self.texts[field]
        value = _bounded(text[2:], 16, _HEX) if text.startswith(b"0x") else None
        if text and not text.strip(b"0"):
            value = 0
        if value is None:
            self.refuse_type(b"address", field)
        return value

    def number(self, field: int, what: bytes, base: int = 0) -> int:
        """The number in a field; base 0: the prefix decides."""
        value = _parse_number(self.texts[field], base)
        if value is None:
            self.refuse_type(what, field)
        return value

    def size(self, field: int) -> int:
        """The size in a field; hexadecimal with a prefix, in any dialect."""
        has_prefix = self.texts[field][:2] == b"0x"
        return self.number(field, b"size", 0 if has_prefix else self.dialect.size_base)

    def code_kind(self, field: int) -> str:
        """The kind of code location in the last field; "" if absent."""
        after = len(self.texts) - field - 1
        if after < 0 or (after > 0 and self.dialect.counts_fields):
            return ""
        if self.texts[field] not in _KINDS:
            self.refuse_type(b"PC type", field)
        return to_str(self.texts[field])


def _parse_number(text: bytes, base: int) -> int | None:
    """A number; *base* 0: the prefix decides, a leading 0 is octal."""
    if base:
        return _bounded(text, base, _DIGITS[base])
    is_octal = len(text) > 1 and text.startswith(b"0") and text.isdigit()
    return _bounded(text, 8 if is_octal else 0, _ANY_BASE)


def _bounded(text: bytes, base: int, digits: re.Pattern[bytes]) -> int | None:
    if len(text) > _MAX_DIGITS or not digits.fullmatch(text):
        return None
    value = int(text, base)
    return value if value < UINT64_END else None


def _read_pc(fields: _Fields) -> Pc:
    fields.expect(b"at least 1", 1)
    fields.expect(b"at most 2", 0, 2)
    return Pc(fields.address(0), fields.code_kind(1))


def _read_backtrace(fields: _Fields) -> Backtrace:
    fields.expect(b"at least 2", 2)
    if not fields.dialect.has_messages:
        fields.expect(b"at most 3", 0, 3)
    frame, address = fields.number(0, b"frame number", 10), fields.address(1)
    if not fields.dialect.has_messages:
        return Backtrace(frame, address, fields.code_kind(2))
    kind, rest = "", fields.texts[2:]
    if rest and rest[0] in _KINDS:
        kind, rest = to_str(rest[0]), rest[1:]
    return Backtrace(frame, address, kind, to_str(b":".join(rest)))


def _read_reset(fields: _Fields) -> Reset:
    if fields.dialect.has_batches and fields.texts in {(b"begin",), (b"end",)}:
        return Reset(to_str(fields.texts[0]))
    fields.expect_exactly(0)
    return Reset()


def _read_module(fields: _Fields) -> Module:
    fields.expect(b"at least 3", 3)
    number = fields.number(0, b"module ID")
    texts, type_at = fields.texts, 2
    if fields.dialect.has_colon_names and b"elf" in texts[2:-1]:
        type_at = len(texts) - 2 - texts[-2:1:-1].index(b"elf")
    if texts[type_at] != b"elf":
        fields.refuse(b"unknown module type", type_at)
    fields.expect_exactly(type_at + 2)
    digits = texts[type_at + 1]
    if not _HEX.fullmatch(digits):
        fields.refuse_type(b"build ID", type_at + 1)
    build_id = bytes.fromhex(to_str(digits.zfill(len(digits) + len(digits) % 2)))
    return Module(number, to_str(b":".join(texts[1:type_at])), build_id)


def _read_mmap(fields: _Fields) -> Mmap:
    fields.expect(b"at least 3", 3)
    start, size = fields.address(0), fields.size(1)
    if fields.texts[2] != b"load":
        fields.refuse(b"unknown mmap type", 2)
    fields.expect_exactly(6)
    module, mode = fields.number(3, b"module ID"), fields.texts[4]
    if not _MODE.fullmatch(mode):
        fields.refuse_type(b"mode", 4)
    if fields.modules is not None and module not in fields.modules:
        fields.refuse(b"unknown module ID", 3)
    return Mmap(start, size, module, to_str(mode.lower()), fields.address(5))


_READERS: dict[bytes, Callable[[_Fields], Element]] = {
    b"symbol": lambda fields: Symbol(*fields.expect_texts(1)),
    b"pc": _read_pc,
    b"data": lambda fields: Data(fields.expect_exactly(1).address(0)),
    b"bt": _read_backtrace,
    b"hexdict": lambda fields: HexDict(to_str(b":".join(fields.texts))),
    b"dumpfile": lambda fields: DumpFile(*fields.expect_texts(2)),
    b"reset": _read_reset,
    b"module": _read_module,
    b"mmap": _read_mmap,
}

# ---- writing

# Characters that fields cannot contain: delimiters and control characters.
_UNFIT = regex(r"[\x00-\x1f\x7f:{}]")
_BRACES = regex(r"[{}]")


def encode(element: Element) -> str:
    """Write an element; delimiters in its names become `_`."""
    return f"{{{{{{{_WRITERS[type(element)](element)}}}}}}}"


def _text(name: str) -> str:
    return _UNFIT.sub("_", name)


def _address(value: int) -> str:
    digits = f"{value:x}"
    return f"0x{digits.zfill(len(digits) + len(digits) % 2)}"


def _last(text: str) -> str:
    """A last field that may be missing."""
    return f":{text}" if text else ""


def _write_backtrace(each: Backtrace) -> str:
    last = _last(each.kind) + _last(_text(each.message))
    return f"bt:{each.frame}:{_address(each.address)}{last}"


def _write_mmap(each: Mmap) -> str:
    # The prefix of the size makes its base clear to all programs.
    start = f"mmap:{_address(each.start)}:{each.size:#x}"
    return f"{start}:load:{each.module}:{each.mode}:{_address(each.address)}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    Symbol: lambda each: f"symbol:{_text(each.name)}",
    Pc: lambda each: f"pc:{_address(each.address)}{_last(each.kind)}",
    Data: lambda each: f"data:{_address(each.address)}",
    Backtrace: _write_backtrace,
    HexDict: lambda each: f"hexdict:{_BRACES.sub('_', each.text)}",
    DumpFile: lambda each: f"dumpfile:{_text(each.kind)}:{_text(each.name)}",
    Reset: lambda each: f"reset{_last(each.batch)}",
    Module: lambda each: (
        f"module:{each.id}:{_text(each.name)}:elf:{each.build_id.hex()}"
    ),
    Mmap: _write_mmap,
}
