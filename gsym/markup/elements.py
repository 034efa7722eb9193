"""The elements of symbolizer markup as records."""

from __future__ import annotations

from gsym.records import NamedTuple


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
