"""Segments opened as one answer as the whole does."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsym
from gsym.cli.main import main
from gsym.segments import write_segments
from tests import oracle, strategies
from tests.creations import create
from tests.hostile import FUNCTIONS, small_file
from tests.views import boundaries, to_oracle

Captured = pytest.CaptureFixture[str]


def split(folder: Path, data: bytes, size: int = 260) -> list[str]:
    return list(write_segments(data, str(folder / "app.gsym"), size))


def same_answers(
    whole: gsym.Reader, segments: gsym.SegmentSetReader, addresses: list[int]
) -> None:
    for address in addresses:
        assert segments.lookup(address, merged=True) == whole.lookup(
            address, merged=True
        )
    one, many = whole.lookup_many(addresses), segments.lookup_many(addresses)
    assert (many.found, many.damaged) == (one.found, one.damaged)
    columns = ("address_index", "function", "line", "offset", "inlined")
    for column in columns:
        assert list(getattr(many, column)) == list(getattr(one, column)), column
    assert many.names == one.names
    assert many.files == one.files
    assert many.to_pylist() == [
        row | {"name": name, "file": file}
        for row, name, file in zip(one.to_pylist(), one.names, one.files, strict=True)
    ]


@pytest.mark.parametrize("version", strategies.VERSIONS)
@pytest.mark.parametrize("byteorder", strategies.BYTE_ORDERS)
def test_a_set_has_the_interface_of_a_reader(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    data = small_file(version, byteorder)
    paths = split(tmp_path, data)
    assert len(paths) > 1
    with gsym.Reader(data) as whole, gsym.open_segments(paths[::-1]) as segments:
        assert segments.paths == tuple(paths)
        assert segments.path == paths[0]
        assert segments.uuid == whole.uuid
        assert segments.header.base_address == whole.header.base_address
        assert len(segments) == len(whole)
        assert segments.size == sum(Path(path).stat().st_size for path in paths)
        assert list(segments.functions()) == list(whole.functions()) == FUNCTIONS
        assert [segments.function(at) for at in range(len(whole))] == FUNCTIONS
        for name in ("full", "twin", "symbol", "one", "none"):
            assert segments.find(name) == whole.find(name)
        for index in (-1, len(whole)):
            with pytest.raises(IndexError):
                segments.function(index)
        same_answers(whole, segments, boundaries(FUNCTIONS))


@pytest.mark.slow
@given(
    strategies.function_lists(max_size=4) | strategies.overlapping_lists(),
    strategies.versions,
    strategies.byte_orders,
    st.integers(0, 300),
)
def test_every_address_has_the_answer_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    functions: list[gsym.FunctionInfo],
    version: int,
    byteorder: str,
    more: int,
) -> None:
    """Also behind functions without a size, and where functions overlap."""
    folder = tmp_path_factory.mktemp("set")
    data = oracle.encode_file(to_oracle(functions, version, byteorder))
    split(folder, data, 200 + more)
    with gsym.Reader(data) as whole, gsym.open_segments(folder / "app.gsym") as found:
        assert list(found.functions()) == list(whole.functions())
        same_answers(whole, found, boundaries(functions))


def test_functions_of_one_start_stay_in_one_segment(tmp_path: Path) -> None:
    """Two segments would have one name, and a lookup would see only the second."""
    functions = [gsym.FunctionInfo(0x10, size, f"f{size}") for size in range(1, 20)]
    data = oracle.encode_file(to_oracle(functions, 1, "little"))
    (path,) = split(tmp_path, data, 60)
    with gsym.open(path) as reader:
        assert list(reader.functions()) == functions


def test_segments_are_opened_when_they_are_needed(tmp_path: Path) -> None:
    paths = split(tmp_path, create(FUNCTIONS), 75)
    assert len(paths) == len(FUNCTIONS)
    for path in paths[1:]:
        Path(path).rename(path + ".away")
    with gsym.open_segments(paths) as segments:
        found = segments.lookup(FUNCTIONS[0].address)
        assert found is not None
        assert found.function.name == "symbol"
        with pytest.raises(FileNotFoundError):
            segments.lookup(FUNCTIONS[1].address)
        Path(paths[1] + ".away").rename(paths[1])
        found = segments.lookup(FUNCTIONS[1].address)
        assert found is not None
        assert found.function.name == "full"


def test_an_address_below_all_segments_has_no_answer(tmp_path: Path) -> None:
    split(tmp_path, create(FUNCTIONS))
    with gsym.open_segments(tmp_path / "app.gsym") as segments:
        assert segments.lookup(0) is None
        assert segments.lookup_many([0, 1]).found == 0
        first = FUNCTIONS[0].address
        for wrong in (-1, 2**64):
            assert segments.lookup(wrong) is None
            assert segments.lookup_many([wrong, first]).address_index.tolist() == [1]
        with pytest.raises(TypeError, match="address: expected an integer, not '1'"):
            segments.lookup("1")  # type: ignore[arg-type]
        assert segments.lookup_many(array("Q", [FUNCTIONS[0].address])).found == 1


def test_a_closed_set_is_told(tmp_path: Path) -> None:
    paths = split(tmp_path, create(FUNCTIONS))
    segments = gsym.open_segments(paths)
    assert "2 segments" in repr(segments) or "3 segments" in repr(segments)
    segments.close()
    segments.close()
    assert "closed" in repr(segments)
    for question in (
        lambda: segments.lookup(0),
        lambda: segments.lookup_many([0]),
        lambda: segments.find("f"),
        lambda: len(segments),
        lambda: list(segments.functions()),
        segments.__enter__,
    ):
        with pytest.raises(gsym.ClosedError):
            question()


# ---- which files are segments


def test_segments_are_found_by_what_their_names_open_with(tmp_path: Path) -> None:
    paths = split(tmp_path, create(FUNCTIONS))
    for other in ("app.gsym", "app.gsym-0xyz", "app.gsym-0x", "my-app.gsym-0x10"):
        (tmp_path / other).write_bytes(b"no segment")
    (tmp_path / "app.gsym-0x10-0x20").write_bytes(b"no segment")
    with gsym.open_segments(tmp_path / "app.gsym") as segments:
        assert segments.paths == tuple(paths)
    with gsym.open_segments(str(tmp_path / "app.gsym")) as segments:
        assert segments.paths == tuple(paths)


def test_segments_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no segment of this name"):
        gsym.open_segments(tmp_path / "app.gsym")
    with pytest.raises(FileNotFoundError):
        gsym.open_segments(tmp_path / "no folder" / "app.gsym")
    with pytest.raises(ValueError, match="no segments"):
        gsym.open_segments([])


@pytest.mark.parametrize("name", ["a.gsym", "a-0x", "a-0xfg", "a-0x1_0", "a-0x-1"])
def test_a_name_without_a_start_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a segment's name ends in its start"):
        gsym.open_segments([name])


def test_segments_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    paths = split(tmp_path, create(FUNCTIONS, uuid=b"a"), 150)
    other = tmp_path / "other"
    other.mkdir()
    others = write_segments(create(FUNCTIONS, uuid=b"b"), str(other / "o"), 150)
    based = write_segments(
        create(FUNCTIONS, uuid=b"a", base_address=1), str(other / "based"), 150
    )
    last = FUNCTIONS[-1].address
    with gsym.open_segments([paths[0], others[-1]]) as segments:
        assert segments.lookup(FUNCTIONS[0].address)
        with pytest.raises(gsym.UuidMismatchError, match="that of the segment"):
            segments.lookup(last)
        with pytest.raises(gsym.UuidMismatchError):
            segments.lookup_many([last])
    with (
        gsym.open_segments([paths[0], based[-1]]) as segments,
        pytest.raises(gsym.FormatError, match="base address"),
    ):
        segments.lookup(last)
    with pytest.raises(gsym.UuidMismatchError):
        gsym.open_segments(paths, uuid=b"b")
    with gsym.open_segments(paths, uuid=b"a") as segments:
        assert segments.lookup(last)
    with pytest.raises(ValueError, match="start together"):
        gsym.open_segments([paths[0], others[0]])


def test_a_segment_under_another_address_is_refused(tmp_path: Path) -> None:
    paths = split(tmp_path, create(FUNCTIONS), 150)
    Path(paths[-1]).rename(tmp_path / "app.gsym-0x10ff")
    with (
        gsym.open_segments(tmp_path / "app.gsym") as segments,
        pytest.raises(gsym.FormatError, match="does not start where the name"),
    ):
        segments.lookup(0x1100)


def test_segments_of_two_conversions_are_told_apart(tmp_path: Path) -> None:
    """What an earlier run with a smaller size left behind."""
    data = create(FUNCTIONS)
    small = split(tmp_path, data, 75)
    large = split(tmp_path, data, 4096)
    assert (len(small), len(large)) == (len(FUNCTIONS), 1)
    with pytest.raises(gsym.FormatError, match="a segment of another conversion"):
        gsym.open_segments(tmp_path / "app.gsym")


# ---- command line


def test_lookup_takes_the_name_of_the_whole(tmp_path: Path, capsys: Captured) -> None:
    data = create(FUNCTIONS)
    split(tmp_path, data)
    whole = tmp_path / "whole.gsym"
    whole.write_bytes(data)
    addresses = [hex(info.address) for info in FUNCTIONS]
    assert main(["lookup", str(whole), *addresses]) == 0
    expected = capsys.readouterr().out
    assert main(["lookup", str(tmp_path / "app.gsym"), *addresses]) == 0
    assert capsys.readouterr().out == expected


def test_lookup_takes_segments_by_name(tmp_path: Path, capsys: Captured) -> None:
    paths = split(tmp_path, create(FUNCTIONS))
    addresses = [hex(info.address) for info in FUNCTIONS]
    assert main(["lookup", "--json", *paths, *addresses]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [json.loads(line)["function"]["name"] for line in lines]
    assert found == [info.name for info in FUNCTIONS]


def test_a_file_of_the_name_comes_before_its_segments(
    tmp_path: Path, capsys: Captured
) -> None:
    split(tmp_path, create(FUNCTIONS))
    other = [gsym.FunctionInfo(FUNCTIONS[0].address, 4, "other")]
    (tmp_path / "app.gsym").write_bytes(create(other))
    path = str(tmp_path / "app.gsym")
    assert main(["lookup", path, hex(FUNCTIONS[0].address)]) == 0
    assert "other" in capsys.readouterr().out


def test_mistakes_with_segments_are_explained(tmp_path: Path, capsys: Captured) -> None:
    path = str(tmp_path / "app.gsym")
    assert main(["lookup", path, "0x10"]) == 1
    assert "No such file" in capsys.readouterr().err
    Path(path).write_bytes(create(FUNCTIONS))
    other = tmp_path / "other"
    other.write_bytes(b"")
    assert main(["lookup", path, str(other), "0x10"]) == 1
    assert "a segment's name ends in its start" in capsys.readouterr().err
    assert main(["lookup", path, "nonsense", "0x10"]) == 2
    assert "'nonsense' is not a number" in capsys.readouterr().err
