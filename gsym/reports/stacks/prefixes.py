"""Prefixes that loggers, containers and mail put before a line, and colours in it."""

from __future__ import annotations

from gsym.lazy import regex

_PREFIX = regex(
    r"(?:"
    # `Nov 23 08:00:01 host app[123]: `
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.:-]{1,64} [\w./@-]{1,64}(?:\[\d+\])?: "
    # `2026-11-23T08:00:01.1Z `, after it `stderr F ` or `host app[123]: `
    r"|\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d[\d.,:+Z-]{0,16} "
    r"(?:std(?:out|err) [FP] |[\w.:-]{1,64} [\w./@-]{1,64}\[\d+\]: )?"
    # `11-23 08:00:01.123  4711  4712 E App     : `
    r"|\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9} {1,8}\d{1,8} {1,8}\d{1,8} [VDIWEFA] .{1,64}?: "
    r"|[\w.-]{1,64} {1,32}\| "  # `app-1  | `
    r"|> "
    # `[2026-11-23 08:00:01.1] `, `[   12.345678] `, `[error] `
    # Whole numbers: lines of one shape have the same prefix.
    r"|\[[^\[\]]{0,32}(?<![\da-fA-F])(?:\d{2,9}:\d{2,9}|\d{1,9}\.\d{3,12})"
    r"(?![\da-fA-F])[^\[\]]{0,32}\] ?"
    r"|\[(?i:trace|debug|info|notice|warn|warning|error|critical|fatal)\] ?"
    r"){1,4}"
)

COLOURS = regex(r"\x1b\[[\d;]*[mK]")
"""Sequences that terminals show as colours."""


def without_colours(line: str) -> str:
    """A line without colours."""
    return COLOURS.sub("", line) if "\x1b" in line else line


def text_of(line: str) -> str:
    """The text of a line, which patterns are for."""
    text = without_colours(line)
    return text[prefix_size(text) :]


def prefix_size(line: str) -> int:
    """The characters of a line that are before its text."""
    found = _PREFIX.match(line)
    return found.end() if found else 0
