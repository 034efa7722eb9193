"""Requests and bytes of lookups in a remote file.

    python -m benchmarks.remote CORPUS [--input NAME]... [--write]

A server on this machine counts them. What it counts does not depend on the machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gsym
from benchmarks.markdown import table
from benchmarks.prepared import SEED
from benchmarks.report import argument_parser, made_by, write_region
from tests.differential.sampling import addresses_by_function, functions
from tests.object_server import ObjectServer

INPUTS = ("vmlinux", "libjvm.plain", "ceph-osd.plain", "libc.plain")
COLD, WARM = 200, 500
PATH = "/input.gsym"
MOST_REQUESTS, MOST_BYTES, MOST_WARM = 4, 1 << 20, 2
HEAD = (
    *("input", "MB", "first", "90 %", "most", "KB", "90 %", "most", "<= 4"),
    *("later", "90 %", "most", "<= 2", "together"),
)
LEGEND = """\
Requests and KB until the first answer of {cold} readers, opening included: the median,
what 90 percent take at most, and the most; then the part that takes at most 4 requests
and 1 MiB. Likewise the requests of one reader for each of {warm} further addresses, and
the part that takes at most 2; at last those of one call of `lookup_many` of a new
reader for all of them. Each function is equally likely; files are without an index,
which a remote reader does not read."""


def high(counts: list[int]) -> list[int]:
    """The median, what 90 percent are at most, and the most."""
    counts = sorted(counts)
    return [counts[len(counts) // 2], counts[len(counts) * 9 // 10], counts[-1]]


def share(fits: list[bool]) -> str:
    """The part that is true, in percent."""
    return f"{100 * sum(fits) / len(fits):.0f} %"


def row_of(binary: Path, folder: Path) -> list[str]:
    """The line of an input."""
    path = folder / "input.gsym"
    gsym.convert(binary, path, index=False)
    asked = addresses_by_function(functions(path), COLD + WARM, SEED)
    with ObjectServer({PATH: path.read_bytes()}) as server:
        url = server.url + PATH
        first = []
        for address in asked[:COLD]:
            with gsym.open(url) as reader:
                reader.lookup(address)
            first.append(server.counted())
        later = []
        with gsym.open(url) as reader:
            reader.lookup(asked[0])
            server.counted()
            for address in asked[COLD:]:
                reader.lookup(address)
                later.append(server.counted()[0])
        with gsym.open(url) as reader:
            reader.lookup_many(asked[COLD:])
            together, _ = server.counted()
    requests = [each for each, _ in first]
    sizes = [size // 1000 for _, size in first]
    fits = [each <= MOST_REQUESTS and size <= MOST_BYTES for each, size in first]
    are_few = [each <= MOST_WARM for each in later]
    return [
        binary.name,
        f"{path.stat().st_size / 1e6:.0f}",
        *map(str, [*high(requests), *high(sizes)]),
        share(fits),
        *map(str, high(later)),
        share(are_few),
        str(together),
    ]


def main() -> None:
    """Count, print, and with --write keep the table."""
    arguments = argument_parser(__doc__).parse_args()
    rows = []
    for name in arguments.input or INPUTS:
        with tempfile.TemporaryDirectory() as temporary:
            rows.append(row_of(arguments.corpus / "big" / name, Path(temporary)))
        print(rows[-1], file=sys.stderr)
    parts = [
        made_by("python -m benchmarks.remote CORPUS"),
        LEGEND.format(cold=COLD, warm=WARM),
        table(HEAD, rows),
    ]
    if arguments.write:
        write_region("remote", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
