"""gsym.symbfile.extraction: ranges that answer as a lookup does."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from struct import pack_into, unpack_from
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

import gsym
from gsym.cli.main import main
from gsym.errors import LimitError
from gsym.symbfile.columns import LineTableRow, Range
from gsym.symbfile.extraction import extract, symbfile_blocks
from gsym.symbfile.format import Decoder, open_symbfile
from gsym.symbfile.inspection import verify
from gsym.symbfile.names import reduce_name
from tests import oracle
from tests.creations import create
from tests.strategies import function_lists, odd_files, overlapping_lists
from tests.symbfile.sweep import looked_up, sweep
from tests.views import to_oracle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.long


def ranges_of(data: bytes, names: str = "mangled") -> list[Range]:
    file = b"".join(symbfile_blocks(gsym.Reader(data), names=names))
    assert [each for each in verify(Decoder([file])) if each.is_error] == []
    ranges = list(Decoder([file]).records())
    assert [each for each in ranges if not isinstance(each, Range)] == []
    return [each for each in ranges if isinstance(each, Range)]


def addresses_round(data: bytes, ranges: Sequence[Range]) -> list[int]:
    """Those where an answer may change, and those beside them."""
    edges = {0}
    for each in ranges:
        rows = (each.elf_va + row.offset for row in each.line_table)
        edges |= {each.elf_va, each.elf_va + each.length, *rows}
    for function in gsym.Reader(data).functions():
        edges |= {function.start, function.start + function.size}
    beside = {edge + step for edge in edges for step in (-1, 0, 1)}
    return sorted(each for each in beside if 0 <= each < 2**64)


def assert_equal_answers(data: bytes) -> None:
    ranges = ranges_of(data)
    reader = gsym.Reader(data)
    starts = [function.start for function in reader.functions()]
    last = max(starts)
    is_endless = any(
        each.start == last and not each.size for each in reader.functions()
    )
    for address in addresses_round(data, ranges):
        if is_endless and address >= last:
            continue  # where the last function ends is not known
        own, *callers = looked_up(reader, address) or ((),)
        # A call without a file has no line: readers take it from the caller's file.
        callers = [each if each.file else each._replace(line=0) for each in callers]
        expected = (own, *callers) if own else ()
        assert sweep(ranges, address) == expected, hex(address)


def test_a_call_from_an_unknown_file_is_not_one_from_the_file_of_its_caller() -> None:
    call = gsym.InlineInfo("callee", "", 7, (gsym.Range(0x102, 0x104),))
    root = gsym.InlineInfo("main", "", 0, (gsym.Range(0x100, 0x110),), (call,))
    rows = (gsym.LineEntry(0x100, "a.c", 5),)
    ranges = ranges_of(create([gsym.FunctionInfo(0x100, 16, "main", rows, root)]))
    assert [(each.call_file, each.call_line) for each in ranges] == [(None, 0)] * 2


@given(function_lists())
def test_ranges_answer_as_lookups_do(functions: list[gsym.FunctionInfo]) -> None:
    assert_equal_answers(create(functions))


@given(overlapping_lists())
def test_where_functions_overlap_ranges_answer_as_lookups_do(
    functions: list[gsym.FunctionInfo],
) -> None:
    assert_equal_answers(create(functions))


@given(odd_files())
def test_odd_files_become_sound_ranges(file: oracle.GsymFile) -> None:
    try:
        reader = gsym.Reader(oracle.encode_file(file))
    except gsym.GsymError:
        return
    records = b"".join(symbfile_blocks(reader))
    assert [each for each in verify(Decoder([records])) if each.is_error] == []


# ---- one function, written by hand


def lines(*rows: tuple[int, str, int]) -> tuple[gsym.LineEntry, ...]:
    found = ((0x1000 + offset, path, line) for offset, path, line in rows)
    return tuple(map(gsym.LineEntry._make, found))


def call(
    name: str, *spans: tuple[int, int], children: tuple[gsym.InlineInfo, ...] = ()
) -> gsym.InlineInfo:
    found = tuple(gsym.Range(0x1000 + start, 0x1000 + end) for start, end in spans)
    return gsym.InlineInfo(name, "/a.c", 7, found, children)


def one_function(
    rows: tuple[gsym.LineEntry, ...], *calls: gsym.InlineInfo
) -> list[Range]:
    root = gsym.InlineInfo("f", "", 0, (gsym.Range(0x1000, 0x1040),), calls)
    return ranges_of(create([gsym.FunctionInfo(0x1000, 0x40, "f", rows, root)]))


def spans(ranges: Sequence[Range]) -> list[tuple[int, int, int, str]]:
    """Start, end, depth and name; addresses from the start of the function."""
    starts = (each.elf_va - 0x1000 for each in ranges)
    return [
        (start, start + each.length, each.depth, each.func)
        for start, each in zip(starts, ranges, strict=True)
    ]


def table(*rows: tuple[int, int]) -> tuple[LineTableRow, ...]:
    return tuple(LineTableRow(*row) for row in rows)


@pytest.mark.parametrize("span", [(0x1008, 0x1008), (0x100001008, 0x100001010)])
def test_a_range_of_nothing_or_out_of_reach_is_no_call(span: tuple[int, int]) -> None:
    inner = call("g", (8, 16))
    root = gsym.InlineInfo("f", "", 0, (gsym.Range(0x1000, 0x1040),), (inner,))
    file = to_oracle([gsym.FunctionInfo(0x1000, 0x40, "f", None, root)], 1, "little")
    function = file.functions[0]
    assert function.inline is not None
    child = replace(function.inline.children[0], ranges=(span,))
    inline = replace(function.inline, children=(child,))
    file = replace(file, functions=(replace(function, inline=inline),))
    assert [each.func for each in ranges_of(oracle.encode_file(file))] == ["f"]


def test_a_level_has_the_lines_that_no_call_in_it_has() -> None:
    rows = lines((0, "/a.c", 1), (8, "/g.c", 2), (12, "/g.c", 3), (16, "/a.c", 4))
    outer, inner = one_function(rows, call("g", (8, 16)))
    assert (outer.file, outer.line_table) == ("/a.c", table((0, 1), (16, 4)))
    assert (inner.file, inner.line_table) == ("/g.c", table((0, 2), (4, 3)))
    assert (inner.call_file, inner.call_line) == ("/a.c", 7)


def test_rows_that_say_the_same_are_one_also_round_a_call() -> None:
    rows = lines(
        *((0, "/a.c", 1), (4, "/a.c", 1), (8, "/g.c", 2), (12, "/a.c", 1)),
        (14, "/a.c", 9),
    )
    outer, _ = one_function(rows, call("g", (8, 12)))
    assert outer.line_table == table((0, 1), (14, 9))


def test_where_the_file_changes_the_range_is_split_and_keeps_its_calls() -> None:
    rows = lines(
        *((0, "/a.c", 1), (8, "/g.c", 2), (16, "/b.h", 3), (24, "/g.c", 2)),
        (32, "/b.h", 4),
    )
    ranges = one_function(rows, call("g", (8, 16), (24, 32)))
    assert spans(ranges) == [
        (0, 16, 0, "f"),
        (8, 16, 1, "g"),
        (16, 64, 0, "f"),
        (24, 32, 1, "g"),
    ]
    assert [each.file for each in ranges] == ["/a.c", "/g.c", "/b.h", "/g.c"]


def test_ranges_come_in_pre_order() -> None:
    deep = call("h", (4, 6), (10, 12))
    ranges = one_function(
        lines((0, "/a.c", 1)),
        call("g", (4, 8), (10, 16), children=(deep,)),
        call("k", (20, 24)),
    )
    assert spans(ranges) == [
        (0, 64, 0, "f"),
        (4, 8, 1, "g"),
        (4, 6, 2, "h"),
        (10, 16, 1, "g"),
        (10, 12, 2, "h"),
        (20, 24, 1, "k"),
    ]


def test_rows_of_no_file_or_no_line_are_kept() -> None:
    first, second = one_function(lines((0, "/a.c", 1), (4, "/a.c", 0), (8, "", 3)))
    assert (first.file, first.line_table) == ("/a.c", table((0, 1), (4, 0)))
    assert (second.file, second.line_table) == (None, table((0, 3)))


def test_calls_in_pieces_of_each_other_are_limited() -> None:
    count = 600
    pieces = [(2 * index, 2 * index + 1) for index in range(count)]
    deep: tuple[gsym.InlineInfo, ...] = ()
    for _ in range(count):
        deep = (call("deep", (0, 2 * count), children=deep),)
    root = gsym.InlineInfo(
        *("f", "", 0, (gsym.Range(0x1000, 0x1000 + 2 * count),)),
        (call("pieces", *pieces), *deep),
    )
    data = create([gsym.FunctionInfo(0x1000, 2 * count, "f", None, root)])
    assert len(ranges_of(data)) <= 256 * 2 * count + 1


# ---- names


def with_names_in_each_other(count: int) -> bytes:
    """A file of so many functions, each name a byte shorter than the last."""
    functions = [gsym.FunctionInfo(0x1000, 1, "x" * count)]
    functions += [gsym.FunctionInfo(0x1000 + n, 1, "y") for n in range(1, count)]
    data = bytearray(create(functions))
    header = gsym.Reader(bytes(data)).header
    strings = header.strtab_offset
    name = data.index(b"x" * count, strings) - strings
    offsets = 48 + (count * header.addr_off_size + 3) // 4 * 4
    for index, place in enumerate(unpack_from(f"<{count}I", data, offsets)):
        pack_into("<I", data, place + 4, name + index)
    return bytes(data)


def test_names_that_are_reduced_to_the_same_text_are_one_string() -> None:
    names = ["_Z1fIiEvv", "_Z1fIcEvv"]
    functions = [
        gsym.FunctionInfo(0x1000 + 0x10 * number, 0x10, name)
        for number, name in enumerate(names)
    ]
    decoder = Decoder(symbfile_blocks(gsym.Reader(create(functions)), names="symblib"))
    found = [each.func for each in decoder.records() if isinstance(each, Range)]
    assert found == ["void f()"] * 2
    assert (decoder.counts().table_strings, decoder.counts().inline_strings) == (1, 0)


def test_overlapping_names_are_limited() -> None:
    assert (
        sum(len(each.func) for each in ranges_of(with_names_in_each_other(100))) == 5050
    )
    with pytest.raises(LimitError, match="more than 64 times its size"):
        ranges_of(with_names_in_each_other(1 << 14))


def with_files_of_one_folder(count: int, size: int) -> bytes:
    folder = "/" + "d" * size
    return create(
        gsym.FunctionInfo(at, 16, "f", (gsym.LineEntry(at, f"{folder}/{at}.c", 1),))
        for at in range(0x1000, 0x1000 + 16 * count, 16)
    )


def test_paths_that_share_a_long_folder_are_limited() -> None:
    assert len(ranges_of(with_files_of_one_folder(4, 1 << 20))) == 4
    with pytest.raises(LimitError, match="more than 64 times its size"):
        ranges_of(with_files_of_one_folder(140, 1 << 20))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Those of the tests of the reference implementation.
        ("blah.cold", "blah"),
        ("blah.constprop.0.cold", "blah"),
        ("blah", "blah"),
        (
            "_RustIsNotTheOnlyLangWhoseSymbolsCanStartWith_R",
            "_RustIsNotTheOnlyLangWhoseSymbolsCanStartWith_R",
        ),
        (
            (
                "_ZNSt3__111__introsortINS_12__debug_lessINS_6__lessIN14arrow_vendored4date9"
                "time_zoneES5_EEEEPS5_EEvT0_S9_T_NS_15iterator_traitsIS9_E15difference_typeE"
            ),
            (
                "void std::__1::__introsort(arrow_vendored::date::time_zone*, "
                "arrow_vendored::date::time_zone*, std::__1::__debug_less, "
                "std::__1::iterator_traits::difference_type)"
            ),
        ),
        (
            (
                "_ZN7mozilla3dom17Selection_BindingL8get_typeEP9JSContext"
                "N2JS6HandleIP8JSObjectEEPv19JSJitGetterCallArgs.cold"
            ),
            (
                "mozilla::dom::Selection_Binding::get_type("
                "JSContext*, JS::Handle, void*, JSJitGetterCallArgs)"
            ),
        ),
        (
            (
                "_ZN5media13MojoDecryptor21DecryptAndDecodeVideoE13scoped_refptrINS_13Decoder"
                "BufferEERKN4base17RepeatingCallbackIFvNS_9Decryptor6StatusES1_INS_10Video"
                "FrameEEEEE"
            ),
            (
                "media::MojoDecryptor::DecryptAndDecodeVideo("
                "scoped_refptr, base::RepeatingCallback const&)"
            ),
        ),
        (
            (
                "_ZN2js8HeapSlot4postEPNS_12NativeObjectENS0_4KindEjRKN2JS5ValueE"
                ".isra.0.cold"
            ),
            (
                "js::HeapSlot::post(js::NativeObject*, js::HeapSlot::Kind, "
                "unsigned int, JS::Value const&)"
            ),
        ),
        ("runtime.(*mheap).grow", "runtime.(*mheap).grow"),
        ("libpf.Max[go.shape.uint32_0]", "libpf.Max[go.shape.uint32_0]"),
        # What the brackets of C++ may also be.
        ("_ZlsIcERSoS0_RK1AIT_E", "std::ostream& operator<<(std::ostream&, A const&)"),
        ("_ZN1AIiEclEv", "A::operator()()"),
        ("_ZN1AptEv", "A::operator->()"),
        ("_ZNK1AltERKS_", "A::operator<(A const&) const"),
        ("_ZN1AcvSt6vectorIiSaIiEEEv", "A::operator std::vector()"),
        ("_Z1fIXgtstT_Li4EEEvS0_", None),
        ("std::vector<int>::push_back", "std::vector<int>::push_back"),
        ("", ""),
        ("x.part.a", "x.part.a"),
    ],
)
def test_names_are_reduced_as_symblib_does(name: str, text: str | None) -> None:
    reduced = reduce_name(name.encode()).decode()
    if text is not None:
        assert reduced == text
    else:
        assert reduced.count("(") == reduced.count(")")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            (
                "_ZN50_$LT$$RF$mut$u20$W$u20$as$u20$core..fmt..Write"
                "$GT$10write_char17h40d2a72f9527ade5E.llvm.5999636307758439825"
            ),
            "<&mut W as core::fmt::Write>::write_char",
        ),
        (
            (
                "_ZN71_$LT$rustc_demangle..legacy..Demangle$u20"
                "$as$u20$core..fmt..Display$GT$3fmt17h48ee277748f854a8E"
            ),
            "<rustc_demangle::legacy::Demangle as core::fmt::Display>::fmt",
        ),
    ],
)
def test_names_of_rust_keep_their_brackets_and_lose_the_hash(
    name: str, text: str
) -> None:
    pytest.importorskip("demangle")
    assert reduce_name(name.encode()).decode() == text


# ---- files


def test_the_ranges_of_symblib_are_those_of_its_file(
    fixtures: Path, tmp_path: Path
) -> None:
    output = tmp_path / "ranges"
    extract(fixtures / "symblib/inline-no-tco", ranges=output)
    path = fixtures / "symblib/inline-no-tco.ranges.symbfile"
    theirs, ours = (Counter(open_symbfile(each).records()) for each in (path, output))
    # Stubs and functions without debug information are more than it has.
    assert {each.func for each in ours - theirs if isinstance(each, Range)} == {
        *("_init", "_start", "call_weak_fn", "deregister_tm_clones", "frame_dummy"),
        *("register_tm_clones", "__do_global_dtors_aux", "_fini"),
        *("abort@plt", "puts@plt", "__cxa_finalize@plt", "__gmon_start__@plt"),
        "__libc_start_main@plt",
    }
    assert not theirs - ours


def test_the_report_counts_what_the_file_has(tmp_path: Path) -> None:
    call = gsym.InlineInfo("callee", "b.c", 7, (gsym.Range(0x102, 0x104),))
    root = gsym.InlineInfo("main", "", 0, (gsym.Range(0x100, 0x110),), (call,))
    rows = (gsym.LineEntry(0x100, "a.c", 5), gsym.LineEntry(0x108, "a.c", 6))
    data = create([gsym.FunctionInfo(0x100, 16, "main", rows, root)])
    (tmp_path / "main.gsym").write_bytes(data)
    report = extract(tmp_path / "main.gsym", ranges=tmp_path / "ranges")
    ranges = ranges_of(data)
    assert report.kinds["ranges"].counts == {
        "functions": 1,
        "ranges": len(ranges),
        "inlined_calls": 1,
        "line_rows": sum(len(each.line_table) for each in ranges),
    }
    assert len(ranges) == 2


def test_parts_say_the_same_as_one_file(fixtures: Path, tmp_path: Path) -> None:
    binary = fixtures / "symblib/go-1.22.12"
    whole = extract(binary, ranges=tmp_path / "whole").kinds["ranges"]
    parts = extract(binary, ranges=tmp_path / "part", part_size=100_000).kinds["ranges"]
    assert parts.outputs == tuple(
        str(tmp_path / f"part-{index}") for index in range(len(parts.outputs))
    )
    assert len(parts.outputs) > 3
    assert parts.counts == whole.counts
    records = [each for path in parts.outputs for each in open_symbfile(path).records()]
    assert records == list(open_symbfile(tmp_path / "whole").records())


def part_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file of functions that are parts of their own at 1 byte each."""
    path = tmp_path / "many.gsym"
    path.write_bytes(create([gsym.FunctionInfo(each, 1, "f") for each in range(1, 5)]))
    return path


def test_fewer_parts_leave_none_of_an_earlier_extraction(
    many: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    earlier = extract(many, ranges=folder / "x", part_size=1).kinds["ranges"]
    assert len(earlier.outputs) == 4
    assert earlier.removed == ()
    report = extract(many, ranges=folder / "x", part_size=1 << 20).kinds["ranges"]
    assert report.outputs == earlier.outputs[:1]
    assert report.removed == earlier.outputs[1:]
    assert part_names(folder) == ["x-0"]


@pytest.mark.parametrize("kept", ["x-3", "x-01", "x-1.bak", "y-1"], ids=repr)
def test_other_files_are_not_removed_as_parts(
    kept: str, many: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / kept).write_bytes(b"symbfile\0\1")
    extract(many, ranges=folder / "x", part_size=1 << 20)
    assert part_names(folder) == sorted(["x-0", kept])


def test_only_regular_symbfiles_are_parts(many: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    other = tmp_path / "other"
    other.write_bytes(b"symbfile\0\1")
    (folder / "text-1").write_text("symbfil")
    (folder / "link-1").symlink_to(other)
    (folder / "folder-1").mkdir()
    for name in ("text", "link", "folder"):
        report = extract(many, ranges=folder / name, part_size=1 << 20).kinds["ranges"]
        assert report.removed == ()
        assert (folder / f"{name}-1").exists()


def test_an_extraction_that_fails_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "x-1").write_bytes(b"symbfile\0\1")
    with pytest.raises(gsym.GsymError):
        extract(tmp_path / "text", ranges=tmp_path / "x", part_size=9)
    assert (tmp_path / "x-1").exists()


def test_a_single_file_removes_no_parts(many: Path, tmp_path: Path) -> None:
    extract(many, ranges=tmp_path / "x", part_size=1)
    extract(many, ranges=tmp_path / "x")
    assert (tmp_path / "x-3").exists()


def test_a_gsym_file_gives_the_same_as_its_binary(
    fixtures: Path, tmp_path: Path
) -> None:
    binary = fixtures / "symblib/inline"
    gsym.convert(binary, tmp_path / "a.gsym")
    extract(binary, ranges=tmp_path / "one")
    extract(tmp_path / "a.gsym", ranges=tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_extract_prints_what_it_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.gsym"
    source.write_bytes(
        create([gsym.FunctionInfo(1, 4, "f"), gsym.FunctionInfo(9, 0, "endless")])
    )
    assert main(["symbfile", "extract", str(source)]) == 0
    output = capsys.readouterr()
    assert f"{source} -> {source}.ranges.symbfile\n  1 functions" in output.out
    assert "the last one, without a size (once)" in output.err
    (record,) = open_symbfile(f"{source}.ranges.symbfile").records()
    assert record == Range(1, 4, "f")


def test_extract_prints_json(
    many: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.ranges.symbfile-1").write_bytes(b"symbfile\0\1")
    words = ["--json", "--kind=both", "--part-size=9999", "-o", str(tmp_path / "x")]
    assert main(["symbfile", "extract", str(many), *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == [
        *("input", "ranges", "returnpads", "missing", "unsure", "conversion"),
    ]
    assert (told["input"], told["returnpads"]) == (str(many), None)
    assert "machine code or call sites" in told["missing"]
    ranges = told["ranges"]
    assert ranges["outputs"] == [str(tmp_path / "x.ranges.symbfile-0")]
    assert ranges["removed"] == [str(tmp_path / "x.ranges.symbfile-1")]
    assert (ranges["functions"], ranges["ranges"]) == (4, 4)
    assert ranges["file_size"] == (tmp_path / "x.ranges.symbfile-0").stat().st_size


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--names", "short"), "choose symblib or full or mangled"),
        (("--part-size", "0"), "less than 1"),
        (("-o", "a.gsym"), "would replace the input"),
        (("-o", "b", "--part-size=9"), "would replace the input"),
    ],
)
def test_extract_refuses_invalid_options(
    words: tuple[str, ...],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.gsym").write_bytes(create([gsym.FunctionInfo(1, 4, "f")]))
    source = "b-7" if "b" in words else "a.gsym"
    (tmp_path / "b-7").write_bytes((tmp_path / "a.gsym").read_bytes())
    assert main(["symbfile", "extract", source, *words]) == 2
    assert reason in capsys.readouterr().err
