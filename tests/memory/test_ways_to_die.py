"""Programs that die in unusual ways have the stacks that gdb shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.memory.test_core import crashed_core, gdb_frames, shown

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.long,
    pytest.mark.no_engine,  # runs programs
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
]

PROGRAM = """\
#include <signal.h>
#include <stdlib.h>
#include <string.h>
typedef int (*function)(int *);
static function volatile no_function;
static char data[16];
__attribute__((noinline)) static int leaf(int *p) { return *p + 1; }
static void handler(int number) { *(volatile int *)0 = number; }
__attribute__((noinline)) static void trap(void) { __builtin_trap(); }
__attribute__((noinline)) static void stop(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("int3");
#endif
    __builtin_unreachable();
}
__attribute__((noinline)) static int deep(int n) {
    volatile char some[2000];
    some[0] = (char)n;
    return deep(n + 1) + some[0];
}
__attribute__((noinline)) int work(const char *mode) {
    if (strstr(mode, "handler")) signal(SIGSEGV, handler);
    if (strstr(mode, "null")) return no_function(0) + 1;
    if (strstr(mode, "data")) return ((function)(void *)data)(0) + 1;
    if (strstr(mode, "leaf")) return leaf(0) + 1;
    if (strstr(mode, "trap")) trap();
    if (strstr(mode, "stop")) stop();
    if (strstr(mode, "deep")) return deep(0) + 1;
    abort();
}
__attribute__((noinline)) int outer(const char *mode) { return work(mode) + 1; }
int main(int count, char **words) { return outer(words[count - 1]); }
"""
BUILDS = {
    "dynamic": (),
    "static": ("-static",),
    "without header": ("-static", "-Wl,--no-eh-frame-hdr", "-Wl,--build-id=none"),
    "frame pointers": ("-fno-omit-frame-pointer", "-no-pie"),
    "x86": ("-static",),
}


def build(folder: Path, compiler: str, flags: tuple[str, ...]) -> Path:
    (folder / "program.c").write_text(PROGRAM)
    command = [compiler, "-g", "-O1", "-w", *flags, "-o", "program", "program.c"]
    made = subprocess.run(command, cwd=folder, check=False, capture_output=True)
    if made.returncode:
        pytest.skip("the compiler does not make such programs")
    return folder / "program"


@pytest.fixture(scope="module", params=BUILDS)
def program(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    compiler: str,
) -> Path:
    if request.param == "x86":
        compiler = shutil.which("i686-linux-gnu-gcc") or pytest.skip("no compiler")
    folder = tmp_path_factory.mktemp("program")
    return build(folder, compiler, BUILDS[request.param])


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


MODES = ["null", "data", "leaf", "abort", "trap", "leaf handler", "null handler"]


@pytest.mark.parametrize("mode", MODES)
def test_the_stack_is_that_of_gdb(program: Path, mode: str) -> None:
    core = crashed_core(program, mode)
    try:
        report = gsym.symbolicate(core)
        expected, found = gdb_frames(program, core), shown(report)
    finally:
        core.unlink()
    for thread, frames in expected.items():
        assert found[thread][: len(frames)] == frames
    names = [call.name for each in report.threads[0].frames for call in each.calls]
    assert names[names.index("work") :][:3] == ["work", "outer", "main"]
    assert not report.threads[0].end


def test_a_trap_names_its_own_function_and_a_recursion_its_start(
    program: Path,
) -> None:
    """The trap is the last instruction, so gdb names the function after it."""
    for mode, first in ("stop", "stop"), ("deep", "deep"):
        core = crashed_core(program, mode)
        try:
            (thread,) = gsym.symbolicate(core).threads
        finally:
            core.unlink()
        names = [call.name for each in thread.frames for call in each.calls]
        if mode == "stop" and names[0] == "abort":
            continue  # another machine
        at = names.index("work")
        assert (names[0], names[at - 1]) == (first, first)
        assert names[at:][:3] == ["work", "outer", "main"]
        assert bool(thread.left_out) == (mode == "deep")


UNTOLD = ("-g0", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer", "-no-pie")


@pytest.mark.parametrize("mode", ["leaf", "null", "trap", "deep"])
def test_functions_without_call_frame_information(
    tmp_path: Path, compiler: str, mode: str
) -> None:
    """Their instructions say what is on the stack; gdb finds other frames or none."""
    core = crashed_core(build(tmp_path, compiler, UNTOLD), mode)
    try:
        (thread,) = gsym.symbolicate(core).threads
    finally:
        core.unlink()
    own = [each for each in thread.frames if each.calls]
    names = [each.calls[-1].name for each in own]
    at = names.index("work")
    assert names[at:][:3] == ["work", "outer", "main"]
    assert {each.trust for each in own[at + 1 :][:2]} == {"prologue"}
    assert not thread.end
    if mode in {"leaf", "trap"}:
        assert names[:at] == [mode]


MOVING = """\
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) void crash(int n) { *(volatile int *)(long)n = 1; }
__attribute__((noinline)) void middle(int n) { crash(n + 1); __asm__(""); }
int main(void) {
    uintptr_t page = (uintptr_t)crash & ~4095ul;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *copy = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    memcpy(copy, (void *)page, 4096);
    mprotect(copy, 4096, PROT_READ | PROT_EXEC);
    mremap(copy, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)page);
    middle(3);
    return 0;
}
"""


@pytest.mark.parametrize("flags", [("-static",), ("-no-pie",), ("-fpie", "-pie")])
def test_code_in_memory_of_no_file_is_that_of_the_program(
    tmp_path: Path,
    compiler: str,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
) -> None:
    """Programs move their code there, so that it is in huge pages."""
    monkeypatch.setattr(f"{__name__}.PROGRAM", MOVING)
    program = build(tmp_path, compiler, flags)
    core = crashed_core(program, "")
    try:
        report = gsym.symbolicate(core)
        expected, found = gdb_frames(program, core), shown(report)
    finally:
        core.unlink()
    for thread, frames in expected.items():
        assert found[thread][: len(frames)] == frames
    names = [call.name for each in report.threads[0].frames for call in each.calls]
    assert names[:3] == ["crash", "middle", "main"]
    assert not report.threads[0].end
