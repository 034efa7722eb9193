"""Write into the manual the parts that the code declares.

These are each command's `--help` after its `<!-- help: ... -->` mark in docs/cli.md,
and the tables of settings, limits, metrics and codes in docs/server.md.
`refresh_docs.py` rewrites the files; with `--check` it only reports whether they are up
to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gsym.server.monitoring import METRICS
from gsym.server.settings import Limits, Settings, setting_rows
from gsym.server.symbfiles.protocol import FAULTS

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "cli.md"
SERVER_PAGE = DOCS / "server.md"
MARK = re.compile(r"(<!-- help: gsym ?([\w ]*) -->\n)(\n```text\n.*?```\n)?", re.DOTALL)


def help_text(verbs: str) -> str:
    """What `gsym VERB... --help` prints."""
    name = f"verbs.{verbs.replace(' ', '_')}" if verbs else "main"
    module = __import__(f"gsym.cli.{name}", fromlist=("COMMAND",))
    return str(module.COMMAND.help())


def refreshed(page: str) -> str:
    """*page* with each marked block as the commands print it now."""
    return MARK.sub(lambda mark: f"{mark[1]}\n```text\n{help_text(mark[2])}```\n", page)


def with_table(page: str, heading: str, rows: list[list[str]]) -> str:
    """*page* with these rows in the table below *heading*."""
    before, title, rest = page.partition(f"\n## {heading}\n")
    text, rule, table = rest.partition("\n|---|---|---|\n")
    lines = table.splitlines(keepends=True)
    while lines and lines[0].startswith("|"):
        del lines[0]
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    made = [f"| {' | '.join(row)} |\n" for row in cells]
    return "".join([before, title, text, rule, *made, *lines])


def server_page(page: str) -> str:
    """*page* with the tables as the code of the server has them."""
    settings, limits = (
        [
            [f"`{name}`", f"`{default}`" if default else "", text]
            for name, default, text in setting_rows(kind)
        ]
        for kind in (Settings, Limits)
    )
    figures = [
        [f"`{name}`", ", ".join(labels), text]
        for name, (labels, text) in METRICS.items()
    ]
    codes = [[fault.code, str(fault.status), fault.when] for fault in FAULTS]
    tables = {
        "Settings": settings,
        "Limits": limits,
        "Metrics": figures,
        "Symbfiles": codes,
    }
    for heading, rows in tables.items():
        page = with_table(page, heading, rows)
    return page


def main() -> int:
    """Refresh or check; return the exit code."""
    is_old = False
    for path, refresh in ((PAGE, refreshed), (SERVER_PAGE, server_page)):
        page = path.read_text(encoding="utf-8")
        new = refresh(page)
        is_old |= page != new
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
    return int(is_old and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
