"""Many names of a GSYM file -> their texts in a style, at once.

The engine calls the C++ runtime for names of plain C++, which are most of those that
are mangled; the others are written here, one by one.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error
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
        path: The file, for errors.
    """

    __slots__ = (
        "_demangler",
        "_image",
        "_path",
        "_size",
        "_style",
        "_without_arguments",
    )

    def __init__(self, image: CData, style: str, path: str | None) -> None:
        self._image = image
        self._path = path
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
        block, left = self._plain(strps, count)
        if not left:
            return block
        texts = block.split(b"\0")
        for at in left:
            texts[at] = self._text(strps[at])
        return b"\0".join(texts)

    def _text(self, strp: int) -> bytes:
        raw = lib.gsym_image_string(self._image, strp, self._size)
        return self._style(ffi.buffer(raw, self._size[0])[:]).replace(b"\0", b"")

    def _plain(self, strps: CData, count: int) -> tuple[bytes, list[int]]:
        """What the engine writes, and the numbers of those that it leaves out."""
        error, place = new_error(), ffi.new("gsym_cxx_texts **")
        status = lib.gsym_cxx_texts_create(
            *(self._image, strps, count, self._demangler),
            *(self._without_arguments, place, error),
        )
        check(status, error, self._path)
        texts = ffi.gc(place[0], lib.gsym_cxx_texts_destroy)
        block, left = ffi.new("const char **"), ffi.new("const uint32_t **")
        size, left_count = ffi.new("size_t *"), ffi.new("size_t *")
        lib.gsym_cxx_texts_view(texts, block, size, left, left_count)
        numbers = ffi.unpack(left[0], left_count[0]) if left_count[0] else []
        return ffi.buffer(block[0], size[0])[:], numbers
