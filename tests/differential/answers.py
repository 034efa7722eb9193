"""Compare the answers of our file with those of llvm-symbolizer on the binary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import gsym
from tests.differential import peers, sampling

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Answers(NamedTuple):
    """What was asked, and where the two answer differently."""

    asked: int
    with_lines: int
    different: list[str]


def ask(binary: Path, folder: Path, judged_copy: Path | None = None) -> Answers:
    """Compare the start of each function and row, and random addresses.

    *judged_copy* is asked in place of *binary*, which is converted into *folder*.
    """
    ours = folder / "ours.gsym"
    gsym.convert(str(binary), str(ours))
    with gsym.open(str(ours)) as reader:
        functions = list(reader.functions())
        addresses = {function.address for function in functions}
        addresses |= {
            row.address for each in functions for row in each.line_table or ()
        }
        spans = [
            sampling.Function(each.address, each.address + each.size, is_bare=False)
            for each in functions
        ]
        addresses |= set(sampling.random_addresses(spans, 200, seed=1))
        asked = sorted(addresses)
        found = [reader.lookup(address) for address in asked]
    copy = judged_copy or binary
    judged = peers.symbolizer_answers(copy, asked, "--disable-gsym")
    # The outermost name is else that of the next symbol, be it a mere label.
    short = peers.symbolizer_answers(copy, asked, "--disable-gsym", "--functions=short")
    different = [
        f"{address:#x}: {mine} and {frames}"
        for address, mine, frames, names in zip(
            asked, found, judged, short, strict=True
        )
        if mine is None or not (agrees(mine, frames) or agrees(mine, names))
    ]
    with_lines = sum(1 for frames in judged if any(frame.path for frame in frames))
    return Answers(len(asked), with_lines, different)


def agrees(mine: gsym.Lookup, judged: Sequence[peers.Frame]) -> bool:
    if not any(frame.path for frame in judged):
        return all(not frame.path for frame in mine.frames)
    # Before the first row of a function there is the declaration, or nothing.
    return len(judged) == len(mine.frames) and all(
        _is_name(frame.name, judge.name)
        and (
            (frame.path or "", frame.line or 0) == (judge.path, judge.line)
            or not judge.path
        )
        for frame, judge in zip(mine.frames, judged, strict=True)
    )


def _is_name(ours: str, judged: str) -> bool:
    # Of i386 Windows, LLVM shows the underscore in front of some names of C.
    return judged in {ours, "_" + ours} or ours.endswith("::" + judged)


def relative_functions(binary: Path) -> dict[str, object]:
    """What is known of each function, its addresses counted from its start."""
    gsym.convert(str(binary), f"{binary}.gsym")
    with gsym.open(f"{binary}.gsym") as reader:
        return {
            each.name: (
                each.size,
                [
                    (row.address - each.address, row.path, row.line)
                    for row in each.line_table or ()
                ],
                each.inline and len(each.inline.children),
            )
            for each in reader.functions()
        }
