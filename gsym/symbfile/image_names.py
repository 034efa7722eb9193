"""The names and paths of a GSYM file as strings of a symbfile that is written.

Names are collected from all records first, so that each is demangled once.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error

__all__ = ["ImageNames"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.formats.symbfile import Encoder
    from gsym.reader import Reader

_ENTRIES_AT_ONCE = 1 << 14
_NAMES_AT_ONCE = 1 << 12


class ImageNames:
    """Makes all names of a file known to an encoder.

    Args:
        reader: The file; it stays open as long as this is used.
        encoder: What writes the symbfile.
        style: Makes of a name what is written.
        progress: Called now and then with (entries visited, entries in all).

    Attributes:
        handle: The engine's `gsym_symbfile_names`.

    Raises:
        FormatError: The records of the file lie over each other.
    """

    def __init__(
        self,
        reader: Reader,
        encoder: Encoder,
        style: Callable[[bytes], bytes],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._image: Any = reader._image  # noqa: SLF001 - a sibling's handle
        self._path = reader.path
        self._error: Any = new_error()
        place = ffi.new("gsym_symbfile_names **")
        self._check(lib.gsym_symbfile_names_create(self._image, place, self._error))
        self.handle = ffi.gc(place[0], lib.gsym_symbfile_names_destroy)
        count = len(reader)
        for first in range(0, count, _ENTRIES_AT_ONCE):
            self._check(
                lib.gsym_symbfile_names_collect(
                    self.handle, first, _ENTRIES_AT_ONCE, self._error
                )
            )
            if progress is not None:
                progress(first, count)
        self._add(encoder, style)

    def _add(self, encoder: Encoder, style: Callable[[bytes], bytes]) -> None:
        strps, count = ffi.new("uint64_t[]", _NAMES_AT_ONCE), ffi.new("uint64_t *")
        size, first, done = ffi.new("size_t *"), 0, 0
        while True:
            lib.gsym_symbfile_names_list(
                self.handle, first, strps, _NAMES_AT_ONCE, count
            )
            listed = ffi.unpack(strps, min(_NAMES_AT_ONCE, count[0] - done))
            if not listed:
                return
            texts = []
            for strp in listed:
                raw = lib.gsym_image_string(self._image, strp, size)
                texts.append(style(ffi.buffer(raw, size[0])[:]))
            block = b"".join([text.replace(b"\0", b"") + b"\0" for text in texts])
            self._check(
                lib.gsym_symbfile_names_add(
                    self.handle, encoder.handle, block, len(block), self._error
                )
            )
            first, done = listed[-1] + 1, done + len(listed)

    def _check(self, status: int) -> None:
        check(status, self._error, self._path)
