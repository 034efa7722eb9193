/* dwarf.h - read DWARF: units, DIEs, ranges, line programs and names.
 *
 * unit.c finds units and opens them, abbrev.c compiles their abbreviations,
 * walk.c visits the DIEs once, ranges.c reads range lists, line.c runs line
 * programs, names.c resolves names on demand, package.c finds units in packages;
 * sources/unit_functions.c joins the results into functions. Of the engine's
 * public types this folder uses errors, warnings, rows, ranges and debug
 * sections, nothing of GSYM files.
 *
 * DIEs may be in several files. An `offset` of a DIE is relative to the start of
 * .debug_info of its unit's file. If a reference leads to the supplementary file,
 * DWARF_SUPPLEMENTARY is added to the offset. */
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
    gsym_range distrusted; /* bytes with relocations that were not applied; end 0: none */
} dwarf_bytes;

/* Code at [start, end) of an object file is at `address` in the program that was linked
 * from it. */
typedef struct address_span {
    uint64_t start;
    uint64_t end;
    uint64_t address;
} address_span;

/* Each live_code has three names: that of the symbol, the same without a suffix such as
 * `.cold`, and the same without an underscore in front. */
enum { LIVE_NAMES = 3 };

/* An address with code, known by a symbol or, without a name, as the entry point. */
typedef struct live_code {
    uint64_t address;
    uint64_t size; /* 0: not known */
    uint64_t hashes[LIVE_NAMES]; /* of its names; 0: it has fewer names */
    bool has_name;
} live_code;

/* One set of debug sections. */
typedef struct dwarf_input {
    dwarf_bytes sections[GSYM_DEBUG_SECTION_COUNT];
    uint32_t number; /* of the file, see dwarf_key */
    const struct dwarf_input *supplementary; /* or NULL */
    bool big_endian;
    uint64_t isa_bit; /* of addresses, see object_isa_bit(); cleared when they are read */
    bool full_walk;   /* visit all DIEs: see GSYM_CONVERT_FULL_WALK */
    bool call_sites;  /* keep call sites */
    const gsym_range *text; /* sorted, disjoint; none: every address may be code */
    size_t text_count;
    /* Addresses with code, sorted by address; of one address the largest is first, and
     * those without a name are last. They are only listed if units are split or if there is
     * code at address 0. Linkers move the debug information of dropped code to address 0:
     * if `knows_live`, there is code only at the addresses of this list. */
    const live_code *live;
    size_t live_count;
    bool has_live_sizes; /* some of them have a size */
    bool knows_live;
    const address_span *spans; /* sorted by start; none: addresses are the program's */
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

/* One number for a file and an offset in a section of it; never 0. */
static inline uint64_t dwarf_key(const dwarf_input *input, uint64_t offset) {
    return ((uint64_t)input->number << DWARF_OFFSET_BITS) + offset + 1;
}

/* Return a cursor over a section from `offset` on; it ends before distrusted bytes. */
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

/* What is left of the limits for all units of a conversion: a few bytes that many units
 * share could expand without bound. The sum that is spent does not depend on which thread
 * reads which unit, so a limit is exceeded or not for any number of threads. */
typedef struct dwarf_budget {
    atomic_int_fast64_t text;  /* bytes of composed names and of paths */
    atomic_int_fast64_t lines; /* bytes of line tables that are run */
    atomic_int_fast64_t rows;  /* of functions */
    atomic_int_fast64_t visits; /* of inlined calls, call sites, sequences and symbols */
    atomic_int_fast64_t parts; /* of functions that an optimizer moved after linking */
} dwarf_budget;

/* Subtract `cost`. False if less was left; the remainder is then negative. */
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

/* The values of fields in one DIE, undecoded: the form defines the meaning of `raw`. */
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
    ACTION_PLAIN,    /* nothing of it is needed, but its children may be */
    ACTION_ROOT,     /* the root of a unit */
    ACTION_DATA,     /* a type or data: outside of functions, no code is below it */
    ACTION_CLASS,    /* like ACTION_DATA, and a scope of names */
    ACTION_SCOPE,    /* namespace */
    ACTION_FUNCTION,
    ACTION_INLINED,
    ACTION_CALL_SITE
};

typedef struct abbrev_op abbrev_op;

typedef struct abbrev {
    uint64_t code;
    uint64_t attributes; /* offset of its attributes in .debug_abbrev */
    uint32_t leaf_size;  /* fixed_size if its DIEs are only stepped over, else UINT32_MAX */
    uint32_t fixed_size; /* of all attributes; UINT32_MAX: it varies */
    uint32_t op_first;
    uint32_t op_count;
    uint32_t fields; /* bit per field that a DIE of it has */
    uint16_t tag;
    uint16_t sibling_at; /* offset of DW_AT_sibling in fixed attributes */
    uint8_t sibling_size; /* 0: DW_AT_sibling has no fixed offset */
    uint8_t action;
    bool has_children;
    bool has_sibling;
    bool is_declaration; /* every DIE of it has the attribute DW_AT_declaration */
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
    bool is_cut; /* it ends early, as it overlaps more other tables than allowed */
    bool is_shared; /* several units have it, type units not counted */
    const dwarf_input *input;
    uint64_t offset;
    uint8_t address_size, offset_size;
    bool is_version_2;
    struct abbrev_table *next_spare; /* the next forgotten table, or NULL */
} abbrev_table;

/* The sizes of forms in units with these properties; FORM_NOT_FIXED: not fixed, or the form
 * is unknown. */
#define FORM_NOT_FIXED (-128)
typedef struct form_sizes {
    uint8_t address_size, offset_size;
    bool is_version_2;
    int8_t of[DW_FORM_addrx4 + 1];
} form_sizes;

/* Compiled tables by their offset. Most units have a table of their own; few of these are
 * kept while units are read in order. All tables that are shared, or that references lead
 * to, are kept. */
typedef struct abbrev_cache {
    abbrev_table **slots;
    size_t count, shared_count, capacity;
    size_t limit; /* forget tables that are not shared when this many are held; 0: never */
    bool has_roots; /* compile of tables that are not shared only what a root DIE needs */
    bool failed;    /* memory ran out; stays set */
    abbrev_table *spare; /* forgotten tables whose memory is used again, or NULL */
    form_sizes sizes;    /* of the last table that was compiled */
} abbrev_cache;

struct dwarf_unit_header;
/* Return the table of a unit, compiled or from the cache; NULL: out of memory. */
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

/* Step over the attributes of a DIE; false if they are cut off or have an unknown form. */
static inline bool abbrev_skip(const abbrev_table *table, const abbrev *a, cursor *c) {
    if (GSYM_UNLIKELY(a->fixed_size == UINT32_MAX)) return abbrev_skip_varying(table, a, c);
    cursor_skip(c, a->fixed_size);
    return !c->failed;
}

/* Read the attributes of a DIE into fields; sets fields->present. False as above. */
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
    /* In a package, offsets of the unit's parts of other sections; else 0. */
    uint64_t str_offsets_start;
    uint64_t rnglists_start;
} dwarf_unit_header;

typedef LIST(dwarf_unit_header) unit_list;

static inline bool dwarf_is_type_unit(const dwarf_unit_header *header) {
    return header->type == DW_UT_type || header->type == DW_UT_split_type;
}

/* List the units of .debug_info, and the type units of .debug_info and .debug_types in a
 * list of their own. What follows a damaged header is not read. */
gsym_status dwarf_scan_units(const dwarf_input *input, unit_list *units,
                             unit_list *type_units, warning_list *warnings,
                             gsym_error *error);
/* Read the header at the cursor. False if it is cut off or the unit ends after the
 * section. */
bool dwarf_read_unit_header(cursor *c, dwarf_unit_header *header);
/* Whether units of this version and address size can be read. */
bool dwarf_is_known_unit(const dwarf_unit_header *header);
/* Find the type unit with a signature; false: there is none. */
bool dwarf_type_unit(const dwarf_input *input, uint64_t signature,
                     dwarf_unit_header *header_ret);

/* A string of the input; a NUL follows. */
typedef struct dwarf_string {
    const char *bytes;
    size_t size;
} dwarf_string;

/* A unit whose DIEs are in another file, as its split unit. Split units are linked to it
 * after the scan: see sources/split_units.c. */
typedef struct skeleton_unit {
    const dwarf_input *input;
    const dwarf_unit_header *header;
    size_t unit; /* its number among the units to be converted */
    uint64_t dwo_id;
    dwarf_string dwo_name;
    dwarf_string comp_dir;
    const dwarf_input *split_input; /* NULL: no split unit was linked */
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
    const dwarf_input *code; /* has its addresses; of a split unit, the skeleton's file */
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
/* Append the ranges of the root DIE; the cache with which the unit was opened must still
 * have its table. False where memory ran out. */
bool dwarf_unit_ranges(const dwarf_unit *unit, range_list *ranges, warning_list *warnings);
/* Return the dwarf_key of the unit's line table; false if it has none. */
static inline bool dwarf_lines_key(const dwarf_unit *unit, uint64_t *key_ret) {
    if (!unit->has_stmt_list || unit->stmt_list >> DWARF_OFFSET_BITS != 0) return false;
    *key_ret = dwarf_key(unit->input, unit->stmt_list);
    return true;
}
/* Return a cursor over the unit's DIEs, from `offset` to the unit's end. */
cursor dwarf_unit_cursor(const dwarf_unit *unit, uint64_t offset);
/* Does what dwarf_sibling() does for DIEs in which DW_AT_sibling has no fixed offset. */
uint64_t dwarf_varying_sibling(const dwarf_unit *unit, const abbrev *a,
                               const cursor *attributes);

/* Return the offset of the DIE after this one and all below it, 0 if it has no
 * DW_AT_sibling. The cursor stands at its attributes. */
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
/* Return the header of the unit with the DIE at `offset`, or NULL. */
const dwarf_unit_header *dwarf_unit_holding(const dwarf_input *input, uint64_t offset);

/* Return the highest address of the target, which is also the mask of its addresses. */
static inline uint64_t dwarf_last_address(const dwarf_unit *unit) {
    unsigned bits = 8u * unit->header->address_size;
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* ---- packages (.dwp) -------------------------------------------------------------- */

bool dwarf_is_package(const dwarf_input *input);
/* Find the unit of a dwo_id or type signature by an index, GSYM_DEBUG_CU_INDEX or
 * GSYM_DEBUG_TU_INDEX; the unit starts at the offset `from` or later. False if there is
 * none or the index is damaged. Before DWARF 5, a header has no dwo_id: the caller compares
 * that of the root DIE, and if it differs, searches for the next unit. */
bool dwarf_package_unit(const dwarf_input *input, gsym_debug_section index,
                        uint64_t signature, uint64_t from, dwarf_unit_header *header_ret);
/* Add the abbrev_key of each unit that an index names. False where memory ran out. */
bool dwarf_package_abbrevs(const dwarf_input *input, gsym_debug_section index,
                           offset_list *keys);

/* ---- attribute values ------------------------------------------------------------- */

dwarf_string dwarf_string_value(const dwarf_unit *unit, uint16_t form, uint64_t raw);
/* Return the file in whose .debug_str a string of this form has its offset, or NULL. */
const dwarf_input *dwarf_string_file(const dwarf_unit *unit, uint16_t form);
/* Return the string of a field that is present. If the supplementary file with it is
 * missing, or if it is too long, that is a warning for the DIE at `die_offset`. */
dwarf_string dwarf_name_value(const dwarf_unit *unit, const dwarf_fields *fields,
                              enum dwarf_field field, uint64_t die_offset,
                              warning_list *warnings);
bool dwarf_address_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                         uint64_t *address_ret);
bool dwarf_address_index(const dwarf_unit *unit, uint64_t index, uint64_t *address_ret);
/* Return the offset of the DIE to which a value refers, with DWARF_SUPPLEMENTARY if the DIE
 * is in the supplementary file; false if it cannot be known. */
bool dwarf_reference_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                           uint64_t *offset_ret);
static inline bool dwarf_is_address_form(uint16_t form) {
    return form == DW_FORM_addr || form == DW_FORM_addrx ||
           (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
           form == DW_FORM_GNU_addr_index || form == DW_FORM_LLVM_addrx_offset;
}

/* ---- ranges ------------------------------------------------------------------------- */

/* How much of the range lists was read. */
typedef struct lists_read {
    uint64_t bytes; /* size of all lists */
    uint64_t end;   /* end of those in .debug_rnglists */
} lists_read;

/* Append the ranges of a DIE unchanged, including empty and dead ones. Adds the
 * list to *read. False where memory ran out; a damaged list is a
 * warning. */
bool dwarf_read_ranges(const dwarf_unit *unit, const dwarf_fields *fields,
                       uint64_t die_offset, range_list *ranges, lists_read *read,
                       warning_list *warnings);

/* ---- line programs ------------------------------------------------------------------ */

/* A string of a line table, which is read when it is needed; few are. */
typedef struct line_string {
    const char *bytes; /* NULL: `raw` and `form` say where it is */
    uint64_t raw;      /* the value of the form, or the size of `bytes` */
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
    bool is_dropped; /* the linker dropped a function in it; set by unit_is_dropped() */
} line_sequence;

/* An entry for a sequence in a list that is sorted by first address. */
typedef struct sequence_span {
    uint64_t low;
    uint64_t reach; /* the greatest `high` of it and of those before */
    uint32_t sequence;
} sequence_span;

/* The advance of a special opcode. */
typedef struct special_step {
    uint32_t line; /* modulo 2^32 */
    uint8_t operations;
} special_step;

/* The advances of all special opcodes, which three numbers of a header decide. */
typedef struct special_steps {
    uint8_t opcode_base;
    uint8_t line_range;
    int8_t line_base;
    special_step steps[256];
} special_steps;

typedef struct dwarf_line_table {
    uint16_t version; /* 0: the unit has none */
    uint64_t end;     /* its end in .debug_line */
    LIST(line_file) files;
    LIST(line_string) directories;
    LIST(line_sequence) sequences; /* in program order */
    LIST(sequence_span) by_low; /* then in program order; sequences may overlap */
    special_steps special; /* of the last program */
} dwarf_line_table;

void dwarf_line_table_deinit(dwarf_line_table *table);
/* Run the unit's line program. A row that repeats file and line of the row before is left
 * out, unless rows of the table must be sorted. False where memory ran out or the budget is
 * spent; damage is a warning. */
bool dwarf_run_line_program(dwarf_line_table *table, row_list *rows, const dwarf_unit *unit,
                            dwarf_budget *budget, warning_list *warnings);
/* Return the file at a DWARF file index, or NULL. *is_none is set for index 0 before
 * version 5, which means no file. */
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
    uint32_t node_first; /* nodes of functions nested in this one are among them */
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

/* A DIE whose name is put in front of the names declared in it. */
typedef struct walk_scope {
    uint64_t offset;
    uint64_t children; /* offset of the first DIE inside */
    uint64_t end;
    uint32_t parent; /* index, or NO_INDEX */
    uint16_t tag;
    bool is_skipped; /* the walk jumped over its children */
} walk_scope;

/* A walk over the DIEs of a unit. The caller sets `most`; the walk sets the rest. */
typedef struct unit_walk {
    size_t most; /* functions after which the walk pauses; 0: never */
    uint64_t reached; /* offset of the DIE where it goes on, or of the unit's end */
    uint64_t outside; /* ranges of functions that are not in text */
    LIST(walk_function) functions;
    LIST(walk_node) nodes;
    LIST(walk_call_site) call_sites;
    LIST(walk_scope) scopes; /* in order of their offset */
    range_list ranges;
    lists_read lists;
    LIST(struct walk_level) levels;
} unit_walk;

/* Visit the DIEs of a unit. False where memory ran out. */
bool dwarf_walk_unit(unit_walk *walk, const dwarf_unit *unit, warning_list *warnings);
/* Whether the walk of a unit has paused. Then the lists have complete functions, and
 * dwarf_walk_on() empties all lists but the scopes and reads the next functions. */
static inline bool dwarf_walk_pauses(const unit_walk *walk, const dwarf_unit *unit) {
    return walk->reached < unit->header->end;
}
bool dwarf_walk_on(unit_walk *walk, const dwarf_unit *unit, warning_list *warnings);
void unit_walk_deinit(unit_walk *walk);

/* Read the length at the start of a unit or a table; sets the size of its offsets. */
static inline uint64_t dwarf_read_length(cursor *c, uint8_t *offset_size_ret) {
    uint64_t length = cursor_u32(c);
    *offset_size_ret = length == 0xffffffff ? 8 : 4;
    return length == 0xffffffff ? cursor_u64(c) : length;
}

/* ---- names --------------------------------------------------------------------------- */

typedef LIST(walk_scope) scope_list;

/* A linkage name that was interned before. Units share most of their names, and finding one
 * here is faster than reading its bytes again. */
typedef struct known_name {
    uint64_t key; /* dwarf_key of its offset in .debug_str */
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
    dwarf_unit foreign; /* the unit that was opened last for such a reference */
    LIST(scope_list) scanned; /* lists of scopes that the walk did not visit */
    number_map scanned_from;  /* dwarf_key of the first DIE of a list -> its index */
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
    uint64_t key;  /* as in known_name; 0: the name is not in .debug_str */
    uint64_t strp; /* 0: not known yet */
    uint64_t hash; /* set if strp is known */
} resolved_name;

/* Find the linkage name of the function at `offset`, or else compose its name with those
 * of the scopes around it. False where memory ran out or the budget is spent. */
bool dwarf_resolve_name(name_resolver *resolver, uint64_t offset, resolved_name *ret);
/* Find the name of a function of the walk, whose own DIE has been read. */
bool dwarf_function_name(name_resolver *resolver, const walk_function *function,
                         resolved_name *ret);
/* Find where the function or call at `offset` is declared, by its own DIE or those to which
 * it refers. A file that is not known is UINT32_MAX, a line 0. *cost grows by the number of
 * attributes that are read. */
void dwarf_declaration(name_resolver *resolver, uint64_t offset, uint64_t *file_ret,
                       uint64_t *line_ret, uint64_t *cost);
/* Whether functions of the language without a linkage name get the names of the scopes
 * around them in front of their name. */
bool dwarf_language_has_scopes(uint64_t language);

#endif
