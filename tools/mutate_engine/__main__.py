"""Change one place of a decoder at a time; report the changes that no test notices.

    python -m tools.mutate_engine [--mutants N] [--seed S] [--jobs N] [--again]

A mutant is a decoder with another operator, number, condition or returned value in one
line, or without a statement. Lines are drawn from all decoders alike, so that a file
has mutants by its size. One that is compiled to the same machine code is not counted. A
mutant is killed if a test of its folder (`TESTS`) fails, crashes or takes `SECONDS` of
processor time. `equivalent.tsv` names those that no test can notice, with the reason.
Others survive: build/mutate_engine/survivors.tsv has them, and `--again` tries those of
its lines that can still be made. The exit status is 1 if less than 90 % are killed.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import environ
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutate_engine"
SURVIVORS = BUILD / "survivors.tsv"
EQUIVALENT = Path(__file__).with_name("equivalent.tsv")
AIM = 0.9
SECONDS = 60  # of processor time for a process; TESTS of a folder take half at most
MEMORY = 16 << 30  # of addresses: tests map sparse files
COMPILE = (
    *("gcc", "-std=c11", "-O2", "-fPIC", "-fvisibility=hidden"),
    "-Werror=return-type",  # what such a function returns is left to chance
    *("-iquote", "csrc", "-Icsrc/include", f"-I{sysconfig.get_path('include')}", "-c"),
)
# The decoders, and what to run for those of a folder: likely killers first.
_OF_FILES = (
    "tests/reading/test_[!fs]*.py tests/engine/test_hostile*.py "
    "tests/formatting/test_lookup_llvm.py tests/reading/test_f*.py tests/remote "
    "tests/writing/test_creator.py tests/writing/test_shared_strings.py "
    "tests/reading/test_s*.py"
)
TESTS = {
    "containers/*.c": "tests/containers tests/conversion/test_debug_map.py",
    "dwarf/*.c": "tests/dwarf/test_[!d]*.py tests/conversion/test_partial.py",
    "fxt/*.c": "tests/trace/test_fxt*.py tests/trace/test_merging.py",
    "gsym/[fi]*.c": _OF_FILES,
    "gsym/l[io]*.c": _OF_FILES,
    "pdb/*.c": "tests/conversion/test_pdb*.py",
    "sources/breakpad*.c": "tests/conversion/test_breakpad*.py",
    "symbfile/*.c": "tests/symbfile",
}
# For every decoder: leaks, memory that runs out, damage.
OF_ALL = (
    "tests/engine/test_memory_bounds.py tests/engine/test_failed_allocations.py "
    "tests/engine/test_damaged_files.py"
)
# A space on each side sets operators with two operands apart.
_OPERATORS = (
    "< <=, <= <, > >=, >= >, == !=, != ==, && ||, || &&, + -, - +, << >>, & |, | &, "
    "+= -=, -= +="
)
_NUMBER = r"\b(0x[\da-fA-F]+|\d+)[uU]?\b"
RULES = [
    *(
        (f"(?<= ){re.escape(old)}(?= |$)", new)
        for old, new in (pair.split() for pair in _OPERATORS.split(", "))
    ),
    (_NUMBER, r"(\g<0> + 1)"),
    (_NUMBER, r"(\g<0> - 1)"),
    (r"\b(if|while) \((.*?)\)(?= \w| \{|$)", r"\1 (!(\2))"),
    (r"(?<= )(\S.*) \? (.*) : (.*)", r"\1 ? \3 : \2"),
    (r"\breturn (?!0;).+;", "return 0;"),
    (r"^( +)\S.*;$", r"\1;"),
]


class Mutant(NamedTuple):
    """The *nth* line of a file that reads *before*, and what stands in its place."""

    path: str
    nth: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """The file with the other line."""
        lines = text.splitlines(keepends=True)
        alike = [at for at, line in enumerate(lines) if line.strip() == self.before]
        if self.nth < len(alike):
            lines[alike[self.nth]] = self.after + "\n"
        return "".join(lines)


def mutants_of(path: str, text: str) -> Iterator[list[Mutant]]:
    """The mutants of each line of a file that has any."""
    # Comments, strings and directives are no code.
    no_code = r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\'.+?\'|^ *#.*?$'
    hidden = re.compile(no_code, re.DOTALL | re.MULTILINE)
    code = hidden.sub(lambda each: re.sub(r"\S", "\0", each[0]), text)
    seen: Counter[str] = Counter()
    for line, bare in zip(text.splitlines(), code.splitlines(), strict=True):
        before = line.strip()
        mutants = [
            Mutant(path, seen[before], before, after.strip())
            for rule, new in RULES
            for found in re.finditer(rule, line)
            if "\0" not in (bare[found.start()], bare[found.end() - 1])
            for after in [
                line[: found.start()] + found.expand(new) + line[found.end() :]
            ]
        ]
        seen[before] += 1
        if mutants:
            yield mutants


class Workshop:
    """A copy of the checkout, or of another workshop, with an engine of its own."""

    def __init__(self, folder: Path, source: Path = ROOT) -> None:
        self.folder = folder
        hidden = (".*", "build", "dist", "__pycache__") if source == ROOT else ()
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*hidden))

    def compile_all(self) -> bool:
        """Compile the engine; whether that is possible."""
        from csrc.build_core import ffi  # noqa: PLC0415 - reads all headers

        ffi.emit_c_code(str(self.folder / "csrc/core.c"))
        sources = [
            path.relative_to(self.folder) for path in self.folder.glob("csrc/**/*.c")
        ]
        with ThreadPoolExecutor() as pool:
            return all(pool.map(self.compile, sources))

    def compile(self, source: str | Path) -> bool:
        """Compile a file; whether that is possible."""
        command = [*COMPILE, source, "-o", Path(source).with_suffix(".o")]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, check=False
        )
        return done.returncode == 0

    def passes(self, tests: str) -> bool:
        """Whether the tests pass on what is compiled."""
        (engine,) = (self.folder / "gsym/engine").glob("_core.*so")
        objects = self.folder.glob("csrc/**/*.o")
        subprocess.run(["gcc", "-shared", *objects, "-o", engine], check=True)
        paths = [
            path for each in tests.split() for path in sorted(self.folder.glob(each))
        ]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-x",
                "-q",
                "-p",
                "no:cacheprovider",
                *paths,
            ],
            cwd=self.folder,
            env={**environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            preexec_fn=_limit,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode == 0

    def judge(self, mutant: Mutant) -> str | None:
        """`killed` or `survived`; None if it is no program, or the same."""
        source = self.folder / mutant.path
        compiled = source.with_suffix(".o")
        text, code = source.read_text("utf-8"), compiled.read_bytes()
        try:
            source.write_text(mutant.apply(text), "utf-8")
            if not self.compile(mutant.path) or compiled.read_bytes() == code:
                return None
            tests = next(TESTS[each] for each in TESTS if source.match(each))
            return "survived" if self.passes(f"{tests} {OF_ALL}") else "killed"
        finally:
            source.write_text(text, "utf-8")
            compiled.write_bytes(code)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def rows(path: Path) -> Iterator[tuple[Mutant, str]]:
    """The mutants that a table names, with the reason if it has any."""
    for line in path.read_text("utf-8").splitlines():
        name, nth, before, after, *reason = line.split("\t")
        yield Mutant(name, int(nth), before, after), "".join(reason)


def drawn(seed: int) -> list[list[Mutant]]:
    """The lines that have mutants, and these, in the order of *seed*."""
    lines = [
        mutants
        for each in TESTS
        for path in sorted(ROOT.glob(f"csrc/{each}"))
        for mutants in mutants_of(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    ]
    order = random.Random(seed)  # noqa: S311 - no secret
    order.shuffle(lines)
    for line in lines:
        order.shuffle(line)
    print(
        f"{len(lines)} lines, {sum(map(len, lines))} mutants, seed {seed}", flush=True
    )
    return lines


def opened(count: int) -> SimpleQueue[Workshop]:
    """Workshops: one that is compiled, the others copies of it."""
    shutil.rmtree(BUILD, ignore_errors=True)
    first = Workshop(BUILD / "0")
    if not first.compile_all():
        sys.exit("the engine cannot be compiled")
    free: SimpleQueue[Workshop] = SimpleQueue()
    for number in range(1, count):
        free.put(Workshop(BUILD / str(number), first.folder))
    free.put(first)
    return free


def check(free: SimpleQueue[Workshop], tests: str) -> None:
    """End the program if tests fail on the engine as it is."""
    workshop = free.get()
    try:
        if not workshop.passes(tests):
            sys.exit(f"fails without a change: {tests}")
    finally:
        free.put(workshop)


def judged(
    free: SimpleQueue[Workshop], known: set[Mutant], line: list[Mutant]
) -> tuple[str, Mutant] | None:
    """The first mutant of a line that is another program, and its verdict."""
    workshop = free.get()
    try:
        for mutant in line:
            verdict = "equivalent" if mutant in known else workshop.judge(mutant)
            if verdict:
                print(verdict, *mutant, sep="\t", flush=True)
                return verdict, mutant
        return None
    finally:
        free.put(workshop)


def main() -> bool:
    """Judge as many mutants as asked for; whether too many survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.again:
        lines = [[mutant] for mutant, _ in rows(SURVIVORS)]
    else:
        lines = drawn(asked.seed)
    known = {mutant for mutant, _ in rows(EQUIVALENT)}
    free = opened(asked.jobs)
    verdicts: list[tuple[str, Mutant]] = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(partial(check, free), [*{*TESTS.values()}, OF_ALL]))
        while lines and len(verdicts) < asked.mutants:
            next_lines = lines[: asked.mutants - len(verdicts)]
            del lines[: len(next_lines)]
            verdicts += filter(None, pool.map(partial(judged, free, known), next_lines))
    with SURVIVORS.open("w", encoding="utf-8") as file:
        for verdict, mutant in verdicts:
            if verdict == "survived":
                print(*mutant, sep="\t", file=file)
    counts = Counter(verdict for verdict, _ in verdicts)
    print(*(f"{count} {verdict}" for verdict, count in counts.most_common()), sep=", ")
    return counts["survived"] > (1 - AIM) * (counts["killed"] + counts["survived"])


if __name__ == "__main__":
    sys.exit(main())
