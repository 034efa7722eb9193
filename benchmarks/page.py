"""A long report on the web page: from submitting it to the answer on the screen.

    python -m benchmarks.page CORPUS [--rounds 5] [--write]

Chromium pastes a report of 10,000 frames of libjvm.plain, and gets a log of 20 MB with
1,000 frames as a file that is dropped. Needs Playwright and Chromium.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import gsym
from benchmarks.markdown import table
from benchmarks.report import argument_parser, made_by, write_region
from benchmarks.serving import HOST, ServerProcess
from tests.server.page_browser import open_browser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INPUT = "libjvm.plain"
FRAMES = 10_000
LOG_FRAMES = 1_000
LOG_SIZE = 20_000_000
SEED = 20_260_101
LEGEND = """\
Medians of {rounds} rounds in seconds, each on a page that is loaded anew, after the
module was converted. *Painted*: from submitting or dropping it to the frame of the
screen with the first lines of the answer; *end*: until the last line is on the screen,
to which the page is scrolled then. *Request*: the part of it from sending to the last
byte of the response. *Page* and *server*: processor time of the page's main thread, and
of the processes of `gsym serve`. The load average of the machine was {load:.0f}."""
HEAD = ("input", "characters", "frames", "painted", "end", "request", "page", "server")

# A promise of the times at which the first and the last line are painted.
_WATCH = """(last) => {
    const until = (holds) => new Promise((resolve) => {
        const look = () => holds() && resolve();
        new MutationObserver(look).observe(document.getElementById("answer"),
            {childList: true, subtree: true});
    });
    const painted = () => new Promise((resolve) => requestAnimationFrame(
        () => setTimeout(() => resolve(performance.now() - started))));
    const stack = () => document.querySelector("#answer .stack");
    window.times = (async () => {
        await until(() => stack()?.querySelector(".line, .said"));
        const first = await painted();
        const ended = until(() => stack().lastElementChild.innerText.includes(last));
        scrollTo(0, document.body.scrollHeight);
        await ended;
        return [first, await painted()];
    })();
}"""
# What is done before the time counts.
_PASTE = """(text) => {
    document.getElementById("text").value = text;
    return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}"""
_SUBMIT = """() => {
    window.started = performance.now();
    document.getElementById("paste").requestSubmit();
}"""
_HOLD = """(text) => {
    window.data = new DataTransfer();
    data.items.add(new File([text], "app.log"));
}"""
_DROP = """() => {
    window.started = performance.now();
    dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
}"""
_REQUEST = """() => {
    const sent = performance.getEntriesByType("resource")
        .find((each) => new URL(each.name).pathname.endsWith("/symbolicate/report"));
    return sent.responseEnd - sent.requestStart;
}"""


class Round(NamedTuple):
    """Seconds, as the legend says."""

    painted: float
    end: float
    request: float
    page: float
    server: float


def frame_lines(path: Path, count: int) -> Iterator[str]:
    """Frames as sanitizers print them, at random functions."""
    chosen = random.Random(SEED)  # noqa: S311 - no secrets
    with gsym.open(path) as reader:
        for number in range(count):
            function = reader.function(chosen.randrange(len(reader)))
            inside = function.start + chosen.randrange(max(1, function.size))
            offset = inside - reader.header.base_address
            yield (
                f"    #{number} {0x7F0000000000 + offset:#x}  (/opt/jdk/lib/libjvm.so"
                f"+{offset:#x}) (BuildId: {reader.uuid.hex()})\n"
            )


def report(path: Path) -> str:
    """A report with nothing but frames."""
    return "".join(frame_lines(path, FRAMES)) + "the end\n"


def log(path: Path) -> str:
    """A log with frames here and there."""
    said = "2026-01-01 12:00:00.000 INFO  [worker] a request was answered in 12 ms\n"
    gap = said * (LOG_SIZE // LOG_FRAMES // len(said))
    return "".join(gap + each for each in frame_lines(path, LOG_FRAMES)) + "the end\n"


def used_seconds(pids: Sequence[int]) -> float:
    """The processor time of processes."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")
        ticks += sum(map(int, fields[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def visit(
    browser: Any, server: ServerProcess, text: str, actions: tuple[str, str]
) -> Round:
    """Submit a text on a new page."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"http://{HOST}:{server.port}/")
    page.wait_for_selector("#drop-hint:visible")
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used() -> tuple[float, float]:
        metrics = client.send("Performance.getMetrics")["metrics"]
        found = {each["name"]: float(each["value"]) for each in metrics}
        own = found["DevToolsCommandDuration"]  # among it to take over the text
        return found["TaskDuration"] - own, used_seconds(server.pids())

    prepare, submit = actions
    page.evaluate(_WATCH, "the end")
    page.evaluate(prepare, text)
    before = used()
    page.evaluate(submit)
    painted, end = page.evaluate("times")
    request = page.evaluate(_REQUEST)
    after = used()
    page.close()
    return Round(
        *(painted / 1000, end / 1000, request / 1000),
        *(now - then for now, then in zip(after, before, strict=True)),
    )


def main() -> None:
    """Measure, print, and with --write keep the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    path = arguments.corpus / "big" / INPUT
    rows, load = [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        converted = Path(temporary) / "libjvm.gsym"
        gsym.convert(path, converted)
        inputs = (
            ("a paste", report(converted), FRAMES, (_PASTE, _SUBMIT)),
            ("a dropped log", log(converted), LOG_FRAMES, (_HOLD, _DROP)),
        )
        options = ("--store", f"{temporary}/store", "--source", temporary)
        with ServerProcess(*options) as server:
            for browser in open_browser():
                for name, text, frames, actions in inputs:
                    visit(browser, server, text, actions)
                    runs = [
                        visit(browser, server, text, actions)
                        for _ in range(arguments.rounds)
                    ]
                    found = [median(values) for values in zip(*runs, strict=True)]
                    rows.append(
                        [name, f"{len(text)}", f"{frames}"]
                        + [f"{value:.2f}" for value in found]
                    )
                    print(" | ".join(rows[-1]), file=sys.stderr)
    parts = [
        made_by("python -m benchmarks.page CORPUS", ["chromium"]),
        LEGEND.format(rounds=arguments.rounds, load=load),
        table(HEAD, rows),
    ]
    print("\n\n".join(parts))
    if arguments.write:
        write_region("page", "\n\n".join(parts))


if __name__ == "__main__":
    main()
