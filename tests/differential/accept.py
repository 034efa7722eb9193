"""The long comparison on real binaries, and the tables that are kept of it.

    python -m tests.differential.accept CORPUS [--count N] [--input NAME]... [--write]

CORPUS is a folder that `benchmarks.corpus` fills; what it lacks is fetched. Other
binaries are real ones of the tests, or are built: the engine for each of several
processors, and the programs of the tests. Takes an hour on two cores. The exit status
is 1 if an address is unexplained, a line is lost, one of LLVM's tools reads one of our
files otherwise than we do, or a verdict does not stand. --write puts the tables into
tests/differential/RESULTS.md, and leaves the one of `tests.differential.sweep` there.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import sys
import tempfile
from collections import ChainMap, Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.markdown import region_in, table, with_region
from benchmarks.report import LLVM_GSYMUTIL, context, made_by
from tests.differential import gsymutil_differences, record, verdicts
from tests.differential.binaries import binaries
from tests.differential.compare import Comparison, compare
from tests.differential.differences import (
    ADDR2LINE,
    LLVM_SYMBOLIZER,
    code_has_no_name,
    padding_has_no_line,
    row_runs_on_into_symbol,
)
from tests.differential.judges import Judgement, Judges

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from tests.differential.binaries import Binary

OF_MANY = 10_000  # addresses of a binary that shares its line with others
HEAD = (
    *("input", "binaries", "addresses"),
    *("= llvm-symbolizer", "= addr2line", "= llvm-gsymutil"),
    *("of a class", "unexplained", "row runs on", "no name", "lines lost"),
)
TEXT = """\
# Acceptance

{addresses:,} addresses in the code of {binaries} binaries, chosen at random among its
bytes, none twice in a binary, are looked up in the files that gsym writes, and compared
with the answers of three peers:

- llvm-symbolizer from the DWARF: names, paths, lines, and inline chains;
- GNU addr2line from the DWARF: names, lines, and inline chains;
- llvm-gsymutil from the file that it writes: all of these, and offsets.

The columns with "=" count the addresses where the answer of a peer is the same. Every
other answer of a peer is *of a class* of
[differences](../../docs/differences.md), which a predicate recognizes, or
*unexplained*. The last three columns count the addresses for
which llvm-symbolizer or addr2line has a line and gsym has none: where the last row of a
function *runs on* into padding or a few bytes of a symbol; in code that has *no name*,
neither of a function nor of a symbol; and elsewhere. At {misread} addresses
llvm-gsymutil or llvm-symbolizer reads our file differently than gsymutil does.

The inputs `big/` are those of the [benchmarks](../../benchmarks/RESULTS.md). Of the
other files in their Debian packages, of which the modules of the kernel are
relocatable, a part is taken that has all sizes. The fixtures are the ELF files with
lines that the tests read, of many compilers and machines, without two that llvm-
symbolizer misreads. The shared objects are csrc/ of this project, built by zig. The
programs are small ones in several languages, by many compilers and options; the targets
are one program, built for many machines. Of binaries that share a line of the table,
{of_many:,} addresses of each are asked, or all if there are fewer.

{environment}

{inputs}

## Classes of difference

{classes}

## Looked at by hand

{verdicts}

## Every byte of small programs

C, C++ and assembly without libraries, at several levels of optimization and in several
versions of DWARF, are compiled for all processors of the compilers at hand, and linked
with each linker; what no linker takes is not linked. Every byte of their code is looked
up, and answered by llvm-symbolizer, addr2line and eu-addr2line; the column *readers*
says how many of them know the format. *All agree* counts the addresses at which all
names, paths, lines and calls are equal. At the other addresses either no two readers
agree with each other against gsym (*one differs*), or they do, in the name of the
function, the innermost place or the calls; then the difference is *of a class* or
*unexplained*. Where one reader alone knows the format, it counts as two.

"""
SHOWN = 20  # unexplained cases printed per input
CLASSES = {
    "llvm-symbolizer": LLVM_SYMBOLIZER,
    "addr2line": ADDR2LINE,
    "llvm-gsymutil": gsymutil_differences.CLASSES,
}


def added(found: list[Comparison]) -> Comparison:
    """Several comparisons as one."""
    judgements = [
        Judgement(
            sum(each.equal for each in of_peer),
            sum((each.classes for each in of_peer), Counter()),
            dict(ChainMap(*(each.lines_lost for each in of_peer))),
            [text for each in of_peer for text in each.unexplained],
        )
        for of_peer in zip(*(each.judgements for each in found), strict=True)
    ]
    return Comparison(
        sum(each.addresses for each in found),
        Judges(*judgements[:2]),
        judgements[2],
        dict(sum((Counter(each.misread) for each in found), Counter())),
    )


def input_row(name: str, binaries: int, found: Comparison) -> list[str]:
    """One line of the table of inputs."""
    lost = found.judges.lines_lost
    figures = [
        binaries,
        found.addresses,
        *(each.equal for each in found.judgements),
        sum(each.classes.total() for each in found.judgements),
        len(found.unexplained),
        sum(
            lost[each.__name__]
            for each in (padding_has_no_line, row_runs_on_into_symbol)
        ),
        lost[code_has_no_name.__name__],
        sum(found.judges.lost_lines.values()),
    ]
    return [name, *(f"{figure:,}" for figure in figures)]


def class_rows(comparisons: dict[str, Comparison]) -> list[list[str]]:
    """One line for each class that a peer met: what it is, how often and where."""
    rows = []
    for at, (peer, classes) in enumerate(CLASSES.items()):
        for each in classes:
            counts = {
                Path(name).name: count
                for name, found in comparisons.items()
                if (count := found.judgements[at].classes[each.__name__])
            }
            if not counts:
                continue
            where = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            meaning = f"`{each.__name__}`: {(each.__doc__ or '').partition(chr(10))[0]}"
            rows.append([meaning, peer, f"{sum(counts.values()):,}", where])
    return rows


def compared(binary: Binary, count: int) -> Comparison | None:
    """A binary, if it can be had, compared in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = binary.make(Path(folder))
        if path is None:
            return None
        files = Path(folder) / "files"
        files.mkdir()
        return compare(path, files, count)


def all_compared(
    pool: Executor, known: list[Binary], count: int
) -> Iterator[tuple[str, list[Comparison]]]:
    """The binaries of each line of the table."""
    begun = {}
    for line, number in Counter(each.line for each in known).items():
        most = count if number == 1 else min(count, OF_MANY)
        begun[line] = [
            pool.submit(compared, each, most) for each in known if each.line == line
        ]
    for line, futures in begun.items():
        found = [each.result() for each in futures]
        yield line, [each for each in found if each]


def main() -> int:
    """Compare, print, and with --write keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--count", type=int, default=75_000, help="addresses")
    parser.add_argument("--input", action="append", help="such as big/vmlinux")
    parser.add_argument("--jobs", type=int, default=2, help="each takes up to 6 GB")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    known = binaries(arguments.corpus)
    comparisons, rows = {}, []
    chosen = [each for each in known if each.line in (arguments.input or [each.line])]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        asked = [] if arguments.input else known
        changed = pool.submit(verdicts.changed, asked)
        for name, of_line in all_compared(pool, chosen, arguments.count):
            comparisons[name] = found = added(of_line)
            rows.append(input_row(name, len(of_line), found))
            print(" | ".join(rows[-1]), file=sys.stderr)
            for text in (*found.unexplained[:SHOWN], *(found.misread or ())):
                print(text, file=sys.stderr)
    every = added(list(comparisons.values()))
    number = sum(int(row[1]) for row in rows)
    rows.append(input_row("all", number, every))
    command = f"python -m tests.differential.accept CORPUS --count {arguments.count}"
    text = TEXT.format(
        addresses=every.addresses,
        binaries=number,
        environment=f"{made_by(command, (LLVM_GSYMUTIL,))}\n{context()}",
        misread=sum(every.misread.values()),
        inputs=table(HEAD, rows),
        classes=table(("class", "peer", "addresses", "where"), class_rows(comparisons)),
        verdicts=verdicts.section(),
        of_many=OF_MANY,
    )
    print(text)
    if arguments.write:
        for name in record.REGIONS:
            text = with_region(text, name, region_in(record.read(), name))
        record.keep(text)
    for each in changed.result():
        print(each, file=sys.stderr)
    failed = every.unexplained or every.misread or every.judges.lost_lines
    return int(bool(changed.result() or failed))


if __name__ == "__main__":
    sys.exit(main())
