/* macho_sections.c - read the sections and tables of a Mach-O file.
 *
 * Section headers are inside segment commands of any size, so opening a file stores the
 * offset of each; a header is read there each time it is needed. */
#include "containers/macho.h"

static uint64_t read_word(cursor *c, const macho_object *macho) {
    return macho->object.header.is_64 ? cursor_u64(c) : cursor_u32(c);
}

static const char *read_name(cursor *c) {
    const char *name = (const char *)c->at;
    cursor_skip(c, MACHO_NAME_SIZE);
    return name;
}

macho_segment macho_segment_at(const macho_object *macho, uint64_t offset) {
    cursor c = macho_cursor(macho, offset + MACHO_COMMAND_HEAD_SIZE);
    macho_segment segment;
    segment.name = read_name(&c);
    segment.address = read_word(&c, macho);
    (void)read_word(&c, macho); /* vmsize */
    segment.file_offset = read_word(&c, macho);
    (void)read_word(&c, macho); /* filesize */
    cursor_skip(&c, 8);         /* maxprot, initprot */
    segment.section_count = cursor_u32(&c);
    return segment;
}

/* Return the offset of a section in a file of 4 GiB or more, where the section header has
 * only its lower 32 bits. It follows from the segment: the section is as far from the start
 * of its segment in the file as in memory. */
static uint64_t far_offset(const macho_object *macho, const macho_section *section,
                           uint64_t segment_offset) {
    macho_segment segment = macho_segment_at(macho, segment_offset);
    uint64_t address = section->address - macho->object.header.bias;
    uint64_t offset = address - segment.address + segment.file_offset;
    return (uint32_t)offset == section->offset ? offset : section->offset;
}

macho_section macho_section_at(const macho_object *macho, uint32_t index) {
    const macho_section_entry *entry = &macho->section_entries.items[index];
    cursor c = macho_cursor(macho, entry->offset);
    macho_section section;
    section.name = read_name(&c);
    (void)read_name(&c); /* of its segment */
    section.address = read_word(&c, macho) + macho->object.header.bias;
    section.size = read_word(&c, macho);
    section.offset = cursor_u32(&c);
    (void)cursor_u32(&c); /* alignment */
    section.relocation_offset = cursor_u32(&c);
    section.relocation_count = cursor_u32(&c);
    section.flags = cursor_u32(&c);
    section.indirect_first = cursor_u32(&c);
    section.stub_size = cursor_u32(&c);
    if (macho->object.size > UINT32_MAX && section.offset != 0)
        section.offset = far_offset(macho, &section, entry->segment_offset);
    return section;
}

cursor macho_table_bytes(const macho_object *macho, macho_table table,
                         uint64_t entry_size) {
    uint64_t offset = table.offset < macho->object.size ? table.offset : macho->object.size;
    uint64_t left = macho->object.size - offset;
    uint64_t size = table.count * entry_size; /* no overflow: both factors have at most 32
                                                 bits */
    return cursor_at(macho->object.data + offset, size < left ? size : left, 0,
                     macho->object.header.big_endian);
}
