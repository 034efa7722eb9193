/* pe.c - open PE and COFF files: read headers and data directories, find the debug sections
 * and the CodeView id.
 *
 * Source: Microsoft PE and COFF specification. */
#include "containers/pe.h"

#define OPTIONAL_MAGIC_32 0x10b
#define OPTIONAL_MAGIC_64 0x20b

#define DEBUG_TYPE_CODEVIEW 2

enum {
    NEW_HEADER_PLACE = 0x3c, /* e_lfanew */
    HEADER_SIZE = 20,
    BIG_HEADER_SIZE = 56,
    BIG_HEADER_CLASS = 12, /* offset of its class id */
    SYMBOL_SIZE = 18,
    BIG_SYMBOL_SIZE = 20,
    DIRECTORY_SIZE = 8,
    DEBUG_ENTRY_SIZE = 28,
    GUID_SIZE = 16
};

static const uint8_t big_class[16] = {0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b,
                                      0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8};

/* ---- recognition ------------------------------------------------------------------ */

static bool has_64_bits(uint32_t machine) {
    return machine == IMAGE_FILE_MACHINE_AMD64 || machine == IMAGE_FILE_MACHINE_ARM64 ||
           machine == IMAGE_FILE_MACHINE_ARM64EC || machine == IMAGE_FILE_MACHINE_ARM64X;
}

static bool is_known_machine(uint32_t machine) {
    return machine == IMAGE_FILE_MACHINE_I386 || machine == IMAGE_FILE_MACHINE_ARMNT ||
           has_64_bits(machine);
}

static bool is_image(const uint8_t *data, size_t size) {
    return size >= 2 && data[0] == 'M' && data[1] == 'Z';
}

/* Whether a file is an object file for more than 65,279 sections. */
static bool is_big_object(const uint8_t *data, size_t size) {
    return size >= BIG_HEADER_SIZE &&
           memcmp(data + BIG_HEADER_CLASS, big_class, sizeof big_class) == 0 &&
           cursor_load32(data, CURSOR_HOST_BIG_ENDIAN) == 0xffff0000u;
}

/* Whether a file is an object file, which has no magic number: it has a known machine, no
 * optional header, and as many bytes as its sections need. */
static bool is_object(const uint8_t *data, size_t size) {
    cursor c = cursor_at(data, size, 0, false);
    uint32_t machine = cursor_u16(&c);
    uint32_t section_count = cursor_u16(&c);
    cursor_skip(&c, 12);
    return cursor_u16(&c) == 0 && !c.failed && is_known_machine(machine) &&
           section_count > 0 && section_count <= (size - HEADER_SIZE) / PE_SECTION_SIZE;
}

static bool is_magic(const uint8_t *data, size_t size) {
    return is_image(data, size) || is_big_object(data, size) || is_object(data, size);
}

/* ---- headers ---------------------------------------------------------------------- */

/* Read the optional header, which has `size` bytes at `offset`. */
static gsym_status read_optional_header(pe_object *pe, uint64_t offset, uint32_t size,
                                        gsym_error *error) {
    gsym_object_header *header = &pe->object.header;
    cursor c = pe_bytes(pe, offset, size);
    uint16_t magic = cursor_u16(&c);
    if (magic != OPTIONAL_MAGIC_32 && magic != OPTIONAL_MAGIC_64)
        return gsym_fail(error, GSYM_E_FORMAT, offset, "invalid PE magic number 0x%x",
                         magic);
    header->is_64 = magic == OPTIONAL_MAGIC_64;
    cursor_skip(&c, header->is_64 ? 22 : 26);
    header->has_base_address = 1;
    header->base_address = header->is_64 ? cursor_u64(&c) : cursor_u32(&c);
    cursor_skip(&c, header->is_64 ? 76 : 60); /* up to NumberOfRvaAndSizes */
    pe->directory_count = cursor_u32(&c);
    if (c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, offset, "the PE header is cut off");
    pe->directory_table = offset + cursor_offset(&c);
    if (pe->directory_count > cursor_left(&c) / DIRECTORY_SIZE)
        pe->directory_count = (uint32_t)(cursor_left(&c) / DIRECTORY_SIZE);
    return GSYM_OK;
}

static gsym_status read_coff_header(pe_object *pe, uint64_t offset, gsym_error *error) {
    gsym_object_header *header = &pe->object.header;
    cursor c = pe_cursor(pe, offset);
    uint32_t optional_size;
    header->machine = cursor_u16(&c);
    header->section_count = cursor_u16(&c);
    (void)cursor_u32(&c); /* TimeDateStamp */
    pe->symbol_table = cursor_u32(&c);
    pe->symbol_count = cursor_u32(&c);
    optional_size = cursor_u16(&c);
    header->type = cursor_u16(&c);
    if (c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, offset, "the COFF header is cut off");
    pe->symbol_size = SYMBOL_SIZE;
    pe->section_table = offset + HEADER_SIZE + optional_size;
    header->is_64 = has_64_bits(header->machine);
    if (!pe->is_image) return GSYM_OK;
    return read_optional_header(pe, offset + HEADER_SIZE, optional_size, error);
}

static void read_big_header(pe_object *pe) {
    gsym_object_header *header = &pe->object.header;
    cursor c = pe_cursor(pe, 6);
    header->machine = cursor_u16(&c);
    header->is_64 = has_64_bits(header->machine);
    c = pe_cursor(pe, 44);
    header->section_count = cursor_u32(&c);
    pe->symbol_table = cursor_u32(&c);
    pe->symbol_count = cursor_u32(&c);
    pe->symbol_size = BIG_SYMBOL_SIZE;
    pe->section_table = BIG_HEADER_SIZE;
}

static gsym_status read_headers(pe_object *pe, gsym_error *error) {
    uint64_t offset = 0, size, count;
    if (pe->is_image) {
        cursor c = pe_cursor(pe, NEW_HEADER_PLACE);
        offset = cursor_u32(&c);
        c = pe_cursor(pe, offset);
        if (!cursor_need(&c, 4) || memcmp(c.at, "PE\0\0", 4) != 0)
            return gsym_fail(error, GSYM_E_FORMAT, NEW_HEADER_PLACE,
                             "a DOS program: it has no PE header");
        offset += 4;
    }
    if (!pe->is_image && is_big_object(pe->object.data, pe->object.size))
        read_big_header(pe);
    else
        GSYM_TRY(read_coff_header(pe, offset, error));
    count = pe->object.header.section_count;
    if (pe->section_table > pe->object.size ||
        count > (pe->object.size - pe->section_table) / PE_SECTION_SIZE)
        return gsym_fail(error, GSYM_E_FORMAT, pe->section_table,
                         "the section table of %llu entries reaches past the end of the "
                         "file",
                         (unsigned long long)count);
    /* The strings follow the symbols; the size at their start includes itself. */
    size = (uint64_t)pe->symbol_count * pe->symbol_size;
    pe->strings = pe_bytes(pe, pe->symbol_table + size, UINT32_MAX);
    if (pe->symbol_table == 0) pe->strings = pe_bytes(pe, 0, 0);
    if (pe->symbol_table != 0) pe->object.header.symbol_table_size = size;
    if (cursor_left(&pe->strings) >= 4) {
        size = cursor_load32(pe->strings.at, pe->strings.swap);
        if (size < cursor_left(&pe->strings)) pe->strings.end = pe->strings.at + size;
    }
    return GSYM_OK;
}

/* ---- sections --------------------------------------------------------------------- */

static gsym_status section_at(const gsym_object *object, uint32_t index,
                              gsym_object_section *ret, gsym_error *error) {
    const pe_object *pe = pe_of(object);
    pe_section section = pe_section_at(pe, index);
    ret->present = 1;
    ret->index = index;
    ret->name = section.name;
    ret->name_size = section.name_size;
    ret->address = section.address;
    ret->offset = section.offset;
    ret->memory_size = section.memory_size;
    ret->flags = section.flags;
    ret->holds_code = section.holds_code;
    ret->has_relocations = pe->addresses != NULL && section.relocation_count > 0;
    if (section.size == 0) return GSYM_OK;
    return object_set_payload(object, ret, section.size, ".zdebug_", error);
}

static void find_debug_sections(pe_object *pe) {
    for (uint32_t i = 0; i < pe->object.header.section_count; ++i) {
        pe_section section = pe_section_at(pe, i);
        bool is_split = false;
        gsym_debug_section which =
            object_debug_section_named(section.name, section.name_size, &is_split);
        if (section.size == 0) continue;
        object_note_unread(&pe->object.header, section.name, section.name_size);
        if (which == GSYM_DEBUG_SECTION_COUNT) continue;
        if (pe->object.debug_sections[is_split][which] == OBJECT_NO_SECTION)
            pe->object.debug_sections[is_split][which] = i;
    }
}

/* ---- data directories ------------------------------------------------------------- */

bool pe_find_section(const pe_object *pe, uint64_t address, pe_section *section_ret) {
    for (uint32_t i = 0; i < pe->object.header.section_count; ++i) {
        *section_ret = pe_section_at(pe, i);
        if (address >= section_ret->address &&
            address - section_ret->address < section_ret->memory_size)
            return true;
    }
    return false;
}

bool pe_find_directory(const pe_object *pe, pe_directory which, gsym_range *range_ret) {
    cursor c = pe_cursor(pe, pe->directory_table + (uint64_t)which * DIRECTORY_SIZE);
    uint32_t address, size;
    if ((uint32_t)which >= pe->directory_count) return false;
    address = cursor_u32(&c);
    size = cursor_u32(&c);
    range_ret->start = pe->object.header.base_address + address;
    range_ret->end = range_ret->start + size;
    return address != 0 && size != 0 && range_ret->start < range_ret->end;
}

cursor pe_section_bytes(const pe_object *pe, const pe_section *section, uint64_t address,
                        uint64_t size) {
    uint64_t before = address - section->address;
    if (address < section->address || before >= section->size) return pe_bytes(pe, 0, 0);
    if (size > section->size - before) size = section->size - before;
    return pe_bytes(pe, section->offset + before, size);
}

cursor pe_loaded_bytes(const pe_object *pe, gsym_range range) {
    pe_section section;
    if (!pe_find_section(pe, range.start, &section)) return pe_bytes(pe, 0, 0);
    return pe_section_bytes(pe, &section, range.start, range.end - range.start);
}

static void identifier(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret) {
    const pe_object *pe = pe_of(object);
    gsym_range range;
    cursor entries;
    if (!pe_find_directory(pe, PE_DIRECTORY_DEBUG, &range)) return;
    entries = pe_loaded_bytes(pe, range);
    while (cursor_left(&entries) >= DEBUG_ENTRY_SIZE) {
        uint32_t type, size, offset;
        cursor record;
        cursor_skip(&entries, 12);
        type = cursor_u32(&entries);
        size = cursor_u32(&entries);
        (void)cursor_u32(&entries); /* AddressOfRawData */
        offset = cursor_u32(&entries);
        record = pe_bytes(pe, offset, size);
        if (type != DEBUG_TYPE_CODEVIEW || cursor_left(&record) < 4 + GUID_SIZE ||
            memcmp(record.at, "RSDS", 4) != 0)
            continue;
        *bytes_ret = record.at + 4;
        *size_ret = GUID_SIZE;
        return;
    }
}

/* ---- opening ------------------------------------------------------------------------ */

static gsym_status open_pe(gsym_object *object, gsym_error *error) {
    pe_object *pe = (pe_object *)object;
    pe->is_image = is_image(object->data, object->size);
    GSYM_TRY(read_headers(pe, error));
    if (!pe->is_image) GSYM_TRY(pe_place_sections(pe, error));
    find_debug_sections(pe);
    return GSYM_OK;
}

static void release(gsym_object *object) { free(((pe_object *)object)->addresses); }

const object_format pe_format = {
    .number = GSYM_OBJECT_PE,
    .object_size = sizeof(pe_object),
    .is_magic = is_magic,
    .open = open_pe,
    .release = release,
    .section_at = section_at,
    .identifier = identifier,
    .relocate = pe_relocate,
};
