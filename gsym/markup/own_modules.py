"""What this process has loaded, as markup: the beginning of a log.

print(own_modules_markup(), end="")
print(encode(Pc(address, "pc")))
"""

from __future__ import annotations

import struct

from gsym.markup.elements import Mmap, Module, Reset
from gsym.markup.parser import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"\x7fELF"
_HEADERS_SIZE = 1 << 16
_WIDE = 2
_LITTLE = 1
_LOAD, _NOTE = 1, 4
_BUILD_ID = 3
_PATH_AT = 5  # in a line of maps


def own_modules_markup(maps: str = "/proc/self/maps") -> str:
    """Lines of a `reset`, and of a `module` and its `mmap`s for each that is loaded.

    Modules without a build id are left out, and those whose file is gone.

    Args:
        maps: Lists what is mapped, as Linux does.

    Raises:
        OSError: It cannot be read, as on other systems.
    """
    with open(maps, encoding="utf-8", errors="surrogateescape") as file:
        mappings = list(file)
    lines = [encode(Reset())]
    known: dict[str, tuple[int, int] | None] = {}  # number, address minus link address
    for mapping in mappings:
        words = mapping.rstrip("\n").split(None, _PATH_AT)
        if len(words) <= _PATH_AT or not words[_PATH_AT].startswith("/"):
            continue
        span, flags, offset, _, _, path = words
        start, end = (int(address, 16) for address in span.split("-"))
        mode = flags[:3].replace("-", "")
        if path not in known:
            found = None if int(offset, 16) else _read_module(path)
            known[path] = None
            if found is not None:
                number = sum(each is not None for each in known.values())
                build_id, linked = found
                known[path] = number, start - linked
                lines.append(encode(Module(number, path, build_id)))
        module = known[path]
        if module is not None and mode:
            number, bias = module
            lines.append(encode(Mmap(start, end - start, number, mode, start - bias)))
    return "".join(f"{line}\n" for line in lines)


def _read_module(path: str) -> tuple[bytes, int] | None:
    """Build id of an ELF file, and the link-time address of its first byte."""
    try:
        with open(path, "rb") as file:
            data = file.read(_HEADERS_SIZE)
        return _parse_module(data)
    except (OSError, struct.error, IndexError):
        return None


def _parse_module(data: bytes) -> tuple[bytes, int] | None:
    if data[:4] != _MAGIC:
        return None
    order = "<" if data[5] == _LITTLE else ">"
    build_id, linked = b"", None
    for kind, offset, address, size in _segments(data, order, is_wide=data[4] == _WIDE):
        if kind == _LOAD and linked is None:
            linked = address - offset
        elif kind == _NOTE and not build_id:
            build_id = _find_build_id(data[offset : offset + size], order)
    return (build_id, linked) if build_id and linked is not None else None


def _segments(
    data: bytes, order: str, *, is_wide: bool
) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, link-time address and size in the file of each segment."""
    place, counts, entry = (32, 54, "IIQQQQ") if is_wide else (28, 42, "IIIII")
    (table,) = struct.unpack_from(order + ("Q" if is_wide else "I"), data, place)
    entry_size, count = struct.unpack_from(order + "HH", data, counts)
    for at in range(table, table + entry_size * count, entry_size or 1):
        fields = struct.unpack_from(order + entry, data, at)
        if is_wide:
            kind, _, offset, address, _, size = fields
        else:
            kind, offset, address, _, size = fields
        yield kind, offset, address, size


def _find_build_id(notes: bytes, order: str) -> bytes:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "III", notes, at)
        name_at = at + 12
        at = name_at + (name_size + 3) // 4 * 4
        if kind == _BUILD_ID and notes[name_at : name_at + name_size] == b"GNU\0":
            return notes[at : at + size]
        at += (size + 3) // 4 * 4
    return b""
