/* embedded.c - find a GSYM file in a section of its binary. */
#include "containers/object.h"

#define FAT_MAGIC 0xcafebabe
#define FAT_MAGIC_64 0xcafebabf

/* A Java class file has the magic number of a fat file, and its version is where a fat file
 * has the number of slices. */
enum { FEWEST_JAVA_VERSION = 43 };

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
