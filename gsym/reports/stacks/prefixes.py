"""Prefixes that loggers, containers and mail put before a line, and colours in it."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, takewhile

from gsym.lazy import regex

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

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

# Of digits without letters: `12: ` of ctest, `[ 55%] ` of ninja, not `???:?:?: `
_COUNT = regex(
    r"(?:\[(?=[^\]\d]{0,32}\d)[^\[\]A-Za-z+]{1,32}\] ?"
    r"|(?=[^\s\d]{0,32}\d)[^\sA-Za-z+#`\[(]{1,32}[:>|] ){1,4}"
)
_END = regex(r"(?<!\s)\s|\s(?=\S)|[:\]>,|+-](?!:)")  # of a prefix, and of its parts
_MOST_ENDS = 24
_ZEROS = str.maketrans("123456789", "0" * 9)
_LONGEST = 1_024  # characters of a line where prefixes may end
_NEAR = 2  # lines before a line, and after it

COLOURS = regex(r"\x1b\[[\d;]*[mK]|\\(?=\")")
"""Sequences that terminals show as colours, and what JSON has before a quote."""


def without_colours(line: str) -> str:
    """A line without colours."""
    return COLOURS.sub("", line) if "\x1b" in line or '\\"' in line else line


def text_of(line: str) -> str:
    """The text of a line, which patterns are for."""
    text = without_colours(line)
    return text[prefix_size(text) :]


def prefix_size(line: str) -> int:
    """The characters of a line that are before its text."""
    found = _PREFIX.match(line)
    return found.end() if found else 0


def shared_prefixes(lines: Sequence[str], at: int) -> tuple[int, Sequence[int]]:
    """Texts that may be prefixes because most lines around a line have them, too.

    Returns:
        The characters of one without letters, which surely is one, and of others after
        it, the shortest first: the text begins there if it is of a known form.
    """
    text, shape = _text_and_shape(lines[at][:_LONGEST])
    near = [*lines[max(at - _NEAR, 0) : at], *lines[at + 1 : at + 1 + _NEAR]]
    pairs = [_text_and_shape(each[:_LONGEST]) for each in near]
    pairs = [each for each in pairs if each[0].strip()]
    count = _COUNT.match(text)
    sure = 0
    if count is not None and _is_usual(count[0], [each for each, _ in pairs]):
        sure = count.end()
    shapes = [each for _, each in pairs]
    ends = (each.end() for each in islice(_END.finditer(shape, sure), _MOST_ENDS))
    usual = takewhile(lambda end: _is_usual(shape[:end], shapes), ends)
    return sure, tuple([end - sure for end in usual])


@lru_cache(2 * _NEAR + 1)  # lines nearby ask for the same ones
def _text_and_shape(line: str) -> tuple[str, str]:
    text = text_of(line)
    return text, text.translate(_ZEROS)


def _is_usual(prefix: str, texts: Sequence[str]) -> bool:
    return 2 * sum(each.startswith(prefix) for each in texts) > len(texts)
