"""The long comparison on real binaries, and the table that docs/ keeps of it.

    python -m tests.differential.accept CORPUS [--count N] [--input NAME]... [--write]

CORPUS holds big/ and v/ with the files named below; one that is missing fails the
run. The exit status is 1 if an address is unexplained or one of LLVM's tools reads one
of our files otherwise than we do. --write puts the table into docs/acceptance.md.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.markdown import table
from benchmarks.report import ROOT, environment
from tests.differential.compare import Comparison, compare
from tests.differential.differences import CLASSES

if TYPE_CHECKING:
    from collections.abc import Sequence

INPUTS = (
    *("big/vmlinux", "big/libjvm.plain", "big/ceph-osd.plain", "big/libc.plain"),
    "big/libpython3.11d.so",
    *(f"v/lz4-gcc-{name}" for name in ("dw2", "dw3", "dw4", "dw5", "dw5-g64")),
    *(f"v/lz4-gcc-{name}" for name in ("O0", "gz-zlib", "gz-gnu")),
    *(f"v/lz4-clang-{name}" for name in ("dw4", "dw5", "gz-zstd", "gline")),
    *(f"v/leveldb-gcc-{name}" for name in ("dw4-types", "dw5", "lto")),
    *(f"v/leveldb-clang-{name}" for name in ("dw5-icf", "simple-names")),
    *(f"v/zstd-{name}.so" for name in ("gcc-dw4", "gcc-dw5", "clang-dw5")),
)
HEAD = ("input", "addresses", "equal", "different", "confirmed", "unexplained")
DOCUMENT = ROOT / "docs" / "acceptance.md"
TEXT = """\
# Acceptance

Random addresses in the functions of real binaries, uniformly distributed over their
bytes, are looked up in the files that gsym and llvm-gsymutil write, with LLVM's lookup
rules. Names, directories, files, lines, inline chains and offsets are compared.

*Different* answers belong to a known class of [difference](differences.md). *Confirmed*
are the different answers where llvm-symbolizer, reading the DWARF, agrees with gsym;
every one is checked. At {misread} addresses llvm-gsymutil or llvm-symbolizer reads our
file differently than gsymutil does.

{environment}

{inputs}

## Classes of difference

{classes}
"""
SHOWN = 20  # unexplained cases printed per input


def input_row(name: str, found: Comparison) -> list[str]:
    """One line of the table of inputs."""
    explained = found.classes.total()
    figures = [
        *(found.addresses, found.equal, found.addresses - found.equal),
        *(explained, found.addresses - found.equal - explained),
    ]
    return [name, *(f"{figure:,}" for figure in figures)]


def class_rows(comparisons: dict[str, Comparison]) -> list[list[str]]:
    """One line for each class: what it is, how often and where it was met."""
    rows = []
    for each in CLASSES:
        counts = {
            Path(name).name: found.classes[each.__name__]
            for name, found in comparisons.items()
            if found.classes[each.__name__]
        }
        meaning = (each.__doc__ or "").partition("\n")[0]
        where = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        rows.append([meaning, f"{sum(counts.values()):,}", where])
    return rows


def run(corpus: Path, names: Sequence[str], count: int) -> dict[str, Comparison]:
    """Compare each input, saying what is unexplained as it turns up."""
    comparisons = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = compare(corpus / name, Path(folder), count)
        comparisons[name] = found
        print(" | ".join(input_row(name, found)), dict(found.classes), file=sys.stderr)
        for text in found.unexplained[:SHOWN]:
            print(text, file=sys.stderr)
        if found.misread:
            print(f"  read otherwise: {found.misread}", file=sys.stderr)
    return comparisons


def main() -> int:
    """Compare, print, and with --write keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--count", type=int, default=100_000, help="addresses")
    parser.add_argument("--input", action="append", help="such as v/lz4-gcc-dw5")
    parser.add_argument("--write", action="store_true", help="docs/acceptance.md")
    arguments = parser.parse_args()
    names = arguments.input or INPUTS
    comparisons = run(arguments.corpus, names, arguments.count)
    rows = [input_row(name, found) for name, found in comparisons.items()]
    command = f"python -m tests.differential.accept CORPUS --count {arguments.count}"
    text = TEXT.format(
        environment=environment(command),
        misread=sum(sum(found.misread.values()) for found in comparisons.values()),
        inputs=table(HEAD, rows),
        classes=table(("class", "addresses", "where"), class_rows(comparisons)),
    )
    print(text)
    if arguments.write:
        DOCUMENT.write_text(text, encoding="utf-8")
    return int(
        any(found.unexplained or found.misread for found in comparisons.values())
    )


if __name__ == "__main__":
    sys.exit(main())
