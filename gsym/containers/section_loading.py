"""Sections as the engine reads them; the code bytes at an address."""

from __future__ import annotations

from struct import Struct

from gsym.engine.native import check, ffi, lib, new_error
from gsym.engine.workers import run_workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.containers.object_file import ObjectFile, Section


# Below this much in all sections a second thread costs more than it brings.
_BYTES_PER_THREAD = 1 << 20


def load_debug_sections(
    file: ObjectFile, threads: int, *, split: bool = False
) -> dict[int, Section]:
    """The sections that *file* has, by `gsym_debug_section`.

    Args:
        file: An object file.
        threads: How many may work on it.
        split: Those of split units.

    Raises:
        FormatError: One reaches past the file or its compressed data is damaged.
        LimitError: They would be too large when inflated.
        UnsupportedError: One is compressed in an unknown way.
        MemoryError: There is not as much memory.
    """
    sizes = {
        which: file.debug_section_size(which, split=split)
        for which in range(lib.GSYM_DEBUG_SECTION_COUNT)
    }
    # The longest are begun first, for the others fit in beside them.
    waiting = sorted(sizes, key=sizes.__getitem__)
    loaded: dict[int, Section] = {}

    def work() -> None:
        while waiting:
            which = waiting.pop()
            section = file.debug_section(which, split=split)
            if section is not None:
                loaded[which] = section

    count = min(threads, 1 + sum(sizes.values()) // _BYTES_PER_THREAD)
    run_workers(work, count, None, waiting.clear)
    return loaded


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
