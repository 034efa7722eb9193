"""The names and paths of a GSYM file as strings of a symbfile."""

from __future__ import annotations

from gsym.engine.demangling import cxx_demangler, demangle_bytes, is_legacy_rust
from gsym.engine.name_texts import cxx_texts
from gsym.engine.native import check, ffi, lib, new_error, new_object

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    CData = Any  # a cffi object
    from collections.abc import Iterator

    from gsym.reading.reader import Reader
    from gsym.symbfile.format import Encoder


# Suffixes of functions that compilers derive from others, followed by a number.
_COPY_SUFFIXES = (b".clone.", b".constprop.", b".llvm.", b".isra.", b".part.")
_COLD_SUFFIX = b".cold"
_CXX = (b"_Z", b"___Z")


def reduce_name(name: bytes) -> bytes:
    """A name in the style of the reference implementation.

    A name that is not mangled is unchanged, except for suffixes of copies; Go names
    contain dots.
    """
    if b"." in name:
        name = _without_copy_suffixes(name)
    text = demangle_bytes(name)
    if b"<" not in text or text is name or not name.startswith(_CXX):
        return text
    if is_legacy_rust(name):
        return text
    out = ffi.new("char[]", len(text))
    size = lib.gsym_name_without_template_arguments(text, len(text), out)
    return ffi.buffer(out, size)[:]  # type: ignore[no-any-return]


def _without_copy_suffixes(name: bytes) -> bytes:
    for suffix in _COPY_SUFFIXES:
        start = name.rfind(suffix)
        if start < 0:
            continue
        number = name[start + len(suffix) :].partition(b".")[0]
        if not number or number.isdigit():
            name = name[:start]
    return name.removesuffix(_COLD_SUFFIX)


STYLES: dict[str, Callable[[bytes], bytes]] = {
    "symblib": reduce_name,
    "full": demangle_bytes,
    "mangled": bytes,  # as they are
}


def texts_of(image: CData, style: str, strps: CData, count: int) -> bytes:
    """The texts of names by their string offsets, with a NUL after each."""
    size, write = ffi.new("size_t *"), STYLES[style]

    def text(strp: int) -> bytes:
        raw = lib.gsym_image_string(image, strp, size)
        return write(ffi.buffer(raw, size[0])[:]).replace(b"\0", b"")

    demangler = None if style == "mangled" else cxx_demangler()
    if demangler is None:
        return b"".join([text(strps[at]) + b"\0" for at in range(count)])
    given = image, strps, count, demangler
    block, left = cxx_texts(*given, without_arguments=style == "symblib")
    if not left:
        return block
    texts = block.split(b"\0")
    for at in left:
        texts[at] = text(strps[at])
    return b"\0".join(texts)


_ENTRIES_AT_ONCE = 1 << 14
_NAMES_AT_ONCE = 1 << 12


class NameTexts:
    """The texts of the names of one file, made once for several symbfiles."""

    __slots__ = ("blocks", "collected", "style")

    def __init__(self, names: str) -> None:
        if names not in STYLES:
            raise ValueError(f"names: {', '.join(STYLES)}, not {names!r}")
        self.style: str = names  # the style
        # the texts of all names in order, with a NUL after each; filled when the first
        # symbfile is written
        self.blocks: tuple[bytes, ...] = ()
        # the names of the first symbfile, for others of the same reader
        self.collected: ImageNames | None = None


class ImageNames:
    """Adds all names of a file to an encoder."""

    def __init__(
        self,
        reader: Reader,
        encoder: Encoder,
        texts: NameTexts,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.image: Any = reader.mapped.image  # the engine's `gsym_image` of the file
        self._path = reader.path
        self._error: Any = new_error()
        life = lib.gsym_symbfile_names_create, lib.gsym_symbfile_names_destroy
        # its `gsym_symbfile_names`
        self.handle: Any
        self.handle = new_object("symbfile_names", *life, self.image, path=self._path)
        known = texts.collected
        if known is not None and known.image is self.image:
            shared = self.handle, known.handle, self._error
            self._check(lib.gsym_symbfile_names_share(*shared))
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
            status = lib.gsym_symbfile_names_collect(
                self.handle, first, _ENTRIES_AT_ONCE, self._error
            )
            self._check(status)
            if progress is not None:
                progress(first, count)

    def _blocks(self, style: str) -> Iterator[bytes]:
        """The texts of all names, some thousands at a time."""
        strps, count = ffi.new("uint64_t[]", _NAMES_AT_ONCE), ffi.new("uint64_t *")
        first = done = 0
        while True:
            status = lib.gsym_symbfile_names_list(
                self.handle, first, strps, _NAMES_AT_ONCE, count, self._error
            )
            self._check(status)
            listed = min(_NAMES_AT_ONCE, count[0] - done)
            if not listed:
                return
            yield texts_of(self.image, style, strps, listed)
            first, done = strps[listed - 1] + 1, done + listed

    def _check(self, status: int) -> None:
        check(status, self._error, self._path)
