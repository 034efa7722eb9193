"""What the elements of symbolizer markup say: plain records."""

from __future__ import annotations

from gsym.records import NamedTuple


class Symbol(NamedTuple):
    """A symbol or a type by the name that the linker knows."""

    name: str


class Pc(NamedTuple):
    """A code location; *kind* is "ra", "pc" or, if not given, ""."""

    address: int
    kind: str = ""


class Data(NamedTuple):
    """A data location."""

    address: int


class Backtrace(NamedTuple):
    """A frame of a backtrace, which counts from 0; *kind* as in `Pc`."""

    frame: int
    address: int
    kind: str = ""
    message: str = ""


class HexDict(NamedTuple):
    """Keys and values; *text* is all after the tag, with its spaces and lines."""

    text: str


class DumpFile(NamedTuple):
    """A dump that was published: what it is of, and how it is called."""

    kind: str
    name: str


class Reset(NamedTuple):
    """All modules are forgotten; *batch* is "begin", "end" or ""."""

    batch: str = ""


class Module(NamedTuple):
    """A binary that is loaded, by a number that mmaps call it by."""

    id: int
    name: str
    build_id: bytes


class Mmap(NamedTuple):
    """A segment in memory.

    Attributes:
        start: Address of its first byte in memory.
        size: In bytes.
        module: Number of its module.
        mode: One or more of r, w and x, in this order.
        address: Link-time address of its first byte.
    """

    start: int
    size: int
    module: int
    mode: str
    address: int


Element = Symbol | Pc | Data | Backtrace | HexDict | DumpFile | Reset | Module | Mmap
