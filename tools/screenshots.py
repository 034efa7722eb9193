"""Take screenshots of the web page of a running `gsym serve`, for the manual.

    python tools/screenshots.py /path/to/libjvm.so [MORE]...

The files are added to a new store. The stack in the screenshots has addresses of the
first one, which should be large and have inlined calls. Needs Playwright, Chromium and
Pillow.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

import gsym
from gsym.store.adding import add_file
from gsym.store.directory import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from gsym.store.entries import Entry

IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
COLORS = 96
FRAMES = 11
MISSING = "ba489d4985c0cf173209da67405662f9"
LOAD_SECONDS = 60


@contextmanager
def running_server(store: Store) -> Iterator[str]:
    """The URL of `gsym serve` for *store*."""
    command = [sys.executable, "-m", "gsym", "serve", "--store", store.path]
    command += ["--port", "0", "--source", tempfile.gettempdir()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        lines = process.stderr or ()
        url = next(filter(None, (re.search(r"http://[\d.]+:\d+", at) for at in lines)))
        threading.Thread(target=list, args=(lines,), daemon=True).start()
        yield url[0]
        process.terminate()


def chosen_addresses(entry: Entry) -> list[int]:
    """Addresses with inlined calls of some depth, the same each time."""
    addresses: list[int] = []
    with gsym.open(entry.path) as reader:
        chance = random.Random(7)  # noqa: S311 - a picture
        while len(addresses) < FRAMES:
            function = reader.function(chance.randrange(len(reader)))
            address = function.start + chance.randrange(max(function.size, 1))
            found = reader.lookup(address)
            if found is None or len(function.name) > 60:  # noqa: PLR2004
                continue
            depth = len(found.frames)
            if depth == 1 + len(addresses) % 4 and found.frames[0].line:
                addresses.append(address)
    return addresses


def backtrace(entry: Entry) -> str:
    """A stack of Android's form in a module of the store."""
    name, build_id = entry.identity.debug_file, entry.identity.code_id.lower()
    head = (
        "Build fingerprint: 'demo/board/board:14/UP1A.231005.007/1:user/release-keys'\n"
        "pid: 4711, tid: 4720, name: C2 CompilerThre  >>> org.example.app <<<\n"
        "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0000000000000018\n\n"
        "backtrace:\n"
    )
    lines = [
        f"  #{at:02d} pc {address:016x}  /data/app/lib/{name} (BuildId: {build_id})\n"
        for at, address in enumerate(chosen_addresses(entry))
    ]
    last = (
        f"  #{FRAMES} pc 0000000000089abc  /system/lib64/libc.so (BuildId: {MISSING})\n"
    )
    return head + "".join(lines) + last


def send_load(url: str, entry: Entry, stop: threading.Event) -> None:
    """Requests of programs, at a rate that comes and goes."""
    chance = random.Random(3)  # noqa: S311 - a picture
    module = [entry.identity.debug_file, entry.identity.debug_id]
    addresses = chosen_addresses(entry)
    rate = 40.0
    while not stop.wait(1 / rate):
        rate = min(150.0, max(5.0, rate * chance.uniform(0.93, 1.08)))
        stacks = [[[0, address] for address in chance.sample(addresses, 8)]]
        body = json.dumps({"memoryMap": [module], "stacks": stacks}).encode()
        with urllib.request.urlopen(f"{url}/symbolicate/v5", body) as answer:  # noqa: S310
            answer.read()


def save(name: str, picture: bytes) -> None:
    """Write a picture with few colors, which the page has anyway."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    small = image.quantize(COLORS, dither=Image.Dither.NONE)
    small.save(IMAGES / f"{name}.png", optimize=True)
    print(f"{name}.png: {(IMAGES / f'{name}.png').stat().st_size} bytes")


class Visitor:
    """Takes the pictures that the manual shows."""

    def __init__(self, browser: Browser, url: str, entry: Entry) -> None:
        self._browser = browser
        self._url = url
        self._entry = entry

    def open(self, size: tuple[int, int], fragment: str = "", **options: bool) -> Page:
        """The page, as wide and high as *size* says."""
        width, height = size
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if options.get("dark") else "light",
            is_mobile=options.get("phone", False),
            device_scale_factor=2 if options.get("phone") else 1,
        )
        page = context.new_page()
        page.goto(f"{self._url}/{fragment}")
        return page

    def symbolize(self, page: Page) -> None:
        """Paste a report."""
        page.fill("#text", backtrace(self._entry))
        page.evaluate("document.getElementById('text').scrollTop = 0")
        page.click("#paste button")
        page.wait_for_selector(".stack")
        page.evaluate("document.activeElement.blur()")

    def stack(self) -> None:
        """A stack, on a desk and on a phone."""
        page = self.open((1180, 900))
        self.symbolize(page)
        page.mouse.move(0, 0)
        save("page-stack", page.screenshot(full_page=True))
        page = self.open((360, 780), phone=True)
        self.symbolize(page)
        save("page-phone", page.screenshot())

    def modules(self) -> None:
        """The modules of the store, and one of them."""
        page = self.open((1180, 520), "#/modules", dark=True)
        page.wait_for_selector("#other table")
        save("page-modules", page.screenshot())
        page = self.open((1180, 580), f"#/module/{self._entry.identity.debug_id}")
        page.wait_for_selector(".facts")
        page.fill("#search", "split")
        page.wait_for_selector(".found button")
        page.click(".found button")
        page.wait_for_selector(".found strong")
        page.evaluate("document.activeElement.blur()")
        save("page-module", page.screenshot())

    def figures(self) -> None:
        """What the server does under load."""
        page = self.open((1180, 640), "#/figures", dark=True)
        stop = threading.Event()
        load = threading.Thread(target=send_load, args=(self._url, self._entry, stop))
        load.start()
        page.wait_for_timeout(1000 * LOAD_SECONDS)
        save("page-figures", page.screenshot())
        stop.set()
        load.join()


def main(files: list[str]) -> None:
    """Fill a store, serve it, take pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        first, *_others = [add_file(store, each).entry for each in files]
        with running_server(store) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            visitor = Visitor(browser, url, first)
            visitor.stack()
            visitor.modules()
            visitor.figures()
            browser.close()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1:])
