"""A function nested in another one, and the rest of the outer one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym import CallSite, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.cli.main import main
from tests import oracle
from tests.creations import create
from tests.inputs.dies import Ref
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import function, inlined, program, unit
from tests.referee.opening import compare
from tests.strategies import BYTE_ORDERS, VERSIONS
from tests.views import to_oracle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.long

BIG, INNER = FunctionInfo(0x1000, 0x40, "big"), FunctionInfo(0x1008, 0x10, "inner")
NAMES = {0x1000: "big", 0x1008: "inner", 0x1017: "inner", 0x1018: "big", 0x103F: "big"}


def names_of(data: bytes) -> dict[int, str]:
    with gsym.Reader(data) as reader:
        addresses = [*NAMES, 0x1040]
        answers = {address: reader.lookup(address) for address in addresses}
        names = {
            at: each.function.name for at, each in answers.items() if each is not None
        }
        together = reader.lookup_many(addresses, misses=False).to_pylist()
        assert [each["name"] for each in together] == list(names.values())
    return names


def cut_file(version: int = 1, byteorder: str = "little") -> bytes:
    """A file in which the rest of the outer function has no answer."""
    data = oracle.encode_file(to_oracle([BIG, INNER], version, byteorder))
    assert 0x1018 not in names_of(data)
    return data


# ---- every source ----------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("byteorder", BYTE_ORDERS)
def test_a_nested_function_does_not_cut_its_outer_one(
    version: int, byteorder: str
) -> None:
    options = {"version": version, "byteorder": byteorder}
    assert names_of(create([INNER, BIG], **options)) == NAMES
    assert names_of(create([BIG, INNER], index=True, **options)) == NAMES


def test_a_cut_function_of_another_writer_is_completed_when_converted_or_merged(
    tmp_path: Path,
) -> None:
    cut, converted, merged = (tmp_path / name for name in ("cut", "again", "merged"))
    cut.write_bytes(cut_file())
    gsym.convert(cut, converted)
    gsym.merge_files([cut, cut], merged)
    assert names_of(converted.read_bytes()) == names_of(merged.read_bytes()) == NAMES
    gsym.convert(converted, tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == converted.read_bytes()


def test_verify_finds_addresses_that_a_nested_function_has_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.gsym"
    path.write_bytes(cut_file())
    assert main(["verify", str(path)]) == 1
    assert "0x1018-0x1040: no answer: other functions start inside big" in (
        capsys.readouterr().out
    )
    path.write_bytes(create([BIG, INNER]))
    assert main(["verify", str(path)]) == 0


# ---- contents --------------------------------------------------------------------

START = 0x100


def some_function(start: int, size: int, calls: int, rows: int, n: int) -> FunctionInfo:
    """A function with rows, nested calls and call sites, with names from *n*."""
    end = start + size
    whole = (Range(start, end),)
    inner: tuple[InlineInfo, ...] = ()
    for depth in range(calls):
        parts = (Range(start, start + 1), Range(max(end - 1, start + 1), end))
        ranges = tuple(part for part in parts if part.end > part.start)
        inner = (InlineInfo(f"i{depth}", "i.c", depth, ranges if depth == 0 else whole,
                            inner),)  # fmt: skip
    table = tuple(LineEntry(start + at, f"{n}.c", at + 1) for at in range(0, size, 3))[
        :rows
    ]
    return FunctionInfo(
        start,
        size,
        f"f{n}",
        table or None,
        InlineInfo(f"f{n}", "", 0, whole, inner) if inner else None,
        call_sites=tuple(CallSite(at, 0, (f"{n}",)) for at in range(1, size, 2)),
    )


def answer_of(reader: gsym.Reader, address: int) -> object:
    """An answer without offsets from the start of an entry."""
    answer = reader.lookup(address)
    if answer is None:
        return None
    frames = [frame._replace(offset=0) for frame in answer.frames]
    return answer.function.name, frames, answer.call_site_patterns


_shapes = st.tuples(
    st.integers(START, START + 20), st.integers(1, 20), st.integers(0, 3),
    st.integers(0, 4),
)  # fmt: skip


@given(st.lists(_shapes, min_size=1, max_size=7, unique_by=lambda shape: shape[:2]))
def test_every_address_is_answered_by_the_last_function_that_covers_it(
    shapes: list[tuple[int, int, int, int]],
) -> None:
    """The answer is the same as in a file of that function alone."""
    functions = [some_function(*shape, n) for n, shape in enumerate(shapes)]
    alone = {each.name: gsym.Reader(create([each])) for each in functions}
    with gsym.Reader(create(functions)) as reader:
        for address in range(START, START + 42):
            around = [
                (-each.start, each.size, each.name)
                for each in functions
                if each.start <= address < each.start + each.size
            ]
            expected = answer_of(alone[min(around)[2]], address) if around else None
            assert answer_of(reader, address) == expected


def test_functions_merged_into_one_that_is_cut_continue_too() -> None:
    twin = BIG._replace(name="twin", line_table=(LineEntry(0x1000, "t.c", 3),))
    data = create([BIG._replace(merged=(twin,)), INNER])
    with gsym.Reader(data) as reader:
        answer = reader.lookup(0x1030, merged=True)
        assert answer is not None
        (merged,) = answer.merged
        assert (merged.function.name, merged.frames[0].line) == ("twin", 3)


def test_entries_added_for_a_nested_function_agree_with_the_binary(
    tmp_path: Path,
) -> None:
    lines = LineProgram(sequence((0x1000, 1), (0x1010, 2), (0x1020, 3), end=0x1040))
    image = program(
        unit(
            function("call", 0x1080, 0x1090, label="call"),
            function("big", 0x1000, 0x1040, inlined(Ref("call"), (0x1004, 0x1030))),
            function("inner", 0x1008, 0x1018),
            lines=lines,
            version=4,
        )
    )
    path = tmp_path / "app"
    path.write_bytes(image)
    output = gsym.convert(path).outputs[0]
    assert compare(output, str(path)).differences == []
    with gsym.open(output) as reader:
        functions = [
            each._replace(line_table=None) if each.start == 0x1018 else each
            for each in reader.functions()
        ]
        plain = create(functions, uuid=reader.uuid, base_address=0x1000)
    (tmp_path / "wrong").write_bytes(plain)
    subjects = [
        each.subject for each in compare(str(tmp_path / "wrong"), str(path)).differences
    ]
    assert subjects == ["lines"]


def with_calls(count: int) -> Iterator[FunctionInfo]:
    """Each of so many calls has the addresses of each of as many parts."""
    end = 0x1000 + 4 * count
    whole = (Range(0x1000, end),)
    tree = InlineInfo("call", "a.c", 1, whole)
    for _ in range(count):
        tree = InlineInfo("call", "a.c", 1, whole, (tree,))
    yield FunctionInfo(0x1000, end - 0x1000, "outer", None, tree)
    for at in range(0x1002, end, 4):
        yield FunctionInfo(at, 1, "inner")


def test_parts_of_a_mebibyte_are_made_and_many_more_are_refused_in_time() -> None:
    made = create(with_calls(330))
    assert len(made) > 1_000_000
    with gsym.Reader(made) as reader:
        first = answer_of(reader, 0x1000)
        assert first == answer_of(reader, 0x1000 + 4 * 330 - 1)
        assert len(list(reader)) == 2 * 330 + 1
    with pytest.raises(gsym.LimitError, match="too many functions are nested"):
        create(with_calls(2_000))


def with_call_sites(parts: int) -> Iterator[FunctionInfo]:
    """All of the call sites are visited for each part, and none is kept."""
    sites = tuple(CallSite(1, 0, ("to",)) for _ in range(100_000))
    end = 0x1000 + 4 * parts
    yield FunctionInfo(0x1000, end - 0x1000, "outer", call_sites=sites)
    for at in range(0x1002, end, 4):
        yield FunctionInfo(at, 1, "inner")


def test_call_sites_are_looked_at_for_many_parts_and_more_are_refused_in_time() -> None:
    """268,435,456 steps are made for a file of any size."""
    with gsym.Reader(create(with_call_sites(2_680))) as reader:
        assert answer_of(reader, 0x1003) == answer_of(reader, 0x1003 + 4 * 2_679)
        assert "outer" in str(reader.lookup(0x1003))
    with pytest.raises(gsym.LimitError, match="too many functions are nested"):
        create(with_call_sites(5_000))
