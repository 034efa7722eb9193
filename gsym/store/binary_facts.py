"""What an ELF file is to clients of debuginfod: its debug file, its executable."""

from __future__ import annotations

from contextlib import suppress

from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.companions.elf import read_altlink
from gsym.errors import GsymError
from gsym.records import NamedTuple

_DEBUG_SECTIONS = (b".debug_info", b".symtab", b".zdebug_info", b".debug_line")
KINDS = ("debuginfo", "executable")


class BinaryFacts(NamedTuple):
    """The facts of a binary.

    Attributes:
        build_id: In hexadecimal lower-case digits; "" for none.
        kinds: Of `KINDS`, what it may be served as.
        supplementary: Build id of its supplementary file; "" for none.
        part: Start and end of the section that was asked for; (0, 0) without it.
        is_elf: Whether it is an ELF file.
    """

    build_id: str
    kinds: tuple[str, ...]
    supplementary: str = ""
    part: tuple[int, int] = (0, 0)
    is_elf: bool = True


def facts_of(path: str, section: str = "") -> BinaryFacts:
    """The facts of the binary at *path*; any other file is a debug file.

    Raises:
        GsymError: It is damaged, or no object file.
        OSError: It cannot be read.
    """
    with ObjectFile(map_file(path), path) as binary:
        if not binary.is_elf:
            has_dwarf = binary.is_macho or binary.has_section(b".debug_info")
            kind = KINDS[0] if has_dwarf else KINDS[1]
            return BinaryFacts(binary.uuid.hex(), (kind,), is_elf=False)
        # As stored: inflated, it could take any memory.
        text = binary.stored_section(b".text")
        is_so = (any(map(binary.has_section, _DEBUG_SECTIONS)), bool(text))
        kinds = tuple(kind for kind, has in zip(KINDS, is_so, strict=True) if has)
        supplementary = ""
        with suppress(GsymError):
            if link := read_altlink(binary):
                supplementary = link[1].hex()
        name = section.encode("utf-8", "surrogateescape")
        part = (binary.stored_range(name) if name else None) or (0, 0)
        return BinaryFacts(binary.uuid.hex(), kinds, supplementary, part)
