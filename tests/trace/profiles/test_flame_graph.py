"""The flame graph as a person uses it, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gsym.trace.profiles.flame_graph import flame_graph
from gsym.trace.profiles.model import Frame, Profile
from tests.server.page_browser import Visit, open_browser
from tests.trace.profiles.profiles import small_profile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

EVIL = "</script><script>document.title='broken'</script>@data@"


def changed_profile() -> Profile:
    """The small profile with most of its weight on the other stack."""
    profile = small_profile()
    profile.samples = [
        sample._replace(values=(9, 900)) if sample.stack == 1 else sample
        for sample in profile.samples
    ]
    return profile


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from open_browser()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:  # noqa: ANN401
    visit = Visit(browser, tmp_path.as_uri())
    yield visit
    assert visit.faults == []
    assert len(visit.asked) == 1  # the page itself
    visit.close()


def show(visit: Visit, folder: Path, *profiles: Profile, **options: Any) -> None:  # noqa: ANN401
    page = flame_graph(profiles, "run of app", **options)
    (folder / "flame.html").write_text(page, encoding="utf-8")
    visit.open("flame.html")
    visit.page.wait_for_selector(".node")


def widths(visit: Visit) -> dict[str, float]:
    """The share of the graph's width that each node has, by its name."""
    return dict(
        visit.page.evaluate(
            "[...document.querySelectorAll('.node')].map((node) => [node.textContent,"
            " Math.round(1000 * node.getBoundingClientRect().width"
            " / document.getElementById('graph').clientWidth) / 10])"
        )
    )


def node(visit: Visit, name: str) -> Any:  # noqa: ANN401
    return visit.page.get_by_role("treeitem", name=name, exact=True)


def test_widths_are_shares(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, small_profile())
    assert widths(visit) == {
        "main": 100,
        "outer(int)": 87.5,
        "inner()": 87.5,
        "a.so!0x7fff": 12.5,
    }


def test_zooming_fills_the_width_and_escape_resets_it(
    visit: Visit, tmp_path: Path
) -> None:
    show(visit, tmp_path, small_profile())
    node(visit, "outer(int)").click()
    assert widths(visit) == {"main": 100, "outer(int)": 100, "inner()": 100}
    visit.page.keyboard.press("Escape")
    assert len(widths(visit)) == 4


def test_a_search_marks_nodes_and_shows_their_share(
    visit: Visit, tmp_path: Path
) -> None:
    show(visit, tmp_path, small_profile())
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("/^(outer|inner)/")
    assert visit.texts(".found") == ["outer(int)", "inner()"]
    assert visit.texts("#found") == ["2 found, 87.50 %"]
    visit.page.fill("#search", "nothing")
    assert visit.texts("#found") == ["none found"]
    visit.page.fill("#search", "/(/")
    assert visit.texts("#found") == ["none found"]


def test_reversed_stacks_begin_where_samples_ended(
    visit: Visit, tmp_path: Path
) -> None:
    show(visit, tmp_path, small_profile())
    visit.page.check("#reverse")
    rows = visit.page.evaluate(
        "[...document.querySelectorAll('.node')].map((node) =>"
        " [node.textContent, node.offsetTop])"
    )
    assert sorted(map(tuple, rows)) == [
        ("a.so!0x7fff", 0),
        ("inner()", 0),
        ("main", 18),
        ("main", 36),
        ("outer(int)", 18),
    ]


def test_keys_walk_the_tree(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, small_profile())
    node(visit, "main").focus()
    for key, name in (
        ("ArrowDown", "outer(int)"),
        ("ArrowRight", "a.so!0x7fff"),
        ("ArrowLeft", "outer(int)"),
        ("ArrowUp", "main"),
    ):
        visit.page.keyboard.press(key)
        assert visit.page.evaluate("document.activeElement.textContent") == name
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("Enter")
    assert widths(visit)["outer(int)"] == 100


def test_a_comparison_shows_how_shares_changed(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, small_profile(), changed_profile())
    assert visit.page.input_value("#colour") == "change"
    node(visit, "a.so!0x7fff").hover()
    assert visit.texts("#detail")[0].endswith(
        "9 samples, 56.25 %; of its own 9 samples"
        " before 1 samples, 12.50 %: +43.75 points"
    )
    red, blue = (
        node(visit, name).evaluate("node => getComputedStyle(node).backgroundColor")
        for name in ("a.so!0x7fff", "inner()")
    )
    assert red != blue


def test_names_are_escaped(visit: Visit, tmp_path: Path) -> None:
    profile = small_profile()
    profile.locations = [
        each._replace(frames=(Frame(EVIL, EVIL, EVIL),)) for each in profile.locations
    ]
    (tmp_path / "flame.html").write_text(flame_graph([profile], EVIL), encoding="utf-8")
    visit.open("flame.html")
    visit.page.wait_for_selector(".node")
    assert visit.page.title() == EVIL
    assert set(visit.texts(".node")) == {EVIL}
