"""Functions kept and dropped by name and by address."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from tests import strategies
from tests.conversions import read_functions
from tests.creations import create, decoded
from tests.inputs.elf import Symbol
from tests.inputs.program import function, program, unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.long


def selected(folder: Path, data: bytes, **options: object) -> list[gsym.FunctionInfo]:
    source, target = folder / "in", folder / "out.gsym"
    source.write_bytes(data)
    gsym.convert(source, target, **options)  # type: ignore[arg-type]
    return read_functions(str(target))


def names(functions: list[gsym.FunctionInfo]) -> str:
    """The names, those of merged functions in parentheses behind their parent's."""
    return " ".join(
        info.name + "".join(f"({child.name})" for child in info.merged)
        for info in functions
    )


FILE = create(
    [
        gsym.FunctionInfo(0x10, 0x10, "alpha"),
        gsym.FunctionInfo(0x20, 0x10, "beta"),
        gsym.FunctionInfo(0x30, 0x10, "alphabet"),
        gsym.FunctionInfo(0x40, 0x10, "_ZN5gamma5alphaEv"),
    ]
)


@pytest.mark.parametrize(
    ("keep", "drop", "expected"),
    [
        (["alpha"], [], "alpha alphabet _ZN5gamma5alphaEv"),
        (["^alpha"], [], "alpha alphabet"),
        (["^alpha$", "^beta$"], [], "alpha beta"),
        ([], ["bet"], "alpha _ZN5gamma5alphaEv"),
        ([], ["^a", "^b"], "_ZN5gamma5alphaEv"),
        (["alpha"], ["bet"], "alpha _ZN5gamma5alphaEv"),
        (["(?i)ALPHABET"], [], "alphabet"),
        ([r"\d"], [], "_ZN5gamma5alphaEv"),
        ([""], [], "alpha beta alphabet _ZN5gamma5alphaEv"),
    ],
)
def test_patterns_are_searched_in_names(
    keep: list[str], drop: list[str], expected: str, tmp_path: Path
) -> None:
    found = selected(tmp_path, FILE, keep_functions=keep, drop_functions=drop)
    assert names(found) == expected


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([(0x10, 0x11)], "alpha"),
        ([(0x1F, 0x21)], "alpha beta"),
        ([(0, 0x10), (0x4F, 0x50)], "_ZN5gamma5alphaEv"),
        ([(0x20, 0x21), (0x30, 0x31)], "beta alphabet"),
        ([(0, 2**64 - 1)], "alpha beta alphabet _ZN5gamma5alphaEv"),
    ],
)
def test_ranges_keep_what_answers_for_their_addresses(
    ranges: list[tuple[int, int]], expected: str, tmp_path: Path
) -> None:
    assert names(selected(tmp_path, FILE, address_ranges=ranges)) == expected


def test_names_and_ranges_have_to_agree(tmp_path: Path) -> None:
    found = selected(
        tmp_path, FILE, keep_functions=["alpha"], address_ranges=[(0x20, 0x40)]
    )
    assert names(found) == "alphabet"


# ---- functions without a size answer up to the next one


SIZELESS = create(
    [
        gsym.FunctionInfo(0x10, 0, "a"),
        gsym.FunctionInfo(0x20, 0x10, "b"),
        gsym.FunctionInfo(0x40, 0, "c"),
    ]
)


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([(0x1F, 0x20)], "a"),
        ([(0x20, 0x21)], "b"),
        ([(0x30, 0x40)], None),
        ([(0x1000, 0x1001)], "c"),
    ],
)
def test_a_function_without_a_size_reaches_to_the_next_one(
    ranges: list[tuple[int, int]], expected: str | None, tmp_path: Path
) -> None:
    if expected is None:
        with pytest.raises(gsym.EmptyError, match="no function is selected"):
            selected(tmp_path, SIZELESS, address_ranges=ranges)
    else:
        assert names(selected(tmp_path, SIZELESS, address_ranges=ranges)) == expected


def test_a_function_without_a_size_does_not_answer_for_a_dropped_one(
    tmp_path: Path,
) -> None:
    a, c = selected(tmp_path, SIZELESS, drop_functions=["b"])
    assert (a.name, a.start, a.size) == ("a", 0x10, 0x10)
    assert (c.name, c.start, c.size) == ("c", 0x40, 0)
    (a,) = selected(tmp_path, SIZELESS, keep_functions=["a"])
    assert a.size == 0x10
    (c,) = selected(tmp_path, SIZELESS, keep_functions=["c"])
    assert c.size == 0


# ---- merged functions


MERGED = create(
    [
        gsym.FunctionInfo(
            *(0x10, 0x10, "first", (gsym.LineEntry(0x10, "/a.c", 1),), None),
            (
                gsym.FunctionInfo(
                    *(0x10, 0x10, "second", (gsym.LineEntry(0x10, "/b.c", 2),), None),
                    *((), (gsym.CallSite(4, 1, ("x",)),), {9: b"kept"}),
                ),
                gsym.FunctionInfo(0x10, 0x10, "third"),
            ),
            (gsym.CallSite(8, 2, ("y",)),),
        )
    ]
)


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        ("second", "first(third)"),
        ("first", "second(third)"),
        ("first|second", "third"),
        ("third", "first(second)"),
        ("nothing", "first(second)(third)"),
    ],
)
def test_the_first_that_stays_takes_the_place_of_one_that_goes(
    drop: str, expected: str, tmp_path: Path
) -> None:
    assert names(selected(tmp_path, MERGED, drop_functions=[drop])) == expected


def test_a_merged_function_keeps_what_it_holds_in_its_new_place(tmp_path: Path) -> None:
    (second,) = selected(tmp_path, MERGED, keep_functions=["second"])
    (whole,) = decoded(MERGED)
    assert second == whole.merged[0]


# ---- any input


ELF = program(
    unit(function("f", 0x1000, 0x1010), function("g", 0x1010, 0x1020)),
    symbols=[Symbol("h", 0x1020, 0x10), Symbol("i", 0x1030, 0x10)],
)


def test_functions_of_debug_information_and_symbols_are_selected(
    tmp_path: Path,
) -> None:
    assert names(selected(tmp_path, ELF)) == "f g h i"
    assert names(selected(tmp_path, ELF, drop_functions=["[gi]"])) == "f h"


def test_the_report_tells_found_from_kept(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(ELF)
    report = gsym.convert(path, keep_functions=["f", "h"])
    assert report.functions_debug_info == 2
    assert report.functions_symbol_table == 2
    assert report.functions == 2
    assert report.functions_dropped == 2
    assert report.file_size == (tmp_path / "app.gsym").stat().st_size
    assert report.strings == 3


def test_segments_hold_what_was_selected(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(FILE)
    report = gsym.convert(path, segment_size=60, drop_functions=["beta"])
    assert [output.rpartition("-")[2] for output in report.outputs] == [
        "0x10",
        "0x30",
        "0x40",
    ]
    assert report.functions_dropped == 1


@given(
    strategies.function_lists(max_size=4),
    st.lists(st.sampled_from(["a", "e", "^m", "x$", "0", "_Z", "."]), max_size=2),
    st.lists(st.sampled_from(["a", "o", "^m", "N", "\udcff"]), max_size=2),
)
def test_the_engine_selects_what_the_patterns_say(
    tmp_path_factory: pytest.TempPathFactory,
    functions: list[gsym.FunctionInfo],
    keep: list[str],
    drop: list[str],
) -> None:
    def wants(name: str) -> bool:
        kept = not keep or any(re.search(pattern, name) for pattern in keep)
        return kept and not any(re.search(pattern, name) for pattern in drop)

    folder = tmp_path_factory.mktemp("selection")
    expected = list(filter(None, (pruned(info, wants) for info in functions)))
    options = {"keep_functions": keep, "drop_functions": drop}
    if not expected:
        with pytest.raises(gsym.EmptyError):
            selected(folder, create(functions), **options)
        return
    found = selected(folder, create(functions), **options)
    # Sizes of functions without one are bounded where the next one went.
    assert [info._replace(size=0) for info in found] == [
        info._replace(size=0) for info in expected
    ]
    for info, before in zip(found, expected, strict=True):
        assert before.size in {info.size, 0}


def pruned(
    info: gsym.FunctionInfo, wants: Callable[[str], bool]
) -> gsym.FunctionInfo | None:
    left = [one for one in (info, *info.merged) if wants(one.name)]
    return left[0]._replace(merged=tuple(left[1:])) if left else None


# ---- what is refused


@pytest.mark.parametrize(
    "options",
    [
        {"keep_functions": ["("]},
        {"drop_functions": ["*"]},
        {"address_ranges": [(5, 5)]},
        {"address_ranges": [(6, 5)]},
        {"address_ranges": [(-1, 5)]},
        {"address_ranges": [(0, 2**64)]},
    ],
)
def test_wrong_selections_are_refused(
    options: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"regular expression|range of addresses"):
        selected(tmp_path, FILE, **options)


def test_nothing_selected_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(gsym.EmptyError, match=r"in: no function is selected"):
        selected(tmp_path, FILE, keep_functions=["delta"])
    assert not (tmp_path / "out.gsym").exists()


# ---- command line


def test_the_options_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, summary = tmp_path / "in", tmp_path / "summary.json"
    path.write_bytes(FILE)
    arguments = ["--keep-functions", "alpha", "--drop-functions=bet", "--address-range"]
    arguments += ["0x10-0x20", "--address-range=0x20-0x30", "--json-summary"]
    assert main(["convert", str(path), *arguments, str(summary)]) == 0
    assert names(read_functions(f"{path}.gsym")) == "alpha"
    assert "; pruned 0, dropped 3\n" in capsys.readouterr().out
    (report,) = json.loads(summary.read_text())["conversions"]
    assert report["functions_dropped"] == 3


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--keep-functions", "("),
        ("--drop-functions", "["),
        ("--address-range", "0x10"),
        ("--address-range", "0x10-"),
        ("--address-range", "0x10-0x10"),
        ("--address-range", "0x10-0x10000000000000000"),
    ],
)
def test_wrong_values_are_usage_errors(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in"
    path.write_bytes(FILE)
    assert main(["convert", str(path), option, value]) == 2
    assert f"option '{option}'" in capsys.readouterr().err
    assert main(["convert", "--verify", str(path), option, "0-1"]) == 2
    assert "excludes" in capsys.readouterr().err
