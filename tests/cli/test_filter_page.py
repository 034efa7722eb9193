"""A page of `gsym filter` as a person uses it, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gsym.markup.filter import MarkupFilter
from gsym.markup.html_output import HTML_END, HtmlOutput
from tests.markup_modules import CONTEXT, Modules
from tests.server.page_browser import Visit, open_browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.long

STACK = b"".join(b"{{{bt:%d:0x1041:pc}}}\n" % number for number in range(20))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from open_browser()


def visit_page(browser: Any, folder: Path, **options: Any) -> Visit:  # noqa: ANN401
    log_filter = MarkupFilter(Modules(), output=HtmlOutput())
    page = log_filter.feed(CONTEXT + STACK) + log_filter.finish() + HTML_END
    (folder / "log.html").write_bytes(page)
    visit = Visit(browser, folder.as_uri(), **options)
    visit.open("log.html")
    return visit


def test_each_frame_of_a_stack_shows_its_own_details(
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    visit = visit_page(browser, tmp_path)
    for number in range(3):  # what is shown of one covers the next
        frame = visit.page.locator(".e").nth(number)
        frame.hover()
        detail = visit.page.locator(".e > span:visible")
        assert detail.all_inner_texts() == [frame.locator("span").inner_text()]
        assert f"{{{{{{bt:{number}:0x1041:pc}}}}}}" in detail.inner_text()
    assert visit.faults == []
    assert visit.asked == [f"{visit.url}/log.html"]
    visit.close()


def test_details_open_on_a_click_and_can_be_selected(
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    visit = visit_page(browser, tmp_path)
    visit.page.locator(".e").first.click()
    detail = visit.page.locator(".e > span").first
    visit.page.mouse.move(0, 0)
    detail.click(click_count=3)
    assert "build id abcdef" in visit.page.evaluate("getSelection().toString()")
    assert detail.is_visible()
    visit.close()


def test_each_frame_shows_its_details_on_a_tap(
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    visit = visit_page(browser, tmp_path, has_touch=True, is_mobile=True)
    for number in range(3):
        visit.page.locator(".e").nth(number).tap()
        shown = visit.page.locator(".e > span:visible").all_inner_texts()
        assert [f"{{{{{{bt:{number}:" in text for text in shown] == [True]
    visit.close()
