"""The diagrams of docs/format.md: boxes in a row, and arrows between them.

`diagrams.py` writes docs/images/format-*.svg; with `--check` it only reports whether
they are up to date. Text is dark on light boxes, and outside of them gray, so that it
can be read on a light page and on a dark one.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
WIDTH = 720
MARGIN = 10
LINE = 15  # between baselines of text
GRAY = "#72808e"
FILLS = {
    "head": "#d9dee4",
    "table": "#cfe3fa",
    "text": "#d8efd3",
    "record": "#fbe3c4",
    "extra": "#ead9f4",
}
STYLE = f"""\
  <style>
    text {{ font: 12px sans-serif; fill: #1b2733; text-anchor: middle; }}
    text.title {{ font-weight: bold; }}
    text.note {{ fill: {GRAY}; }}
    rect {{ stroke: {GRAY}; }}
    path {{ stroke: {GRAY}; stroke-width: 1.3; fill: none; marker-end: url(#head); }}
  </style>
  <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
      orient="auto"><polygon points="0,0 8,4 0,8" fill="{GRAY}"/></marker>
"""


class Box(NamedTuple):
    """A part: a key of FILLS, its share of the width, and lines, the first one bold."""

    fill: str
    share: float
    lines: tuple[str, ...]


class Arrow(NamedTuple):
    """From the bottom of a box to that of another, with what it stands for."""

    start: int
    end: int
    note: str
    depth: int
    shift: int = 0  # of its start, to the right


class Row(NamedTuple):
    """Boxes side by side, with the arrows below them."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...] = ()


def text(x: float, y: float, line: str, kind: str = "") -> str:
    """A line of text centered at *x*."""
    mark = f' class="{kind}"' if kind else ""
    return f'  <text x="{x:.0f}" y="{y:.0f}"{mark}>{escape(line)}</text>\n'


def draw_row(row: Row, top: int) -> tuple[str, int]:
    """The elements of *row*, and where the next one begins."""
    drawn = ""
    if row.title:
        drawn += text(WIDTH / 2, top + 12, row.title, "note")
        top += 20
    height = LINE * max(len(box.lines) for box in row.boxes) + 14
    unit = (WIDTH - 2 * MARGIN) / sum(box.share for box in row.boxes)
    left: float = MARGIN
    middles = []
    for box in row.boxes:
        width = box.share * unit
        drawn += (
            f'  <rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" '
            f'fill="{FILLS[box.fill]}"/>\n'
        )
        middles.append(left + width / 2)
        first = top + height / 2 - LINE * (len(box.lines) - 1) / 2 + 4
        for number, line in enumerate(box.lines):
            kind = "" if number else "title"
            drawn += text(middles[-1], first + LINE * number, line, kind)
        left += width
    bottom = top + height
    for arrow in row.arrows:
        start, end = middles[arrow.start] + arrow.shift, middles[arrow.end]
        low = bottom + arrow.depth
        drawn += (
            f'  <path d="M{start:.0f},{bottom} V{low} H{end:.0f} V{bottom + 2}"/>\n'
        )
        drawn += text((start + end) / 2, low + 13, arrow.note, "note")
    deepest = max((arrow.depth + 16 for arrow in row.arrows), default=0)
    return drawn, bottom + deepest + 14


def diagram(rows: tuple[Row, ...]) -> str:
    """An SVG file with *rows* below each other."""
    body, top = "", MARGIN
    for row in rows:
        drawn, top = draw_row(row, top)
        body += drawn
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{STYLE}{body}</svg>\n'


DIAGRAMS = {
    "format-version-1": (
        Row(
            "",
            (
                Box("head", 1.0, ("header", "48 bytes")),
                Box("table", 1.3, ("address table", "sorted starts")),
                Box("table", 1.3, ("address info", "a location each")),
                Box("table", 1.1, ("file table", "folder, name")),
                Box("text", 1.3, ("string table", "names")),
                Box("record", 1.7, ("function records", "lines, inlined calls")),
                Box("extra", 1.0, ("index", "optional")),
            ),
            (
                Arrow(1, 2, "same number", 16),
                Arrow(3, 4, "strp", 16),
                Arrow(2, 5, "offset in the file", 44, 12),
                Arrow(5, 4, "strp", 16, 20),
                Arrow(0, 4, "offset and size", 74),
            ),
        ),
    ),
    "format-version-2": (
        Row(
            "",
            (
                Box("head", 0.9, ("header", "20 bytes")),
                Box("head", 1.0, ("directory", "20 bytes", "a section")),
                Box("extra", 0.7, ("UUID",)),
                Box("table", 1.1, ("address", "table")),
                Box("table", 1.1, ("address", "info")),
                Box("table", 0.9, ("file", "table")),
                Box("text", 1.0, ("string", "table")),
                Box("record", 1.1, ("function", "records")),
                Box("extra", 0.9, ("index", "optional")),
            ),
            (
                Arrow(4, 7, "offset in the section", 16),
                Arrow(1, 8, "type, offset and size of each section", 46),
            ),
        ),
    ),
    "format-record": (
        Row(
            "the record of one function",
            (
                Box("record", 1, ("size", "u32")),
                Box("text", 1, ("name", "strp")),
                Box("head", 0.7, ("1", "type")),
                Box("head", 0.9, ("n", "length")),
                Box("table", 2.2, ("line table", "n bytes")),
                Box("head", 0.7, ("2", "type")),
                Box("head", 0.9, ("m", "length")),
                Box("extra", 2.2, ("inline info", "m bytes")),
                Box("head", 0.7, ("0", "type")),
                Box("head", 0.9, ("0", "length")),
            ),
        ),
        Row(
            "its line table: a program that emits rows",
            (
                Box("table", 1.4, ("min_delta", "sleb")),
                Box("table", 1.4, ("max_delta", "sleb")),
                Box("table", 1.4, ("first_line", "uleb")),
                Box("head", 1.1, ("special", "row")),
                Box("head", 1.1, ("special", "row")),
                Box("head", 1.7, ("AdvanceLine", "+ sleb")),
                Box("head", 1.7, ("AdvancePC", "+ uleb, row")),
                Box("head", 1.5, ("EndSequence",)),
            ),
        ),
    ),
    "format-inline": (
        Row(
            "the function: no call site",
            (Box("record", 60, ("main", "0x1050-0x108c")),),
        ),
        Row(
            "its only child, called at stairs.c:25",
            (
                Box("head", 8, ("main",)),
                Box("table", 40, ("climb", "0x1058-0x1080")),
                Box("head", 12, ("main",)),
            ),
        ),
        Row(
            "called at stairs.c:19",
            (
                Box("head", 8, ("main",)),
                Box("table", 8, ("climb",)),
                Box("text", 24, ("flight", "0x1060-0x1078")),
                Box("table", 8, ("climb",)),
                Box("head", 12, ("main",)),
            ),
        ),
        Row(
            "called at stairs.c:13: an address here is in four functions",
            (
                Box("head", 8, ("main",)),
                Box("table", 8, ("climb",)),
                Box("text", 7, ("flight",)),
                Box("extra", 11, ("step", "0x1067-0x1072")),
                Box("text", 6, ("flight",)),
                Box("table", 8, ("climb",)),
                Box("head", 12, ("main",)),
            ),
        ),
    ),
    "format-lookup": (
        Row(
            "the address 0x1067, less the base address 0x1000, is 0x67",
            (
                Box("table", 1, ("0x20",)),
                Box("table", 1, ("0x30",)),
                Box("extra", 1.4, ("0x50", "last one at or below 0x67")),
                Box("table", 1, ("0x90",)),
                Box("table", 1, ("0x120",)),
            ),
        ),
        Row(
            "the entry with the same number of the address info table",
            (
                Box("table", 1, ("0x210",)),
                Box("table", 1, ("0x224",)),
                Box("extra", 1.4, ("0x238", "offset of the record")),
                Box("table", 1, ("0x2a4",)),
                Box("table", 1, ("0x2b8",)),
            ),
        ),
        Row(
            "the record at 0x238",
            (
                Box("record", 1.2, ("size 0x3c", "0x50 to 0x8c: found")),
                Box("text", 0.8, ("name", "main")),
                Box("table", 1.6, ("last row at or below", "line 6")),
                Box("extra", 2.4, ("calls that cover it", "climb, flight, step")),
            ),
        ),
        Row(
            "the answer, innermost first",
            (
                Box("head", 1, ("step", "line 6", "of the row")),
                Box("head", 1, ("flight", "line 13", "step was called")),
                Box("head", 1, ("climb", "line 19", "flight was called")),
                Box("head", 1, ("main", "line 25", "climb was called")),
            ),
        ),
    ),
    "format-embedded": (
        Row(
            "the section of the GSYM file, and strings of the binary after it",
            (
                Box("table", 1.6, ("header, tables,", "records")),
                Box("extra", 1.0, ("mark of shared", "strings")),
                Box("text", 1.0, ("own", "strings")),
                Box("head", 1.4, ("other sections", "not strings")),
                Box("text", 1.4, ("shared strings", ".strtab")),
            ),
            (Arrow(1, 4, "checksum", 16),),
        ),
        Row(
            "",
            (
                Box("table", 3.6, ("the section .gsym",)),
                Box("head", 1.4, ("",)),
                Box("head", 1.4, ("",)),
            ),
        ),
        Row(
            "",
            (
                Box("head", 2.6, ("",)),
                Box("text", 3.8, ("the string table: strtab_offset, strtab_size",)),
            ),
        ),
    ),
}


def main() -> int:
    """Write or check the diagrams; return the exit code."""
    is_check = "--check" in sys.argv[1:]
    is_old = False
    for name, rows in DIAGRAMS.items():
        path, drawn = IMAGES / f"{name}.svg", diagram(rows)
        if is_check:
            is_old |= not path.exists() or path.read_text(encoding="utf-8") != drawn
        else:
            path.write_text(drawn, encoding="utf-8")
    return int(is_old)


if __name__ == "__main__":
    sys.exit(main())
