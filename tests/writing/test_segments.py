"""A file split into segments: where it breaks, and that nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.writing.selection import write_segments
from tests import oracle
from tests.views import to_oracle

if TYPE_CHECKING:
    from pathlib import Path

KINDS = [(1, "little"), (1, "big"), (2, "little"), (2, "big")]
UUID = bytes(range(20))


def many_functions(count: int) -> list[gsym.FunctionInfo]:
    return [
        gsym.FunctionInfo(
            *(0x1000 + 0x100 * index, 0x80, f"function_{index}"),
            tuple(
                gsym.LineEntry(0x1000 + 0x100 * index + row, f"/src/{index % 5}.c", row)
                for row in range(index % 7 + 1)
            ),
        )
        for index in range(count)
    ]


def functions_of(path: str) -> list[gsym.FunctionInfo]:
    with gsym.open(path) as reader:
        return list(reader.functions())


@pytest.mark.parametrize(("version", "byteorder"), [(1, "little"), (2, "big")])
@pytest.mark.parametrize("size", [300, 1000, 5000, 1 << 40])
def test_the_segments_together_hold_every_function_once(
    size: int, version: int, byteorder: str, tmp_path: Path
) -> None:
    functions = many_functions(100)
    file = to_oracle(functions, version, byteorder, uuid=UUID, base_address=0x800)
    paths, _ = write_segments(oracle.encode_file(file), str(tmp_path / "out"), size)
    assert [info for path in paths for info in functions_of(path)] == functions
    assert len(paths) == 1 if size > 1 << 20 else len(paths) > 1


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_each_segment_belongs_to_the_binary_of_the_whole(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    file = to_oracle(
        many_functions(20), version, byteorder, uuid=UUID, base_address=0x800
    )
    paths, _ = write_segments(oracle.encode_file(file), str(tmp_path / "out"), 500)
    for path in paths:
        with gsym.open(path) as reader:
            first = next(iter(reader.functions())).start
            assert reader.header[:3] == (
                version,
                byteorder,
                reader.header.addr_off_size,
            )
            assert (reader.uuid, reader.header.base_address) == (UUID, 0x800)
        assert path == f"{tmp_path}/out-{first:#x}"


def test_a_function_is_added_while_the_size_is_not_reached(tmp_path: Path) -> None:
    """Header 48, each function 1 + 4 + 16 + 2, file table 8, string table 1."""
    functions = [gsym.FunctionInfo(at, 1, f"{at:x}") for at in range(0x10, 0x40, 8)]
    whole = oracle.encode_file(to_oracle(functions, 1, "little"))

    def counts(size: int) -> list[int]:
        for path in tmp_path.iterdir():
            path.unlink()
        paths, _ = write_segments(whole, str(tmp_path / "out"), size)
        return [len(functions_of(path)) for path in paths]

    each = 1 + 4 + 16 + 3
    for fitting in range(1, 4):
        full = 48 + 8 + 1 + fitting * each
        assert counts(full)[0] == fitting
        assert counts(full + 1)[0] == fitting + 1


@pytest.mark.parametrize(("version", "least"), [(1, 48 + 8 + 1), (2, 20 + 120 + 21)])
def test_a_size_that_fits_no_function_is_refused(
    version: int, least: int, tmp_path: Path
) -> None:
    whole = oracle.encode_file(to_oracle(many_functions(3), version, "little"))
    with pytest.raises(
        gsym.LimitError, match=f"^a segment size of {least} is to small"
    ):
        write_segments(whole, str(tmp_path / "out"), least)
    assert list(tmp_path.iterdir()) == []
    assert len(write_segments(whole, str(tmp_path / "out"), least + 1)[0]) == 3


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    whole = oracle.encode_file(to_oracle(many_functions(3), 1, "little"))
    with pytest.raises(gsym.FormatError):
        write_segments(whole[:-4], str(tmp_path / "out"), 1000)
    with pytest.raises(gsym.FormatError, match="bad magic"):
        write_segments(b"no GSYM file", str(tmp_path / "out"), 1000)
    assert list(tmp_path.iterdir()) == []
