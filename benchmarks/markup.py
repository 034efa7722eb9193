"""Symbolizer markup: gsym filter compared with llvm-symbolizer --filter-markup.

    python -m benchmarks.markup CORPUS [--rounds N] [--write]

Both filter the same logs alternately, including start-up; gsym looks up addresses in a
GSYM file, llvm-symbolizer in the debug information that it was converted from.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gsym
from benchmarks.markdown import table
from benchmarks.markup_logs import (
    BUILD_ID,
    frames,
    frames_of_two_modules,
    locations,
    mixed,
    stacks,
    write_log,
)
from benchmarks.memory_kinds import measure_memory
from benchmarks.process import column, measure
from benchmarks.report import made_by, write_region
from tests.differential.sampling import functions, random_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Lines = Callable[[int, Sequence[int]], Iterable[str]]

LLVM_SYMBOLIZER = "llvm-symbolizer-22"
OUR_GSYM = str(Path(sys.executable).parent / "gsym")
INPUTS = ("libc.plain", "libjvm.plain")
STARTS = 20
FORM_LINES = 200_000
DEFAULT = "--style=llvm"


class Log(NamedTuple):
    """A log that is long enough for the start of a process to be a small part.

    Attributes:
        title: What is in it.
        size: How many lines.
        lines: Makes them.
    """

    title: str
    size: int
    lines: Lines


LOGS = (
    Log("0 % frames", 4_000_000, partial(mixed, share=0)),
    Log("10 % frames", 2_000_000, partial(mixed, share=10)),
    Log("100 % frames", 1_000_000, partial(mixed, share=100)),
    Log("stacks", 1_000_000, stacks),
)


class Form(NamedTuple):
    """A kind of log, or of what is made of it.

    Attributes:
        title: What it is called.
        lines: Makes the lines.
        options: Ours.
        theirs: Those of llvm-symbolizer; None: it has nothing like it.
    """

    title: str
    lines: Lines
    options: tuple[str, ...] = (DEFAULT,)
    theirs: tuple[str, ...] | None = ()


COLOUR = "--color=always"
FORMS = (
    Form("frames", frames),
    Form("frames, coloured", frames, (DEFAULT, COLOUR), (COLOUR,)),
    Form("frames of two modules in turn", frames_of_two_modules),
    Form("three code locations a line", locations),
    Form("three code locations, coloured", locations, (DEFAULT, COLOUR), (COLOUR,)),
    Form("frames, `--style=spec`", frames, ("--style=spec",), None),
    Form("frames, `--style=fuchsia`", frames, ("--style=fuchsia",), None),
    Form("frames, `--json`", frames, (DEFAULT, "--json"), None),
    Form("frames, `--to=html`", frames, (DEFAULT, "--to=html"), None),
)
HEAD = (
    *("log", "lines", "llvm-symbolizer", "gsym filter", "ratio", "MB/s"),
    *("llvm private", "llvm mapped", "llvm peak"),
    *("gsym private", "gsym mapped", "gsym peak"),
)
LEGEND = """\
Thousands of lines per second of processor time, medians of {rounds} rounds,
including start-up; megabytes that `gsym filter` prints per second; peaks in MiB of
private memory, of mapped pages of files, and of both together. Frames are at random
addresses in functions, all different: the worst case. Stacks use 20,000 such
addresses, the n-th 1/n times as often as the first, since programs usually call from
few locations. Both tools read the same GSYM file and print the same."""
START_HEAD = ("log", "llvm-symbolizer", "gsym filter", "python -c pass")
START_LEGEND = """\
Milliseconds of processor time for a log of one line, medians of {starts}."""
FORM_HEAD = ("libc.plain", "lines", "llvm-symbolizer", "gsym filter", "ratio")
FORM_LEGEND = """\
Other logs and output formats; thousands of lines per second as above."""


class Module(NamedTuple):
    """A binary as both programs find it.

    Attributes:
        name: Of the binary.
        folder: Has the binary and its GSYM file by build id.
        addresses: Random ones of its functions.
    """

    name: str
    folder: Path
    addresses: list[int]

    @property
    def log(self) -> Path:
        """Where a log may stand."""
        return self.folder / "log"

    def ours(self, *options: str) -> list[str]:
        """Our command."""
        return [OUR_GSYM, "filter", f"--gsym-dir={self.folder}", *options]

    def theirs(self, *options: str) -> list[str]:
        """That of llvm-symbolizer."""
        command = [LLVM_SYMBOLIZER, "--filter-markup", "--no-debuginfod"]
        return [*command, f"--debug-file-directory={self.folder}", *options]


@contextmanager
def module_of(binary: Path) -> Iterator[Module]:
    """A binary, converted."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        base = folder / ".build-id" / BUILD_ID.hex()[:2] / BUILD_ID.hex()[2:]
        base.parent.mkdir(parents=True)
        made = base.with_suffix(".gsym")
        with_id = folder / "whole.gsym"
        gsym.convert(str(binary), str(with_id))
        # Both go by the name of the file: neither has the short id of these logs.
        with gsym.open(with_id) as reader, gsym.Creator(uuid=BUILD_ID) as creator:
            creator.add_reader(reader)
            creator.save(made)
        base.with_suffix(".debug").symlink_to(binary.resolve())
        # llvm-symbolizer prefers it to the DWARF.
        base.with_suffix(".debug.gsym").symlink_to(made)
        addresses = random_addresses(functions(made), 1 << 20, seed=1)
        yield Module(binary.name, folder, addresses)


def seconds(commands: Sequence[list[str]], log: Path, rounds: int) -> list[float]:
    """Medians of the processor time of each command; they run in turn."""
    runs = [[measure(each, str(log)) for each in commands] for _ in range(rounds)]
    return [statistics.median(column(each, "cpu")) for each in zip(*runs, strict=True)]


def thousands(count: int, spent: float) -> str:
    """Thousands of lines a second."""
    return f"{count / spent / 1000:.0f}"


def measure_log(module: Module, log: Log, rounds: int) -> list[str]:
    """A line of the first table."""
    write_log(module.log, log.lines(log.size, module.addresses))
    commands = module.ours(DEFAULT), module.theirs()
    our_seconds, their_seconds = seconds(commands, module.log, rounds)
    ours, theirs = (measure_memory(command, module.log) for command in commands)
    sizes = (*theirs[:3], *ours[:3])
    return [
        f"{module.name}, {log.title}",
        str(log.size),
        thousands(log.size, their_seconds),
        thousands(log.size, our_seconds),
        f"**{their_seconds / our_seconds:.1f}x**",
        f"{ours.printed / our_seconds / 1e6:.0f}",
        *(f"{size:.0f}" for size in sizes),
    ]


def measure_start(module: Module) -> list[list[str]]:
    """The lines on a log of one line: of text, of a frame."""
    rows = []
    for title, share in (("text", 0), ("frame", 100)):
        write_log(module.log, mixed(1, module.addresses, share))
        commands = (
            module.theirs(),
            module.ours(DEFAULT),
            [sys.executable, "-c", "pass"],
        )
        spent = seconds(commands, module.log, STARTS)
        row = [f"{module.name}, one line of {title}"]
        rows.append([*row, *(f"{1000 * each:.1f}" for each in spent)])
    return rows


def measure_form(module: Module, form: Form, rounds: int) -> list[str]:
    """A line of the last table."""
    write_log(module.log, form.lines(FORM_LINES, module.addresses))
    commands = [module.ours(*form.options)]
    if form.theirs is not None:
        commands.append(module.theirs(*form.theirs))
    ours, *theirs = seconds(commands, module.log, rounds)
    rates = [thousands(FORM_LINES, each) for each in theirs]
    ratios = [f"**{each / ours:.1f}x**" for each in theirs]
    return [
        form.title,
        str(FORM_LINES),
        *(rates or ["-"]),
        thousands(FORM_LINES, ours),
        *(ratios or ["-"]),
    ]


def tell(row: list[str]) -> list[str]:
    """A line of a table, also shown now."""
    print(" | ".join(row), file=sys.stderr)
    return row


def main() -> None:
    """Measure, print, and with --write keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    rounds: int = arguments.rounds
    rows, starts, forms = [], [], []
    for name in INPUTS:
        with module_of(arguments.corpus / "big" / name) as module:
            rows += [tell(measure_log(module, log, rounds)) for log in LOGS]
            starts += [tell(row) for row in measure_start(module)]
            if name == INPUTS[0]:
                forms = [tell(measure_form(module, form, rounds)) for form in FORMS]
    text = "\n\n".join(
        (
            made_by(
                f"python -m benchmarks.markup CORPUS --rounds {rounds}",
                [LLVM_SYMBOLIZER],
            ),
            LEGEND.format(rounds=rounds),
            table(HEAD, rows),
            START_LEGEND.format(starts=STARTS),
            table(START_HEAD, starts),
            FORM_LEGEND,
            table(FORM_HEAD, forms),
        )
    )
    print(text)
    if arguments.write:
        write_region("markup", text)


if __name__ == "__main__":
    main()
