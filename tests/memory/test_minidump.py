"""Minidumps: threads and modules of each system, walks, damage."""

from __future__ import annotations

import dataclasses
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.memory.minidump import read_minidump
from gsym.modules.key import ModuleKey
from tests.conftest import find_peer
from tests.inputs.minidump import (
    ARM,
    ARM64,
    LINUX,
    MAC,
    WINDOWS,
    X86,
    X86_64,
    Minidump,
    Module,
    Thread,
    codeview,
    elf_codeview,
    write_minidump,
)
from tests.inputs.pdb import GUID as PDB_GUID
from tests.inputs.pdb_examples import PDBS
from tests.memory.running import build

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.memory.stack_parts import ParsedReport, StackFrame

pytestmark = pytest.mark.no_engine  # runs programs


GUID = bytes(range(16))
APP = Module("/opt/app", 0x400000, 0x10000, elf_codeview(b"\xab" * 20))


def frames(parsed: ParsedReport) -> list[StackFrame]:
    return [part for part in parsed.parts if not isinstance(part, str)]


def parse(dump: Minidump) -> ParsedReport:
    return read_minidump(memoryview(write_minidump(dump)), "a.dmp")


def stack_of(word: str, *values: int) -> bytes:
    return b"".join(struct.pack(word, value) for value in values)


@pytest.mark.parametrize(
    ("processor", "word"), [(X86, "<I"), (X86_64, "<Q"), (ARM64, "<Q")]
)
@pytest.mark.parametrize("memory", ["long", "short"])
def test_stacks_are_walked_by_frame_pointers_then_by_scanning(
    processor: int, word: str, memory: str
) -> None:
    size = struct.calcsize(word)
    frame, end = 0x7000 + 2 * size, 0x7000 + 9 * size
    stack = stack_of(word, 1, 2, end, 0x401111, 0, 5, 0x402222, 0, 0x403333, 0, 0)
    thread = Thread(5, 0x400123, 0x7000, frame, stack, "worker")
    dump = Minidump((thread,), (APP,), processor, has_long_memory=memory == "long")
    parsed = parse(dump)
    assert [(each.address, each.trust) for each in frames(parsed)] == [
        (0x123, "context"),
        (0x1111, "frame pointer"),
        (0x2222, "scan"),
        (0x3333, "scan"),
    ]
    assert parsed.stacks[0].name == 'Thread 5 "worker"'
    assert ".sym files" in parsed.notes[0]


def test_addresses_with_a_signature_are_stripped() -> None:
    stack = stack_of("<Q", 0, 0x0040_0000_0040_1111 | 1 << 60)
    thread = Thread(5, 0x400123, 0x7000, 0x7000, stack)
    parsed = parse(Minidump((thread,), (APP,), ARM64))
    assert [each.address for each in frames(parsed)] == [0x123, 0x1111]


@pytest.mark.parametrize(
    ("platform", "crash", "reason"),
    [
        (LINUX, (11, 0x10, ()), "SIGSEGV at 0x10"),
        (LINUX, (99, 0, ()), "signal 99 at 0x0"),
        (
            WINDOWS,
            (0xC0000005, 0x400123, (0, 0x18)),
            "EXCEPTION_ACCESS_VIOLATION at 0x18 (read)",
        ),
        (WINDOWS, (0xC0000421, 0x400123, ()), "exception 0xc0000421 at 0x400123"),
        (MAC, (1, 0x18, ()), "EXC_BAD_ACCESS at 0x18"),
    ],
)
def test_the_thread_that_crashed_is_the_first(
    platform: int, crash: tuple[int, int, tuple[int, ...]], reason: str
) -> None:
    threads = Thread(1, 0x400001), Thread(2, 0x400002)
    parsed = parse(Minidump(threads, (APP,), platform=platform, crash=(2, *crash)))
    assert [each.is_crashed for each in parsed.stacks] == [True, False]
    assert [each.address for each in frames(parsed)] == [2, 1]
    assert parsed.reason == reason


@pytest.mark.parametrize(
    ("platform", "processor", "flags", "crash", "reason"),
    [
        (LINUX, X86_64, 1, (11, 0, ()), "SIGSEGV at 0x0"),
        (LINUX, X86_64, 2, (11, 0x1000, ()), "SIGSEGV at 0x1000 (no permission)"),
        (
            LINUX,
            X86_64,
            1,
            (8, 0x400, ()),
            "SIGFPE at 0x400 (integer division by zero)",
        ),
        (LINUX, X86_64, (1 << 32) - 6, (6, 0x1234, ()), "SIGABRT"),
        (
            *(LINUX, X86_64, 0x80, (11, 0, ())),
            "SIGSEGV (general protection; the address is not known)",
        ),
        (LINUX, X86, 1, (11, 0xFFFFFFFF00000045, ()), "SIGSEGV at 0x45"),
        (
            *(WINDOWS, X86, 0, (0xC0000005, 0, (1, 0xFFFFFFFF80000045))),
            "EXCEPTION_ACCESS_VIOLATION at 0x80000045 (write)",
        ),
        (
            *(WINDOWS, X86_64, 0, (0xC0000005, 1, (8, 0))),
            "EXCEPTION_ACCESS_VIOLATION at 0x0 (execution)",
        ),
        (
            *(WINDOWS, X86_64, 1, (0xC0000409, 0x400123, (7,))),
            (
                "STATUS_STACK_BUFFER_OVERRUN at 0x400123 "
                "(fast fail: fatal application exit)"
            ),
        ),
        (
            *(WINDOWS, X86_64, 1, (0xC0000409, 0x400123, (99,))),
            "STATUS_STACK_BUFFER_OVERRUN at 0x400123",
        ),
        (
            *(WINDOWS, X86_64, 1, (0xC0000409, 0x400123, ())),
            "STATUS_STACK_BUFFER_OVERRUN at 0x400123",
        ),
        (MAC, X86_64, 1, (1, 0, ()), "EXC_BAD_ACCESS at 0x0 (KERN_INVALID_ADDRESS)"),
        (MAC, X86_64, 0x10003, (5, 0, ()), "EXC_SOFTWARE (EXC_SOFT_SIGNAL)"),
        (
            *(LINUX, X86_64, 0x4C4C4442),
            (11, 0x400123, struct.unpack("<3Q", b"signal SIGSEGV: at 0x7\0\0")),
            "SIGSEGV: at 0x7",
        ),
    ],
)
def test_the_reason_is_that_of_the_writer(
    platform: int,
    processor: int,
    flags: int,
    crash: tuple[int, int, tuple[int, ...]],
    reason: str,
) -> None:
    dump = Minidump((Thread(1, 1),), (APP,), processor, platform, (1, *crash))
    assert parse(dataclasses.replace(dump, flags=flags)).reason == reason


def test_crashpad_has_the_sender_of_a_signal_as_the_address() -> None:
    """Of a renderer of Chromium that `kill -SEGV` ended; si_code is 0."""
    crash = (1, 11, 1000 << 32 | 18848, ())
    dump = Minidump((Thread(1, 1),), (APP,), X86_64, LINUX, crash)
    assert parse(dump).reason == "SIGSEGV at 0x3e8000049a0"  # of Breakpad
    crashpad = dataclasses.replace(dump, files={0x43500001: bytes(52)})
    assert parse(crashpad).reason == "SIGSEGV sent by process 18848"
    fault = dataclasses.replace(crashpad, flags=1)
    assert parse(fault).reason.startswith("SIGSEGV at 0x3e8000049a0")


def test_return_addresses_of_arm_have_no_mode() -> None:
    """The lowest bit says that the caller is Thumb code."""
    stack = stack_of("<I", 0x401111, 5, 6, 7)
    thread = Thread(1, 0x400124, 0x7000, 5, stack)
    parsed = parse(Minidump((thread,), (APP,), ARM))
    assert [(each.address, each.trust) for each in frames(parsed)] == [
        *((0x124, "context"), (0x1110, "scan"))
    ]


def test_modules_have_the_ids_of_their_systems() -> None:
    record = codeview(GUID, 0x1A, "C:\\build\\app.pdb")
    module = Module("C:\\app.exe", 0x400000, 0x2000, record, stamp=0x5F00AA00)
    thread = Thread(1, 0x400001)
    guid = "03020100050407060809" + "0A0B0C0D0E0F"

    def key(platform: int, module: Module) -> ModuleKey:
        return parse(Minidump((thread,), (module,), platform=platform)).modules[0].key

    assert key(WINDOWS, module) == ModuleKey(
        *("app.pdb", guid + "1A", "app.exe", "5F00AA002000"), os="windows"
    )
    old = Module("/opt/app", 0x400000, 0x2000, codeview(GUID, 0, "app"))
    assert key(LINUX, old) == ModuleKey("app", guid + "0", "app", "")
    assert key(LINUX, APP) == ModuleKey("app", "", "app", "AB" * 20)
    assert key(MAC, old) == ModuleKey("app", guid + "0", "app")
    assert key(MAC, Module("/opt/app", 0x400000, 1)) == ModuleKey("app", "", "app", "")
    without = Module("C:\\app.dll", 0x400000, 0x2000, stamp=0x5F00AA00)
    assert key(WINDOWS, without) == ModuleKey(
        *("app.dll", "", "app.dll", "5F00AA002000"), os="windows"
    )


@pytest.mark.parametrize("platform", [WINDOWS, MAC, LINUX])
def test_ids_of_zeros_are_none(platform: int) -> None:
    for record in codeview(bytes(16), 1, "app"), elf_codeview(bytes(20)):
        module = Module("/opt/app", 0x400000, 0x2000, record)
        dump = Minidump((Thread(1, 0x400001),), (module,), platform=platform)
        assert not parse(dump).modules[0].has_id


def test_maps_of_linux_say_where_code_is() -> None:
    maps = (
        b"400000-401000 r--p 0 0:0 5 /usr/opt/app\n"
        b"401000-402000 r-xp 1000 0:0 5 /usr/opt/app\n"
    )
    small = Module("/opt/app", 0x400000, 0x10, elf_codeview(b"\xab" * 20))
    stack = stack_of("<Q", 0x400500, 0x401500)
    thread = Thread(1, 0x401001, 0x7000, 0, stack)
    files = {0x47670009: maps, 0x47670006: b"app\0-x\0"}
    parsed = parse(Minidump((thread,), (small,), files=files, is_aligned=True))
    assert [each.address for each in frames(parsed)] == [0x1001, 0x1500]
    assert parsed.parts[0].startswith("Program: app -x\n")  # type: ignore[union-attr]


def test_other_processors_and_missing_streams_are_errors() -> None:
    with pytest.raises(gsym.GsymError, match=r"a\.dmp: .* past the file"):
        read_minidump(memoryview(b"MDMP"), "a.dmp")
    data = write_minidump(Minidump((Thread(1, 1),)))
    itanium = struct.pack("<H18xI", 6, LINUX)
    other = data.replace(struct.pack("<H18xI", X86_64, LINUX), itanium)
    with pytest.raises(gsym.GsymError, match="minidump of processor 6 is not read"):
        read_minidump(memoryview(other), "a.dmp")
    assert read_minidump(memoryview(data), "a.dmp").form == "minidump"


WHOLE = write_minidump(
    Minidump(
        (Thread(1, 0x400001, 0x7000, 0x7000, stack_of("<Q", 0x7010, 0x401000)),),
        (APP,),
        crash=(1, 11, 0, ()),
        files={0x47670009: b"400000-401000 r-xp 0 0:0 5 /opt/app\n"},
    )
)
CHANGES = st.lists(
    st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=8))
)


@given(st.integers(0, len(WHOLE)), CHANGES)
def test_damaged_minidumps_raise_nothing_else(
    size: int, changes: list[tuple[int, bytes]]
) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at : at + len(value)] = value
    for damaged in (data, data[:size]):
        try:
            parsed = read_minidump(memoryview(bytes(damaged)), "a.dmp")
        except gsym.GsymError:
            continue
        assert parsed.form == "minidump"


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_stacks_of_a_minidump_of_lldb_are_those_of_lldb(
    tmp_path: Path,
    compiler: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    lldb = find_peer("lldb", "lldb-19")
    program, _ = build(tmp_path, compiler)
    path = tmp_path / "a.dmp"
    commands = (
        *("breakpoint set -n leaf", 'process launch -- "" crash'),
        f"process save-core --plugin-name=minidump --style=stack {path}",
        *("thread backtrace", "kill"),
    )
    options = [word for each in commands for word in ("-o", each)]
    output = subprocess.run(
        [lldb, "-b", *options, str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    if not path.exists():
        pytest.skip("lldb may not run programs")
    assert main(["symbolicate", str(path)]) == 0
    report = capsys.readouterr().out
    for name in ("leaf", "middle", "main"):
        assert f"program`{name}" in output
        assert f" {name}" in report
    stacks = gsym.symbolicate(path).threads
    (names,) = [
        functions
        for thread in stacks
        for functions in [[each.calls[-1].name for each in thread.frames if each.calls]]
        if "leaf" in functions
    ]
    assert names[:3] == ["leaf", "middle", "main"]


def test_a_dump_of_windows_is_answered_by_the_pdb_beside_it(tmp_path: Path) -> None:
    """As ProcDump writes it: modules have the GUID and age of their PDB."""
    (tmp_path / "app.pdb").write_bytes(PDBS["functions"].to_bytes())
    record = codeview(PDB_GUID, 1, "C:\\build\\app.pdb")
    module = Module("C:\\build\\app.exe", 0x7FF600000000, 0x10000, record)
    thread = Thread(7, pc=module.base + 0x1018)
    dump = Minidump(threads=(thread,), modules=(module,), platform=WINDOWS)
    path = tmp_path / "app.dmp"
    path.write_bytes(write_minidump(dump))
    (frame,) = gsym.symbolicate(path, store=str(tmp_path / "store")).frames()
    assert [each.name for each in frame.calls] == [
        *("N::inner(int, char)", "outer(int, char)", "N::f(int, char)"),
    ]


def library(compiler: str, path: Path, body: str, *flags: str) -> int:
    """Compile a DLL; the address of its function."""
    source = path.with_suffix(".c")
    source.write_text(f"__declspec(dllexport) int f(int x) {{ {body} }}\n")
    common = [compiler, "-g", "-O1", "-shared", "-nostdlib", "-e", "0", *flags]
    subprocess.run([*common, "-o", path, source], check=True)
    with gsym.open(path) as reader:
        return reader.find("f")[0].start - reader.header.base_address


def dump_of(path: Path, at: int, key: ModuleKey, code: bytes = b"") -> None:
    """A dump of a thread in a DLL without a CodeView record."""
    base, stamp, size = 0x180000000, key.code_id[:8], key.code_id[8:]
    module = Module("C:\\a.dll", base, int(size, 16), stamp=int(stamp, 16))
    # The memory of the second one is code.
    threads = Thread(1, base + at), Thread(2, base + at, base + at, 0, code)
    dump = Minidump(threads, (module,), platform=WINDOWS)
    path.write_bytes(write_minidump(dump))


@pytest.fixture
def mingw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    return find_peer("x86_64-w64-mingw32-gcc")


def test_a_module_without_codeview_is_known_by_its_time_stamp_and_size(
    mingw: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.dll"
    at = library(mingw, path, "return x + 1;")
    own = gsym.identify(path)
    stamp, size = int(own.code_id[:8], 16), int(own.code_id[8:], 16)
    for code_id, is_found in (
        (own.code_id, True),
        (f"{stamp + 1:08X}{size:x}", False),
        (f"{stamp:08X}{size + 0x1000:x}", False),
    ):
        dump_of(tmp_path / "a.dmp", at, ModuleKey(code_id=code_id))
        report = gsym.symbolicate(tmp_path / "a.dmp")
        (module,) = report.modules
        assert module.unsure == ""
        assert [bool(each.calls) for each in report.frames()] == [is_found] * 2
        said = f"its code id is {own.code_id.lower()}, not {code_id.lower()}"
        assert (said in module.reason) is not is_found


def test_code_in_the_dump_tells_builds_without_ids_apart(
    mingw: str, tmp_path: Path
) -> None:
    path, flags = tmp_path / "a.dll", ("-Wl,--no-insert-timestamp",)
    at = library(mingw, path, "return x + 1;", *flags)
    key = gsym.identify(path)
    assert key.code_id.startswith("00000000")
    data = path.read_bytes()
    code = data[data.index(bytes.fromhex("8d41 01c3")) :][:4]  # lea, ret
    dump_of(tmp_path / "a.dmp", at, key, code)
    dump_of(tmp_path / "b.dmp", at, key)
    for name, unsure in (
        ("a", "found by its name alone, but the 4 bytes of its code in the dump are "),
        ("b", "found by its name alone"),
    ):
        (module,) = gsym.symbolicate(tmp_path / f"{name}.dmp").modules
        assert module.state == "found"
        assert module.unsure.startswith(unsure)
    library(mingw, path, "return x + 2;", *flags)
    assert gsym.identify(path).code_id == key.code_id
    (module,) = gsym.symbolicate(tmp_path / "a.dmp").modules
    assert "its code differs from that in the dump" in module.reason
    (module,) = gsym.symbolicate(tmp_path / "b.dmp").modules
    assert (module.state, module.unsure) == ("found", "found by its name alone")


def test_code_that_the_loader_of_windows_changes_is_not_compared(
    mingw: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.dll"
    body = '__asm__("movabsq $f, %%rax" ::: "rax"); return x;'
    at = library(mingw, path, body, "-Wl,--no-insert-timestamp,--dynamicbase")
    key = gsym.identify(path)
    dump_of(tmp_path / "a.dmp", at, key, bytes(range(64)))
    (module,) = gsym.symbolicate(tmp_path / "a.dmp").modules
    assert (module.state, module.unsure) == ("found", "found by its name alone")
