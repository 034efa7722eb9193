/* elf.c - the ELF container: header, section table, notes.
 *
 * Nothing is copied or indexed: a section header is read where it stands
 * whenever it is asked for. */
#include "elf.h"

#define PROGRAM_LOAD 1
#define PROGRAM_NOTE 4
#define NOTE_GNU_BUILD_ID 3
#define INDEX_EXTENDED 0xffff /* SHN_XINDEX, PN_XNUM: the number is in section 0 */

enum { SECTION_NAME_LIMIT = 256 }; /* no name that is looked for is as long */

static cursor elf_cursor(const gsym_elf *elf, uint64_t offset) {
    return cursor_at(elf->data, elf->size, offset, elf->header.big_endian);
}

static uint64_t read_word(cursor *c, const gsym_elf *elf) {
    return elf->header.is_64 ? cursor_u64(c) : cursor_u32(c);
}

elf_section elf_section_at(const gsym_elf *elf, uint32_t index) {
    cursor c = elf_cursor(elf, elf->section_table + (uint64_t)index * elf->section_entry_size);
    elf_section section;
    section.name = cursor_u32(&c);
    section.type = cursor_u32(&c);
    section.flags = read_word(&c, elf);
    section.address = read_word(&c, elf);
    section.offset = read_word(&c, elf);
    section.size = read_word(&c, elf);
    section.link = cursor_u32(&c);
    section.info = cursor_u32(&c);
    (void)read_word(&c, elf); /* sh_addralign */
    section.entry_size = read_word(&c, elf);
    return section;
}

const char *elf_section_name(const gsym_elf *elf, const elf_section *section) {
    cursor c = cursor_at(elf->data + elf->names_offset, elf->names_size, section->name, false);
    size_t size;
    /* Many sections may share a name, so none may cost as much as the table. */
    if (cursor_left(&c) > SECTION_NAME_LIMIT) c.end = c.at + SECTION_NAME_LIMIT;
    return cursor_cstring(&c, &size);
}

cursor elf_section_bytes(const gsym_elf *elf, const elf_section *section) {
    uint64_t offset = section->offset < elf->size ? section->offset : elf->size;
    uint64_t left = elf->size - offset;
    uint64_t size = section->type == ELF_SECTION_NOBITS ? 0 : section->size;
    return cursor_at(elf->data + offset, size < left ? size : left, 0,
                     elf->header.big_endian);
}

/* ---- opening ------------------------------------------------------------------ */

static gsym_status read_section_table(gsym_elf *elf, uint32_t count, uint32_t names_index,
                                      gsym_error *error) {
    uint64_t left;
    elf_section first;
    if (elf->section_table == 0) return GSYM_OK; /* section headers were stripped */
    if (elf->section_entry_size < (elf->header.is_64 ? 64u : 40u))
        return gsym_fail(error, GSYM_E_FORMAT, elf->section_table,
                         "ELF section header size %u is too small",
                         elf->section_entry_size);
    left = elf->section_table < elf->size ? elf->size - elf->section_table : 0;
    if (left < elf->section_entry_size)
        return gsym_fail(error, GSYM_E_FORMAT, elf->section_table,
                         "the ELF section table lies outside the file");
    first = elf_section_at(elf, 0);
    if (count == 0) count = first.size > UINT32_MAX ? UINT32_MAX : (uint32_t)first.size;
    if (names_index == INDEX_EXTENDED) names_index = first.link;
    if (count > left / elf->section_entry_size)
        return gsym_fail(error, GSYM_E_FORMAT, elf->section_table,
                         "the ELF section table of %u entries reaches past the end of "
                         "the file",
                         count);
    elf->header.section_count = count;
    if (names_index > 0 && names_index < count) {
        elf_section names = elf_section_at(elf, names_index);
        cursor bytes = elf_section_bytes(elf, &names);
        elf->names_offset = (uint64_t)(bytes.start - elf->data);
        elf->names_size = cursor_left(&bytes);
    }
    return GSYM_OK;
}

static const char *const debug_section_names[GSYM_DEBUG_SECTION_COUNT] = {
    [GSYM_DEBUG_INFO] = "debug_info",         [GSYM_DEBUG_ABBREV] = "debug_abbrev",
    [GSYM_DEBUG_LINE] = "debug_line",         [GSYM_DEBUG_STR] = "debug_str",
    [GSYM_DEBUG_LINE_STR] = "debug_line_str", [GSYM_DEBUG_RANGES] = "debug_ranges",
    [GSYM_DEBUG_RNGLISTS] = "debug_rnglists", [GSYM_DEBUG_ADDR] = "debug_addr",
    [GSYM_DEBUG_STR_OFFSETS] = "debug_str_offsets",
    [GSYM_DEBUG_TYPES] = "debug_types",
};

static void find_debug_sections(gsym_elf *elf) {
    for (uint32_t i = 1; i < elf->header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        const char *name = elf_section_name(elf, &section);
        if (name[0] != '.' || section.type == ELF_SECTION_NOBITS || section.size == 0)
            continue;
        name += name[1] == 'z' ? 2 : 1;
        if (strncmp(name, "debug_", 6) != 0) continue;
        for (unsigned which = 0; which < GSYM_DEBUG_SECTION_COUNT; ++which)
            if (elf->debug_sections[which] == 0 &&
                strcmp(name, debug_section_names[which]) == 0)
                elf->debug_sections[which] = i;
    }
}

/* The program headers that the file has room for; the header may claim more. */
static void limit_program_count(gsym_elf *elf) {
    uint64_t left = elf->program_table < elf->size ? elf->size - elf->program_table : 0;
    if (elf->program_entry_size < (elf->header.is_64 ? 56u : 32u))
        elf->program_count = 0;
    else if (elf->program_count > left / elf->program_entry_size)
        elf->program_count = (uint32_t)(left / elf->program_entry_size);
}

/* The next program header of `type` from *index on; *index goes on behind it. */
static bool find_segment(const gsym_elf *elf, uint32_t type, uint64_t *address_ret,
                         uint64_t *offset_ret, uint64_t *size_ret, uint32_t *index) {
    for (; *index < elf->program_count; ++*index) {
        cursor c = elf_cursor(
            elf, elf->program_table + (uint64_t)*index * elf->program_entry_size);
        uint32_t found = cursor_u32(&c);
        if (elf->header.is_64) (void)cursor_u32(&c); /* p_flags */
        *offset_ret = read_word(&c, elf);
        *address_ret = read_word(&c, elf);
        (void)read_word(&c, elf); /* p_paddr */
        *size_ret = read_word(&c, elf);
        if (!c.failed && found == type) {
            ++*index;
            return true;
        }
    }
    return false;
}

static gsym_status read_header(gsym_elf *elf, gsym_error *error) {
    cursor c = cursor_at(elf->data, elf->size, 0, false);
    uint32_t section_count, names_index, index = 0;
    uint64_t offset, size;
    uint8_t class, order;
    if (elf->size < 52 || memcmp(elf->data, "\177ELF", 4) != 0)
        return gsym_fail(error, GSYM_E_FORMAT, 0, "not an ELF file");
    cursor_skip(&c, 4);
    class = cursor_u8(&c);
    order = cursor_u8(&c);
    if (class < 1 || class > 2)
        return gsym_fail(error, GSYM_E_FORMAT, 4, "invalid ELF class %u", class);
    if (order < 1 || order > 2)
        return gsym_fail(error, GSYM_E_FORMAT, 5, "invalid ELF byte order %u", order);
    elf->header.is_64 = class == 2;
    elf->header.big_endian = order == 2;
    c = elf_cursor(elf, 16);
    elf->header.type = cursor_u16(&c);
    elf->header.machine = cursor_u16(&c);
    (void)cursor_u32(&c);      /* e_version */
    (void)read_word(&c, elf);  /* e_entry */
    elf->program_table = read_word(&c, elf);
    elf->section_table = read_word(&c, elf);
    (void)cursor_u32(&c); /* e_flags */
    (void)cursor_u16(&c); /* e_ehsize */
    elf->program_entry_size = cursor_u16(&c);
    elf->program_count = cursor_u16(&c);
    elf->section_entry_size = cursor_u16(&c);
    section_count = cursor_u16(&c);
    names_index = cursor_u16(&c);
    if (c.failed) return gsym_fail(error, GSYM_E_FORMAT, 16, "the ELF header is cut off");
    GSYM_TRY(read_section_table(elf, section_count, names_index, error));
    if (elf->program_count == INDEX_EXTENDED && elf->header.section_count > 0)
        elf->program_count = elf_section_at(elf, 0).info;
    limit_program_count(elf);
    elf->header.has_base_address = find_segment(
        elf, PROGRAM_LOAD, &elf->header.base_address, &offset, &size, &index);
    return GSYM_OK;
}

gsym_status gsym_elf_open(const uint8_t *data, size_t size, gsym_elf **elf_ret,
                          gsym_error *error) {
    gsym_elf *elf = calloc(1, sizeof *elf);
    gsym_status status;
    if (elf == NULL) return gsym_fail_memory(error);
    elf->data = data;
    elf->size = size;
    status = read_header(elf, error);
    if (status != GSYM_OK) {
        free(elf);
        return status;
    }
    find_debug_sections(elf);
    *elf_ret = elf;
    return GSYM_OK;
}

void gsym_elf_close(gsym_elf *elf) { free(elf); }

void gsym_elf_header_get(const gsym_elf *elf, gsym_elf_header *header_ret) {
    *header_ret = elf->header;
}

/* ---- sections ------------------------------------------------------------------ */

/* Fill in how the payload is packed; the payload starts behind its header. */
static gsym_status read_compression(const gsym_elf *elf, const elf_section *section,
                                    gsym_elf_section *ret, gsym_error *error) {
    cursor c = elf_section_bytes(elf, section);
    if (section->flags & ELF_FLAG_COMPRESSED) {
        uint32_t type = cursor_u32(&c);
        if (elf->header.is_64) (void)cursor_u32(&c);
        ret->uncompressed_size = read_word(&c, elf);
        (void)read_word(&c, elf); /* ch_addralign */
        ret->compression = type == 1   ? GSYM_COMPRESSION_ZLIB
                           : type == 2 ? GSYM_COMPRESSION_ZSTD
                                       : GSYM_COMPRESSION_UNKNOWN;
    } else if (strncmp(elf_section_name(elf, section), ".zdebug_", 8) == 0) {
        if (cursor_left(&c) < 12 || memcmp(c.at, "ZLIB", 4) != 0)
            return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                             "section %s has no ZLIB header",
                             elf_section_name(elf, section));
        cursor_skip(&c, 4);
        c.swap = !CURSOR_HOST_BIG_ENDIAN;
        ret->uncompressed_size = cursor_u64(&c);
        ret->compression = GSYM_COMPRESSION_ZLIB;
    } else {
        return GSYM_OK;
    }
    if (c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                         "the compression header of section %s is cut off",
                         elf_section_name(elf, section));
    ret->offset = section->offset + cursor_offset(&c);
    ret->size = cursor_left(&c);
    return GSYM_OK;
}

static gsym_status describe_section(const gsym_elf *elf, uint32_t index,
                                    gsym_elf_section *ret, gsym_error *error) {
    elf_section section = elf_section_at(elf, index);
    uint64_t end;
    if (section.type != ELF_SECTION_NOBITS &&
        (__builtin_add_overflow(section.offset, section.size, &end) || end > elf->size))
        return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                         "section %s reaches past the end of the file",
                         elf_section_name(elf, &section));
    ret->present = 1;
    ret->address = section.address;
    ret->offset = section.offset;
    ret->size = ret->uncompressed_size = section.size;
    ret->flags = section.flags;
    ret->type = section.type;
    return read_compression(elf, &section, ret, error);
}

gsym_status gsym_elf_debug_section(const gsym_elf *elf, gsym_debug_section which,
                                   gsym_elf_section *section_ret, gsym_error *error) {
    memset(section_ret, 0, sizeof *section_ret);
    if ((unsigned)which >= GSYM_DEBUG_SECTION_COUNT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such debug section");
    if (elf->debug_sections[which] == 0) return GSYM_OK;
    return describe_section(elf, elf->debug_sections[which], section_ret, error);
}

/* ---- build id -------------------------------------------------------------------- */

/* The GNU build id among the notes of `c`. */
static bool find_build_id(cursor c, const uint8_t **bytes_ret, size_t *size_ret) {
    while (cursor_left(&c) >= 12) {
        uint32_t name_size = cursor_u32(&c);
        uint32_t size = cursor_u32(&c);
        uint32_t type = cursor_u32(&c);
        const uint8_t *name = c.at;
        const uint8_t *bytes;
        cursor_skip(&c, ((uint64_t)name_size + 3) & ~UINT64_C(3));
        bytes = c.at;
        if (c.failed || size > cursor_left(&c)) return false;
        if (type == NOTE_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
            size > 0) {
            *bytes_ret = bytes;
            *size_ret = size;
            return true;
        }
        cursor_skip(&c, ((uint64_t)size + 3) & ~UINT64_C(3));
    }
    return false;
}

gsym_status gsym_elf_build_id(const gsym_elf *elf, const uint8_t **bytes_ret,
                              size_t *size_ret, gsym_error *error) {
    uint64_t address, offset, size;
    uint32_t index = 0;
    (void)error;
    *bytes_ret = NULL;
    *size_ret = 0;
    /* First where linkers put it, then wherever else notes stand. */
    for (int by_name = 1; by_name >= 0; --by_name)
        for (uint32_t i = 1; i < elf->header.section_count; ++i) {
            elf_section section = elf_section_at(elf, i);
            if (section.type != ELF_SECTION_NOTE) continue;
            if (by_name &&
                strcmp(elf_section_name(elf, &section), ".note.gnu.build-id") != 0)
                continue;
            if (find_build_id(elf_section_bytes(elf, &section), bytes_ret, size_ret))
                return GSYM_OK;
        }
    while (find_segment(elf, PROGRAM_NOTE, &address, &offset, &size, &index)) {
        elf_section notes = {.offset = offset, .size = size};
        if (find_build_id(elf_section_bytes(elf, &notes), bytes_ret, size_ret))
            return GSYM_OK;
    }
    return GSYM_OK;
}
