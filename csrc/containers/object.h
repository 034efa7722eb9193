/* object.h - the interface of a container format.
 *
 * Each format has one `object_format`; object.c recognises a file by its first bytes
 * and dispatches. */
#ifndef GSYM_CONTAINERS_OBJECT_H
#define GSYM_CONTAINERS_OBJECT_H

#include "base/cursor.h"

typedef struct object_format object_format;

/* The head of each format's own structure. */
struct gsym_object {
    const object_format *format;
    const uint8_t *data;
    size_t size;
    gsym_object_header header;
};

struct object_format {
    void (*close)(gsym_object *object);
    gsym_status (*section_at)(const gsym_object *object, uint32_t index,
                              gsym_object_section *section_ret, gsym_error *error);
    /* Index of a section of DWARF; UINT32_MAX: there is none. */
    uint32_t (*debug_section)(const gsym_object *object, gsym_debug_section which,
                              bool is_split);
    void (*identifier)(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret);
    /* NULL: this format needs none. */
    gsym_status (*relocate)(const gsym_object *object, uint32_t index, uint8_t *bytes,
                            size_t size, uint64_t *failed_ret, gsym_error *error);
};

#define OBJECT_NO_SECTION UINT32_MAX

gsym_status elf_open(const uint8_t *data, size_t size, gsym_object **object_ret,
                     gsym_error *error);
bool macho_is_magic(const uint8_t *data, size_t size);
gsym_status macho_open(const uint8_t *data, size_t size, gsym_object **object_ret,
                       gsym_error *error);
bool pe_is_magic(const uint8_t *data, size_t size);
gsym_status pe_open(const uint8_t *data, size_t size, gsym_object **object_ret,
                    gsym_error *error);

/* Fill in how the payload of a section named .zdebug_* is packed: "ZLIB", its size, then
 * the data, as Go and old tools write it. */
gsym_status object_read_zdebug(const gsym_object *object, gsym_object_section *section,
                               gsym_error *error);
/* The name at `offset` of a symbol table's names; NULL where it has no end in there or
 * is longer than any language makes. */
const char *object_symbol_name(cursor names, uint64_t offset, size_t *size_ret);

/* The debug section of a name such as .debug_info, .zdebug_info or .debug_info.dwo;
 * COUNT: none. */
gsym_debug_section object_debug_section_named(const char *name, size_t size,
                                              bool *is_split_ret);

/* "debug_info" and so on: the part of a name that all formats share. */
extern const char *const debug_section_names[GSYM_DEBUG_SECTION_COUNT];

#endif
