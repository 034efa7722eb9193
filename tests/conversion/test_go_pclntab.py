"""Go binaries without debug information: what a pclntab says of their functions.

Tiny tables of every layout are converted, and damaged ones; a second decoder reads the
same.
"""

from __future__ import annotations

from dataclasses import replace
from struct import pack, unpack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

import gsym
from gsym.cli.main import main
from gsym.conversion.report import CATEGORIES, LIMIT_REACHED
from gsym.engine.native import lib
from tests.conversions import Options, convert_bytes, describe, settle, words
from tests.inputs.elf import ALLOC, PROGBITS, RELA, Elf, Section, Symbol
from tests.inputs.go import (
    BARE,
    BUILD_INFO,
    DATA,
    EXIT,
    GO_VERSIONS,
    MAIN,
    PROGRAM,
    TABLE,
    TEXT,
    GoCall,
    GoFunction,
    go_elf,
    go_macho,
    go_pe,
)
from tests.inputs.program import debug_sections, function
from tests.referee.opening import compare

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

EXPECTED = words("""
    1020-1030 runtime.goexit
      1020 /go/asm.s:1700
    1040-10a0 main.main
      1040 /go/main.go:10
      1048 /go/deep.go:5
      1050 /go/main.go:11
      1058 /go/lib.go:30
      1068 /go/main.go:12
      1070 :0
      inlined lib.Outer 1048-1050,1058-1064 from /go/main.go:11
        inlined lib.Inner 1058-1060 from /go/deep.go:5
      inlined main.other 1064-1068 from /go/main.go:12
    10a0-10c0 go:textfipsstart
    """)
DAMAGED_FUNCTION = CATEGORIES[lib.GSYM_WARN_GO_FUNCTION]
DAMAGED_CALLS = CATEGORIES[lib.GSYM_WARN_GO_CALLS]
LIMIT = CATEGORIES[lib.GSYM_WARN_LIMIT]


def functions_of(folder: Path, image: bytes, options: Options | None = None) -> str:
    return describe(convert_bytes(folder, image, options).functions)


# ---- layouts ----


@pytest.mark.parametrize(
    ("version", "bits", "byteorder"),
    [  # every pair of choices
        (version, bits, byteorder)
        for number, version in enumerate(GO_VERSIONS)
        for bits, byteorder in zip(
            (32, 64), ("little", "big")[:: 1 - 2 * (number % 2)], strict=True
        )
    ],
)
def test_every_layout_gives_the_same_functions(
    version: int, bits: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    image = go_elf(PROGRAM, version=version, bits=bits, byteorder=byteorder).to_bytes()
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == EXPECTED
    assert report.functions_pclntab == report.functions_debug_info == len(PROGRAM)
    assert report.warnings == {}
    assert report.notes == ()


def test_the_second_opinion_sees_a_difference(tmp_path: Path) -> None:
    convert_bytes(tmp_path, go_elf(PROGRAM).to_bytes())
    other = replace(MAIN, rows=((0, "/go/main.go", 9), *MAIN.rows[1:]))
    (tmp_path / "other").write_bytes(go_elf((EXIT, other, BARE)).to_bytes())
    compared = compare(f"{tmp_path}/input.gsym", f"{tmp_path}/other")
    assert [each.subject for each in compared.differences] == ["lines"]


@pytest.mark.parametrize("quantum", [1, 2, 4])
def test_code_is_counted_in_quanta(quantum: int, tmp_path: Path) -> None:
    image = go_elf(PROGRAM, quantum=quantum).to_bytes()
    assert functions_of(tmp_path, image) == EXPECTED


@pytest.mark.parametrize(
    "section", [".gopclntab", ".data.rel.ro.gopclntab", "__gopclntab"]
)
def test_the_table_is_known_by_its_section(section: str, tmp_path: Path) -> None:
    image = go_elf(PROGRAM, section=section).to_bytes()
    assert functions_of(tmp_path, image) == EXPECTED


@pytest.mark.parametrize("name", [".go.buildinfo", ""])
def test_a_go_binary_is_searched_for_its_table(name: str, tmp_path: Path) -> None:
    """That it is one is told by the build information; names may be spoilt."""
    more = [Section(name, BUILD_INFO, flags=ALLOC, address=0xB000)]
    image = go_elf(PROGRAM, section=".data.rel.ro", more=more).to_bytes()
    assert functions_of(tmp_path, image) == EXPECTED


def test_other_binaries_are_not_searched(tmp_path: Path) -> None:
    elf = go_elf(PROGRAM, section=".rodata2", symbols=[Symbol("main", TEXT, 4)])
    assert functions_of(tmp_path, elf.to_bytes()) == "1000-1004 main\n"


@pytest.mark.parametrize("filling", [0, 0x400, 0xFFF0])
def test_a_pe_image_is_searched(filling: int, tmp_path: Path) -> None:
    found = functions_of(tmp_path, go_pe(PROGRAM, filling=filling).to_bytes())
    assert len(found.splitlines()) == len(EXPECTED.splitlines())
    assert "inlined lib.Inner 140001058-140001060 from /go/deep.go:5" in found


def test_another_pe_image_is_not_searched(tmp_path: Path) -> None:
    """The build information of Go stands in the first 64 KiB of the data."""
    with pytest.raises(gsym.EmptyError):
        convert_bytes(tmp_path, go_pe(PROGRAM, filling=0x10000).to_bytes())


@pytest.mark.parametrize("chained", [False, True])
def test_a_macho_file_has_its_table(chained: bool, tmp_path: Path) -> None:  # noqa: FBT001
    found = functions_of(tmp_path, go_macho(PROGRAM, chained=chained).to_bytes())
    assert len(found.splitlines()) == len(EXPECTED.splitlines())
    assert "inlined lib.Inner 100001058-100001060 from /go/deep.go:5" in found


def test_the_header_may_hold_the_start_of_the_code(tmp_path: Path) -> None:
    elf = go_elf(PROGRAM, has_text_start=True, has_module=False)
    report, functions = convert_bytes(tmp_path, elf.to_bytes())
    names = [each.name for each in functions]
    assert names == [each.name for each in PROGRAM]
    assert functions[1].line_table is not None
    assert functions[1].inline is None  # nothing tells where the calls are
    assert report.warnings == {DAMAGED_CALLS: 1}


def test_without_it_and_module_data_there_are_symbols_only(tmp_path: Path) -> None:
    elf = go_elf(PROGRAM, has_module=False, symbols=[Symbol("main", TEXT, 4)])
    report, functions = convert_bytes(tmp_path, elf.to_bytes())
    assert describe(functions) == "1000-1004 main\n"
    assert report.functions_pclntab == 0
    assert len(report.notes) == 2
    assert "no module data with the start of the code" in report.notes[1]


def relocated(before: int) -> Elf:
    """PROGRAM with its module data in relocations, behind more that name the table."""
    elf = go_elf(PROGRAM)
    *rest, data = elf.sections
    found = unpack(f"<{len(data.data) // 8}Q", data.data)
    places = [(DATA, TABLE)] * before
    places += [(DATA + 8 * i, word) for i, word in enumerate(found)]
    moved = [
        *rest,
        replace(data, data=bytes(len(data.data))),
        Section(
            ".rela.dyn",
            b"".join(pack("<3Q", place, 8, word) for place, word in places if word),
            RELA,
            ALLOC,
            address=0xC000,
        ),
    ]
    return replace(elf, sections=moved)


def test_relocations_may_hold_the_module_data(tmp_path: Path) -> None:
    """A linker need not write addresses in place that the loader will write."""
    assert functions_of(tmp_path, relocated(1).to_bytes()) == EXPECTED


# ---- what the functions say ----


def test_a_function_ends_with_its_code(tmp_path: Path) -> None:
    """What fills up to the next function belongs to none."""
    (tmp_path / "input").write_bytes(go_elf(PROGRAM).to_bytes())
    gsym.convert(f"{tmp_path}/input", f"{tmp_path}/input.gsym")
    with gsym.open(f"{tmp_path}/input.gsym") as reader:
        assert reader.lookup(0x102F) is not None
        assert reader.lookup(0x1030) is None


def test_the_end_of_the_last_function_is_in_the_table(tmp_path: Path) -> None:
    found = functions_of(tmp_path, go_elf((BARE,), end=0xB0).to_bytes())
    assert found == "10a0-10b0 go:textfipsstart\n"


def test_paths_are_mapped(tmp_path: Path) -> None:
    options: Options = {"path_map": (("/go/", "/usr/lib/go/"),)}
    image = go_elf(PROGRAM).to_bytes()
    found = functions_of(tmp_path, image, options)
    assert found == EXPECTED.replace("/go/", "/usr/lib/go/")
    compared = compare(
        f"{tmp_path}/input.gsym", f"{tmp_path}/input", path_map=options["path_map"]
    )
    assert compared.differences == []


def test_a_gap_between_sections_of_code_is_no_function(tmp_path: Path) -> None:
    image = bytearray(go_elf((EXIT, BARE)).to_bytes())
    entry = (0x20).to_bytes(4, "little")
    at = image.index(entry, image.index(b"\xf1\xff\xff\xff")) + 4
    while image[at - 4 + 8 : at - 4 + 12] != (0xA0).to_bytes(4, "little"):
        at = image.index(entry, at) + 4
    image[at : at + 4] = b"\xff\xff\xff\xff"
    report, functions = convert_bytes(tmp_path, bytes(image))
    assert describe(functions) == "10a0-10c0 go:textfipsstart\n"
    assert report.warnings == {}


def test_symbols_name_what_the_table_leaves_out(tmp_path: Path) -> None:
    symbols = [
        Symbol("_start", TEXT, 0x10),
        Symbol("runtime.goexit.abi0", 0x1020, 0x10),
    ]
    found = functions_of(tmp_path, go_elf(PROGRAM, symbols=symbols).to_bytes())
    assert found == "1000-1010 _start\n" + EXPECTED


# ---- beside debug information ----


def with_dwarf(low: int) -> bytes:
    """A Go binary with a function of DWARF at *low*."""
    described = debug_sections(64, "little", function("in_dwarf", low, low + 0x10))
    return go_elf(PROGRAM, more=described).to_bytes()


def test_debug_information_of_go_is_preferred(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, with_dwarf(0x1020))
    assert [each.name for each in functions] == ["in_dwarf"]
    assert report.functions_pclntab == 0


def test_debug_information_of_other_functions_leaves_room(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, with_dwarf(0x1000))
    names = ["in_dwarf", *(each.name for each in PROGRAM)]
    assert [each.name for each in functions] == names
    assert (report.functions_debug_info, report.functions_pclntab) == (4, 3)


def test_the_table_alone_may_be_used(tmp_path: Path) -> None:
    found = functions_of(tmp_path, with_dwarf(0x1020), {"pclntab": "only"})
    assert found == EXPECTED


def test_the_table_may_be_ignored(tmp_path: Path) -> None:
    elf = go_elf(PROGRAM, symbols=[Symbol("main", TEXT, 4)])
    report, functions = convert_bytes(tmp_path, elf.to_bytes(), {"pclntab": "never"})
    assert describe(functions) == "1000-1004 main\n"
    assert "no debug information" in report.notes[0]


def test_a_missing_table_that_is_required_is_an_error(tmp_path: Path) -> None:
    image = Elf([Section(".text")], symbols=[Symbol("f", 0)]).to_bytes()
    with pytest.raises(
        gsym.EmptyError, match="no pclntab with a function: this is not a Go"
    ):
        convert_bytes(tmp_path, image, {"pclntab": "only"})


def test_another_choice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="pclntab: expected auto or only or never, not 'maybe'"
    ):
        convert_bytes(tmp_path, b"", {"pclntab": "maybe"})


# ---- damage ----


def table_of(elf: Elf) -> tuple[bytearray, int]:
    """The bytes of a file and where its table starts."""
    image = bytearray(elf.to_bytes())
    return image, image.index(b"\xff\xff\xff\0\0\x01\x08") - 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (b"\xfb\xff\xff\xff\0\0", "of a Go before 1.16"),
        (b"\xf1\xff\xff\xfe\0\0", "does not start as one"),
        (b"\xf1\xff\xff\xff\0\0\x03", "does not start as one"),
        (b"\xf1\xff\xff\xff\0\0\x01\x04", "does not start as one"),
        (
            b"\xf1\xff\xff\xff\0\0\x01\x08\xff\xff\0\0\0\0\0\0",
            "no room for its 65535 functions",
        ),
    ],
)
def test_a_damaged_header_is_reported(
    change: bytes, reason: str, tmp_path: Path
) -> None:
    image, at = table_of(go_elf(PROGRAM, symbols=[Symbol("main", TEXT, 4)]))
    image[at : at + len(change)] = change
    report, functions = convert_bytes(tmp_path, bytes(image))
    assert describe(functions) == "1000-1004 main\n"
    assert reason in report.notes[1]
    assert f"(at offset {at:#x})" in report.notes[1]
    with pytest.raises(gsym.GsymError, match=reason):
        convert_bytes(tmp_path, bytes(image), {"pclntab": "only"})


def test_a_table_that_is_cut_off_is_reported(tmp_path: Path) -> None:
    elf = go_elf(PROGRAM, symbols=[Symbol("main", TEXT, 4)])
    sections = [
        replace(each, data=each.data[:40]) if each.name == ".gopclntab" else each
        for each in elf.sections
    ]
    report, _ = convert_bytes(tmp_path, replace(elf, sections=sections).to_bytes())
    assert "the header of the pclntab is cut off" in report.notes[1]


def damaged(find: bytes, change: bytes, start: bytes = b"first\0") -> bytes:
    """PROGRAM with the first *find* behind *start* changed."""
    image = bytearray(go_elf(PROGRAM).to_bytes())
    at = image.index(find, image.index(start))
    image[at : at + len(change)] = change
    return bytes(image)


def test_a_function_without_a_name_is_left_out(tmp_path: Path) -> None:
    image = damaged(b"runtime.goexit", b"\0")
    report, functions = convert_bytes(tmp_path, image)
    assert [each.name for each in functions] == ["main.main", "go:textfipsstart"]
    assert report.warnings == {DAMAGED_FUNCTION: 1}


def test_a_call_whose_name_is_elsewhere_has_none(tmp_path: Path) -> None:
    image = go_elf((MAIN,), version=16).to_bytes()
    place = image.index(MAIN.calls[2].name.encode()) - image.index(b"first\0")
    caller = MAIN.calls[2].caller
    changed = image.replace(pack("<II", place, caller), pack("<II", 1 << 30, caller))
    report, (function,) = convert_bytes(tmp_path, changed)
    assert function.inline is not None
    assert [each.name for each in function.inline.children] == ["lib.Outer", ""]
    assert report.warnings == {DAMAGED_CALLS: 1}


def test_the_second_opinion_ends_on_tables_that_do_not(tmp_path: Path) -> None:
    """A call that is in itself; more functions than there is room for."""
    own = replace(MAIN, calls=(replace(MAIN.calls[0], parent=0), *MAIN.calls[1:]))
    convert_bytes(tmp_path, go_elf((own,), version=16).to_bytes())
    assert compare(f"{tmp_path}/input.gsym", f"{tmp_path}/input").differences == []
    image, table = table_of(go_elf((MAIN,), version=16))
    image[table + 11] = 0x7F  # the number of functions, times 2 to the 24th
    (tmp_path / "input").write_bytes(image)
    with pytest.raises(gsym.FormatError, match="cut off"):
        compare(f"{tmp_path}/input.gsym", f"{tmp_path}/input")


def test_impossible_calls_are_left_out(tmp_path: Path) -> None:
    """The caller of a call stands in front of it."""
    caller = replace(MAIN.calls[0], caller=24)
    image = go_elf((replace(MAIN, calls=(caller, *MAIN.calls[1:])),)).to_bytes()
    report, (function,) = convert_bytes(tmp_path, image)
    assert function.line_table is not None
    assert function.inline is None
    assert report.warnings == {DAMAGED_CALLS: 1}


def test_functions_outside_of_code_are_left_out(tmp_path: Path) -> None:
    far = replace(BARE, name="far", start=0x4000)
    report, functions = convert_bytes(tmp_path, go_elf((*PROGRAM, far)).to_bytes())
    assert [each.name for each in functions] == [each.name for each in PROGRAM]
    outside = CATEGORIES[lib.GSYM_WARN_RANGE_OUTSIDE_TEXT]
    assert report.warnings == {outside: 1}


def sharing(count: int) -> Elf:
    """*count* functions that all have one long table of lines."""
    rows = tuple((i, "/a.go", i + 1) for i in range(0xFFF))
    pair = (GoFunction("f", 0, 0xFFF, rows=rows), GoFunction("g", 0xFFF, 1))
    return go_elf(pair * count)


@pytest.mark.hostile
@pytest.mark.slow
def test_tables_that_are_shared_are_read_up_to_a_limit(tmp_path: Path) -> None:
    """A limit of 16 values to a byte, and 65536, of which functions take 4096 each."""
    size = {n: len(sharing(n).sections[2].data) for n in (1, 2)}
    growth, first = size[2] - size[1], size[1] - (size[2] - size[1])
    count = (16 * first + 0x10000) // (4096 - 16 * growth) + 1
    for n, limit in ((count - 1, 0), (count, 1)):
        elf = sharing(n)
        assert len(elf.sections[2].data) == first + growth * n
        report, _ = convert_bytes(tmp_path, elf.to_bytes())
        assert report.warnings.get(LIMIT, 0) == limit


@pytest.mark.parametrize(("depth", "warnings"), [(4096, {}), (4097, {LIMIT: 1})])
def test_calls_are_nested_up_to_a_limit(
    depth: int, warnings: dict[str, int], tmp_path: Path
) -> None:
    calls = tuple(GoCall("f", 0, "/a.go", 1, parent=i - 1) for i in range(depth))
    rows = ((0, "/a.go", 1),)
    deep = GoFunction("deep", 0, 8, rows=rows, calls=calls, spans=((0, depth - 1),))
    report, _ = convert_bytes(tmp_path, go_elf((deep,), version=18).to_bytes())
    assert report.warnings == warnings
    assert report.functions_with_inlines == 1


@pytest.mark.parametrize(("before", "is_found"), [(15, True), (16, False)])
def test_a_table_is_searched_for_after_few_others(
    before: int,
    is_found: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
) -> None:
    """Each that looks like one is looked for in all data."""
    mark = Section(".go.buildinfo", BUILD_INFO, PROGBITS, ALLOC, 0xB000)
    others = (b"\xf1\xff\xff\xff\0\0\x01\x08" + bytes(64)) * before
    elf = go_elf(PROGRAM, section=".other", symbols=[Symbol("main", TEXT, 4)])
    decoys = Section(".first", others, PROGBITS, ALLOC, 0xA000)
    image = replace(elf, sections=[decoys, *elf.sections, mark]).to_bytes()
    report = convert_bytes(tmp_path, image).report
    assert report.functions_pclntab == (len(PROGRAM) if is_found else 0)
    assert report.warnings == ({} if is_found else {LIMIT_REACHED: 1})


@pytest.mark.parametrize(("before", "is_found"), [(15, True), (16, False)])
def test_module_data_is_searched_for_in_few_relocations(
    before: int,
    is_found: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
) -> None:
    """Each that names the table is looked for in all of them."""
    image = relocated(before).to_bytes()
    if is_found:
        assert functions_of(tmp_path, image) == EXPECTED
    else:
        with pytest.raises(gsym.EmptyError, match="no module data with"):
            convert_bytes(tmp_path, image)


def test_each_kept_warning_has_its_offset(tmp_path: Path) -> None:
    image = damaged(b"runtime.goexit", b"\0")
    report, _ = convert_bytes(tmp_path, image, {"verbose": True})
    ((category, offset, value, _),) = report.details
    assert (category, value) == (DAMAGED_FUNCTION, 0x1020)
    assert image[offset : offset + 4] == (0x20).to_bytes(4, "little")


_IMAGES = [
    (go_elf(PROGRAM, version=version, bits=bits).to_bytes())
    for version in GO_VERSIONS
    for bits in (32, 64)
]


@st.composite
def programs(draw: st.DrawFn) -> tuple[GoFunction, ...]:
    """Functions with any rows and any calls, whose callers stand in front of them."""
    functions = []
    start = 0
    paths = st.sampled_from(["", "/a.go", "/b.go", "C:/c.go"])
    for index in range(draw(st.integers(1, 4))):
        count = draw(st.integers(0, 5))
        parents = [draw(st.integers(-1, i - 1)) for i in range(count)]
        size = 4 * (count + draw(st.integers(1, 12)))
        places = range(0, size, 4)
        rows = [
            (place, draw(paths), draw(st.integers(0, 70000)))
            for place in places
            if place == 0 or draw(st.booleans())
        ]
        # The place of a caller is one that is of the call which is its parent.
        spans = list(zip(places, parents, strict=False)) + [
            (place, draw(st.integers(-1, count - 1))) for place in places[count:]
        ]
        calls = [
            GoCall(f"inner{i}", 4 * i, *row_at(rows, 4 * i), parent)
            for i, parent in enumerate(parents)
        ]
        functions.append(GoFunction(f"f{index}", start, size, rows, calls, spans))
        start += size + draw(st.sampled_from([0, 16]))
    return tuple(functions)


def row_at(rows: list[tuple[int, str, int]], place: int) -> tuple[str, int]:
    return next((path, line) for at, path, line in reversed(rows) if at <= place)


@settings(deadline=None)
@given(
    functions=programs(),
    version=st.sampled_from(GO_VERSIONS),
    byteorder=st.sampled_from(["little", "big"]),
)
def test_any_table_is_read_as_the_second_opinion_reads_it(
    functions: tuple[GoFunction, ...],
    version: int,
    byteorder: ByteOrder,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    image = go_elf(functions, version=version, byteorder=byteorder).to_bytes()
    report, found = convert_bytes(folder, image)
    assert report.warnings == {}
    compared = compare(f"{folder}/input.gsym", f"{folder}/input")
    assert compared.differences == []
    assert compared.functions == len(found) == len(functions)


# ---- commands ----


def test_the_command_prints_how_many_functions_are_from_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app"
    path.write_bytes(go_elf(PROGRAM).to_bytes())
    assert main(["convert", str(path)]) == 0
    captured = capsys.readouterr()
    assert "found in debug information 3, that is the pclntab, in" in captured.out
    assert "no debug information" not in captured.err
    path.write_bytes(with_dwarf(0x1000))
    assert main(["convert", str(path)]) == 0
    assert (
        "debug information 4, 3 of them in the pclntab, in" in capsys.readouterr().out
    )


def test_the_command_compares_with_a_new_conversion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app"
    path.write_bytes(go_elf(PROGRAM).to_bytes())
    assert main(["convert", "--verify", str(path)]) == 0
    said = capsys.readouterr().out
    assert "3 functions compared with a new conversion" in said


# ---- any bytes ----


@settings(deadline=None)
@given(
    image=st.sampled_from(_IMAGES),
    changes=st.lists(
        st.tuples(st.integers(0, 0x4000), st.integers(0, 255)), min_size=1, max_size=6
    ),
)
def test_any_changed_bytes_are_refused_or_give_functions(
    image: bytes,
    changes: list[tuple[int, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    changed = bytearray(image)
    start = changed.index(b"\xff\xff\xff\0\0\x01") - 1
    for at, value in changes:
        changed[start + at % (len(changed) - start)] = value
    settle(tmp_path_factory.getbasetemp(), bytes(changed))
