"""Parts of a binary that are converted as addresses are asked for."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

import gsym
from gsym.cli.main import main
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion import partial
from gsym.conversion.debug_info import find_debug_info
from gsym.conversion.inputs import dwarf
from gsym.conversion.options import ConvertOptions
from gsym.conversion.partial import PartialConversion
from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import check, lib, new_error
from gsym.modules import binary_conversion, binary_reader
from gsym.modules.conversion_cache import Stamp
from gsym.reading.reader import Reader
from gsym.writing.creator_handle import finish_creator
from tests.companions import SHARED_NAME, altlink, referring, shared
from tests.dwarf import test_inlines, test_inner_functions, test_lines, test_names
from tests.inputs.dies import Die, code
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import NOTYPE, Elf, Section, Symbol, code_section
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import function, program, unit
from tests.inputs.random_program import random_program
from tests.inputs.range_lists import ranges

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.model import Lookup
    from tests.inputs.elf import Compression
    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

FILES = (File("a.c"), File("b.h"))


def lines(*rows: tuple[int, int], end: int) -> LineProgram:
    return LineProgram(sequence(*rows, end=end), files=FILES)


# Two units beside each other, one with rows alone, one that has its functions in two
# ranges; symbols with and without sizes.
SEVERAL = program(
    unit(
        function("f", 0x1000, 0x1020),
        function("g", 0x1008, 0x1010),
        version=4,
        lines=lines((0x1000, 5), (0x1008, 7), (0x1010, 8), end=0x1030),
    ),
    unit(
        attributes={At.low_pc: 0x1040, At.ranges: Form.sec_offset(ranges((0, 0x20)))},
        version=4,
        lines=lines((0x1040, 1), (0x1044, 2), end=0x1060),
    ),
    unit(
        function("h", 0x1080, 0x1090),
        function("i", 0x10C0, 0x10D0),
        attributes={
            At.low_pc: 0x10C0,
            At.ranges: Form.sec_offset(ranges((-0x40, -0x30), (0, 0x10))),
        },
        version=4,
        lines=lines((0x1080, 3), end=0x10D0),
    ),
    symbols=[
        Symbol("f", 0x1000, 0x20),
        Symbol("asm", 0x1040, 0x10),
        Symbol("label", 0x1050, 0, NOTYPE),
        Symbol("after", 0x10E0, 0, NOTYPE),
        Symbol("_ZL1iv", 0x10C0, 0x10),
        Symbol("last", 0x1100, 0),
    ],
)


WITHOUT_INDEX = ConvertOptions(index=False)


def partial_of(
    path: Path, image: bytes, options: ConvertOptions = WITHOUT_INDEX
) -> PartialConversion:
    path.write_bytes(image)
    binary = ObjectFile(map_file(str(path)), str(path))
    found = find_debug_info(binary, ConvertOptions())
    return PartialConversion(binary, found, options)


def answers(
    partial: PartialConversion, addresses: list[int]
) -> Iterator[Lookup | None]:
    data = partial.convert(addresses, partial.units_at(addresses))
    for address in addresses:
        yield None if data is None else Reader(data).lookup(address)


def compare(tmp_path: Path, image: bytes) -> None:
    """All addresses of interest, one by one and a few at once."""
    partial = partial_of(tmp_path / "app", image)
    try:
        gsym.convert(tmp_path / "app", tmp_path / "app.gsym")
    except gsym.EmptyError:
        return
    with gsym.open(tmp_path / "app.gsym") as reader:
        ends = {0}
        for each in reader:
            ends |= {each.start, each.start + each.size}
            ends |= {row.address for row in each.line_table or ()}
        addresses = sorted({end + by for end in ends for by in (0, 1) if end + by > 0})
        addresses = sorted({*addresses, *(each - 1 for each in addresses)})
        expected = {address: reader.lookup(address) for address in addresses}
    for address in addresses:
        assert list(answers(partial, [address])) == [expected[address]], hex(address)
    for seed in range(3):
        some = sorted(random.Random(seed).sample(addresses, len(addresses) // 3))  # noqa: S311
        assert list(answers(partial, some)) == [expected[each] for each in some]


CASES = [
    case
    for module in (test_lines, test_names, test_inlines, test_inner_functions)
    for table in vars(module).values()
    if isinstance(table, list)
    for case in table
    if hasattr(case, "image") and not case.options
]


def test_each_address_is_answered_as_by_the_whole_binary(tmp_path: Path) -> None:
    compare(tmp_path, SEVERAL)
    assert len(CASES) > 80
    for case in CASES[::3]:
        compare(tmp_path, case.image)


def test_the_threads_change_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.conversion.partial._BYTES_FOR_THREADS", 0)
    monkeypatch.setattr("gsym.conversion.unit_job._BYTES_PER_THREAD", 1)
    compare(tmp_path, SEVERAL)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_answered_as_a_whole(seed: int, tmp_path: Path) -> None:
    compare(tmp_path, random_program(seed))


def test_a_symbol_does_not_answer_after_a_unit_inside_of_the_range_of_another(
    tmp_path: Path,
) -> None:
    image = program(
        unit(
            function("a", 0x1000, 0x1020),
            function("z", 0x1F00, 0x1F20),
            attributes=code(0x1000, 0x1F20),
            version=4,
        ),
        unit(function("b", 0x1200, 0x1210), attributes=code(0x1200, 0x1210), version=4),
        symbols=[Symbol("asm", 0x1100, 0, NOTYPE)],
    )
    compare(tmp_path, image)
    partial = partial_of(tmp_path / "app", image)
    found = [each and each.function.name for each in answers(partial, [0x1100, 0x1300])]
    assert found == ["asm", None]


@pytest.mark.parametrize("has_outer_symbol", [False, True])
def test_a_symbol_inside_of_a_function_does_not_answer_after_it(
    tmp_path: Path,
    has_outer_symbol: bool,  # noqa: FBT001 - a parameter
) -> None:
    outer = [Symbol("f", 0x1000, 0x20)] if has_outer_symbol else []
    image = program(
        unit(function("f", 0x1000, 0x1020), version=4),
        unit(function("g", 0x1080, 0x1090), version=4),
        symbols=[*outer, Symbol("inner", 0x1010, 0), Symbol("l", 0x1018, 0, NOTYPE)],
    )
    compare(tmp_path, image)
    partial = partial_of(tmp_path / "app", image)
    assert [each and each.function.name for each in answers(partial, [0x1040])] == [
        None
    ]


@pytest.mark.parametrize("keeps_repeated", [False, True])
def test_functions_that_are_asked_for_are_merged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    keeps_repeated: bool,
) -> None:
    # No command merges parts; the engine can.
    def merge_and_finish(creator: object, path: str) -> None:
        check(lib.gsym_creator_merge_functions(creator, error := new_error()), error)
        finish_creator(creator, path)

    monkeypatch.setattr(partial, "finish_creator", merge_and_finish)

    def part(*others: str) -> bytes | None:
        image = program(
            unit(
                function("f", 0x1000, 0x1010),
                function("g", 0x1000, 0x1010),
                *(function(name, 0x1080, 0x1090) for name in others),
                version=4,
            )
        )
        options = WITHOUT_INDEX._replace(merged_functions=keeps_repeated)
        converted = partial_of(tmp_path / "app", image, options)
        return converted.convert([0x1000], converted.units_at([0x1000]))

    data = part("h", "i", "j")
    assert data == part("h")
    assert data is not None
    with Reader(data) as reader:
        found = reader.lookup(0x1000, merged=True)
    assert found is not None
    assert found.function.name == "f"
    assert [each.function.name for each in found.merged] == ["g"]


def test_only_units_with_code_at_an_address_are_read(tmp_path: Path) -> None:
    partial = partial_of(tmp_path / "app", SEVERAL)
    assert partial.units_at([0x1000]).units == [0]
    assert partial.units_at([0x1010, 0x1080, 0x10C0]).units == [0, 2]
    assert partial.units_at([0x900]).units == []
    chosen = partial.units_at([0x1000])
    assert 0 < chosen.size < chosen.total


def test_the_ranges_of_a_unit_are_those_of_its_root(tmp_path: Path) -> None:
    places = Form.sec_offset(ranges((0, 0x10), (0x80, 0x90)))
    image = program(
        unit(
            function("f", 0x1000, 0x1010),
            attributes={At.low_pc: 0x1000, At.ranges: places},
            version=4,
        ),
        unit(function("g", 0x1040, 0x1050), version=4),
    )
    partial = partial_of(tmp_path / "app", image)
    assert partial.units_at([0x1084]).units == [0]


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_a_root_is_found_after_any_other_abbreviations(
    byteorder: ByteOrder, tmp_path: Path
) -> None:
    generator = random.Random(17)  # noqa: S311
    constants = (0, 1, 33, 127, 128, -1, 1 << 40)
    forms = [*map(Form.implicit_const, constants), Form.data1(7), Form.udata(0)]
    numbers = [*range(0x30, 0x70), *range(0x2000, 0x2040), 1 << 20]
    for count in range(40):
        others = [
            Die(
                Tag.variable,
                {at: generator.choice(forms) for at in generator.sample(numbers, size)},
            )
            for size in generator.choices(range(12), k=count)
        ]
        first = unit(function("f", 0x1000, 0x1010), *others)
        second = unit(function("g", 0x1020, 0x1030), attributes=code(0x1020, 0x1030))
        dwarf = Dwarf([first, second], byteorder, one_abbreviation_table=True)
        debug = [Section(name, data) for name, data in dwarf.sections().items()]
        image = Elf([code_section(), *debug], byteorder=byteorder).to_bytes()
        assert partial_of(tmp_path / "app", image).units_at([0x1020]).units == [1]


def test_a_line_table_of_several_units_is_for_functions_only(tmp_path: Path) -> None:
    """Also if just one of the units is read."""
    shared = lines((0x1000, 5), (0x1020, 6), end=0x1040)
    second = unit(function("g", 0x1030, 0x1040), version=4)
    second.root.attributes[At.stmt_list] = Form.sec_offset(0)
    first = unit(function("f", 0x1000, 0x1010), version=4, lines=shared)
    first.root.attributes |= {At.low_pc: 0x1000, At.high_pc: Form.data4(0x40)}
    compare(tmp_path, program(first, second, symbols=[Symbol("s", 0x1010, 0x20)]))


def test_functions_that_are_not_asked_for_get_no_lines_of_others(
    tmp_path: Path,
) -> None:
    first = unit(
        function("f", 0x1000, 0x1010),
        function("g", 0x1020, 0x1030),
        version=4,
        lines=lines((0x1000, 5), end=0x1010),
    )
    rows = lines((0x1020, 1), (0x1040, 2), end=0x1060)
    symbols = [Symbol("asm", 0x1040, 0x10)]
    compare(tmp_path, program(first, unit(version=4, lines=rows), symbols=symbols))
    partial = partial_of(tmp_path / "app", (tmp_path / "app").read_bytes())
    assert None not in list(answers(partial, [0x1005, 0x1045]))


def test_the_rest_of_a_function_that_is_not_asked_for_is_left_out(
    tmp_path: Path,
) -> None:
    nested = unit(
        function("outer", 0x1000, 0x1040),
        function("inner", 0x1010, 0x1020),
        function("last", 0x1050, 0x1060),
        version=4,
        lines=lines((0x1000, 5), end=0x1060),
    )
    partial = partial_of(tmp_path / "app", program(nested))
    assert list(answers(partial, [0xFF0, 0x1048])) == [None, None]


# ---- readers of binaries ------------------------------------------------------------


@pytest.fixture
def binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A binary that is large enough to be read by units."""
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(binary_reader, "_LEAST_DEBUG_INFO", 0)
    monkeypatch.setattr(binary_reader, "_CALLS", 1 << 30)
    path = tmp_path / "app"
    path.write_bytes(SEVERAL)
    return path


def settled(path: Path) -> None:
    """Wait until what is remembered of the file is of its contents for sure."""
    Stamp(str(path), path.stat(), None).settle()
    time.sleep(0.01)


def conversions(folder: Path) -> int:
    return len(list(folder.rglob("*.gsym")))


def test_a_few_addresses_do_not_convert_the_binary(
    binary: Path, tmp_path: Path
) -> None:
    with gsym.open(binary) as reader:
        assert str(reader.lookup(0x1084)).endswith("h + 4 at /src/a.c:3")
        assert reader.lookup(0x900) is None
        assert reader.lookup(-1) is None
        assert reader.lookup(1 << 64) is None
        assert reader.uuid == b""
        assert conversions(tmp_path) == 0
        assert "app" in repr(reader)


def test_the_whole_binary_is_converted_when_that_is_less_work(
    binary: Path, tmp_path: Path
) -> None:
    with gsym.open(binary) as reader:
        for address in (0x1000, 0x1084, 0x1040, 0x10C0):
            assert reader.lookup(address) is not None
    assert conversions(tmp_path) == 1


def test_processes_convert_the_binary_when_that_is_less_work_together(
    binary: Path, tmp_path: Path
) -> None:
    settled(binary)
    counts = []
    for _ in range(4):
        answer = gsym.lookup(binary, 0x1084)
        assert str(answer).endswith("h + 4 at /src/a.c:3")
        counts.append(conversions(tmp_path))
    assert counts[0] == 0
    assert counts[-1] == 1


@pytest.mark.parametrize("kind", ["zlib", "zstd", "gnu"])
def test_a_compressed_binary_is_inflated_for_few_addresses_once(
    binary: Path,
    tmp_path: Path,
    kind: Compression,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = 0x1000
    units = [
        unit(function(f"f{each}", start + 16 * each, start + 16 * each + 8))
        for each in range(64)
    ]
    binary.write_bytes(program(*units, compression=kind))
    with ObjectFile(map_file(str(binary)), str(binary)) as file:
        names = [*file.compressed_sections()]
    assert any(name.endswith("debug_info") for name in names)
    settled(binary)
    opened = Mock(side_effect=PartialConversion)
    monkeypatch.setattr(binary_reader, "PartialConversion", opened)
    counts = []
    for _ in range(4):
        answer = gsym.lookup(binary, 0x1084)
        assert answer is not None
        assert answer.function.name == "f8"
        counts.append(conversions(tmp_path))
    assert counts == [0, 1, 1, 1]
    assert opened.call_count == 1


def test_all_units_are_read_for_a_few_addresses_but_not_for_many(
    binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere = [0x1000, 0x1040, 0x1084]
    with gsym.open(binary) as reader:
        assert reader.lookup_many(everywhere).answered == 3
    assert conversions(tmp_path) == 0
    monkeypatch.setattr(binary_reader, "_MANY", 3)
    with gsym.open(binary) as reader:
        assert reader.lookup_many(everywhere).answered == 3
    assert conversions(tmp_path) == 1


def test_all_else_than_answers_converts_the_binary(
    binary: Path, tmp_path: Path
) -> None:
    with gsym.open(binary) as reader:
        assert reader.lookup(0x1084) is not None
        assert len(reader.find("h")) == 1
        assert conversions(tmp_path) == 1
        assert reader.lookup(0x1084) is not None


def test_columns_are_answered_from_units(binary: Path, tmp_path: Path) -> None:
    with gsym.open(binary) as reader:
        frames = reader.lookup_many([0x1084, 0x900])
        assert [frame.name for frame in frames if frame.found] == ["h"]
    assert conversions(tmp_path) == 0


def test_no_address_and_misses_alone_do_not_convert_the_binary(
    binary: Path, tmp_path: Path
) -> None:
    with gsym.open(binary) as reader:
        assert len(reader.lookup_many([])) == 0
        (miss,) = reader.lookup_many([0x900])
        assert (miss.address, miss.reason) == (0x900, "no function covers this address")
        assert len(reader.lookup_many([0x900], misses=False)) == 0
    assert conversions(tmp_path) == 0


def test_an_address_outside_of_the_binary_is_noted_without_a_conversion(
    binary: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lookup", str(binary), "0x1084", "0x900"]) == 0
    printed = capfd.readouterr()
    assert "h + 4 at /src/a.c:3" in printed.out
    assert "0x900 is outside the module (0x1000-" in printed.err
    assert conversions(tmp_path) == 0


def test_the_limit_of_indexes_is_that_of_the_reader(
    binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(wraps=MappedImage)
    monkeypatch.setattr(binary_reader, "MappedImage", opened)
    with gsym.open(binary, index_limit=12345) as reader:
        assert reader.lookup(0x1084) is not None
    assert any(12345 in call.args for call in opened.call_args_list)


@pytest.mark.parametrize("least", [0, 1 << 40])
def test_the_files_of_a_binary_are_looked_for_once(
    least: int, binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is converted at once or later."""
    find = Mock(wraps=find_debug_info)
    monkeypatch.setattr(binary_conversion, "find_debug_info", find)
    monkeypatch.setattr(dwarf, "find_debug_info", find)
    monkeypatch.setattr(binary_reader, "_LEAST_DEBUG_INFO", least)
    with gsym.open(binary) as reader:
        assert len(reader) > 0
    assert find.call_count == 1


def test_a_supplementary_file_is_loaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared.debug").write_bytes(shared())
    load = Mock(wraps=dwarf.load_debug_sections)
    monkeypatch.setattr(dwarf, "load_debug_sections", load)
    compare(tmp_path, referring(altlink("shared.debug")))
    load.reset_mock()
    partial = partial_of(tmp_path / "app", referring(altlink("shared.debug")))
    assert load.call_count == 2
    for _ in range(2):
        (answer,) = answers(partial, [0x1000])
        assert answer is not None
        assert answer.function.name == SHARED_NAME
    assert load.call_count == 2


def test_a_closed_reader_of_a_binary_raises(binary: Path) -> None:
    reader = gsym.open(binary)
    reader.close()
    for use in (lambda: reader.lookup(1), lambda: len(reader), reader.__enter__):
        with pytest.raises(gsym.ClosedError):
            use()


def test_an_address_that_is_not_an_integer_is_a_type_error(binary: Path) -> None:
    with gsym.open(binary) as reader, pytest.raises(TypeError, match="an integer"):
        reader.lookup(b"main")  # type: ignore[arg-type]


def test_a_binary_that_was_replaced_is_not_converted(
    binary: Path, tmp_path: Path
) -> None:
    with gsym.open(binary) as reader:
        assert reader.lookup(0x1084) is not None
        other = tmp_path / "other"
        other.write_bytes(program(unit(function("other", 0x1000, 0x1020))))
        other.replace(binary)
        assert reader.lookup(0x1084) is not None
        with pytest.raises(gsym.GsymError, match="replaced"):
            len(reader)
    assert conversions(tmp_path) == 0


def test_a_range_may_begin_before_the_code(tmp_path: Path) -> None:
    root = unit(
        function("f", 0x1000, 0x1010),
        version=4,
        lines=lines((0x1000, 5), end=0x1010),
    )
    root.root.attributes |= {At.low_pc: 0xF00, At.high_pc: Form.data4(0x200)}
    compare(tmp_path, program(root))


def test_units_without_ranges_run_line_tables_up_to_a_limit(tmp_path: Path) -> None:
    """1 MiB, and 16 bytes for each of the section: as much as in a whole conversion."""
    rows = sequence(*((0x1000 + n, 1 + n % 9) for n in range(0x400)), end=0x1800)
    first = unit(version=4, lines=LineProgram(rows))
    sharing = unit(version=4, attributes={At.stmt_list: 0})
    size = len(Dwarf([first]).sections()[".debug_line"])
    most = (1 << 20) // size + 16
    partial = partial_of(tmp_path / "app", program(first, *[sharing] * (most - 1)))
    assert len(partial.units_at([0x1004]).units) == most
    with pytest.raises(gsym.LimitError, match="would take 16 times their size"):
        partial_of(tmp_path / "app", program(first, *[sharing] * most))
