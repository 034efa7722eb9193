"""What programs that are linked with libgsym rely on, as its debug information has it.

    python -m tests.libgsym.abi LIBRARY

Prints the exported functions with their types and versions, and the layout of each
public struct and the value of each enumerator.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from elftools.elf.elffile import ELFFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    DIE = Any

HEADERS = {b"libgsym.h", b"status.h"}
FILES_FROM_ONE = 5  # the first version of line programs that counts files from 0


def abi_of(path: Path) -> list[str]:
    """The lines to compare, sorted."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        versions = dict(exported(elf))
        lines: set[str] = set()
        for unit in elf.get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if "DW_AT_declaration" in die.attributes:
                    continue
                version = versions.get(text(die, "DW_AT_name"))
                if die.tag == "DW_TAG_subprogram" and version:
                    lines.add(f"{version} {function(die)}")
                elif die.tag == "DW_TAG_structure_type" and is_public(die):
                    lines.update(struct(die))
                elif die.tag == "DW_TAG_enumeration_type" and is_public(die):
                    lines.update(enumerators(die))
        return sorted(lines)


def exported(elf: ELFFile) -> Iterator[tuple[str, str]]:
    """Name and version of each function."""
    sections = (".gnu.version", ".gnu.version_d", ".dynsym")
    versions, definitions, symbols = map(cast("Any", elf.get_section_by_name), sections)
    names = {
        each["vd_ndx"]: next(iter(auxiliaries)).name
        for each, auxiliaries in definitions.iter_versions()
    }
    for index, symbol in enumerate(symbols.iter_symbols()):
        if (
            symbol["st_shndx"] != "SHN_UNDEF"
            and symbol["st_info"]["type"] == "STT_FUNC"
        ):
            yield symbol.name, names[versions.get_symbol(index)["ndx"]]


def text(die: DIE, attribute: str) -> str:
    value = die.attributes.get(attribute)
    return "" if value is None else cast("bytes", value.value).decode()


def type_of(die: DIE) -> DIE | None:
    has_type = "DW_AT_type" in die.attributes
    return die.get_DIE_from_attribute("DW_AT_type") if has_type else None


def children(die: DIE, tag: str) -> list[DIE]:
    return [child for child in die.iter_children() if child.tag == tag]


def described(die: DIE | None) -> str:
    """A type as C writes it, typedefs of the system aside."""
    if die is None:
        return "void"
    inner = type_of(die)
    if die.tag == "DW_TAG_pointer_type":
        return f"{described(inner)} *"
    if die.tag == "DW_TAG_const_type":
        return f"{described(inner)} const"
    if die.tag == "DW_TAG_array_type":
        (bound,) = children(die, "DW_TAG_subrange_type")
        return f"{described(inner)} [{bound.attributes['DW_AT_upper_bound'].value + 1}]"
    name = text(die, "DW_AT_name")
    if die.tag == "DW_TAG_typedef" and not name.startswith("gsym_"):
        return described(inner)
    return name


def function(die: DIE) -> str:
    parameters = [
        described(type_of(each)) for each in children(die, "DW_TAG_formal_parameter")
    ]
    arguments = ", ".join(parameters) or "void"
    return f"{text(die, 'DW_AT_name')}({arguments}) -> {described(type_of(die))}"


def is_public(kind: DIE) -> bool:
    """Whether a public header defines it."""
    if "DW_AT_decl_file" not in kind.attributes:
        return False
    header = kind.dwarfinfo.line_program_for_CU(kind.cu).header
    number = kind.attributes["DW_AT_decl_file"].value
    number -= header["version"] < FILES_FROM_ONE
    return header["file_entry"][number].name in HEADERS


def struct(kind: DIE) -> Iterator[str]:
    name = text(kind, "DW_AT_name")
    yield f"struct {name}: {kind.attributes['DW_AT_byte_size'].value} bytes"
    for member in children(kind, "DW_TAG_member"):
        offset = member.attributes["DW_AT_data_member_location"].value
        kind_name = described(type_of(member))
        yield f"struct {name} at {offset:3}: {kind_name} {text(member, 'DW_AT_name')}"


def enumerators(kind: DIE) -> Iterator[str]:
    for each in children(kind, "DW_TAG_enumerator"):
        value = each.attributes["DW_AT_const_value"].value
        yield f"enum {text(each, 'DW_AT_name')} = {value}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in abi_of(Path(sys.argv[1])))
