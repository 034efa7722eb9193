/* abbrev_ops.h - define the operations of compiled abbreviations. */
#ifndef GSYM_DWARF_ABBREV_OPS_H
#define GSYM_DWARF_ABBREV_OPS_H

#include "dwarf/abbrev.h"

/* What an operation does with the next attribute of a DIE. */
enum op_kind {
    OP_NONE,        /* only the bytes before it are skipped */
    OP_SKIP_LEB,
    OP_SKIP_STRING,
    OP_SKIP_BLOCK,  /* `size` bytes of length (0: LEB128), then the block */
    OP_READ1,
    OP_READ2,
    OP_READ4,
    OP_READ8,
    OP_READ_UINT,   /* `size` bytes */
    OP_READ_ULEB,
    OP_READ_SLEB,
    OP_READ_STRING, /* raw: offset of the string in the unit's section */
    OP_READ_CONSTANT,
    OP_READ_ADDRX_OFFSET, /* raw: index << 32 | offset */
    OP_SKIP_ADDRX_OFFSET,
    OP_READ_EXPRESSION, /* an expression that gives an address */
    OP_INDIRECT,    /* the form precedes the value */
    OP_UNKNOWN
};

struct abbrev_op {
    uint8_t kind;
    uint8_t field;
    uint16_t form;
    uint32_t size;
    uint32_t skip; /* bytes before the value that are not needed */
    uint32_t at; /* offset from the first attribute, if all have a fixed size */
    uint64_t mask; /* of the bytes of a value with a fixed size */
    uint64_t constant; /* of DW_FORM_implicit_const */
};

/* The operations of an inlined call that has the usual attributes, in this order; one that
 * is missing gives 0. */
enum { INLINED_ORIGIN, INLINED_LOW_PC, INLINED_HIGH_PC, INLINED_RANGES, INLINED_CALL_FILE,
       INLINED_CALL_LINE, INLINED_OPS };

/* Whether the values of a DIE whose attributes take `size` bytes can be loaded by
 * abbrev_fixed_value(), which reads 8 bytes for each. */
static inline bool abbrev_can_load(const cursor *attributes, uint32_t size) {
    return !CURSOR_HOST_BIG_ENDIAN && !attributes->swap && size != UINT32_MAX &&
           cursor_left(attributes) >= (uint64_t)size + sizeof(uint64_t);
}

static inline uint64_t abbrev_fixed_value(const abbrev_op *op, const uint8_t *attributes) {
    return op->constant | (cursor_load64(attributes + op->at, false) & op->mask);
}

/* The size of a form is its number of bytes, or one of these kinds. */
enum { FORM_ULEB = -1, FORM_SLEB = -2, FORM_STRING = -3, FORM_BLOCK = -4, FORM_BLOCK1 = -5,
       FORM_BLOCK2 = -6, FORM_BLOCK4 = -7, FORM_INDIRECT = -8, FORM_ADDRX_OFFSET = -9,
       FORM_UNKNOWN = -10 };

/* Codes of abbrev_coded_sizes[] beside the sizes: the header of the unit has the size, the
 * value has no bytes, the form is unknown. */
enum { FORM_OF_OFFSET = 64, FORM_OF_ADDRESS = 65, FORM_OF_REFERENCE = 66, FORM_EMPTY = 127,
       FORM_NONE = 0 };

extern const int8_t abbrev_coded_sizes[DW_FORM_addrx4 + 1];
int abbrev_vendor_form_size(uint64_t form, const abbrev_table *table);

/* Return the size of a form in bytes, or a kind of those above. */
static inline int abbrev_form_size(uint64_t form, const abbrev_table *table) {
    int size;
    if (GSYM_UNLIKELY(form > DW_FORM_addrx4)) return abbrev_vendor_form_size(form, table);
    size = abbrev_coded_sizes[form];
    if (GSYM_LIKELY(size != FORM_NONE && size <= 16)) return size;
    switch (size) {
        case FORM_EMPTY: return 0;
        case FORM_OF_OFFSET: return table->offset_size;
        case FORM_OF_ADDRESS: return table->address_size;
        case FORM_OF_REFERENCE:
            return table->is_version_2 ? table->address_size : table->offset_size;
        default: return FORM_UNKNOWN;
    }
}

/* Whether values of this size are kept: blocks and 16-byte data do not describe code. */
static inline bool abbrev_is_readable(int size) {
    return (size >= FORM_STRING && size <= 8) || size == FORM_ADDRX_OFFSET;
}

/* Set all of an operation but `skip` and `at`, so that it reads a value into a field. The
 * members are written one by one: a copy of all would wait for what was just written. */
void abbrev_set_reading(abbrev_op *op, enum dwarf_field field, uint64_t form, int size,
                        int64_t constant);
/* Set an operation in the same way, so that it skips a value. */
void abbrev_set_skipping(abbrev_op *op, uint64_t form, int size);

/* ---- compiling ------------------------------------------------------------------- */

/* Set `sizes` to the sizes of forms in units of the table. */
void abbrev_resolve_form_sizes(const abbrev_table *table, form_sizes *sizes);
/* Return a cursor at the abbreviation with this code, or at the end of the table. */
cursor abbrev_find_code(cursor c, uint64_t wanted);
/* Compile a table up to the abbreviation with code `last`, or all of it if `last` is 0.
 * False where memory ran out. */
bool abbrev_compile_table(abbrev_table *table, const form_sizes *sizes, cursor c,
                          uint64_t last);

#endif
