"""What a symbfile says of an address, by the rule of its specification.

And what the GSYM file that it is made of says, in the same words.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import gsym
    from gsym.symbfile.columns import Range


NO_NAME = "<name omitted>"


class SweptFrame(NamedTuple):
    """One function of the chain."""

    func: str
    file: str
    line: int


def own_line(record: Range, address: int) -> int:
    """The line of the last row at or below the address, 0 for none."""
    lines = [
        row.line for row in record.line_table if row.offset <= address - record.elf_va
    ]
    return lines[-1] if lines else 0


def chain_at(ranges: Iterable[Range], address: int) -> list[Range]:
    """The ranges that apply at an address, outermost first.

    Of several of one depth that is the one that starts last, of those that start
    together the shortest, of equal ones the first.
    """
    found: dict[int, Range] = {}
    for each in ranges:
        if each.elf_va <= address < each.elf_va + each.length:
            other = found.setdefault(each.depth, each)
            if (-each.elf_va, each.length) < (-other.elf_va, other.length):
                found[each.depth] = each
    return [found[depth] for depth in sorted(found)]


def call_file(outer: Range, inner: Range) -> str | None:
    """The file of a call; the schema allows omitting it if it is the caller's."""
    is_left_out = inner.call_file is None and inner.call_line
    return outer.file if is_left_out else inner.call_file


def sweep(ranges: Iterable[Range], address: int) -> tuple[SweptFrame, ...]:
    """The chain at an address, innermost first."""
    return tuple(_frames(chain_at(ranges, address), address))[::-1]


def _frames(chain: Sequence[Range], address: int) -> Iterable[SweptFrame]:
    for outer, inner in itertools.pairwise(chain):
        yield SweptFrame(outer.func, call_file(outer, inner) or "", inner.call_line)
    if chain:
        last = chain[-1]
        line = own_line(last, address)
        has_row = any(row.offset <= address - last.elf_va for row in last.line_table)
        is_of_file = has_row or not last.line_table
        yield SweptFrame(last.func, (last.file or "") if is_of_file else "", line)


def readable(text: str) -> str:
    """With a question mark for each byte that is not UTF-8."""
    return "".join("?" if "\udc80" <= each <= "\udcff" else each for each in text)


def looked_up(reader: gsym.Reader, address: int) -> tuple[SweptFrame, ...]:
    """The chain at an address in a GSYM file, innermost first."""
    answer = reader.lookup(address)
    if answer is None:
        return ()
    return tuple(
        SweptFrame(readable(each.name) or NO_NAME, readable(each.path), each.line)
        for each in answer.frames
    )
