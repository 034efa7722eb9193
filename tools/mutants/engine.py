"""Change one place of a decoder at a time; report the changes that no test notices.

    python -m tools.mutants.engine [--mutants N] [--seed S] [--jobs N] [--again]

One that is compiled to the same machine code is not counted. A mutant is killed if a
test of its folder (`TESTS`) fails, crashes or takes `SECONDS` of processor time.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

from tools.mutants import gate
from tools.mutants.gate import ROOT, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    "fxt/*.c": "tests/fxt/test_fxt*.py",
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


def mutants_of(path: str, text: str) -> Iterator[list[Mutant]]:
    """The mutants of each line of a file that has any."""
    # Comments, strings and directives are no code.
    no_code = r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\'.+?\'|^ *#.*?$'
    hidden = re.compile(no_code, re.DOTALL | re.MULTILINE)
    code = hidden.sub(lambda each: re.sub(r"\S", "\0", each[0]), text)
    lines = zip(text.splitlines(), code.splitlines(), _places(text), strict=True)
    for line, bare, (function, nth) in lines:
        mutants = [
            Mutant(path, function, nth, line.strip(), after.strip())
            for rule, new in RULES
            for found in re.finditer(rule, line)
            if "\0" not in (bare[found.start()], bare[found.end() - 1])
            for after in [
                line[: found.start()] + found.expand(new) + line[found.end() :]
            ]
        ]
        if mutants:
            yield mutants


def _places(text: str) -> Iterator[tuple[str, int]]:
    """The function of each line, and how many of its lines before are alike."""
    function = ""
    seen: Counter[tuple[str, str]] = Counter()
    for line in text.splitlines():
        found = re.match(r"(?:[a-zA-Z_][^(]*\W)?([a-z_]\w*)\(", line)
        if found:
            function = found[1]
        place = (function, line.strip())
        yield function, seen[place]
        seen[place] += 1
        if line == "}":
            function = ""


def applied(mutant: Mutant, text: str) -> str:
    """The file with the other line."""
    lines = text.splitlines(keepends=True)
    for at, (line, place) in enumerate(zip(lines, _places(text), strict=True)):
        if line.strip() == mutant.before and place == (mutant.function, mutant.nth):
            lines[at] = mutant.after + "\n"
    return "".join(lines)


class Workshop(gate.Judge):
    """A copy of the checkout, or of another workshop, with an engine of its own."""

    def __init__(self, folder: Path, source: Path = ROOT) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
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

    def verdict(self, mutant: Mutant) -> str | None:
        """`killed` or `survived`; None if it is no program, or the same."""
        source = self.folder / mutant.path
        compiled = source.with_suffix(".o")
        text, code = source.read_text("utf-8"), compiled.read_bytes()
        try:
            source.write_text(applied(mutant, text), "utf-8")
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


class Gate(gate.Gate):
    """The mutants of the decoders."""

    def lines(self) -> list[list[Mutant]]:
        """The mutants of each line that has any."""
        return [
            mutants
            for each in TESTS
            for path in sorted(ROOT.glob(f"csrc/{each}"))
            for mutants in mutants_of(
                str(path.relative_to(ROOT)), path.read_text("utf-8")
            )
        ]

    def judges(self, count: int) -> list[Workshop]:
        """A workshop that is compiled, and copies of it."""
        first = Workshop(self.build / "0")
        if not first.compile_all():
            sys.exit("the engine cannot be compiled")
        folders = [self.build / str(number) for number in range(1, count)]
        workshops = [first, *(Workshop(each, first.folder) for each in folders)]
        tests = [*{*TESTS.values()}, OF_ALL]
        with ThreadPoolExecutor(count) as pool:
            jobs = [tests[number::count] for number in range(count)]
            list(pool.map(_check, workshops, jobs))
        return workshops


def _check(workshop: Workshop, tests: list[str]) -> None:
    """End the program if tests fail on the engine as it is."""
    for each in tests:
        if not workshop.passes(each):
            sys.exit(f"fails without a change: {each}")


if __name__ == "__main__":
    sys.exit(gate.main(Gate("engine")))
