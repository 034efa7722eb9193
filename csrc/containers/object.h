/* object.h - the interface of a container format.
 *
 * Each format has one `object_format`; object.c recognises a file by its first bytes
 * and dispatches. */
#ifndef GSYM_CONTAINERS_OBJECT_H
#define GSYM_CONTAINERS_OBJECT_H

#include "base/cursor.h"
#include "base/limit.h"

typedef struct object_format object_format;

#define OBJECT_NO_SECTION UINT32_MAX

/* Each format's own structure begins with this. */
struct gsym_object {
    const object_format *format;
    const uint8_t *data;
    size_t size;
    gsym_object_header header;
    /* Their indexes, or OBJECT_NO_SECTION; those of split units in the second row. */
    uint32_t debug_sections[2][GSYM_DEBUG_SECTION_COUNT];
};

struct object_format {
    gsym_object_format number;
    size_t object_size; /* of the format's own structure */
    bool (*is_magic)(const uint8_t *data, size_t size);
    /* Read the headers and find the debug sections. */
    gsym_status (*open)(gsym_object *object, gsym_error *error);
    /* Free what the structure owns. */
    void (*release)(gsym_object *object);
    gsym_status (*section_at)(const gsym_object *object, uint32_t index,
                              gsym_object_section *section_ret, gsym_error *error);
    void (*identifier)(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret);
    /* NULL: this format needs none. */
    gsym_status (*relocate)(const gsym_object *object, uint32_t index, uint8_t *bytes,
                            size_t size, gsym_unapplied *unapplied_ret,
                            gsym_error *error);
    /* How far the segments of `object` are from those of `other`, a file of the same
     * format; false if they differ in more. NULL: only sections tell. */
    bool (*segment_distance)(const gsym_object *object, const gsym_object *other,
                             uint64_t *distance_ret);
};

extern const object_format elf_format, macho_format, pe_format;

/* The payload of a section is `size` bytes from its offset, compressed if its name begins
 * with `zdebug` (NULL: it is not). */
gsym_status object_set_payload(const gsym_object *object, gsym_object_section *section,
                               uint64_t size, const char *zdebug, gsym_error *error);
/* Count a relocation of this type that could not be applied at `offset`. */
void object_count_unapplied(gsym_unapplied *unapplied, uint64_t offset, uint32_t type);
/* Limit: Names of more than 64 KiB in a symbol table, which symbols may share */
LIMIT(LONG_NAMES, 256 << 10, 16);
/* What names of a symbol table that are longer than NAME_SIZE may have in all. */
static inline uint64_t object_long_names(cursor names) {
    return LIMIT_OF(LONG_NAMES, cursor_left(&names));
}
/* The name at `offset` of a symbol table's names; NULL where it has no end in there or
 * is longer than NAME_SIZE and `*left`, as for cursor_name(). */
const char *object_symbol_name(cursor names, uint64_t *left, uint64_t offset,
                               size_t *size_ret);

/* The debug section of a name such as .debug_info, .zdebug_info or .debug_info.dwo;
 * COUNT: none. */
gsym_debug_section object_debug_section_named(const char *name, size_t size,
                                              bool *is_split_ret);

/* The bit of a code address that chooses between the instruction sets of ARM or MIPS and is
 * no part of the address, as symbols, DIEs and rows may have it; 0: no such bit. */
uint64_t object_isa_bit(const gsym_object_header *header);

/* Note in the header that a section of this name has debug information of another kind. */
void object_note_unread(gsym_object_header *header, const char *name, size_t size);

/* "debug_info" and so on: the part of a name that all formats share. */
extern const char *const debug_section_names[GSYM_DEBUG_SECTION_COUNT];

#endif
