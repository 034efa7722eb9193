/* elf_sections.c - read the sections of an ELF file.
 *
 * Nothing is copied or indexed: a section header is read in place each time it is
 * needed. */
#include "containers/elf.h"

enum { SECTION_NAME_LIMIT = 256 }; /* all names that are searched for are shorter */

elf_section elf_section_at(const elf_object *elf, uint32_t index) {
    uint64_t offset = (uint64_t)index * elf->section_entry_size;
    cursor c = elf_cursor(elf, elf->section_table + offset);
    elf_section section;
    section.name = cursor_u32(&c);
    section.type = cursor_u32(&c);
    section.flags = elf_read_word(&c, elf);
    section.address = elf_read_word(&c, elf);
    section.offset = elf_read_word(&c, elf);
    section.size = elf_read_word(&c, elf);
    section.link = cursor_u32(&c);
    section.info = cursor_u32(&c);
    section.alignment = elf_read_word(&c, elf);
    section.entry_size = elf_read_word(&c, elf);
    if (elf->placements != NULL) section.address = elf->placements[index].address;
    if (section.flags & SHF_ALLOC) section.address += elf->object.header.bias;
    return section;
}

const char *elf_section_name(const elf_object *elf, const elf_section *section) {
    cursor c = cursor_at(elf->object.data + elf->names_offset, elf->names_size,
                         section->name, false);
    size_t size;
    /* Many sections may share a long name, so only the start of it is read. */
    if (cursor_left(&c) > SECTION_NAME_LIMIT) c.end = c.at + SECTION_NAME_LIMIT;
    return cursor_cstring(&c, &size);
}

cursor elf_section_bytes(const elf_object *elf, const elf_section *section) {
    size_t end = elf->object.size;
    uint64_t offset = section->offset < end ? section->offset : end;
    uint64_t left = end - offset;
    uint64_t size = section->type == SHT_NOBITS ? 0 : section->size;
    return cursor_at(elf->object.data + offset, size < left ? size : left, 0,
                     elf->object.header.big_endian);
}
