"""The names and paths of a GSYM file as strings of a symbfile that is written.

Names are collected from all records first, so that each is demangled once.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error
from gsym.symbfile.name_blocks import TextsOfNames
from gsym.symbfile.name_styles import STYLES

__all__ = ["ImageNames", "NameTexts"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.formats.symbfile import Encoder
    from gsym.reader import Reader

_ENTRIES_AT_ONCE = 1 << 14
_NAMES_AT_ONCE = 1 << 12


class NameTexts:
    """What is written of the names of one file, made once for several symbfiles.

    Args:
        names: The style, one of `STYLES`.

    Attributes:
        style: The style.
        blocks: What it made of all names in turn, with a NUL behind each; filled when
            the first symbfile is written.
        collected: The names of the first symbfile, for others of the same reader.

    Raises:
        ValueError: There is no such style.
    """

    __slots__ = ("blocks", "collected", "style")

    def __init__(self, names: str) -> None:
        if names not in STYLES:
            raise ValueError(f"names: {', '.join(STYLES)}, not {names!r}")
        self.style = names
        self.blocks: tuple[bytes, ...] = ()
        self.collected: ImageNames | None = None


class ImageNames:
    """Makes all names of a file known to an encoder.

    Args:
        reader: The file; it stays open as long as this is used.
        encoder: What writes the symbfile.
        texts: Of these names, in the style that is wanted.
        progress: Called now and then with (entries visited, entries in all).

    Attributes:
        image: The engine's `gsym_image` of the file.
        handle: Its `gsym_symbfile_names`.

    Raises:
        FormatError: The records of the file lie over each other.
        LimitError: Its names are far larger than it, for they lie in each other.
    """

    def __init__(
        self,
        reader: Reader,
        encoder: Encoder,
        texts: NameTexts,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.image: Any = reader._image  # noqa: SLF001 - a sibling's handle
        self._path = reader.path
        self._error: Any = new_error()
        place = ffi.new("gsym_symbfile_names **")
        self._check(lib.gsym_symbfile_names_create(self.image, place, self._error))
        self.handle = ffi.gc(place[0], lib.gsym_symbfile_names_destroy)
        known = texts.collected
        if known is not None and known.image is self.image:
            self._check(
                lib.gsym_symbfile_names_share(self.handle, known.handle, self._error)
            )
        else:
            self._collect(len(reader), progress)
        if not texts.blocks:
            texts.blocks = tuple(self._blocks(texts.style))
            texts.collected = self
        for block in texts.blocks:
            status = lib.gsym_symbfile_names_add(
                self.handle, encoder.handle, block, len(block), self._error
            )
            self._check(status)

    def _collect(self, count: int, progress: Callable[[int, int], None] | None) -> None:
        for first in range(0, count, _ENTRIES_AT_ONCE):
            self._check(
                lib.gsym_symbfile_names_collect(
                    self.handle, first, _ENTRIES_AT_ONCE, self._error
                )
            )
            if progress is not None:
                progress(first, count)

    def _blocks(self, style: str) -> Iterator[bytes]:
        """The texts of all names, some thousand at a time."""
        strps, count = ffi.new("uint64_t[]", _NAMES_AT_ONCE), ffi.new("uint64_t *")
        texts_of = TextsOfNames(self.image, style)
        first = done = 0
        while True:
            status = lib.gsym_symbfile_names_list(
                self.handle, first, strps, _NAMES_AT_ONCE, count, self._error
            )
            self._check(status)
            listed = min(_NAMES_AT_ONCE, count[0] - done)
            if not listed:
                return
            yield texts_of(strps, listed)
            first, done = strps[listed - 1] + 1, done + listed

    def _check(self, status: int) -> None:
        check(status, self._error, self._path)
