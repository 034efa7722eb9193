"""Any GSYM file as Breakpad text: it answers the same, or the loss is counted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym import ModuleKey
from tests import oracle
from tests.breakpad_answers import answers, boundaries
from tests.breakpad_file import SymbolFile
from tests.creations import create
from tests.handmade import file_bytes
from tests.strategies import byte_orders, function_lists, odd_files, versions
from tests.views import functions_from_oracle

pytestmark = pytest.mark.long

IDENTITY = ModuleKey(
    os="Linux", architecture="x86_64", debug_id="0" * 33, debug_file="m"
)


def export(data: bytes) -> tuple[bytes, gsym.ExportReport]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "out.sym")
        with gsym.Reader(data) as reader:
            report = gsym.export_breakpad(reader, target, identity=IDENTITY)
        return target.read_bytes(), report


def assert_same_answers(data: bytes, functions: list[gsym.FunctionInfo]) -> None:
    text, report = export(data)
    parsed = SymbolFile(text)
    addresses = sorted(boundaries(functions))
    losses = " ".join(report.losses)
    with gsym.Reader(data) as reader:
        base = reader.header.base_address
        for address, expected in zip(
            addresses, answers(reader, addresses), strict=True
        ):
            found = parsed.lookup(address - base) if address >= base else []
            if "Inlined call left out" in losses:  # an outer part of the chain is there
                assert [frame.name for frame in found] == [
                    frame.name for frame in expected[len(expected) - len(found) :]
                ]
                assert bool(found) == bool(expected)
            elif found and "the function has no size" in losses:
                assert found[-1].name == expected[-1].name
            else:
                assert found == expected, hex(address)


@given(function_lists(), versions, byte_orders)
def test_what_a_creator_writes_answers_the_same(
    functions: list[gsym.FunctionInfo], version: int, byteorder: str
) -> None:
    data = create(functions, version=version, byteorder=byteorder)
    assert_same_answers(data, functions)


@given(odd_files())
def test_what_only_others_write_answers_the_same(file: oracle.GsymFile) -> None:
    functions = functions_from_oracle(file)
    assert_same_answers(oracle.encode_file(file), functions)


@given(st.data())
def test_a_changed_byte_ends_in_text_or_an_error(data: st.DataObject) -> None:
    image = bytearray(file_bytes(version=data.draw(versions)))
    for _ in range(data.draw(st.integers(1, 3))):
        image[data.draw(st.integers(0, len(image) - 1))] = data.draw(
            st.integers(0, 255)
        )
    try:
        text, _ = export(bytes(image))
    except gsym.GsymError:
        return
    assert text.startswith(b"MODULE ")
    text.decode("utf-8")


@pytest.mark.parametrize("version", [1, 2])
def test_every_prefix_ends_in_text_or_an_error(version: int) -> None:
    image = file_bytes(version=version)
    for size in range(len(image)):
        try:
            text, _ = export(image[:size])
        except gsym.GsymError:
            continue
        text.decode("utf-8")


@pytest.mark.slow
def test_many_calls_that_overlap_cost_no_more_than_sorting_them() -> None:
    """A square of the number of calls would take minutes."""
    count = 100_000
    start, size = 0x1000, 4 * count
    calls = tuple(
        gsym.InlineInfo("g", "a.c", 1, (gsym.Range(start + at, start + size),))
        for at in range(count)
    )
    root = gsym.InlineInfo("f", "", 0, (gsym.Range(start, start + size),), calls)
    data = create([gsym.FunctionInfo(start, size, "f", None, root)])
    _, report = export(data)
    assert sum(report.losses.values()) == count


@pytest.mark.parametrize("state", ["sound", "damaged"])
@pytest.mark.parametrize("parts", ["lines", "calls"])
def test_records_that_lie_over_each_other_are_refused(parts: str, state: str) -> None:
    """Each entry names the one long record of the file."""
    rows = tuple(gsym.LineEntry(0x1000 + at, "a.c", at) for at in range(1_000))
    calls = tuple(
        gsym.InlineInfo("g", "a.c", 1, (gsym.Range(0x1000 + at, 0x1001 + at),))
        for at in range(1_000)
    )
    root = gsym.InlineInfo("f", "", 0, (gsym.Range(0x1000, 0x2000),), calls)
    long = gsym.FunctionInfo(
        *(0x1000, 0x1000, "f", rows if parts == "lines" else None),
        root if parts == "calls" else None,
    )
    others = [gsym.FunctionInfo(0x2000 + at, 1, "g") for at in range(1_000)]
    image = bytearray(create([long, *others]))
    with gsym.Reader(bytes(image)) as reader:
        width, count = reader.header.addr_off_size, len(reader)
    at = -(-(48 + width * count) // 4) * 4
    image[at : at + 4 * count] = image[at : at + 4] * count
    if state == "damaged":
        end = int.from_bytes(image[at : at + 4], "little") + 900
        image[end:] = b"\xff" * (len(image) - end)
    with pytest.raises(gsym.FormatError, match="records overlap"):
        export(bytes(image))
