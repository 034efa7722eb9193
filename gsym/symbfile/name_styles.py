"""How the names of functions are written in a symbfile.

GSYM files have names as the linker knows them. The files of the reference
implementation have them demangled, in C++ without template arguments, in Rust without
the hash, and without what compilers put behind the names of copies.
"""

from __future__ import annotations

from gsym._native import ffi, lib
from gsym.demangling import demangle_bytes, is_legacy_rust

__all__ = ["STYLES", "reduce_name"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Of functions that compilers made of others, followed by a number.
_COPY_SUFFIXES = (b".clone.", b".constprop.", b".llvm.", b".isra.", b".part.")
_COLD_SUFFIX = b".cold"
_CXX = (b"_Z", b"___Z")


def reduce_name(name: bytes) -> bytes:
    """A name as the reference implementation writes it.

    Args:
        name: As the linker knows it; one that is not mangled stays as it is, but for
            what is behind the name of a copy. Go's names have dots of their own.
    """
    if b"." in name:
        name = _without_copy_suffixes(name)
    text = demangle_bytes(name)
    if b"<" not in text or text is name or not name.startswith(_CXX):
        return text
    return text if is_legacy_rust(name) else _without_template_arguments(text)


def _without_copy_suffixes(name: bytes) -> bytes:
    for suffix in _COPY_SUFFIXES:
        start = name.rfind(suffix)
        if start < 0:
            continue
        number = name[start + len(suffix) :].partition(b".")[0]
        if not number or number.isdigit():
            name = name[:start]
    return name.removesuffix(_COLD_SUFFIX)


def _without_template_arguments(text: bytes) -> bytes:
    out = ffi.new("char[]", len(text))
    size = lib.gsym_name_without_template_arguments(text, len(text), out)
    return ffi.buffer(out, size)[:]  # type: ignore[no-any-return]


def _as_it_is(name: bytes) -> bytes:
    return name


STYLES: dict[str, Callable[[bytes], bytes]] = {
    "symblib": reduce_name,
    "full": demangle_bytes,
    "mangled": _as_it_is,
}
