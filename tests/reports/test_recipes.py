"""The recipes of the manual, run on programs with an extension module."""

from __future__ import annotations

import html
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import pytest
from starlette.testclient import TestClient

import gsym
from gsym.profiles import ProfileOptions, collapsed_lines, flame_page
from tests.conftest import REPOSITORY, find_peer
from tests.project.test_readme import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.model import Frame

pytestmark = [
    pytest.mark.long,
    pytest.mark.no_engine,  # runs programs
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
]

MANUAL = (REPOSITORY / "docs/recipes.md").read_text(encoding="utf-8")
EXTENSION = """\
#include <Python.h>
static inline __attribute__((always_inline)) int first(const volatile int *p) {
    return *p; // @first
}
static __attribute__((noinline)) int decode(const volatile int *p) {
    return first(p) + 1; // @decode
}
static __attribute__((noinline)) int turn(const volatile int *p) {
    while (*p) {}
    return *p;
}
static PyObject *run(PyObject *module, PyObject *argument) {
    long count = PyLong_AsLong(argument);
    volatile int going = 1;
    if (!module || !count) return PyLong_FromLong(decode(0) + 1); // @crash
    if (count < 0) {
        void *kept = malloc((size_t)-count); // @allocate
        return PyLong_FromVoidPtr(memset(kept, 1, (size_t)-count));
    }
    puts("spinning");
    fflush(stdout);
    return PyLong_FromLong(turn(&going) + 1); // @spin
}
static PyObject *place(PyObject *module, PyObject *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(module ? (void *)decode : 0);
}
static PyMethodDef methods[] = {
    {"run", run, METH_O, 0}, {"place", place, METH_NOARGS, 0}, {0, 0, 0, 0}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "ext", 0, -1, methods, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit_ext(void) { return PyModule_Create(&definition); }
"""
LINES = {
    line.partition("// @")[2]: number
    for number, line in enumerate(EXTENSION.splitlines(), 1)
    if "// @" in line
}
PROGRAM = """\
import sys, ext
def work(argument):
    return ext.run(argument)
work(int(sys.argv[1]))
"""


class Built(NamedTuple):
    """An extension module: with debug information, and stripped beside a program."""

    source: Path
    here: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    compiler = find_peer("gcc")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        pytest.skip("no headers of Python")
    folder = tmp_path_factory.mktemp("recipes")
    source, here = folder / "build", folder / "run"
    source.mkdir()
    here.mkdir()
    (folder / "ext.c").write_text(EXTENSION)
    command = [compiler, "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC"]
    command += ["-Wl,--build-id", f"-I{header.parent}", "-o", "build/ext.so", "ext.c"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["strip", "-o", here / "ext.so", source / "ext.so"], check=True)
    (here / "app.py").write_text(PROGRAM)
    return Built(source, here)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GSYM_CACHE_DIR", "GSYM_STORE"):
        monkeypatch.setenv(name, str(tmp_path / name))


def section(heading: str) -> str:
    """The recipe under a heading."""
    return MANUAL.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def recipe(heading: str) -> dict[str, Any]:
    """What the code of a recipe defines."""
    defined: dict[str, Any] = {}
    exec("\n".join(blocks("python", section(heading))), defined)  # noqa: S102 - ours
    return defined


def used_ticks(pid: int) -> int:
    """The time that a process has computed."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@contextmanager
def spinning(built: Built) -> Iterator[int]:
    """The number of a process that is in the extension module."""
    command = [sys.executable, "app.py", "1"]
    process = subprocess.Popen(command, cwd=built.here, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"spinning\n"
        started = used_ticks(process.pid)
        while used_ticks(process.pid) < started + 3:  # what only the loop uses
            time.sleep(0.01)
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def named(calls: Iterable[Frame]) -> list[str]:
    """Functions of the extension module, with the marks of their lines."""
    marks = {line: mark for mark, line in LINES.items()}
    return [
        f"{call.name}@{marks.get(call.line, '')}"
        for call in calls
        if call.filename == "ext.c"
    ]


def test_addresses_in_log_records_are_answered(
    built: Built, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(built.here)
    address = __import__("ext").place()
    logger = logging.getLogger("a test of a recipe")
    logger.addFilter(
        recipe("Addresses in log records")["AnsweredAddresses"](built.source)
    )
    rest = f": code 0x17, {logger!r}, {object()!r}"
    logger.warning("failed at %#x%s", address, rest)
    (message,) = caplog.messages
    assert message.startswith("failed at first at /")
    assert " decode at /" in message
    assert message.endswith(f" (ext.so+{address % 0x1000 + 0x1000:#x}){rest}")


def test_native_and_python_frames_of_a_crash_are_shown(built: Built) -> None:
    text = section("A crash in an extension module")
    (load,) = blocks("python", text)
    build_native_stack(built.here)
    (built.here / "crashing.py").write_text(load + PROGRAM)
    done = subprocess.run(
        [sys.executable, "crashing.py", "0"],
        cwd=built.here,
        capture_output=True,
        text=True,
        check=False,
    )
    report = gsym.symbolicate(done.stderr, source=built.source)
    calls = [call for frame in report.frames() for call in frame.calls]
    assert named(calls) == ["first@first", "decode@decode", "run@crash"]
    lines = PROGRAM.splitlines()
    line = load.count("\n") + 1 + lines.index("    return ext.run(argument)")
    assert f'crashing.py", line {line} in work' in str(report)
    assert report.reason == "Fatal Python error: Segmentation fault"


def build_native_stack(folder: Path) -> None:
    (library,) = blocks("c", section("A crash in an extension module"))
    (folder / "native_stack.c").write_text(library)
    command = ["gcc", "-shared", "-fPIC", "-o", "native_stack.so", "native_stack.c"]
    subprocess.run(command, cwd=folder, check=True)


def test_crashes_of_a_program_are_reported_with_their_key(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_native_stack(built.here)
    load = 'import ctypes\nctypes.CDLL("./native_stack.so")\n'
    (built.here / "reported.py").write_text(load + PROGRAM)
    monkeypatch.chdir(built.here)
    run_reported = recipe("A crash reporter")["run_reported"]
    key, report = run_reported(["reported.py", "0"], built.source)
    assert key.startswith("first | decode | run | ")
    calls = [call for frame in report.frames() for call in frame.calls]
    assert named(calls) == ["first@first", "decode@decode", "run@crash"]
    assert run_reported(["-c", "pass"], built.source) is None


def test_the_crash_of_a_test_is_shown_with_its_functions(built: Built) -> None:
    build_native_stack(built.here)
    (code,) = blocks("python", section("Crashes of tests"))
    code = code.replace('SOURCE = "build"', f"SOURCE = {str(built.source)!r}")
    (built.here / "conftest.py").write_text(code)
    test = "import ext\ndef test_crash():\n    ext.run(0)\ndef test_fine():\n    pass\n"
    (built.here / "test_ext.py").write_text(test)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "."],
        cwd=built.here,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(built.here)},
    )
    assert "1 failed, 1 passed" in done.stdout
    assert f"first at {built.source.parent}/ext.c:{LINES['first']}" in done.stdout
    assert f"/ext.c:{LINES['crash']}" in done.stdout


def test_lines_are_covered_by_addresses(built: Built, tmp_path: Path) -> None:
    path = tmp_path / "ext.gsym"
    gsym.convert(built.source / "ext.so", path)
    with gsym.open(path) as reader:
        (decode,) = reader.find("decode")
    executed = range(decode.start, decode.start + decode.size)
    coverage = recipe("Coverage by lines")["line_coverage"](path, executed)
    (lines, ran) = coverage[next(each for each in coverage if each.endswith("ext.c"))]
    assert {LINES["first"], LINES["decode"]} <= ran <= lines
    assert LINES["crash"] in lines - ran


def test_a_profile_becomes_a_flame_graph(built: Built, tmp_path: Path) -> None:
    with gsym.open(built.source / "ext.so") as reader:
        (decode,) = reader.find("decode")
    build_id = gsym.identify(built.source / "ext.so").code_id
    (tmp_path / "addresses.txt").write_text(f"{decode.start:#x}\n" * 3)
    profile = recipe("A flame graph in a notebook")["flame_graph"](
        tmp_path / "addresses.txt",
        built.source,
        tmp_path / "symbols",
        ProfileOptions(module="ext.so", build_id=build_id),
    )
    shown = html.unescape(profile._repr_html_())
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert '"decode"' in shown
    assert '"decode"' in flame_page([profile], "title")


def job(built: Built) -> dict[str, Any]:
    """A request of version 5 for the start of `decode`."""
    path = built.source / "ext.so"
    with gsym.open(path) as reader:
        (decode,) = reader.find("decode")
    made = recipe("The server in another application")
    request: dict[str, Any] = made["request_of"](path, decode.start)
    return request


def test_a_trace_of_a_program_becomes_a_flame_graph(tmp_path: Path) -> None:
    trace = tmp_path / "app.fxt"
    with gsym.Tracer(trace) as tracer, tracer.duration("work", "outer"):
        tracer.duration("work", "inner")(time.sleep)(0.001)
    draw = recipe("A flame graph in a notebook")["flame_graph"]
    profile = draw(trace, tmp_path, tmp_path / "symbols")
    (line,) = (each for each in collapsed_lines(profile) if "inner" in each)
    assert "outer;inner " in line
    assert "inner" in flame_page([profile], "app")


def test_samples_in_a_table_are_counted(built: Built, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    gsym.add_file(tmp_path / "symbols", built.source / "ext.so")
    with gsym.open(built.source / "ext.so") as reader:
        (decode,), (turn,) = reader.find("decode"), reader.find("turn")
        found = reader.lookup(decode.start)
        assert found is not None
        counted = [found.frames[0].name] * 3 + [turn.name] * 2
        starts = [decode.start] * 3 + [turn.start] * 2
        ids = [reader.uuid.hex()] * len(starts)
    table = pa.table({"build_id": ids, "address": starts})
    parquet.write_table(table, tmp_path / "samples.parquet")
    rows = recipe("Samples in a table")["own_samples"](
        tmp_path / "samples.parquet", tmp_path / "symbols"
    )
    assert rows == [*Counter(counted).items()]


def test_the_server_is_mounted_in_another_application(
    built: Built, tmp_path: Path
) -> None:
    gsym.add_file(tmp_path / "symbols", built.source / "ext.so")
    made = recipe("The server in another application")
    app = made["mounted"](tmp_path / "symbols")
    answer = anyio.run(made["answered"], app, job(built))
    (frame,) = answer["results"][0]["stacks"][0]
    assert frame["function"] == "decode"
    with TestClient(app, base_url="http://any.example") as client:
        found = client.post("/symbols/symbolicate/v5", json=job(built))
        assert found.json() == answer
        assert client.get("/symbols/__version__").status_code == 200


def test_the_server_is_mounted_in_fastapi(built: Built, tmp_path: Path) -> None:
    fastapi = pytest.importorskip("fastapi", reason="fastapi is not installed")
    gsym.add_file(tmp_path / "symbols", built.source / "ext.so")
    made = recipe("The server in another application")
    symbols = made["mounted"](tmp_path / "symbols").routes[0].app
    app = fastapi.FastAPI()
    app.mount("/symbols", symbols)
    answer = anyio.run(made["answered"], app, job(built))
    assert answer["results"][0]["stacks"][0][0]["function"] == "decode"
    frame = gsym.Frame("f", "/src", "f.c", 7, 0, inlined=False)
    app.get("/frame")(lambda: frame)
    found = gsym.Lookup(1, gsym.FunctionRange("f", 1, 2), (frame,))
    app.get("/lookup")(found.to_dict)
    with TestClient(app) as client:
        assert client.get("/frame").json() == [*frame]
        assert client.get("/lookup").json()["frames"][0]["name"] == "f"


def test_the_output_of_py_spy_is_answered(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(sys.executable).parent
    if shutil.which("py-spy", path=folder) is None:
        pytest.skip("py-spy is not installed")
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    with spinning(built) as pid:
        try:
            report = recipe("py-spy")["answered_dump"](pid, built.source)
        except subprocess.CalledProcessError:
            pytest.skip("py-spy may not attach")
    frames = report.threads[0].frames
    calls = [call for frame in frames for call in frame.calls]
    assert named(calls) == ["turn@", "run@spin"]
    assert "work (app.py:3)" in [frame.text for frame in frames]


def test_frames_of_pystack_are_answered(built: Built) -> None:
    pytest.importorskip("pystack", reason="pystack is not installed")
    with spinning(built) as pid:
        ((number, answers),) = recipe("pystack")["native_stacks"](pid, built.source)
    assert number == pid
    calls = [call for each in answers if each is not None for call in each.frames]
    assert named(calls) == ["turn@", "run@spin"]


def test_stacks_of_memray_are_answered(built: Built, tmp_path: Path) -> None:
    pytest.importorskip("memray", reason="memray is not installed")
    record, parse = (
        line.split() for line in blocks("sh", section("memray"))[0].splitlines()
    )
    start = [sys.executable, "-m"]
    command = [*start, *record, "-123456"]
    command[command.index("app.bin")] = str(tmp_path / "app.bin")
    subprocess.run(command, cwd=built.here, check=True, capture_output=True)
    assert parse[-2] == ">"
    with (tmp_path / "app.txt").open("w") as file:
        subprocess.run([*start, *parse[:-2]], cwd=tmp_path, stdout=file, check=True)
    found = recipe("memray")["peaks"](tmp_path / "app.txt", built.source)
    stacks = [named(stack) for size, stack in found if size == 123456]
    assert stacks == [["run@allocate"]]
