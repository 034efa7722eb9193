"""Names for output: demangled, shortened, inserted into the text of the engine."""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error, new_object

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    CData = Any  # a cffi object
    from collections.abc import Callable


def cxx_texts(
    image: CData,
    strps: CData,
    count: int,
    demangler: CData,
    *,
    without_arguments: bool = False,
) -> tuple[bytes, list[int]]:
    """The texts of *count* names, with a NUL after each.

    Returns:
        The texts, and the numbers of the names that are left to others: their texts are
        empty.
    """
    texts = new_object(
        *("cxx_texts", lib.gsym_cxx_texts_create, lib.gsym_cxx_texts_destroy),
        *(image, strps, count, demangler, without_arguments),
    )
    block, left = ffi.new("const char **"), ffi.new("const uint32_t **")
    size, left_count = ffi.new("size_t *"), ffi.new("size_t *")
    lib.gsym_cxx_texts_view(texts, block, size, left, left_count)
    numbers = ffi.unpack(left[0], left_count[0]) if left_count[0] else []
    return ffi.buffer(block[0], size[0])[:], numbers


_MAX_SIZE = 1 << 26
_IMAGE_SHIFT = lib.GSYM_MARKUP_MODULE_SHIFT
_OFFSET_MASK = (1 << _IMAGE_SHIFT) - 1
_PLAIN = lib.GSYM_PLAIN_STRING >> _IMAGE_SHIFT
_FEW_NAMES = 16  # are demangled one by one


class NameTexts:
    """Demangled names of one image, or of several.

    *escape* makes what is printed of a text, *reduce* another name of a demangled one.
    With a separator, the text of a name of a function is the name, this, and the
    demangled name.
    """

    def __init__(
        self,
        image: Any,
        *,
        demangle: bool = True,
        escape: Callable[[bytes], bytes] | None = None,
        reduce: Callable[[bytes], bytes] | None = None,
        separator: bytes = b"",
    ) -> None:
        self.images: list[Any] = [image]  # those that the numbers before names are of
        self._demangles = demangle
        self._escape = escape
        self._reduce = reduce
        self._separator = separator
        self._error = new_error()
        self._size = ffi.new("size_t *")
        # the engine's table, to be handed in anew for each block
        self.handle: Any = self._new_table()

    @property
    def size(self) -> int:
        """Bytes of memory used by the names."""
        return int(lib.gsym_name_texts_size(self.handle))

    def fill(self, text: Any) -> None:
        """Put the names into the gaps of *text*, a `gsym_text *`."""
        names = lib.gsym_name_texts_missing(self.handle, self._size)
        if self._size[0]:
            texts = self._texts(ffi.unpack(names, self._size[0]))
            block = b"\0".join(texts) + b"\0"
            check(
                lib.gsym_name_texts_add(self.handle, block, len(block), self._error),
                self._error,
            )
        check(lib.gsym_text_fill(text, self.handle, self._error), self._error)
        if self.size > _MAX_SIZE:
            self.handle = self._new_table()

    def _texts(self, names: list[int]) -> list[bytes]:
        demangler = None
        if self._demangles and len(names) > _FEW_NAMES:
            from gsym.engine.demangling import cxx_demangler

            demangler = cxx_demangler()
        if demangler is None:
            return [self._text(name) for name in names]
        by_image: dict[int, list[int]] = {}
        for place, name in enumerate(names):
            by_image.setdefault(name >> _IMAGE_SHIFT, []).append(place)
        texts = [b""] * len(names)
        for image, places in by_image.items():
            found = self._texts_at_once(image, [names[at] for at in places], demangler)
            for place, text in zip(places, found, strict=True):
                texts[place] = text
        return texts

    def _texts_at_once(
        self, image: int, names: list[int], demangler: Any
    ) -> list[bytes]:
        if image & _PLAIN:
            return [self._text(name) for name in names]
        strps = ffi.new("uint64_t[]", [name & _OFFSET_MASK for name in names])
        block, left = cxx_texts(self.images[image], strps, len(names), demangler)
        texts = block[:-1].split(b"\0")
        for at in left:
            texts[at] = _demangled(self._string(names[at]))
        return [
            self._printed(name, text) for name, text in zip(names, texts, strict=True)
        ]

    def _text(self, name: int) -> bytes:
        text = self._string(name)
        if not self._demangles or name & lib.GSYM_PLAIN_STRING:
            return text if self._escape is None else self._escape(text)
        return self._printed(name, _demangled(text))

    def _printed(self, name: int, text: bytes) -> bytes:
        """The text to print for the name of a function, given its demangled text."""
        if self._reduce is not None:
            text = self._reduce(text)
        if self._escape is not None:
            text = self._escape(text)
        if not self._separator:
            return text
        raw = self._string(name)
        return (raw if self._escape is None else self._escape(raw)) + (
            self._separator + text
        )

    def _string(self, name: int) -> bytes:
        image = self.images[name >> _IMAGE_SHIFT & ~_PLAIN]
        raw = lib.gsym_image_string(image, name & _OFFSET_MASK, self._size)
        text: bytes = ffi.unpack(raw, self._size[0])
        return text

    def _new_table(self) -> Any:
        life = lib.gsym_name_texts_create, lib.gsym_name_texts_destroy
        return new_object("name_texts", *life)


def _demangled(name: bytes) -> bytes:
    from gsym.engine.demangling import demangle_once  # the few need it

    return demangle_once(name)
