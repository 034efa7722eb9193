"""Addresses without a kind: exact where the report or the code says so."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.containers.machine_code import MachineCode
from gsym.conversion.identity import read_first
from gsym.engine.native import ffi, lib
from gsym.markup.filter import MarkupFilter
from gsym.markup.headings import Headings
from gsym.markup.html_output import HtmlOutput
from gsym.markup.json_output import JsonOutput
from gsym.modules.finder import find_in
from gsym.modules.open_module import OpenModule
from gsym.modules.symbolizer import Symbolization
from gsym.reports.stacks.recognition import parse_report
from tests.guarded import GuardedMemory
from tests.inputs import elf
from tests.machine_code import AARCH64, X86_64, go_through
from tests.markup_modules import BUILD_ID, CONTEXT, Modules, gsym_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gsym.markup.outputs import Output
    from gsym.memory.stack_parts import StackFrame
    from gsym.modules.key import ModuleKey

pytestmark = pytest.mark.long

EXACT = (
    b"==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000",
    b"==7==ERROR: HWAddressSanitizer: tag-mismatch on address 0x1",
    b"==7==ERROR: LeakSanitizer: detected memory leaks",
    b"==7==ERROR: ThreadSanitizer: SEGV on unknown address 0x000000000000",
    b"==7==ERROR: libFuzzer: deadly signal",
    b"==7==WARNING: MemorySanitizer: use-of-uninitialized-value",
    b"a.c:8:58: runtime error: signed integer overflow: 2 + 2147483647",
    b"[7] app: ==7==ERROR: UndefinedBehaviorSanitizer: SEGV on unknown address",
)
RETURNED = (
    b"WARNING: ThreadSanitizer: data race (pid=7)",
    b"panic: runtime error: index out of range [5] with length 3",
    b"the runtime error: of which nothing is known",
    b"ERROR: cannot open AddressSanitizer",
    b"",
)
SUMMARY = b"SUMMARY: AddressSanitizer: SEGV {{{bt:0:0x1010}}}\n"
FRAME = b"{{{bt:0:0x1010}}}\n"  # the first byte of first()
FIRST = b"first() /src/a.c:3"


def filtered(log: bytes, style: str = "spec", output: Output | None = None) -> bytes:
    made = MarkupFilter(Modules(), style=style, output=output)
    return made.feed(CONTEXT + log) + made.finish()


# ---- what headings say


@pytest.mark.parametrize("heading", EXACT)
@pytest.mark.parametrize("style", ["spec", "fuchsia"])
def test_frames_below_the_heading_of_a_sanitizer_are_exact(
    heading: bytes, style: str
) -> None:
    assert FIRST not in filtered(FRAME, style)
    assert FIRST in filtered(heading + b"\nREAD of size 1\n" + FRAME, style)


@pytest.mark.parametrize("heading", RETURNED)
def test_other_frames_without_a_kind_are_return_addresses(heading: bytes) -> None:
    log = EXACT[0] + b"\n" + FRAME + SUMMARY + heading + b"\n" + FRAME
    if heading == RETURNED[0]:  # it ends the report before, which has no summary
        log = log.replace(SUMMARY, b"")
    shown = filtered(log)
    assert shown.count(FIRST) == log.count(b"0x1010") - 1
    assert FIRST not in shown.splitlines()[-1]


def test_the_frame_of_a_summary_is_of_its_report() -> None:
    shown = filtered(EXACT[0] + b"\n" + SUMMARY + FRAME)
    assert shown.count(FIRST) == 1
    assert FIRST in shown.splitlines()[-2]


@pytest.mark.parametrize("heading", EXACT)
def test_the_kind_of_an_address_counts_more_than_the_heading(heading: bytes) -> None:
    log = heading + b"\n{{{bt:0:0x1010:ra}}}\n"
    assert FIRST not in filtered(log)
    assert FIRST in filtered(log.replace(b":ra", b":pc"))
    assert FIRST in filtered(b"{{{bt:0:0x1010:pc}}}\n")


def test_llvms_style_takes_all_for_return_addresses_as_llvm_does() -> None:
    assert FIRST not in filtered(EXACT[0] + b"\n" + FRAME, "llvm")


@pytest.mark.parametrize("output", [None, JsonOutput, HtmlOutput])
@pytest.mark.parametrize("frame", [FRAME, b"{{{bt:0:0x1010}}} {{{symbol:f}}}\n"])
def test_the_engine_and_the_filter_of_single_lines_agree(
    output: type[Output] | None, frame: bytes
) -> None:
    made = None if output is None else output()
    shown = filtered(EXACT[0] + b"\n" + frame, output=made)
    assert b"first()" in shown
    assert b"a.c" in shown


def test_processes_have_reports_of_their_own() -> None:
    lines = (
        *(
            b"[%d] " % process + line
            for line in CONTEXT.splitlines()
            for process in (1, 2)
        ),
        b"[1] " + EXACT[0],
        *(b"[%d] " % process + FRAME.strip() for process in (1, 2)),
    )
    made = MarkupFilter(Modules(), demux=r"\[(\d+)\]")
    shown = made.feed(b"".join(line + b"\n" for line in lines)) + made.finish()
    assert [line[:3] for line in shown.splitlines() if FIRST in line] == [b"[1]"]


@given(cuts=st.lists(st.integers(0, 400), max_size=6))
def test_a_heading_is_found_wherever_the_log_is_cut(cuts: list[int]) -> None:
    log = CONTEXT + b"".join(
        (FRAME, EXACT[0], b"\n", FRAME, SUMMARY, FRAME, RETURNED[0], b"\n", FRAME)
    )
    made = MarkupFilter(Modules())
    edges = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    shown = b"".join(made.feed(log[start:end]) for start, end in pairwise(edges))
    whole = MarkupFilter(Modules())
    assert shown + made.finish() == whole.feed(log) + whole.finish()


class Elsewhere:
    """Looks addresses up as a server does; the requests in `asked`."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self._module = Modules().open(gsym.ModuleKey(code_id=BUILD_ID.hex().upper()))

    def symbolize_many(
        self, asked: Sequence[tuple[ModuleKey, int]]
    ) -> list[Symbolization]:
        offsets = [offset for _, offset in asked]
        self.asked.append(offsets)
        reader = self._module.reader
        assert reader is not None
        return [
            Symbolization(reader.lookup(offset), "", self._module) for offset in offsets
        ]


def test_a_server_is_asked_once_for_the_addresses_that_the_report_means() -> None:
    server = Elsewhere()
    made = MarkupFilter(server)
    log = CONTEXT + FRAME + EXACT[0] + b"\n" + FRAME
    assert (made.feed(log) + made.finish()).count(FIRST) == 1
    assert server.asked == [[0xF, 0x10]]


# ---- how headings are found

_LINE = st.sampled_from([*EXACT, *RETURNED, SUMMARY.strip(), b"r: " * 30, b"x" * 63])


@pytest.fixture(scope="module")
def memory() -> GuardedMemory:
    return GuardedMemory(1 << 12)


@given(st.lists(_LINE, max_size=8), st.integers(0, 70))
def test_the_first_heading_is_found_as_by_a_pattern(
    memory: GuardedMemory, lines: list[bytes], cut: int
) -> None:
    text = b"\n".join(lines)[cut:]
    found = re.search(rb"(?:Sanitizer|libFuzzer|ime error): ", text)
    block = ffi.from_buffer(memory.hold(text))
    expected = len(text) if found is None else found.end()
    assert lib.gsym_text_find_heading(block, len(text)) == expected


@given(st.lists(_LINE, max_size=8))
def test_parts_are_all_lines_in_order(lines: list[bytes]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    headings, at = Headings(), 0
    for start, end in headings.parts(text, 0, len(text)):
        assert start == at < end
        at = end
    assert at == len(text)


# ---- what code says

CALL = bytes.fromhex("e8 00 00 00 00")
# Bytes of which the last are a call: relative, of registers, of memory, of the system.
X86_CALLS = (
    *("e8 00 00 00 00", "ff d0", "41 ff d3", "ff 50 08", "ff 94 24 00 01 00 00"),
    *("ff 15 00 00 00 00", "43 ff 94 bb 00 00 00 00", "0f 05", "67 e8 00 00 00 00"),
)
X86_OTHERS = ("90", "c3", "eb 10", "e9 00 00 00 00", "48 8b 07", "ff e0", "ff 60 08")


@pytest.mark.parametrize(
    ("instructions", "code", "may"),
    [
        *(("x86_64", code, True) for code in X86_CALLS),
        *(("x86_64", code, False) for code in X86_OTHERS),
        ("aarch64", "00 00 00 94", True),
        ("aarch64", "00 00 3f d6", True),
        ("aarch64", "c0 03 5f d6", False),
        ("aarch64", "00 94", False),
        ("sparc", "00 00 00 00", True),  # not decoded
    ],
)
def test_a_call_may_return_to_where_one_ends(
    instructions: str, code: str, may: object, tmp_path: Path
) -> None:
    machine = {"x86_64": elf.X86_64, "aarch64": elf.AARCH64, "sparc": 43}
    found = code_of(tmp_path, bytes.fromhex(code), machine[instructions])
    end = CODE + len(bytes.fromhex(code))
    assert found.may_return(end) == may
    assert found.may_return(CODE)  # what is before it is not known
    assert found.may_return(end + 1)
    assert MachineCode().may_return(end)


def test_what_is_at_many_addresses_is_what_is_at_each(tmp_path: Path) -> None:
    code = bytes.fromhex("90 e8 00 00 00 00 ff d0 90")
    found = code_of(tmp_path, code)
    functions = tmp_path / "functions.sym"
    functions.write_text(f"MODULE Linux x86_64 {'1' * 33} app\nFUNC 13 4 0 inner\n")
    gsym.convert(functions, tmp_path / "functions.gsym")
    addresses = array("Q", [*range(CODE + len(code) + 3), (1 << 64) - 1])
    with gsym.open(tmp_path / "functions.gsym") as reader:
        places = found.places(reader.mapped_for(addresses), addresses)
        for at, place in zip(addresses, places, strict=True):
            is_known = found.is_known(at)
            for flag, expected in (
                (lib.GSYM_PLACE_FUNCTION, reader.lookup(at) is not None),
                (lib.GSYM_PLACE_AFTER, reader.lookup(at - 1) is not None),
                (lib.GSYM_PLACE_CODE, is_known),
                (lib.GSYM_PLACE_CALL, is_known and found.may_return(at)),
            ):
                assert bool(place & flag) == expected
    assert len({*places}) > 4


@given(st.lists(st.sampled_from(X86_CALLS + X86_OTHERS), max_size=12))
def test_a_call_may_return_to_all_that_calls_return_to(codes: list[str]) -> None:
    code = b"".join(map(bytes.fromhex, codes))
    held = ffi.from_buffer("uint8_t[]", code)
    piece = ffi.new("gsym_code *", (held, len(code), CODE))
    whole = ffi.new("gsym_machine_code *", (piece, 1, X86_64))
    for start, size in go_through(code).calls:
        assert lib.gsym_code_may_return(whole, CODE + start + size)


@pytest.mark.parametrize(
    ("instructions", "code", "target"),
    [
        ("x86_64", "e8 00 00 00 00", 0x15),
        ("x86_64", "90 e8 fb ff ff ff", 0x11),
        ("x86_64", "e8 ff ff ff 7f", 0x80000014),
        ("x86_64", "ff d0", None),  # call *%rax
        ("x86_64", "00 00 00 00", None),
        ("aarch64", "02 00 00 94", 0x18),
        ("aarch64", "1f 20 03 d5 ff ff ff 97", 0x10),
        ("aarch64", "ff ff ff 95", 0x800000C),
        ("aarch64", "00 00 00 96", 0x10 - 0x8000000 & 0xFFFFFFFFFFFFFFFF),
        ("aarch64", "00 00 3f d6", None),  # blr x0
        ("aarch64", "02 00 00 14", None),  # b
        ("sparc", "40 00 00 02", None),  # not decoded
    ],
)
def test_a_direct_call_tells_what_it_calls(
    instructions: str, code: str, target: int | None, tmp_path: Path
) -> None:
    machine = {"x86_64": elf.X86_64, "aarch64": elf.AARCH64, "sparc": 43}
    found = code_of(tmp_path, bytes.fromhex(code), machine[instructions])
    end = CODE + len(bytes.fromhex(code))
    assert found.call_target(end) == target
    assert found.call_target(CODE) is None
    assert found.call_target(end + 1) is None
    assert found.call_target(-1) is None
    assert MachineCode().call_target(end) is None


@given(
    st.sampled_from([X86_64, AARCH64]),
    st.integers(-(1 << 25), (1 << 25) - 1),
)
def test_capstone_prints_the_same_targets(instructions: int, distance: int) -> None:
    capstone = pytest.importorskip("capstone")
    if instructions == X86_64:
        code = b"\xe8" + struct.pack("<i", distance)
        decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    else:
        code = struct.pack("<I", 0x94000000 | distance & 0x3FFFFFF)
        decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    start = 1 << 30
    ((*_, printed),) = decoder.disasm_lite(code, start)
    held = ffi.from_buffer("uint8_t[]", code)
    piece = ffi.new("gsym_code *", (held, len(code), start))
    whole = ffi.new("gsym_machine_code *", (piece, 1, instructions))
    target = ffi.new("uint64_t *")
    assert lib.gsym_code_call_target(whole, start + len(code), target)
    assert target[0] == int(printed.lstrip("#"), 16)


def test_only_words_are_calls_of_aarch64() -> None:
    words = bytes.fromhex("00 00 00 94 c0 03 5f d6") * 2
    held = ffi.from_buffer("uint8_t[]", words)
    piece = ffi.new("gsym_code *", (held, len(words), CODE))
    whole = ffi.new("gsym_machine_code *", (piece, 1, AARCH64))
    found = [at for at in range(1, 17) if lib.gsym_code_may_return(whole, CODE + at)]
    assert found == [4, 12]


CODE = 0x10  # where first() is


def code_of(folder: Path, code: bytes, machine: int = elf.X86_64) -> MachineCode:
    return (
        read_first(["", str(binary(folder, code, machine))], None, MachineCode)
        or MachineCode()
    )


def binary(folder: Path, code: bytes, machine: int = elf.X86_64) -> Path:
    """A binary of the module with code at CODE."""
    text = elf.Section(".text", code, flags=elf.CODE, address=CODE)
    path = folder / "a.o"
    path.write_bytes(elf.Elf([text], build_id=BUILD_ID, machine=machine).to_bytes())
    return path


class WithBinary:
    """Opens the module, whose binary is at a path."""

    def __init__(self, path: Path) -> None:
        self.looked = 0
        self._path = path
        self._module = OpenModule(None, gsym.Reader(gsym_bytes()))
        self._module.find_files = self._binaries

    def _binaries(self) -> list[str]:
        self.looked += 1
        return [str(self._path.with_name("missing")), str(self._path)]

    def open(self, key: ModuleKey) -> OpenModule:
        assert key.code_id == BUILD_ID.hex().upper()
        return self._module


# Lines 3, 8 (inlined) and 5 begin at 0, 8 and 0x10 of first().
INLINED = b"second() /src/b.h:8"
AFTER_CALL = b"\x90" * 3 + CALL + b"\x90" * 24
AFTER_NOP = b"\x90" * 32


@pytest.mark.parametrize("behind", [b"\n", b" {{{symbol:f}}}\n"])
@pytest.mark.parametrize("heading", [b"", RETURNED[0] + b"\n"])
def test_an_address_after_which_no_call_ends_is_exact(
    heading: bytes, behind: bytes, tmp_path: Path
) -> None:
    log = CONTEXT + heading + b"{{{bt:0:0x1018}}}" + behind
    for code, is_exact in (AFTER_CALL, False), (AFTER_NOP, True):
        made = MarkupFilter(WithBinary(binary(tmp_path, code)))
        shown = made.feed(log) + made.finish()
        assert (b"b.h:8" in shown) == is_exact
        assert (b"a.c:3" in shown) != is_exact


def test_code_does_not_count_more_than_the_kind_or_the_heading(tmp_path: Path) -> None:
    log = (
        CONTEXT + b"{{{bt:0:0x1018:ra}}}\n" + EXACT[0] + b"\n{{{bt:0:0x1018}}}\n"
        b"{{{bt:0:0x1018:ra}}}\n"
    )
    modules = WithBinary(binary(tmp_path, AFTER_NOP))
    made = MarkupFilter(modules)
    shown = (made.feed(log) + made.finish()).splitlines()
    assert [
        b"b.h:8" in line for line in shown if b"b.h:8" in line or b":3" in line
    ] == [
        *(False, True, False),
    ]
    made = MarkupFilter(modules := WithBinary(binary(tmp_path, AFTER_CALL)))
    assert b"b.h:8" in made.feed(CONTEXT + EXACT[0] + b"\n{{{bt:0:0x1018}}}\n")
    assert modules.looked == 0  # a binary is read only where it decides


def test_code_is_looked_for_once(tmp_path: Path) -> None:
    modules = WithBinary(binary(tmp_path, AFTER_NOP))
    made = MarkupFilter(modules)
    made.feed(
        CONTEXT + b"{{{bt:0:0x1018}}}\n" * 100 + b"{{{bt:0:0x1018}}} {{{symbol:f}}}\n"
    )
    assert modules.looked == 1


def test_code_of_another_build_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    text = elf.Section(".text", AFTER_NOP, flags=elf.CODE, address=CODE)
    path.write_bytes(elf.Elf([text], build_id=b"\1" * 20).to_bytes())
    made = MarkupFilter(WithBinary(path))
    assert b"a.c:3" in made.feed(CONTEXT + b"{{{bt:0:0x1018}}}\n")


def test_no_call_returns_to_the_begin_of_the_first_segment() -> None:
    log = CONTEXT.replace(b":0x0}}}", b":0x10}}}") + b"{{{bt:0:0x1000}}}"
    for behind in b"\n", b" {{{symbol:f}}}\n":
        made = MarkupFilter(Modules())
        assert FIRST in made.feed(log + behind)


# ---- the same in pastes


def frames_of(log: bytes) -> list[StackFrame]:
    parsed = parse_report(log.decode())
    return [part for part in parsed.parts if not isinstance(part, str)]


@pytest.mark.parametrize("heading", [*EXACT, *RETURNED])
def test_the_heading_counts_in_pastes(heading: bytes) -> None:
    log = CONTEXT + heading + b"\n" + FRAME + b"{{{bt:1:0x1010:ra}}}\n"
    log += b"{{{bt:2:0x1010:pc}}}\n"
    plain, *with_kind = frames_of(log)
    assert plain.is_return == (heading in RETURNED)
    assert [frame.is_return for frame in with_kind] == [True, False]
    assert {frame.address for frame in (plain, *with_kind)} == {0x10}


@pytest.mark.parametrize("code", [AFTER_CALL, AFTER_NOP])
def test_the_code_counts_in_pastes(code: bytes, tmp_path: Path) -> None:
    path = binary(tmp_path, code)
    made = gsym.Reader(gsym_bytes())
    with gsym.Creator(uuid=BUILD_ID) as creator:
        creator.add_reader(made)
        creator.save(tmp_path / "a.o.gsym")
    log = CONTEXT.replace(b"a.o", str(path).encode()) + b"{{{bt:0:0x1018}}}\n"
    report = gsym.symbolicate(log.decode(), source=str(tmp_path))
    (frame,) = report.threads[0].frames
    assert frame.calls[0].line == (3 if code == AFTER_CALL else 8)


# ---- as programs write them

CRASH = """\
#define ALONE __attribute__((noinline, optnone))
#define LEAF __attribute__((noinline))
static int *volatile nowhere;
LEAF void fill(int *cell) { *cell = 1; }
LEAF int load(volatile int *cell) {
  return *cell;
}
int main(int argc, char **argv) {
  int cell = argc;
  fill(argc > 9 ? nowhere : &cell);
  return load(nowhere) + cell;
}
"""


@pytest.mark.no_engine  # runs programs
@pytest.mark.parametrize("compiler", ["clang-19", "clang-22"])
@pytest.mark.parametrize(
    ("kind", "decides"),
    [
        *((kind, "heading") for kind in ("address", "leak", "thread", "undefined")),
        *((kind, "code") for kind in ("address", "leak")),  # no call before the load
    ],
)
def test_a_crash_at_the_first_instruction_is_in_its_function(
    compiler: str, kind: str, decides: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler}")
    source, program = tmp_path / "crash.c", tmp_path / "crash"
    source.write_text(CRASH)
    flags = ("-g", "-Os", "-fomit-frame-pointer", f"-fsanitize={kind}")
    command = [compiler, *flags, "-Wl,--build-id", str(source), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"no sanitizer: {built.stderr}")
    variables = dict.fromkeys(
        ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"),
        "enable_symbolizer_markup=1",
    )
    done = subprocess.run(
        [program], env=os.environ | variables, capture_output=True, check=False
    )
    if b"{{{bt:0:" not in done.stderr:
        pytest.skip("its runtime writes no markup")
    log = done.stderr
    if decides == "code":  # where no heading does
        log = re.sub(rb"ERROR: \w+Sanitizer: ", b"", log)
    else:
        shutil.move(program, tmp_path / "whole")
        whole = str(tmp_path / "whole")
        strip = ["objcopy", "--only-keep-debug", whole, str(program)]
        subprocess.run(strip, check=True)
    made = MarkupFilter(find_in([str(tmp_path)], [str(tmp_path)]))
    shown = made.feed(log) + made.finish()
    frames = re.findall(r" #0 +0x\w+ (.+?) \(", shown.decode())
    assert set(frames) == {f"load {source}:6"}
    report = gsym.symbolicate(log.decode(), source=str(tmp_path))
    (call,) = report.threads[0].frames[0].calls
    assert (call.name, call.line) == ("load", 6)
