"""Tables and marked regions of a Markdown page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables_in(page: str) -> list[list[list[str]]]:
    """The cells of each table of *page*, row by row, its head first."""
    found: list[list[list[str]]] = [[]]
    for line in page.splitlines():
        if not line.startswith("|"):
            found.append([])
        elif not line.startswith("| ---"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return [rows for rows in found if rows]


def regions_in(page: str) -> list[str]:
    """The names of the regions of *page*."""
    return re.findall(r"^<!-- (.+): begin -->$", page, re.MULTILINE)


def region_in(page: str, name: str) -> str:
    """What stands between the two markers of *name*; nothing where they are missing."""
    _, _, rest = page.partition(f"<!-- {name}: begin -->\n")
    region, found, _ = rest.partition(f"\n<!-- {name}: end -->")
    return region if found else ""


def with_region(page: str, name: str, text: str) -> str:
    """*page* with *text* between the two markers of *name*, added where it has none."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    if not found:
        return f"{page.rstrip()}\n\n{begin}\n{text}\n{end}\n"
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
