"""MiniDebugInfo: `.gnu_debugdata`, an ELF file within, compressed with xz.

It holds the symbols of a stripped binary that its .dynsym does not have.
"""

from __future__ import annotations

from gsym.containers.inflation import believable_size
from gsym.containers.object_file import ObjectFile
from gsym.errors import FormatError, GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTION = b".gnu_debugdata"
_READ_SIZE = 64 << 10
_WRITE_SIZE = 1 << 20
_MEMORY_LIMIT = 128 << 20  # of the decoder; xz -9 needs 65 MiB
_MAX_SIZE = 512 << 20


def open_mini_debug_info(binary: ObjectFile) -> tuple[ObjectFile | None, str]:
    """The file within *binary*.

    Returns:
        The file or None, and where one is there but of no use a sentence that says why.
    """
    try:
        section = binary.section(_SECTION)
        if section is None:
            return None, ""
        within = ObjectFile(_inflate(section), f"{binary.path}({_SECTION.decode()})")
        if within.section_size(_SECTION):
            raise FormatError("it holds another one")
    except GsymError as error:
        return None, f"{_SECTION.decode()} is of no use: {error.reason}"
    return within, ""


def _inflate(payload: memoryview) -> memoryview:
    limit = believable_size(len(payload), _MAX_SIZE)
    inflated = bytearray()
    for piece in _pieces(payload):
        inflated += piece
        if len(inflated) > limit:
            raise FormatError(f"it holds more than {limit} bytes")
    return memoryview(inflated)


def _pieces(payload: memoryview) -> Iterator[bytes]:
    import lzma

    try:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY_LIMIT)
        for start in range(0, len(payload), _READ_SIZE):
            if decompressor.eof:
                break
            compressed = payload[start : start + _READ_SIZE]
            yield decompressor.decompress(compressed, _WRITE_SIZE)
            while not decompressor.needs_input and not decompressor.eof:
                yield decompressor.decompress(b"", _WRITE_SIZE)
    except lzma.LZMAError as error:
        raise FormatError(f"it is damaged: {error}") from error
    if not decompressor.eof:
        raise FormatError("it ends too early")
