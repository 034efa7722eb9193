"""Write into the manual what the code says of itself.

That is each command's `--help` after its `<!-- help: ... -->` mark in docs/cli.md and
docs/cli/, the list of these pages, and the tables of settings, metrics and codes in
docs/server.md. `refresh_docs.py` rewrites the files; with `--check` it only reports
whether they are up to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gsym.cli.dropins import DROP_INS
from gsym.cli.main import help_text
from gsym.cli.verbs import GROUPS, VERBS
from gsym.server.monitoring import METRICS
from gsym.server.settings import Limits, Settings, setting_rows
from gsym.server.symbfiles.protocol import REFUSALS

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (DOCS / "cli.md", *sorted((DOCS / "cli").glob("*.md")))
LIST_MARK = "<!-- verbs -->\n"
SERVER_PAGE = DOCS / "server.md"
MARK = re.compile(r"(<!-- help: gsym ?([\w ]*) -->\n)(\n```text\n.*?```\n)?", re.DOTALL)


def refreshed(page: str) -> str:
    """*page* with each marked block as the commands print it now."""
    page = MARK.sub(lambda mark: f"{mark[1]}\n```text\n{help_text(mark[2])}```\n", page)
    before, mark, _ = page.partition(LIST_MARK)
    return f"{before}{mark}\n{verb_list()}" if mark else page


def verb_list() -> str:
    """The pages of the verbs by their groups, then those of the drop-ins."""
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"## {title.capitalize().replace('gsym', 'GSYM')}", ""]
        lines += [f"- [gsym {name}](cli/{name}.md): {VERBS[name][1]}" for name in names]
    lines += ["", "## In place of other programs", ""]
    lines += [f"- [{name}](cli/{name}.md)" for name in DROP_INS]
    pages = (*(name for names in GROUPS.values() for name in names), *DROP_INS)
    toctree = [":hidden:", "", *(f"cli/{name}" for name in pages)]
    return "\n".join([*lines, "", "```{toctree}", *toctree, "```", ""])


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
    codes = [[fault.code, str(fault.status), fault.when] for fault in REFUSALS]
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
    pages = [(page, refreshed) for page in PAGES]
    for path, refresh in (*pages, (SERVER_PAGE, server_page)):
        page = path.read_text(encoding="utf-8")
        new = refresh(page)
        is_old |= page != new
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
    return int(is_old and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
