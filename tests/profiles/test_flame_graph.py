"""The flame graph as a person uses it, in a browser."""

from __future__ import annotations

import json
import re
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.profiles.flame_graph import flame_page
from gsym.profiles.model import (
    Frame,
    Location,
    Profile,
    ProfileBuilder,
    Sample,
)
from tests.profiles.profiles import small_profile
from tests.project.viewers import npm_package
from tests.server.page_browser import Visit, open_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    page = flame_page(profiles, "run of app", **options)
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


def choose(visit: Visit, view: str) -> None:
    visit.page.get_by_text(view, exact=True).click()


def rows(visit: Visit) -> list[list[str]]:
    """The names in each row of the graph, from above."""
    return list(
        visit.page.evaluate(
            """
            Object.values(Object.groupBy(
                [...document.querySelectorAll(".node")]
                    .sort((a, b) => a.offsetLeft - b.offsetLeft),
                (node) => node.offsetTop,
            )).map((row) => row.map((node) => node.textContent))
            """
        )
    )


def fragment(visit: Visit) -> str:
    return str(visit.page.evaluate("location.hash"))


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
    choose(visit, "Callees first")
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
    assert visit.texts("#tip dd") == [
        *("9 samples", "56.25 %", "9 samples", "56.25 %"),
        *("1 samples", "12.50 %", "+43.75 points"),
    ]
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
    (tmp_path / "flame.html").write_text(flame_page([profile], EVIL), encoding="utf-8")
    visit.open("flame.html")
    visit.page.wait_for_selector(".node")
    assert visit.page.title() == EVIL
    assert set(visit.texts(".node")) == {EVIL}


# ---- a sandwich: callers above a function, callees below


def called_profile() -> Profile:
    """`work` is called by two functions, and by itself."""
    builder = ProfileBuilder()
    names = ("main", "a", "b", "work", "leaf")
    at = {name: builder.location(index, None) for index, name in enumerate(names)}
    for name, index in at.items():
        builder.profile.locations[index] = Location(
            index, None, frames=(Frame(name, "", "/src/p.c", 10 + index),)
        )
    for stack, weight in (
        ("main a work leaf", 4),
        ("main b work", 2),
        ("main b work a work leaf", 1),
        ("main b", 1),
    ):
        order = [at[name] for name in reversed(stack.split())]
        builder.sample(builder.stack(order), (weight,))
    return builder.profile


def test_a_sandwich_has_the_totals_of_all_calls(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, called_profile())
    node(visit, "work").first.focus()
    visit.page.keyboard.press("s")
    assert rows(visit) == [
        ["main", "main"],
        ["a", "b"],
        ["work"],
        ["leaf", "a"],
        ["work"],
        ["leaf"],
    ]
    (about,) = visit.texts("#about")
    assert about.startswith("work: 7 samples, 87.50 %, 2 samples of its own.")
    visit.page.keyboard.press("ArrowUp")
    assert visit.texts("#tip dd") == ["4 samples", "50.00 %"]
    visit.page.keyboard.press("Enter")  # now of that function
    assert rows(visit) == [
        *(["main"], ["b"], ["main", "work"]),
        *(["a"], ["work"], ["leaf"]),
    ]
    assert visit.texts("#about")[0].startswith("a: 5 samples")


def test_the_table_of_functions_leads_to_a_sandwich(
    visit: Visit, tmp_path: Path
) -> None:
    show(visit, tmp_path, called_profile())
    visit.page.click("summary")
    visit.page.wait_for_selector("#functions td")
    assert visit.texts("#functions td:nth-child(3)") == [
        *("leaf", "work", "b", "main", "a")
    ]
    visit.page.get_by_role("button", name="Total").click()
    assert visit.texts("#functions td:nth-child(2)") == [
        *("8 samples 100.00 %", "7 samples 87.50 %", "5 samples 62.50 %"),
        *("5 samples 62.50 %", "4 samples 50.00 %"),
    ]
    visit.page.get_by_role("button", name="leaf").click()
    assert visit.texts("#about")[0].startswith("leaf: 5 samples, 62.50 %")
    assert node(visit, "leaf").evaluate("node => node === document.activeElement")


# ---- the order of time


def test_samples_are_drawn_in_the_order_of_time(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, small_profile())
    choose(visit, "Time order")
    assert rows(visit) == [["main"], ["a.so!0x7fff", "outer(int)"], ["inner()"]]
    node(visit, "outer(int)").hover()
    assert visit.texts("#tip dd") == [
        *("3 samples", "37.50 %", "0 samples", "0.00 %"),
        "1 µs after the first sample",
    ]
    visit.page.select_option("#thread", "app (1) / thread 11")
    assert rows(visit) == [["main"], ["outer(int)"], ["inner()"]]
    assert fragment(visit) == "#view=time&thread=1"


def test_profiles_without_times_have_no_order_of_time(
    visit: Visit, tmp_path: Path
) -> None:
    profile = small_profile()
    profile.samples[0] = profile.samples[0]._replace(time=None)
    show(visit, tmp_path, profile)
    views = ["Callers first", "Callees first", "Sandwich"]
    assert visit.texts("#views label") == views
    show_again = flame_page([small_profile(), small_profile()], "two")
    (tmp_path / "flame.html").write_text(show_again, encoding="utf-8")
    visit.page.reload()
    assert visit.texts("#views label") == views
    del visit.asked[1:]


def test_equal_stacks_in_turn_are_one_and_too_many_are_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile = small_profile()
    names = ("deep", "flat")
    profile.samples = [
        Sample(names.index(name), 0, 1000 * time, (weight, 0))
        for time, (name, weight) in enumerate(
            [("deep", 1), ("deep", 2), ("flat", 2), ("deep", 1), ("flat", 5)]
        )
    ]
    (thread,) = data_of(profile)["threads"]
    assert thread == ["app (1) / main (10)", [2, 3, 2, 3], [3, 2, 1, 5], [0, 2, 1, 1]]
    monkeypatch.setattr("gsym.profiles.flame_graph.MOST_RUNS", 2)
    (thread,) = data_of(profile)["threads"]
    assert thread == ["app (1) / main (10)", [2, 3], [5, 6], [0, 3]]


def test_the_line_of_a_function_is_where_most_samples_were() -> None:
    profile = called_profile()
    work = profile.locations[3]
    profile.locations.append(
        work._replace(frames=(work.frames[0]._replace(line=99), *work.frames))
    )
    profile.stacks.append((len(profile.locations) - 1,))
    profile.samples.append(Sample(len(profile.stacks) - 1, None, None, (100,)))
    lines = {each[0]: each[3:] for each in data_of(profile)["functions"]}
    assert lines == {"main": [10, 1], "a": [11, 1], "b": [12, 1], "leaf": [14, 1]} | {
        "work": [13, 2]
    }


def data_of(profile: Profile) -> Any:  # noqa: ANN401
    page = flame_page([profile], "p", value=0)
    return json.loads(page.partition('type="application/json">')[2].partition("<")[0])


# ---- links and the back button


def test_a_link_shows_the_same_view(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, small_profile())
    visit.page.select_option("#colour", "function")
    choose(visit, "Time order")
    node(visit, "outer(int)").click()
    visit.page.fill("#search", "inner")
    visit.page.wait_for_url("**search=inner**")
    link, shown = visit.page.url, rows(visit)
    visit.page.goto("about:blank")
    visit.page.goto(link)
    visit.page.wait_for_selector(".node")
    assert rows(visit) == shown == [["main"], ["outer(int)"], ["inner()"]]
    assert visit.texts(".found") == ["inner()"]
    assert visit.page.input_value("#search") == "inner"
    assert visit.page.input_value("#colour") == "function"
    del visit.asked[1:]


def test_back_returns_to_what_was_shown(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, small_profile())
    node(visit, "outer(int)").click()
    choose(visit, "Sandwich")
    assert visit.texts(".middle") == ["outer(int)"]
    visit.page.go_back()
    assert set(widths(visit).values()) == {100}
    visit.page.go_back()
    assert len(widths(visit)) == 4
    visit.page.go_forward()
    assert len(widths(visit)) == 3


@pytest.mark.parametrize(
    "given",
    ["view=nothing&zoom=7.7&thread=x", "view=sandwich&function=999", "zoom=-1.%00&a"],
)
def test_a_link_of_another_page_shows_the_graph(
    given: str, visit: Visit, tmp_path: Path
) -> None:
    page = flame_page([small_profile()], "run of app")
    (tmp_path / "flame.html").write_text(page, encoding="utf-8")
    visit.open(f"flame.html#{given}")
    visit.page.wait_for_selector(".node")
    assert "main" in widths(visit)


# ---- details, contrast, accessibility


def test_details_are_at_the_pointer_and_at_the_focus(
    visit: Visit, tmp_path: Path
) -> None:
    show(visit, tmp_path, called_profile())
    node(visit, "main").hover()
    assert visit.texts("#tip strong, #tip .place") == ["main", "/src/p.c:10"]
    visit.page.mouse.move(0, 0)
    assert not visit.page.is_visible("#tip")
    visit.page.get_by_label("Colour by").focus()
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Tab")
    assert visit.texts("#tip dd") == ["8 samples", "100.00 %", "0 samples", "0.00 %"]
    described = node(visit, "main").get_attribute("aria-describedby")
    assert described == "tip"
    tip = visit.page.locator("#tip").bounding_box()
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= 1280


def test_details_stay_after_a_tap(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    visit = Visit(browser, tmp_path.as_uri(), has_touch=True)
    show(visit, tmp_path, called_profile())
    node(visit, "b").tap()
    assert visit.texts("#tip strong") == ["b"]
    assert widths(visit)["b"] == 100
    visit.close()


def test_escape_leaves_the_focus_in_the_graph(visit: Visit, tmp_path: Path) -> None:
    show(visit, tmp_path, called_profile())
    node(visit, "b").focus()
    visit.page.keyboard.press("Enter")
    visit.page.keyboard.press("Escape")
    assert visit.page.evaluate("document.activeElement.textContent") == "main"
    assert not visit.page.is_visible("#tip")


VIEWS = ("", "view=reversed&search=inner", "view=sandwich", "view=time&zoom=0.1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    width: int,
    scheme: str,
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    script = axe_script()
    page_text = flame_page([small_profile()], "run of app")
    (tmp_path / "flame.html").write_text(page_text, encoding="utf-8")
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    visit = Visit(browser, tmp_path.as_uri(), bypass_csp=True, **options)
    for view in VIEWS:
        visit.page.goto("about:blank")
        visit.open(f"flame.html#{view}")
        visit.page.wait_for_selector(".node")
        visit.page.click("summary")
        visit.page.locator(".node").last.focus()
        visit.page.evaluate(script)
        found = visit.page.evaluate("axe.run()")
        assert [each["id"] for each in found["violations"]] == []
        assert visit.width() <= width
    visit.close()


def axe_script() -> str:
    """axe-core, where it is installed: by PyPI, or by npm."""
    package = find_spec("axe_playwright_python")
    if package is not None and package.origin is not None:
        return (Path(package.origin).parent / "axe.min.js").read_text("utf-8")
    return (npm_package("axe-core") / "axe.min.js").read_text("utf-8")


def test_only_rows_near_the_window_are_drawn(visit: Visit, tmp_path: Path) -> None:
    builder = ProfileBuilder()
    order = [builder.location(address, None) for address in range(500)]
    builder.sample(builder.stack(order))
    show(visit, tmp_path, builder.profile)
    assert visit.page.locator(".node").count() < 200
    visit.page.locator(".node").first.focus()
    for _ in range(300):
        visit.page.keyboard.press("ArrowDown")
    assert visit.page.evaluate("document.activeElement.textContent") == "0xc7"
    assert visit.page.evaluate("scrollY") > 3000


def test_a_notebook_has_the_page_in_a_frame_of_its_own() -> None:
    profile = small_profile()
    place = profile.locations[0]
    frame = place.frames[0]._replace(name="<b>\"'&")
    profile.locations[0] = place._replace(frames=(frame,))
    shown = profile._repr_html_()
    frame_of_notebook = re.fullmatch(
        r'<iframe ([^<>]*) srcdoc="([^"<>]*)"></iframe>', shown
    )
    assert frame_of_notebook is not None
    attributes, page = frame_of_notebook.groups()
    assert 'sandbox="allow-scripts"' in attributes  # no storage, no page around it
    assert unescape(page) == flame_page([profile], "profile")
