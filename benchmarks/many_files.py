"""Conversion of many small files: the debug files of some packages.

    python -m benchmarks.many_files CORPUS [--files N] [--rounds N] [--write]

The inputs are files `*.debug` of less than 16 MiB below CORPUS/unpacked. One process of
`gsym convert` takes all of them; a process of llvm-gsymutil for each is started by
`xargs -P2`. Both run alternately, with the files cached in memory.
"""

from __future__ import annotations

import shlex
import statistics
import sys
import tempfile
from pathlib import Path

import gsym
from benchmarks.markdown import table
from benchmarks.process import (
    Field,
    Measurement,
    column,
    measure,
    measure_pairs,
    median_ratio,
)
from benchmarks.report import (
    LLVM_GSYMUTIL,
    argument_parser,
    made_by,
    write_region,
)

MOST_BYTES = 16 << 20
FIELDS: tuple[tuple[str, Field], ...] = (("wall", "wall"), ("processor", "cpu"))
LEGEND = """\
{count} debug files of Debian packages, {size} MB, medians of {rounds} rounds: seconds
of `gsym convert -q --output-dir OUT FILES...` and of `xargs -P2` with a process of
llvm-gsymutil for each file. Peak memory: {ours:.0f} MiB of the one process,
{peer:.0f} MiB of the largest of the others."""


def choose(folder: Path, count: int, output: Path) -> list[Path]:
    """The first *count* files, by name, that have something to convert."""
    found = sorted(
        path
        for path in folder.rglob("*.debug")
        if path.is_file() and path.stat().st_size < MOST_BYTES
    )
    names = {path.name: path for path in found}  # outputs have the names of inputs
    done = gsym.convert_many(names.values(), output)
    return [Path(each.input) for each in done if each.report is not None][:count]


def main() -> None:
    """Measure, print, and with --write keep the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = choose(arguments.corpus / "unpacked", arguments.files, folder / "gsym")
        (folder / "inputs").mkdir()
        (folder / "llvm").mkdir()
        for path in files:
            (folder / "inputs" / path.name).symlink_to(path.absolute())
        names = folder / "names"
        names.write_text("".join(f"{path.name}\n" for path in files), encoding="utf-8")
        xargs = ["xargs", "-P2", "-I{}", "-a", str(names), LLVM_GSYMUTIL, "--convert"]
        xargs += [f"{folder}/inputs/{{}}", "--out-file", f"{folder}/llvm/{{}}"]
        peer = ["sh", "-c", f"{shlex.join(xargs)} || :"]
        gsym_program = str(Path(sys.executable).with_name("gsym"))
        ours = [gsym_program, "convert", "-q", "--output-dir", str(folder / "gsym")]
        ours += map(str, files)
        runs = measure_pairs(
            lambda: measure(ours), lambda: measure(peer), arguments.rounds
        )
        made = len([*(folder / "llvm").iterdir()])
    if made < len(files) * 9 // 10:
        raise ChildProcessError(f"{LLVM_GSYMUTIL} made {made} of {len(files)} files")
    size = sum(path.stat().st_size for path in files) // 1_000_000
    peaks = [max(column(each, "peak")) for each in runs]
    command = f"python -m benchmarks.many_files CORPUS --rounds {arguments.rounds}"
    parts = [
        made_by(command, [LLVM_GSYMUTIL]),
        LEGEND.format(
            count=len(files),
            size=size,
            rounds=arguments.rounds,
            ours=peaks[0],
            peer=peaks[1],
        ),
        table(("seconds", "gsym", "llvm-gsymutil", "ratio"), rows(*runs)),
    ]
    if arguments.write:
        write_region("many-files", "\n\n".join(parts))
    print("\n\n".join(parts))


def rows(ours: list[Measurement], peer: list[Measurement]) -> list[list[str]]:
    """Wall and processor time."""
    return [
        [
            title,
            f"{statistics.median(column(ours, field)):.2f}",
            f"{statistics.median(column(peer, field)):.2f}",
            f"**{median_ratio(peer, ours, field):.1f}x**",
        ]
        for title, field in FIELDS
    ]


if __name__ == "__main__":
    main()
