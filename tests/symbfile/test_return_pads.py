"""Return pads: the chain of functions at each call, in front of what it returns to."""

from __future__ import annotations

import json
from struct import pack_into
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

import gsym
from gsym.cli.main import main
from gsym.symbfile import extraction
from gsym.symbfile.calls import recall_calls
from gsym.symbfile.columns import ReturnPad, ReturnPadEntry
from gsym.symbfile.extraction import NoCallsError, extract, symbfile_blocks
from gsym.symbfile.format import Decoder, open_symbfile
from gsym.symbfile.inspection import verify
from tests import machine_code, oracle
from tests.creations import create
from tests.inputs import elf
from tests.inputs.dies import Die
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.line_program import LineProgram
from tests.inputs.program import function, program, unit
from tests.machine_code import START
from tests.strategies import function_lists, odd_files, overlapping_lists
from tests.symbfile.sweep import looked_up

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.symbfile.calls import Calls
    from gsym.symbfile.columns import Record

pytestmark = pytest.mark.long

NOP, CALL, RETURN = b"\x90", bytes.fromhex("e8 00 00 00 00"), b"\xc3"
CODE = NOP + CALL + NOP + CALL + CALL + RETURN
MIDDLE, INNER = (START + 7, START + 17), (START + 12, START + 17)


def chain() -> gsym.FunctionInfo:
    """`main` calls at line 11; `middle`, inlined at 20, at 21; `inner` in it at 31."""
    inner = gsym.InlineInfo("inner", "/m.c", 22, (gsym.Range(*INNER),), ())
    middle = gsym.InlineInfo("middle", "/a.c", 20, (gsym.Range(*MIDDLE),), (inner,))
    whole = gsym.Range(START, START + len(CODE))
    rows = (
        gsym.LineEntry(START, "/a.c", 10),
        gsym.LineEntry(START + 1, "/a.c", 11),
        gsym.LineEntry(START + 6, "/a.c", 12),
        gsym.LineEntry(MIDDLE[0], "/m.c", 21),
        gsym.LineEntry(INNER[0], "/i.h", 31),
        gsym.LineEntry(INNER[1], "/a.c", 40),
    )
    return gsym.FunctionInfo(
        *(START, len(CODE), "main", rows),
        gsym.InlineInfo("main", "", 0, (whole,), (middle,)),
    )


def pad(offset: int, *entries: tuple[str, str, int]) -> ReturnPad:
    levels = tuple(ReturnPadEntry(*entry) for entry in entries)
    return ReturnPad(START + offset, levels)


PADS = [
    pad(5, ("main", "/a.c", 11)),
    pad(11, ("main", "/a.c", 20), ("middle", "/m.c", 21)),
    pad(16, ("main", "/a.c", 20), ("middle", "/m.c", 22), ("inner", "/i.h", 31)),
]


def pads_of(reader: gsym.Reader, calls: Calls, **options: str) -> list[Record]:
    """The return pads that are written, in a sound symbfile."""
    file = b"".join(symbfile_blocks(reader, calls=calls, **options))
    assert [each for each in verify(Decoder([file])) if each.is_error] == []
    return list(Decoder([file]).records())


def pads_in(info: gsym.FunctionInfo, **options: str) -> list[Record]:
    """The return pads of one function whose code is CODE."""
    with gsym.Reader(create([info])) as reader:
        calls = machine_code.find_calls(reader, {info.start: CODE})
        return pads_of(reader, calls, **options)


def test_a_pad_has_the_chain_at_its_call_outermost_first() -> None:
    assert pads_in(chain()) == PADS


def test_pads_of_call_sites_are_those_of_the_same_calls() -> None:
    sites = tuple(gsym.CallSite(at, 0, ()) for at in (12, 6, 17))
    whole = chain()._replace(call_sites=sites)
    with gsym.Reader(create([whole])) as reader:
        assert pads_of(reader, recall_calls(reader)) == PADS


def test_the_exit_of_goroutines_has_a_pad_without_a_line() -> None:
    rows = (gsym.LineEntry(START, "/asm.s", 7),)
    assert pads_in(gsym.FunctionInfo(START, 7, "runtime.goexit", rows)) == [
        pad(0, ("runtime.goexit", "/asm.s", 0)),
        pad(5, ("runtime.goexit", "/asm.s", 7)),
    ]


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ("mangled", "_Z1fIiEvT_"),
        ("full", "void f<int>(int)"),
        ("symblib", "void f(int)"),
    ],
)
def test_names_are_written_in_the_style_that_is_wanted(names: str, name: str) -> None:
    info = gsym.FunctionInfo(START, 7, "_Z1fIiEvT_")
    assert pads_in(info, names=names) == [pad(5, (name, "", 0))]


@given(odd_files())
def test_odd_files_have_sound_pads(file: oracle.GsymFile) -> None:
    try:
        reader = gsym.Reader(oracle.encode_file(file))
    except gsym.GsymError:
        return
    code = {reader.header.base_address: CALL * 200}
    calls = machine_code.find_calls(reader, code)
    pads = pads_of(reader, calls)
    asked = [(behind - 1) % 2**64 for _, behind in calls]
    assert set(asked).issuperset(each.elf_va for each in pads)


@given(function_lists() | overlapping_lists())
def test_a_pad_says_what_a_lookup_at_its_call_does(
    functions: list[gsym.FunctionInfo],
) -> None:
    with gsym.Reader(create(functions)) as reader:
        code = {reader.header.base_address: CALL * 200}
        calls = machine_code.find_calls(reader, code)
        pads = {each.elf_va: each for each in pads_of(reader, calls, names="mangled")}
        for address, behind in calls:
            if not reader.header.base_address <= address <= 2**64 - len(CALL):
                continue  # it goes on at address 0
            chain = tuple(map(ReturnPadEntry._make, looked_up(reader, address)[::-1]))
            assert pads[behind - 1] == ReturnPad(behind - 1, chain)


def test_pads_are_the_same_whatever_is_visited_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    functions = [
        gsym.FunctionInfo(START + len(CODE) * at, len(CODE), f"f{at}")
        for at in range(20)
    ]
    with gsym.Reader(create(functions)) as reader:
        calls = machine_code.find_calls(reader, {START: CODE * 20})
        expected = pads_of(reader, calls)
        assert len(expected) == 60
        for size in (1, 2, 19, 20, 21):
            monkeypatch.setattr(extraction, "_ENTRIES_AT_ONCE", size)
            assert pads_of(reader, calls) == expected


def test_a_closed_reader_has_no_pads() -> None:
    with gsym.Reader(create([chain()])) as reader:
        calls = machine_code.find_calls(reader, {START: CODE})
    with pytest.raises(gsym.ClosedError):
        list(symbfile_blocks(reader, calls=calls))


# ---- files

SOURCE = "/media/share/Development/prodfiler/libpf-rs/testdata/inline.c"
# What the reference implementation's own test expects of this program.
REFERENCE = {
    0x64B: [("main", 39)],
    0x657: [
        *(("main", 40), ("a_inline", 35), ("b_inline", 31), ("c_inline", 27)),
        ("d_inline", 23),
    ],
    0x7B3: [("d", 7)],
    0x7CB: [("c", 11)],
    0x7DF: [("b", 15)],
    0x7FB: [("a", 19)],
}


def test_the_pads_of_the_reference_implementation(
    fixtures: Path, tmp_path: Path
) -> None:
    output = str(tmp_path / "out")
    extract(fixtures / "symblib/inline-no-tco", return_pads=output)
    found = {
        record.elf_va: [(entry.func, entry.line) for entry in record.entries]
        for record in read(output)
        if isinstance(record, ReturnPad)
        and all(entry.file == SOURCE for entry in record.entries)
    }
    assert found == REFERENCE


def test_goroutines_of_a_real_program_have_an_end(
    fixtures: Path, tmp_path: Path
) -> None:
    output = str(tmp_path / "out")
    extract(fixtures / "symblib/go-1.24.0", return_pads=output)
    exits = [
        (record.elf_va, record.entries[0].line)
        for record in read(output)
        if isinstance(record, ReturnPad) and record.entries[0].func == "runtime.goexit"
    ]
    assert exits == [(0x46DB60, 0), (0x46DB65, 1701)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `a.gsym` holds the function, and `a` its code."""
    monkeypatch.chdir(tmp_path)
    text = elf.Section(".text", CODE, flags=elf.CODE, address=START)
    symbol = elf.Symbol("main", START, len(CODE))
    binary = elf.Elf((text,), symbols=(symbol,), machine=elf.X86_64)
    (tmp_path / "a").write_bytes(binary.to_bytes())
    (tmp_path / "a.gsym").write_bytes(create([chain()]))
    return tmp_path


def read(path: str) -> list[Record]:
    return list(open_symbfile(path).records())


def run(*words: str) -> int:
    return main(["symbfile", "extract", *words])


@pytest.mark.usefixtures("folder")
def test_the_pads_of_a_gsym_file_need_its_binary() -> None:
    report = extract("a.gsym", return_pads="out", binary="a").kinds["returnpads"]
    assert read("out") == PADS
    assert report.counts == {"return_pads": 3, "functions": 1, "instructions": 6}
    assert report.losses == {}
    with pytest.raises(NoCallsError, match="machine code or call sites"):
        extract("a.gsym", return_pads="other")


@pytest.mark.usefixtures("folder")
def test_the_pads_of_a_binary_are_made_of_its_own_code() -> None:
    report = extract("a", return_pads="out").kinds["returnpads"]
    assert read("out") == [pad(at, ("main", "", 0)) for at in (5, 11, 16)]
    assert report.counts["instructions"] == 6


@pytest.mark.parametrize("words", [(), ("--part-size=4000",)])
def test_any_number_of_threads_writes_the_same_files(
    words: tuple[str, ...], fixtures: Path, tmp_path: Path
) -> None:
    binary = str(fixtures / "symblib/inline")
    for threads in ("1", "2", "3"):
        folder = tmp_path / threads
        folder.mkdir()
        options = (*words, "--kind=both", f"--threads={threads}", "-q")
        assert run(binary, *options, "-o", str(folder / "x")) == 0
    files = [
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in sorted(tmp_path.iterdir())
    ]
    assert files[0] == files[1] == files[2]
    assert any("returnpads" in name for name in files[0])


def test_without_code_there_are_only_ranges_and_a_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("a.gsym", "--kind=both", "-o", "out") == 0
    assert "return pads left out" in (told := capsys.readouterr().err)
    assert "use --binary" in told
    assert read("out.ranges.symbfile") != []
    assert not (folder / "out.returnpads.symbfile").exists()
    assert run("a.gsym", "--kind=returnpads", "-o", "out") == 1
    assert "use --binary" in capsys.readouterr().err


def test_call_sites_replace_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = tuple(gsym.CallSite(at, 0, ()) for at in (6, 12, 17))
    whole = chain()._replace(call_sites=sites)
    (folder / "b.gsym").write_bytes(create([whole]))
    assert run("b.gsym", "--kind=returnpads", "-o", "out") == 0
    assert "3 return pads of call sites" in capsys.readouterr().out
    assert read("out") == PADS


def test_a_debug_file_has_the_pads_of_its_call_sites(folder: Path) -> None:
    sites = [Die(Tag.call_site, {At.call_return_pc: at}) for at in (0x1010, 0x1008)]
    image = program(unit(function("f", 0x1000, 0x1040, *sites), lines=LineProgram()))
    (folder / "a.debug").write_bytes(image)
    report = extract("a.debug", return_pads="out").kinds["returnpads"]
    assert report.counts["functions"] == 0
    assert [r.elf_va for r in read("out")] == [0x1007, 0x100F]


def test_code_for_another_processor_leaves_the_call_sites(folder: Path) -> None:
    sites = [Die(Tag.call_site, {At.call_return_pc: 0x1008})]
    text = elf.Section(".text", bytes(0x40), flags=elf.CODE, address=START)
    made = unit(function("f", 0x1000, 0x1040, *sites), lines=LineProgram())
    image = bytearray(program(made, text=(text,)))
    pack_into("<H", image, 18, elf.RISCV)
    (folder / "riscv").write_bytes(image)
    report = extract("riscv", return_pads="out").kinds["returnpads"]
    assert report.counts["functions"] == 0
    assert [r.elf_va for r in read("out")] == [0x1007]
    assert run("riscv", "--kind=both") == 0
    assert read("riscv.returnpads.symbfile") == read("out")


def test_code_for_another_processor_without_call_sites_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = bytearray((folder / "a").read_bytes())
    pack_into("<H", image, 18, elf.RISCV)
    (folder / "riscv").write_bytes(image)
    assert run("riscv", "--kind=both") == 0
    assert "the machine code is for riscv64" in capsys.readouterr().err
    assert run("riscv", "--kind=returnpads") == 1


@pytest.mark.usefixtures("folder")
def test_code_that_cannot_be_decoded_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = (folder / "a").read_bytes().replace(CODE, CODE[:6] + b"\x06" + CODE[7:])
    (folder / "broken").write_bytes(broken)
    assert run("a.gsym", "--kind=returnpads", "--binary=broken", "-o", "out") == 0
    told = capsys.readouterr().err
    assert "Code after an undefined instruction left out (once)" in told
    assert "a.gsym: warning: broken may be of another build: there is no id" in told
    words = "--kind=returnpads", "--binary=broken", "-o", "out", "--json"
    assert run("a.gsym", *words) == 0
    unsure = json.loads(capsys.readouterr().out)["unsure"]
    assert unsure.startswith("broken may be of another build: there is no id")
    assert read("out") == PADS[:1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--kind", "pads"), "choose ranges or returnpads or both"),
        (("--kind=returnpads", "--binary=a", "-o", "a"), "would replace the input"),
        (("--kind=returnpads", "-o", "a.gsym"), "would replace the input"),
    ],
)
def test_invalid_options_are_refused(
    words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("a.gsym", *words) == 2
    assert reason in capsys.readouterr().err
