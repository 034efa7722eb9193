/* pe.h - define an open PE or COFF file, and read its sections, data directories and
 * symbols. */
#ifndef GSYM_CONTAINERS_PE_H
#define GSYM_CONTAINERS_PE_H

#include "containers/object.h"

#define IMAGE_FILE_MACHINE_I386 0x14c
#define IMAGE_FILE_MACHINE_ARMNT 0x1c4
#define IMAGE_FILE_MACHINE_AMD64 0x8664
#define IMAGE_FILE_MACHINE_ARM64 0xaa64
#define IMAGE_FILE_MACHINE_ARM64EC 0xa641 /* code of ARM64 with the ABI of x64 */
#define IMAGE_FILE_MACHINE_ARM64X 0xa64e  /* both kinds of code in one file */

#define PE_SECTION_ABSOLUTE (-1) /* section of symbols whose value is not an address */

typedef enum pe_directory {
    PE_DIRECTORY_EXPORT = 0,
    PE_DIRECTORY_IMPORT = 1,
    PE_DIRECTORY_EXCEPTION = 3,
    PE_DIRECTORY_DEBUG = 6,
    PE_DIRECTORY_DELAY_IMPORT = 13
} pe_directory;

typedef struct pe_object {
    gsym_object object;
    bool is_image; /* false: an object file, whose sections get addresses here */
    uint64_t section_table;
    uint64_t symbol_table;
    uint32_t symbol_count;
    uint32_t symbol_size;
    cursor strings; /* long names of symbols and sections */
    uint64_t directory_table;
    uint32_t directory_count;
    uint64_t *addresses; /* chosen for the sections of an object file */
    uint64_t relocations_size; /* of the relocations of all sections */
} pe_object;

static inline const pe_object *pe_of(const gsym_object *object) {
    return (const pe_object *)object;
}

typedef struct pe_section {
    const char *name;
    size_t name_size;
    uint64_t address; /* with the image base added */
    uint64_t memory_size;
    uint64_t offset;
    uint64_t size; /* in the file, without padding */
    uint64_t relocations;
    uint32_t relocation_count;
    uint32_t flags;
    bool holds_code;
} pe_section;

enum { PE_SECTION_SIZE = 40 }; /* of a section header */

/* Return a cursor over the file from `offset` on. */
static inline cursor pe_cursor(const pe_object *pe, uint64_t offset) {
    return cursor_at(pe->object.data, pe->object.size, offset, false);
}

pe_section pe_section_at(const pe_object *pe, uint32_t index);
/* Return `size` bytes of the file, cut at its end. */
cursor pe_bytes(const pe_object *pe, uint64_t offset, uint64_t size);
/* Find the section that contains `address`; false if there is none. */
bool pe_find_section(const pe_object *pe, uint64_t address, pe_section *section_ret);
/* Find the addresses at which a data directory is loaded; false if the file has none. */
bool pe_find_directory(const pe_object *pe, pe_directory which, gsym_range *range_ret);
/* Return the bytes of a section from `address` on, at most `size`, as far as they are in
 * the file. */
cursor pe_section_bytes(const pe_object *pe, const pe_section *section, uint64_t address,
                        uint64_t size);
/* Return the bytes loaded at a range, as far as they are in the file. */
cursor pe_loaded_bytes(const pe_object *pe, gsym_range range);

enum { PE_SHORT_NAME_SIZE = 8 };

/* An entry of the symbol table. */
typedef struct pe_symbol {
    const uint8_t *name; /* PE_SHORT_NAME_SIZE bytes: the name, or its offset in strings */
    uint32_t value;
    int32_t section; /* counts from 1; 0 or less: the symbol is in no section */
    uint16_t type;
    uint8_t class;
    uint8_t auxiliary_count; /* auxiliary entries that follow */
} pe_symbol;

/* Read the next entry of the symbol table; the caller has checked that it is complete. */
pe_symbol pe_read_symbol(const pe_object *pe, cursor *c);

/* ---- pe_relocations.c --------------------------------------------------------------- */

/* Place the sections of an object file. */
gsym_status pe_place_sections(pe_object *pe, gsym_error *error);
/* Apply the relocations of a section, as object_format.relocate does. */
gsym_status pe_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                        size_t size, gsym_unapplied *unapplied_ret,
                        gsym_error *error);

#endif
