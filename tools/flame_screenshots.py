"""Take screenshots of the page of `gsym trace flame`, for the manual.

    python tools/flame_screenshots.py

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
from screenshots import save

from gsym.trace.profiles.flame_graph import flame_graph
from gsym.trace.profiles.model import Frame, Mapping, ProfileBuilder, Thread, ValueType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from gsym.trace.profiles.model import Profile

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


def stack_of(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of a stack, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


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
    places: dict[tuple[str, int], int] = {}
    while time.monotonic_ns() < end:
        time.sleep(PERIOD / 10**9)
        frames = sys._current_frames()  # noqa: SLF001 - its documented name
        for name, thread in zip(works, threads, strict=True):
            stack = []
            for frame in stack_of(frames.get(thread.ident or 0)):
                code = frame.f_code
                place = code.co_qualname, frame.f_lineno
                number = places.setdefault((str(code), frame.f_lineno), len(places))
                module = builder.mapping(
                    Mapping(0, 0, path=frame.f_globals["__name__"])
                )
                index = builder.location(number, module)
                path = code.co_filename.removeprefix(sys.base_prefix)
                builder.profile.locations[index] = builder.profile.locations[
                    index
                ]._replace(frames=(Frame(place[0], "", path, place[1]),))
                stack.append(index)
            number = builder.thread(Thread(1, thread.native_id or 0, "tool", name))
            if stack:
                builder.sample(
                    builder.stack(stack),
                    (PERIOD,),
                    thread=number,
                    time=time.monotonic_ns(),
                )
    return builder.profile


def main() -> None:
    """Take all of them."""
    profile = sampled({"reader": read_sources, "writer": write_json})
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "flame.html")
        page_text = flame_graph([profile], "parse.pb.gz", roots=("thread",))
        path.write_text(page_text, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, scheme, size, fragment, hovered in (
            ("flame-calls", "light", (1180, 560), "", "Parser"),
            ("flame-sandwich", "dark", (1180, 560), "", "sandwich"),
            ("flame-time", "light", (1180, 420), "view=time", ""),
            ("flame-phone", "light", (390, 780), "search=tokenize", ""),
        ):
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            page = context.new_page()
            page.goto(f"{path.as_uri()}#{fragment}")
            page.wait_for_selector(".node")
            if hovered == "sandwich":
                page.get_by_role("treeitem", name="_tokenize").first.focus()
                page.keyboard.press("s")
            elif hovered:
                page.locator(".node:not(:empty)").nth(14).hover()
            save(name, page.screenshot())
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
