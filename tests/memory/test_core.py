"""Core files: stacks as gdb shows them, what is said of damage."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.memory.elf_core import is_core, read_core
from tests.conftest import find_peer
from tests.inputs import pe
from tests.inputs.core import Part, core_of, file_note, note, prstatus, small_core
from tests.memory.running import build, running

pytestmark = [pytest.mark.long, pytest.mark.no_engine]  # runs programs
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


_PRINT_FRAMES = """\
import gdb

for thread in sorted(gdb.selected_inferior().threads(), key=lambda each: each.num):
    thread.switch()
    print("thread", thread.ptid[1])
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("frame", hex(frame.pc()))
        print("call", f"{frame.name()}:{frame.find_sal().line}")
        if frame.name() in ("main", "thread"):
            break
        frame = frame.older()
"""


def gdb_output(program: Path, core: Path) -> list[str]:
    """What gdb prints of the frames up to main."""
    gdb = find_peer("gdb")
    script = core.parent / "frames.py"
    script.write_text(_PRINT_FRAMES)
    command = [gdb, "-batch", "-nx", "-x", str(script), str(program), str(core)]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return output.splitlines()


def gdb_frames(program: Path, core: Path) -> dict[int, list[int]]:
    """Addresses of the frames up to main, by thread."""
    stacks: dict[int, list[int]] = {}
    for line in gdb_output(program, core):
        kind, _, value = line.partition(" ")
        if kind == "thread":
            stacks[int(value)] = []
        elif kind == "frame" and stacks:
            stacks[list(stacks)[-1]].append(int(value, 16))
    if not any(stacks.values()):
        pytest.skip("gdb has no Python")
    return stacks


def shown(report: gsym.Report) -> dict[int, list[int]]:
    """Addresses of the frames as the text has them, by thread."""
    stacks: dict[int, list[int]] = {}
    for line in str(report).splitlines():
        words = line.split()
        if line.startswith("Thread "):
            stacks[int(words[1].rstrip(":"))] = []
        elif line.startswith("#"):
            stacks[list(stacks)[-1]].append(int(words[1], 16))
    return stacks


def crashed_core(program: Path, mode: str, library: Path | str = "") -> Path:
    """The core file that the kernel writes when a program crashes."""
    # In the folder of the program, and under one name only.
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern != "core":
        pytest.skip("the kernel does not write core files here")

    def allow() -> None:
        limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))

    command = [str(program), str(library), mode]
    subprocess.run(
        *(command,),
        cwd=program.parent,
        preexec_fn=allow,
        stdout=subprocess.PIPE,
        check=False,
    )
    for core in program.parent.glob("core*"):
        return core
    pytest.skip("core files are not allowed")


@on_linux
@pytest.mark.parametrize("mode", ["crash", "handled"])
@pytest.mark.parametrize("flags", [("-fomit-frame-pointer",), ("-no-pie",)])
def test_stacks_of_a_crash_are_those_of_gdb(
    mode: str, flags: tuple[str, ...], tmp_path: Path, compiler: str
) -> None:
    program, _ = build(tmp_path, compiler, *flags)
    core = crashed_core(program, mode)
    report = gsym.symbolicate(core)
    expected = gdb_frames(program, core)
    found = shown(report)
    assert list(found) == list(expected)
    for thread, frames in expected.items():
        assert found[thread][: len(frames)] == frames
    first = report.threads[0]
    assert first.is_crashed
    names = [call.name for frame in first.frames for call in frame.calls]
    start = names.index("inlined")
    assert names[start : start + 4] == ["inlined", "leaf", "middle", "main"]
    assert report.reason == ("SIGABRT" if mode == "handled" else "SIGSEGV at 0x0")


@on_linux
@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",)])
def test_calls_in_a_library_that_was_opened_are_those_of_gdb(
    flags: tuple[str, ...], tmp_path: Path, compiler: str
) -> None:
    program, library = build(tmp_path, compiler, *flags)
    core = crashed_core(program, "library", library)
    output = gdb_output(program, core)
    calls = [line.removeprefix("call ") for line in output if line.startswith("call ")]
    if not calls:
        pytest.skip("gdb has no Python")
    thread = gsym.symbolicate(core).threads[0]
    found = [
        f"{call.name}:{call.line}" for each in thread.frames for call in each.calls
    ]
    end = [each.startswith("main:") for each in calls].index(True) + 1
    assert found[:end] == calls[:end]
    assert [each.partition(":")[0] for each in calls[:end]] == ["deep", "crash", "main"]


@on_linux
def test_stacks_of_a_core_of_gdb_are_those_of_gdb(
    tmp_path: Path, compiler: str
) -> None:
    gcore = find_peer("gcore")
    program, library = build(tmp_path, compiler)
    with running(program, library, "wait") as (pid, printed):
        command = [gcore, "-o", str(tmp_path / "made"), str(pid)]
        subprocess.run(command, check=False, capture_output=True)
    core = tmp_path / f"made.{pid}"
    if not core.exists():
        pytest.skip("gdb may not attach")
    report = gsym.symbolicate(core)
    expected = gdb_frames(program, core)
    found = shown(report)
    assert len(found) == 2
    for thread, frames in expected.items():
        assert found[thread][: len(frames)] == frames
    assert report.reason == ""
    assert [each for each in report.threads if each.is_crashed] == []
    assert {"program", "library.so", "[vdso]"} <= {each.name for each in report.modules}
    assert printed["main"]


@on_linux
@pytest.mark.parametrize("has_frames", [True, False])
def test_instructions_are_followed_where_there_is_no_frame_information(
    tmp_path: Path, compiler: str, *, has_frames: bool
) -> None:
    flags = "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-no-pie"
    program, _ = build(tmp_path, compiler, "-O0", *flags)
    if not has_frames:
        command = ["strip", "--strip-dwo", "--remove-section=.debug_frame"]
        subprocess.run([*command, str(program)], check=True)
    core = crashed_core(program, "crash")
    first = gsym.symbolicate(core).threads[0]
    names = [frame.calls[-1].name for frame in first.frames[:3]]
    assert names == ["leaf", "middle", "main"]
    outer = "call frame info" if has_frames else "prologue"
    assert [each.trust for each in first.frames[:3]] == ["context", outer, outer]


@on_linux
def test_a_program_that_was_built_again_is_not_taken_for_the_one_that_crashed(
    tmp_path: Path, compiler: str
) -> None:
    program, _ = build(tmp_path, compiler)
    core = crashed_core(program, "crash")
    build(tmp_path, compiler, "-O0")
    report = gsym.symbolicate(core)
    (module,) = [each for each in report.modules if each.name == "program"]
    assert module.state == "missing"
    assert module.code_id


@on_linux
def test_code_and_symbols_are_read_from_a_build_folder(
    tmp_path: Path, compiler: str
) -> None:
    program, _ = build(tmp_path, compiler, "-fomit-frame-pointer")
    core = crashed_core(program, "crash")
    folder = tmp_path / "build" / "bin"
    folder.mkdir(parents=True)
    program.rename(folder / "renamed")
    first = gsym.symbolicate(core, source=folder.parent).threads[0]
    names = [frame.calls[-1].name for frame in first.frames[:3]]
    assert names == ["leaf", "middle", "main"]
    assert first.frames[1].trust == "call frame info"


@on_linux
def test_the_command_reads_core_files_with_and_without_the_option(
    tmp_path: Path, compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, _ = build(tmp_path, compiler)
    core = crashed_core(program, "crash")
    assert main(["symbolicate", str(core)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Program: {str(program)[:79]}")
    assert "\nReason: SIGSEGV at 0x0\n\nThread " in text
    assert f"inlined at {program.parent}/program.c:11 [inlined]\n" in text
    assert main(["symbolicate", "--core", str(core), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["form"] == "ELF core file"
    assert record["threads"][0]["frames"][0]["trust"] == "context"


def test_the_option_refuses_a_text_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "crash.txt"
    text.write_text("#0  0x1234 in main ()\n")
    assert main(["symbolicate", "--core", str(text)]) == 1
    assert (
        capsys.readouterr().err
        == f"gsym: error: {text}: not a core file and not a minidump\n"
    )


# Opens each library from a file without a name, one after the other under one name,
# and lets their functions call each other.
_MEMFD_HOST = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int function(void *next);

static function *load(const char *path) {
    char place[64], bytes[1 << 16];
    int from = open(path, O_RDONLY), to = memfd_create("plugin.so", 0);
    for (ssize_t size; (size = read(from, bytes, sizeof bytes)) > 0;)
        if (write(to, bytes, size) != size) abort();
    snprintf(place, sizeof place, "/proc/self/fd/%d", to);
    function *entry = 0;
    *(void **)&entry = dlsym(dlopen(place, RTLD_NOW), "entry");
    return entry;
}

int main(int count, char **words) {
    FILE *filter = fopen("/proc/self/coredump_filter", "w");
    fputs(words[2], filter);
    fclose(filter);
    char list[1 << 10];
    snprintf(list, sizeof list, "%s", words[1]);
    char *second = list;
    while (*second != ';') second++;
    *second++ = 0;
    function *inner = load(list), *outer = load(second);
    return count + outer((void *)inner);
}
"""
_PLUGIN = """\
__attribute__((noinline)) static int NAME(int (*next)(void *)) {
    if (!next) __builtin_trap();
    return next(0) + 1;
}
int entry(void *next) { return NAME((int (*)(void *))next) + MORE; }
"""
_HEADERS, _ALL = "0x33", "0x7f"  # what cores hold: the usual, also code


def compile_program(
    compiler: str, path: Path, source: str, *flags: str, build_id: str = "none"
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.parent / "source.c"
    text.write_text(source)
    common = [compiler, "-g", "-O1", f"-Wl,--build-id={build_id}", *flags]
    subprocess.run([*common, "-o", path, text], check=True)


@on_linux
@pytest.mark.parametrize("held", [_HEADERS, _ALL])
@pytest.mark.parametrize("build_id", ["sha1", "none"])
def test_two_images_of_one_name_are_two_modules(
    build_id: str, held: str, tmp_path: Path, compiler: str
) -> None:
    folder = tmp_path / "build"
    plugins = [folder / name / "memfd:plugin.so" for name in ("alpha", "bravo")]
    for path, more in zip(plugins, (1, 2), strict=True):
        flags = "-shared", "-fPIC", f"-DNAME={path.parent.name}", f"-DMORE={more}"
        compile_program(compiler, path, _PLUGIN, *flags, build_id=build_id)
    host = tmp_path / "host"
    compile_program(compiler, host, _MEMFD_HOST, "-ldl", build_id="sha1")
    # One may be in front of the other in the order of the search.
    for first, second in (plugins, plugins[::-1]):
        core = crashed_core(host, held, f"{first};{second}")
        report = gsym.symbolicate(core, source=folder)
        core.unlink()
        frames = report.threads[0].frames
        names = [each.calls[-1].name for each in frames[:4] if each.calls]
        modules = [report.modules[each.module] for each in frames[:4]]
        if build_id != "none" or held == _ALL:
            inner, outer = first.parent.name, second.parent.name
            assert names == [inner, "entry", outer, "entry"]
            assert [each.unsure for each in modules] == [""] * 4
            expected = [first, first, second, second]
            assert [each.path for each in modules] == [str(each) for each in expected]
        else:
            assert {each.unsure for each in modules} == {"found by its name alone"}


@on_linux
@pytest.mark.parametrize(
    ("held", "rebuilt", "outcome"),
    [
        (_HEADERS, "", ("found by its name alone", "")),
        (_ALL, "", ("", "")),
        (_HEADERS, "-DMORE=3", ("found by its name alone", "")),
        (_ALL, "-DMORE=3", ("", "its code differs from that in the dump")),
        (_HEADERS, "-O0", ("", "its segments differ from those in the dump")),
    ],
)
def test_a_program_without_an_id_is_compared_with_the_core(
    held: str, rebuilt: str, outcome: tuple[str, str], tmp_path: Path, compiler: str
) -> None:
    unsure, reason = outcome
    program = tmp_path / "program"
    compile_program(compiler, program, _CRASHING)
    core = crashed_core(program, held)
    if rebuilt:
        compile_program(compiler, program, _CRASHING, rebuilt)
    report = gsym.symbolicate(core)
    (module,) = [each for each in report.modules if each.name == "program"]
    assert module.unsure == unsure
    assert module.state == ("missing" if reason else "found")
    assert reason in module.reason
    names = [each.calls[-1].name for each in report.threads[0].frames if each.calls]
    assert (names[:2] == ["crash", "main"]) is not bool(reason)
    said = "program: found by its name alone: it may be another build"
    assert list(report.doubts()) == [said] * bool(unsure)


_CRASHING = """\
#include <stdio.h>
#ifndef MORE
#define MORE 2
#endif
__attribute__((noinline)) int crash(int *p) { return *p + MORE; }
int main(int count, char **words) {
    FILE *filter = fopen("/proc/self/coredump_filter", "w");
    fputs(words[2], filter);
    fclose(filter);
    return crash((int *)(count - 3L)) + 1;
}
"""


@on_linux
def test_code_that_differs_although_the_id_fits_is_said(
    tmp_path: Path, compiler: str
) -> None:
    program = tmp_path / "program"
    flags = [compiler, program, _CRASHING]
    compile_program(*flags, "-DMORE=2", build_id="0xabcdef01")  # type: ignore[arg-type]
    core = crashed_core(program, _ALL)
    compile_program(*flags, "-DMORE=3", build_id="0xabcdef01")  # type: ignore[arg-type]
    report = gsym.symbolicate(core)
    (module,) = [each for each in report.modules if each.name == "program"]
    assert module.unsure == "its id fits, but its code differs from that in the dump"


def test_a_core_is_a_report_of_its_threads(tmp_path: Path) -> None:
    path = tmp_path / "core"
    path.write_bytes(small_core())
    assert str(gsym.symbolicate(path)) == (
        "Program: app -x\n"
        "Reason: SIGSEGV at 0xdead\n"
        "\n"
        "Thread 77 (crashed):\n"
        "#0   0x0000000000401005 app+0x1005 [context]\n"
        "#1   0x0000000000401010 app+0x1010 [frame pointer]\n"
        "#2   0x0000000000402020 app+0x2020 [frame pointer]\n"
    )


@pytest.mark.parametrize("base", [0x140000000, 0x6FFFF0000000])
def test_code_of_windows_that_wine_has_copied_is_that_of_its_file(
    base: int, tmp_path: Path
) -> None:
    """Of a file whose sections are not aligned to pages only the headers are mapped."""
    code = pe.Section(".text", bytes(0x800), 0x1000, pe.CODE, 0x800)
    symbols = [pe.Symbol("crash", 0x10), pe.Symbol("work", 0x100)]
    program = tmp_path / "app.exe"
    program.write_bytes(pe.Pe([code], symbols).to_bytes())
    stack = struct.pack("<4Q", base + 0x1110, 0, 0, 0)
    parts = [
        Part(0x7000, stack),
        Part(base, program.read_bytes()[:0x200]),
        Part(base + 0x1000, bytes(0x1000), is_executable=True),
    ]
    mapped = file_note((base, base + 0x1000, 0, str(program)))
    status = note(1, prstatus(77, base + 0x1014, 0x7000, 0x7000))
    core = tmp_path / "core"
    core.write_bytes(core_of(parts, status + note(0x46494C45, mapped)))
    report = gsym.symbolicate(core)
    assert [each.calls[0].name for each in report.frames()] == ["crash", "work"]
    assert [each.offset for each in report.frames()] == [0x1014, 0x1110]


def test_a_cycle_of_frame_records_ends() -> None:
    stack = struct.pack("<4Q", 0x7010, 0x401010, 0x7000, 0x402020)
    parsed = read_core(memoryview(small_core(stack=stack)), "core")
    frames = [part for part in parsed.parts if not isinstance(part, str)]
    assert len(frames) == 3


def test_other_machines_and_empty_cores_are_errors() -> None:
    data = bytearray(small_core())
    data[18] = 22
    with pytest.raises(gsym.GsymError, match=r"core: offset 0x12: .* of machine 22"):
        read_core(memoryview(data), "core")
    with pytest.raises(gsym.GsymError, match="no threads in it"):
        read_core(memoryview(small_core(notes=note(2, b"x"))), "core")


def test_other_elf_files_are_no_cores() -> None:
    assert is_core(small_core()[:18])
    assert not is_core(Path(sys.executable).read_bytes()[:18] or b"\x7fELF")
    assert not is_core(b"\x7fELF")


PLACES = st.integers(0, len(small_core()) - 1)
CHANGES = st.lists(st.tuples(PLACES, st.binary(min_size=1, max_size=8)))


@given(PLACES, CHANGES)
def test_damaged_cores_raise_nothing_else(
    size: int, changes: list[tuple[int, bytes]]
) -> None:
    data = bytearray(small_core())
    for at, value in changes:
        data[at : at + len(value)] = value
    for damaged in (data, data[:size]):
        try:
            parsed = read_core(memoryview(bytes(damaged)), "core")
        except gsym.GsymError:
            continue
        assert parsed.form == "ELF core file"
