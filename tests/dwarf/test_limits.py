"""Shapes that once cost too much, or cost a function what is its own."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import convert_bytes, describe, words
from tests.inputs.dies import Die, Raw, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag
from tests.inputs.elf import Symbol, code_section, elf_of
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges
from tests.referee.opening import compare

if TYPE_CHECKING:
    from pathlib import Path


LIMIT = LIMIT_REACHED


def test_scopes_that_specify_each_other_end(tmp_path: Path) -> None:
    loop = Die(
        Tag.namespace,
        {At.specification: Ref("inner")},
        Die(Tag.structure_type, {}, function("f", 0x1000, 0x1010), label="inner"),
    )
    image = program(unit(loop, language=Lang.C_plus_plus_14))
    assert describe(convert_bytes(tmp_path, image).functions) == "1000-1010 f\n"


@pytest.mark.parametrize(
    ("size", "ending", "sizes"),
    [
        (65536, b"\0", [65536]),
        (65537, b"\0", [65537]),
        (250_000, b"\0", [250_000]),
        (65536, b"", []),
        (250_000, b"", []),
    ],
)
def test_a_name_may_be_long_and_ends_with_a_nul(
    size: int, ending: bytes, sizes: list[int], tmp_path: Path
) -> None:
    where = {At.low_pc: 0x1000, At.high_pc: 0x1010}
    die = Die(Tag.subprogram, {At.name: Form.strp(Raw(0)), **where})
    sections = Dwarf([unit(die, version=4)]).sections()
    sections[".debug_str"] = b"n" * size + ending
    sections[".zeros"] = bytes(8)  # no end of a name that another section has
    image = elf_of(sections, symbols=[Symbol("symbol", 0x1800, 0x10)])
    names = [len(each.name) for each in convert_bytes(tmp_path, image).functions]
    assert names == [*sizes, len("symbol")]


@pytest.mark.parametrize("threads", [1, 3])
def test_long_names_that_share_their_end_have_a_limit(
    threads: int, tmp_path: Path
) -> None:
    """256 KiB, and 1024 bytes for each byte of the unit."""
    size, count = 100_000, 40
    dwarf = Dwarf(
        [
            unit(
                *(
                    Die(
                        Tag.subprogram,
                        {
                            At.name: Form.strp(Raw(n)),
                            At.low_pc: start + 0x10 * n,
                            At.high_pc: Form.udata(0x10),
                        },
                    )
                    for n in range(count)
                ),
                version=4,
                language=Lang.C99,
            )
            for start in (0x1000, 0x1400)
        ]
    )
    sections = dwarf.sections()
    sections[".debug_str"] = b"n" * size + b"\0"
    converted = convert_bytes(tmp_path, elf_of(sections), {"threads": threads})
    names = [info.name for info in converted.functions]
    # What a unit may read of long names is no part of what others may.
    assert names[:5] == names[len(names) // 2 :][:5]
    assert names[:5] == ["n" * (size - n) for n in range(5)]
    most = 2 * (1 << 18) + (len(sections[".debug_info"]) << 10)
    assert most - 2 * size < sum(map(len, names)) <= most
    assert converted.report.warnings[LIMIT] == 2 * count - len(names)


def test_long_names_of_calls_spend_their_limit_in_their_order(tmp_path: Path) -> None:
    """Also if one of them is known from an earlier unit, as "second" is."""
    first, second = (name * 50_000 for name in ("first ", "second"))

    def unit_of_calls(start: int, *names: str) -> Unit:
        origins = [
            Die(Tag.subprogram, {At.name: Form.strp(name)}, label=f"{start} {number}")
            for number, name in enumerate(names)
        ]
        calls = [
            inlined(Ref(f"{start} {number}"), (start + number, start + number + 1))
            for number in range(len(names))
        ]
        outer = function("f", start, start + 8, *calls)
        return unit(*origins, outer, version=4, language=Lang.C99)

    image = program(unit_of_calls(0x1000, second), unit_of_calls(0x1100, first, second))
    converted = convert_bytes(tmp_path, image)
    trees = [info.inline for info in converted.functions if info.inline is not None]
    calls = [call.name for tree in trees for call in tree.children]
    assert calls == [second, first, ""]
    assert converted.report.warnings[LIMIT] == 1


def test_an_empty_linkage_name_lends_nothing_to_the_next_one(tmp_path: Path) -> None:
    units = []
    for name, start in (("foo", 0x1000), ("bar", 0x1020)):
        nameless = {At.linkage_name: Form.strp(""), At.name: Form.string(name)}
        origin = Die(Tag.subprogram, {**nameless, At.inline: 1}, label=name)
        call = inlined(Ref(name), (start, start + 8))
        outer = function(f"outer_{name}", start, start + 0x10, call)
        units.append(unit(origin, outer, language=Lang.C99))
    functions = convert_bytes(tmp_path, program(*units)).functions
    trees = [info.inline for info in functions if info.inline is not None]
    assert [tree.children[0].name for tree in trees] == ["foo", "bar"]


def test_names_of_16_mib_are_composed_from_scopes_of_3_mib(tmp_path: Path) -> None:
    """What they may take for each byte of the input comes on top."""
    scope = [
        function(None, at, at + 1, attributes={At.name: Form.strp(f"f{at}")})
        for at in range(0x1000, 0x1005)
    ]
    for _ in range(56):
        scope = [Die(Tag.namespace, {At.name: Form.strp("n" * 60_000)}, *scope)]
    image = program(unit(*scope, version=4, language=Lang.C_plus_plus_14))
    report, functions = convert_bytes(tmp_path, image)
    assert sum(len(each.name) for each in functions) > 16 << 20
    assert not report.warnings


def test_65536_calls_in_parts_that_share_a_list_of_4_kib(tmp_path: Path) -> None:
    """A mebibyte of lists is read."""
    parts, calls = 256, 254
    first = Form.sec_offset(ranges(*[(16 * at, 16 * at + 8) for at in range(parts)]))
    shared = {At.abstract_origin: Ref("g"), At.ranges: Form.sec_offset(0)}
    image = program(
        unit(
            Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
            Die(
                Tag.subprogram,
                {At.name: "f", At.ranges: first},
                *[Die(Tag.inlined_subroutine, {**shared}) for _ in range(calls)],
            ),
            attributes={At.low_pc: 0x1000},
            version=4,
        )
    )
    report, functions = convert_bytes(tmp_path, image)
    found = [each.inline.children for each in functions if each.inline is not None]
    assert [len(children) for children in found] == [calls] * parts
    assert not report.warnings


def test_a_mebibyte_of_rows_is_made_of_one_line_table(tmp_path: Path) -> None:
    """Of 512 rows, which all units have."""
    rows, units = 512, 2048
    lines = LineProgram(
        sequence(*((0x1000 + at, at % 2 + 1) for at in range(rows)), end=0x1200),
        files=(File("a.c"),),
    )
    image = program(
        unit(function("f", 0x1000, 0x1200), version=4, lines=lines),
        *[
            unit(function("f", 0x1000, 0x1200), version=4, attributes={At.stmt_list: 0})
            for _ in range(units - 1)
        ],
    )
    report, (only,) = convert_bytes(tmp_path, image)
    assert len(only.line_table or ()) == rows
    assert not report.warnings


def test_a_list_that_many_functions_name_is_read_up_to_a_limit(tmp_path: Path) -> None:
    """64 KiB, and 1024 bytes for each byte of the unit."""
    pieces = [(2 * n, 2 * n + 1) for n in range(2000)]  # 32,000 bytes
    first, *others = (
        Die(Tag.subprogram, {At.name: f"f{n}", At.ranges: Form.sec_offset(where)})
        for n, where in enumerate([ranges(*pieces), *[0] * 50])
    )
    only = unit(first, *others, attributes={At.low_pc: 0x1000}, version=4)
    converted = convert_bytes(tmp_path, program(only))
    sections = Dwarf([only]).sections()
    most = (1 << 16) + 1024 * len(sections[".debug_info"])
    read = most // len(sections[".debug_ranges"]) + 1
    assert converted.report.warnings == {LIMIT: 51 - read}
    # All have the same ranges, so they are one function each time.
    assert converted.report.functions == 2000
    assert converted.report.functions_debug_info == 2000 * read


def parts_that_share_a_list(units: int) -> bytes:
    """Functions of 9,000 equal parts, and a call in each of the same list."""
    ranges_of_code = ranges(*[RangeEntry.start_length(0x1000, 0x800)] * 9000)
    made = []
    for number in range(units):
        where = {At.ranges: Form.sec_offset(ranges_of_code if not number else 12)}
        origin = Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label=f"g{number}")
        call = Die(
            Tag.inlined_subroutine, {At.abstract_origin: Ref(f"g{number}"), **where}
        )
        made.append(unit(origin, Die(Tag.subprogram, {At.name: "f", **where}, call)))
    return program(*made, text=[code_section(0x1000, 0x1000)])


def test_parts_and_calls_that_share_a_list_are_cut(tmp_path: Path) -> None:
    assert convert_bytes(tmp_path, parts_that_share_a_list(1)).report.warnings == {
        LIMIT: 1
    }


@pytest.mark.slow
def test_units_of_parts_that_share_a_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(gsym.LimitError, match="share calls and ranges"):
        convert_bytes(tmp_path, parts_that_share_a_list(80))


def test_rows_of_functions_that_leave_their_sequence_are_cut(tmp_path: Path) -> None:
    """Each of them has all rows, and one after their end."""
    rows = [(0x1000 + at, at % 2 + 1) for at in range(0x800)]
    lines = LineProgram(
        sequence(*rows, end=0x1800),
        files=(File("a.c"), File("a.c")),
        directories=("/src",),
    )
    many = [function(f"f{at}", 0x1000, 0x1900 + at) for at in range(100)]
    image = program(unit(*many, lines=lines), text=[code_section(0x1000, 0x1000)])
    converted = convert_bytes(tmp_path, image)
    (cut,) = converted.report.warnings.values()
    with_rows = [each for each in converted.functions if each.line_table]
    # 65,536 rows, and 16 for each row of the table.
    assert len(with_rows) == ((1 << 16) + 16 * 0x800) // (0x800 + 1)
    assert cut == 100 - len(with_rows)


def test_nested_inlined_calls_share_a_list(tmp_path: Path) -> None:
    """As compilers write them: the bytes read are many times those of the section."""
    origin = Die(Tag.subprogram, {At.name: "f", At.inline: 1}, label="f")
    call: tuple[Die, ...] = ()
    for depth in range(60):
        shared = Form.sec_offset(0)
        call = (
            Die(
                Tag.inlined_subroutine,
                {At.abstract_origin: Ref("f"), At.ranges: shared, At.call_line: depth},
                *call,
            ),
        )
    first = Form.sec_offset(ranges((0, 4), (8, 12)))
    outer = Die(Tag.subprogram, {At.name: "outer", At.ranges: first}, *call)
    image = program(unit(origin, outer, attributes={At.low_pc: 0x1000}, version=4))
    converted = convert_bytes(tmp_path, image)
    assert not converted.report.warnings
    for info in converted.functions:
        depth, node = 0, info.inline
        while node is not None:
            depth, node = depth + 1, next(iter(node.children), None)
        assert depth == 61


def test_a_function_of_many_ranges_keeps_all_inlined_calls(
    clang: str, tmp_path: Path
) -> None:
    calls = "\n".join(f"  if (x & {1 << n % 20}) x = add(x, {n});" for n in range(400))
    source = tmp_path / "many.c"
    source.write_text(
        "static inline __attribute__((always_inline)) int add(int a, int b)\n"
        "{ return a * 3 + b; }\n"
        f"int many(volatile int x)\n{{\n{calls}\n  return x;\n}}\n"
        "int main(int c, char **v) { (void)v; return many(c); }\n"
    )
    binary = tmp_path / "many"
    options = ["-O1", "-g", "-fbasic-block-sections=all"]
    subprocess.run([clang, *options, source, "-o", binary], check=True)
    report = gsym.convert(binary)
    assert not report.warnings
    with gsym.open(report.outputs[0]) as reader:
        trees = [info.inline for info in reader.functions() if info.inline is not None]
    assert sum(len(tree.children) for tree in trees) >= 400


def test_the_search_for_files_of_calls_costs_no_calls(tmp_path: Path) -> None:
    count, step = 12_000, 8
    calls = []
    for start in range(0x1000, 0x1000 + step * count, step):
        call = inlined(Ref("g"), (start + 2, start + 6), call=(1, 7))
        del call.attributes[At.call_file]
        calls.append(call)
    end = 0x1000 + step * count
    main = unit(
        Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
        function("f", 0x1000, end, *calls),
        version=4,
        lines=LineProgram(sequence((0x1000, 3), end=end)),
    )
    image = program(main, text=[code_section(0x1000, end - 0x1000)])
    converted = convert_bytes(tmp_path, image)
    assert not converted.report.warnings
    (info,) = converted.functions
    assert info.inline is not None
    paths = [call.call_path for call in info.inline.children]
    assert (len(paths), paths[0], paths[-1]) == (count, "/src/a.c", "")


@pytest.mark.long
def test_thousands_of_parts_with_a_call_in_each_keep_all_calls(tmp_path: Path) -> None:
    """Also those of the function after it; big-endian, with 4-byte addresses."""
    count, step = 9000, 16
    starts = [0x1000 + step * number for number in range(count)]
    end = starts[-1] + step
    where = ranges(*((start, start + 8) for start in starts))
    calls = [
        inlined(Ref("g"), (start + 2, start + 6), call=(1, line))
        for line, start in enumerate(starts, 1)
    ]
    main = unit(
        Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
        Die(Tag.subprogram, {At.name: "f", At.ranges: where}, *calls),
        function("last", end, end + 8, inlined(Ref("g"), (end, end + 4), call=(1, 7))),
        version=4,
        attributes={At.low_pc: 0},
        lines=LineProgram(sequence((0x1000, 3), end=end + 8)),
    )
    sections = Dwarf([main], "big", 4).sections()
    text = code_section(0x1000, step * (count + 1))
    image = elf_of(sections, text, bits=32, byteorder="big")
    converted = convert_bytes(tmp_path, image)
    assert not converted.report.warnings
    assert len(converted.functions) == count + 1
    for line, info in zip([*range(1, count + 1), 7], converted.functions, strict=True):
        assert info.inline is not None
        (call,) = info.inline.children
        assert (call.name, call.call_line) == ("g", line)


# ---- functions of 4 GiB and more ----------------------------------------------------

GIB = 1 << 30
TOO_LARGE = "Code of 4 GiB or more that records cannot hold"


def huge(*dies: Die, lines: LineProgram | None = None, size: int = 10 * GIB) -> bytes:
    """A program whose code has *size* bytes, which the file does not have."""
    sections = Dwarf([unit(*dies, lines=lines, version=4)]).sections()
    return elf_of(sections, code_section(0x1000, size))


def test_a_function_of_more_than_4_gib_is_in_several_records(tmp_path: Path) -> None:
    callee = Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g")
    call = inlined(Ref("g"), (0x1000 + 2 * GIB - 4, 0x1000 + 2 * GIB + 4))
    f = function("f", 0x1000, 0x1000 + 5 * GIB, call)
    rows = ((0x1000, 3), (0x1000 + 3 * GIB, 4), (0x1000 + 5 * GIB - 8, 5))
    lines = LineProgram(sequence(*rows, end=0x1000 + 5 * GIB))
    after = function("h", 0x1000 + 5 * GIB, 0x1010 + 5 * GIB)
    converted = convert_bytes(tmp_path, huge(callee, f, after, lines=lines))
    assert converted.report.warnings == {}
    assert describe(converted.functions) == words("""
        1000-80001000 f
          1000 /src/a.c:3
          inlined g 80000ffc-80001000 from /src/a.c:1
        80001000-140001000 f
          80001000 /src/a.c:3
          c0001000 /src/a.c:4
          140000ff8 /src/a.c:5
          inlined g 80001000-80001004 from /src/a.c:1
        140001000-140001010 h
    """)
    with gsym.open(tmp_path / "input.gsym") as reader:
        answer = reader.lookup(0x1000 + 5 * GIB - 1)
    assert answer is not None
    assert (answer.frames[0].name, answer.frames[0].line) == ("f", 5)
    found = compare(str(tmp_path / "input.gsym"), str(tmp_path / "input"))
    assert found.differences == []
    assert found.uncompared == {"larger than a record of a GSYM file": 2}


@pytest.mark.parametrize(
    ("size", "code"),
    [(5 * GIB, 4 * GIB), (33 * GIB, 40 * GIB), (1 << 62, 1 << 62)],
    ids=["more than the code", "more than 16 records", "most of all addresses"],
)
def test_a_function_that_records_cannot_hold_is_counted(
    size: int, code: int, tmp_path: Path
) -> None:
    f, g = function("f", 0x1000, 0x1000 + size), function("g", 0x2000, 0x2010)
    converted = convert_bytes(tmp_path, huge(f, g, size=code))
    assert converted.report.warnings == {TOO_LARGE: 1}
    assert describe(converted.functions) == "2000-2010 g\n"
    found = compare(str(tmp_path / "input.gsym"), str(tmp_path / "input"))
    assert found.differences == []


def test_rows_of_more_than_4_gib_without_a_function_are_counted(
    tmp_path: Path,
) -> None:
    f = function("f", 0x1000, 0x1010)
    lines = LineProgram(sequence((0x1000, 3), (0x1010, 4), end=0x1010 + 5 * GIB))
    converted = convert_bytes(tmp_path, huge(f, lines=lines))
    assert converted.report.warnings == {TOO_LARGE: 1}
    assert describe(converted.functions) == "1000-1010 f\n  1000 /src/a.c:3\n"
