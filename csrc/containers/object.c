/* object.c - recognize the format of an object file by its content, and read what all
 * formats have. */
#include "containers/elf.h"
#include "containers/macho.h"
#include "containers/pe.h"

const char *const debug_section_names[GSYM_DEBUG_SECTION_COUNT] = {
    [GSYM_DEBUG_INFO] = "debug_info",
    [GSYM_DEBUG_ABBREV] = "debug_abbrev",
    [GSYM_DEBUG_LINE] = "debug_line",
    [GSYM_DEBUG_STR] = "debug_str",
    [GSYM_DEBUG_LINE_STR] = "debug_line_str",
    [GSYM_DEBUG_RANGES] = "debug_ranges",
    [GSYM_DEBUG_RNGLISTS] = "debug_rnglists",
    [GSYM_DEBUG_ADDR] = "debug_addr",
    [GSYM_DEBUG_STR_OFFSETS] = "debug_str_offsets",
    [GSYM_DEBUG_TYPES] = "debug_types",
    [GSYM_DEBUG_CU_INDEX] = "debug_cu_index",
    [GSYM_DEBUG_TU_INDEX] = "debug_tu_index",
};

void gsym_object_close(gsym_object *object) {
    if (object == NULL) return;
    object->format->release(object);
    free(object);
}

gsym_status gsym_object_open(const uint8_t *data, size_t size, gsym_object **object_ret,
                             gsym_error *error) {
    static const object_format *const formats[] = {&elf_format, &macho_format, &pe_format,
                                                    &wasm_format};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
        const object_format *format = formats[i];
        gsym_object *object;
        gsym_status status;
        if (!format->is_magic(data, size)) continue;
        object = calloc(1, format->object_size);
        if (object == NULL) return gsym_fail_memory(error);
        *object = (gsym_object){.format = format, .data = data, .size = size};
        object->header.format = format->number;
        memset(object->debug_sections, 0xff, sizeof object->debug_sections);
        status = format->open(object, error);
        if (status == GSYM_OK) *object_ret = object;
        if (status != GSYM_OK) gsym_object_close(object);
        return status;
    }
    return gsym_fail(error, GSYM_E_FORMAT, 0, "not an ELF, Mach-O, PE or WebAssembly file");
}

void gsym_object_mark_mapped(gsym_object *object) { object->is_file_mapping = true; }

void gsym_object_header_get(const gsym_object *object, gsym_object_header *header_ret) {
    *header_ret = object->header;
}

/* ---- sections --------------------------------------------------------------------- */

gsym_status gsym_object_section_at(const gsym_object *object, uint32_t index,
                                   gsym_object_section *section_ret, gsym_error *error) {
    memset(section_ret, 0, sizeof *section_ret);
    if (index >= object->header.section_count) return GSYM_OK;
    return object->format->section_at(object, index, section_ret, error);
}

bool object_code_section(const gsym_object *object, uint32_t index,
                         gsym_object_section *section_ret) {
    gsym_error ignored;
    *section_ret = (gsym_object_section){0};
    (void)object->format->section_at(object, index, section_ret, &ignored);
    return section_ret->holds_code &&
           section_ret->address <= UINT64_MAX - section_ret->memory_size;
}

gsym_status gsym_object_find_section(const gsym_object *object, uint32_t first,
                                     const char *name, size_t name_size,
                                     gsym_object_section *section_ret, gsym_error *error) {
    for (uint32_t i = first; i < object->header.section_count; ++i) {
        gsym_error ignored;
        memset(section_ret, 0, sizeof *section_ret);
        /* Errors of sections are ignored here: they matter only for the section that is
         * searched for. */
        (void)object->format->section_at(object, i, section_ret, &ignored);
        if (section_ret->name_size == name_size && name_size > 0 &&
            memcmp(section_ret->name, name, name_size) == 0)
            return gsym_object_section_at(object, i, section_ret, error);
    }
    memset(section_ret, 0, sizeof *section_ret);
    return GSYM_OK;
}

gsym_status gsym_object_debug_section(const gsym_object *object, gsym_debug_section which,
                                      uint32_t is_split, gsym_object_section *section_ret,
                                      gsym_error *error) {
    uint32_t index;
    memset(section_ret, 0, sizeof *section_ret);
    if ((unsigned)which >= GSYM_DEBUG_SECTION_COUNT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such debug section");
    /* A file has at most one section for each index of a package, whose name has no suffix
     * .dwo. */
    if (which == GSYM_DEBUG_CU_INDEX || which == GSYM_DEBUG_TU_INDEX) is_split = 0;
    index = object->debug_sections[is_split != 0][which];
    if (index == OBJECT_NO_SECTION) return GSYM_OK;
    return gsym_object_section_at(object, index, section_ret, error);
}

gsym_status gsym_object_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                                 size_t size, gsym_unapplied *unapplied_ret,
                                 gsym_error *error) {
    *unapplied_ret = (gsym_unapplied){.start = UINT64_MAX};
    if (object->format->relocate == NULL || index >= object->header.section_count)
        return GSYM_OK;
    GSYM_TRY(object->format->relocate(object, index, bytes, size, unapplied_ret, error));
    /* Relocations may name offsets outside of the section. */
    if (unapplied_ret->start > size) unapplied_ret->start = size;
    if (unapplied_ret->end > size) unapplied_ret->end = size;
    return GSYM_OK;
}

void object_count_unapplied(gsym_unapplied *unapplied, uint64_t offset, uint32_t type) {
    uint64_t end = offset == UINT64_MAX ? offset : offset + 1;
    ++unapplied->count;
    if (offset < unapplied->start) unapplied->start = offset;
    if (end > unapplied->end) unapplied->end = end;
    for (size_t i = 0; i < GSYM_UNAPPLIED_TYPES; ++i)
        if (unapplied->counts[i] == 0 || unapplied->types[i] == type) {
            unapplied->types[i] = type;
            ++unapplied->counts[i];
            break;
        }
}

gsym_status gsym_object_identifier(const gsym_object *object, const uint8_t **bytes_ret,
                                   size_t *size_ret, gsym_error *error) {
    (void)error;
    *bytes_ret = NULL;
    *size_ret = 0;
    object->format->identifier(object, bytes_ret, size_ret);
    return GSYM_OK;
}

gsym_debug_section object_debug_section_named(const char *name, size_t size,
                                              bool *is_split_ret) {
    unsigned which = 0;
    size_t prefix = size > 1 && name[1] == 'z' ? 2 : 1;
    if (size <= prefix || name[0] != '.') return GSYM_DEBUG_SECTION_COUNT;
    name += prefix;
    size -= prefix;
    for (; which < GSYM_DEBUG_SECTION_COUNT; ++which) {
        size_t known_size = strlen(debug_section_names[which]);
        if (size < known_size || memcmp(name, debug_section_names[which], known_size) != 0)
            continue;
        *is_split_ret = size == known_size + 4 && memcmp(name + known_size, ".dwo", 4) == 0;
        if (*is_split_ret || size == known_size) break;
    }
    return (gsym_debug_section)which;
}

void object_note_unread(gsym_object_header *header, const char *name, size_t size) {
    static const struct {
        const char *name;
        gsym_unread_debug_info kind;
    } known[] = {{".stab", GSYM_UNREAD_STABS},
                 {".debug$S", GSYM_UNREAD_CODEVIEW},
                 {".mdebug", GSYM_UNREAD_ECOFF},
                 {".debug", GSYM_UNREAD_DWARF_1}};
    if (size < 5 || size > 8) return;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (strlen(known[i].name) == size && memcmp(known[i].name, name, size) == 0)
            header->unread_debug_info |= (uint32_t)known[i].kind;
}

/* Read the header of .zdebug_*, which Go and old tools write: "ZLIB" and the uncompressed
 * size. The data follows it. */
static gsym_status read_zdebug(const gsym_object *object, gsym_object_section *section,
                               gsym_error *error) {
    cursor c = cursor_at(object->data, object->size, section->offset, true);
    if (section->size < 12 || !cursor_need(&c, 12) || memcmp(c.at, "ZLIB", 4) != 0)
        return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                         "section %.*s has no ZLIB header", (int)section->name_size,
                         section->name);
    cursor_skip(&c, 4);
    section->uncompressed_size = cursor_u64(&c);
    section->compression = GSYM_COMPRESSION_ZLIB;
    section->offset += 12;
    section->size -= 12;
    return GSYM_OK;
}

gsym_status object_set_payload(const gsym_object *object, gsym_object_section *section,
                               uint64_t size, const char *zdebug, gsym_error *error) {
    size_t prefix_size = zdebug == NULL ? SIZE_MAX : strlen(zdebug);
    if (section->offset > object->size || size > object->size - section->offset)
        return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                         "section %.*s reaches past the end of the file",
                         (int)section->name_size, section->name);
    section->size = section->uncompressed_size = size;
    if (section->name_size < prefix_size || memcmp(section->name, zdebug, prefix_size) != 0)
        return GSYM_OK;
    return read_zdebug(object, section, error);
}

const char *object_symbol_name(cursor names, uint64_t *left, uint64_t offset,
                               size_t *size_ret) {
    const char *name;
    cursor_skip(&names, offset);
    name = cursor_name(&names, left, size_ret);
    return names.failed ? NULL : name;
}

uint64_t object_isa_bit(const gsym_object_header *header) {
    switch (header->format) {
        case GSYM_OBJECT_ELF:
            return header->machine == EM_ARM || header->machine == EM_MIPS;
        case GSYM_OBJECT_MACHO: return header->machine == CPU_TYPE_ARM;
        default: return header->machine == IMAGE_FILE_MACHINE_ARMNT;
    }
}
