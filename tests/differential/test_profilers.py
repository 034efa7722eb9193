"""Profilers and their viewers agree with us on what they write and what we write."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from gsym import Tracer
from gsym.profiles.opening import read_profile
from gsym.profiles.perf_script import profile_of_lines
from gsym.profiles.recognition import profile_kind
from gsym.profiles.top import top_rows
from tests.conftest import find_peer
from tests.differential.peers import run

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

PYTHON = """\
def leaf(count):
    return sum(range(count))

def work():
    for _ in range(50):
        leaf(2000)

work()
"""
JAVASCRIPT = """\
function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s }
function work() { for (let i = 0; i < 300; i++) leaf(200000) }
work()
"""


def test_time_of_durations_is_that_of_pprof(tmp_path: Path) -> None:
    go = find_peer("go")
    trace, made = tmp_path / "run.fxt", tmp_path / "run.pb.gz"
    tracer = Tracer(trace)
    with tracer.duration("app", "work"):
        for _ in range(50):
            with tracer.duration("app", "leaf"):
                sum(range(2000))
    tracer.close()
    run(sys.executable, "-m", "gsym", "trace", "convert", str(trace), "-o", str(made))
    told = run(go, "tool", "pprof", "-raw", "-symbolize=none", str(made))
    values = re.findall(r"^ +([0-9]+): [0-9 ]+$", told, re.MULTILINE)
    profile = read_profile(trace)
    whole = sum(sample.values[0] for sample in profile.samples)
    assert sum(map(int, values)) == whole > 0
    assert "time/nanoseconds" in told
    rows = {row.name: row for row in top_rows(profile)}
    assert rows["work"].total == whole
    assert 0 < rows["leaf"].own == rows["leaf"].total < whole


def test_samples_of_node_are_the_hits_of_its_nodes(tmp_path: Path) -> None:
    node = find_peer("node")
    program = tmp_path / "app.js"
    program.write_text(JAVASCRIPT)
    run(node, "--cpu-prof", f"--cpu-prof-dir={tmp_path / 'made'}", str(program))
    (path,) = (tmp_path / "made").iterdir()
    assert profile_kind(path) == "cpuprofile"
    hits: dict[str, int] = {}
    for each in json.loads(path.read_text())["nodes"]:
        name = each["callFrame"]["functionName"] or "(anonymous)"
        hits[name] = hits.get(name, 0) + each["hitCount"]
    own = {row.name: row.own for row in top_rows(read_profile(path)) if row.own}
    del own["(program)"], hits["(program)"]  # V8 does not count its first one
    assert own == {name: count for name, count in hits.items() if count}
    assert own["leaf"] > 0


def test_time_of_viztracer_is_its_own_durations(tmp_path: Path) -> None:
    pytest.importorskip("viztracer")
    program, path = tmp_path / "app.py", tmp_path / "made.json"
    program.write_text(PYTHON)
    run(sys.executable, "-m", "viztracer", "--quiet", "-o", str(path), str(program))
    events = json.loads(path.read_text())["traceEvents"]
    whole: dict[str, int] = {}
    for each in events:
        if each["ph"] == "X":
            name = each["name"].partition(" (")[0]
            whole[name] = whole.get(name, 0) + round(each["dur"] * 1000)
    rows = {row.name: row.total for row in top_rows(read_profile(path))}
    for name in ("leaf", "work", "<module>"):
        assert rows[name] == pytest.approx(whole[name], rel=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        ("-e", "cpu-clock", "-g"),
        ("-e", "cpu-clock,page-faults", "-g", "-z"),
        ("-e", "cpu-clock", "--buildid-mmap"),
        ("-e", "cpu-clock", "-g", "-z", "--threads"),
    ],
    ids=["stacks", "compressed", "build ids", "a folder"],
)
def test_perf_data_is_read_as_perf_prints_it(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    perf = find_peer("perf")
    path = tmp_path / "perf.data"
    work = f"{sys.executable} -c 'sum(range(10**7))'; {sys.executable} -c 'print()'"
    try:
        run(perf, "record", *options, "-o", str(path), "sh", "-c", work)
    except OSError:
        pytest.skip("perf cannot record here")
    fields = ("-F", "comm,pid,tid,time,period,event,ip,sym,dso")
    script = run(perf, "script", "-i", str(path), "--show-mmap-events", *fields)
    printed = profile_of_lines(script.splitlines())
    profile = read_profile(path)
    assert profile.value_types == printed.value_types
    assert _samples(profile) == _samples(printed)
    assert not profile.losses


@pytest.mark.parametrize("option", ["--perf-basic-prof", "--perf-prof"])
def test_code_that_node_compiles_has_its_names(tmp_path: Path, option: str) -> None:
    perf, node = find_peer("perf"), find_peer("node")
    (tmp_path / "app.js").write_text(JAVASCRIPT)
    path = tmp_path / "perf.data"
    record = ("record", "-k", "mono", "-e", "cpu-clock", "-g", "-o", str(path))
    try:
        run(perf, *record, node, option, "app.js", folder=tmp_path)
    except OSError:
        pytest.skip("perf cannot record here")
    if option == "--perf-prof":
        made = tmp_path / "injected"
        run(perf, "inject", "--jit", "-i", str(path), "-o", str(made), folder=tmp_path)
    else:
        made = path
    text = run(perf, "script", "-i", str(made), "-G", "-F", "ip,sym")
    told = len(re.findall(r"JS:\S*leaf ", text))
    rows = top_rows(read_profile(path))
    found = [row.own for row in rows if re.match(r"JS:\S*leaf ", row.name)]
    assert sum(found) == told > 0


def _samples(profile: Profile) -> list[object]:
    """Each sample with its stack, as offsets in files; perf prints microseconds."""
    found: list[object] = []
    for sample in profile.samples:
        stack = []
        for index in profile.stacks[sample.stack]:
            location = profile.locations[index]
            address, path = location.address, ""
            if location.mapping is not None:
                mapping = profile.mappings[location.mapping]
                path = mapping.path
                if address < 1 << 63:
                    address += mapping.file_offset - mapping.start
            stack.append((address, path, location.is_return))
        assert sample.thread is not None
        assert sample.time is not None
        thread = profile.threads[sample.thread]
        events = [each for each in sample.labels if each[0] == "event"]
        found.append((thread, sample.time // 1000, sample.values, events, stack))
    return found


PROGRAM = """\
#include <stdlib.h>
#include <string.h>

static char *kept[100];
static int leaf(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ s; return s; }
static int middle(int n) { return leaf(n) + leaf(2 * n); }
static int again(int n) { return n < 2 ? n : again(n - 1) + again(n - 2); }
static char *grab(int n) { return memset(malloc(n), 1, n); }

int main(void) {
    int s = again(12);
    for (int i = 0; i < 20; i++) s += middle(1000) + leaf(10);
    for (int i = 1; i < 100; i++) kept[i] = grab(i * 10);
    for (int i = 1; i < 50; i++) free(kept[i]);
    return s == 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("program")
    (folder / "app.c").write_text(PROGRAM)
    made = str(folder / "app")
    options = ("-g", "-O1", "-fno-inline", "-fno-builtin")
    run(find_peer("cc"), *options, "-o", made, str(folder / "app.c"))
    return made


def test_costs_of_callgrind_are_those_that_it_annotates(
    tmp_path: Path, program: str
) -> None:
    annotate, path = find_peer("callgrind_annotate"), tmp_path / "made"
    tool = ("--tool=callgrind", f"--callgrind-out-file={path}")
    run(find_peer("valgrind"), *tool, program)
    rows = top_rows(read_profile(path))
    for option, column in (("--inclusive=no", "own"), ("--inclusive=yes", "total")):
        text = run(annotate, "--threshold=100", option, str(path))
        told = {
            name: int(cost.replace(",", ""))
            for cost, name in re.findall(
                r"^ *([0-9,]+) \(.*\)  \S*?:(\S+)", text, re.MULTILINE
            )
        }
        costs = {row.name: getattr(row, column) for row in rows}
        # Costs of a function with several callers are shared as integers, so that
        # totals of these callers may be a few more or less.
        rounding = 0 if column == "own" else 1e-4
        for name in ("leaf", "middle", "grab", "main"):
            assert costs[name] == pytest.approx(told[name], rel=rounding)
            assert told[name] > 0
        if column == "own":
            whole = int(
                text.partition("PROGRAM TOTALS")[0].split()[-2].replace(",", "")
            )
            assert sum(costs.values()) == whole


def test_bytes_of_dhat_are_its_sums(tmp_path: Path, program: str) -> None:
    path = tmp_path / "made"
    valgrind = find_peer("valgrind")
    run(valgrind, "--tool=dhat", f"--dhat-out-file={path}", program)
    profile = read_profile(path)
    types = [each.type for each in profile.value_types]
    values = {
        kind: {row.name: row.total for row in top_rows(profile, value=at)}
        for at, kind in enumerate(types)
    }
    assert values["alloc_objects"]["grab"] == 99
    assert values["alloc_space"]["grab"] == sum(range(10, 1000, 10))
    assert values["inuse_space"]["grab"] == sum(range(500, 1000, 10))
    assert values["peak_space"]["grab"] == values["alloc_space"]["grab"]
