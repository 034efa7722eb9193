"""Text that the engine formats in blocks."""

from __future__ import annotations

from gsym.engine.native import check, ffi, kept_view, lib, new_error, new_object

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Buffer

    from gsym.engine.name_texts import NameTexts

    CData = Any  # a cffi object

_TEXT_LIMIT = 1 << 18  # bytes; what is there by then is handed out


def text_by(function: str, *arguments: Any) -> bytes:
    """The text that the engine's gsym_text_FUNCTION appends."""
    text = TextBuffer()
    append = getattr(lib, f"gsym_text_{function}")
    check(append(text.handle, *arguments, text.error), text.error)
    return text.take()


class TextBuffer:
    r"""A `gsym_text` and access to its bytes; for one thread at a time."""

    __slots__ = ("_size", "error", "handle", "used")

    def __init__(self, *, escape: bool = False) -> None:
        life = lib.gsym_text_create, lib.gsym_text_destroy
        # the engine's, which its functions append to
        self.handle: CData = new_object("text", *life)
        if escape:
            lib.gsym_text_escape(self.handle)
        # receives the number of bytes of lines that were answered
        self.used: CData = ffi.new("size_t *")
        self.error: object = new_error()  # receives errors
        self._size = ffi.new("size_t *")

    def reserve(self, size: int) -> None:
        """Reserve memory for *size* more bytes."""
        check(lib.gsym_text_reserve(self.handle, size, self.error), self.error)

    def put(self, text: bytes) -> None:
        """Append *text*."""
        status = lib.gsym_text_put(self.handle, text, len(text), self.error)
        check(status, self.error)

    def view(self) -> memoryview:
        """The text, without a copy; nothing may be appended after that."""
        start = lib.gsym_text_bytes(self.handle, self._size)
        return kept_view(start, self._size[0], self.handle)

    def take(self) -> bytes:
        """The text, which is removed from the buffer."""
        text: bytes = self._view()[:]
        lib.gsym_text_clear(self.handle)
        return text

    def answer(
        self,
        engine: Callable[..., int],
        arguments: tuple[CData, ...],
        lines: Buffer,
        names: NameTexts | None,
        put: Callable[[Buffer], object],
    ) -> int:
        """Answer lines; return how many of their bytes were answered.

        *engine* is a function of the engine that appends answers to lines, or continues
        with the last lines for NULL. *names* come into the gaps of the text. *put*
        takes it piece by piece; each is gone when it returns.
        """
        lib.gsym_text_clear(self.handle)  # of what a failure left
        start = ffi.from_buffer("char[]", lines)
        size, answered = len(start), 0
        asked = start
        while size > answered:
            left = asked, size - answered, _TEXT_LIMIT
            status = engine(self.handle, *arguments, *left, self.used, self.error)
            check(status, self.error)
            if self.used[0]:
                answered += self.used[0]
                if names is not None:
                    names.fill(self.handle)
                put(self._view())
                lib.gsym_text_clear(self.handle)
                asked = ffi.NULL
            elif asked == ffi.NULL:
                asked = start + answered
            else:
                break
        return answered

    def _view(self) -> Any:
        start = lib.gsym_text_bytes(self.handle, self._size)
        return ffi.buffer(start, self._size[0])
