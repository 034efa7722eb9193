"""A server under load for minutes, optionally with faults around it.

    python -m benchmarks.soak CORPUS [--minutes N] [--clients N] [--workers N]
        [--load PART] [--faults] [--write]

Clients send requests of 1 to 10 jobs with 20 to 1,000 frames each, at a fraction of the
measured peak rate of the server, and compare each response with offline lookups. With
--faults, other clients request modules that only a faulty symbol server has, or
disconnect, workers are killed, and the file of a stored module is damaged. The exit
status is 1 if a guarantee was violated.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from benchmarks.breakpad_tree import export
from benchmarks.http_load import Client, hang_up, percentiles
from benchmarks.markdown import table
from benchmarks.report import made_by, write_region
from benchmarks.server import INPUTS
from benchmarks.serving import HOST, Resources, ServerProcess
from benchmarks.soak_faults import (
    Upstream,
    Victim,
    ask_for_cold,
    ask_for_victim,
    damage,
    hang_up_early,
    kill_workers,
    recovery,
)
from benchmarks.soak_load import Pace, Tally, ask_steadily, peak, sample, verified
from benchmarks.symbolication_load import Module, mixed_requests
from gsym.store.adding import add_file
from gsym.store.directory import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.breakpad_tree import SymbolFile

POOL = 200  # different requests
PEAK_SECONDS = 10.0
COLD_CLIENTS = 8
VICTIM_CLIENTS = 2
COLD_PATIENCE = 120  # seconds
LEAST_SUCCESS = 0.999
MOST_SECONDS = 0.25  # 99 of 100 answers
MOST_RECOVERY = 5.0  # seconds
MOST_GROWTH = 1.02  # of memory that no file holds
SLACK = 8.0  # MiB that do not count as growth
SPARE_DESCRIPTORS = 32
LEGEND = """\
{clients} clients for {seconds:.0f} seconds, {workers} workers, at {load:.0%} of the
peak rate of {peak:.0f} requests/s; 1 to 10 jobs of 20 to 1,000 frames
(logarithmically distributed). The clients run on the same machine as the server.
Every response is compared with offline lookups. Memory of all processes in MiB:
`resident` includes pages of mapped files, `private` does not."""


class Plan(NamedTuple):
    """How a soak goes."""

    seconds: float
    clients: int
    workers: int
    load: float
    faults: bool
    pool: int = POOL
    peak_seconds: float = PEAK_SECONDS


@dataclass
class Outcome:
    """What a soak found; the second half only with faults.

    Attributes:
        peak: Requests a second that the server reached at most.
        stored: Answers about modules in the store.
        samples: What the server held, by the seconds since the start.
        cold: Answers about modules that only the broken server has.
        victim: Answers about the module whose file is damaged.
        faults: How often it gave which, and how often that file was damaged.
        hung_up: What clients had sent when they went, in bytes.
        restarts: Seconds until a killed worker had a successor.
        recovery: Seconds until modules of the mended server were found.
    """

    peak: float
    stored: Tally = field(default_factory=Tally)
    samples: list[tuple[float, Resources]] = field(default_factory=list)
    cold: Tally = field(default_factory=Tally)
    victim: Tally = field(default_factory=Tally)
    faults: Counter[str] = field(default_factory=Counter)
    hung_up: list[int] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)
    recovery: float = 0.0

    def broken_promises(self) -> list[str]:
        """What was promised and not kept."""
        early, late = self.memory()
        descriptors = [held.descriptors for _, held in self.samples]
        p99 = percentiles(self.stored.seconds).p99
        promises = {
            f"{self.stored.wrong} wrong answers": not self.stored.wrong,
            f"{self.cold.wrong} wrong beside a missing module": not self.cold.wrong,
            f"{self.victim.wrong} wrong from a damaged file": not self.victim.wrong,
            f"success {self.stored.success:.5f}": self.stored.success >= LEAST_SUCCESS,
            f"99th percentile {p99:.3f} s": p99 <= MOST_SECONDS,
            f"{self.stored.server_errors} answers 5xx": not self.stored.server_errors,
            f"memory {early:.0f} MiB, then {late:.0f}": late
            <= early * MOST_GROWTH + SLACK,
            f"descriptors {descriptors}": descriptors[-1]
            <= max(descriptors[: len(descriptors) // 3 + 1]) + SPARE_DESCRIPTORS,
            f"recovery in {self.recovery:.1f} s": self.recovery <= MOST_RECOVERY,
            f"workers were back after {self.restarts} s": all(
                each <= MOST_RECOVERY for each in self.restarts
            ),
        }
        return [text for text, is_kept in promises.items() if not is_kept]

    def memory(self) -> tuple[float, float]:
        """MiB that no file holds, after a third of the time and at the end."""
        held = [each.private for _, each in self.samples]
        third = max(1, len(held) // 3)
        return max(held[:third]), min(held[-third:])


async def soak(
    server: ServerProcess,
    upstream: Upstream,
    modules: Sequence[Module],
    victim: Victim,
    plan: Plan,
) -> Outcome:
    """Let it run.

    Raises:
        WrongAnswerError: Already the first answers are wrong.
    """
    clients = [Client(HOST, server.port) for _ in range(plan.clients)]
    askers = [Client(HOST, server.port, COLD_PATIENCE) for _ in range(COLD_CLIENTS)]
    victim_askers = [Client(HOST, server.port) for _ in range(VICTIM_CLIENTS)]
    try:
        questions = await verified(clients[0], mixed_requests(modules, plan.pool))
        outcome = Outcome(await peak(clients, questions, plan.peak_seconds))
        print(f"peak: {outcome.peak:.0f} requests/s", file=sys.stderr)
        end = time.monotonic() + plan.seconds
        generator = random.Random(1)  # noqa: S311 - a sample, no secret
        pace = Pace(plan.clients / (plan.load * outcome.peak), end, generator)
        under_way = [
            ask_steadily(client, questions, pace, outcome.stored) for client in clients
        ]
        under_way.append(sample(server, plan.seconds / 60, end, outcome.samples))
        if not plan.faults:
            await asyncio.gather(*under_way)
            return outcome
        ids: list[str] = []
        await asyncio.to_thread(upstream.tell, "break")
        under_way += [
            ask_for_cold(asker, modules[-1], end, outcome.cold, ids) for asker in askers
        ]
        under_way.append(damage(victim, end, outcome.faults))
        under_way += [
            ask_for_victim(each, victim, end, outcome.victim) for each in victim_askers
        ]
        message, interval = questions[0].message, max(2.0, plan.seconds / 10)
        under_way.append(hang_up_early(server.port, message, end, outcome.hung_up))
        under_way.append(kill_workers(server, interval, end, outcome.restarts))
        await asyncio.gather(*under_way)
        outcome.faults.update(await asyncio.to_thread(upstream.tell, "mend"))
        sought = [*ids[-3:], *generator.sample(ids, min(3, len(ids)))]
        outcome.recovery = await recovery(server.port, modules[-1], sought)
    finally:
        await hang_up([*clients, *askers, *victim_askers])
    return outcome


def run(files: Sequence[SymbolFile], folder: Path, plan: Plan) -> Outcome:
    """Start a server and its upstream, and let the soak run.

    Args:
        files: Breakpad files laid out in one tree.
        folder: For the store and other files.
        plan: How it goes.
    """
    modules = [Module(each, folder) for each in files]
    store = Store(folder / "store")
    for each in files:
        add_file(store, each.path)
    victim = Victim(store, folder)
    workers = ("--workers", str(plan.workers), "--store", store.path)
    log = folder / "server.log"
    with (
        Upstream(files[0].path.parents[2]) as upstream,
        ServerProcess(*workers, "--source", upstream.url, log=log) as server,
    ):
        outcomes: list[Outcome] = []

        async def go() -> None:
            outcomes.append(await soak(server, upstream, modules, victim, plan))

        uvloop.run(go())
        return outcomes[0]


def report(outcome: Outcome, plan: Plan) -> str:
    """The tables."""
    rows = [tally_row("in the store", outcome.stored)]
    if plan.faults:
        rows.append(tally_row("fetched from the broken server", outcome.cold))
        rows.append(tally_row("in a file that is damaged", outcome.victim))
    kinds = ["modules", "requests", "success", "no answer", "5xx", "wrong"]
    parts = [
        LEGEND.format(peak=outcome.peak, **plan._asdict()),
        table([*kinds, "median (ms)", "p99 (ms)"], rows),
        table(["seconds", "resident", "private", "descriptors"], held_rows(outcome)),
    ]
    if plan.faults:
        faults = [[name, f"{count}"] for name, count in outcome.faults.items()]
        back = ", ".join(f"{each:.1f}" for each in outcome.restarts)
        parts.append(table(["fault of the symbol server or a file", "times"], faults))
        parts.append(
            f"Clients disconnected {len(outcome.hung_up)} "
            f"times. Workers were killed {len(outcome.restarts)} times and were back "
            f"after {back} s; {outcome.stored.asked_again} requests were sent again. "
            f"Modules were found {outcome.recovery:.1f} s after the server was "
            "repaired."
        )
    return "\n\n".join(parts)


def tally_row(name: str, tally: Tally) -> list[str]:
    """One line of the table of answers."""
    times = percentiles(tally.seconds)
    return [
        name,
        f"{tally.statuses.total():,}",
        f"{100 * tally.success:.3f} %",
        str(tally.statuses[0]),
        str(tally.server_errors),
        str(tally.wrong),
        f"{1000 * times.median:.1f}",
        f"{1000 * times.p99:.1f}",
    ]


def held_rows(outcome: Outcome) -> list[list[str]]:
    """What the server held at the start, at each quarter and at the end."""
    last = len(outcome.samples) - 1
    chosen = sorted({last * quarter // 4 for quarter in range(5)})
    return [
        [
            f"{seconds:.0f}",
            f"{held.resident:.1f}",
            f"{held.private:.1f}",
            str(held.descriptors),
        ]
        for seconds, held in (outcome.samples[at] for at in chosen)
    ]


def main() -> None:
    """Soak, print, and with --write keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--load", type=float, default=0.6, help="part of the peak")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    seconds = 60 * arguments.minutes
    size = (arguments.clients, arguments.workers, arguments.load)
    plan = Plan(seconds, *size, arguments.faults)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tree = folder / "symbols"
        files = [
            export(arguments.corpus / "big" / name, tree, inlines=inlines)
            for name, inlines in INPUTS
        ]
        outcome = run(files, folder, plan)
    options = f"--minutes {arguments.minutes:g}{' --faults' * plan.faults}"
    command = f"python -m benchmarks.soak CORPUS {options}"
    text = f"{made_by(command)}\n\n{report(outcome, plan)}"
    if arguments.write:
        write_region("soak with faults" if plan.faults else "soak", text)
    print(text)
    broken = outcome.broken_promises()
    for each in broken:
        print(f"broken promise: {each}", file=sys.stderr)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
