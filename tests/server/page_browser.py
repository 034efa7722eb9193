"""The page in headless Chromium, where that and Playwright are installed."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.sanitizer import has_address_sanitizer

if TYPE_CHECKING:
    from collections.abc import Iterator

# Without a sandbox where the tests run as root, as in a container.
_ARGUMENTS = ["--no-sandbox"] if os.geteuid() == 0 else []


def find_chromium() -> str | None:
    """The browser that Debian installs."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def open_browser() -> Iterator[Any]:
    """A browser, as a fixture yields it."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("chromium is not installed")
    if has_address_sanitizer():
        pytest.skip("the browser would load the sanitizer as well")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A page, and what went wrong in it.

    Attributes:
        page: That of Playwright.
        faults: Errors of scripts, and what the browser said on its console: the
            policy for content being broken, files that are missing.
        asked: URLs of all requests.
    """

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.url = url
        self._context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **options}
        )
        self._context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self._context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def close(self) -> None:
        self._context.close()

    def renew(self) -> None:
        """Begin anew, as if nothing had been; a new page would take a second."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.goto("about:blank")
        self.faults.clear()
        self.asked.clear()

    def open(self, fragment: str = "") -> None:
        self.page.goto(f"{self.url}/{fragment}")

    def symbolize(self, text: str) -> None:
        """Paste a text and wait for the answer."""
        self.page.evaluate("document.getElementById('input').open = true")
        self.page.fill("#text", text)
        self.page.press("#text", "Control+Enter")
        self.page.wait_for_selector("#paste :not([aria-busy]).main", state="attached")
        self.page.wait_for_selector("#answer .summary")

    def texts(self, selector: str) -> list[str]:
        """The text of each element, white space folded."""
        found = self.page.locator(selector).all_inner_texts()
        return [" ".join(text.split()) for text in found]

    def copied(self) -> str:
        """What the clipboard holds."""
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def width(self) -> int:
        """How wide what is there is, in pixels."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))
