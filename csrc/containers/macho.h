/* macho.h - define an open Mach-O file, and read its segments, sections and tables. */
#ifndef GSYM_CONTAINERS_MACHO_H
#define GSYM_CONTAINERS_MACHO_H

#include "base/list.h"
#include "containers/object.h"

#define CPU_TYPE_ARM 12

#define MACHO_NAME_SIZE 16 /* of a section or segment; shorter names are padded with NULs */

#define SECTION_TYPE 0xff
#define S_ZEROFILL 1
#define S_SYMBOL_STUBS 8
#define S_GB_ZEROFILL 12
#define S_THREAD_LOCAL_ZEROFILL 18

#define S_ATTR_PURE_INSTRUCTIONS 0x80000000u
#define S_ATTR_SOME_INSTRUCTIONS 0x400u

/* The location of a section header, and the segment command that contains it. */
typedef struct macho_section_entry {
    uint64_t offset;
    uint64_t segment_offset;
} macho_section_entry;

/* A table that a load command names. */
typedef struct macho_table {
    uint64_t offset;
    uint64_t count; /* entries or, in tables of bytes, bytes */
} macho_table;

typedef struct macho_object {
    gsym_object object;
    LIST(macho_section_entry) section_entries;
    const uint8_t *uuid; /* NULL: none */
    macho_table symbols;
    macho_table strings;
    macho_table indirect_symbols;
    macho_table function_starts;
    bool has_relocations[GSYM_DEBUG_SECTION_COUNT]; /* for each debug section */
} macho_object;

static inline const macho_object *macho_of(const gsym_object *object) {
    return (const macho_object *)object;
}

enum { MACHO_COMMAND_HEAD_SIZE = 8 }; /* of a load command: its number and its size */

/* Return a cursor over the file from `offset` on. */
static inline cursor macho_cursor(const macho_object *macho, uint64_t offset) {
    return cursor_at(macho->object.data, macho->object.size, offset,
                     macho->object.header.big_endian);
}

/* A segment command with its fields widened. */
typedef struct macho_segment {
    const char *name;
    uint64_t address;
    uint64_t file_offset;
    uint32_t section_count;
} macho_segment;

/* Read the segment command at `offset`. */
macho_segment macho_segment_at(const macho_object *macho, uint64_t offset);

/* A section header with its fields widened. */
typedef struct macho_section {
    const char *name;
    uint64_t address;
    uint64_t size;
    uint64_t offset;
    uint32_t relocation_offset;
    uint32_t relocation_count;
    uint32_t flags;
    uint32_t indirect_first; /* for a section of symbol stubs: index of its first entry in
                                the table of indirect symbols */
    uint32_t stub_size;
} macho_section;

macho_section macho_section_at(const macho_object *macho, uint32_t index);
/* Return the bytes of a table, cut at the end of the file. */
cursor macho_table_bytes(const macho_object *macho, macho_table table, uint64_t entry_size);
static inline bool macho_section_holds_code(const macho_section *section) {
    return (section->flags &
            (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS)) &&
           section->size > 0;
}

/* Return the size of an entry of the symbol table in bytes. */
static inline uint32_t macho_symbol_size(const macho_object *macho) {
    return macho->object.header.is_64 ? 16 : 12;
}

/* ---- macho_relocations.c ------------------------------------------------------------ */

/* Whether a relocation of the section names a symbol, so that it changes a value. */
bool macho_needs_relocation(const macho_object *macho,
                            const macho_section *section);
/* Apply the relocations of a section, as object_format.relocate does. */
gsym_status macho_relocate(const gsym_object *object, uint32_t index,
                           uint8_t *bytes, size_t size,
                           gsym_unapplied *unapplied_ret, gsym_error *error);

#endif
