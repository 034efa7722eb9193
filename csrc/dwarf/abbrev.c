/* abbrev.c - compile abbreviations to programs that skip or read attributes.
 *
 * An abbreviation becomes a list of operations. Adjacent attributes that are not needed are
 * skipped by one operation; if every attribute has a fixed size, one check covers the whole
 * DIE. */
#include "dwarf/dwarf.h"

enum op_kind {
    OP_SKIP,        /* `size` bytes */
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
    uint32_t at; /* offset from the first attribute, if all have a fixed size */
    uint64_t mask; /* of the bytes of a value with a fixed size */
    uint64_t constant; /* of DW_FORM_implicit_const */
};

/* ---- forms ----------------------------------------------------------------------- */

enum { FORM_ULEB = -1, FORM_SLEB = -2, FORM_STRING = -3, FORM_BLOCK = -4, FORM_BLOCK1 = -5,
       FORM_BLOCK2 = -6, FORM_BLOCK4 = -7, FORM_INDIRECT = -8, FORM_ADDRX_OFFSET = -9,
       FORM_UNKNOWN = -10 };

enum { FORM_OF_OFFSET = 64, FORM_OF_ADDRESS = 65, FORM_OF_REFERENCE = 66, FORM_NONE = 0 };

/* The size of each form: in bytes, one of the kinds above, or a size from the unit header;
 * 127 means no bytes. */
static const int8_t coded_sizes[DW_FORM_addrx4 + 1] = {
    [DW_FORM_flag_present] = 127,
    [DW_FORM_implicit_const] = 127,
    [DW_FORM_data1] = 1,
    [DW_FORM_flag] = 1,
    [DW_FORM_ref1] = 1,
    [DW_FORM_strx1] = 1,
    [DW_FORM_addrx1] = 1,
    [DW_FORM_data2] = 2,
    [DW_FORM_ref2] = 2,
    [DW_FORM_strx2] = 2,
    [DW_FORM_addrx2] = 2,
    [DW_FORM_strx3] = 3,
    [DW_FORM_addrx3] = 3,
    [DW_FORM_data4] = 4,
    [DW_FORM_ref4] = 4,
    [DW_FORM_strx4] = 4,
    [DW_FORM_addrx4] = 4,
    [DW_FORM_ref_sup4] = 4,
    [DW_FORM_data8] = 8,
    [DW_FORM_ref8] = 8,
    [DW_FORM_ref_sig8] = 8,
    [DW_FORM_ref_sup8] = 8,
    [DW_FORM_data16] = 16,
    [DW_FORM_addr] = FORM_OF_ADDRESS,
    [DW_FORM_ref_addr] = FORM_OF_REFERENCE,
    [DW_FORM_sec_offset] = FORM_OF_OFFSET,
    [DW_FORM_strp] = FORM_OF_OFFSET,
    [DW_FORM_line_strp] = FORM_OF_OFFSET,
    [DW_FORM_strp_sup] = FORM_OF_OFFSET,
    [DW_FORM_sdata] = FORM_SLEB,
    [DW_FORM_udata] = FORM_ULEB,
    [DW_FORM_ref_udata] = FORM_ULEB,
    [DW_FORM_strx] = FORM_ULEB,
    [DW_FORM_addrx] = FORM_ULEB,
    [DW_FORM_loclistx] = FORM_ULEB,
    [DW_FORM_rnglistx] = FORM_ULEB,
    [DW_FORM_string] = FORM_STRING,
    [DW_FORM_block] = FORM_BLOCK,
    [DW_FORM_exprloc] = FORM_BLOCK,
    [DW_FORM_block1] = FORM_BLOCK1,
    [DW_FORM_block2] = FORM_BLOCK2,
    [DW_FORM_block4] = FORM_BLOCK4,
    [DW_FORM_indirect] = FORM_INDIRECT,
};

static int vendor_form_size(uint64_t form, const abbrev_table *table) {
    switch (form) {
        case DW_FORM_GNU_addr_index:
        case DW_FORM_GNU_str_index: return FORM_ULEB;
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_GNU_strp_alt: return table->offset_size;
        case DW_FORM_LLVM_addrx_offset: return FORM_ADDRX_OFFSET;
        default: return FORM_UNKNOWN;
    }
}

static inline int form_size(uint64_t form, const abbrev_table *table) {
    int size;
    if (GSYM_UNLIKELY(form > DW_FORM_addrx4)) return vendor_form_size(form, table);
    size = coded_sizes[form];
    if (GSYM_LIKELY(size != FORM_NONE && size <= 16)) return size;
    switch (size) {
        case 127: return 0;
        case FORM_OF_OFFSET: return table->offset_size;
        case FORM_OF_ADDRESS: return table->address_size;
        case FORM_OF_REFERENCE:
            return table->is_version_2 ? table->address_size : table->offset_size;
        default: return FORM_UNKNOWN;
    }
}

/* ---- fields ----------------------------------------------------------------------- */

#define STANDARD_ATTRIBUTES 0x80

/* For each attribute the dwarf_field that takes its value, plus 1; 0: none does. Each kind
 * of DIE that is read has its table. */
static const uint8_t root_fields[STANDARD_ATTRIBUTES] = {
    [DW_AT_low_pc] = FIELD_LOW_PC + 1,
    [DW_AT_high_pc] = FIELD_HIGH_PC + 1,
    [DW_AT_ranges] = FIELD_RANGES + 1,
    [DW_AT_stmt_list] = FIELD_STMT_LIST + 1,
    [DW_AT_language] = FIELD_LANGUAGE + 1,
    [DW_AT_comp_dir] = FIELD_COMP_DIR + 1,
    [DW_AT_str_offsets_base] = FIELD_STR_OFFSETS_BASE + 1,
    [DW_AT_addr_base] = FIELD_ADDR_BASE + 1,
    [DW_AT_rnglists_base] = FIELD_RNGLISTS_BASE + 1,
    [DW_AT_dwo_name] = FIELD_DWO_NAME + 1,
};

static const uint8_t code_fields[STANDARD_ATTRIBUTES] = {
    [DW_AT_sibling] = FIELD_SIBLING + 1,
    [DW_AT_name] = FIELD_NAME + 1,
    [DW_AT_linkage_name] = FIELD_LINKAGE_NAME + 1,
    [DW_AT_low_pc] = FIELD_LOW_PC + 1,
    [DW_AT_high_pc] = FIELD_HIGH_PC + 1,
    [DW_AT_ranges] = FIELD_RANGES + 1,
    [DW_AT_abstract_origin] = FIELD_ABSTRACT_ORIGIN + 1,
    [DW_AT_specification] = FIELD_SPECIFICATION + 1,
    [DW_AT_declaration] = FIELD_DECLARATION + 1,
    [DW_AT_call_return_pc] = FIELD_CALL_RETURN_PC + 1,
    [DW_AT_call_origin] = FIELD_CALL_ORIGIN + 1,
};

static const uint8_t inlined_fields[STANDARD_ATTRIBUTES] = {
    [DW_AT_name] = FIELD_NAME + 1,
    [DW_AT_linkage_name] = FIELD_LINKAGE_NAME + 1,
    [DW_AT_low_pc] = FIELD_LOW_PC + 1,
    [DW_AT_high_pc] = FIELD_HIGH_PC + 1,
    [DW_AT_ranges] = FIELD_RANGES + 1,
    [DW_AT_abstract_origin] = FIELD_ABSTRACT_ORIGIN + 1,
    [DW_AT_specification] = FIELD_SPECIFICATION + 1,
    [DW_AT_call_file] = FIELD_CALL_FILE + 1,
    [DW_AT_call_line] = FIELD_CALL_LINE + 1,
    [DW_AT_call_origin] = FIELD_CALL_ORIGIN + 1,
};

static const uint8_t scope_fields[STANDARD_ATTRIBUTES] = {
    [DW_AT_sibling] = FIELD_SIBLING + 1,
    [DW_AT_name] = FIELD_NAME + 1,
    [DW_AT_specification] = FIELD_SPECIFICATION + 1,
    [DW_AT_signature] = FIELD_SIGNATURE + 1,
};

static const uint8_t data_fields[STANDARD_ATTRIBUTES] = {
    [DW_AT_sibling] = FIELD_SIBLING + 1,
};

static const uint8_t plain_fields[STANDARD_ATTRIBUTES] = {0};

static const uint8_t *const fields_by_action[] = {
    [ACTION_PLAIN] = plain_fields,   [ACTION_ROOT] = root_fields,
    [ACTION_DATA] = data_fields,     [ACTION_CLASS] = scope_fields,
    [ACTION_SCOPE] = scope_fields,   [ACTION_FUNCTION] = code_fields,
    [ACTION_INLINED] = inlined_fields, [ACTION_CALL_SITE] = code_fields,
};

static enum dwarf_field further_root_field(uint64_t attribute) {
    switch (attribute) {
        case DW_AT_language_name: return FIELD_LANGUAGE_NAME;
        case DW_AT_GNU_dwo_name: return FIELD_DWO_NAME;
        case DW_AT_GNU_dwo_id: return FIELD_DWO_ID;
        case DW_AT_GNU_ranges_base: return FIELD_RANGES_BASE;
        case DW_AT_GNU_addr_base: return FIELD_ADDR_BASE;
        default: return FIELD_NONE;
    }
}

/* Return the field that an attribute of a DIE with this action fills. */
static inline enum dwarf_field field_of(uint8_t action, uint64_t attribute) {
    if (GSYM_LIKELY(attribute < STANDARD_ATTRIBUTES))
        return (enum dwarf_field)(uint8_t)(fields_by_action[action][attribute] - 1);
    if (action == ACTION_ROOT) return further_root_field(attribute);
    if (fields_by_action[action] != code_fields) return FIELD_NONE;
    if (attribute == DW_AT_MIPS_linkage_name) return FIELD_LINKAGE_NAME;
    if (attribute == DW_AT_LLVM_stmt_sequence) return FIELD_STMT_SEQUENCE;
    return FIELD_NONE;
}

static uint8_t action_of(uint64_t tag) {
    switch (tag) {
        case DW_TAG_subprogram: return ACTION_FUNCTION;
        case DW_TAG_inlined_subroutine: return ACTION_INLINED;
        case DW_TAG_call_site:
        case DW_TAG_GNU_call_site: return ACTION_CALL_SITE;
        case DW_TAG_module: /* of Fortran, D, Zig */
        case DW_TAG_namespace: return ACTION_SCOPE;
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_interface_type: return ACTION_CLASS;
        case DW_TAG_compile_unit:
        case DW_TAG_partial_unit:
        case DW_TAG_type_unit:
        case DW_TAG_skeleton_unit: return ACTION_ROOT;
        case DW_TAG_array_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_subroutine_type: return ACTION_DATA;
        default: return ACTION_PLAIN;
    }
}

/* ---- compiling -------------------------------------------------------------------- */

static abbrev_op *add_op(abbrev_table *table) {
    if (table->op_count == table->op_capacity &&
        !array_reserve(&table->ops, &table->op_capacity, table->op_count + 1,
                       sizeof *table->ops))
        return NULL;
    return &table->ops[table->op_count++];
}

static abbrev_op reading_op(enum dwarf_field field, uint64_t form, int size,
                            int64_t constant) {
    abbrev_op op = {.kind = OP_UNKNOWN, .field = (uint8_t)field, .form = (uint16_t)form};
    if (size > 0) {
        op.size = (uint32_t)size;
        op.mask = UINT64_MAX >> (64 - 8 * size);
    }
    switch (size) {
        case 0:
            op.kind = OP_READ_CONSTANT;
            op.constant = form == DW_FORM_flag_present ? 1 : (uint64_t)constant;
            break;
        case 1: op.kind = OP_READ1; break;
        case 2: op.kind = OP_READ2; break;
        case 4: op.kind = OP_READ4; break;
        case 8: op.kind = OP_READ8; break;
        case FORM_ULEB: op.kind = OP_READ_ULEB; break;
        case FORM_SLEB: op.kind = OP_READ_SLEB; break;
        case FORM_STRING: op.kind = OP_READ_STRING; break;
        case FORM_ADDRX_OFFSET: op.kind = OP_READ_ADDRX_OFFSET; break;
        default: op.kind = size > 0 && size < 8 ? OP_READ_UINT : OP_UNKNOWN; break;
    }
    return op;
}

static abbrev_op skipping_op(uint64_t form, int size) {
    abbrev_op op = {.kind = OP_UNKNOWN, .field = FIELD_NONE, .form = (uint16_t)form};
    switch (size) {
        case FORM_ULEB:
        case FORM_SLEB: op.kind = OP_SKIP_LEB; break;
        case FORM_STRING: op.kind = OP_SKIP_STRING; break;
        case FORM_BLOCK: op.kind = OP_SKIP_BLOCK; break;
        case FORM_BLOCK1: op.kind = OP_SKIP_BLOCK, op.size = 1; break;
        case FORM_BLOCK2: op.kind = OP_SKIP_BLOCK, op.size = 2; break;
        case FORM_BLOCK4: op.kind = OP_SKIP_BLOCK, op.size = 4; break;
        case FORM_ADDRX_OFFSET: op.kind = OP_SKIP_ADDRX_OFFSET; break;
        case FORM_UNKNOWN: break;
        default: op.kind = OP_SKIP, op.size = (uint32_t)size; break;
    }
    return op;
}

/* Whether values of this size are kept: blocks and 16-byte data do not describe code. */
static bool is_readable(int size) {
    return (size >= FORM_STRING && size <= 8) || size == FORM_ADDRX_OFFSET;
}

/* Whether a value is an expression for an address, which Clang writes so that attributes
 * share addresses (-minimize-addr-in-v5=Expressions). */
static bool is_address_expression(enum dwarf_field field, uint64_t form) {
    return form == DW_FORM_exprloc &&
           (field == FIELD_LOW_PC || field == FIELD_CALL_RETURN_PC);
}

static void add_size(abbrev *a, int size) {
    if (size < 0 || a->fixed_size > UINT32_MAX - (1u << 21))
        a->fixed_size = UINT32_MAX;
    else
        a->fixed_size += (uint32_t)size;
}

/* Add an operation that skips `size` bytes, at most 2 MiB, or extend a skip before it. */
static bool add_skip(abbrev_table *table, abbrev *a, uint32_t size) {
    abbrev_op *last =
        table->op_count > a->op_first ? &table->ops[table->op_count - 1] : NULL;
    add_size(a, (int)size);
    if (size == 0) return true;
    if (last != NULL && last->kind == OP_SKIP && last->size < UINT32_MAX - (1u << 21)) {
        last->size += size;
        return true;
    }
    last = add_op(table);
    if (last == NULL) return false;
    *last = (abbrev_op){.kind = OP_SKIP, .field = FIELD_NONE, .size = size};
    return true;
}

static bool is_unit_reference(uint64_t form) {
    return form >= DW_FORM_ref1 && form <= DW_FORM_ref8;
}

static bool compile_attribute(abbrev_table *table, abbrev *a, uint64_t attribute,
                              uint64_t form, int64_t constant) {
    int size = form > UINT16_MAX ? FORM_UNKNOWN : form_size(form, table);
    enum dwarf_field field = field_of(a->action, attribute);
    abbrev_op *last, op;
    bool is_expression = is_address_expression(field, form);
    if (size != FORM_INDIRECT && !is_readable(size) && !is_expression) field = FIELD_NONE;
    if (field != FIELD_NONE && abbrev_has(a, field)) field = FIELD_NONE;
    if (size == FORM_INDIRECT)
        op = (abbrev_op){.kind = OP_INDIRECT, .field = (uint8_t)field,
                         .form = (uint16_t)form};
    else if (field != FIELD_NONE && is_expression)
        op = (abbrev_op){.kind = OP_READ_EXPRESSION, .field = (uint8_t)field,
                         .form = DW_FORM_exprloc};
    else if (field != FIELD_NONE)
        op = reading_op(field, form, size, constant);
    else
        op = skipping_op(form, size);
    if (field != FIELD_NONE) a->fields |= UINT32_C(1) << field;
    if (field == FIELD_DECLARATION && op.kind == OP_READ_CONSTANT)
        a->is_declaration = op.constant != 0;
    if (field == FIELD_SIBLING) {
        a->has_sibling = true;
        if (a->fixed_size < UINT16_MAX && is_unit_reference(form)) {
            a->sibling_at = (uint16_t)a->fixed_size;
            a->sibling_size = (uint8_t)size;
        }
    }
    if (op.kind == OP_SKIP) return add_skip(table, a, op.size);
    op.at = a->fixed_size;
    add_size(a, size);
    last = add_op(table);
    if (last == NULL) return false;
    *last = op;
    return true;
}

/* Remove skips if all attributes have a fixed size: then each read has its offset. */
static void drop_jumps(abbrev_table *table, const abbrev *a) {
    size_t kept = a->op_first;
    if (a->fixed_size == UINT32_MAX) return;
    for (size_t i = a->op_first; i < table->op_count; ++i)
        if (table->ops[i].kind != OP_SKIP) table->ops[kept++] = table->ops[i];
    table->op_count = kept;
}

/* Whether the walk only steps over such a DIE. */
static bool is_stepped_over(const abbrev *a) {
    return !a->has_children && a->action != ACTION_FUNCTION &&
           a->action != ACTION_INLINED && a->action != ACTION_CALL_SITE;
}

static int compare_codes(const void *left, const void *right) {
    const abbrev *a = left, *b = right;
    if (a->code != b->code) return a->code < b->code ? -1 : 1;
    return a->op_first < b->op_first ? -1 : a->op_first > b->op_first;
}

static void resolve_form_sizes(const abbrev_table *table, form_sizes *sizes) {
    if (sizes->address_size == table->address_size &&
        sizes->offset_size == table->offset_size &&
        sizes->is_version_2 == table->is_version_2)
        return;
    sizes->address_size = table->address_size;
    sizes->offset_size = table->offset_size;
    sizes->is_version_2 = table->is_version_2;
    for (uint64_t form = 0; form <= DW_FORM_addrx4; ++form) {
        int size = form_size(form, table);
        sizes->of[form] = size >= 0 ? (int8_t)size : FORM_NOT_FIXED;
    }
}

/* Compile the attributes of one abbreviation. Most are not needed and have a fixed size;
 * their sizes are added up, and a skip is added before the next other attribute. */
static bool compile_attributes(abbrev_table *table, abbrev *a, cursor *c,
                               const form_sizes *sizes) {
    const uint8_t *fields = fields_by_action[a->action];
    uint32_t skip = 0;
    for (;;) {
        uint64_t attribute, form;
        int64_t constant = 0;
        bool is_kept;
        if (GSYM_LIKELY(cursor_left(c) >= 2 && cursor_peek_unchecked(c, 0) < 0x80 &&
                        cursor_peek_unchecked(c, 1) < 0x80)) {
            attribute = cursor_u8_unchecked(c);
            form = cursor_u8_unchecked(c);
            is_kept = fields[attribute] != 0;
        } else {
            attribute = cursor_uleb(c);
            form = cursor_uleb(c);
            is_kept = field_of(a->action, attribute) != FIELD_NONE;
        }
        if (form == DW_FORM_implicit_const) constant = cursor_sleb(c);
        if (GSYM_LIKELY(!is_kept && form <= DW_FORM_addrx4 && sizes->of[form] >= 0 &&
                        skip < 1u << 20)) {
            skip += (uint8_t)sizes->of[form];
            continue;
        }
        if (attribute == 0 && form == 0 && table->op_count == a->op_first) {
            a->fixed_size = skip; /* nothing else is needed */
            return true;
        }
        if (skip > 0 && !add_skip(table, a, skip)) return false;
        skip = 0;
        if ((attribute == 0 && form == 0) || c->failed) return true;
        if (!compile_attribute(table, a, attribute, form, constant)) return false;
    }
}

/* Step over pairs of one-byte numbers, four at once, up to a pair with a longer number or a
 * form with a constant. True after the pair of zeros that ends an abbreviation. */
static bool skip_short_pairs(cursor *c) {
    const uint64_t ones = UINT64_C(0x0001000100010001), tops = ones << 15;
    while (cursor_left(c) >= 8) {
        uint64_t pairs = cursor_load64(c->at, CURSOR_HOST_BIG_ENDIAN);
        uint64_t forms = (pairs >> 8 ^ DW_FORM_implicit_const * ones) & 0xff * ones;
        uint64_t longs = (pairs | pairs << 8) & tops;
        uint64_t zeros = ~(pairs + 0x7fff * ones) & tops & ~longs;
        uint64_t stops = longs | zeros | (~(forms + 0x7fff * ones) & tops);
        if (stops != 0) {
            unsigned bit = (unsigned)__builtin_ctzll(stops);
            bool is_end = (zeros >> bit & 1) != 0;
            c->at += bit / 16 * 2 + (is_end ? 2 : 0);
            return is_end;
        }
        c->at += 8;
    }
    return false;
}

static void skip_attributes(cursor *c) {
    while (!skip_short_pairs(c)) {
        uint64_t attribute = cursor_uleb_1(c), form = cursor_uleb_1(c);
        if (form == DW_FORM_implicit_const) cursor_skip_leb(c);
        if ((attribute == 0 && form == 0) || c->failed) return;
    }
}

/* Return a cursor at the abbreviation with this code, or at the end of the table. */
static cursor find_code(cursor c, uint64_t wanted) {
    for (;;) {
        cursor from = c;
        uint64_t code = cursor_uleb(&c);
        if (code == wanted || code == 0 || c.failed) return from;
        (void)cursor_uleb(&c); /* the tag */
        (void)cursor_u8(&c);
        skip_attributes(&c);
    }
}

/* Compile a table up to the abbreviation with code `last`, or all of it if `last` is 0.
 * False where memory ran out. */
static bool compile_table(abbrev_table *table, const form_sizes *sizes, cursor c,
                          uint64_t last) {
    table->count = table->op_count = 0;
    if (table->ops == NULL && /* no offset is taken from a null pointer */
        !array_reserve(&table->ops, &table->op_capacity, 1, sizeof *table->ops))
        return false;
    table->is_sequential = true;
    for (;;) {
        uint64_t code = cursor_uleb(&c);
        abbrev *a;
        if (code == 0 || c.failed) break;
        if (table->count == table->capacity &&
            !array_reserve(&table->items, &table->capacity, table->count + 1,
                           sizeof *table->items))
            return false;
        a = &table->items[table->count];
        memset(a, 0, sizeof *a);
        a->code = code;
        a->op_first = (uint32_t)table->op_count;
        a->tag = (uint16_t)cursor_uleb(&c);
        a->action = action_of(a->tag);
        a->has_children = cursor_u8(&c) != 0;
        a->attributes = cursor_offset(&c);
        if (!compile_attributes(table, a, &c, sizes)) return false;
        if (c.failed || table->op_count > UINT32_MAX - 16) break;
        drop_jumps(table, a);
        a->op_count = (uint32_t)table->op_count - a->op_first;
        a->leaf_size = is_stepped_over(a) ? a->fixed_size : UINT32_MAX;
        if (a->code != ++table->count) table->is_sequential = false;
        if (a->code == last) break;
    }
    table->is_damaged = c.failed;
    if (!table->is_sequential)
        qsort(table->items, table->count, sizeof *table->items, compare_codes);
    return true;
}

const abbrev *abbrev_find_unordered(const abbrev_table *table, uint64_t code) {
    size_t low = 0;
    SEARCH_SORTED(low, table->count, table->items[middle].code < code);
    return low < table->count && table->items[low].code == code ? &table->items[low]
                                                                : NULL;
}

/* ---- cache -------------------------------------------------------------------------- */

static bool is_table_of(const abbrev_table *table, const dwarf_input *input,
                        const dwarf_unit_header *header) {
    return table->input == input && table->offset == header->abbrev_offset &&
           table->address_size == header->address_size &&
           table->offset_size == header->offset_size &&
           table->is_version_2 == (header->version == 2);
}

/* Return the slot of a unit's table, or the empty one where it belongs. */
static abbrev_table **find_slot(const abbrev_cache *cache, const dwarf_input *input,
                                uint64_t offset, const dwarf_unit_header *header) {
    size_t mask = cache->capacity - 1;
    uint64_t key = dwarf_key(input, offset);
    size_t slot = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (cache->slots[slot] != NULL &&
           (header == NULL || !is_table_of(cache->slots[slot], input, header)))
        slot = (slot + 1) & mask;
    return &cache->slots[slot];
}

static bool rehash(abbrev_cache *cache, size_t capacity) {
    abbrev_cache fresh = {.capacity = capacity};
    fresh.slots = calloc(capacity, sizeof(abbrev_table *));
    if (fresh.slots == NULL) return false;
    for (size_t i = 0; i < cache->capacity; ++i)
        if (cache->slots[i] != NULL)
            *find_slot(&fresh, cache->slots[i]->input, cache->slots[i]->offset, NULL) =
                cache->slots[i];
    free(cache->slots);
    cache->slots = fresh.slots;
    cache->capacity = capacity;
    return true;
}

static void table_destroy(abbrev_table *table) {
    if (table == NULL) return;
    free(table->items);
    free(table->ops);
    free(table);
}

/* Forget the tables that are not shared; their memory is kept for tables that are read
 * next. False where memory ran out. */
static bool forget(abbrev_cache *cache) {
    for (size_t i = 0; i < cache->capacity; ++i) {
        if (cache->slots[i] == NULL || cache->slots[i]->is_shared) continue;
        cache->slots[i]->next_spare = cache->spare;
        cache->spare = cache->slots[i];
        cache->slots[i] = NULL;
    }
    cache->count = cache->shared_count;
    return rehash(cache, cache->capacity);
}

/* Whether the limit of tables that are not shared is reached. It grows with the number of
 * shared tables, which forget() has to move. */
static bool is_full(const abbrev_cache *cache) {
    return cache->limit != 0 &&
           cache->count - cache->shared_count >= cache->limit + cache->shared_count;
}

/* Return the number of units with a lower key, of which `from` are known. Most tables have
 * one unit, so that the number is often the next one. */
static size_t units_before(const dwarf_input *input, size_t from, uint64_t key) {
    size_t low = from;
    for (; low < input->abbrev_key_count && low - from < 2; ++low)
        if (input->abbrev_keys[low] >= key) return low;
    SEARCH_SORTED(low, input->abbrev_key_count, input->abbrev_keys[middle] < key);
    return low;
}

/* Tables may overlap, but many units must not each have most of a large section as their
 * table. So a table ends where it would overlap too many others, which bounds the total
 * size of all tables. */
/* Limit: Overlapping abbreviation tables */
LIMIT(OVERLAPPING, 4 << 20, 4);

/* Return the bytes that a table may use, and set is_shared and is_cut. */
static cursor table_bytes(abbrev_table *table) {
    const dwarf_input *input = table->input;
    uint64_t offset = table->offset, end;
    cursor c = dwarf_section(input, GSYM_DEBUG_ABBREV, offset);
    size_t first = units_before(input, 0, abbrev_key(offset, false));
    size_t with_code = units_before(input, first, abbrev_key(offset, true));
    size_t next = units_before(input, with_code, abbrev_key(offset + 1, false));
    size_t sharing = next - first;
    size_t most = OVERLAPPING_FLOOR / (input->sections[GSYM_DEBUG_ABBREV].size + 1);
    if (sharing > 1) most /= sharing;
    if (most < OVERLAPPING_FACTOR) most = OVERLAPPING_FACTOR;
    table->is_shared = with_code > first + 1;
    if (c.failed || most >= input->abbrev_key_count - next) return c;
    end = input->abbrev_keys[next + most] >> 1;
    table->is_cut = end - offset < cursor_left(&c);
    if (table->is_cut) c.end = c.at + (end - offset);
    return c;
}

/* Return the code of the abbreviation of a unit's root DIE. */
static uint64_t root_code(const dwarf_input *input, const dwarf_unit_header *header) {
    cursor c = dwarf_section(input,
                             header->is_in_types ? GSYM_DEBUG_TYPES : GSYM_DEBUG_INFO,
                             header->offset + header->header_size);
    return cursor_uleb(&c);
}

static const abbrev_table *find_table(abbrev_cache *cache, const dwarf_input *input,
                                      const dwarf_unit_header *header) {
    abbrev_table **slot, *table;
    uint64_t root = 0;
    cursor bytes;
    if (2 * cache->count >= cache->capacity &&
        !rehash(cache, cache->capacity == 0 ? 16 : 2 * cache->capacity))
        return NULL;
    slot = find_slot(cache, input, header->abbrev_offset, header);
    if (*slot != NULL) return *slot;
    if (is_full(cache)) {
        if (!forget(cache)) return NULL;
        slot = find_slot(cache, input, header->abbrev_offset, header);
    }
    table = cache->spare != NULL ? cache->spare : calloc(1, sizeof *table);
    if (table == NULL) return NULL;
    cache->spare = table->next_spare;
    table->input = input;
    table->offset = header->abbrev_offset;
    table->address_size = header->address_size;
    table->offset_size = header->offset_size;
    table->is_version_2 = header->version == 2;
    table->is_cut = false;
    bytes = table_bytes(table);
    if (cache->has_roots && !table->is_shared) {
        root = root_code(input, header);
        bytes = find_code(bytes, root);
    }
    resolve_form_sizes(table, &cache->sizes);
    if (!compile_table(table, &cache->sizes, bytes, root)) {
        table->next_spare = cache->spare;
        cache->spare = table;
        return NULL;
    }
    ++cache->count;
    cache->shared_count += table->is_shared;
    return *slot = table;
}

const abbrev_table *abbrev_cache_get(abbrev_cache *cache, const dwarf_input *input,
                                     const dwarf_unit_header *header) {
    const abbrev_table *table = find_table(cache, input, header);
    if (table == NULL) cache->failed = true;
    return table;
}

void abbrev_cache_deinit(abbrev_cache *cache) {
    for (size_t i = 0; i < cache->capacity; ++i) table_destroy(cache->slots[i]);
    while (cache->spare != NULL) {
        abbrev_table *spare = cache->spare;
        cache->spare = spare->next_spare;
        table_destroy(spare);
    }
    free(cache->slots);
}

/* ---- running ------------------------------------------------------------------------ */

/* Store a value in its field. */
static inline void put_field(dwarf_fields *fields, const abbrev_op *op, uint64_t raw) {
    fields->present |= UINT32_C(1) << op->field;
    fields->form[op->field] = op->form;
    fields->raw[op->field] = raw;
}

static inline void keep(dwarf_fields *fields, const abbrev_op *op, uint64_t raw) {
    if (fields != NULL && op->field != FIELD_NONE) put_field(fields, op, raw);
}

static bool run_op(const abbrev_table *table, const abbrev_op *op, cursor *c,
                   dwarf_fields *fields);

/* Run an operation whose form is part of the DIE. */
static bool run_indirect(const abbrev_table *table, uint8_t field, cursor *c,
                         dwarf_fields *fields) {
    uint64_t form;
    int size;
    int64_t constant;
    abbrev_op op;
    do form = cursor_uleb(c);
    while (form == DW_FORM_indirect);
    size = form > UINT16_MAX ? FORM_UNKNOWN : form_size(form, table);
    constant = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
    op = is_readable(size) ? reading_op((enum dwarf_field)field, form, size, constant)
                           : skipping_op(form, size);
    return run_op(table, &op, c, fields);
}

/* Read the rest of an expression, which adds a number; 0 at its end. Mark the expression as
 * failed if it does anything else. */
static uint64_t read_addend(cursor *expression) {
    uint64_t addend = 0;
    unsigned operation;
    if (cursor_left(expression) == 0) return 0;
    operation = cursor_u8(expression);
    switch (operation) {
        case DW_OP_const1u: addend = cursor_u8(expression); break;
        case DW_OP_const2u: addend = cursor_u16(expression); break;
        case DW_OP_const4u: addend = cursor_u32(expression); break;
        case DW_OP_constu:
        case DW_OP_plus_uconst: addend = cursor_uleb(expression); break;
        default: expression->failed = true; break;
    }
    if (operation != DW_OP_plus_uconst && cursor_u8(expression) != DW_OP_plus)
        expression->failed = true;
    if (cursor_left(expression) > 0) expression->failed = true;
    return addend;
}

/* Read an expression that is an address or an address index, and may add a number. Others
 * keep their form, which is not a form of addresses. */
static void read_expression(const abbrev_table *table, const abbrev_op *op, cursor *c,
                            dwarf_fields *fields) {
    uint64_t size = cursor_uleb(c), raw = 0, addend;
    cursor expression = *c;
    abbrev_op as = *op;
    cursor_skip(c, size);
    if (c->failed) return;
    expression.end = c->at;
    switch (cursor_u8(&expression)) {
        case DW_OP_addr:
            raw = cursor_uint(&expression, table->address_size);
            as.form = DW_FORM_addr;
            raw += read_addend(&expression);
            if (table->address_size < 8)
                raw &= (UINT64_C(1) << 8 * table->address_size) - 1;
            break;
        case DW_OP_addrx:
            raw = cursor_uleb(&expression) << 32;
            as.form = DW_FORM_LLVM_addrx_offset;
            addend = read_addend(&expression);
            if (addend > UINT32_MAX) expression.failed = true;
            raw |= addend;
            break;
        default: expression.failed = true; break;
    }
    if (expression.failed) as.form = DW_FORM_exprloc;
    keep(fields, &as, raw);
}

/* Forced inline: with fields == NULL the compiler removes the reads. */
static inline __attribute__((always_inline)) bool
run_one(const abbrev_table *table, const abbrev_op *op, cursor *c, dwarf_fields *fields) {
    uint64_t size;
    size_t ignored;
    switch (op->kind) {
        case OP_SKIP: cursor_skip(c, op->size); break;
        case OP_SKIP_LEB: cursor_skip_leb(c); break;
        case OP_SKIP_STRING: (void)cursor_cstring(c, &ignored); break;
        case OP_SKIP_BLOCK:
            size = op->size == 0 ? cursor_uleb(c) : cursor_uint(c, op->size);
            cursor_skip(c, size);
            break;
        case OP_READ1: keep(fields, op, cursor_u8(c)); break;
        case OP_READ2: keep(fields, op, cursor_u16(c)); break;
        case OP_READ4: keep(fields, op, cursor_u32(c)); break;
        case OP_READ8: keep(fields, op, cursor_u64(c)); break;
        case OP_READ_UINT: keep(fields, op, cursor_uint(c, op->size)); break;
        case OP_READ_ULEB: keep(fields, op, cursor_uleb(c)); break;
        case OP_READ_SLEB: keep(fields, op, (uint64_t)cursor_sleb(c)); break;
        case OP_READ_STRING:
            keep(fields, op, cursor_offset(c));
            (void)cursor_cstring(c, &ignored);
            break;
        case OP_READ_CONSTANT: keep(fields, op, op->constant); break;
        case OP_READ_ADDRX_OFFSET:
            size = cursor_uleb(c) << 32;
            keep(fields, op, size | cursor_u32(c));
            break;
        case OP_SKIP_ADDRX_OFFSET:
            cursor_skip_leb(c);
            cursor_skip(c, 4);
            break;
        case OP_READ_EXPRESSION: read_expression(table, op, c, fields); break;
        case OP_INDIRECT: return run_indirect(table, op->field, c, fields);
        default: return false;
    }
    return !c->failed;
}

static bool run_op(const abbrev_table *table, const abbrev_op *op, cursor *c,
                   dwarf_fields *fields) {
    return run_one(table, op, c, fields);
}

bool abbrev_skip_varying(const abbrev_table *table, const abbrev *a, cursor *c) {
    for (uint32_t i = 0; i < a->op_count; ++i)
        if (!run_one(table, &table->ops[a->op_first + i], c, NULL)) return false;
    return true;
}

/* Read a DIE whose attributes all have a fixed size: one check covers all reads. */
static bool read_fixed(const abbrev_table *table, const abbrev *a, cursor *c,
                       dwarf_fields *fields) {
    const abbrev_op *op = &table->ops[a->op_first];
    const abbrev_op *end = op + a->op_count;
    const uint8_t *attributes = c->at;
    /* Whether 8 bytes can be loaded for each value, and masked. */
    bool is_roomy = CURSOR_HOST_BIG_ENDIAN == 0 && !c->swap &&
                    cursor_left(c) >= (uint64_t)a->fixed_size + sizeof(uint64_t);
    if (!cursor_need(c, a->fixed_size)) return false;
    c->at += a->fixed_size;
    fields->present = a->fields;
    for (; GSYM_LIKELY(is_roomy) && op < end; ++op) {
        fields->form[op->field] = op->form;
        fields->raw[op->field] =
            op->constant | (cursor_load64(attributes + op->at, false) & op->mask);
    }
    for (; op < end; ++op) {
        fields->form[op->field] = op->form;
        fields->raw[op->field] =
            op->size == 0 ? op->constant
                          : cursor_load(attributes + op->at, op->size, c->swap);
    }
    return true;
}

bool abbrev_read(const abbrev_table *table, const abbrev *a, cursor *c,
                 dwarf_fields *fields) {
    fields->present = 0;
    if (GSYM_LIKELY(a->fixed_size != UINT32_MAX)) return read_fixed(table, a, c, fields);
    for (uint32_t i = 0; i < a->op_count; ++i)
        if (!run_op(table, &table->ops[a->op_first + i], c, fields)) return false;
    return true;
}

bool abbrev_read_attribute(const abbrev_table *table, const abbrev *a, cursor c,
                           uint64_t attribute, uint64_t *value_ret, uint64_t *cost) {
    cursor declaration = dwarf_section(table->input, GSYM_DEBUG_ABBREV, a->attributes);
    dwarf_fields fields;
    for (;;) {
        uint64_t found = cursor_uleb(&declaration), form = cursor_uleb(&declaration);
        int64_t constant = form == DW_FORM_implicit_const ? cursor_sleb(&declaration) : 0;
        int size = form > UINT16_MAX ? FORM_UNKNOWN : form_size(form, table);
        abbrev_op op = found == attribute && is_readable(size)
                           ? reading_op(FIELD_NAME, form, size, constant)
                           : skipping_op(form, size);
        ++*cost;
        if ((found == 0 && form == 0) || declaration.failed) return false;
        if (size == FORM_INDIRECT)
            op = (abbrev_op){.kind = OP_INDIRECT,
                             .field = found == attribute ? FIELD_NAME : FIELD_NONE};
        fields.present = 0;
        if (!run_op(table, &op, &c, &fields)) return false;
        if (!dwarf_has(&fields, FIELD_NAME)) continue;
        *value_ret = fields.raw[FIELD_NAME];
        return true;
    }
}
