"""Reports that are JSON: decoding, and parts of them that may be of any type."""

from __future__ import annotations

import json

from gsym.patterns import regex
from gsym.reports.stacks.prefixes import prefix_size, text_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

# An object or array whose first line ends, or that goes on as JSON does.
_BEGIN = regex(
    r"\s*(?:[{\[][ \t\r]*(?:\n|\Z)|\{\s*[\"}]|\[\s*(?:[\"{\[\]]|-?\d[\d.eE+-]*\s*,))"
)
_MOST_PREFIXED = 1 << 22  # characters of a document whose lines have prefixes


def may_be_document(text: str, size: int) -> bool:
    """Whether a text of a size begins as JSON does, or a short one after a prefix."""
    if _BEGIN.match(text):
        return True
    return size <= _MOST_PREFIXED and _BEGIN.match(text_of(text)) is not None


def decode_document(text: str) -> Any:
    """The JSON value of a report; None if it is another text.

    Of two JSON texts (.ips) it is the second, if the first is one line. Each line may
    have the prefix of a log.
    """
    if not may_be_document(text, len(text)):
        return None
    found = _decode_last(text)
    if found is None and len(text) <= _MOST_PREFIXED and prefix_size(text):
        found = _decode_last("\n".join(map(text_of, text.lstrip().split("\n"))))
    return found


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def _decode_last(text: str) -> Any:
    first, _, rest = text.lstrip().partition("\n")
    whole = _decode(text)
    return _decode(rest) if whole is None and first.rstrip().endswith("}") else whole


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
