"""Many names of a GSYM file -> their texts in a style, at once.

The engine calls the C++ runtime for names of plain C++, which are most of those that
are mangled; the others are written here, one by one.
"""

from __future__ import annotations

from gsym._native import ffi, lib
from gsym.cxx_texts import cxx_texts
from gsym.demangling import cxx_demangler
from gsym.symbfile.name_styles import STYLES

__all__ = ["TextsOfNames"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    CData = Any  # a cffi object


class TextsOfNames:
    """Writes names of one file in one style.

    Args:
        image: The engine's `gsym_image *`; it has to outlive this.
        style: One of `STYLES`.
    """

    __slots__ = (
        "_demangler",
        "_image",
        "_size",
        "_style",
        "_without_arguments",
    )

    def __init__(self, image: CData, style: str) -> None:
        self._image = image
        self._size: CData = ffi.new("size_t *")
        self._style = STYLES[style]
        self._without_arguments = style == "symblib"
        self._demangler = None if style == "mangled" else cxx_demangler()

    def __call__(self, strps: CData, count: int) -> bytes:
        """The texts of names by their string offsets, with a NUL behind each.

        Raises:
            GsymError: There is no memory for them.
        """
        if self._demangler is None:
            return b"".join([self._text(strps[at]) + b"\0" for at in range(count)])
        block, left = cxx_texts(
            self._image,
            strps,
            count,
            self._demangler,
            without_arguments=self._without_arguments,
        )
        if not left:
            return block
        texts = block.split(b"\0")
        for at in left:
            texts[at] = self._text(strps[at])
        return b"\0".join(texts)

    def _text(self, strp: int) -> bytes:
        raw = lib.gsym_image_string(self._image, strp, self._size)
        return self._style(ffi.buffer(raw, self._size[0])[:]).replace(b"\0", b"")
