/* elf.c - open ELF files: read headers, find the debug sections and the build id. */
#include "containers/elf.h"

#define ET_REL 1
#define PROGRAM_LOAD 1
#define PROGRAM_DYNAMIC 2
#define PROGRAM_NOTE 4
#define NOTE_GNU_BUILD_ID 3
#define MAX_BUILD_ID 64 /* bytes of a SHA-512 hash, the longest ids that are in use */

static uint64_t bytes_after(const elf_object *elf, uint64_t offset) {
    return offset < elf->object.size ? elf->object.size - offset : 0;
}

/* ---- headers ------------------------------------------------------------------ */

static gsym_status read_section_table(elf_object *elf, uint32_t count, uint32_t names_index,
                                      gsym_error *error) {
    uint64_t left;
    elf_section first;
    if (elf->section_table == 0) return GSYM_OK; /* section headers were stripped */
    if (elf->section_entry_size < (elf->object.header.is_64 ? 64u : 40u))
        return gsym_fail(error, GSYM_E_FORMAT, elf->section_table,
                         "ELF section header size %u is too small",
                         elf->section_entry_size);
    left = bytes_after(elf, elf->section_table);
    if (left < elf->section_entry_size)
        return gsym_fail(error, GSYM_E_FORMAT, elf->section_table,
                         "the ELF section table lies outside the file");
    first = elf_section_at(elf, 0);
    if (count == 0) count = first.size > UINT32_MAX ? UINT32_MAX : (uint32_t)first.size;
    if (names_index == SHN_XINDEX) names_index = first.link;
    if (count > left / elf->section_entry_size)
        return gsym_fail(error, GSYM_E_FORMAT, elf->section_table,
                         "the ELF section table of %u entries reaches past the end of "
                         "the file",
                         count);
    elf->object.header.section_count = count;
    if (names_index > 0 && names_index < count) {
        elf_section names = elf_section_at(elf, names_index);
        cursor bytes = elf_section_bytes(elf, &names);
        elf->names_offset = (uint64_t)(bytes.start - elf->object.data);
        elf->names_size = cursor_left(&bytes);
    }
    return GSYM_OK;
}

/* Reduce the number of program headers to those that fit in the file. */
static void limit_program_count(elf_object *elf) {
    uint64_t left = bytes_after(elf, elf->program_table);
    if (elf->program_entry_size < (elf->object.header.is_64 ? 56u : 32u))
        elf->program_count = 0;
    else if (elf->program_count > left / elf->program_entry_size)
        elf->program_count = (uint32_t)(left / elf->program_entry_size);
}

/* Find the first program header of `type` from *index on, and set *index to the one after
 * it. */
static bool find_segment(const elf_object *elf, uint32_t type, uint64_t *address_ret,
                         uint64_t *offset_ret, uint64_t *size_ret, uint32_t *index) {
    for (; *index < elf->program_count; ++*index) {
        cursor c = elf_cursor(
            elf, elf->program_table + (uint64_t)*index * elf->program_entry_size);
        uint32_t found = cursor_u32(&c);
        if (elf->object.header.is_64) (void)cursor_u32(&c); /* p_flags */
        *offset_ret = elf_read_word(&c, elf);
        *address_ret = elf_read_word(&c, elf);
        (void)elf_read_word(&c, elf); /* p_paddr */
        *size_ret = elf_read_word(&c, elf);
        if (!c.failed && found == type) {
            ++*index;
            return true;
        }
    }
    return false;
}

bool elf_load_segment(const elf_object *elf, uint32_t *index, uint64_t *address_ret,
                      uint64_t *offset_ret, uint64_t *size_ret) {
    return find_segment(elf, PROGRAM_LOAD, address_ret, offset_ret, size_ret, index);
}

enum {
    PROGRAM_HEADER_MEMORY_64 = 40,
    PROGRAM_HEADER_MEMORY_32 = 20,
    PROGRAM_HEADER_FLAGS_64 = 4,
    PROGRAM_HEADER_FLAGS_32 = 24,
    PROGRAM_EXECUTABLE = 1
};

/* Return a cursor over a field of the program header before `index`. */
static cursor segment_field(const elf_object *elf, uint32_t index, uint64_t at_64,
                            uint64_t at_32) {
    cursor c = elf_cursor(
        elf, elf->program_table + (uint64_t)(index - 1) * elf->program_entry_size);
    cursor_skip(&c, elf->object.header.is_64 ? at_64 : at_32);
    return c;
}

uint64_t elf_segment_memory(const elf_object *elf, uint32_t index) {
    cursor c =
        segment_field(elf, index, PROGRAM_HEADER_MEMORY_64, PROGRAM_HEADER_MEMORY_32);
    return elf_read_word(&c, elf);
}

bool elf_segment_holds_code(const elf_object *elf, uint32_t index) {
    cursor c =
        segment_field(elf, index, PROGRAM_HEADER_FLAGS_64, PROGRAM_HEADER_FLAGS_32);
    return (cursor_u32(&c) & PROGRAM_EXECUTABLE) != 0;
}

static bool segment_distance(const gsym_object *object, const gsym_object *other,
                             uint64_t *distance_ret) {
    const elf_object *elf = elf_of(object), *second = elf_of(other);
    uint64_t address, other_address, offset, size, distance = 0;
    uint32_t index = 0, other_index = 0, count = 0;
    for (;; ++count) {
        bool has = elf_load_segment(elf, &index, &address, &offset, &size);
        if (has != elf_load_segment(second, &other_index, &other_address, &offset, &size))
            return false;
        if (!has) break;
        if (count == 0) distance = other_address - address;
        if (other_address - address != distance ||
            elf_segment_memory(elf, index) != elf_segment_memory(second, other_index))
            return false;
    }
    if (count == 0) return false;
    *distance_ret = distance - object->header.bias;
    return true;
}

bool elf_dynamic_segment(const elf_object *elf, uint64_t *offset_ret, uint64_t *size_ret) {
    uint64_t address;
    uint32_t index = 0;
    return find_segment(elf, PROGRAM_DYNAMIC, &address, offset_ret, size_ret, &index);
}

static gsym_status read_header(elf_object *elf, gsym_error *error) {
    cursor c = cursor_at(elf->object.data, elf->object.size, 0, false);
    uint32_t section_count, names_index, index = 0;
    uint64_t offset, size;
    uint8_t class, order;
    if (elf->object.size < 52)
        return gsym_fail(error, GSYM_E_FORMAT, 0, "not an ELF file");
    cursor_skip(&c, 4);
    class = cursor_u8(&c);
    order = cursor_u8(&c);
    if (class < 1 || class > 2)
        return gsym_fail(error, GSYM_E_FORMAT, 4, "invalid ELF class %u", class);
    if (order < 1 || order > 2)
        return gsym_fail(error, GSYM_E_FORMAT, 5, "invalid ELF byte order %u", order);
    elf->object.header.is_64 = class == 2;
    elf->object.header.big_endian = order == 2;
    c = elf_cursor(elf, 16);
    elf->object.header.type = cursor_u16(&c);
    elf->object.header.machine = cursor_u16(&c);
    (void)cursor_u32(&c);      /* e_version */
    elf->entry = elf_read_word(&c, elf);
    elf->program_table = elf_read_word(&c, elf);
    elf->section_table = elf_read_word(&c, elf);
    elf->flags = cursor_u32(&c);
    elf->has_phantom_bytes = elf->flags < EF_PIC30_NO_PHANTOM_BYTE &&
                             elf->object.header.machine == EM_DSPIC30F;
    (void)cursor_u16(&c); /* e_ehsize */
    elf->program_entry_size = cursor_u16(&c);
    elf->program_count = cursor_u16(&c);
    elf->section_entry_size = cursor_u16(&c);
    section_count = cursor_u16(&c);
    names_index = cursor_u16(&c);
    if (c.failed) return gsym_fail(error, GSYM_E_FORMAT, 16, "the ELF header is cut off");
    GSYM_TRY(read_section_table(elf, section_count, names_index, error));
    if (elf->program_count == SHN_XINDEX && elf->object.header.section_count > 0)
        elf->program_count = elf_section_at(elf, 0).info;
    limit_program_count(elf);
    elf->object.header.has_base_address = elf_load_segment(
        elf, &index, &elf->object.header.base_address, &offset, &size);
    return GSYM_OK;
}

/* ---- sections ------------------------------------------------------------------ */

/* Read the header of a compressed section; the payload starts after it. */
static gsym_status read_compression(const elf_object *elf, const elf_section *section,
                                    gsym_object_section *ret, gsym_error *error) {
    cursor c = elf_section_bytes(elf, section);
    uint32_t type = cursor_u32(&c);
    if (elf->object.header.is_64) (void)cursor_u32(&c);
    ret->uncompressed_size = elf_read_word(&c, elf);
    (void)elf_read_word(&c, elf); /* ch_addralign */
    ret->compression = type == 1   ? GSYM_COMPRESSION_ZLIB
                       : type == 2 ? GSYM_COMPRESSION_ZSTD
                                   : GSYM_COMPRESSION_UNKNOWN;
    if (c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                         "the compression header of section %s is cut off",
                         elf_section_name(elf, section));
    ret->offset = section->offset + cursor_offset(&c);
    ret->size = cursor_left(&c);
    return GSYM_OK;
}

static gsym_status section_at(const gsym_object *object, uint32_t index,
                              gsym_object_section *ret, gsym_error *error) {
    const elf_object *elf = elf_of(object);
    elf_section section = elf_section_at(elf, index);
    bool is_compressed = (section.flags & SHF_COMPRESSED) != 0;
    if (section.type == SHT_NULL) return GSYM_OK;
    ret->present = 1;
    ret->index = index;
    ret->name = elf_section_name(elf, &section);
    ret->name_size = strlen(ret->name);
    ret->address = section.address;
    ret->offset = section.offset;
    ret->memory_size = section.size;
    ret->flags = section.flags;
    ret->type = section.type;
    ret->holds_code = elf_section_holds_code(&section);
    ret->has_relocations =
        elf->placements != NULL && elf->placements[index].relocations != 0;
    if (section.type == SHT_NOBITS) return GSYM_OK;
    GSYM_TRY(object_set_payload(object, ret, section.size,
                                is_compressed ? NULL : ".zdebug_", error));
    if (is_compressed) return read_compression(elf, &section, ret, error);
    if (elf->has_phantom_bytes && strncmp(ret->name, ".debug_", 7) == 0) {
        ret->compression = GSYM_COMPRESSION_PHANTOM_BYTES;
        ret->uncompressed_size = ret->size - ret->size / 2;
    }
    return GSYM_OK;
}

/* Find the debug sections. In a relocatable file, sections with one name are placed one
 * after the other, as a linker would join them: armcc writes, and type units have, separate
 * sections for what may occur in several files. */
static void find_known_sections(elf_object *elf) {
    gsym_object_header *header = &elf->object.header;
    uint64_t sizes[GSYM_DEBUG_SECTION_COUNT] = {0};
    for (uint32_t i = 1; i < elf->object.header.section_count; ++i) {
        gsym_object_section section = {0};
        gsym_error ignored;
        gsym_debug_section which;
        bool is_split = false;
        /* A damaged section is listed, too; whoever reads it gets the error. */
        (void)section_at(&elf->object, i, &section, &ignored);
        if ((section.type == SHT_SYMTAB || section.type == SHT_STRTAB) &&
            (section.flags & SHF_COMPRESSED) != 0)
            header->unread_debug_info |= GSYM_UNREAD_COMPRESSED_SYMBOLS;
        else if (section.type == SHT_SYMTAB && header->symbol_table_size == 0)
            header->symbol_table_size = section.size;
        if (section.size > 0) object_note_unread(header, section.name, section.name_size);
        which = object_debug_section_named(section.name, section.name_size, &is_split);
        if (which == GSYM_DEBUG_SECTION_COUNT || section.type == SHT_NOBITS ||
            section.memory_size == 0)
            continue;
        if (elf->object.debug_sections[is_split][which] == OBJECT_NO_SECTION)
            elf->object.debug_sections[is_split][which] = i;
        if (elf->placements == NULL || is_split) continue;
        elf->placements[i].address = sizes[which];
        sizes[which] += section.uncompressed_size;
    }
}

/* ---- build id -------------------------------------------------------------------- */

/* Find the GNU build id among notes. Sections may share their bytes, so *left limits the
 * bytes that are read for all sections together. */
static bool find_build_id(const elf_object *elf, const elf_section *notes, uint64_t *left,
                          const uint8_t **bytes_ret, size_t *size_ret) {
    cursor c = elf_section_bytes(elf, notes);
    if (cursor_left(&c) > *left) return false;
    *left -= cursor_left(&c);
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
            size > 0 && size <= MAX_BUILD_ID) {
            *bytes_ret = bytes;
            *size_ret = size;
            return true;
        }
        cursor_skip(&c, ((uint64_t)size + 3) & ~UINT64_C(3));
    }
    return false;
}

/* Find the first build id of the file: in its sections or, without any, in its segments, as
 * elfutils and LLVM 22 do. The kernel reads only segments and finds the same one, because
 * linkers keep the order of sections. */
static void identifier(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret) {
    const elf_object *elf = elf_of(object);
    uint64_t address, offset, size;
    uint32_t index = 0;
    uint64_t left = elf->object.size;
    for (uint32_t i = 1; i < elf->object.header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        if (section.type == SHT_NOTE &&
            find_build_id(elf, &section, &left, bytes_ret, size_ret))
            return;
    }
    left = elf->object.size;
    while (find_segment(elf, PROGRAM_NOTE, &address, &offset, &size, &index)) {
        elf_section notes = {.offset = offset, .size = size};
        if (find_build_id(elf, &notes, &left, bytes_ret, size_ret)) return;
    }
}

/* ---- opening ------------------------------------------------------------------ */

static bool is_magic(const uint8_t *data, size_t size) {
    return size >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

static gsym_status open_elf(gsym_object *object, gsym_error *error) {
    elf_object *elf = (elf_object *)object;
    GSYM_TRY(read_header(elf, error));
    /* The code of CUDA's files (cubins) is at address 0 of each section, and its debug
     * sections keep their relocations, whatever the type of the file. */
    if (object->header.type == ET_REL || object->header.machine == EM_CUDA) {
        object->header.is_relocatable = object->header.has_base_address = 1;
        GSYM_TRY(elf_place_sections(elf, error));
    }
    find_known_sections(elf);
    return GSYM_OK;
}

static void release(gsym_object *object) { free(((elf_object *)object)->placements); }

const object_format elf_format = {
    .number = GSYM_OBJECT_ELF,
    .object_size = sizeof(elf_object),
    .is_magic = is_magic,
    .open = open_elf,
    .release = release,
    .section_at = section_at,
    .identifier = identifier,
    .relocate = elf_relocate,
    .segment_distance = segment_distance,
};
