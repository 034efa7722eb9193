"""What we say of binaries beside llvm-symbolizer, and of functions by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import gsym
from tests.differential import sampling
from tests.differential.judges import judge_by_llvm, our_answers

if TYPE_CHECKING:
    from pathlib import Path


class Answers(NamedTuple):
    """What was asked, and where the two answer differently for no known reason."""

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
    addresses = {function.start for function in functions}
    addresses |= {row.address for each in functions for row in each.line_table or ()}
    addresses |= set(sampling.random_addresses(sampling.functions(ours), 200, seed=1))
    asked = sorted(addresses)
    answers = our_answers(ours, asked)
    judgement = judge_by_llvm(judged_copy or binary, ours, asked, answers)
    with_lines = sum(any(frame.path for frame in frames) for frames in answers)
    return Answers(len(asked), with_lines, judgement.unexplained)


def relative_functions(binary: Path) -> dict[str, object]:
    """What is known of each function, its addresses counted from its start."""
    gsym.convert(str(binary), f"{binary}.gsym")
    with gsym.open(f"{binary}.gsym") as reader:
        return {
            each.name: (
                each.size,
                [
                    (row.address - each.start, row.path, row.line)
                    for row in each.line_table or ()
                ],
                each.inline and len(each.inline.children),
            )
            for each in reader.functions()
        }
