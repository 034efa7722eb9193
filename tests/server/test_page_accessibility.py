"""The page as axe-core and the keyboard find it, in each of its states."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from gsym.modules.symbolizer import Symbolizer
from tests.project.viewers import npm_package
from tests.server.page_browser import Visit, open_browser
from tests.server.page_store import StoredModules, make_page_store
from tests.server.running import RunningServer
from tests.server.test_page import BACKTRACE, DROP, FRAME, SECTIONS, THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

_VIEWS: dict[str, dict[str, Any]] = {
    "wide, light": {"viewport": {"width": 1280, "height": 900}},
    "wide, dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow, light": {"viewport": {"width": 390, "height": 844}},
    "narrow, dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
_FAULTS = """async () => {
    const found = await axe.run(document, {
        resultTypes: ["violations"], rules: {"target-size": {enabled: true}},
    });
    return found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`));
}"""

_FOCUSED = """() => {
    const {tagName, textContent} = document.activeElement;
    return `${tagName} ${textContent.trim()}`.slice(0, 60);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from open_browser()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "src/lib").mkdir(parents=True)
    (folder / "src/lib/c.h").write_text("a line of a source file;\n" * 20)
    symbolizer = Symbolizer(StoredModules(make_page_store(folder)))
    settings: dict[str, Any] = {
        "enable_source": True,
        "source_roots": [f"/src={folder}/src"],
    }
    with RunningServer(symbolizer, **settings) as running:
        yield running.url


@pytest.fixture(scope="module")
def axe() -> str:
    return (npm_package("axe-core") / "axe.min.js").read_text(encoding="utf-8")


def test_the_keyboard_reaches_all_of_an_answer(browser: Any, site: str) -> None:
    visit = Visit(browser, site)
    visit.open()
    visit.page.focus("#text")
    visit.page.keyboard.insert_text(THREADS)
    visit.page.keyboard.press("Control+Enter")
    visit.page.wait_for_selector("#answer .summary")
    reached = []
    for _press in range(20):
        reached.append(visit.page.evaluate(_FOCUSED))
        visit.page.keyboard.press("Tab")
    order = ["H2 ERROR:", "BUTTON Inlined", "SUMMARY 2", "BUTTON READ", "BUTTON /src"]
    places = [
        [at for at, each in enumerate(reached) if each.startswith(word)][:1]
        for word in order
    ]
    assert all(places), reached
    assert places == sorted(places), reached
    visit.close()


def answers(visit: Visit) -> Iterator[str]:
    """Show one answer after the other."""
    yield "start"
    visit.page.click("#example")
    visit.page.wait_for_selector("#answer .summary")
    yield "example"
    visit.symbolize(BACKTRACE)
    visit.page.click("details.named > summary")
    yield "missing module"
    visit.symbolize(FRAME)
    visit.page.click("details.named > summary")
    visit.page.click("button.place:has-text('c.h:7')")
    visit.page.wait_for_selector(".source .this")
    yield "a guess, and source lines"
    visit.symbolize(THREADS)
    yield "threads"
    visit.page.evaluate("document.getElementById('input').open = true")
    yield "threads below the report"
    log = "a line that says nothing of an address\n" * 50_000
    visit.page.evaluate(DROP, f"{log}{FRAME}\n{log}")
    visit.page.wait_for_selector("text=Paste another report")
    yield "long log"
    visit.symbolize("no address")
    yield "no address"
    visit.page.evaluate(DROP, "\x7fELF\0\0")
    visit.page.wait_for_selector("text=This server takes no uploads.")
    yield "no uploads"


def sections(visit: Visit) -> Iterator[str]:
    """Show one section or dialog after the other."""
    for section, shown in SECTIONS.items():
        visit.open(section)
        visit.page.wait_for_selector(shown)
        yield section
    for dialog in ("shortcuts", "token"):
        visit.page.evaluate(f"document.getElementById('{dialog}').showModal()")
        yield dialog
        visit.page.evaluate(f"document.getElementById('{dialog}').close()")


@pytest.mark.parametrize("view", _VIEWS)
def test_axe_finds_nothing(browser: Any, site: str, axe: str, view: str) -> None:
    visit = Visit(browser, site, **_VIEWS[view])
    visit.page.add_init_script(axe)
    visit.open()
    states = chain(answers(visit), sections(visit))
    found = {state: visit.page.evaluate(_FAULTS) for state in states}
    visit.close()
    assert {state: faults for state, faults in found.items() if faults} == {}
