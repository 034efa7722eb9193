"""Whether the index of a GSYM file says what its records say.

The engine makes the index once more and all bytes are compared: one that leads lookups
to other answers than the records give cannot pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gsym._native import ffi, lib, new_error
from gsym.structure import BrokenError, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.structure import Extent, Layout


def check_index(layout: Layout) -> Iterator[Finding]:
    """Faults of the index, if the file has one."""
    index = layout.parts.get("Index")
    if index is None:
        return
    expected = _made_anew(layout, index)
    if expected is None:
        reason = "is of an unknown version or was made for another file: not used"
        yield Finding(index.start, f"the index {reason}")
        return
    at = _first_difference(layout.data[index.start : index.end], expected)
    if at is not None:
        yield Finding(index.start + at, "the index does not say what the records say")


def _made_anew(layout: Layout, index: Extent) -> bytes | None:
    """The bytes that the index should have; None where the engine uses none of it."""
    with ffi.from_buffer("uint8_t[]", layout.binary) as data:
        image = _Handle("gsym_image", lib.gsym_image_close)
        with image.filled(lib.gsym_image_open, data, len(data)) as opened:
            header, size = ffi.new("gsym_header *"), ffi.new("size_t *")
            lib.gsym_image_header(opened, header)
            if (header.index_offset, header.index_size) != (index.start, index.size):
                return None
            made = _Handle("gsym_index", lib.gsym_index_destroy)
            with made.filled(lib.gsym_index_create, opened) as again:
                return bytes(ffi.buffer(lib.gsym_index_bytes(again, size), size[0]))


class _Handle:
    """A kind of the engine's objects, and what gives one back."""

    def __init__(self, kind: str, destroy: Any) -> None:
        self._kind, self._destroy = kind, destroy

    def filled(self, create: Any, *arguments: Any) -> Any:
        """What *create* makes of *arguments*, for a `with` block."""
        made: Any = ffi.new(f"{self._kind} **")
        error: Any = new_error()
        if create(*arguments, made, error) != lib.GSYM_OK:
            reason = str(ffi.string(error.what).decode("utf-8", "replace"))
            raise BrokenError(error.offset, reason)
        return ffi.gc(made[0], self._destroy)


def _first_difference(found: memoryview, expected: bytes) -> int | None:
    if found == expected:
        return None
    pairs = zip(found, expected, strict=False)
    shorter = min(len(found), len(expected))
    return next((at for at, (a, b) in enumerate(pairs) if a != b), shorter)
