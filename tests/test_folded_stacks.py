"""Stacks between `reset:begin` and `reset:end`, folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsym.cli.main import main
from gsym.markup_filter.filter import MarkupFilter
from gsym.markup_filter.folded_stacks import FoldedStacks
from gsym.markup_filter.stack_folds import FoldedRun, Pattern, fold_frames
from gsym.markup_filter.symbols import Location
from tests.markup_modules import CONTEXT, Modules, write_module

if TYPE_CHECKING:
    from pathlib import Path

BASE = b'[[[ELF module #0x0 "a.o" BuildID=abcdef 0x1000]]]\n'
BEGIN, END = b"[1] {{{reset:begin}}}\n", b"[1] {{{reset:end}}}\n"
STACK = (
    b"[1] {{{bt:0:0x1019:sp 1}}} x\n[1] text\n[1] {{{bt:1:0x1042}}}\n"
    b"[1] {{{bt:2:0x1081}}}\n[1] {{{bt:3:0x5001}}}\n"
)
SHOWN = (
    b"[1]   #0 second \xe2\x80\xa2 /src/b.h:8 x\n"
    b"[1]   #1 first() \xe2\x80\xa2 /src/a.c:4 x\n"
    b"[1] text\n"
    b"[1]   #2 bare\n"
    b"[1]   #3 0x000000001081 a.o(abcdef)+0x81\n"
    b"[1]   #4 0x000000005001 is not covered by any module\n"
)


class Run:
    """Filters a log; what it tells goes to `told`."""

    def __init__(self) -> None:
        self.told: list[bytes] = []

    def filter(self) -> MarkupFilter:
        output = FoldedStacks(self.told.append)
        return MarkupFilter(Modules(), style="fuchsia", output=output)

    def __call__(self, log: bytes) -> bytes:
        made = self.filter()
        return made.feed(log) + made.finish()


@pytest.fixture
def run() -> Run:
    return Run()


def places(*frames: str) -> list[Location]:
    """Frames written as `FUNCTION@FILE`."""
    split = (frame.encode().partition(b"@") for frame in frames)
    return [Location(function, file, 1) for function, _, file in split]


def folded(*frames: str) -> list[FoldedRun]:
    return fold_frames(places(*frames))


def test_a_stack_is_shown_when_its_batch_is_at_its_end(run: Run) -> None:
    made = run.filter()
    assert made.feed(BEGIN + CONTEXT) == BASE
    assert made.feed(STACK) == b""
    assert made.feed(END) == SHOWN
    assert made.feed(b"{{{bt:0:0x1041:pc}}}\n").startswith(b"   #0    0x00")
    assert not run.told


def test_a_log_that_ends_or_pauses_shows_what_was_held_back(run: Run) -> None:
    assert run(BEGIN + CONTEXT + STACK) == BASE + SHOWN
    made = run.filter()
    made.feed(BEGIN + CONTEXT + STACK)
    assert made.idle() == SHOWN


def test_another_stack_of_the_batch_begins_with_a_lower_number(run: Run) -> None:
    frame = b"{{{bt:0:0x1042}}}\n"
    assert run(BEGIN + CONTEXT + frame * 2 + END) == BASE + b"  #0 bare\n" * 2


@pytest.mark.parametrize("between", [BEGIN, CONTEXT.splitlines(keepends=True)[0]])
def test_a_stack_that_is_cut_short_is_told(between: bytes, run: Run) -> None:
    module = between.replace(b"module:0", b"module:1")
    frame = b"{{{bt:0:0x1042}}}\n"
    assert run(BEGIN + CONTEXT + frame + module) == BASE + b"  #0 bare\n"
    (told,) = run.told
    assert told.startswith(b"warning: a stack is mixed with other elements")


def test_several_frames_in_a_line_end_lines_of_their_own(run: Run) -> None:
    line = b"a {{{bt:0:0x1042}}} b {{{bt:1:0x1042}}} c\r\n"
    shown = b"a   #0 bare\r\n b   #1 bare c\r\n"
    assert run(BEGIN + CONTEXT + line + END) == BASE + shown


def test_a_stack_without_an_end_does_not_fill_the_memory(run: Run) -> None:
    made = run.filter()
    made.feed(BEGIN + CONTEXT)
    frames = b"".join(b"{{{bt:%d:0x1042}}}\n" % each for each in range(10_000))
    assert made.feed(frames).count(b" bare\n") > 1000


def test_frames_that_say_little_are_one() -> None:
    assert folded(
        "foo(int)@/a/foo.cc",
        "async_loop_dispatch_task",
        "async_loop_dispatch_tasks",
        "async_loop_run",
        "main",
        "start_main@/x/__libc_start_main.c",
        "__libc_start_main@/x/__libc_start_main.c",
        "_start",
    ) == [
        (0, 1, ""),
        (1, 3, "Dispatching task from async loop"),
        (4, 1, ""),
        (5, 3, "libc startup"),
    ]


def test_a_fold_shows_in_a_log(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folds = "gsym.markup_filter.stack_folds._ORDERED"
    second = Pattern("second", b"src/b.h")
    monkeypatch.setattr(folds, [("a call", (second, Pattern("first")))])
    stack = b"> {{{bt:0:0x1019}}} x\n> {{{bt:1:0x1019}}}\n> {{{bt:2:0x1042}}}\n"
    assert run(BEGIN + CONTEXT + stack + END) == BASE + (
        ">   #0…4 «a call» x\n>   #4 bare\n".encode()
    )


def test_the_longest_fold_counts() -> None:
    loop = ["zx@syscalls.S", "_zx_port_wait", "async_loop_run_once", "async_loop_run"]
    assert folded(*loop) == [(0, 4, "Waiting for event in async_loop_run()")]
    assert folded(*loop, "async::Loop::Run(zx::time, bool)") == [
        (0, 5, "Waiting for event in async::Loop::Run()")
    ]


@pytest.mark.parametrize("count", [0, 1, 16, 17])
def test_how_many_any_frames_a_fold_takes(count: int) -> None:
    begin = "std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>"
    runs = folded(begin, *["a"] * count, "thread_trampoline", "b")
    if count <= 16:
        shown = [(0, count + 2, "Rust thread startup"), (count + 2, 1, "")]
    else:
        shown = [(each, 1, "") for each in range(count + 3)]
    assert list(runs) == shown


NAMES = st.sampled_from(["_start", "async_loop_run", "thread_trampoline", "a", ""])


@given(st.lists(NAMES))
def test_all_frames_are_in_one_run_each(names: list[str]) -> None:
    runs = folded(*names)
    ends = [start + count for start, count, _ in runs]
    assert [start for start, _, _ in runs] == [0, *ends][: len(runs)]
    assert ([0, *ends])[-1] == len(names)


def test_the_command(
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "none"))
    write_module(tmp_path / "symbols/a.gsym")
    log = tmp_path / "a.log"
    log.write_bytes(BEGIN + CONTEXT + STACK + END)
    options = ["--prettify-backtrace", f"--gsym-dir={tmp_path}/symbols", str(log)]
    assert main(["filter", "--style=fuchsia", "--no-summary", *options]) == 0
    assert capfdbinary.readouterr().out == BASE + SHOWN
    assert main(["filter", *options]) == 2
