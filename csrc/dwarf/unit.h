/* unit.h - read the headers of units and their root DIEs. */
#ifndef GSYM_DWARF_UNIT_H
#define GSYM_DWARF_UNIT_H

#include "dwarf/abbrev.h"

typedef struct dwarf_unit_header {
    uint64_t offset;
    uint64_t end;
    uint64_t abbrev_offset;
    uint16_t version;
    uint8_t header_size;
    uint8_t type; /* DW_UT_* */
    uint8_t address_size;
    uint8_t offset_size;
    bool is_in_types;     /* in .debug_types, not in .debug_info */
    uint64_t signature;   /* of a type unit; dwo_id of a skeleton or split unit */
    uint64_t type_offset; /* of the type's DIE, from the unit's start */
    /* In a package, where the unit's part of other sections starts; else 0. */
    uint64_t str_offsets_start;
    uint64_t rnglists_start;
} dwarf_unit_header;

typedef LIST(dwarf_unit_header) unit_list;

static inline bool dwarf_is_type_unit(const dwarf_unit_header *header) {
    return header->type == DW_UT_type || header->type == DW_UT_split_type;
}

/* Is called with each unit of .debug_info; false if memory ran out. */
typedef bool dwarf_unit_visit(void *context, const dwarf_unit_header *header);
/* List the units of .debug_info in `units`, but type units, of .debug_info and
 * .debug_types, in `type_units`. What follows a damaged header is not read. `visit` may be
 * NULL. */
gsym_status dwarf_scan_units(const dwarf_input *input, unit_list *units,
                             unit_list *type_units, dwarf_unit_visit *visit, void *context,
                             warning_list *warnings, gsym_error *error);
/* Read the header at the cursor. False if it is cut off or the unit ends after the
 * section. */
bool dwarf_read_unit_header(cursor *c, dwarf_unit_header *header);
/* Whether units of this version and address size can be read. */
bool dwarf_is_known_unit(const dwarf_unit_header *header);

/* A string of the input; a NUL follows. */
typedef struct dwarf_string {
    const char *bytes;
    size_t size;
} dwarf_string;

/* A unit whose root DIE has been read. */
typedef struct dwarf_unit {
    const dwarf_input *input;
    const dwarf_input *code; /* the file with its addresses; for a split unit, that of
                                its skeleton */
    const dwarf_unit_header *header;
    const abbrev_table *abbrevs;
    gsym_debug_section section; /* that contains its DIEs */
    uint64_t *long_names; /* bytes left for long names, or NULL: see cursor_name() */
    uint64_t file_bit; /* DWARF_SUPPLEMENTARY if it is in the supplementary file, else 0 */
    uint64_t first_child; /* offset of the DIE after the root */
    uint16_t tag; /* of the root */
    bool has_children;
    bool has_stmt_list;
    uint64_t stmt_list;
    uint64_t language;
    uint64_t low_pc;
    uint64_t str_offsets_base;
    uint64_t addr_base;
    uint64_t ranges_base; /* added to offsets in .debug_ranges */
    uint64_t split_ranges_base; /* ranges_base of the split unit of this skeleton */
    uint64_t rnglists_base;
    uint8_t str_offset_size; /* of entries from str_offsets_base on */
    uint8_t rnglist_offset_size;
    bool has_code;
    bool has_dwo_id; /* is a skeleton or a split unit */
    uint64_t dwo_id;
    dwarf_string dwo_name;
    dwarf_string comp_dir;
} dwarf_unit;

/* Read the root DIE of a unit. False if the unit cannot be read, which is a warning.
 * `skeleton` is that of a split unit, which has its addresses; else NULL. */
bool dwarf_unit_open(dwarf_unit *unit, const dwarf_input *input,
                     const dwarf_unit_header *header, const dwarf_unit *skeleton,
                     abbrev_cache *abbrevs, warning_list *warnings);
/* Return the dwarf_key of the unit's line table; false if it has none. */
static inline bool dwarf_lines_key(const dwarf_unit *unit, uint64_t *key_ret) {
    if (!unit->has_stmt_list || unit->stmt_list >> DWARF_OFFSET_BITS != 0) return false;
    *key_ret = dwarf_key(unit->input, unit->stmt_list);
    return true;
}
/* Return a cursor over the unit's DIEs, from `offset` to the unit's end. */
cursor dwarf_unit_cursor(const dwarf_unit *unit, uint64_t offset);
/* Prefetch the DIE at `offset`, if that is in the section of the unit before its end. */
static inline void dwarf_unit_fetch(const dwarf_unit *unit, uint64_t offset) {
    if (offset < unit->header->end)
        __builtin_prefetch(unit->input->sections[unit->section].data + offset);
}
/* Does what dwarf_sibling() does for DIEs in which DW_AT_sibling is not an offset of four
 * bytes at a fixed place. */
uint64_t dwarf_other_sibling(const dwarf_unit *unit, const abbrev *a,
                             const cursor *attributes);

/* Return the offset of the DIE after this one and all below it, 0 if it has no
 * DW_AT_sibling or one beyond the end of the cursor, which stands at its attributes. */
static inline __attribute__((always_inline)) uint64_t
dwarf_sibling(const dwarf_unit *unit, const abbrev *a, const cursor *attributes) {
    uint64_t offset =
        GSYM_LIKELY(a->sibling_size == 4 &&
                    cursor_left(attributes) >= a->sibling_at + sizeof(uint32_t))
            ? unit->header->offset +
                  cursor_load32(attributes->at + a->sibling_at, attributes->swap)
            : dwarf_other_sibling(unit, a, attributes);
    return offset > cursor_offset(attributes) &&
                   offset <= (uint64_t)(attributes->end - attributes->start)
               ? offset
               : 0;
}
/* Return the header of the unit that contains the DIE at `offset`, or NULL. */
const dwarf_unit_header *dwarf_unit_holding(const dwarf_input *input, uint64_t offset);

/* Return the highest address of the target, which is also the mask of its addresses. */
static inline uint64_t dwarf_max_address(const dwarf_unit *unit) {
    unsigned bits = 8u * unit->header->address_size;
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

#endif
