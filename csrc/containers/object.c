/* object.c - recognises a container by its content; what all formats have in common. */
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
    static const object_format *const formats[] = {&elf_format, &macho_format, &pe_format};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
        const object_format *format = formats[i];
        gsym_object *object;
        gsym_status status;
        if (!format->is_magic(data, size)) continue;
        object = calloc(1, format->object_size);
        if (object == NULL) return gsym_fail_memory(error);
        *object = (gsym_object){format, data, size, {.format = format->number}, {{0}}};
        memset(object->debug_sections, 0xff, sizeof object->debug_sections);
        status = format->open(object, error);
        if (status == GSYM_OK) *object_ret = object;
        if (status != GSYM_OK) gsym_object_close(object);
        return status;
    }
    return gsym_fail(error, GSYM_E_FORMAT, 0, "not an ELF, Mach-O or PE file");
}

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

gsym_status gsym_object_find_section(const gsym_object *object, uint32_t first,
                                     const char *name, size_t name_size,
                                     gsym_object_section *section_ret, gsym_error *error) {
    for (uint32_t i = first; i < object->header.section_count; ++i) {
        gsym_error ignored;
        memset(section_ret, 0, sizeof *section_ret);
        /* A damaged section matters only where it is the one that is looked for. */
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
    /* The indexes of a package are the only ones of their name. */
    if (which == GSYM_DEBUG_CU_INDEX || which == GSYM_DEBUG_TU_INDEX) is_split = 0;
    index = object->debug_sections[is_split != 0][which];
    if (index == OBJECT_NO_SECTION) return GSYM_OK;
    return gsym_object_section_at(object, index, section_ret, error);
}

gsym_status gsym_object_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                                 size_t size, uint64_t *failed_ret, gsym_error *error) {
    *failed_ret = 0;
    if (object->format->relocate == NULL || index >= object->header.section_count)
        return GSYM_OK;
    return object->format->relocate(object, index, bytes, size, failed_ret, error);
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

/* The payload of .zdebug_*: "ZLIB", its size, then the data, as Go and old tools write
 * it. */
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

const char *object_symbol_name(cursor names, uint64_t offset, size_t *size_ret) {
    const char *name;
    cursor_skip(&names, offset);
    name = cursor_name(&names, size_ret);
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

#define FAT_MAGIC 0xcafebabe
#define FAT_MAGIC_64 0xcafebabf

enum { FEWEST_JAVA_VERSION = 43 }; /* where a fat file has the number of its slices */

static bool is_fat(const uint8_t *data, size_t size) {
    cursor c = cursor_at(data, size, 0, true);
    uint32_t magic = cursor_u32(&c), count = cursor_u32(&c);
    return magic == FAT_MAGIC_64 || (magic == FAT_MAGIC && count < FEWEST_JAVA_VERSION);
}

static gsym_status find_section(const gsym_object *object, const char *name,
                                uint64_t *offset_ret, uint64_t *size_ret,
                                gsym_error *error) {
    gsym_object_section section;
    GSYM_TRY(gsym_object_find_section(object, 0, name, strlen(name), &section, error));
    if (section.size == 0)
        return gsym_fail(error, GSYM_E_FORMAT, 0,
                         "no embedded GSYM file: no section %s", name);
    if (section.compression != GSYM_COMPRESSION_NONE)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, section.offset,
                         "section %s is compressed", name);
    *offset_ret = section.offset;
    *size_ret = section.size;
    return GSYM_OK;
}

gsym_status gsym_embedded_find(const uint8_t *data, size_t size, uint64_t *offset_ret,
                               uint64_t *size_ret, gsym_error *error) {
    gsym_object *object;
    gsym_status status;
    *offset_ret = 0;
    *size_ret = size;
    if (is_fat(data, size))
        return gsym_fail(error, GSYM_E_UNSUPPORTED, 0,
                         "a universal file: extract one slice with lipo -thin");
    if (!elf_format.is_magic(data, size) && !macho_format.is_magic(data, size))
        return GSYM_OK;
    GSYM_TRY(gsym_object_open(data, size, &object, error));
    status = find_section(object, object->format == &elf_format ? ".gsym" : "__gsym",
                          offset_ret, size_ret, error);
    gsym_object_close(object);
    return status;
}
