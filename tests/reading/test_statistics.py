"""What the bytes of a file are spent on: every byte is counted, and once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins.gsymutil_statistics import as_json, as_text
from gsym.cli.main import main
from gsym.reading.statistics import Footprint, directories, footprints, measure
from tests import oracle
from tests.hostile import FUNCTIONS, START, small_file, small_records
from tests.reading.test_stored_index import with_index
from tests.views import to_oracle

if TYPE_CHECKING:
    from pathlib import Path

KINDS = [(1, "little"), (1, "big"), (2, "little"), (2, "big")]


FILES = {str(kind): small_file(*kind) for kind in KINDS}
FILES |= {f"{kind}, indexed": with_index(small_file(*kind)) for kind in KINDS[:2]}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_the_parts_add_up_to_the_file(data: bytes) -> None:
    with gsym.Reader(data) as reader:
        found = measure(reader)
    unknown = sum(size for _, size in found.unknown_sections)
    parts = (
        *(found.header, found.directory, found.uuid_section, found.address_table),
        *(found.address_info_offsets, found.file_table, found.string_table),
        *(found.function_info, found.function_index, unknown, found.padding),
    )
    assert sum(parts) == found.file_size == len(data)
    assert sum(found.own) + found.function_info_padding == found.function_info
    assert sum(found.merged) + found.merged_envelope == found.own.merged_functions
    assert found.damaged_count == 0


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_each_part_has_the_size_that_the_oracle_gives_it(
    version: int, byteorder: str
) -> None:
    file = small_records(version, byteorder)
    encoder = oracle.Encoder(byteorder, 4 if version == 1 else 8)
    with gsym.Reader(oracle.encode_file(file)) as reader:
        found = measure(reader)
    assert found.header == (48 if version == 1 else 20)
    assert found.uuid == file.uuid
    assert found.uuid_section == (0 if version == 1 else len(file.uuid))
    assert found.string_table == len(file.strings)
    assert found.file_table == 4 + len(file.files) * 2 * encoder.strp_size
    assert found.address_table == 3 * file.addr_off_size
    assert found.address_info_offsets == 3 * encoder.strp_size
    records = [encoder.function(function) for function in file.functions]
    assert sum(found.own) == sum(map(len, records))
    twin = encoder.function(file.functions[1].merged[0])
    assert sum(found.merged) == len(twin)
    assert (found.merged_count, found.merged_envelope) == (1, 8 + 4 + 4)
    assert found.own.unknown == 8 + 3
    assert found.own.end_of_list == 8 * 3
    assert found.own.size_and_name == (4 + encoder.strp_size) * 3


def test_sections_without_a_meaning_are_counted_by_type() -> None:
    file = replace(small_records(2, "little"), extra_sections={77: b"abc", 99: b"d"})
    with gsym.Reader(oracle.encode_file(file)) as reader:
        assert measure(reader).unknown_sections == ((77, 3), (99, 1))


def test_the_padding_of_llvm_includes_unknown_content() -> None:
    with gsym.Reader(small_file(2, "little")) as reader:
        found = measure(reader)
    sizes = json.loads(as_json(found, "x", pretty=False))["byte-sizes"]
    assert sizes["padding"] == found.padding + len(b"unknown")
    own = sizes["function_info_type_sizes"]
    assert own["padding"] == found.function_info_padding + found.own.unknown
    assert "unknown" not in as_text(found, "x")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (16, "00010203-0405-0607-0809-0A0B0C0D0E0F"),
        (4, "00010203"),
        (0, ""),
    ],
)
def test_a_uuid_of_sixteen_bytes_has_dashes(size: int, shown: str) -> None:
    file = replace(small_records(1, "little"), uuid=bytes(range(size)))
    with gsym.Reader(oracle.encode_file(file)) as reader:
        text = as_text(measure(reader), "x")
    assert text.splitlines()[1] == f"  UUID:                {shown}"


def test_every_function_is_described() -> None:
    file = small_records(1, "little")
    encoder = oracle.Encoder("little", 4)
    sizes = [len(encoder.function(function)) for function in file.functions]
    with gsym.Reader(oracle.encode_file(file)) as reader:
        assert list(footprints(reader)) == [
            Footprint("symbol", START - 0x10, 0, sizes[0], ""),
            Footprint("full", START, FUNCTIONS[1].size, sizes[1], "/src"),
            Footprint("last", START + 0x100, 8, sizes[2], ""),
        ]


def test_the_directory_is_that_of_the_first_row() -> None:
    rows = [("/a/x.c", 1), ("/b/y.c", 2)]
    functions = [
        gsym.FunctionInfo(
            *(0x100 * (at + 1), 16, f"f{at}"),
            tuple(
                gsym.LineEntry(0x100 * (at + 1) + offset, path, number + step)
                for offset, (path, number) in enumerate(order)
            ),
        )
        for at, (order, step) in enumerate(
            ((rows, 0), (rows[::-1], 1000), (rows[::-1], 5))
        )
    ]
    data = oracle.encode_file(to_oracle(functions, 1, "little"))
    with gsym.Reader(data) as reader:
        entries = list(footprints(reader))
    assert [entry.directory for entry in entries] == ["/a", "/b", "/b"]
    assert [(entry.name, entry.functions) for entry in directories(entries)] == [
        ("/b", 2),
        ("/a", 1),
    ]
    assert sum(entry.record_size for entry in directories(entries)) == sum(
        entry.record_size for entry in entries
    )


def test_more_functions_than_one_block_are_described_in_order() -> None:
    functions = [gsym.FunctionInfo(at, 1, f"f{at}") for at in range(1, 10_000)]
    with gsym.Reader(oracle.encode_file(to_oracle(functions, 1, "little"))) as reader:
        assert [entry.address for entry in footprints(reader)] == list(range(1, 10_000))
        assert measure(reader).own.size_and_name == 8 * 9_999


def test_damaged_records_are_counted_and_the_rest_is_measured() -> None:
    whole = small_file(1, "little")
    with gsym.Reader(whole[:-8]) as reader:
        found = measure(reader)
        assert found.damaged_count == 1
        assert [entry.record_size > 0 for entry in footprints(reader)] == [
            *(True, True, False)
        ]
        assert found.own.merged_functions > 0


# ---- the verb


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "small").write_bytes(small_file(2, "little"))
    return str(tmp_path / "small")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_stats_lists_as_many_functions_as_asked_for(
    path: str, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    assert main(["stats", "--json", "--top", str(count), path]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["biggest_functions"]) == count
    assert len(found["directories"]) == min(count, 2)


def test_stats_keeps_control_characters_from_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions = [gsym.FunctionInfo(0x10, 1, "evil\x1b[31m" + "x" * 50)]
    (tmp_path / "f").write_bytes(oracle.encode_file(to_oracle(functions, 1, "little")))
    assert main(["stats", str(tmp_path / "f")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "evil\\x1b[31m" in out
    assert "..." in out
