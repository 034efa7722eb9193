"""What benchmarks conclude from their measurements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.crossing import crossing
from benchmarks.figures import (
    FIGURES,
    INPUTS,
    MISSING,
    SINGLES,
    cell,
    figures,
    found,
    module_of,
    quality_figures,
)
from benchmarks.markdown import (
    region_in,
    regions_in,
    table,
    tables_in,
    with_region,
)
from benchmarks.report import CONTEXT
from benchmarks.series import Tool, series_of

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBERS = (1, 10, 100, 1_000)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ((1, 1, 1, 1), (2, 3, 4, 5), "1"),
        ((1, 1, 1, 1), (1, 1, 1, 1), "1"),
        ((1, 1, 1, 1), (0.1, 1, 10, 100), "10"),
        ((1, 1, 1, 1), (0.1, 0.1, 10), "32"),  # half way between 10 and 100
        ((1, 1, 1, 1), (0.1, 0.2), "> 10"),
        ((4, 4, 4, 4), (1, 1, 1, 2), "> 1000"),
    ],
    ids=repr,
)
def test_crossing_of_two_series(
    ours: tuple[int, int, int, int], theirs: tuple[float | int, ...], expected: str
) -> None:
    assert crossing(NUMBERS, ours, theirs) == expected


def test_a_peer_that_fails_ends_its_series(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = tmp_path / "query"
    lines = f"import sys; sys.exit(len(open({str(query)!r}).readlines()) > 1)"
    answers = Tool(None, [sys.executable, "-c", lines])
    assert len(series_of(answers, [1, 2, 3], query)) == 1
    assert "exit status 1: " in capsys.readouterr().err
    fails = answers._replace(convert=[sys.executable, "-c", "raise SystemExit(3)"])
    assert series_of(fails, [1], query) == []
    assert "exit status 3: " in capsys.readouterr().err


@pytest.mark.slow
def test_lookups_are_compared_without_a_corpus_on_a_small_binary() -> None:
    words = ["-m", "pytest", "benchmarks", "-q", "-p", "no:cacheprovider"]
    words += ["-p", "no:xdist", "--benchmark-disable"]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout
    assert " passed" in done.stdout


def test_the_readme_and_the_manual_show_the_figures_of_the_tables() -> None:
    assert region_in(README, "figures") == figures(BENCHMARKS)
    assert f"| {MISSING} |" not in quality_figures(BENCHMARKS)


@pytest.mark.parametrize("name", INPUTS)
def test_figures_are_in_the_tables(name: str) -> None:
    assert MISSING not in {cell(BENCHMARKS, figure, name) for figure in FIGURES}


def test_figures_of_one_row_are_in_the_tables() -> None:
    shown = {found(BENCHMARKS, figure, figure.row) for figure in SINGLES}
    made = {module_of(BENCHMARKS, figure.region) for figure in (*FIGURES, *SINGLES)}
    assert MISSING not in shown | made


def test_figure_is_the_first_matching_column() -> None:
    head = ("input", "threads", "wall gsym", "ratio", "cpu gsym", "ratio")
    rows = [
        ["vmlinux", "1", "2.5", "**3.0x**", "2.4", "**3.5x**"],
        ["vmlinux", "2", "1.5", "**4.0x**", "1.4", "**4.5x**"],
    ]
    page = with_region("", "conversion", table(head, rows))
    one, two, *_ = FIGURES
    assert (one.threads, two.threads) == ("1", "2")
    assert cell(page, one, "vmlinux") == "3.0x"
    assert cell(page, two, "vmlinux") == "4.0x"
    assert cell(page, two._replace(start="cpu gsym"), "vmlinux") == "4.5x"
    assert cell(page, one, "libc.plain") == MISSING
    assert cell("", one, "vmlinux") == MISSING


def test_the_page_states_one_commit_and_has_no_table_beside_those_measured() -> None:
    rest, stated = BENCHMARKS, "commit: "
    for name in regions_in(BENCHMARKS):
        assert (stated in region_in(BENCHMARKS, name)) == (name == CONTEXT), name
        rest = with_region(rest, name, "")
    assert tables_in(rest) == []
    assert stated not in rest


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the pages that a measurement writes to; the commit is `first`."""
    for name, text in (("DOCUMENT", BENCHMARKS), ("README", README)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(report, name, path)
    monkeypatch.setattr(report, "commit", lambda: "first")
    return tmp_path


def test_a_measurement_of_everything_begins_with_an_empty_page(copies: Path) -> None:
    report.begin()
    page = (copies / "DOCUMENT").read_text(encoding="utf-8")
    assert "first" in region_in(page, CONTEXT).split()
    assert report.empty_regions() == [
        name for name in regions_in(BENCHMARKS) if name != CONTEXT
    ]
    report.write_region("sizes", "measured")
    assert "sizes" not in report.empty_regions()


def test_no_table_of_another_commit_is_written(
    copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report.begin()
    page = (copies / "DOCUMENT").read_text(encoding="utf-8")
    monkeypatch.setattr(report, "commit", lambda: "second")
    with pytest.raises(ValueError, match="another commit than second"):
        report.write_region("sizes", "measured")
    assert (copies / "DOCUMENT").read_text(encoding="utf-8") == page


@pytest.mark.usefixtures("copies")
def test_a_changed_checkout_has_no_commit_to_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "commit", lambda: f"first{report.CHANGED}")
    with pytest.raises(ValueError, match="changes beside it"):
        report.begin()


def test_region_is_replaced_and_its_surroundings_stay() -> None:
    page = with_region("# Page\n", "one", "1")
    page = with_region(f"{page}between\n", "two", "2")
    changed = with_region(page, "one", "3\n4")
    assert region_in(changed, "one") == "3\n4"
    assert changed == page.replace("\n1\n", "\n3\n4\n")
    assert region_in(changed, "three") == ""


def test_tables_are_read_as_they_are_written() -> None:
    rows = [["a", "1"], ["b", "2"]]
    text = table(("name", "count"), rows)
    assert tables_in(f"{text}\n\ntext\n{text}") == [[["name", "count"], *rows]] * 2
