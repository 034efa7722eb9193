"""The bytes of code that a binary has for an address."""

from __future__ import annotations

from struct import Struct

from gsym._native import check, ffi, lib, new_error

__all__ = ["code_at", "is_thumb_at"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.sources.object_file import ObjectFile

_SYMBOL = {False: Struct("<IIIBBH"), True: Struct(">IIIBBH")}
_MAPPING = {b"$t": True, b"$a": False}


def code_at(binary: ObjectFile, address: int, size: int) -> memoryview:
    """What is loaded at *address*, up to the end of its section.

    Args:
        binary: An open binary.
        address: At link time.
        size: As many bytes at most.

    Returns:
        Nothing where no section with code is there, or the file has not its bytes, as
        one with debug information only.

    Raises:
        FormatError: A section reaches past the file.
    """
    section: Any = ffi.new("gsym_object_section *")
    error: Any = new_error()
    for index in range(binary.section_count):
        status = lib.gsym_object_section_at(binary.handle, index, section, error)
        check(status, error, binary.path)
        if not section.holds_code or section.compression != lib.GSYM_COMPRESSION_NONE:
            continue
        held = min(section.size, section.memory_size)
        if section.address <= address < section.address + held:
            start = section.offset + address - section.address
            return binary.data[start : min(start + size, section.offset + held)]
    return memoryview(b"")


def is_thumb_at(binary: ObjectFile, address: int) -> bool:
    """Whether the code at an address of a 32-bit ARM file is Thumb's.

    The symbols `$t` and `$a` of an ELF file tell; without them it is taken for Thumb's,
    as nearly all is.

    Raises:
        FormatError: A section reaches past the file.
    """
    entries, names = binary.section(b".symtab"), binary.section(b".strtab")
    if not binary.is_elf or entries is None or names is None:
        return True
    entry = _SYMBOL[binary.big_endian]
    whole = len(entries) // entry.size * entry.size
    nearest, is_thumb = -1, True
    for name, value, _, _, _, _ in entry.iter_unpack(entries[:whole]):
        if nearest < value <= address:
            text = bytes(names[name : name + 3])
            if text[:2] in _MAPPING and text[2:] in {b"\0", b"."}:
                nearest, is_thumb = value, _MAPPING[text[:2]]
    return is_thumb
