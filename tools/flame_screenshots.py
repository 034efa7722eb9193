"""Take screenshots of the page of `gsym trace flame`, for the manual.

    python -m tools.flame_screenshots

The profile is one of this Python: two threads that parse, sampled. Needs Playwright,
Chromium and Pillow.
"""

from __future__ import annotations

import ast
import json
import shutil
import sys
import tempfile
import threading
import time
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from gsym.profiles.flame_graph import flame_page
from gsym.profiles.model import Frame, Mapping, ProfileBuilder, Thread, ValueType
from tools.screenshots import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from playwright.sync_api import Page

    from gsym.profiles.model import Profile

PERIOD = 1_000_000  # nanoseconds
SECONDS = 4
SOURCES = sorted(Path(ast.__file__).parent.glob("a*.py"))


def read_sources() -> None:
    """Work of one kind."""
    for path in SOURCES:
        with path.open("rb") as file:
            list(tokenize.tokenize(file.readline))
        ast.unparse(ast.parse(path.read_bytes()))


def write_json() -> None:
    """Work of another."""
    made = {path.name: path.read_text("utf-8").split() for path in SOURCES}
    json.loads("".join(json.JSONEncoder(indent=1).iterencode(made)))
    tokenize.untokenize(tokenize.generate_tokens(iter(["x = 1\n"] * 300).__next__))


def frames_of(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of a stack, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def location(builder: ProfileBuilder, frame: FrameType) -> int:
    """Where a frame is: its line counts as the address."""
    code = frame.f_code
    line = frame.f_lineno or code.co_firstlineno
    module = builder.mapping(Mapping(0, 0, path=frame.f_globals["__name__"]))
    index = builder.location(id(code) + line, module)
    path = code.co_filename.removeprefix(sys.base_prefix)
    known = Frame(code.co_qualname, "", path, line)
    locations = builder.profile.locations
    locations[index] = locations[index]._replace(frames=(known,))
    return index


def sampled(works: dict[str, Callable[[], None]]) -> Profile:
    """A profile of threads that work."""
    builder = ProfileBuilder((ValueType("cpu", "nanoseconds"),))
    end = time.monotonic_ns() + SECONDS * 10**9

    def run(work: Callable[[], None]) -> None:
        while time.monotonic_ns() < end:
            work()

    threads = [threading.Thread(target=run, args=[work]) for work in works.values()]
    for thread in threads:
        thread.start()
    while time.monotonic_ns() < end:
        time.sleep(PERIOD / 10**9)
        tops = sys._current_frames()  # noqa: SLF001 - its documented name
        for name, thread in zip(works, threads, strict=True):
            frames = frames_of(tops.get(thread.ident or 0))
            if stack := [location(builder, frame) for frame in frames]:
                builder.sample(
                    builder.stack(stack),
                    (PERIOD,),
                    thread=builder.thread(Thread(1, thread.native_id or 0, "", name)),
                    time=time.monotonic_ns(),
                )
    return builder.profile


def hover(page: Page) -> None:
    """Show the details of a node."""
    page.get_by_role("treeitem", name="unparse", exact=True).hover()


def open_sandwich(page: Page) -> None:
    """Show the calls of a function."""
    page.get_by_role("treeitem", name="_tokenize", exact=True).first.focus()
    page.keyboard.press("s")
    page.evaluate("document.activeElement.blur()")


def search(page: Page) -> None:
    """Zoom, and mark some nodes."""
    page.get_by_role("treeitem", name="unparse", exact=True).click()
    page.fill("#search", "traverse")
    page.evaluate("document.activeElement.blur()")


def do_nothing(_page: Page) -> None:
    """Show the page as its link says."""


PICTURES: tuple[tuple[str, str, tuple[int, int], Callable[[Page], None]], ...] = (
    ("flame-calls", "", (1180, 460), hover),
    ("flame-sandwich", "", (1180, 420), open_sandwich),
    ("flame-time", "view=time", (1180, 420), do_nothing),
    ("flame-search", "", (1180, 460), search),
)
DARK = {"flame-search"}


def main() -> None:
    """Take all of them."""
    profile = sampled({"reader": read_sources, "writer": write_json})
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "flame.html")
        text = flame_page([profile], "parse.pb.gz", roots=("thread",))
        path.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, fragment, (width, height), act in PICTURES:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if name in DARK else "light",
            )
            page = context.new_page()
            page.goto(f"{path.as_uri()}#{fragment}")
            page.wait_for_selector(".node")
            act(page)
            save(name, page.screenshot())
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
