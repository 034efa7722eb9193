"""The part of a GSYM file that names its module.

It follows everything else in the file, where other readers do not look:

    n bytes  `key_text` of the module, then zeros
    8 bytes  "GSYMIDEN"
    u64      n, little-endian

The file then has a multiple of 512 bytes, as one of version 1 with an index. One that
shares strings with its binary has a multiple of 8; the part follows its own strings.
"""

from __future__ import annotations

from gsym.modules.key import ModuleKey

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

_MAGIC = b"GSYMIDEN"
SOURCES_MAGIC = b"GSYMSRCS"  # of the part before it, see `writing.source_part`
FOOTER_SIZE = 16
# Limit: The part that names the module
MOST_BYTES = 64 << 10  # of the text, with padding
FILE_MULTIPLE = 512
_IN_FILES = frozenset(ModuleKey._fields) - {"path"}


def key_text(key: ModuleKey) -> bytes:
    """Write a key as `NAME=VALUE` texts, each with a zero byte at its end.

    Fields without a value and the path are left out. A value ends at a zero byte.
    """
    fields = key._replace(path="")._asdict()
    return "".join(
        f"{name}={value}\0"
        for name, whole in fields.items()
        if (value := whole.partition("\0")[0])
    ).encode("utf-8", "surrogateescape")


def read_key(text: bytes) -> ModuleKey:
    """Read a text that `key_text` wrote. Fields of other names are ignored."""
    pairs = (
        each.decode("utf-8", "surrogateescape").partition("=")
        for each in text.split(b"\0")
    )
    return ModuleKey(**{name: value for name, _, value in pairs if name in _IN_FILES})


def module_part(
    key: ModuleKey | None, start: int, *, multiple: int = FILE_MULTIPLE
) -> bytes:
    """The part for a module; b"" if nothing is known of it.

    The file then has a multiple of *multiple* bytes.
    """
    if key is None:
        return b""
    text = key_text(key)
    if not text:
        return b""
    from gsym.engine.text_buffer import text_by  # readers of the part make none

    return text_by("module_part", text, len(text), start, multiple)


def module_part_start(tail: Buffer, size: int) -> int:
    """The offset of the part in a file, *size* if it has none."""
    end = bytes(memoryview(tail)[-FOOTER_SIZE:])
    text_size = int.from_bytes(end[len(_MAGIC) :], "little")
    start = size - FOOTER_SIZE - text_size
    is_part = len(end) == FOOTER_SIZE and end.startswith(_MAGIC) and start >= 0
    return start if is_part and text_size <= MOST_BYTES else size


def source_part_start(tail: Callable[[int], Buffer], size: int) -> int:
    """The offset of the part with source files, or at which one would end.

    *tail* returns a number of last bytes of the file, of *size* bytes in all.
    """
    end = module_part_start(tail(FOOTER_SIZE), size)
    footer = bytes(memoryview(tail(size - end + FOOTER_SIZE))[:FOOTER_SIZE])
    start = end - FOOTER_SIZE - int.from_bytes(footer[len(SOURCES_MAGIC) :], "little")
    is_part = end >= FOOTER_SIZE and footer.startswith(SOURCES_MAGIC) and start >= 0
    return start if is_part else end


def end_without_parts(data: memoryview) -> int:
    """The end of what stands before the source files and the names of the module."""
    return source_part_start(lambda size: data[-size:], len(data))


def read_module_part(tail: Buffer) -> ModuleKey | None:
    """The module that a file names; None if it has no such part."""
    view = memoryview(tail)
    start = module_part_start(view, len(view))
    return None if start == len(view) else read_key(bytes(view[start:-FOOTER_SIZE]))
