"""ELF files as inputs of a conversion: map, describe, inflate.

The engine reads the container; here the file is mapped and compressed sections
are inflated, since the engine does neither.
"""

from __future__ import annotations

import mmap
import os

from gsym._native import check, ffi, lib, new_error
from gsym.errors import FormatError, UnsupportedError

__all__ = ["ElfSource"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

_RELOCATABLE = 1  # ET_REL

# The names of LLVM's target triples by (e_machine, 64-bit, big-endian).
_ARCHITECTURES = {
    (3, False, False): "i386",
    (8, False, False): "mipsel",
    (8, False, True): "mips",
    (8, True, False): "mips64el",
    (8, True, True): "mips64",
    (20, False, True): "powerpc",
    (20, False, False): "powerpcle",
    (21, True, True): "powerpc64",
    (21, True, False): "powerpc64le",
    (22, True, True): "s390x",
    (40, False, False): "arm",
    (40, False, True): "armeb",
    (43, True, True): "sparcv9",
    (62, True, False): "x86_64",
    (62, False, False): "x86_64",
    (183, True, False): "aarch64",
    (183, True, True): "aarch64_be",
    (243, False, False): "riscv32",
    (243, True, False): "riscv64",
    (258, False, False): "loongarch32",
    (258, True, False): "loongarch64",
}

# No section may claim to hold more than this when inflated.
_MAX_INFLATED_SIZE = 16 << 30


class ElfSource:
    """An ELF file, mapped for the time of a conversion.

    Args:
        path: The file. It may be replaced by rename meanwhile, not rewritten.

    Raises:
        FormatError: It is no ELF file, or its headers are damaged.
        UnsupportedError: It is a relocatable file.
        OSError: It cannot be opened or mapped.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._error: Any = new_error()
        self._data = self._map()
        self._bytes = ffi.from_buffer("uint8_t[]", self._data)
        made = ffi.new("gsym_elf **")
        self._call(lib.gsym_elf_open, self._bytes, len(self._data), made)
        self.handle: Any = ffi.gc(made[0], lib.gsym_elf_close)
        self._header: Any = ffi.new("gsym_elf_header *")
        lib.gsym_elf_header_get(self.handle, self._header)
        if self._header.type == _RELOCATABLE:
            raise UnsupportedError(
                "a relocatable file; link it first, its relocations are not applied",
                path=path,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The map goes with the last view of it, which a failed job may still hold.
        ffi.release(self.handle)
        del self._bytes, self._data

    @property
    def big_endian(self) -> bool:
        """The byte order of the target, which the output takes over."""
        return bool(self._header.big_endian)

    @property
    def base_address(self) -> int | None:
        """Link-time address of the image: p_vaddr of the first PT_LOAD."""
        return self._header.base_address if self._header.has_base_address else None

    @property
    def architecture(self) -> str:
        """As LLVM's target triples name it; `elf-N` for an e_machine without name."""
        header = self._header
        key = (header.machine, bool(header.is_64), bool(header.big_endian))
        return _ARCHITECTURES.get(key, f"elf-{header.machine}")

    @property
    def uuid(self) -> bytes:
        """The GNU build id; empty where the file has none."""
        data, size = ffi.new("uint8_t **"), ffi.new("size_t *")
        self._call(lib.gsym_elf_build_id, self.handle, data, size)
        return bytes(ffi.buffer(data[0], size[0])) if size[0] else b""

    def debug_section(self, which: int) -> tuple[memoryview | bytes, bool] | None:
        """A section of DWARF, inflated, and whether it is a part of the mapped file.

        Args:
            which: A `gsym_debug_section`.

        Raises:
            FormatError: It reaches past the file or its compressed data is damaged.
            UnsupportedError: It is compressed in an unknown way.
        """
        section: Any = ffi.new("gsym_elf_section *")
        self._call(lib.gsym_elf_debug_section, self.handle, which, section)
        if not section.present:
            return None
        start, end = section.offset, section.offset + section.size
        payload = memoryview(self._data)[start:end]
        if section.compression == lib.GSYM_COMPRESSION_NONE:
            return payload, True
        return self._inflate(payload, section), False

    def _inflate(self, payload: memoryview, section: Any) -> bytes:
        size = section.uncompressed_size
        if size > _MAX_INFLATED_SIZE:
            raise self._damaged(section, f"it claims to hold {size} bytes")
        if section.compression == lib.GSYM_COMPRESSION_ZLIB:
            inflated, is_whole = self._inflate_zlib(payload, size, section)
        elif section.compression == lib.GSYM_COMPRESSION_ZSTD:
            inflated, is_whole = self._inflate_zstd(payload, size, section)
        else:
            raise UnsupportedError(
                "a section is compressed in an unknown way",
                path=self.path,
                offset=section.offset,
            )
        if len(inflated) != size or not is_whole:
            raise self._damaged(section, f"it does not hold the {size} bytes it claims")
        return inflated

    def _inflate_zlib(
        self, payload: memoryview, size: int, section: Any
    ) -> tuple[bytes, bool]:
        import zlib

        decompressor = zlib.decompressobj()
        try:
            # A limit of 0 would be none; one byte more shows that there is more.
            inflated = decompressor.decompress(payload, size + 1)
        except zlib.error as error:
            raise self._damaged(section, str(error)) from error
        return inflated, decompressor.eof

    def _inflate_zstd(
        self, payload: memoryview, size: int, section: Any
    ) -> tuple[bytes, bool]:
        import sys

        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        decompressor = zstd.ZstdDecompressor()
        try:
            inflated = decompressor.decompress(payload, size + 1)
        except (zstd.ZstdError, EOFError) as error:
            raise self._damaged(section, str(error)) from error
        return inflated, decompressor.eof

    def _damaged(self, section: Any, reason: str) -> FormatError:
        return FormatError(
            f"a compressed section is damaged: {reason}",
            path=self.path,
            offset=section.offset,
        )

    def _map(self) -> mmap.mmap:
        with open(self.path, "rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise FormatError("the file is empty", path=self.path, offset=0)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _call(self, function: Any, *arguments: Any) -> None:
        check(function(*arguments, self._error), self._error, self.path)
