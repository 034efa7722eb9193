"""Text that the engine puts together, block by block."""

from __future__ import annotations

from gsym._native import check, ffi, lib

__all__ = ["TextBuffer"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.name_texts import NameTexts

    CData = Any  # a cffi object


class TextBuffer:
    """A `gsym_text` and the way out of it; for one thread at a time.

    Args:
        error: Where the engine says what failed.

    Attributes:
        handle: The engine's, which its functions append to.
    """

    __slots__ = ("_error", "_size", "handle")

    def __init__(self, error: CData) -> None:
        place = ffi.new("gsym_text **")
        check(lib.gsym_text_create(place, error), error)
        self.handle: CData = ffi.gc(place[0], lib.gsym_text_destroy)
        self._error = error
        self._size = ffi.new("size_t *")

    def take(self, names: NameTexts | None = None) -> bytes:
        """What was put together, with *names* in its gaps; the buffer is empty then."""
        if names is not None:
            names.fill(self.handle)
        start = lib.gsym_text_bytes(self.handle, self._size)
        text: bytes = ffi.buffer(start, self._size[0])[:]
        lib.gsym_text_clear(self.handle)
        return text
