"""Lines of a log with backtraces in symbolizer markup, answered many at a time.

The engine reads the lines, finds and formats; here blocks of finished text come out.
"""

from __future__ import annotations

from gsym._native import ffi, lib
from gsym.name_texts import NameTexts

__all__ = ["MarkupText"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from gsym.reader import Reader
    from gsym.text_buffer import TextBuffer


class MarkupText:
    """Answers for one module; for one thread at a time.

    Args:
        reader: Where to look.
        buffer: What the text is put together in; others may use it in turn.
        flags: A set of GSYM_MARKUP_*.
        demangle: Print function names as people write them.
        line_limit: Bytes of a line with an element.
    """

    def __init__(
        self,
        reader: Reader,
        buffer: TextBuffer,
        *,
        flags: int,
        demangle: bool,
        line_limit: int,
    ) -> None:
        self._reader = reader  # which the image goes with
        self._image = reader._image  # noqa: SLF001 - a sibling's handle, by design
        self._text = buffer
        self._names = NameTexts(self._image) if demangle else None
        self._job = ffi.new("gsym_markup_job *")
        self._job.flags = flags
        self._job.line_limit = line_limit

    @property
    def name_bytes(self) -> int:
        """How many bytes the names take that are kept to be printed again."""
        return 0 if self._names is None else self._names.size

    def place(self, name: bytes, segments: Sequence[tuple[int, int, int]]) -> None:
        """Say where the module is.

        Args:
            name: What it is called.
            segments: Start, size and link-time address of each, sorted by start,
                without overlap.
        """
        job = self._job
        self._module = job.module = ffi.from_buffer(name)
        job.module_size = len(name)
        self._segments = job.segments = ffi.new("gsym_markup_segment[]", list(segments))
        job.segment_count = len(segments)

    def answer(self, lines: Buffer, put: Callable[[Buffer], object]) -> tuple[int, int]:
        """Answer lines without markup, and those with one frame in the module.

        Args:
            lines: As they came.
            put: Takes the text, piece by piece; each is gone when it returns.

        Returns:
            How many bytes of *lines* were answered, and for how many addresses nothing
            is known.
        """
        names = ffi.NULL if self._names is None else self._names.handle
        self._job.unknown = 0
        arguments = self._image, names, self._job
        used = self._text.answer(
            lib.gsym_text_markup, arguments, lines, self._names, put
        )
        return used, int(self._job.unknown)
