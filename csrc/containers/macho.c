/* macho.c - open Mach-O files: read load commands, find the debug sections and LC_UUID. */
#include "containers/macho.h"
#include "base/list.h"

#define MH_MAGIC 0xfeedfaceu
#define MH_MAGIC_64 0xfeedfacfu

#define MH_OBJECT 1

#define LC_SEGMENT 0x1
#define LC_SYMTAB 0x2
#define LC_DYSYMTAB 0xb
#define LC_SEGMENT_64 0x19
#define LC_UUID 0x1b
#define LC_FUNCTION_STARTS 0x26

enum {
    HEADER_SIZE_32 = 28,
    HEADER_SIZE_64 = 32,
    SEGMENT_SIZE_32 = 56,
    SEGMENT_SIZE_64 = 72,
    SECTION_SIZE_32 = 68,
    SECTION_SIZE_64 = 80,
    UUID_SIZE = 16,
    INDIRECT_SYMBOLS_PLACE = 56 /* offset of indirectsymoff in LC_DYSYMTAB */
};

static bool is_64(const macho_object *macho) { return macho->object.header.is_64 != 0; }

static size_t name_size(const char *name) {
    const char *nul = memchr(name, 0, MACHO_NAME_SIZE);
    return nul == NULL ? MACHO_NAME_SIZE : (size_t)(nul - name);
}

/* ---- sections --------------------------------------------------------------------- */

static bool has_payload(const macho_section *section) {
    uint32_t type = section->flags & SECTION_TYPE;
    /* A dSYM bundle repeats the section headers of its program, with offset 0 for sections
     * that it does not have. */
    return section->offset != 0 && type != S_ZEROFILL &&
           type != S_GB_ZEROFILL &&
           type != S_THREAD_LOCAL_ZEROFILL;
}

static gsym_status section_at(const gsym_object *object, uint32_t index,
                              gsym_object_section *ret, gsym_error *error) {
    const macho_object *macho = macho_of(object);
    macho_section section = macho_section_at(macho, index);
    ret->present = 1;
    ret->index = index;
    ret->name = section.name;
    ret->name_size = name_size(section.name);
    ret->address = section.address;
    ret->offset = section.offset;
    ret->memory_size = section.size;
    ret->flags = section.flags;
    ret->type = section.flags & SECTION_TYPE;
    ret->holds_code = macho_section_holds_code(&section);
    if (!has_payload(&section)) return GSYM_OK;
    for (unsigned which = 0; which < GSYM_DEBUG_SECTION_COUNT; ++which)
        if (object->debug_sections[0][which] == index)
            ret->has_relocations = macho->has_relocations[which];
    return object_set_payload(object, ret, section.size, "__zdebug_", error);
}

static bool is_debug_section(const char *name, const char *prefix, const char *known) {
    size_t prefix_size = strlen(prefix);
    /* Names have at most 16 bytes: __debug_str_offs, __zdebug_line_st. */
    return strncmp(name, prefix, prefix_size) == 0 &&
           strncmp(name + prefix_size, known, MACHO_NAME_SIZE - prefix_size) == 0;
}

static void identifier(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret) {
    const macho_object *macho = macho_of(object);
    if (macho->uuid == NULL) return;
    *bytes_ret = macho->uuid;
    *size_ret = UUID_SIZE;
}

/* ---- load commands ------------------------------------------------------------------ */

static gsym_status read_segment(macho_object *macho, uint64_t offset, uint32_t size,
                                gsym_error *error) {
    gsym_object_header *header = &macho->object.header;
    uint32_t segment_size = is_64(macho) ? SEGMENT_SIZE_64 : SEGMENT_SIZE_32;
    uint32_t section_size = is_64(macho) ? SECTION_SIZE_64 : SECTION_SIZE_32;
    macho_segment segment;
    if (size < segment_size)
        return gsym_fail(error, GSYM_E_FORMAT, offset, "the segment command is cut off");
    segment = macho_segment_at(macho, offset);
    if (segment.section_count > (size - segment_size) / section_size)
        return gsym_fail(error, GSYM_E_FORMAT, offset,
                         "the segment command is too small for its %u sections",
                         segment.section_count);
    if (!header->has_base_address &&
        strncmp(segment.name, "__TEXT", MACHO_NAME_SIZE) == 0) {
        header->has_base_address = 1;
        header->base_address = segment.address;
    }
    if (!LIST_RESERVE(macho->section_entries, segment.section_count))
        return gsym_fail_memory(error);
    for (uint32_t i = 0; i < segment.section_count; ++i)
        macho->section_entries.items[macho->section_entries.count++] =
            (macho_section_entry){offset + segment_size + (uint64_t)i * section_size,
                                  offset};
    return GSYM_OK;
}

static macho_table read_table(cursor *c) {
    macho_table table;
    table.offset = cursor_u32(c);
    table.count = cursor_u32(c);
    return table;
}

/* Read a load command. If one that should occur once is repeated, the first is used. */
static gsym_status read_command(macho_object *macho, uint64_t offset, uint32_t command,
                                uint32_t size, gsym_error *error) {
    cursor c = macho_cursor(macho, offset);
    c.end = c.at + size; /* the caller has checked the size */
    cursor_skip(&c, MACHO_COMMAND_HEAD_SIZE);
    switch (command) {
        case LC_SEGMENT:
        case LC_SEGMENT_64:
            if ((command == LC_SEGMENT_64) != is_64(macho)) return GSYM_OK;
            return read_segment(macho, offset, size, error);
        case LC_UUID:
            if (macho->uuid == NULL && cursor_left(&c) >= UUID_SIZE) macho->uuid = c.at;
            break;
        case LC_SYMTAB:
            if (macho->symbols.count != 0) break;
            macho->symbols = read_table(&c);
            macho->strings = read_table(&c);
            break;
        case LC_DYSYMTAB:
            if (macho->indirect_symbols.count != 0) break;
            cursor_skip(&c, INDIRECT_SYMBOLS_PLACE - MACHO_COMMAND_HEAD_SIZE);
            macho->indirect_symbols = read_table(&c);
            break;
        case LC_FUNCTION_STARTS:
            if (macho->function_starts.count == 0) macho->function_starts = read_table(&c);
            break;
        default: break;
    }
    return GSYM_OK;
}

static gsym_status read_commands(macho_object *macho, uint64_t offset, uint32_t count,
                                 uint64_t end, gsym_error *error) {
    for (uint32_t i = 0; i < count; ++i) {
        cursor c = macho_cursor(macho, offset);
        uint32_t command = cursor_u32(&c);
        uint32_t size = cursor_u32(&c);
        if (c.failed || size < MACHO_COMMAND_HEAD_SIZE || size > end - offset)
            return gsym_fail(error, GSYM_E_FORMAT, offset,
                             "load command %u of %u is too small for its %u bytes", i + 1,
                             count, size);
        GSYM_TRY(read_command(macho, offset, command, size, error));
        offset += size;
    }
    return GSYM_OK;
}

static gsym_status read_header(macho_object *macho, gsym_error *error) {
    gsym_object_header *header = &macho->object.header;
    cursor c = macho_cursor(macho, 0);
    uint32_t magic = cursor_u32(&c);
    uint32_t count, size;
    uint64_t start;
    header->big_endian = magic != MH_MAGIC && magic != MH_MAGIC_64;
    c = macho_cursor(macho, 0);
    magic = cursor_u32(&c);
    header->is_64 = magic == MH_MAGIC_64;
    header->machine = cursor_u32(&c);
    header->machine_kind = cursor_u32(&c);
    header->type = cursor_u32(&c);
    count = cursor_u32(&c);
    size = cursor_u32(&c);
    start = header->is_64 ? HEADER_SIZE_64 : HEADER_SIZE_32;
    if (c.failed || macho->object.size < start || macho->object.size - start < size)
        return gsym_fail(error, GSYM_E_FORMAT, 0,
                         "the Mach-O header and its load commands are cut off");
    GSYM_TRY(read_commands(macho, start, count, start + size, error));
    header->section_count = (uint32_t)macho->section_entries.count;
    header->symbol_table_size = (uint64_t)macho->symbols.count * macho_symbol_size(macho);
    return GSYM_OK;
}

static void find_debug_sections(macho_object *macho) {
    uint32_t *found = macho->object.debug_sections[0];
    for (uint32_t i = 0; i < macho->object.header.section_count; ++i) {
        macho_section section = macho_section_at(macho, i);
        if (!has_payload(&section) || section.size == 0) continue;
        for (unsigned which = 0; which < GSYM_DEBUG_SECTION_COUNT; ++which)
            if (found[which] == OBJECT_NO_SECTION &&
                (is_debug_section(section.name, "__", debug_section_names[which]) ||
                 is_debug_section(section.name, "__z", debug_section_names[which]))) {
                found[which] = i;
                macho->has_relocations[which] =
                    macho->object.header.type == MH_OBJECT &&
                    macho_needs_relocation(macho, &section);
            }
    }
}

/* ---- opening ------------------------------------------------------------------------ */

static bool is_magic(const uint8_t *data, size_t size) {
    cursor c = cursor_at(data, size, 0, false);
    uint32_t magic = cursor_u32(&c);
    uint32_t swapped = __builtin_bswap32(magic);
    return magic == MH_MAGIC || magic == MH_MAGIC_64 || swapped == MH_MAGIC ||
           swapped == MH_MAGIC_64;
}

static gsym_status open_macho(gsym_object *object, gsym_error *error) {
    GSYM_TRY(read_header((macho_object *)object, error));
    find_debug_sections((macho_object *)object);
    return GSYM_OK;
}

static void release(gsym_object *object) {
    free(((macho_object *)object)->section_entries.items);
}

const object_format macho_format = {
    .number = GSYM_OBJECT_MACHO,
    .object_size = sizeof(macho_object),
    .is_magic = is_magic,
    .open = open_macho,
    .release = release,
    .section_at = section_at,
    .identifier = identifier,
    .relocate = macho_relocate,
};
