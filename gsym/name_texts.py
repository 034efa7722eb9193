"""Demangled names in a stream of text that the engine writes.

The engine leaves a gap for each name that it prints for the first time; here they are
demangled and handed in, block by block.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error
from gsym.demangling import demangle_once

__all__ = ["NameTexts"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MAX_SIZE = 1 << 26
_OFFSET_MASK = ~lib.GSYM_PLAIN_STRING


class NameTexts:
    """Demangled names of one image.

    Args:
        image: The engine's handle, which has to outlive this.
        demangle: Whether names of functions are demangled.
        escape: Makes what is printed of a text; None: the text itself.

    Attributes:
        handle: The engine's table, to be handed in anew for each block.
    """

    def __init__(
        self,
        image: Any,
        *,
        demangle: bool = True,
        escape: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._image = image
        self._demangles = demangle
        self._escape = escape
        self._error = new_error()
        self._size = ffi.new("size_t *")
        self.handle = self._new_table()

    @property
    def size(self) -> int:
        """How many bytes of memory the names take."""
        return int(lib.gsym_name_texts_size(self.handle))

    def fill(self, text: Any) -> None:
        """Put the names into the gaps of *text*, a `gsym_text *`."""
        names = lib.gsym_name_texts_missing(self.handle, self._size)
        if self._size[0]:
            texts = [self._decode(name) for name in ffi.unpack(names, self._size[0])]
            block = b"\0".join(texts) + b"\0"
            check(
                lib.gsym_name_texts_add(self.handle, block, len(block), self._error),
                self._error,
            )
        check(lib.gsym_text_fill(text, self.handle, self._error), self._error)
        if self.size > _MAX_SIZE:
            self.handle = self._new_table()

    def _decode(self, name: int) -> bytes:
        strp = name & _OFFSET_MASK
        text = self._string(strp)
        if self._demangles and strp == name:
            text = demangle_once(text)
        return text if self._escape is None else self._escape(text)

    def _string(self, name: int) -> bytes:
        """What stands in the file."""
        raw = lib.gsym_image_string(self._image, name, self._size)
        text: bytes = ffi.unpack(raw, self._size[0])
        return text

    def _new_table(self) -> Any:
        place = ffi.new("gsym_name_texts **")
        check(lib.gsym_name_texts_create(place, self._error), self._error)
        return ffi.gc(place[0], lib.gsym_name_texts_destroy)
