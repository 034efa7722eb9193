"""The server compared with a peer: latency, rate, first responses, memory.

    python -m benchmarks.server CORPUS [--peer PORT] [--symbols-port N] [--rounds N]
        [--big-size BYTES] [--requests N] [--write]

All servers get the same Breakpad files from one file server on this machine, and the
same requests, alternately. A peer is started by hand, such as Mozilla's eliot with
ELIOT_SYMBOLS_URLS=http://127.0.0.1:N/ and two workers of gunicorn.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.breakpad_tree import export, with_new_id
from benchmarks.large_breakpad import grow
from benchmarks.markdown import table
from benchmarks.report import made_by, write_region
from benchmarks.server_cold import FirstAnswers, first_answers
from benchmarks.server_latency import (
    ceiling,
    check_answers,
    latencies,
    messages_of,
    rate,
)
from benchmarks.server_memory import Sample, watch
from benchmarks.serving import ServerProcess
from benchmarks.symbolication_load import Module, uniform_requests
from tests.http_server import Server, files_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.breakpad_tree import SymbolFile

# A large module, a large one without inlined calls, a small one.
INPUTS = (("ceph-osd.plain", True), ("libjvm.plain", False), ("libc.plain", True))
SIZES = {1: 60, 10: 60, 100: 30, 1_000: 15, 10_000: 4}  # frames: requests a round
SMALL = 10  # frames of the requests whose rate is taken
CLIENTS = 16
LEGEND = """\
Milliseconds from a request to the end of its response, medians and 99th percentiles
of {rounds} rounds, one worker, one client, symbols in memory: random addresses, one
job, stacks of 50 frames. All responses of gsym were equal to offline lookups."""
RATE_LEGEND = """\
Requests of 10 frames per second, two workers and {clients} clients on the same two
cores, medians of {rounds} rounds. With a server that does almost nothing, the
clients reach {top:.0f}."""
COLD_LEGEND = """\
Seconds to the first response for a Breakpad file of {size:.2f} GB that is new to the
server, medians of {rounds} rounds: fetched over HTTP and converted, converted from a
folder, already converted (cached in memory, not cached)."""
MEMORY_LEGEND = """\
MiB of memory of all processes of a server with two workers while {clients} clients
send {rate:.0f} requests of 10 frames per second: `resident` includes pages of mapped
files, `private` does not."""


class Bench(NamedTuple):
    """What the parts share."""

    modules: Sequence[Module]
    files: Sequence[SymbolFile]
    tree: Server
    store: Path
    peer: int | None
    rounds: int

    @contextlib.contextmanager
    def server(self, workers: int) -> Iterator[ServerProcess]:
        """One of ours, its store filled from the tree."""
        options = ["--workers", str(workers), "--store", str(self.store)]
        with ServerProcess(*options, "--source", f"{self.tree.url}/") as server:
            for module in self.modules:
                check_answers(server.port, uniform_requests(module, SMALL, 1))
            yield server


def milliseconds(seconds: float) -> str:
    """As text."""
    return f"{1000 * seconds:.2f}"


def latency_table(bench: Bench) -> str:
    """Each module with each number of frames."""
    rows = []
    with bench.server(1) as server:
        ports = [server.port, *([bench.peer] if bench.peer else [])]
        for module in bench.modules:
            for frames, count in SIZES.items():
                requests = uniform_requests(module, frames, count)
                check_answers(server.port, requests)
                messages = messages_of(requests)
                ours, *theirs = latencies(ports, messages, bench.rounds)
                row = [module.debug_file, str(frames), *map(milliseconds, ours)]
                for peer in theirs:
                    ratio = f"**{peer.median / ours.median:.1f}x**"
                    row += [*map(milliseconds, peer), ratio]
                rows.append(row)
                print(" | ".join(row), file=sys.stderr)
    head = ["module", "frames", "median", "p99"]
    return table([*head, *(["peer", "p99", "ratio"] if bench.peer else [])], rows)


def rate_table(bench: Bench) -> str:
    """Requests a second, by module."""
    rows = []
    top = ceiling(CLIENTS, 50_000).per_second
    with bench.server(2) as server:
        for module in bench.modules:
            messages = messages_of(uniform_requests(module, SMALL, 500))
            ours, theirs = [], []
            for _ in range(bench.rounds):
                ours.append(rate(server.port, messages, CLIENTS, 10_000))
                if bench.peer:
                    theirs.append(rate(bench.peer, messages, CLIENTS, 500))
            mine = statistics.median(each.per_second for each in ours)
            p99 = statistics.median(each.seconds.p99 for each in ours)
            row = [module.debug_file, f"{mine:.0f}", milliseconds(p99)]
            if theirs:
                peer = statistics.median(each.per_second for each in theirs)
                row += [f"{peer:.0f}", f"**{mine / peer:.1f}x**"]
            rows.append(row)
            print(" | ".join(row), file=sys.stderr)
    legend = RATE_LEGEND.format(clients=CLIENTS, rounds=bench.rounds, top=top)
    head = ["module", "requests/s", "p99 (ms)"]
    head += ["peer", "ratio"] if bench.peer else []
    return f"{legend}\n\n{table(head, rows)}"


def cold_table(bench: Bench, size: int) -> str:
    """First answers about a file of about *size* bytes, grown of the first input."""
    first = bench.files[0]
    folder = first.path.parent.with_name("grown")
    folder.mkdir()
    grow(first.path, folder / first.path.name, size)
    big = with_new_id(first._replace(path=folder / first.path.name))
    offset = first_function(big.path)
    gigabytes = big.path.stat().st_size / 1e9
    other = (bench.files[-1], bench.modules[-1].offsets[0])
    rounds: list[FirstAnswers] = []
    for _ in range(bench.rounds):
        found, big = first_answers(big, other, offset, bench.tree, bench.peer)
        rounds.append(found)
        print(found, file=sys.stderr)
    medians = FirstAnswers(*map(statistics.median, zip(*rounds, strict=True)))
    head = ["fetched", "from a folder", "converted", "not in memory"]
    row = [f"{each:.3f}" for each in medians]
    if bench.peer:
        head += ["peer, fetched", "ratio"]
        row.append(f"**{medians.peer / medians.fetched:.1f}x**")
    else:
        row.pop()
    legend = COLD_LEGEND.format(size=gigabytes, rounds=bench.rounds)
    return f"{legend}\n\n{table(head, [row])}"


def first_function(path: Path) -> int:
    """The address of the first FUNC record of a Breakpad file."""
    with path.open("rb") as stream:
        for line in stream:
            if line.startswith(b"FUNC "):
                words = line.split()
                return int(words[2 if words[1] == b"m" else 1], 16)
    raise ValueError(f"{path}: no function")


def memory_table(bench: Bench, count: int) -> str:
    """A few of the samples."""
    messages = messages_of(
        [
            request
            for module in bench.modules
            for request in uniform_requests(module, SMALL, 500)
        ]
    )
    with bench.server(2) as server:
        samples, per_second = watch(server, messages, CLIENTS, count)
    rows = [memory_row(sample) for sample in (samples[0], *samples[1::2])]
    legend = MEMORY_LEGEND.format(clients=CLIENTS, rate=per_second)
    return f"{legend}\n\n{table(['requests', 'resident', 'private', 'files'], rows)}"


def memory_row(sample: Sample) -> list[str]:
    """One line of the table."""
    held = sample.resources
    figures = (f"{held.resident:.1f}", f"{held.private:.1f}", f"{held.descriptors}")
    return [f"{sample.requests:,}", *figures]


def main() -> None:
    """Measure, print, and with --write keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--peer", type=int, help="port of a server on this machine")
    parser.add_argument("--symbols-port", type=int, default=0, help="for the peer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--big-size", type=int, default=1 << 30, help="0: left out")
    parser.add_argument("--requests", type=int, default=200_000, help="for memory")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tree = folder / "symbols"
        files = [
            export(arguments.corpus / "big" / name, tree, inlines=inlines)
            for name, inlines in INPUTS
        ]
        modules = [Module(each, folder) for each in files]
        with Server(files_of(tree), port=arguments.symbols_port) as served:
            store = folder / "store"
            shared = (arguments.peer, arguments.rounds)
            bench = Bench(modules, files, served, store, *shared)
            command = f"python -m benchmarks.server CORPUS --rounds {arguments.rounds}"
            command += f" --requests {arguments.requests}"
            if arguments.peer is not None:
                command += " --peer PORT --symbols-port N"
            parts = [
                made_by(command),
                LEGEND.format(rounds=arguments.rounds),
                latency_table(bench),
                rate_table(bench),
            ]
            if arguments.big_size:
                parts.append(cold_table(bench, arguments.big_size))
            parts.append(memory_table(bench, arguments.requests))
    if arguments.write:
        write_region("server", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
