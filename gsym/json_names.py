"""Names as they stand in the strings of JSON that the engine writes."""

from __future__ import annotations

import json

from gsym.demangling import demangle_bytes
from gsym.name_texts import NameTexts

__all__ = ["JsonNames", "json_text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def json_text(raw: bytes) -> bytes:
    """What stands between the quotes for *raw*; what is not UTF-8 is replaced."""
    text = json.dumps(raw.decode("utf-8", "replace"), ensure_ascii=False)
    return text[1:-1].encode()


class JsonNames(NameTexts):
    """Names of one image.

    Args:
        image: The engine's handle, which has to outlive this.
        demangle: Whether they are demangled.
    """

    def __init__(self, image: Any, *, demangle: bool) -> None:
        super().__init__(image)
        self._demangles = demangle

    def text_of_name(self, name: bytes) -> bytes:
        """What stands between the quotes for the name of a function."""
        return json_text(demangle_bytes(name) if self._demangles else name)

    def text_of(self, string: bytes) -> bytes:
        """What stands between the quotes for another string."""
        return json_text(string)
