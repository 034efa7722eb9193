"""Call frame information: one step outwards, and damaged tables."""

from __future__ import annotations

import subprocess
from struct import pack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gsym
from gsym.unwinding import frame_info
from gsym.unwinding.frame_info import HEADER_MAGIC, CallFrames, Step
from gsym.unwinding.images import image_in_file
from gsym.unwinding.machines import X86_64

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.unwinding.images import Memory

pytestmark = pytest.mark.no_engine  # runs programs


SOURCE = """\
int callee(int);
int outer(int x) { volatile int many[40]; many[x] = x; return callee(many[x]) + 1; }
int callee(int x) { return x * 3; }
"""
STACK, RETURN = 0x7FFF0000, 0x401234


def step(header: int, pc: int, values: dict[int, int], memory: Memory) -> Step | None:
    return CallFrames(X86_64, memory, header).step(pc, values, memory)


class Library:
    """A library whose file stands for memory, and a stack above it."""

    def __init__(self, folder: Path, compiler: str) -> None:
        (folder / "a.c").write_text(SOURCE)
        flags = "-g", "-O1", "-shared", "-fPIC", "-fomit-frame-pointer"
        command = [compiler, *flags, "-o", "a.so", "a.c"]
        subprocess.run(command, check=True, cwd=folder)
        path = folder / "a.so"
        if gsym.identify(path).architecture != "x86_64":
            pytest.skip("needs x86-64")
        self.data = bytearray(path.read_bytes())
        self.header = image_in_file(str(path)).frame_header
        made = gsym.convert(path, folder / "a.gsym")
        assert made.functions
        with gsym.open(folder / "a.gsym") as reader:
            self.functions = {each.name: each for each in reader}

    def memory(self, address: int, size: int) -> bytes:
        if address >= STACK:
            start = address - STACK
            return b"".join((RETURN + at).to_bytes(8, "little") for at in range(512))[
                start : start + size
            ]
        return bytes(self.data[address : address + size])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, compiler: str) -> Library:
    return Library(tmp_path_factory.mktemp("library"), compiler)


def test_a_leaf_returns_to_what_is_on_top_of_the_stack(library: Library) -> None:
    pc = library.functions["callee"].start
    found = step(library.header, pc, {7: STACK, 6: 5}, library.memory)
    assert found is not None
    assert found._replace(row=None) == Step(
        RETURN, {7: STACK + 8, 6: 5}, is_signal=False
    )


def test_what_a_function_has_on_the_stack_is_skipped(library: Library) -> None:
    function = library.functions["outer"]
    inside = function.start + function.size // 2
    found = step(library.header, inside, {7: STACK, 6: 5}, library.memory)
    assert found is not None
    assert found.values[7] > STACK + 8
    assert found.pc == RETURN + (found.values[7] - 8 - STACK) // 8


def test_an_address_without_a_function_has_no_caller(library: Library) -> None:
    last = max(each.start + each.size for each in library.functions.values())
    for pc in (0, last + 0x10000):
        assert step(library.header, pc, {7: STACK}, library.memory) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 0x300), st.integers(0, 255)), min_size=1))
def test_damaged_tables_raise_nothing(
    library: Library, changes: list[tuple[int, int]]
) -> None:
    whole = bytes(library.data)
    try:
        for at, value in changes:
            library.data[library.header + at] = value
        for function in library.functions.values():
            pc = function.start + function.size // 2
            found = step(library.header, pc, {7: STACK}, library.memory)
            assert found is None or found.pc is None or found.pc >= 0
    finally:
        library.data[:] = whole


# ---- tables made by hand

HEADER, COMMON, ENTRY, START = 0x10000, 0x10040, 0x10400, 0x20000
PC = START + 4
VALUES = {3: 0x30, 6: STACK + 0x10, 7: STACK}
# The frame is 8 above the stack pointer, and what a function returns to below it.
RULES = bytes.fromhex("0c0708 9001")


def tables(
    function: bytes = b"",
    *,
    version: int = 1,
    augmentation: bytes = b"zR",
    data: bytes = b"\0",
    place: bytes = pack("<QQ", START, 0x100),
) -> dict[int, bytes]:
    """What is loaded where: the index, a CIE and the FDE of one function."""
    own = bytes([len(data)]) + data if augmentation.startswith(b"z") else b""
    head = bytes([version]) + augmentation + bytes.fromhex("00 01 78 10") + own
    parts = pack("<I", 0) + head + RULES, pack("<I", ENTRY + 4 - COMMON) + place
    none = b"\0" if own else b""
    first, second = parts[0], parts[1] + none + function
    index = HEADER_MAGIC + pack("<iIii", 0, 1, START - HEADER, ENTRY - HEADER)
    return {
        HEADER: index,
        COMMON: pack("<I", len(first)) + first,
        ENTRY: pack("<I", len(second)) + second,
        STACK: b"".join(pack("<Q", RETURN + at) for at in range(8)),
    }


def step_in(held: dict[int, bytes]) -> Step | None:
    def memory(address: int, size: int) -> bytes:
        for start, data in held.items():
            if start <= address < start + len(data):
                return data[address - start : address - start + size]
        return b""

    found = step(HEADER, PC, VALUES, memory)
    return None if found is None else found._replace(row=None)


@pytest.mark.parametrize(
    ("instructions", "pc", "changes"),
    [
        ("", RETURN, {}),
        ("00 2d 2e10", RETURN, {}),  # without effect
        ("48 8602", RETURN, {}),  # of a later address
        ("42 8601 42 48 0706", RETURN, {6: RETURN}),
        ("0204 8601", RETURN, {6: RETURN}),
        ("030400 8601", RETURN, {6: RETURN}),
        ("0404000000 8601", RETURN, {6: RETURN}),
        ("8601 c6", RETURN, {}),
        ("9002 d0", RETURN, {}),
        ("8601 0606", RETURN, {}),
        ("8601 0806", RETURN, {}),
        ("0a 8601 0e10 0b", RETURN, {}),
        ("050601", RETURN, {6: RETURN}),
        ("11067f", RETURN, {6: RETURN + 2}),
        ("0706", RETURN, {6: None}),
        ("0710", 0, {}),
        ("091003", VALUES[3], {}),
        ("140601", RETURN, {6: STACK}),
        ("15067f", RETURN, {6: STACK + 0x10}),
        ("0c0718", RETURN + 2, {7: STACK + 0x18}),
        ("0d06", RETURN + 2, {7: STACK + 0x18}),
        ("0e10", RETURN + 1, {7: STACK + 0x10}),
        ("12067f", RETURN + 2, {7: STACK + 0x18}),
        ("137e", RETURN + 1, {7: STACK + 0x10}),
        ("0f027708", RETURN, {}),
        ("0f05 7700 0818 22", RETURN + 2, {7: STACK + 0x18}),
        ("0f05 7718 0908 1c", RETURN + 1, {7: STACK + 0x10}),
        # As where functions of other libraries are bound: 8 more at its end.
        ("0f0b 7708 7300 3f1a 3b2a 3324 22", RETURN, {}),
        ("0f0b 7708 730c 3f1a 3b2a 3324 22", RETURN + 1, {7: STACK + 0x10}),
        ("100602 7708", RETURN, {6: RETURN + 1}),
        ("160603 2308 06", RETURN, {6: RETURN + 2}),
        ("160602 2308", RETURN, {6: STACK + 0x10}),
    ],
)
def test_a_rule_leads_to_the_caller(
    instructions: str, pc: int, changes: dict[int, int | None]
) -> None:
    found = step_in(tables(bytes.fromhex(instructions)))
    values = {**VALUES, 7: STACK + 8, **changes}
    known = {number: value for number, value in values.items() if value is not None}
    assert found == Step(pc, known, is_signal=False)


@pytest.mark.parametrize(
    ("augmentation", "data", "place"),
    [
        (b"", b"", pack("<QQ", START, 0x100)),
        (b"zRS", b"\0", pack("<QQ", START, 0x100)),
        (b"zPLR", b"\x1b\0\0\0\0\0\x1b", pack("<ii", START - ENTRY - 8, 0x100)),
        (b"zR", b"\1", b"\x80\x80\x08\x80\x02"),
        (b"zR", b"\x09", b"\x80\x80\x08\x80\x02"),
    ],
)
@pytest.mark.parametrize("version", [1, 3])
def test_an_entry_has_the_format_of_its_augmentation(
    version: int, augmentation: bytes, data: bytes, place: bytes
) -> None:
    held = tables(version=version, augmentation=augmentation, data=data, place=place)
    values = {**VALUES, 7: STACK + 8}
    assert step_in(held) == Step(RETURN, values, is_signal=b"S" in augmentation)


@pytest.mark.parametrize(
    "changes",
    [
        {"function": bytes.fromhex("0b")},  # nothing was remembered
        {"function": bytes.fromhex("0a") * 257},
        {"function": bytes.fromhex("3f")},
        {"function": bytes.fromhex("86")},
        {"function": bytes.fromhex("8680")},
        {"function": bytes.fromhex("0410")},
        {"function": bytes.fromhex("1006057700")},
        {"function": bytes.fromhex("100601ff")},
        {"function": bytes.fromhex("0f00")},
        {"function": bytes.fromhex("0f0122")},
        {"function": bytes.fromhex("0d28")},  # a register that is not known
        {"function": bytes.fromhex("0eff7f")},  # beyond the stack
        {"version": 2},
        {"augmentation": b"eh"},
        {"data": b"\x05"},
        {"data": b"\x50"},
        {"data": b"\x80"},
        {"place": pack("<QQ", START + 5, 0x100)},
        {"place": pack("<QQ", START, 4)},
        {"place": b""},
    ],
)
def test_a_damaged_or_unknown_entry_leads_nowhere(changes: dict[str, Any]) -> None:
    assert step_in(tables(**changes)) is None


# ---- reports

RETURNS = """\
__asm__(
    ".text\\n.skip 32\\n"
    ".cfi_startproc\\n.cfi_signal_frame\\nhandler_returns_here:\\n"
    "nop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\n.cfi_endproc\\n"
    ".cfi_startproc\\ncaller_returns_here:\\n"
    "nop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\n.cfi_endproc\\n");
int before(int x) { return x + 1; }
int stopped(int x) { return x + 2; }
"""


@pytest.mark.parametrize("is_signal", [True, False])
def test_what_a_signal_interrupted_is_exact_without_a_symbol_of_the_return(
    tmp_path: Path, compiler: str, *, is_signal: bool
) -> None:
    """The first byte of a function can be interrupted; no call in it returns there."""
    (tmp_path / "a.c").write_text(RETURNS)
    command = [compiler, "-O1", "-fno-toplevel-reorder", "-falign-functions=1"]
    command += ["-shared", "-fPIC", "-o", "a.so", "a.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    gsym.convert(tmp_path / "a.so", tmp_path / "all.gsym")
    with gsym.open(tmp_path / "all.gsym") as reader:
        places = {each.name: each.start for each in reader}
    returns = "handler_returns_here" if is_signal else "caller_returns_here"
    assert places["before"] + 1 < places["stopped"]
    (tmp_path / "stripped").mkdir()
    stripped = tmp_path / "stripped/a.so"
    subprocess.run(["strip", "-o", stripped, "a.so"], check=True, cwd=tmp_path)
    text = "".join(
        f"./a.so(+{places[name]:#x})[{places[name] + 0x7F0000000000:#x}]\n"
        for name in (returns, "stopped")
    )
    report = gsym.symbolicate(text, source=stripped.parent)
    found = [[call.name for call in frame.calls] for frame in report.frames()]
    assert found == [[], ["stopped" if is_signal else "before"]]


@pytest.mark.parametrize(("size", "is_read"), [(1 << 20, True), (1 << 20 | 1, False)])
def test_an_entry_may_be_large(size: int, *, is_read: bool) -> None:
    """Compilers write more than 20 KiB for a function; what follows are no-ops."""
    held = tables()
    first = held[ENTRY][4:]
    held[ENTRY] = pack("<I", size) + first + bytes(size - len(first))
    assert (step_in(held) is not None) == is_read


@pytest.mark.parametrize(("count", "is_read"), [(256, True), (257, False)])
def test_states_are_remembered_up_to_a_limit(count: int, *, is_read: bool) -> None:
    """DW_CFA_remember_state, and as often DW_CFA_restore_state."""
    held = tables(b"\x0a" * count + b"\x0b" * count)
    assert (step_in(held) is not None) == is_read


@pytest.mark.parametrize(("most", "rows"), [(1 << 20, 9), (100, 3)])
def test_what_is_run_is_limited(
    most: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_info, "_MAX_RUN", most)
    held = tables(bytes.fromhex("0f0277 08"))

    def memory(address: int, size: int) -> bytes:
        for start, data in held.items():
            if start <= address < start + len(data):
                return data[address - start : address - start + size]
        return b""

    frames = CallFrames(X86_64, memory, HEADER)
    found = [frames.step(PC + at, VALUES, memory) for at in range(9)]
    assert sum(each is not None for each in found) == rows
