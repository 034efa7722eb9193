"""Text as it stands between the quotes of JSON."""

from __future__ import annotations

import json

from gsym.engine.native import to_str


def utf8_text(raw: bytes) -> bytes:
    """What stands between the quotes for *raw*; what is not UTF-8 is replaced."""
    text = json.dumps(raw.decode("utf-8", "replace"), ensure_ascii=False)
    return text[1:-1].encode()


def ascii_text(raw: bytes) -> bytes:
    """The same in ASCII; what is not UTF-8 stands as surrogates."""
    return json.dumps(to_str(raw))[1:-1].encode()
