"""Demangles linkage names.

GSYM files contain linkage names, which can be compared with symbol tables. C++ is
demangled by the installed C++ runtime, opened when the first name needs it; what that
does not know, Rust, Swift, D and decorated names of Windows by the package `demangle`
(extra `demangle`).
Names are untrusted: one that cannot be demangled within the limits is not changed.
"""

from __future__ import annotations

from gsym.engine.native import ffi, lib, to_bytes, to_str
from gsym.lazy import re

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

# Limit: Name to demangle
MAX_NAME_SIZE = 1 << 16
MAX_TEXT_SIZE: int = lib.GSYM_MAX_CXX_TEXT_SIZE
MAX_CXX_NAME_SIZE: int = lib.GSYM_MAX_CXX_NAME_SIZE
MAX_CXX_WORK: int = lib.GSYM_MAX_CXX_WORK
_MAX_CACHED_SIZE = 1 << 24  # bytes of names and texts together

_NULL = ffi.NULL
_CXX_RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "/usr/lib/libc++abi.dylib")
_FIRST_CHARACTERS = (b"_", b"$", b".", b"?")
# A class, maybe nested, of `std`, or local to a function.
_TYPE = rb"[0-9]|(?:[PRO][VK]*)?N[VKRO]*(?:[0-9]|S[a-z])|St[0-9]|Z[0-9]"
# std::bfloat16_t, which libstdc++ 12 and older take for `bool _Accum`. Names with it
# are left to this module by csrc/text/cxx_texts.c, too.
_MISREAD = b"DF16b"
_RUST_HASH_SIZE = len("17h0123456789abcdefE")
_SWIFT = (b"$s", b"$S", b"$e", b"_$s", b"_$S", b"_$e", b"_T0", b"__T0")


def demangle(name: str) -> str:
    """*name* in source notation.

    Args:
        name: A linkage name. The underscore before names in Mach-O files, dots before
            it and a version or `@plt` after it are accepted.

    Returns:
        The demangled name; *name* itself if it is not mangled, is longer than 64 KiB
        (in C++ without the extra `demangle`: 1024 bytes), expands to more than 1 MiB of
        text, or if the demangler is not installed.

    Raises:
        TypeError: *name* is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected a string, not {name!r}")
    return to_str(demangle_bytes(to_bytes(name)))


def demangle_bytes(name: bytes) -> bytes:
    """Demangle the bytes of a name."""
    return _cache[name] if _may_be_mangled(name) else name


def demangle_once(name: bytes) -> bytes:
    """Demangle without the cache, for callers that keep the texts of names."""
    return _demangle(name) if _may_be_mangled(name) else name


def demangle_type(name: bytes) -> bytes:
    """`demangle_bytes`, also for a C++ type as in `type_info::name`: `N3geo5ShapeE`.

    Types that can easily be other names are not demangled: `i` may be a function of C.
    """
    if re.match(_TYPE, name) and b"\0" not in name:
        return _from_cxx(name) or name
    return demangle_bytes(name)


class Cache(dict[bytes, bytes]):
    """Answers to names that look mangled; emptied when it is full."""

    __slots__ = ("_size",)

    def __init__(self) -> None:
        self._size = 0

    def __missing__(self, name: bytes) -> bytes:
        text = _demangle(name)
        size = len(name) + len(text)
        if self._size + size > _MAX_CACHED_SIZE:
            self.clear()
            self._size = 0
        self._size += size
        self[name] = text
        return text


_cache = Cache()


def _may_be_mangled(name: bytes) -> bool:
    return name.startswith(_FIRST_CHARACTERS) and len(name) <= MAX_NAME_SIZE


def _demangle(name: bytes) -> bytes:
    # Whether it is a C++ name without prefix and suffix, and of no other language
    if (
        name.startswith(b"_Z")
        and b"@" not in name
        and b"17h" not in name
        and b"\0" not in name
    ):  # as most are
        return _from_cxx(name) or name
    if name.startswith(b"?"):
        return _from_msvc(name) or name
    body = name.lstrip(b".")  # of entry points on 64-bit PowerPC
    front = name[: len(name) - len(body)]
    body, at, version = body.partition(b"@")
    is_block = body.startswith(b"___Z")  # in C++; the second underscore is its own
    plain = body[1:] if body.startswith(b"__") and not is_block else body
    text = None
    if plain and b"\0" not in plain:
        text = _from_language(plain)
    if not text or len(text) > MAX_TEXT_SIZE:
        return name
    return front + text + at + version


def _from_language(plain: bytes) -> bytes | None:
    if plain.startswith((b"_Z", b"___Z", b"_GLOBAL_")):
        # Legacy Rust as C++, with the hash after it, where the package is missing
        found = _from_package(plain, "rust") if is_legacy_rust(plain) else None
        return found or _from_cxx(plain)
    if plain.startswith(b"_R") and plain[2:3].isalnum():
        return _from_package(plain, "rust")
    if plain.startswith(_SWIFT):
        return _from_package(plain, "swift")
    if plain.startswith(b"_D") and (plain[2:3].isdigit() or plain == b"_Dmain"):
        return _from_package(plain, "d")
    return None


def is_legacy_rust(plain: bytes) -> bool:
    """Whether a name of C++ ends in the hash that Rust's first mangling puts there."""
    start = plain.rfind(b"17h")
    end = start + _RUST_HASH_SIZE
    # A dot begins what compilers put after a name; there may be dots within, too.
    is_hash = start >= 0 and plain[:end].endswith(b"E")
    return is_hash and plain[end:][:1] in {b"", b"."}


# ---- C++


def _from_cxx(plain: bytes) -> bytes | None:
    """Demangle with the runtime; names that are beyond it, with the package."""
    if (
        len(plain) > MAX_CXX_NAME_SIZE
        or lib.gsym_cxx_name_work(plain, len(plain)) > MAX_CXX_WORK
    ):
        return _from_package(plain, "itanium")
    if _MISREAD in plain:
        return _from_package(plain, "itanium") or _cxx_runtime(plain)
    return _cxx_runtime(plain) or _from_package(plain, "itanium")


class CxxRuntime:
    """`__cxa_demangle` of the C++ runtime, which is opened when it is first needed."""

    def __init__(self) -> None:
        self._is_open = False
        self._function: Any = None

    def __call__(self, plain: bytes) -> bytes | None:
        """The demangled name, or None."""
        function = self.function
        if function is None:
            return None
        text = function(plain, _NULL, _NULL, _NULL)
        if not text:
            return None
        try:
            found: bytes = ffi.string(text, MAX_TEXT_SIZE + 1)
        finally:
            self.free(text)
        return found if len(found) <= MAX_TEXT_SIZE else None

    @property
    def function(self) -> Any:
        """The function itself; None if no runtime is installed."""
        if not self._is_open:
            self._open()
        return self._function

    def _open(self) -> None:
        """Open the first runtime that is installed.

        With cffi's own loader: `ffi.dlopen` would need a compiled interface, and
        importing ctypes takes longer than a lookup.
        """
        import _cffi_backend

        # From the process, as the allocator may not be that of libc.
        process: Any = _cffi_backend.load_library(None, _cffi_backend.RTLD_NOW)
        kind = ffi.typeof("void (*)(char *)")
        self.free: Any = process.load_function(kind, "free")
        for path in _CXX_RUNTIMES:
            try:
                library: Any = _cffi_backend.load_library(path, _cffi_backend.RTLD_NOW)
                function = library.load_function(
                    ffi.typeof("char *(*)(char *, char *, size_t *, int *)"),
                    "__cxa_demangle",
                )
            except (OSError, AttributeError):
                continue
            self._function = function
            break
        self._is_open = True


_cxx_runtime = CxxRuntime()


def cxx_demangler() -> Any:
    """The engine's `gsym_cxx_demangler *`; None if no C++ runtime is installed."""
    function = _cxx_runtime.function
    if function is None:
        return None
    demangler: Any = ffi.new("gsym_cxx_demangler *")
    demangler.demangle, demangler.release = function, _cxx_runtime.free
    demangler.max_work, demangler.max_text_size = MAX_CXX_WORK, MAX_TEXT_SIZE
    return demangler


# ---- languages of the package `demangle`


# What llvm-symbolizer leaves out, and the words class, struct, union and enum.
_MSVC_OPTIONS = dict.fromkeys(
    (
        "access_specifier",
        "calling_convention",
        "member_type",
        "return_type",
        "tag_kind",
    ),
    False,
)


def _from_msvc(plain: bytes) -> bytes | None:
    """A decorated name of Windows, spelled as by llvm-symbolizer."""
    from dataclasses import replace

    try:
        from demangle import style

        llvm = style("llvm")
        options = replace(llvm.language_options["msvc"], **_MSVC_OPTIONS)
        spelling = replace(llvm, language_options={"msvc": options})
    except Exception:  # noqa: BLE001 - not installed, or older than these options
        return None
    return _from_package(plain, "msvc", style=spelling)


def _from_package(plain: bytes, language: str, **options: Any) -> bytes | None:
    """None if it is not installed or cannot demangle the name.

    It has its own limits: 256 levels, 64 KiB of text.
    """
    try:
        import demangle as package
    except ImportError:
        return None
    name = to_str(plain)
    try:
        text = package.demangle(name, language=(language,), **options)
    except Exception:  # noqa: BLE001 - an error in the package costs one name
        return None
    return None if text == name else to_bytes(text)
