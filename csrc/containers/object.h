/* object.h - define what each object file format implements, and what all formats share.
 *
 * Each format has one `object_format`; object.c recognizes the format of a file by its
 * first bytes and calls its functions. */
#ifndef GSYM_CONTAINERS_OBJECT_H
#define GSYM_CONTAINERS_OBJECT_H

#include "base/cursor.h"
#include "base/limit.h"

typedef struct object_format object_format;

#define OBJECT_NO_SECTION UINT32_MAX

/* The structure of each format begins with this one. */
struct gsym_object {
    const object_format *format;
    const uint8_t *data;
    size_t size;
    bool is_file_mapping; /* pages may be released */
    gsym_object_header header;
    /* Indexes of the debug sections, or OBJECT_NO_SECTION; [1] has those of split units. */
    uint32_t debug_sections[2][GSYM_DEBUG_SECTION_COUNT];
};

struct object_format {
    gsym_object_format number;
    size_t object_size; /* bytes of the structure of this format, which begins with
                           gsym_object */
    bool (*is_magic)(const uint8_t *data, size_t size);
    /* Read the headers and find the debug sections. */
    gsym_status (*open)(gsym_object *object, gsym_error *error);
    /* Free what the structure owns. */
    void (*release)(gsym_object *object);
    gsym_status (*section_at)(const gsym_object *object, uint32_t index,
                              gsym_object_section *section_ret, gsym_error *error);
    void (*identifier)(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret);
    /* Apply the relocations of a section; NULL: the format has none. */
    gsym_status (*relocate)(const gsym_object *object, uint32_t index, uint8_t *bytes,
                            size_t size, gsym_unapplied *unapplied_ret,
                            gsym_error *error);
    /* Find the distance of the segments of `object` from those of `other`, a file of the
     * same format; false if they differ in more. NULL: the format compares sections
     * only. */
    bool (*segment_distance)(const gsym_object *object, const gsym_object *other,
                             uint64_t *distance_ret);
};

extern const object_format elf_format, macho_format, pe_format, wasm_format;

/* Set the payload of a section to `size` bytes from its offset; it is compressed if the
 * name of the section begins with `zdebug`, which may be NULL. */
gsym_status object_set_payload(const gsym_object *object, gsym_object_section *section,
                               uint64_t size, const char *zdebug, gsym_error *error);
/* Read what is known of a section and its addresses; a debug file need not have its bytes.
 * False unless it has code, at addresses that 64 bits can represent. */
bool object_code_section(const gsym_object *object, uint32_t index,
                         gsym_object_section *section_ret);
/* Count a relocation of this type that could not be applied at `offset`. */
void object_count_unapplied(gsym_unapplied *unapplied, uint64_t offset, uint32_t type);
/* Limit: Names of more than 64 KiB in a symbol table, which symbols may share */
LIMIT(LONG_NAMES, 256 << 10, 16);
/* Return the limit on the bytes of names longer than NAME_SIZE in a symbol table. */
static inline uint64_t object_long_names(cursor names) {
    return LIMIT_OF(LONG_NAMES, cursor_left(&names));
}
/* Return the name at `offset` of the names of a symbol table; NULL if it does not end there
 * or is too long, as for cursor_name(). */
const char *object_symbol_name(cursor names, uint64_t *left, uint64_t offset,
                               size_t *size_ret);

/* Return the debug section with a name such as .debug_info, .zdebug_info or
 * .debug_info.dwo; GSYM_DEBUG_SECTION_COUNT: none. */
gsym_debug_section object_debug_section_named(const char *name, size_t size,
                                              bool *is_split_ret);

/* Return the bit of a code address that selects an instruction set of ARM or MIPS and is
 * not part of the address; symbols, DIEs and rows may have it. 0: there is no such bit. */
uint64_t object_isa_bit(const gsym_object_header *header);

/* If a section with this name has debug information of a kind that the engine does not
 * read, note that in the header. */
void object_note_unread(gsym_object_header *header, const char *name, size_t size);

/* The part of each name that all formats share: "debug_info", ... */
extern const char *const debug_section_names[GSYM_DEBUG_SECTION_COUNT];

#endif
