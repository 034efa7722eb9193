"""Answers to lines of addresses, as `gsym lookup` prints them.

The engine reads the lines, finds and formats; here blocks of finished text come out.
"""

from __future__ import annotations

from gsym.engine.name_texts import NameTexts
from gsym.engine.native import ffi, lib
from gsym.engine.text_buffer import TextBuffer
from gsym.model import UINT64_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader


class LookupText:
    """Makes text from one open reader; for one thread at a time.

    Args:
        reader: Where to look.
        shift: What is added to an address before it is looked up.
        json: Print JSON.
        demangle: Print names of functions as people write them.
        escape: Makes what is printed of a string that is not plain ASCII.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        shift: int,
        json: bool,
        demangle: bool,
        escape: Callable[[bytes], bytes],
    ) -> None:
        self._reader = reader  # which the image goes with
        self._image = reader.mapped.image
        self._text = TextBuffer()
        self._names = NameTexts(self._image, demangle=demangle, escape=escape)
        self._style = ffi.new("gsym_lookup_style *")
        self._style.flags = (
            json * lib.GSYM_LOOKUP_TEXT_JSON | demangle * lib.GSYM_LOOKUP_TEXT_DEMANGLED
        )
        self._style.shift = shift & UINT64_MAX
        first, last = max(0, -shift), min(UINT64_MAX, UINT64_MAX - shift)
        self._style.first, self._style.last = (first, last) if first <= last else (1, 0)

    @property
    def missed(self) -> int:
        """How many addresses had no answer."""
        return int(self._style.missed)

    @property
    def damaged(self) -> int:
        """How many of them have damaged records."""
        return int(self._style.damaged)

    def answer(self, lines: Buffer, put: Callable[[Buffer], object]) -> int:
        """Answer lines, each of which is a number.

        Stops in front of any other line, of blank lines that no number follows and of
        a line without an end. A number is decimal or has the prefix 0x.

        Args:
            lines: As they came.
            put: Takes the text, piece by piece; each is gone when it returns.

        Returns:
            How many bytes of *lines* were answered.
        """
        arguments = self._image, self._names.handle, self._style
        return self._text.answer(
            lib.gsym_text_lookup, arguments, lines, self._names, put
        )
