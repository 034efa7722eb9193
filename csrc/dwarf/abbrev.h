/* abbrev.h - read or skip the attributes of DIEs by compiled abbreviations. */
#ifndef GSYM_DWARF_ABBREV_H
#define GSYM_DWARF_ABBREV_H

#include "dwarf/input.h"

/* The attributes whose values the engine reads; all others are skipped. */
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

/* The values of fields in one DIE as they were read; the form defines the meaning of
 * `raw`. */
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
    ACTION_PLAIN,    /* none of its attributes is needed, but its children may be */
    ACTION_ROOT,     /* the root of a unit */
    ACTION_DATA,     /* a type or data: outside of functions, no code is below it */
    ACTION_CLASS,    /* like ACTION_DATA, and a scope of names */
    ACTION_SCOPE,    /* namespace */
    ACTION_FUNCTION,
    ACTION_INLINED,
    ACTION_BLOCK, /* a lexical block with a name */
    ACTION_CALL_SITE
};

typedef struct abbrev_op abbrev_op;

/* Kinds of DIEs that the walk steps over, each in some places only; see walk.c. */
enum step_kind {
    STEP_LEAF = 1,  /* anywhere: it has no children, and nothing of it is needed */
    STEP_BLOCK = 2, /* such a leaf with a block or two, whose sizes it has */
    STEP_DATA = 4,  /* ACTION_DATA with DW_AT_sibling */
    STEP_CLASS = 8, /* ACTION_CLASS with DW_AT_sibling */
    STEP_DECLARATION = 16, /* of a function, with DW_AT_sibling */
    STEP_CALL_SITE = 32,   /* with DW_AT_sibling, or a leaf */
    STEP_INLINED = 64,     /* ACTION_INLINED, a leaf */
    STEP_STRING = 128      /* such a leaf with a string, of up to three characters */
};

/* The way from a DIE to the next one after it and all below it. */
typedef struct abbrev_step {
    uint8_t kind; /* a step_kind, 0: none */
    uint8_t size; /* of the DIE, without the bytes of blocks or string; 0: its sibling is
                     the next one */
    uint8_t at;   /* offset of the size of the block, of the string, or of the sibling */
    uint8_t second; /* from there to the size of the second block, without the bytes of the
                       first one; 0: it has one */
} abbrev_step;

#define STEP_REACH 512 /* a step leads less far than this, but for one to a sibling */
#define STEP_MAX_BLOCK 127

typedef struct abbrev {
    uint64_t code;
    uint64_t attributes; /* offset of its attributes in .debug_abbrev */
    uint32_t fixed_size; /* of all attributes; UINT32_MAX: it varies */
    uint32_t op_first;
    uint32_t op_count;
    uint32_t fields; /* one bit for each field that its DIEs have */
    uint16_t tag;
    uint16_t sibling_at; /* offset of DW_AT_sibling in fixed attributes */
    uint8_t sibling_size; /* 0: DW_AT_sibling has no fixed offset */
    uint8_t action;
    bool has_children;
    bool has_sibling;
    bool is_usual_call; /* an inlined call whose operations are in the order of
                           abbrev_ops.h */
    bool is_declaration; /* its DIEs are declarations: DW_AT_declaration is a constant of
                            it */
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
    abbrev_step steps[UINT8_MAX + 1]; /* by the only byte of a code */
    bool is_sequential; /* codes are 1, 2, 3 ... */
    bool is_damaged;
    bool is_cut; /* it was ended early because it overlaps more tables than allowed */
    bool is_shared; /* several units use it, type units not counted */
    bool is_root;   /* it has only the abbreviation `root`, that of a root DIE */
    uint64_t root;
    const dwarf_input *input;
    uint64_t offset;
    uint8_t address_size, offset_size;
    bool is_version_2;
    struct abbrev_table *next_spare; /* the next forgotten table, or NULL */
} abbrev_table;

/* The sizes of forms in units with these address and offset sizes. FORM_NOT_FIXED: the size
 * varies, or the form is unknown. */
#define FORM_NOT_FIXED (-128)
typedef struct form_sizes {
    uint8_t address_size, offset_size;
    bool is_version_2;
    int8_t by_form[0x80];
} form_sizes;

/* Compiled tables by their offset. Most units have a table of their own, of which only the
 * last few are kept while units are read in order; tables of several units are all kept. */
typedef struct abbrev_cache {
    abbrev_table **slots;
    size_t count, shared_count, capacity;
    size_t limit; /* number of tables that are not shared at which these are forgotten;
                     0: none */
    bool has_roots; /* of tables that are not shared, compile only the abbreviation of
                       the root DIE */
    bool failed;    /* memory ran out; stays set */
    /* The file and the number of its bytes in which such abbreviations were searched. */
    const dwarf_input *searched_file;
    uint64_t searched;
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

/* Read the attributes of a DIE into fields and set fields->present. False if they are cut
 * off or have an unknown form. */
bool abbrev_read(const abbrev_table *table, const abbrev *a, cursor *c,
                 dwarf_fields *fields);

/* Read an attribute that has no field, of the DIE whose attributes start at `c`. False if
 * the DIE does not have it, or not as a number. This is slow, because the abbreviation is
 * read again; the number of attributes that were read is added to *cost. */
bool abbrev_read_attribute(const abbrev_table *table, const abbrev *a, cursor c,
                           uint64_t attribute, uint64_t *value_ret, uint64_t *cost);

#endif
