"""What tools for profiles sum up by function, thread and process."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.http_server import Server, files_of
from tests.project.viewers import (
    Perfetto,
    ask_firefox,
    perfetto_folder,
    speedscope_table,
)
from tests.server.page_browser import open_browser

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any


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


def node_heap_sums(path: Path) -> Callable[[], Sums]:
    """Sizes in the tree that V8 writes of its heap."""

    def sums() -> Sums:
        own: defaultdict[str, int] = defaultdict(int)
        nodes = [json.loads(path.read_text())["head"]]
        while nodes:
            node = nodes.pop()
            nodes += node["children"]
            name = node["callFrame"]["functionName"] or "(anonymous)"
            own[name] += node["selfSize"]
        return Sums({name: size for name, size in own.items() if size})

    return sums


def firefox_sums(path: Path, thread: int) -> Callable[[], Sums]:
    """What the Firefox Profiler sums up of the functions of a thread."""

    def sums() -> Sums:
        options = ("--thread", f"t-{thread}", "--limit", "0")
        functions = ask_firefox(path, "thread", "functions", *options)["functions"]
        numbers = ("name", "selfSamples", "totalSamples")
        rows = (tuple(map(each.get, numbers)) for each in functions)
        # The module comes before the name.
        return _sums((name.partition("!")[2] or name, *row) for name, *row in rows)

    return sums


class Viewers:
    """Perfetto's UI and speedscope in a browser."""

    def __init__(self, browser: Any, perfetto: Perfetto) -> None:  # noqa: ANN401
        self._browser = browser
        self._perfetto = perfetto

    def perfetto(self, path: Path) -> Callable[[], Sums]:
        """What the durations of a trace sum up to."""

        def sums() -> Sums:
            self._perfetto.open(path.read_bytes())
            query = (
                "select slice.id, coalesce(slice.parent_id, -1), slice.name, dur,"
                " tid, pid from slice join thread_track on track_id = thread_track.id"
                " join thread using (utid) left join process using (upid)"
                " where dur > 0 order by slice.id"
            )
            return _sums_of_durations(self._perfetto.query(query))

        return sums

    def speedscope(self, path: Path) -> Callable[[], Sums]:
        """What the table of functions shows."""

        def table(file: Path) -> list[tuple[str, int, int]]:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder, file.name)
                copy.write_bytes(file.read_bytes())
                rows = speedscope_table(self._browser, Path(folder), copy.name)
            # py-spy writes a line behind each name.
            return [
                (re.sub(r" \([^()]*:\d+\)$", "", name), _shown(own), _shown(total))
                for total, own, name in rows
            ]

        def sums() -> Sums:
            if path.suffix != ".json":
                return _sums(table(path))
            # It shows one thread at a time.
            made = json.loads(path.read_text())
            own: defaultdict[str, int] = defaultdict(int)
            total: defaultdict[str, int] = defaultdict(int)
            several: set[str] = set()
            for profile in made["profiles"]:
                with tempfile.TemporaryDirectory() as folder:
                    part = Path(folder, path.name)
                    part.write_text(json.dumps({**made, "profiles": [profile]}))
                    rows = table(part)
                known = _sums(rows).total or {}
                several.update(name for name, *_ in rows if name not in known)
                for name, flat, whole in rows:
                    own[name] += flat
                    total[name] += whole
            return Sums(dict(own), {name: total[name] for name in own.keys() - several})

        return sums


def _sums_of_durations(rows: Iterable[tuple[Any, ...]]) -> Sums:
    """Sums of durations, each after that around it."""
    own: defaultdict[str, int] = defaultdict(int)
    total: defaultdict[str, int] = defaultdict(int)
    threads: defaultdict[str, int] = defaultdict(int)
    processes: defaultdict[str, int] = defaultdict(int)
    around: dict[int, tuple[str, frozenset[str]]] = {}
    for number, parent, name, length, thread, process in rows:
        outer, names = around.get(parent, ("", frozenset()))
        around[number] = name, names | {name}
        own[name] += length
        if outer:
            own[outer] -= length
        else:
            threads[str(thread)] += length
            processes[str(process)] += length
        if name not in names:
            total[name] += length
    return Sums(dict(own), dict(total), dict(threads), dict(processes))


_UNITS = {"": 1, "ns": 1, "µs": 1000, "ms": 10**6, "s": 10**9}


def _shown(cell: str) -> int:
    """A number of speedscope: a count, or nanoseconds."""
    found = re.match(r"([\d,.]+)\s*([a-zµ]*) ", cell)
    assert found is not None, cell
    return round(float(found[1].replace(",", "")) * _UNITS[found[2]])


@contextmanager
def open_viewers() -> Iterator[Viewers]:
    """The viewers, as long as they are needed."""
    for browser in open_browser():
        with Server(files_of(perfetto_folder())) as server:
            context = browser.new_context(service_workers="block")
            yield Viewers(browser, Perfetto(context.new_page(), server.url))
            context.close()
