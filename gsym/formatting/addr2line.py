"""Answers as text, byte for byte as GNU addr2line prints them.

The engine reads the lines, finds and formats; here blocks of finished text come out.
"""

from __future__ import annotations

from gsym.engine.native import ffi, lib
from gsym.engine.text_buffer import TextBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader


class Addr2lineText:
    """Makes text from one open reader; for one thread at a time.

    Args:
        reader: Where to look; None: nothing has an answer.
        addresses: Print the address in front of each answer.
        functions: Print function names.
        inlines: Print the functions that the first one was inlined into.
        pretty: Print a frame on one line.
        basenames: Print files without their directories.
        demangle: Print function names as people write them.
        is_64: Whether addresses have 64 bits; else they are cut to 32.
        escape: Makes names printable; None: names and paths are printed unchanged.
        sections: Start and end of sections that addresses count from; the first that
            has an answer gives it. None: they are link-time addresses.
    """

    def __init__(  # noqa: PLR0913 - a flag for each of addr2line's
        self,
        reader: Reader | None,
        *,
        addresses: bool = False,
        functions: bool = False,
        inlines: bool = False,
        pretty: bool = False,
        basenames: bool = False,
        demangle: bool = False,
        is_64: bool = True,
        escape: Callable[[bytes], bytes] | None = None,
        sections: list[tuple[int, int]] | None = None,
    ) -> None:
        self._reader = reader  # which the image goes with
        self._image = ffi.NULL if reader is None else reader.mapped.image
        self._text = TextBuffer(escape=escape is not None)
        self._names = None
        if demangle and functions and reader is not None:
            from gsym.engine.name_texts import NameTexts

            self._names = NameTexts(self._image, escape=escape)
        self._sections = ffi.new("gsym_range[]", sections or [])
        self._style = ffi.new("gsym_addr2line_style *")
        self._style.flags = (
            addresses * lib.GSYM_ADDR2LINE_ADDRESSES
            | functions * lib.GSYM_ADDR2LINE_FUNCTIONS
            | inlines * lib.GSYM_ADDR2LINE_INLINES
            | pretty * lib.GSYM_ADDR2LINE_PRETTY
            | basenames * lib.GSYM_ADDR2LINE_BASENAMES
            | (not is_64) * lib.GSYM_ADDR2LINE_32_BITS
        )
        self._style.sections = self._sections
        self._style.section_count = len(self._sections)

    def answer(
        self, lines: Buffer, line_size: int, put: Callable[[Buffer], object]
    ) -> int:
        """Answer lines, each of which begins with a hexadecimal number.

        Stops in front of a line that names a symbol and of one without an end.

        Args:
            lines: As they came.
            line_size: A longer line counts as several of so many bytes.
            put: Takes the text, piece by piece; each is gone when it returns.

        Returns:
            How many bytes of *lines* were answered.
        """
        self._style.line_size = line_size
        names = ffi.NULL if self._names is None else self._names.handle
        arguments = self._image, names, self._style
        return self._text.answer(
            lib.gsym_text_addr2line, arguments, lines, self._names, put
        )
