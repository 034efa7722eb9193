"""Growth of the time and memory of a conversion with its input.

    python -m benchmarks.growth CORPUS [--input NAME]... [--write]

In each series of synthetic programs (tests/inputs/scaled.py) one dimension doubles.
tests/engine/test_growth.py checks smaller ones by their instruction counts. The units
of the last series are real: a kernel module is linked to itself, up to 3 GB of DWARF.
--input names series.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.process import column, measure
from benchmarks.report import argument_parser, made_by, write_region
from tests.inputs import scaled

COPIES = "copies_of_amdgpu.ko"
LINKER, OBJCOPY = "ld.lld-19", "llvm-objcopy-22"
DOUBLINGS = 3
ROUNDS = 5
LEAST_SECONDS = 0.02
LEAST_PEAK = 2.0  # MiB
# The largest of each series.
LAST = {
    "units": 32_000,
    "tiny_units": 1_000_000,
    "one_giant_unit": 128_000,
    "functions_of_a_unit": 1_000_000,
    "rows_of_a_function": 16_000_000,
    "depth_of_inlined_calls": 4_000,
    "abbreviations": 1_000_000,
    COPIES: 32,
}
HEAD = ("growing input", "largest", "cpu", "peak", "cpu a doubling", "peak a doubling")
LEGEND = """\
Processor time of `gsym convert` in seconds, minus that of a tiny program, and peak
memory in MiB for the largest input; then the factor for twice the input, mean of the
last {doublings} doublings, or `-` if the first value is under {least:.0f} ms or 2
MiB. Each is the minimum of {rounds} rounds. {copies} copies of amdgpu.ko have 3.0 GB of
.debug_info."""


def costs(path: Path, output: Path) -> tuple[float, float]:
    """Processor time in seconds, peak memory in MiB: the least of several runs."""
    gsym = Path(sys.executable).with_name("gsym")
    command = [str(gsym), "convert", "-q", "--threads=1", str(path), "-o", str(output)]
    runs = [measure(command) for _ in range(ROUNDS)]
    return min(column(runs, "cpu")), min(column(runs, "peak"))


def link_copies(module: Path, count: int, path: Path) -> None:
    """Link a relocatable file *count* times into the program *path*."""
    local = path.with_name("local.o")
    # Its own symbols become local, or each copy would define them again.
    command = [OBJCOPY, "--keep-global-symbol=nothing", str(module), str(local)]
    subprocess.run(command, check=True)
    options = ("--unresolved-symbols=ignore-all", "-z", "notext", "--entry=0")
    command = [LINKER, "-m", "elf_x86_64", *options, "-o", str(path)]
    subprocess.run([*command, *[str(local)] * count], check=True)
    local.unlink()


def write_input(name: str, size: int, corpus: Path, path: Path) -> None:
    """Write an input of a series to *path*."""
    if name == COPIES:
        link_copies(corpus / "big" / name.rpartition("_")[2], size, path)
    else:
        path.write_bytes(getattr(scaled, name)(size))


def measure_series(name: str, corpus: Path, folder: Path) -> list[str]:
    """One line of the table."""
    path, output = folder / "input", folder / "output"
    path.write_bytes(scaled.units(1))
    start, smallest = costs(path, output)
    seconds, peaks = [], []
    for size in (LAST[name] >> DOUBLINGS, LAST[name]):
        write_input(name, size, corpus, path)
        cpu, peak = costs(path, output)
        seconds.append(max(0.0, cpu - start))
        peaks.append(peak - smallest)
    return [
        *(name.replace("_", " "), f"{LAST[name]}"),
        *(f"{seconds[-1]:.2f}", f"{peaks[-1]:.0f}"),
        _growth(seconds) if seconds[0] >= LEAST_SECONDS else "-",
        _growth(peaks) if peaks[0] >= LEAST_PEAK else "-",
    ]


def _growth(ends: list[float]) -> str:
    """The mean factor of a doubling."""
    return f"{(ends[-1] / ends[0]) ** (1 / DOUBLINGS):.2f}"


def main() -> None:
    """Measure, print, and with --write keep the table."""
    arguments = argument_parser(__doc__).parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.input or LAST:
            rows.append(measure_series(name, arguments.corpus, Path(temporary)))
            print(" | ".join(rows[-1]), file=sys.stderr)
    parts = [
        made_by("python -m benchmarks.growth CORPUS"),
        LEGEND.format(
            doublings=DOUBLINGS,
            rounds=ROUNDS,
            least=1000 * LEAST_SECONDS,
            copies=LAST[COPIES],
        ),
        table(HEAD, rows),
    ]
    print("\n\n".join(parts))
    if arguments.write:
        write_region("growth", "\n\n".join(parts))


if __name__ == "__main__":
    main()
