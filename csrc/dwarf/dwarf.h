/* dwarf.h - private interface of the DWARF kernel.
 *
 * Flow: unit.c finds units and opens them, abbrev.c compiles their
 * abbreviations, walk.c visits the DIEs once, line.c runs the line
 * program, names.c resolves names on demand; sources/unit_functions.c joins
 * the three into functions. Of the engine's public types this folder uses
 * errors, warnings and debug sections, nothing of GSYM files.
 *
 * DIEs may be in several files. An `offset` of a DIE is relative to the start of
 * .debug_info of its unit's file; where a reference leads on to the supplementary file,
 * DWARF_SUPPLEMENTARY is added to the offset there. */
#ifndef GSYM_DWARF_DWARF_H
#define GSYM_DWARF_DWARF_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/limit.h"
#include "base/path_rules.h"
#include "base/tables.h"
#include "dwarf/constants.h"

/* Limit: Nested DIEs */
#define DWARF_MAX_DEPTH 4096
/* Limit: `abstract_origin` and `specification` from DIE to DIE */
#define DWARF_MAX_REFERENCE_CHAIN 64
#define DWARF_SUPPLEMENTARY (UINT64_C(1) << 63)

/* ---- input ------------------------------------------------------------------- */

typedef struct dwarf_bytes {
    const uint8_t *data;
    size_t size;
    bool is_file_mapping;
    gsym_range distrusted; /* has values that no relocation was applied to; end 0: none */
} dwarf_bytes;

/* Functions that start in [start, end) of an object file are at `address` and on in the
 * program that was linked of it. */
typedef struct address_span {
    uint64_t start;
    uint64_t end;
    uint64_t address;
} address_span;

/* The name, the name without the suffix of a part, and without an underscore in front. */
enum { LIVE_NAMES = 3 };

/* A place where there is code, by a symbol or, without a name, as the entry point. */
typedef struct live_code {
    uint64_t address;
    uint64_t size; /* 0: not known */
    uint64_t hashes[LIVE_NAMES]; /* of its names; 0: it has no such one */
    bool has_name;
} live_code;

/* One set of debug sections. */
typedef struct dwarf_input {
    dwarf_bytes sections[GSYM_DEBUG_SECTION_COUNT];
    uint32_t number; /* of the file, see dwarf_key */
    const struct dwarf_input *supplementary; /* or NULL */
    bool big_endian;
    uint64_t isa_bit; /* of addresses, see object_isa_bit(); cleared in all that is read */
    bool full_walk;
    bool call_sites;
    const gsym_range *text; /* sorted, disjoint; none: every address may be code */
    size_t text_count;
    /* By address; of one address the largest is first, those without a name are last. They
     * are only known where units are split, or there is code at address 0.
     * Linkers move the debug information of code that they drop to address 0: where
     * `knows_live`, code is there only if one of these is. */
    const live_code *live;
    size_t live_count;
    bool has_live_sizes; /* of any */
    bool knows_live;
    const address_span *spans; /* by start; none: addresses are the program's */
    size_t span_count;
    const struct dwarf_unit_header *units; /* of .debug_info, by offset */
    size_t unit_count;
    const struct dwarf_unit_header *type_units; /* by signature */
    size_t type_unit_count;
    /* The abbrev_key of each unit, ascending. */
    const uint64_t *abbrev_keys;
    size_t abbrev_key_count;
    const path_rule_list *path_rules;
} dwarf_input;

/* Offsets in all sections are less than this, and so are the numbers of files. */
#define DWARF_OFFSET_BITS 40
#define DWARF_FILE_LIMIT (1u << 23)

/* The offset of a unit's abbreviation table; of units with the same table, type units come
 * last. */
static inline uint64_t abbrev_key(uint64_t offset, bool is_type_unit) {
    return offset << 1 | is_type_unit;
}

/* An offset in a section of one of several files; never 0. */
static inline uint64_t dwarf_key(const dwarf_input *input, uint64_t offset) {
    return ((uint64_t)input->number << DWARF_OFFSET_BITS) + offset + 1;
}

/* A section from `offset` on, up to what is not to be trusted. */
static inline cursor dwarf_section(const dwarf_input *input, gsym_debug_section which,
                                   uint64_t offset) {
    const dwarf_bytes *section = &input->sections[which];
    size_t size = section->size;
    if (GSYM_UNLIKELY(offset < section->distrusted.end)) size = section->distrusted.start;
    return cursor_at(section->data, size, offset, input->big_endian);
}

bool dwarf_in_text(const dwarf_input *input, uint64_t address);
/* By how much, modulo 2^64, a function that starts at `address` has moved. */
uint64_t dwarf_shift_at(const dwarf_input *input, uint64_t address);

typedef LIST(uint64_t) offset_list;

/* ---- warnings ------------------------------------------------------------------ */

typedef struct warning_list {
    gsym_warning *items;
    size_t count, capacity;
    bool keep; /* else only count */
    bool failed; /* out of memory: some were not kept */
    uint32_t file; /* that is being read */
    uint64_t counts[GSYM_WARN_COUNT];
} warning_list;

void dwarf_warn(warning_list *warnings, gsym_warning_category category, uint64_t offset,
                uint64_t value);

/* ---- budget -------------------------------------------------------------------- */

/* What remains of the limits for all units of a conversion: a few bytes that many units
 * share could expand without bound. The amount spent does not depend on which thread
 * reads which unit, so neither does the decision whether it is too much. */
typedef struct dwarf_budget {
    atomic_int_fast64_t text;  /* bytes of composed names and of paths */
    atomic_int_fast64_t lines; /* bytes of line tables that are run */
    atomic_int_fast64_t rows;  /* of functions */
    atomic_int_fast64_t visits; /* of inlined calls, call sites, sequences and symbols */
    atomic_int_fast64_t parts; /* of functions that an optimizer cut after linking */
} dwarf_budget;

/* False if less than `cost` was left; the remainder is then negative. */
static inline bool dwarf_spend(atomic_int_fast64_t *left, uint64_t cost) {
    return atomic_fetch_sub_explicit(left, (int_fast64_t)cost, memory_order_relaxed) >=
           (int_fast64_t)cost;
}

/* ---- abbreviations ------------------------------------------------------------- */

/* Attributes that are decoded; all others are skipped. */
enum dwarf_field {
    FIELD_SIBLING,
    FIELD_NAME,
    FIELD_LINKAGE_NAME,
    FIELD_LOW_PC,
    FIELD_HIGH_PC,
    FIELD_RANGES,
    FIELD_ABSTRACT_ORIGIN,
    FIELD_SPECIFICATION,
    FIELD_DECLARATION,
    FIELD_CALL_FILE,
    FIELD_CALL_LINE,
    FIELD_CALL_RETURN_PC,
    FIELD_CALL_ORIGIN,
    FIELD_STMT_SEQUENCE,
    FIELD_STMT_LIST,
    FIELD_LANGUAGE,
    FIELD_LANGUAGE_NAME,
    FIELD_COMP_DIR,
    FIELD_STR_OFFSETS_BASE,
    FIELD_ADDR_BASE,
    FIELD_RNGLISTS_BASE,
    FIELD_RANGES_BASE,
    FIELD_DWO_NAME,
    FIELD_DWO_ID,
    FIELD_SIGNATURE,
    FIELD_COUNT,
    FIELD_NONE = 255
};

/* Their values in one DIE, undecoded: the form defines the meaning of `raw`. */
typedef struct dwarf_fields {
    uint32_t present; /* bit per field */
    uint16_t form[FIELD_COUNT];
    uint64_t raw[FIELD_COUNT];
} dwarf_fields;

static inline bool dwarf_has(const dwarf_fields *fields, enum dwarf_field field) {
    return (fields->present >> field) & 1;
}

/* How the walk handles a DIE, by its tag. */
enum dwarf_action {
    ACTION_PLAIN,    /* no interest of its own; children may matter */
    ACTION_ROOT,     /* of a unit */
    ACTION_DATA,     /* type or data: below it no code, outside of functions */
    ACTION_CLASS,    /* like ACTION_DATA, and a scope of names */
    ACTION_SCOPE,    /* namespace */
    ACTION_FUNCTION,
    ACTION_INLINED,
    ACTION_CALL_SITE
};

typedef struct abbrev_op abbrev_op;

typedef struct abbrev {
    uint64_t code;
    uint64_t attributes; /* where its declaration has them, in .debug_abbrev */
    uint32_t leaf_size;  /* fixed_size of a DIE that is only stepped over */
    uint32_t fixed_size; /* of all attributes; UINT32_MAX: it varies */
    uint32_t op_first;
    uint32_t op_count;
    uint32_t fields; /* bit per field that it keeps */
    uint16_t tag;
    uint16_t sibling_at; /* offset of DW_AT_sibling in fixed attributes */
    uint8_t sibling_size; /* 0: none at a fixed place */
    uint8_t action;
    bool has_children;
    bool has_sibling;
    bool is_declaration; /* each DIE is one, of its own attributes */
} abbrev;

static inline bool abbrev_has(const abbrev *a, enum dwarf_field field) {
    return (a->fields >> field) & 1;
}

/* The abbreviations of one offset in .debug_abbrev, compiled for units of one
 * address size, offset size and version. */
typedef struct abbrev_table {
    abbrev *items;
    size_t count, capacity;
    abbrev_op *ops;
    size_t op_count, op_capacity;
    bool is_sequential; /* codes are 1, 2, 3 ... */
    bool is_damaged;
    bool is_cut; /* overlaps more other tables than allowed */
    bool is_shared; /* of several units, type units not counted */
    const dwarf_input *input;
    uint64_t offset;
    uint8_t address_size, offset_size;
    bool is_version_2;
} abbrev_table;

/* Compiled tables by their offset. Most units have a table of their own, so those
 * read in order keep few; tables that are shared, and those that references lead to, are
 * all kept. */
typedef struct abbrev_cache {
    abbrev_table **slots;
    size_t count, shared_count, capacity;
    size_t limit; /* forget tables that are not shared when this many are held; 0: never */
    bool has_roots; /* of tables that are not shared, compile only what a root DIE needs */
    bool failed;    /* memory ran out for one; stays set */
    abbrev_table *spare;
} abbrev_cache;

struct dwarf_unit_header;
/* The table of a unit, compiled or found in the cache; NULL: out of memory. */
const abbrev_table *abbrev_cache_get(abbrev_cache *cache, const dwarf_input *input,
                                     const struct dwarf_unit_header *header);
void abbrev_cache_deinit(abbrev_cache *cache);
const abbrev *abbrev_find_unordered(const abbrev_table *table, uint64_t code);

static inline const abbrev *abbrev_find(const abbrev_table *table, uint64_t code) {
    if (GSYM_LIKELY(code - 1 < table->count && table->is_sequential))
        return &table->items[code - 1];
    return abbrev_find_unordered(table, code);
}

bool abbrev_skip_varying(const abbrev_table *table, const abbrev *a, cursor *c);

/* Step over the attributes of a DIE; false where they are cut off or of an
 * unknown form. */
static inline bool abbrev_skip(const abbrev_table *table, const abbrev *a, cursor *c) {
    if (GSYM_UNLIKELY(a->fixed_size == UINT32_MAX)) return abbrev_skip_varying(table, a, c);
    cursor_skip(c, a->fixed_size);
    return !c->failed;
}

/* The same, keeping the fields. Sets fields->present. */
bool abbrev_read(const abbrev_table *table, const abbrev *a, cursor *c,
                 dwarf_fields *fields);

/* Read an attribute that has no field, of the DIE whose attributes start at `c`. False if
 * the DIE does not have it as a number. It reads the declaration again, so it is for few
 * DIEs; the number of attributes that it reads is added to *cost. */
bool abbrev_read_attribute(const abbrev_table *table, const abbrev *a, cursor c,
                           uint64_t attribute, uint64_t *value_ret, uint64_t *cost);

/* ---- units ----------------------------------------------------------------------- */

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

/* Find the units of .debug_info and, besides, the type units of .debug_info and
 * .debug_types. What follows a damaged header is given up. */
gsym_status dwarf_scan_units(const dwarf_input *input, unit_list *units,
                             unit_list *type_units, warning_list *warnings,
                             gsym_error *error);
/* Read the header at the cursor. False where it is cut off or the unit reaches past the
 * section; then `end` is 0 if not even that much is known. */
bool dwarf_read_unit_header(cursor *c, dwarf_unit_header *header);
/* Whether version and address size are of a kind that is read. */
bool dwarf_is_known_unit(const dwarf_unit_header *header);
/* The type unit with a signature; false: there is none. */
bool dwarf_type_unit(const dwarf_input *input, uint64_t signature,
                     dwarf_unit_header *header_ret);

/* A string of the input; a NUL follows. */
typedef struct dwarf_string {
    const char *bytes;
    size_t size;
} dwarf_string;

/* A unit of which the rest is in another file. */
typedef struct skeleton_unit {
    const dwarf_input *input;
    const dwarf_unit_header *header;
    size_t unit; /* its number among those to be converted */
    uint64_t dwo_id;
    dwarf_string dwo_name;
    dwarf_string comp_dir;
    const dwarf_input *split_input; /* NULL: the rest was not found */
    dwarf_unit_header split_header;
} skeleton_unit;

/* A unit to be converted. */
typedef struct unit_source {
    const dwarf_input *input;
    const dwarf_unit_header *header;
    const skeleton_unit *skeleton; /* NULL: the unit is complete */
} unit_source;

/* A unit whose root DIE has been read. */
typedef struct dwarf_unit {
    const dwarf_input *input;
    const dwarf_input *code; /* that has its addresses: of a split unit the skeleton's */
    const dwarf_unit_header *header;
    const abbrev_table *abbrevs;
    gsym_debug_section section; /* that contains its DIEs */
    uint64_t *long_names; /* bytes left for long names, or NULL: see cursor_name() */
    uint64_t place; /* DWARF_SUPPLEMENTARY, where others see its DIEs there; else 0 */
    uint64_t first_child; /* offset of the DIE after the root */
    uint16_t tag; /* of the root */
    bool has_children;
    bool has_stmt_list;
    uint64_t stmt_list;
    uint64_t language;
    uint64_t low_pc;
    uint64_t str_offsets_base;
    uint64_t addr_base;
    uint64_t ranges_base; /* what offsets in .debug_ranges count from */
    uint64_t split_ranges_base; /* the same for the split unit of this skeleton */
    uint64_t rnglists_base;
    uint8_t str_offset_size; /* of entries from str_offsets_base on */
    uint8_t rnglist_offset_size;
    bool has_code;
    bool has_dwo_id; /* is a skeleton or a split unit */
    uint64_t dwo_id;
    dwarf_string dwo_name;
    dwarf_string comp_dir;
} dwarf_unit;

/* False where the unit cannot be read; that is counted in `warnings`. A split unit has
 * its addresses from its skeleton, which is NULL else. */
bool dwarf_unit_open(dwarf_unit *unit, const dwarf_input *input,
                     const dwarf_unit_header *header, const dwarf_unit *skeleton,
                     abbrev_cache *abbrevs, warning_list *warnings);
/* The addresses that the root DIE claims; to be called with the `abbrevs` that the unit was
 * opened with. False where memory ran out. */
bool dwarf_unit_ranges(const dwarf_unit *unit, range_list *ranges, warning_list *warnings);
/* The dwarf_key of the unit's line table. False where it has none. */
static inline bool dwarf_lines_key(const dwarf_unit *unit, uint64_t *key_ret) {
    if (!unit->has_stmt_list || unit->stmt_list >> DWARF_OFFSET_BITS != 0) return false;
    *key_ret = dwarf_key(unit->input, unit->stmt_list);
    return true;
}
/* A cursor over the unit's DIEs, from `offset` to the unit's end. */
cursor dwarf_unit_cursor(const dwarf_unit *unit, uint64_t offset);
uint64_t dwarf_varying_sibling(const dwarf_unit *unit, const abbrev *a,
                               const cursor *attributes);

/* Where the DIE after this one and all below it starts, or 0 if the DIE does not
 * say so. The cursor stands at its attributes. */
static inline uint64_t dwarf_sibling(const dwarf_unit *unit, const abbrev *a,
                                     const cursor *attributes) {
    uint64_t offset;
    if (!a->has_sibling) return 0;
    if (GSYM_LIKELY(a->sibling_size == 4 &&
                    cursor_left(attributes) >= a->sibling_at + sizeof(uint32_t))) {
        offset = unit->header->offset +
                 cursor_load32(attributes->at + a->sibling_at, attributes->swap);
    } else if (a->sibling_size != 0) {
        cursor c = *attributes;
        cursor_skip(&c, a->sibling_at);
        offset = unit->header->offset + cursor_uint(&c, a->sibling_size);
        if (c.failed) return 0;
    } else {
        offset = dwarf_varying_sibling(unit, a, attributes);
    }
    return offset > cursor_offset(attributes) && offset <= unit->header->end ? offset : 0;
}
/* The header of the unit with the DIE at `offset`, or NULL. */
const dwarf_unit_header *dwarf_unit_holding(const dwarf_input *input, uint64_t offset);

/* The highest address of the target, which is its address mask as well. */
static inline uint64_t dwarf_last_address(const dwarf_unit *unit) {
    unsigned bits = 8u * unit->header->address_size;
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* ---- packages (.dwp) -------------------------------------------------------------- */

bool dwarf_is_package(const dwarf_input *input);
/* The unit of a dwo_id or type signature in an index, GSYM_DEBUG_CU_INDEX or
 * GSYM_DEBUG_TU_INDEX, which starts at the offset `from` or later. False if there is none
 * or the index is damaged. Before DWARF 5, a header has no dwo_id: the caller compares that
 * of the root DIE, and if it differs, asks for the next unit. */
bool dwarf_package_unit(const dwarf_input *input, gsym_debug_section index,
                        uint64_t signature, uint64_t from, dwarf_unit_header *header_ret);
/* Add the abbrev_key of each unit that an index names. False where memory ran out. */
bool dwarf_package_abbrevs(const dwarf_input *input, gsym_debug_section index,
                           offset_list *keys);

/* ---- attribute values ------------------------------------------------------------- */

dwarf_string dwarf_string_value(const dwarf_unit *unit, uint16_t form, uint64_t raw);
/* The file whose .debug_str a string's offset counts in, or NULL. */
const dwarf_input *dwarf_string_file(const dwarf_unit *unit, uint16_t form);
/* The string of a field that is present; a file that it needs and that is missing is a
 * warning of the DIE at `die_offset`, and so is one that is too long. */
dwarf_string dwarf_name_value(const dwarf_unit *unit, const dwarf_fields *fields,
                              enum dwarf_field field, uint64_t die_offset,
                              warning_list *warnings);
bool dwarf_address_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                         uint64_t *address_ret);
bool dwarf_address_index(const dwarf_unit *unit, uint64_t index, uint64_t *address_ret);
/* Offset of the DIE referred to, with DWARF_SUPPLEMENTARY where it is there. */
bool dwarf_reference_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                           uint64_t *offset_ret);
static inline bool dwarf_is_address_form(uint16_t form) {
    return form == DW_FORM_addr || form == DW_FORM_addrx ||
           (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
           form == DW_FORM_GNU_addr_index || form == DW_FORM_LLVM_addrx_offset;
}

/* ---- ranges ------------------------------------------------------------------------- */

/* Lists that were read. */
typedef struct lists_read {
    uint64_t bytes; /* of all */
    uint64_t end;   /* of the last one in .debug_rnglists */
} lists_read;

/* Append the ranges of a DIE unchanged, including empty and dead ones. Adds the
 * list to *read. False where memory ran out; a damaged list is a
 * warning. */
bool dwarf_read_ranges(const dwarf_unit *unit, const dwarf_fields *fields,
                       uint64_t die_offset, range_list *ranges, lists_read *read,
                       warning_list *warnings);

/* ---- line programs ------------------------------------------------------------------ */

/* A string that is found when it is needed, which few are. */
typedef struct line_string {
    const char *bytes; /* NULL: at `raw`, as `form` says */
    uint64_t raw;      /* or the size of `bytes` */
    uint16_t form;
} line_string;

typedef struct line_file {
    line_string name;
    uint64_t directory;
} line_file;

typedef struct line_sequence {
    uint64_t low;  /* address of the first row */
    uint64_t high; /* first address after the sequence */
    uint32_t row_first;
    uint32_t row_count;
    uint64_t program_offset; /* in .debug_line, where its opcodes start */
    bool is_dropped; /* a function in it is code that the linker dropped */
} line_sequence;

/* A sequence in the order of their first addresses. */
typedef struct sequence_span {
    uint64_t low;
    uint64_t reach; /* the greatest `high` of it and of those before */
    uint32_t sequence;
} sequence_span;

typedef struct dwarf_line_table {
    uint16_t version; /* 0: the unit has none */
    uint64_t end;     /* in .debug_line */
    LIST(line_file) files;
    LIST(line_string) directories;
    LIST(line_sequence) sequences; /* in program order */
    LIST(sequence_span) by_low; /* then in program order; they may overlap */
} dwarf_line_table;

void dwarf_line_table_deinit(dwarf_line_table *table);
/* Run the unit's line program. Rows that repeat file and line of the row before
 * are left out, but in a table whose rows go back. False where memory ran out or the budget
 * is spent; damage is a warning. */
bool dwarf_run_line_program(dwarf_line_table *table, row_list *rows, const dwarf_unit *unit,
                            dwarf_budget *budget, warning_list *warnings);
/* The file at a DWARF file index, or NULL. *is_none is set for index 0 before
 * version 5, which stands for no file. */
const line_file *dwarf_line_table_file(const dwarf_line_table *table, uint64_t index,
                                       bool *is_none);
/* Append the path of a file: the unit's comp_dir / directory / name, up to the first
 * absolute part from the right. */
void dwarf_line_table_path(const dwarf_line_table *table, const line_file *file,
                           const dwarf_unit *unit, buffer *out);

/* ---- the walk: functions and inlined calls in the DIEs ---------------------------- */

#define NO_INDEX UINT32_MAX

typedef struct walk_function {
    uint64_t offset; /* of the DIE */
    uint64_t origin; /* specification or abstract_origin, 0: none */
    dwarf_string linkage_name;
    dwarf_string name;
    uint32_t range_first;
    uint32_t range_count;
    uint32_t node_first; /* nodes of functions nested in this one lie among them */
    uint32_t node_end;
    uint32_t site_first;
    uint32_t site_end;
    uint64_t stmt_sequence; /* UINT64_MAX: none */
} walk_function;

typedef struct walk_node {
    uint64_t offset;
    uint64_t origin;
    uint32_t function; /* index of the function it was inlined into */
    uint32_t depth;    /* 1: called by the function itself */
    uint32_t outer;    /* index of the call that it was inlined into, or NO_INDEX */
    uint32_t range_first;
    uint32_t range_count;
    uint64_t call_file;
    uint32_t call_line;
    bool has_call_file;
} walk_node;

typedef struct walk_call_site {
    uint64_t return_address;
    uint64_t origin; /* DIE of the callee, 0: none */
    uint32_t function;
} walk_call_site;

/* DIEs that name what is declared inside of them, in order of their offset. */
typedef struct walk_scope {
    uint64_t offset;
    uint64_t children; /* offset of the first DIE inside */
    uint64_t end;
    uint32_t parent; /* index, or NO_INDEX */
    uint16_t tag;
    bool is_skipped; /* the walk jumped over its children */
} walk_scope;

typedef struct unit_walk {
    size_t most; /* functions after which the walk pauses; 0: never */
    uint64_t reached; /* offset of the DIE where it goes on, or of the unit's end */
    uint64_t outside; /* ranges of functions that are not in text */
    LIST(walk_function) functions;
    LIST(walk_node) nodes;
    LIST(walk_call_site) call_sites;
    LIST(walk_scope) scopes;
    range_list ranges;
    lists_read lists;
    LIST(struct walk_level) levels;
} unit_walk;

/* Visit the DIEs of a unit. False where memory ran out. */
bool dwarf_walk_unit(unit_walk *walk, const dwarf_unit *unit, warning_list *warnings);
/* Whether the walk of a unit has paused. Then the lists have whole functions, and
 * dwarf_walk_on() replaces all but the scopes by what follows. */
static inline bool dwarf_walk_pauses(const unit_walk *walk, const dwarf_unit *unit) {
    return walk->reached < unit->header->end;
}
bool dwarf_walk_on(unit_walk *walk, const dwarf_unit *unit, warning_list *warnings);
void unit_walk_deinit(unit_walk *walk);

/* The length that a unit or a line table starts with; sets the size of its offsets. */
static inline uint64_t dwarf_read_length(cursor *c, uint8_t *offset_size_ret) {
    uint64_t length = cursor_u32(c);
    *offset_size_ret = length == 0xffffffff ? 8 : 4;
    return length == 0xffffffff ? cursor_u64(c) : length;
}

/* ---- names --------------------------------------------------------------------------- */

typedef LIST(walk_scope) scope_list;

/* A linkage name that was interned before, by the dwarf_key of its place in .debug_str:
 * units share most of theirs, and to look at the bytes again costs more than this. */
typedef struct known_name {
    uint64_t key;
    uint64_t strp;
    uint64_t hash;
    size_t size;
} known_name;

#define KNOWN_NAMES (1u << 15) /* slots; a newer name replaces an older one */

static inline size_t known_name_slot(uint64_t key) {
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 49);
}

/* Resolves names for one unit; opens others for references across units. */
typedef struct name_resolver {
    const dwarf_unit *unit;
    const unit_walk *walk;
    warning_list *warnings;
    abbrev_cache foreign_abbrevs;
    dwarf_unit foreign; /* the one opened last */
    LIST(scope_list) scanned; /* of a unit, or of a scope that the walk jumped over */
    number_map scanned_from;  /* dwarf_key of the first DIE that was scanned */
    const known_name *known;
    buffer *arena; /* for names that are concatenated */
    dwarf_budget *budget;
} name_resolver;

void name_resolver_deinit(name_resolver *resolver);

/* A name in the input or, with `bytes` NULL, at `arena_offset`. */
typedef struct resolved_name {
    const char *bytes;
    size_t size; /* 0: no name */
    size_t arena_offset;
    uint64_t key;  /* as in known_name; 0: the name is elsewhere */
    uint64_t strp; /* 0: not known yet */
    uint64_t hash; /* where strp is known */
} resolved_name;

/* The linkage name of the function at `offset`, else its name after the names of
 * the scopes around it. False where memory ran out or the budget is spent. */
bool dwarf_resolve_name(name_resolver *resolver, uint64_t offset, resolved_name *ret);
/* The same for a function of the walk, starting with its DIE. */
bool dwarf_function_name(name_resolver *resolver, const walk_function *function,
                         resolved_name *ret);
/* Where the function or call at `offset` is declared, by its own DIE or those it refers to;
 * UINT32_MAX for a file and 0 for a line that is not known. What it reads is added to
 * *cost. */
void dwarf_declaration(name_resolver *resolver, uint64_t offset, uint64_t *file_ret,
                       uint64_t *line_ret, uint64_t *cost);
/* Whether names without a linkage name get the scopes around them in front. */
bool dwarf_language_has_scopes(uint64_t language);

#endif
