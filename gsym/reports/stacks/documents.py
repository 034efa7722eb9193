"""Reports that are JSON: decoding, and parts of them that may be of any type."""

from __future__ import annotations

import json

from gsym.patterns import regex

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

_BEGIN = regex(r"\s*[{\[]")


def decode_document(text: str) -> Any:
    """The JSON value of a report; None if it is another text.

    Of two JSON texts (.ips) it is the second, if the first is one line.
    """
    if not _BEGIN.match(text):
        return None
    first, _, rest = text.lstrip().partition("\n")
    whole = _decode(text)
    return _decode(rest) if whole is None and first.rstrip().endswith("}") else whole


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
