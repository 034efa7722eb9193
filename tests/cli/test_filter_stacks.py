"""Stacks in a log that are not markup, and modules at their paths in a log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.engine.native import ffi, lib
from gsym.markup.filter import MarkupFilter
from gsym.markup.stack_lines import find_stacks
from gsym.markup.symbols import SymbolOptions
from gsym.memory.report_modules import ReportModules
from gsym.modules.key import ModuleKey
from gsym.reports.log_stacks import LogStacks
from tests.markup_modules import CONTEXT, Modules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.long

SOURCE = """\
volatile int sink;
static inline __attribute__((always_inline)) void inner(int x) { sink = x; }
__attribute__((noinline)) void outer(int x) {
    inner(x);
    sink = 0;
}
int main(void) { outer(1); return 0; }
"""
ID = "0123456789abcdef"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No store and no cache but the test's own."""
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def app(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(compiler, tmp_path_factory.mktemp("app"), ID)


def build(compiler: str, folder: Path, build_id: str) -> Path:
    (folder / "app.c").write_text(SOURCE)
    flags = ["-g", "-O2", "-fPIE", "-pie", f"-Wl,--build-id=0x{build_id}"]
    subprocess.run([compiler, *flags, "-o", "app", "app.c"], check=True, cwd=folder)
    return folder / "app"


def start_of(app: Path) -> int:
    """The address of `outer`, with which the inlined call begins."""
    with gsym.open(app) as reader:
        return reader.find("outer")[0].start


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run_filter(log: str, *options: str) -> str:
        path = tmp_path / "app.log"
        path.write_text(log)
        capfd.readouterr()
        assert main(["filter", *options, str(path)]) == 0
        return capfd.readouterr().out

    return run_filter


def sanitizer(app: Path, build_id: str = ID) -> str:
    at = start_of(app)
    return f"    #0 {at + 0x55D1C0FFD000:#x}  ({app}+{at:#x}) (BuildId: {build_id})\n"


def test_frames_of_sanitizers_are_answered_in_place(
    app: Path, run: Callable[..., str]
) -> None:
    at = start_of(app)
    shown = run(f"before 0x1 \n{sanitizer(app)}after +1 {app}\n")
    begin = f"    #0 {at + 0x55D1C0FFD000:#x}  "
    assert shown == (
        "before 0x1 \n"
        f"{begin}inner at {app}.c:2 [inlined]\n"
        f"{' ' * len(begin)}outer at {app}.c:4 (app+{at:#x})\n"
        f"after +1 {app}\n"
    )


def test_backtrace_symbols_of_a_log_are_answered(
    app: Path, run: Callable[..., str]
) -> None:
    at = start_of(app) + 1  # of the instruction after a call
    shown = run(f"{app}(+{at:#x}) [{at + 0x55D1C0FFD000:#x}]\n")
    assert shown == (
        f"inner + 1 at {app}.c:2 [inlined]\n"
        f"outer + 1 at {app}.c:4 (app+{at:#x}) [{at + 0x55D1C0FFD000:#x}]\n"
    )


def test_coredumpctl_says_build_ids_before_its_stacks(
    app: Path, run: Callable[..., str], tmp_path: Path
) -> None:
    shutil.copy(app, tmp_path / "renamed")
    at = start_of(app)
    log = (
        f"Module app with build-id {ID}\nStack trace of thread 1:\n"
        f"#0  0x{at + 0x55D1C0FFD000:016x} n/a (app + {at:#x})\n"
    )
    shown = run(log, f"--gsym-dir={tmp_path}")
    assert f"inner at {app}.c:2 [inlined]\n" in shown
    assert run(log.replace(ID, ID[::-1]), f"--gsym-dir={tmp_path}") == log.replace(
        ID, ID[::-1]
    )


def test_a_file_of_another_build_is_not_used(
    app: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "app.log"
    log.write_text(sanitizer(app, ID[::-1]))
    main(["filter", str(log)])
    shown = capfd.readouterr()
    assert shown.out == log.read_text()
    assert "1 unresolved in 'app': " in shown.err
    assert f"{app}: its build id is {ID}, not {ID[::-1]}" in shown.err


def test_a_module_without_build_id_is_reported_as_a_guess(
    app: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"{app}(+{start_of(app) + 1:#x}) [0x55d1c0ffe000]\n")
    main(["filter", str(log)])
    said = f"gsym: 'app': found by its name alone: {app} may be of another build\n"
    assert capfd.readouterr().err == said


def test_a_log_goes_on_after_a_damaged_module(
    app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise gsym.FormatError("damaged", path="a", offset=0)

    log = sanitizer(app).encode()
    monkeypatch.setattr(ReportModules, "open", fail)
    stacks = LogStacks(ReportModules, SymbolOptions())
    made = MarkupFilter(Modules(), stacks=stacks)
    assert made.feed(log) + made.feed(b"more\n") == log + b"more\n"
    assert made.summary() == ["1 unresolved in '?': a: offset 0x0: damaged"]


def test_sentences_with_offsets_stay(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    text = "0x10 + 0x20 = 0x30, app.c+0x12\nC++0x\nx+0x10\n"
    log.write_text(text)
    main(["filter", str(log)])
    assert capfd.readouterr() == (text, "")


def test_other_styles_keep_stacks_as_text(app: Path, run: Callable[..., str]) -> None:
    log = sanitizer(app)
    assert run(log, "--style=llvm") == run(log, "--style=fuchsia") == log


def test_the_prefix_of_a_process_is_on_every_line(
    app: Path, run: Callable[..., str]
) -> None:
    frame = sanitizer(app)
    log = "".join(f"[{pid}] {frame}" for pid in (1, 2))
    lines = run(log, r"--demux=^\[(\d+)\]").splitlines()
    assert [line[:4] for line in lines] == ["[1] ", "[1] ", "[2] ", "[2] "]


def test_json_has_an_object_for_each_frame(app: Path, run: Callable[..., str]) -> None:
    at = start_of(app)
    shown = run(f"text\n[7] {sanitizer(app)}", "--json", r"--demux=^\[(\d+)\]")
    record = json.loads(shown)
    assert (record["log_line"], record["process"]) == (2, "7")
    assert record["column"] == 4 + len(f"    #0 {at + 0x55D1C0FFD000:#x}  ") + 1
    functions = [each["function"] for each in record["frames"]]
    assert (record["build_id"], functions) == (ID, ["inner", "outer"])


def test_options_about_names_apply_to_stacks(
    app: Path, run: Callable[..., str]
) -> None:
    shown = run(sanitizer(app), "--no-inlines", "--basenames")
    assert shown.count("\n") == 1
    assert " at app.c:2 (app+" in shown
    assert "outer" in shown


@given(cuts=st.sets(st.integers(0, 600), max_size=6))
def test_any_pieces_of_a_log_give_the_same_lines(cuts: set[int], app: Path) -> None:
    frame = sanitizer(app)
    log = f"a\n{frame}{frame}{{{{{{bt:0:0x1}}}}}}\nb + 0x1\n{frame}[0x1]\nc".encode()
    assert filtered(log, sorted(cuts)) == filtered(log, [])


def filtered(log: bytes, cuts: list[int]) -> bytes:
    stacks = LogStacks(ReportModules, SymbolOptions())
    made = MarkupFilter(Modules(), stacks=stacks)
    pieces = [log[a:b] for a, b in pairwise([0, *cuts, max(len(log), *cuts, 0)])]
    return b"".join(map(made.feed, pieces)) + made.finish()


def test_a_module_that_comes_later_is_found_after_a_time(
    app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sanitizer(app).replace(str(app), str(tmp_path / "app")).encode()
    made = MarkupFilter(Modules(), stacks=LogStacks(ReportModules, SymbolOptions()))
    before = made.feed(log * 2)
    shutil.copy(app, tmp_path)
    assert b"outer" not in before + made.feed(log)
    monkeypatch.setattr("gsym.modules.open_module._MISS_SECONDS", 0)
    assert b"outer" in made.feed(log * 2) + made.finish()


def test_a_module_of_markup_that_comes_later_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing, modules = ModuleKey(code_id="0" * 8), Modules()
    found, is_there = modules.open, [False]
    monkeypatch.setattr(
        modules, "open", lambda key: found(key if is_there[0] else missing)
    )
    made = MarkupFilter(modules)
    frame = b"{{{bt:0:0x1018:pc}}}\n"
    before = made.feed(CONTEXT + frame)
    is_there[0] = True
    assert b"b.h:8" not in before + made.feed(frame)
    monkeypatch.setattr("gsym.modules.open_module._MISS_SECONDS", 0)
    assert b"b.h:8" in made.feed(frame * 2) + made.finish()


@given(st.binary(), st.lists(st.sampled_from([b"+", b" ", b"0x", b"0", b"\n", b"{{{"])))
def test_stacks_are_lines_with_offsets_and_addresses(
    text: bytes, words: list[bytes]
) -> None:
    lines = text + b"".join(words)
    block = ffi.from_buffer(lines)
    found = [lines.find(each) for each in (b"+0x", b"+ 0x") if each in lines]
    expected = min(found, default=len(lines))
    assert lib.gsym_text_find_offset(block, len(lines)) == expected
    at = 0
    for begin, end in find_stacks(lines, 0, len(lines), is_inside=False):
        assert begin >= at
        assert begin == 0 or lines[begin - 1] == 10
        stack = lines[begin:end]
        assert b"+0x" in stack or b"+ 0x" in stack
        assert [
            line for line in stack.rstrip(b"\n").split(b"\n") if b"0x" not in line
        ] == []
        assert b"{{{" not in stack
        at = end


# ---- modules of markup


def markup(name: str, address: int, build_id: str = ID) -> str:
    return (
        f"{{{{{{module:0:{name}:elf:{build_id}}}}}}}\n"
        "{{{mmap:0x0:0x100000:load:0:rx:0x0}}}\n"
        f"{{{{{{pc:{address:#x}:pc}}}}}} {{{{{{data:{address:#x}}}}}}}\n"
    )


def test_the_file_at_the_path_in_the_log_is_used_if_its_build_id_fits(
    app: Path, run: Callable[..., str]
) -> None:
    at = start_of(app)
    shown = run(markup(str(app), at), "--context=elide")
    assert shown == f"inner[{app}.c:2] outer\n"
    relative = os.path.relpath(app)
    assert run(markup(relative, at), "--context=elide") == shown
    other = run(markup(str(app), at, ID[::-1]), "--context=elide")
    assert other.startswith(f"{app}+")
    llvm = run(markup(str(app), at), "--context=elide", "--style=llvm")
    assert "inner" not in llvm


@pytest.mark.parametrize("form", ["markup", "stack"])
def test_a_module_of_a_cut_build_id_is_said_once_and_in_json(
    form: str, compiler: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    app = build(compiler, tmp_path, "ab" * 32)
    at, cut = start_of(app), "ab" * 20
    log = tmp_path / "a.log"
    text = markup(str(app), at, cut) if form == "markup" else sanitizer(app, cut)
    log.write_text(text if form == "markup" else text * 2)
    unsure = "only 20 of 32 bytes of its build id are known"
    name = str(app) if form == "markup" else "app"
    for options in [], ["--no-summary"], ["--to", "html"]:
        assert main(["filter", *options, str(log)]) == 0
        printed = capfd.readouterr()
        assert "outer" in printed.out
        assert (
            printed.err == f"gsym: '{name}': {unsure}: {app} may be of another build\n"
        )
        if "html" in options and form == "markup":
            assert f"{unsure}: it may be another build" in printed.out
    assert main(["filter", "--strict", str(log)]) == 3
    capfd.readouterr()
    assert main(["filter", "--json", str(log)]) == 0
    records = [json.loads(each) for each in capfd.readouterr().out.splitlines()]
    frames = [each for each in records if each.get("frames")]
    assert frames
    assert {each["unsure"] for each in frames} == {unsure}
    log.write_text(text.replace(cut, "ab" * 32))
    assert main(["filter", "--json", "--strict", str(log)]) == 0
    printed = capfd.readouterr()
    assert (printed.err, "unsure" in printed.out) == ("", False)


def test_a_build_id_of_zeros_in_markup_finds_the_file_at_the_path_alone(
    app: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    zeros = "00" * 20
    with gsym.Creator(uuid=bytes(20)) as creator:
        creator.add(gsym.FunctionInfo(0, 1 << 20, "wrong"))
        wrong = creator.to_bytes()
    for name in "other.gsym", f".build-id/00/{zeros[2:]}.gsym":
        path = tmp_path / "symbols" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wrong)
    log = tmp_path / "a.log"
    for place, functions in (str(app), {"outer"}), ("/nowhere/app", set()):
        log.write_text(markup(place, start_of(app), zeros))
        main(["filter", "--gsym-dir", str(tmp_path / "symbols"), str(log)])
        printed = capfd.readouterr()
        assert {each for each in ("outer", "wrong") if each in printed.out} == functions
        said = f"{app}': found by its name alone: {app} may be of another build\n"
        assert (said in printed.err) is bool(functions)


def test_a_path_without_a_fitting_file_is_among_the_reasons(
    app: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_text(markup(str(app), 0x1000, ID[::-1]))
    main(["filter", str(log)])
    said = f"; {app}: its build id is {ID}, not {ID[::-1]}\n"
    assert said in capfd.readouterr().err
