"""What tools for profiles sum up by function, thread and process."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tests.project.viewers import ask_firefox

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path


class Sums(NamedTuple):
    """Sums by name; of what a tool does not print, none.

    Attributes:
        own: Of functions alone.
        total: Of functions with all that they call.
        threads: By number.
        processes: By number.
    """

    own: dict[str, int] | None = None
    total: dict[str, int] | None = None
    threads: dict[str, int] | None = None
    processes: dict[str, int] | None = None


@cache
def _run(*command: object) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        check=True,
        text=True,
        errors="replace",
    )
    return done.stdout


def _sums(rows: Iterable[tuple[str, int, int]]) -> Sums:
    """Own and total sums by name; no total of several functions of one name."""
    own: dict[str, int] = {}
    total: dict[str, list[int]] = {}
    for name, flat, whole in rows:
        own[name] = own.get(name, 0) + flat
        total.setdefault(name, []).append(whole)
    return Sums(own, {name: each[0] for name, each in total.items() if len(each) == 1})


_PERF_FIELDS = frozenset({"pid", "tid", "period"})


def perf_sums(
    path: Path, event: str, module: str, fields: Collection[str] = _PERF_FIELDS
) -> Callable[[], Sums]:
    """What `perf report` prints of an event; functions are those of one module.

    Without some fields, a text has no threads or processes, or numbers of samples.
    """
    number_of = "period" if "period" in fields else "sample"

    def column(field: str, *options: str) -> dict[str, int]:
        command = (
            "perf",
            "report",
            "--stdio",
            "-i",
            path,
            "--no-children",
            "-g",
            "none",
        )
        text = _run(*command, "-F", f"{number_of},{field}", "-t", "|", *options)
        found: dict[str, int] = {}
        is_event = True
        for line in text.splitlines():
            if line.startswith("# Samples:"):
                is_event = f"'{event}" in line
            number, bar, name = line.partition("|")
            if is_event and bar and number.strip().isdecimal():
                key = re.sub(r"^\[.\] ", "", name.strip())
                found[key] = found.get(key, 0) + int(number)
        return found

    def sums() -> Sums:
        own = column("sym", f"--dsos={module}")
        found = column("pid")
        threads = {name.partition(":")[0].strip(): each for name, each in found.items()}
        # What `--sort pid` has are threads.
        text = _run("perf", "script", "-i", path, "-G", "-F", "pid,event,period")
        form = rf"^ *(\d+) +(\d+) +{event}"
        processes: dict[str, int] = {}
        for number, period in re.findall(form, text, re.MULTILINE):
            count = int(period) if "period" in fields else 1
            processes[number] = processes.get(number, 0) + count
        return Sums(
            own,
            None,
            threads if "tid" in fields else None,
            processes if "pid" in fields else None,
        )

    return sums


def simpleperf_sums(path: Path, module: Path) -> Callable[[], Sums]:
    """What `simpleperf report` prints; functions are those of one module."""

    def column(heads: tuple[str, str], *options: object) -> dict[str, int]:
        command = ("simpleperf", "report", "-i", path, "--csv", "--print-event-count")
        text = _run(*command, *options).partition("\n\n")[2]
        rows = csv.DictReader(text.splitlines())
        return {row[heads[0]]: int(row[heads[1]]) for row in rows}

    def sums() -> Sums:
        options = ("--children", "--sort", "symbol", "--dsos", module)
        own = column(("Symbol", "SelfEventCount"), *options)
        total = column(("Symbol", "AccEventCount"), *options)
        threads = column(("Tid", "EventCount"), "--sort", "tid")
        processes = column(("Pid", "EventCount"), "--sort", "pid")
        return Sums(own, total, threads, processes)

    return sums


def pprof_sums(path: Path, program: Path, value: str) -> Callable[[], Sums]:
    """What `go tool pprof` prints of a value."""

    def sums() -> Sums:
        options = ("-nodecount=1000000", "-nodefraction=0", "-edgefraction=0")
        unit = "B" if value.endswith("space") else "ns"
        units = (f"-unit={unit}", f"-sample_index={value}")
        text = _run("go", "tool", "pprof", "-top", *options, *units, program, path)
        form = r"^ *(\d+)\w* +\S+ +\S+ +(\d+)\w* +\S+  (.*?)(?: \(inline\))?$"
        rows = re.findall(form, text, re.MULTILINE)
        found = _sums((name, int(flat), int(whole)) for flat, whole, name in rows)
        if path.suffix != ".txt":
            return found
        # Of a text it leaves out allocators and locks, and Go the names of its runtime.
        total = found.total or {}
        known = {each: total[each] for each in total if "runtime" not in each}
        return Sums(None, known)

    return sums


def jeprof_sums(
    tool: str, program: Path, path: Path, *options: str
) -> Callable[[], Sums]:
    """What jeprof or google-pprof print of the functions of a program.

    Those of allocators, which they leave out, are not compared: totals are.
    """

    def sums() -> Sums:
        limits = ("--nodecount=100000", "--nodefraction=0", "--edgefraction=0")
        text = _run(tool, "--text", *limits, *options, program, path)
        form = r"^ *(\d+) +\S+% +\S+% +(\d+) +\S+% (.*)$"
        names = set(_run("nm", "--defined-only", program).split()[2::3])
        rows = re.findall(form, text, re.MULTILINE)
        found = _sums(
            (name, int(flat), int(whole)) for flat, whole, name in rows if name in names
        )
        return found._replace(own=None) if tool == "jeprof" else found

    return sums


def callgrind_sums(path: Path, program: Path) -> Callable[[], Sums]:
    """What `callgrind_annotate` prints of the functions of a program."""

    def column(option: str) -> dict[str, int]:
        text = _run("callgrind_annotate", "--threshold=100", option, path)
        form = rf"^ *([\d,]+) \(.*?\)  \S*?:(.*?) \[{re.escape(str(program))}\]"
        found = re.findall(form, text, re.MULTILINE)
        rows = ((name, int(cost.replace(",", "")), 0) for cost, name in found)
        return _sums(rows).own or {}

    return lambda: Sums(column("--inclusive=no"), column("--inclusive=yes"))


def node_sums(path: Path) -> Callable[[], Sums]:
    """How often V8 itself says that it was in its nodes."""

    def sums() -> Sums:
        hits = [
            (each["callFrame"]["functionName"] or "(anonymous)", each["hitCount"], 0)
            for each in json.loads(path.read_text())["nodes"]
        ]
        # V8 does not count its first sample, which is of this.
        own = _sums(each for each in hits if each[0] != "(program)").own or {}
        return Sums({name: count for name, count in own.items() if count})

    return sums


def firefox_sums(path: Path, thread: int) -> Callable[[], Sums]:
    """What the Firefox Profiler sums up of the functions of a thread."""

    def sums() -> Sums:
        options = ("--thread", f"t-{thread}", "--limit", "0")
        functions = ask_firefox(path, "thread", "functions", *options)["functions"]
        numbers = ("name", "selfSamples", "totalSamples")
        return _sums(tuple(map(each.get, numbers)) for each in functions)

    return sums
