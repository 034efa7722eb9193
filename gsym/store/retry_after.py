"""How long a web server asks to be left in peace."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

__all__ = ["read_retry_after"]

_MOST_DIGITS = 9


def read_retry_after(text: str) -> float | None:
    """The seconds of a `Retry-After` header, which is a number or a date.

    None where it says nothing that can be read.
    """
    if text.isascii() and text.isdigit():
        return float(text[:_MOST_DIGITS])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
