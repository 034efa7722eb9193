"""Symbfiles of a fictitious executable, of any size, in parts."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from gsym.symbfile.columns import LineTableRow, Range, ReturnPad, ReturnPadEntry
from gsym.symbfile.format import Encoder
from gsym.symbfile.parts import PartFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.symbfile.columns import Record

BYTES = 149  # that a function takes in both kinds, about
_START, _STEP = 0x1000, 0x80
_BATCH = 4096  # records between two blocks


def function_name(index: int) -> str:
    """The name of a function, which no other one has."""
    return f"service_{index // 5000}::component_{index // 100}::operation_{index}"


def call_address(index: int) -> int:
    """Where a function calls another one."""
    return _START + _STEP * index + 8


def write_symbfiles(
    folder: Path, functions: int, part_size: int
) -> dict[str, PartFiles]:
    """The parts of the ranges and of the return pads, by kind."""
    records = {"ranges": _ranges(functions), "returnpads": _return_pads(functions)}
    return {
        kind: _write(each, folder / kind, part_size) for kind, each in records.items()
    }


def _path(index: int) -> str:
    return f"/src/service_{index // 5000}/component_{index // 100}.cc"


def _ranges(functions: int) -> Iterator[Record]:
    for index in range(functions):
        rows = tuple(LineTableRow(4 * row, 10 * row + index % 900) for row in range(9))
        start = _START + _STEP * index
        name = function_name(index)
        yield Range(start, _STEP - 16, name, _path(index), line_table=rows)


def _return_pads(functions: int) -> Iterator[Record]:
    for index in range(functions):
        entry = ReturnPadEntry(function_name(index), _path(index), 20 + index % 900)
        yield ReturnPad(call_address(index), (entry,))


def _write(records: Iterator[Record], target: Path, part_size: int) -> PartFiles:
    encoder = Encoder(part_size)
    with PartFiles(str(target), is_split=True) as files:
        while batch := list(islice(records, _BATCH)):
            for record in batch:
                encoder.add(record)
            files.take(encoder)
        encoder.finish()
        files.take(encoder)
    return files
