"""Core files of FreeBSD, made here by the headers of its kernel."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.headers import PT_LOAD, program_headers
from gsym.errors import FormatError
from gsym.memory.elf_core import read_core
from gsym.memory.signals import FREEBSD, Cause, describe, read_freebsd_cause
from tests.inputs.core import (
    FREEBSD_PLACES,
    FreeBsdMapping,
    FreeBsdThread,
    Part,
    core_of,
    freebsd_notes,
)
from tests.memory.test_core_machines import CODE, STACK, placed, program

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.memory.stack_parts import ParsedReport

FREEBSD_OSABI = 9
THREAD = 100_123
LIBRARY = "/nowhere/libx.so"


def mappings_of(path: Path, bias: int) -> list[FreeBsdMapping]:
    found = []
    for each in program_headers(memoryview(path.read_bytes()), str(path)):
        if each.kind == PT_LOAD:
            start = bias + (each.address & -4096)
            size = -(-(each.address & 4095) - each.file_size & -4096)
            place, protection = each.offset & -4096, 1 | 4 * each.is_executable
            found.append(
                FreeBsdMapping(start, start + size, place, protection, str(path))
            )
    return found


@pytest.mark.parametrize("bias", [0, 0x10000000])
def test_threads_of_freebsd_are_walked_by_its_list_of_mappings(
    tmp_path: Path, compiler: str, bias: int
) -> None:
    """The kernel leaves out the pages of the program that cannot be written."""
    path = program(tmp_path, compiler)
    functions = {name: bias + start for name, start in placed(path).items()}
    threads = [
        FreeBsdThread(THREAD, {"rip": functions["made"], "rsp": STACK}),
        FreeBsdThread(THREAD + 1, {"rip": functions["entry"], "rsp": STACK + 8}, "io"),
    ]
    mappings = [*mappings_of(path, bias), FreeBsdMapping(STACK, STACK + 4096, 0, 3, "")]
    stack = pack("<3Q", functions["entry"] + 20, functions["entry"] + 20, 0)
    core = tmp_path / "core"
    notes = b"".join(freebsd_notes(threads, mappings))
    parts = [Part(STACK, stack.ljust(4096, b"\0"))]
    core.write_bytes(core_of(parts, notes, osabi=FREEBSD_OSABI))
    report = gsym.symbolicate(core)
    assert report.to_dict()["reason"] == "SIGSEGV at 0x10"
    first, second = report.threads
    assert [first.name, second.name] == ["Thread 100123", 'Thread 100124 "io"']
    assert (first.is_crashed, second.is_crashed) == (True, False)
    names = [[each.calls[0].name for each in one.frames[:2]] for one in report.threads]
    assert names == [["made", "entry"], ["entry", "entry"]]
    (module,) = report.modules
    assert module.unsure


def parsed(machine: int, thread: FreeBsdThread, flags: int = 0x20) -> ParsedReport:
    mappings = [FreeBsdMapping(CODE, CODE + 0x1000, 0x2000, 5, LIBRARY)]
    mappings += [FreeBsdMapping(CODE + 0x1000, CODE + 0x2000, 0x3000, 1, LIBRARY)]
    notes = b"".join(freebsd_notes([thread], mappings, machine=machine, flags=flags))
    stack = pack("<6Q", CODE + 0x1020, CODE + 0x20, 0, 0, 0, 0)
    core = core_of([Part(STACK, stack)], notes, machine=machine, osabi=FREEBSD_OSABI)
    return read_core(memoryview(core), "core")


@pytest.mark.parametrize("machine", FREEBSD_PLACES)
def test_registers_are_where_freebsd_puts_them(machine: int) -> None:
    wanted = {each: 0x100 + at for at, each in enumerate(FREEBSD_PLACES[machine])}
    report = parsed(machine, FreeBsdThread(THREAD, wanted))
    (heading,) = report.headings
    held = dict(heading.registers)
    assert {each: held[each] for each in wanted} == wanted
    assert report.reason == "SIGSEGV at 0x10"


def test_mapped_data_are_not_taken_for_code() -> None:
    for lr, trusts in ((0x10, ["context", "link register"]), (0x1010, ["context"])):
        values = {"pc": 0, "sp": STACK, "x30": CODE + lr}
        parts = parsed(183, FreeBsdThread(THREAD, values)).parts
        frames = [each for each in parts if not isinstance(each, str)]
        assert [each.trust for each in frames] == trusts


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ((10, 3, 0, 0x10), "SIGBUS at 0x10 (object-specific error, on x86-64 also"),
        ((10, 100, 0, 0x10), "SIGBUS at 0x10 (out of memory)"),
        ((11, 2, 0, 0x10), "SIGSEGV at 0x10 (no permission)"),
        ((11, 100, 0, 0x10), "SIGSEGV at 0x10 (protection key)"),
        ((11, 3, 0, 0x10), "SIGSEGV at 0x10 (code 3)"),
        ((8, 1, 0, 0x10), "SIGFPE at 0x10 (integer overflow)"),
        ((8, 2, 0, 0x10), "SIGFPE at 0x10 (integer division by zero)"),
        ((5, 4, 0, 0x10), "SIGTRAP at 0x10 (capability violation)"),
        ((6, 0x10007, 4321, 0), "SIGABRT"),
        ((6, 0x10007, 77, 0), "SIGABRT sent by process 77"),
        ((30, 0x10001, 77, 0), "SIGUSR1 sent by process 77"),
        ((31, 0x10002, 77, 0), "SIGUSR2 queued by process 77"),
        ((14, 0x10003, 0, 0), "SIGALRM of a timer"),
        ((12, 0x10006, 0, 0), "SIGSYS"),
        ((11, 0, 0, 0), "SIGSEGV"),
        ((7, 0, 0, 0), "SIGEMT"),
        ((65, 0x10006, 0, 0), "signal 65"),
    ],
)
def test_signals_have_the_numbers_and_codes_of_freebsd(
    cause: tuple[int, int, int, int], text: str
) -> None:
    thread = FreeBsdThread(THREAD, {"rip": CODE, "rsp": STACK}, cause=cause)
    reason = parsed(62, thread).reason
    assert reason.startswith(text)
    assert len(reason) == len(text) or text.endswith("also")
    if cause[1]:
        assert parsed(62, thread, flags=0).reason == FREEBSD.name(cause[0])


def test_a_cause_that_is_cut_says_nothing() -> None:
    data = pack("<6iQ", 11, 0, 1, 0, 0, 0, 0x10)
    assert read_freebsd_cause(data, "<") == Cause(11, 1, 0x10, 0)
    assert read_freebsd_cause(data[:-1], "<") is None
    assert describe(Cause(11, 1, 0x10), (), FREEBSD) == "SIGSEGV at 0x10"


def test_keys_of_the_auxiliary_vector_are_those_of_freebsd() -> None:
    """33 and 31, which Linux has for its vdso and the path, are others."""
    image = b"\x7fELF\2\1\1".ljust(16, b"\0")
    image += pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    image += pack("<II6Q", 1, 5, 0, 0, 0, 0x1000, 0x1000, 4096)
    vdso = 0x7FF0000
    thread = FreeBsdThread(THREAD, {"rip": vdso + 0x100, "rsp": STACK})
    vector = {33: STACK, 31: STACK, 34: vdso, 15: STACK}
    notes = b"".join(freebsd_notes([thread], [], auxiliary=vector))
    parts = [Part(vdso, image.ljust(0x1000, b"\0"), is_executable=True)]
    parts += [Part(STACK, bytes(64))]
    core = core_of(parts, notes, osabi=FREEBSD_OSABI)
    report = read_core(memoryview(core), "core")
    assert [each.name for each in report.modules] == ["[vdso]"]


def test_a_machine_that_is_not_read_is_named() -> None:
    core = core_of([], b"", machine=243, osabi=FREEBSD_OSABI)
    with pytest.raises(FormatError, match="a core file of FreeBSD of machine 243"):
        read_core(memoryview(core), "core")


@pytest.mark.parametrize("kind", [1, 3, 7, 8, 10, 16, 17])
def test_notes_that_are_cut_end_nothing(kind: int) -> None:
    thread = FreeBsdThread(THREAD, {"rip": CODE, "rsp": STACK})
    mappings = [FreeBsdMapping(CODE, CODE + 0x1000, 0, 5, LIBRARY)]
    notes = freebsd_notes([thread], mappings, auxiliary={34: 1})
    for each in notes:
        size, number = int.from_bytes(each[4:8], "little"), each[8]
        if number != kind:
            continue
        for cut in range(min(size, 320)):
            short = each[:4] + pack("<I", cut) + each[8 : 20 + cut] + bytes(-cut % 4)
            data = b"".join([notes[0], notes[1], short, *notes[2:]])
            core = core_of([Part(STACK, bytes(64))], data, osabi=FREEBSD_OSABI)
            assert read_core(memoryview(core), "core").headings
