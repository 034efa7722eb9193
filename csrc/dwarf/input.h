/* input.h - define the debug sections of a file and what is known of its code, warnings,
 * and the budget of work.
 *
 * DIEs may be in several files. The `offset` of a DIE counts from the start of .debug_info
 * in the file of its unit. If a reference leads to the supplementary file,
 * DWARF_SUPPLEMENTARY is added to the offset.
 *
 * The files of this folder know nothing of GSYM files; sources/unit_functions.c makes
 * functions of their results. */
#ifndef GSYM_DWARF_INPUT_H
#define GSYM_DWARF_INPUT_H

#include <stdatomic.h>

#include "base/cursor.h"
#include "base/limit.h"
#include "base/list.h"
#include "base/path_rules.h"
#include "dwarf/constants.h"

#define DWARF_SUPPLEMENTARY (UINT64_C(1) << 63)
#define NO_INDEX UINT32_MAX

/* ---- input ------------------------------------------------------------------- */

typedef struct dwarf_bytes {
    const uint8_t *data;
    size_t size;
    bool is_file_mapping;
    gsym_range distrusted; /* bytes whose relocations could not be applied; end 0: none */
} dwarf_bytes;

/* Code at [start, end) of an object file is at `address` in the program that was linked
 * from it. */
typedef struct address_span {
    uint64_t start;
    uint64_t end;
    uint64_t address;
} address_span;

/* A live_code is found by up to three names: that of its symbol, this without a suffix such
 * as `.cold`, and this without an underscore in front. */
enum { LIVE_NAMES = 3 };

/* An address with code, known by a symbol or, without a name, as the entry point. */
typedef struct live_code {
    uint64_t address;
    uint64_t size; /* 0: not known */
    uint64_t hashes[LIVE_NAMES]; /* of these names; 0 in place of a name that it does not
                                    have */
    bool has_name;
} live_code;

/* One set of debug sections. */
typedef struct dwarf_input {
    dwarf_bytes sections[GSYM_DEBUG_SECTION_COUNT];
    uint32_t number; /* of the file, see dwarf_key */
    const struct dwarf_input *supplementary; /* or NULL */
    bool big_endian;
    uint64_t isa_bit; /* see object_isa_bit(); cleared in addresses when they are read */
    bool full_walk;   /* visit all DIEs: see GSYM_CONVERT_FULL_WALK */
    bool call_sites;  /* keep call sites */
    const gsym_range *text; /* sorted, disjoint; none: every address may be code */
    size_t text_count;
    /* Addresses with code, sorted; entries for one address begin with the largest and end
     * with those without a name. The list is made only if units are split, if there is
     * code at address 0, where linkers also move the debug information of code that they
     * dropped, or if addresses of DWARF may be too short (AVR). If `knows_live`, there is
     * code only at the addresses of this list. */
    const live_code *live;
    size_t live_count;
    bool has_live_sizes; /* some of them have a size */
    bool knows_live;
    const address_span *spans; /* sorted by start; without any, addresses are those of
                                  the program */
    size_t span_count;
    const struct dwarf_unit_header *units; /* of .debug_info, sorted by offset */
    size_t unit_count;
    const struct dwarf_unit_header *type_units; /* sorted by signature */
    size_t type_unit_count;
    /* The abbrev_key of each unit, ascending. */
    const uint64_t *abbrev_keys;
    size_t abbrev_key_count;
    const path_rule_list *path_rules;
} dwarf_input;

/* Offsets in all sections are less than this, and so are the numbers of files. */
#define DWARF_OFFSET_BITS 40
#define DWARF_FILE_LIMIT (1u << 23)

/* Return the key by which units are sorted: the offset of the abbreviation table, with type
 * units after other units of the same table. */
static inline uint64_t abbrev_key(uint64_t offset, bool is_type_unit) {
    return offset << 1 | is_type_unit;
}

/* Return one number for a file and an offset in a section of it; it is never 0. */
static inline uint64_t dwarf_key(const dwarf_input *input, uint64_t offset) {
    return ((uint64_t)input->number << DWARF_OFFSET_BITS) + offset + 1;
}

/* Return a cursor over a section from `offset` on, up to the next distrusted bytes. */
static inline cursor dwarf_section(const dwarf_input *input, gsym_debug_section which,
                                   uint64_t offset) {
    const dwarf_bytes *section = &input->sections[which];
    size_t size = section->size;
    if (GSYM_UNLIKELY(offset < section->distrusted.end)) size = section->distrusted.start;
    return cursor_at(section->data, size, offset, input->big_endian);
}

/* Whether there may be code at an address. */
bool dwarf_in_text(const dwarf_input *input, uint64_t address);
/* Return the difference, modulo 2^64, between the address of a function in the program and
 * `address`, its start in the object file. */
uint64_t dwarf_shift_at(const dwarf_input *input, uint64_t address);

typedef LIST(uint64_t) offset_list;

/* Read the length at the start of a unit or a table, and set *offset_size_ret to the size
 * of the offsets in it, which the length implies. */
static inline uint64_t dwarf_read_length(cursor *c, uint8_t *offset_size_ret) {
    uint64_t length = cursor_u32(c);
    *offset_size_ret = length == 0xffffffff ? 8 : 4;
    return length == 0xffffffff ? cursor_u64(c) : length;
}

/* ---- warnings ------------------------------------------------------------------ */

typedef struct warning_list {
    gsym_warning *items;
    size_t count, capacity;
    bool keep; /* keep them in `items`; else they are only counted */
    bool failed; /* out of memory: some were not kept */
    uint32_t file; /* number of the file that is being read */
    uint64_t counts[GSYM_WARN_COUNT];
} warning_list;

void dwarf_warn(warning_list *warnings, gsym_warning_category category, uint64_t offset,
                uint64_t value);

/* ---- budget -------------------------------------------------------------------- */

/* The work that all units of a conversion together may still do. It is limited because many
 * units could share a few bytes that take much work. The sum that is spent does not depend
 * on which thread reads which unit; so whether a limit is exceeded does not depend on the
 * number of threads. */
typedef struct dwarf_budget {
    atomic_int_fast64_t text;  /* bytes of composed names and of paths */
    atomic_int_fast64_t lines; /* bytes of line tables that are run */
    atomic_int_fast64_t rows;  /* of functions */
    atomic_int_fast64_t visits; /* steps over inlined calls, call sites, sequences and
                                   symbols */
    atomic_int_fast64_t parts; /* parts of functions that an optimizer moved after
                                  linking */
} dwarf_budget;

/* Subtract `cost`. False if less was left; the remainder is then negative. */
static inline bool dwarf_spend(atomic_int_fast64_t *left, uint64_t cost) {
    return atomic_fetch_sub_explicit(left, (int_fast64_t)cost, memory_order_relaxed) >=
           (int_fast64_t)cost;
}

#endif
