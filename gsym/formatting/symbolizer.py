"""Answers as text, byte for byte as llvm-symbolizer prints them.

The engine reads the lines, finds and formats; here blocks of finished text come out.
"""

from __future__ import annotations

from gsym.engine.name_texts import NameTexts
from gsym.engine.native import ffi, lib, to_bytes
from gsym.model import UINT64_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.engine.text_buffer import TextBuffer
    from gsym.reading.reader import Reader


class SymbolizerText:
    """Makes text from one open reader; for one thread at a time.

    Args:
        reader: Where to look.
        buffer: What the text is put together in; others may use it in turn.
        shift: What is added to an address before it is looked up.
        flags: A set of GSYM_SYMBOLIZER_*.
        demangle: Print function names as people write them.
        module: The name of the module; JSON has it.
        escape: Makes names printable, except in JSON; None: they are unchanged.
    """

    def __init__(  # noqa: PLR0913 - what one line of a module needs
        self,
        reader: Reader,
        buffer: TextBuffer,
        *,
        shift: int,
        flags: int,
        demangle: bool,
        module: str,
        escape: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._reader = reader  # which the image goes with
        self._image = reader.mapped.image
        self._text = buffer
        self._names: NameTexts | None = None
        self._module = b""
        if flags & lib.GSYM_SYMBOLIZER_JSON:
            from gsym.formatting.json_text import utf8_text

            self._module = utf8_text(to_bytes(module))
            self._names = NameTexts(self._image, demangle=demangle, escape=utf8_text)
        elif demangle:
            self._names = NameTexts(self._image, escape=escape)
        self._style = ffi.new("gsym_symbolizer_style *")
        self._style.flags = flags
        self._style.shift = shift & UINT64_MAX
        self._style.module = self._kept = ffi.from_buffer(self._module)
        self._style.module_size = len(self._module)

    @property
    def name_bytes(self) -> int:
        """How many bytes the names take that are kept to be printed again."""
        return 0 if self._names is None else self._names.size

    def answer(
        self, prefix: bytes, lines: Buffer, put: Callable[[Buffer], object]
    ) -> int:
        """Answer lines that are a number behind *prefix*.

        Stops in front of any other line and of one without an end.

        Args:
            prefix: What is in front of the numbers.
            lines: As they came.
            put: Takes the text, piece by piece; each is gone when it returns.

        Returns:
            How many bytes of *lines* were answered.
        """
        names = ffi.NULL if self._names is None else self._names.handle
        known_prefix = ffi.from_buffer(prefix)
        arguments = self._image, names, self._style, known_prefix, len(prefix)
        return self._text.answer(
            lib.gsym_text_symbolize, arguments, lines, self._names, put
        )
