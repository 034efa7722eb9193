"""Addresses where we differ from llvm-symbolizer, looked at by hand.

    python -m tests.differential.verdicts CORPUS [--draw]

verdicts.tsv has a line for each: the class of the difference, who is right by what
evidence, and the first frame that differs; of a long one the middle is left out. Asks
both again, and fails if this frame of ours is another one now where that of
llvm-symbolizer is not, or if a line has no verdict. --draw draws a new sample, of which
each class has an equal part, and keeps the verdicts of addresses drawn again.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import csv
import itertools
import random
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gsym
from benchmarks.markdown import table
from tests.differential import layout, peers, sampling
from tests.differential.binaries import Binary, binaries
from tests.differential.judges import differences_from_llvm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.differential.peers import Frame

KEPT = Path(__file__).with_name("verdicts.tsv")
SIZE = 200
ASKED = 2_000  # addresses of a binary, of which the sample is drawn
HEAD_KEPT = (
    "class",
    "binary",
    "address",
    "right",
    "evidence",
    "llvm-symbolizer",
    "gsym",
)
HEAD = ("class", "addresses", "right", "evidence", "llvm-symbolizer", "gsym", "at")
MOST_KEPT = (60, 40)  # characters of a frame in the list: its start, its end
MOST_SHOWN = 48  # characters of a frame in the table of the manual
LEGEND = """\
{count} random addresses of {binaries} binaries where llvm-symbolizer answers otherwise,
of each class the same number if it has that many. What is right was found in the DWARF,
the symbol table and the code. gsym is right at {ours}, both are at {both}, and
llvm-symbolizer alone at {theirs}. The last columns are the first frame that differs at
one of the addresses; `python -m tests.differential.verdicts CORPUS` asks all of them
again."""


class Verdict(NamedTuple):
    """A line of the list; *right* and *evidence* were found by hand."""

    kind: str
    binary: str
    address: str
    right: str
    evidence: str
    theirs: str
    ours: str

    def without_verdict(self) -> Verdict:
        """What the two readers say, without who is right."""
        return self._replace(right="", evidence="")


def kept() -> list[Verdict]:
    """The list, without its head."""
    with KEPT.open(encoding="utf-8", newline="") as stream:
        _, *rows = csv.reader(stream, "excel-tab")
    return [Verdict(*row) for row in rows]


def differences(binary: Path, addresses: Sequence[int]) -> list[Verdict]:
    """Those of *addresses* where the two differ, without verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        readable = peers.decompressed(binary, Path(folder))
        ours = Path(folder) / "ours.gsym"
        gsym.convert(str(binary), str(ours))
        return [
            Verdict(
                *(name, binary.name, f"{case.address:#x}", "", ""),
                *first_difference(case.theirs, case.ours),
            )
            for name, case in differences_from_llvm(readable, ours, addresses)
        ]


def first_difference(theirs: Iterable[Frame], ours: Iterable[Frame]) -> tuple[str, str]:
    """The first frame that differs, of both; "" where one has no more frames.

    The innermost frames, if it is only folders that differ.
    """
    answers = ([_text(each) for each in frames] or ["??"] for frames in (theirs, ours))
    pairs = list(itertools.zip_longest(*answers, fillvalue=""))
    first, second = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    return _without_middle(first), _without_middle(second)


def _text(frame: Frame) -> str:
    return f"{frame.name or '??'} {Path(frame.path).name}:{frame.line}"


def _without_middle(text: str) -> str:
    start, end = MOST_KEPT
    return text if len(text) <= start + end else f"{text[:start]}...{text[-end:]}"


def _of(binary: Binary, addresses: Sequence[int] = ()) -> list[Verdict]:
    """The differences of a binary at *addresses*, or at random ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = binary.make(Path(folder))
        if path is None:
            return []
        asked = addresses or sampling.addresses_in(layout.code(path), ASKED, seed=2)
        found = differences(path, asked)
        return [each._replace(binary=binary.name) for each in found]


def drawn(known: list[Binary], size: int = SIZE, seed: int = 3) -> list[Verdict]:
    """A sample: of each class in turn, there of each line, there of each binary."""
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    cases: dict[str, dict[str, list[list[Verdict]]]]
    cases = defaultdict(lambda: defaultdict(list))
    for binary in known:
        by_class = defaultdict(list)
        for each in sorted(set(_of(binary))):
            by_class[each.kind].append(each)
        for kind, found in by_class.items():
            generator.shuffle(found)
            cases[kind][binary.line].append(found)
    chosen = [
        _in_turn(_in_turn(_shuffled(generator, each)) for each in by_line.values())
        for _, by_line in sorted(cases.items())
    ]
    return sorted(itertools.islice(_in_turn(chosen), size))


def _shuffled(
    generator: random.Random, found: list[list[Verdict]]
) -> list[list[Verdict]]:
    return generator.sample(found, len(found))


def _in_turn(sources: Iterable[Iterable[Verdict]]) -> Iterator[Verdict]:
    """One of each, until all are empty."""
    for each in itertools.zip_longest(*sources):
        yield from (verdict for verdict in each if verdict is not None)


def draw(known: list[Binary]) -> None:
    """Write a new list."""
    before = {each.without_verdict(): each for each in kept()}
    with KEPT.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, "excel-tab", lineterminator="\n")
        writer.writerow(HEAD_KEPT)
        writer.writerows(before.get(each, each) for each in drawn(known))


def changed(known: list[Binary]) -> list[str]:
    """What must be looked at: lines without a verdict, and those with another answer.

    Where llvm-symbolizer answers otherwise than it did, the binary is another one.
    """
    by_binary = {each.name: each for each in known}
    found = []
    asked = defaultdict(list)
    for each in kept():
        asked[each.binary].append(each)
    for name, verdicts in sorted(asked.items()):
        if name not in by_binary:
            continue
        addresses = [int(each.address, 16) for each in verdicts]
        now = {each.address: each for each in _of(by_binary[name], addresses)}
        for each in verdicts:
            if not each.right or not each.evidence:
                found.append(f"{name} {each.address}: no verdict")
            again = now.get(each.address)
            is_same = again == each.without_verdict()
            if again and again.theirs == each.theirs and not is_same:
                found.append(f"{name} {each.address}: now {again.kind}, {again.ours}")
    return found


def section() -> str:
    """What RESULTS.md shows: one line for all with the same verdict."""
    verdicts = kept()
    groups: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for each in verdicts:
        groups[each.kind, each.right, each.evidence].append(each)
    rows = [
        [
            f"`{kind}`",
            str(len(found)),
            right,
            evidence,
            _short(found[0].theirs),
            _short(found[0].ours),
            f"{Path(found[0].binary).name} {found[0].address}",
        ]
        for (kind, right, evidence), found in sorted(groups.items())
    ]
    rights = Counter(each.right for each in verdicts)
    legend = LEGEND.format(
        count=len(verdicts),
        binaries=len({each.binary for each in verdicts}),
        ours=rights["gsym"],
        both=rights["both"],
        theirs=rights["llvm-symbolizer"],
    )
    return f"{legend}\n\n{table(HEAD, rows)}"


def _short(text: str) -> str:
    shown = text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."
    return f"`{shown}`"


def main() -> int:
    """Draw, or ask again."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--draw", action="store_true", help="a new sample")
    arguments = parser.parse_args()
    known = binaries(arguments.corpus)
    if arguments.draw:
        draw(known)
    found = [] if arguments.draw else changed(known)
    for text in found:
        print(text)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
