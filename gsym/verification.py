"""Verification of a GSYM file: by itself, and against the binary it was made from."""

from __future__ import annotations

import mmap
from itertools import islice
from typing import TYPE_CHECKING

from gsym.structure import (
    BrokenError,
    Extent,
    Finding,
    Layout,
    check_extents,
    check_tables,
)
from gsym.structure_records import check_records

if TYPE_CHECKING:
    from collections.abc import Iterator

_FINDINGS_KEPT = 1000


def check_structure(path: str) -> list[Finding]:
    """Faults of the GSYM file at *path*, the first thousand; none: it is sound.

    Raises:
        OSError: The file cannot be read.
    """
    with open(path, "rb") as stream:
        stream.seek(0, 2)
        if stream.tell() == 0:
            return [Finding(0, "the file is empty")]
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return list(islice(_faults(data), _FINDINGS_KEPT))


def _faults(data: mmap.mmap) -> Iterator[Finding]:
    records: list[Extent] = []
    try:
        layout = Layout(data)
        yield from check_tables(layout)
        yield from check_records(layout, records)
        yield from check_extents(layout, records)
    except BrokenError as error:
        yield error.finding
