"""Symbolizer markup: elements in lines of a log <-> records.

`{{{tag:field:field}}}` stands for something to be looked up later. Lines and fields are
bytes, since a log may be of any encoding; names in records are text with bytes that are
not UTF-8 kept.

Programs differ in what they take for an element; a `Dialect` says how. What `encode`
writes means the same to all of them.
"""

from __future__ import annotations

import re

from gsym.engine.native import to_str
from gsym.markup.elements import (
    Backtrace,
    Data,
    DumpFile,
    HexDict,
    Mmap,
    Module,
    Pc,
    Reset,
    Symbol,
)
from gsym.markup.fields import (
    BEGIN,
    CODE_KINDS,
    END,
    FUCHSIA_DIALECT,
    HEX_DIGITS,
    LLVM_DIALECT,
    SPEC_DIALECT,
    Dialect,
    Fault,
    Fields,
    MalformedError,
    Token,
)

__all__ = [
    "FUCHSIA_DIALECT",
    "LLVM_DIALECT",
    "SPEC_DIALECT",
    "Backtrace",
    "Data",
    "Dialect",
    "DumpFile",
    "Fault",
    "HexDict",
    "Mmap",
    "Module",
    "Pc",
    "Reset",
    "Symbol",
    "Token",
    "decode",
    "encode",
    "find_elements",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Any

    from gsym.markup.elements import Element

_MODE = re.compile(rb"[rR]?[wW]?[xX]?")
_PC_FIELDS = 2  # address, kind
_BACKTRACE_FIELDS = 3  # frame number, address, kind
# What may stand in no field: the marks of the format, and what is not printable.
_UNFIT = re.compile(r"[\x00-\x1f\x7f:{}]")
_BRACES = re.compile(r"[{}]")


def find_elements(line: bytes, dialect: Dialect) -> Iterator[Token]:
    """All elements in *line*, sound or not, from left to right."""
    if dialect.restarts:
        yield from _find_strict(line)
        return
    end = 0
    while (start := line.find(BEGIN, end)) >= 0:
        stop = line.find(END, start + len(BEGIN))
        if stop < 0:
            return
        end = stop + len(END)
        tag, *parts = line[start + len(BEGIN) : stop].split(b":")
        if tag:
            yield Token(line[start:end], tag, tuple(parts), start)


def _find_strict(line: bytes) -> Iterator[Token]:
    """Those that end at the first `}` and begin at the last `{{{` in front of it."""
    begin = 0
    while (stop := line.find(b"}", begin)) >= 0:
        start = line.rfind(BEGIN, begin, stop)
        begin = stop + 1
        if start < 0 or not line.startswith(END, stop):
            continue
        begin = stop + len(END)
        tag, *parts = line[start + len(BEGIN) : stop].split(b":")
        if tag and b"{" not in tag:
            yield Token(line[start:begin], tag, tuple(parts), start)


def decode(
    token: Token,
    dialect: Dialect,
    faults: list[Fault],
    modules: Container[int] | None = None,
) -> Element | None:
    """What an element says.

    Args:
        token: The element.
        dialect: How its fields are read.
        faults: Gets what is wrong with it.
        modules: The numbers that an mmap may name; None: any.

    Returns:
        None where it is of no known kind, and where a fault is more than a warning.
    """
    read = _READERS.get(token.tag)
    if read is None:
        return None
    try:
        return read(Fields(token, dialect, faults, modules))
    except MalformedError:
        return None


def encode(element: Element) -> str:
    """Write an element; marks of the format in its names become `_`."""
    return f"{{{{{{{':'.join(_WRITERS[type(element)](element))}}}}}}}"


def _read_symbol(fields: Fields) -> Symbol:
    fields.require(1)
    return Symbol(to_str(fields.texts[0]))


def _read_pc(fields: Fields) -> Pc:
    fields.require_at_least(1)
    fields.warn_at_most(_PC_FIELDS)
    return Pc(fields.address(0), fields.code_kind(1))


def _read_data(fields: Fields) -> Data:
    fields.require(1)
    return Data(fields.address(0))


def _read_backtrace(fields: Fields) -> Backtrace:
    fields.require_at_least(2)
    if fields.dialect.has_messages:
        frame, address = fields.number(0, b"frame number", 10), fields.address(1)
        kind, rest = "", fields.texts[2:]
        if rest and rest[0] in CODE_KINDS:
            kind, rest = to_str(rest[0]), rest[1:]
        return Backtrace(frame, address, kind, to_str(b":".join(rest)))
    fields.warn_at_most(_BACKTRACE_FIELDS)
    frame, address = fields.number(0, b"frame number", 10), fields.address(1)
    return Backtrace(frame, address, fields.code_kind(2))


def _read_hexdict(fields: Fields) -> HexDict:
    return HexDict(to_str(b":".join(fields.texts)))


def _read_dumpfile(fields: Fields) -> DumpFile:
    fields.require(2)
    return DumpFile(to_str(fields.texts[0]), to_str(fields.texts[1]))


def _read_reset(fields: Fields) -> Reset:
    if fields.dialect.has_batches and fields.texts in {(b"begin",), (b"end",)}:
        return Reset(to_str(fields.texts[0]))
    fields.require(0)
    return Reset()


def _read_module(fields: Fields) -> Module:
    fields.require_at_least(3)
    number = fields.number(0, b"module ID")
    texts, type_at = fields.texts, 2
    if fields.dialect.has_colon_names and b"elf" in texts[2:-1]:
        type_at = len(texts) - 2 - texts[-2:1:-1].index(b"elf")
    if texts[type_at] != b"elf":
        fields.refuse(b"unknown module type", type_at)
    fields.require(type_at + 2)
    digits = texts[type_at + 1]
    if not HEX_DIGITS.fullmatch(digits):
        fields.refuse_type(b"build ID", type_at + 1)
    build_id = bytes.fromhex(to_str(digits.zfill(len(digits) + len(digits) % 2)))
    return Module(number, to_str(b":".join(texts[1:type_at])), build_id)


def _read_mmap(fields: Fields) -> Mmap:
    fields.require_at_least(3)
    start = fields.address(0)
    size = fields.size(1)
    if fields.texts[2] != b"load":
        fields.refuse(b"unknown mmap type", 2)
    fields.require(6)
    module = fields.number(3, b"module ID")
    mode = fields.texts[4]
    if not mode or not _MODE.fullmatch(mode):
        fields.refuse_type(b"mode", 4)
    if fields.modules is not None and module not in fields.modules:
        fields.refuse(b"unknown module ID", 3)
    return Mmap(start, size, module, to_str(mode.lower()), fields.address(5))


_READERS: dict[bytes, Callable[[Fields], Element]] = {
    b"symbol": _read_symbol,
    b"pc": _read_pc,
    b"data": _read_data,
    b"bt": _read_backtrace,
    b"hexdict": _read_hexdict,
    b"dumpfile": _read_dumpfile,
    b"reset": _read_reset,
    b"module": _read_module,
    b"mmap": _read_mmap,
}


def _text(name: str) -> str:
    return _UNFIT.sub("_", name)


def _address(value: int) -> str:
    digits = f"{value:x}"
    return f"0x{digits.zfill(len(digits) + len(digits) % 2)}"


def _suffix(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


_WRITERS: dict[type, Callable[[Any], tuple[str, ...]]] = {
    Symbol: lambda each: ("symbol", _text(each.name)),
    Pc: lambda each: ("pc", _address(each.address), *_suffix(each.kind)),
    Data: lambda each: ("data", _address(each.address)),
    Backtrace: lambda each: (
        "bt",
        str(each.frame),
        _address(each.address),
        *_suffix(each.kind),
        *_suffix(_text(each.message)),
    ),
    HexDict: lambda each: ("hexdict", _BRACES.sub("_", each.text)),
    DumpFile: lambda each: ("dumpfile", _text(each.kind), _text(each.name)),
    Reset: lambda each: ("reset", *_suffix(each.batch)),
    Module: lambda each: (
        "module",
        str(each.id),
        _text(each.name),
        "elf",
        each.build_id.hex(),
    ),
    # With a prefix, all programs agree on the base.
    Mmap: lambda each: (
        "mmap",
        _address(each.start),
        f"0x{each.size:x}",
        "load",
        str(each.module),
        each.mode,
        _address(each.address),
    ),
}
