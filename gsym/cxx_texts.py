"""Many names of a GSYM file -> readable texts at once, as far as they are plain C++.

The engine calls the C++ runtime for these, which are most of those that are mangled.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error

__all__ = ["cxx_texts"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    CData = Any  # a cffi object


def cxx_texts(
    image: CData,
    strps: CData,
    count: int,
    demangler: CData,
    *,
    without_arguments: bool = False,
) -> tuple[bytes, list[int]]:
    """The texts of *count* names, with a NUL behind each.

    Args:
        image: The engine's `gsym_image *`.
        strps: String offsets of the names, `uint64_t *`.
        count: How many they are.
        demangler: What `gsym.demangling.cxx_demangler` gives.
        without_arguments: Leave arguments of templates out.

    Returns:
        The texts, and the numbers of the names that are left to others: their texts are
        empty.

    Raises:
        GsymError: There is no memory for them.
    """
    error, place = new_error(), ffi.new("gsym_cxx_texts **")
    status = lib.gsym_cxx_texts_create(
        image, strps, count, demangler, without_arguments, place, error
    )
    check(status, error)
    texts = ffi.gc(place[0], lib.gsym_cxx_texts_destroy)
    block, left = ffi.new("const char **"), ffi.new("const uint32_t **")
    size, left_count = ffi.new("size_t *"), ffi.new("size_t *")
    lib.gsym_cxx_texts_view(texts, block, size, left, left_count)
    numbers = ffi.unpack(left[0], left_count[0]) if left_count[0] else []
    return ffi.buffer(block[0], size[0])[:], numbers
