"""A GSYM file converted again: another version or byte order, the same answers."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from tests import oracle, strategies
from tests.creations import create, decoded
from tests.handmade import END, HEAD, ONE, TWO, file_of, function_of, info, inlined
from tests.hostile import FUNCTIONS, small_file
from tests.views import boundaries, to_oracle

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.long

KINDS = [(v, order) for v in strategies.VERSIONS for order in strategies.BYTE_ORDERS]

kinds = pytest.mark.parametrize(("version", "byteorder"), KINDS)


def again(folder: Path, data: bytes, **options: object) -> bytes:
    """The file that a conversion of *data* writes."""
    source, target = folder / "in.gsym", folder / "out.gsym"
    source.write_bytes(data)
    gsym.convert(source, target, **options)  # type: ignore[arg-type]
    return target.read_bytes()


def answers(data: bytes, addresses: Iterable[int]) -> list[gsym.Lookup | None]:
    with gsym.Reader(data) as reader:
        return [reader.lookup(address, merged=True) for address in addresses]


# ---- what stays


@kinds
def test_everything_stays_in_any_version_and_order(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    data = small_file(version, byteorder)
    for other_version, other_order in KINDS:
        out = again(tmp_path, data, output_version=other_version, byteorder=other_order)
        file = oracle.decode_file(out)
        assert (file.version, file.byteorder) == (other_version, other_order)
        assert (file.uuid, file.base_address) == (
            b"\xaa\xbb\xcc\xdd",
            FUNCTIONS[0].start,
        )
        assert decoded(out) == FUNCTIONS
        sections = {77: b"unknown"} if version == other_version == 2 else {}
        assert file.extra_sections == sections


@kinds
def test_version_and_order_stay_unless_others_are_asked_for(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    out = again(tmp_path, small_file(version, byteorder))
    file = oracle.decode_file(out)
    assert (file.version, file.byteorder) == (version, byteorder)


@pytest.mark.parametrize(
    ("version", "byteorder", "other_version", "other_order"),
    [(*one, *other) for one, other in zip(KINDS, reversed(KINDS), strict=True)],
)
def test_there_and_back_is_the_same_file(
    version: int, byteorder: str, other_version: int, other_order: str, tmp_path: Path
) -> None:
    """Also its order of strings, and those that nothing uses."""
    data = create(FUNCTIONS, version=version, byteorder=byteorder, uuid=b"id")
    file = oracle.decode_file(data)
    file = replace(file, strings=file.strings + b"of no use\0")
    data = oracle.encode_file(file)
    there = again(tmp_path, data, output_version=other_version, byteorder=other_order)
    assert again(tmp_path, there, output_version=version, byteorder=byteorder) == data


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_real_files_answer_the_same_and_come_back_as_they_were(
    version: int, byteorder: str, gsym_fixtures: Path, tmp_path: Path
) -> None:
    paths = sorted(gsym_fixtures.glob("*.gsym"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        file = oracle.decode_file(data)
        out = again(tmp_path, data, output_version=version, byteorder=byteorder)
        functions = decoded(data)
        assert decoded(out) == functions, path.name
        addresses = boundaries(functions)
        assert answers(out, addresses) == answers(data, addresses), path.name
        options = {"output_version": file.version, "byteorder": file.byteorder}
        assert again(tmp_path, out, index=False, **options) == data, path.name


@given(
    strategies.function_lists(max_size=3) | strategies.overlapping_lists(),
    st.sampled_from(KINDS),
    st.sampled_from(KINDS),
)
def test_every_address_has_the_same_answer(
    tmp_path_factory: pytest.TempPathFactory,
    functions: list[gsym.FunctionInfo],
    kind: tuple[int, str],
    other: tuple[int, str],
) -> None:
    """Also where functions overlap, start together or have one range.

    Addresses that a nested function hides get an answer.
    """
    data = oracle.encode_file(to_oracle(functions, *kind))
    folder = tmp_path_factory.mktemp("again")
    out = again(folder, data, output_version=other[0], byteorder=other[1])
    before = decoded(data)
    assert [each for each in decoded(out) if each in before] == before
    addresses = boundaries(functions)
    both = zip(answers(out, addresses), answers(data, addresses), strict=True)
    assert [(now, then) for now, then in both if now != then and then is not None] == []


@pytest.mark.parametrize("byteorder", strategies.BYTE_ORDERS)
def test_llvm_reads_the_same_in_either_byte_order(
    byteorder: str, gsym_fixtures: Path, llvm_gsymutil: str, tmp_path: Path
) -> None:
    def dump(path: Path) -> bytes:
        run = [llvm_gsymutil, str(path)]
        return subprocess.run(run, check=True, capture_output=True).stdout

    for path in sorted(gsym_fixtures.glob("*.v2.*.gsym")):
        first = tmp_path / path.name
        gsym.convert(path, first, output_version=1)
        gsym.convert(first, tmp_path / "other", byteorder=byteorder)
        assert dump(tmp_path / "other") == dump(first)


def test_a_long_uuid_needs_version_2(tmp_path: Path) -> None:
    data = create(FUNCTIONS, version=2, uuid=bytes(32))
    with pytest.raises(gsym.LimitError, match="version 2"):
        again(tmp_path, data, output_version=1)
    assert oracle.decode_file(again(tmp_path, data)).uuid == bytes(32)


def test_functions_of_one_range_are_merged_on_request(tmp_path: Path) -> None:
    twins = (function_of(name=ONE), function_of(name=TWO))
    data = oracle.encode_file(file_of(*twins))
    for options, names in (
        ({}, [["one"], ["two"]]),
        ({"merged_functions": True}, [["one", "two"]]),
    ):
        found = decoded(again(tmp_path, data, **options))
        assert [[f.name, *(each.name for each in f.merged)] for f in found] == names


def test_the_report_counts_what_went_through(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    path.write_bytes(create(FUNCTIONS, uuid=b"id"))
    report = gsym.convert(path)
    assert report.outputs == (f"{path}.gsym",)
    assert (report.uuid, report.build_id, report.architecture) == (b"id", b"id", "")
    assert report.functions == report.functions_debug_info == len(FUNCTIONS)
    assert report.functions_pruned == report.functions_dropped == 0
    assert report.functions_with_lines == 2
    assert report.functions_with_inlines == 1
    assert report.file_size == len((tmp_path / "a.gsym.gsym").read_bytes())


# ---- what is refused


def test_the_input_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    path.write_bytes(create(FUNCTIONS))
    with pytest.raises(ValueError, match="would replace the input"):
        gsym.convert(path, path, output_version=2)


def test_invalid_options_are_refused(tmp_path: Path) -> None:
    data = create(FUNCTIONS)
    with pytest.raises(ValueError, match="byteorder"):
        again(tmp_path, data, byteorder="middle")
    with pytest.raises(ValueError, match="output_version: expected 1 or 2, not 3"):
        again(tmp_path, data, output_version=3)
    with pytest.raises(gsym.UnsupportedError, match="paths of a GSYM file"):
        again(tmp_path, data, path_map=(("/a", "/b"),))


def test_a_file_without_functions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gsym.EmptyError):
        again(tmp_path, oracle.encode_file(file_of()))


@kinds
def test_no_prefix_of_a_file_becomes_a_file(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    data = create(FUNCTIONS, version=version, byteorder=byteorder)
    for size in range(0, len(data), 3):
        with pytest.raises(gsym.FormatError, match=r"in\.gsym: "):
            again(tmp_path, data[:size])
    assert not (tmp_path / "out.gsym").exists()


@kinds
def test_a_changed_byte_gives_a_file_or_an_error(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    data = small_file(version, byteorder)
    for at in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        try:
            out = again(tmp_path, bytes(damaged))
        except gsym.GsymError:
            continue
        with gsym.Reader(out) as reader:
            list(reader.functions())


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (HEAD + info(1, b"\0"), "missing LineTable MaxDelta"),
        (HEAD, "missing FunctionInfo InfoType value"),
        (HEAD + info(2, b"\1\0\1\0\1\0\0\0\0"), "missing ULEB128"),
        (HEAD[:4] + bytes(4) + END, "invalid FunctionInfo Name value"),
    ],
)
def test_the_error_names_the_function_and_the_offset(
    record: bytes, reason: str, tmp_path: Path
) -> None:
    sound = oracle.encode_file(file_of(function_of(), function_of(start=0x2000)))
    offsets_at = 48 + 4
    (second,) = struct.unpack_from("<I", sound, offsets_at + 4)
    data = sound[:second] + record
    with pytest.raises(gsym.FormatError, match=reason) as caught:
        again(tmp_path, data)
    assert caught.value.path == str(tmp_path / "in.gsym")
    assert caught.value.reason.startswith("function 1 at 0x2000: ")
    assert second <= (caught.value.offset or 0) <= len(data)


def test_a_call_outside_of_its_caller_is_damage(tmp_path: Path) -> None:
    sound = oracle.encode_file(file_of(function_of(inline=inlined(1))))
    root, shorter = b"\x01\x00\x80\x02\x01", b"\x01\x00\x90\x00\x01"
    assert sound.count(root) == 1
    with pytest.raises(gsym.FormatError, match=r"function 0 at 0x1000: .*contained"):
        again(tmp_path, sound.replace(root, shorter))
    assert again(tmp_path, sound)


def test_a_table_that_does_not_ascend_is_refused(tmp_path: Path) -> None:
    functions = [gsym.FunctionInfo(at, 4, f"f{at}") for at in (0x10, 0x20, 0x30)]
    data = bytearray(create(functions))
    assert data[48:51] == bytes([0, 0x10, 0x20])
    data[49] = 0x40
    with pytest.raises(gsym.FormatError, match="does not ascend to entry 2") as caught:
        again(tmp_path, bytes(data))
    assert caught.value.offset == 50


# ---- cost of hostile files


def entries_at(count: int, records: list[bytes], strings: bytes) -> bytes:
    """A version-1 file whose entries take the records in turn, each from one place."""
    widths = 4
    tables = 48 + count * widths + count * 4 + 4 + 8
    head = struct.pack(
        *("<IHBBQIII20s", 0x4753594D, 1, widths, 0, 0, count),
        *(tables, len(strings), b""),
    )
    at, places = tables + len(strings), []
    for record in records:
        places.append(at)
        at += len(record)
    return b"".join(
        [
            head,
            struct.pack(f"<{count}I", *range(count)),
            struct.pack(f"<{count}I", *(places[i % len(places)] for i in range(count))),
            struct.pack("<III", 1, 0, 0),
            strings,
            *records,
        ]
    )


def test_entries_that_share_a_record_are_refused(tmp_path: Path) -> None:
    """Or a small file would become a huge one."""
    rows = info(1, b"\0\0\1\1\0" + b"\4" * 5000 + b"\0")
    record = struct.pack("<II", 1, 1) + rows + END
    data = entries_at(1000, [record], b"\0f\0")
    with pytest.raises(gsym.FormatError, match="records overlap"):
        again(tmp_path, data)
    with pytest.raises(gsym.FormatError, match="records overlap"):
        again(tmp_path, data, keep_functions=["f"])


def test_overlapping_names_are_refused(tmp_path: Path) -> None:
    count = 4000
    strings = b"\0" + b"x" * (count + 1) + b"\0"
    records = [struct.pack("<II", 1, 1 + i) + END for i in range(count)]
    with pytest.raises(gsym.FormatError, match="strings overlap"):
        again(tmp_path, entries_at(count, records, strings))


def test_a_long_name_is_read_once(tmp_path: Path) -> None:
    count = 2000
    strings = b"\0" + b"x" * 200_000 + b"\0"
    records = [struct.pack("<II", 1, 1) + END for _ in range(count)]
    data = entries_at(count, records, strings)
    assert len(decoded(again(tmp_path, data))) == count


def test_sections_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    file = replace(to_oracle(FUNCTIONS, 2, "little"), extra_sections={9: bytes(900)})
    data = oracle.encode_file(file)
    entry = data.index(struct.pack("<I", 9), 20)
    # Ten more entries of the same bytes; all places move by their size.
    more, shift = 10, 200
    directory = [
        struct.unpack_from("<IQQ", data, at) for at in range(20, entry + 20, 20)
    ]
    directory += [(10 + i, directory[-1][1], directory[-1][2]) for i in range(more)]
    packed = b"".join(
        struct.pack("<IQQ", kind, at + shift, size) for kind, at, size in directory
    )
    moved = data[:20] + packed + bytes(20) + data[entry + 40 :]
    with pytest.raises(gsym.FormatError, match="sections overlap"):
        again(tmp_path, moved)


# ---- command line


@pytest.mark.parametrize(
    "options",
    [["--byteorder", "middle"], ["--output-version", "0"], ["--byteorder"]],
)
def test_wrong_options_are_usage_errors(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a"
    source.write_bytes(create(FUNCTIONS))
    assert main(["convert", str(source), *options]) == 2
    assert options[0] in capsys.readouterr().err
