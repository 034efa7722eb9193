"""What the gates of all languages share: drawing mutants, judging them, counting.

    python -m tools.mutants.LANGUAGE [--mutants N] [--seed S] [--jobs N] [--again]

A mutant is the program with another operator, number, condition or returned value in
one place, or without a statement. Lines are drawn alike, so that a file has mutants by
its size; of a drawn line, the first mutant counts that is another program. A table
beside this module names those that no test can notice, with the reason: they are
equivalent. A row whose mutant cannot be made any more, since the line has changed, is
printed. Each of the others is killed if a test fails, crashes or does not end; else it
survives. `survivors.tsv` in the folder of the gate in build/ has the survivors, and
`--again` judges them again. The exit status is 1 if less than 90 % are killed.
"""

from __future__ import annotations

import argparse
import random
from abc import ABC, abstractmethod
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
AIM = 0.9


class Mutant(NamedTuple):
    """The *nth* place of a function that reads *before*, and what stands there."""

    path: str
    function: str
    nth: int
    before: str
    after: str


class Judge(ABC):
    """A copy of the checkout, in which one mutant at a time is judged."""

    @abstractmethod
    def verdict(self, mutant: Mutant) -> str | None:
        """`killed` or `survived`; None if it is no program, or the same."""


class Gate(ABC):
    """The mutants of a language, and where its results are."""

    def __init__(self, language: str) -> None:
        self.build = ROOT / "build/mutants" / language
        self.equivalent = Path(__file__).with_name(f"equivalent_{language}.tsv")
        self.survivors = self.build / "survivors.tsv"

    @abstractmethod
    def lines(self) -> list[list[Mutant]]:
        """The mutants of each line that has any."""

    @abstractmethod
    def judges(self, count: int) -> Sequence[Judge]:
        """So many judges, after tests have passed without a change."""


def rows(path: Path) -> Iterator[tuple[Mutant, str]]:
    """The mutants that a table names, with the reason if it has any."""
    for line in path.read_text("utf-8").splitlines():
        name, function, nth, before, after, *reason = line.split("\t")
        yield Mutant(name, function, int(nth), before, after), "".join(reason)


def _drawn(gate: Gate, seed: int) -> list[list[Mutant]]:
    lines = gate.lines()
    order = random.Random(seed)  # noqa: S311 - no secret
    order.shuffle(lines)
    for line in lines:
        order.shuffle(line)
    total = sum(map(len, lines))
    print(f"{len(lines)} lines, {total} mutants, seed {seed}", flush=True)
    made = set(chain.from_iterable(lines))
    for mutant, _ in rows(gate.equivalent):
        if mutant not in made:
            print("gone", *mutant, sep="\t")
    return lines


def main(gate: Gate) -> bool:
    """Judge as many mutants as asked for; whether too many survive."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutants", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.again:
        lines = [[mutant] for mutant, _ in rows(gate.survivors)]
    else:
        seed = random.SystemRandom().randrange(10**6)
        lines = _drawn(gate, seed if asked.seed is None else asked.seed)
    known = {mutant for mutant, _ in rows(gate.equivalent)}
    free: SimpleQueue[Judge] = SimpleQueue()
    for judge in gate.judges(asked.jobs):
        free.put(judge)

    def judged(line: list[Mutant]) -> tuple[str, Mutant] | None:
        """The first mutant of a line that is another program, and its verdict."""
        judge = free.get()
        try:
            for mutant in line:
                verdict = "equivalent" if mutant in known else judge.verdict(mutant)
                if verdict:
                    print(verdict, *mutant, sep="\t", flush=True)
                    return verdict, mutant
            return None
        finally:
            free.put(judge)

    verdicts: list[tuple[str, Mutant]] = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        while lines and len(verdicts) < asked.mutants:
            next_lines = lines[: asked.mutants - len(verdicts)]
            del lines[: len(next_lines)]
            verdicts += filter(None, pool.map(judged, next_lines))
    with gate.survivors.open("w", encoding="utf-8") as file:
        for verdict, mutant in verdicts:
            if verdict == "survived":
                print(*mutant, sep="\t", file=file)
    counts = Counter(verdict for verdict, _ in verdicts)
    print(*(f"{count} {verdict}" for verdict, count in counts.most_common()), sep=", ")
    return counts["survived"] > (1 - AIM) * (counts["killed"] + counts["survived"])
