"""Answers as HTML, for notebooks."""

from __future__ import annotations

from html import escape

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEFT = ' style="text-align: left"'


def html_text(text: str) -> str:
    """A text with its lines as they are."""
    return f"<pre>{escape(text)}</pre>\n"


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str
) -> str:
    """A table; all texts are escaped."""
    lines = [_row("th", heads), *(_row("td", row) for row in rows)]
    table = f"<table>\n{''.join(lines)}</table>"
    return f'<p>{escape(caption)}</p>\n<div style="overflow-x: auto">{table}</div>\n'


def _row(tag: str, cells: Sequence[object]) -> str:
    texts = (f"<{tag}{_LEFT}>{escape(str(each))}</{tag}>" for each in cells)
    return f"<tr>{''.join(texts)}</tr>\n"
