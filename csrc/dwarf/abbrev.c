/* abbrev.c - compile abbreviations to operations that skip or read attributes.
 *
 * Adjacent attributes that are not needed are skipped by one operation; if every attribute
 * has a fixed size, one check covers the whole DIE. */
#include "dwarf/abbrev_ops.h"

/* ---- forms ----------------------------------------------------------------------- */

/* The size of each form: in bytes, or one of the kinds and codes of abbrev_ops.h. */
const int8_t abbrev_coded_sizes[DW_FORM_addrx4 + 1] = {
    [DW_FORM_flag_present] = FORM_EMPTY,
    [DW_FORM_implicit_const] = FORM_EMPTY,
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

int abbrev_vendor_form_size(uint64_t form, const abbrev_table *table) {
    switch (form) {
        case DW_FORM_GNU_addr_index:
        case DW_FORM_GNU_str_index: return FORM_ULEB;
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_GNU_strp_alt: return table->offset_size;
        case DW_FORM_LLVM_addrx_offset: return FORM_ADDRX_OFFSET;
        default: return FORM_UNKNOWN;
    }
}

/* ---- fields ----------------------------------------------------------------------- */

#define STANDARD_ATTRIBUTES 0x80

/* Tables for the kinds of DIEs that are read: for each attribute, the dwarf_field that
 * takes its value, plus 1; 0 if no field does. */
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

static const uint8_t block_fields[STANDARD_ATTRIBUTES] = {
    [DW_AT_low_pc] = FIELD_LOW_PC + 1,
    [DW_AT_high_pc] = FIELD_HIGH_PC + 1,
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
    [ACTION_INLINED] = inlined_fields, [ACTION_BLOCK] = block_fields,
    [ACTION_CALL_SITE] = code_fields,
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

/* Return the action for the DIEs of a tag. `first` is their first attribute: blocks of GHC
 * begin with a name, which those of other compilers lack. */
static uint8_t action_of(uint64_t tag, uint8_t first) {
    switch (tag) {
        case DW_TAG_subprogram: return ACTION_FUNCTION;
        case DW_TAG_inlined_subroutine: return ACTION_INLINED;
        case DW_TAG_lexical_block:
            return first == DW_AT_name ? ACTION_BLOCK : ACTION_PLAIN;
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

abbrev_op abbrev_reading_op(enum dwarf_field field, uint64_t form, int size,
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

abbrev_op abbrev_skipping_op(uint64_t form, int size) {
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

/* Add an operation that skips `size` bytes, at most 2 MiB; if the last operation is a skip,
 * extend that. */
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
    int size = form > UINT16_MAX ? FORM_UNKNOWN : abbrev_form_size(form, table);
    enum dwarf_field field = field_of(a->action, attribute);
    abbrev_op *last, op;
    bool is_expression = is_address_expression(field, form);
    if (size != FORM_INDIRECT && !abbrev_is_readable(size) && !is_expression)
        field = FIELD_NONE;
    if (field != FIELD_NONE && abbrev_has(a, field)) field = FIELD_NONE;
    if (size == FORM_INDIRECT)
        op = (abbrev_op){.kind = OP_INDIRECT, .field = (uint8_t)field,
                         .form = (uint16_t)form};
    else if (field != FIELD_NONE && is_expression)
        op = (abbrev_op){.kind = OP_READ_EXPRESSION, .field = (uint8_t)field,
                         .form = DW_FORM_exprloc};
    else if (field != FIELD_NONE)
        op = abbrev_reading_op(field, form, size, constant);
    else
        op = abbrev_skipping_op(form, size);
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

/* If all attributes have a fixed size, remove the skips: each read has the offset of its
 * value. A sibling at a fixed offset is read there. */
static void drop_jumps(abbrev_table *table, abbrev *a) {
    size_t kept = a->op_first;
    if (a->fixed_size == UINT32_MAX) return;
    if (a->sibling_size != 0) a->fields &= ~(UINT32_C(1) << FIELD_SIBLING);
    for (size_t i = a->op_first; i < table->op_count; ++i) {
        const abbrev_op *op = &table->ops[i];
        if (op->kind != OP_SKIP && (op->field != FIELD_SIBLING || a->sibling_size == 0))
            table->ops[kept++] = *op;
    }
    table->op_count = kept;
}

/* Return the step over a leaf all of whose attributes have a fixed size but for one. */
static abbrev_step step_over_varying(const abbrev_table *table, const abbrev *a) {
    uint32_t size = 1;
    abbrev_step step = {0};
    for (uint32_t i = 0; i < a->op_count; ++i) {
        const abbrev_op *op = &table->ops[a->op_first + i];
        bool is_block = op->kind == OP_SKIP_BLOCK && op->size <= 1;
        if (op->kind != OP_SKIP) {
            if ((!is_block && op->kind != OP_SKIP_STRING) || step.kind != 0)
                return (abbrev_step){0};
            step.kind = is_block ? STEP_BLOCK : STEP_STRING;
            step.at = (uint8_t)size;
        }
        size += is_block ? 1 : op->size;
        if (size > UINT8_MAX) return (abbrev_step){0};
    }
    step.size = (uint8_t)size;
    return step;
}

static abbrev_step step_over_leaf(const abbrev_table *table, const abbrev *a,
                                  uint8_t kind) {
    if (a->fixed_size < UINT8_MAX)
        return (abbrev_step){kind, (uint8_t)(a->fixed_size + 1), 0, 0};
    return a->fixed_size == UINT32_MAX && kind == STEP_LEAF ? step_over_varying(table, a)
                                                            : (abbrev_step){0};
}

static abbrev_step step_to_sibling(const abbrev *a, uint8_t kind) {
    if (a->sibling_size != sizeof(uint32_t) || a->sibling_at >= UINT8_MAX)
        return (abbrev_step){0};
    return (abbrev_step){kind, 0, (uint8_t)(a->sibling_at + 1), 0};
}

static abbrev_step step_over(const abbrev_table *table, const abbrev *a) {
    bool is_leaf = !a->has_children;
    switch (a->action) {
        case ACTION_DATA:
            return is_leaf ? step_over_leaf(table, a, STEP_LEAF)
                           : step_to_sibling(a, STEP_DATA);
        case ACTION_CLASS:
            return is_leaf ? step_over_leaf(table, a, STEP_LEAF)
                           : step_to_sibling(a, STEP_CLASS);
        case ACTION_FUNCTION:
            if (abbrev_has(a, FIELD_LOW_PC) || abbrev_has(a, FIELD_RANGES) ||
                (abbrev_has(a, FIELD_DECLARATION) && !a->is_declaration))
                return (abbrev_step){0};
            if (is_leaf) return step_over_leaf(table, a, STEP_LEAF);
            return a->is_declaration ? step_to_sibling(a, STEP_DECLARATION)
                                     : (abbrev_step){0};
        case ACTION_CALL_SITE:
            return is_leaf ? step_over_leaf(table, a, STEP_CALL_SITE)
                           : step_to_sibling(a, STEP_CALL_SITE);
        case ACTION_BLOCK: return (abbrev_step){0};
        case ACTION_INLINED:
            return is_leaf ? step_over_leaf(table, a, STEP_INLINED) : (abbrev_step){0};
        default:
            return is_leaf ? step_over_leaf(table, a, STEP_LEAF) : (abbrev_step){0};
    }
}

/* Note the steps over DIEs of which the walk needs nothing; of several abbreviations with
 * one code, the first counts. */
static void note_steps(abbrev_table *table) {
    memset(table->steps, 0, sizeof table->steps);
    for (size_t i = table->count; i-- > 0;) {
        const abbrev *a = &table->items[i];
        if (a->code < 0x80) table->steps[a->code] = step_over(table, a);
    }
}

static int compare_codes(const void *left, const void *right) {
    const abbrev *a = left, *b = right;
    if (a->code != b->code) return a->code < b->code ? -1 : 1;
    return a->op_first < b->op_first ? -1 : a->op_first > b->op_first;
}

void abbrev_resolve_form_sizes(const abbrev_table *table, form_sizes *sizes) {
    if (sizes->address_size == table->address_size &&
        sizes->offset_size == table->offset_size &&
        sizes->is_version_2 == table->is_version_2)
        return;
    sizes->address_size = table->address_size;
    sizes->offset_size = table->offset_size;
    sizes->is_version_2 = table->is_version_2;
    for (uint64_t form = 0; form <= DW_FORM_addrx4; ++form) {
        int size = abbrev_form_size(form, table);
        sizes->by_form[form] = size >= 0 ? (int8_t)size : FORM_NOT_FIXED;
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
        if (GSYM_LIKELY(!is_kept && form <= DW_FORM_addrx4 && sizes->by_form[form] >= 0 &&
                        skip < 1u << 20)) {
            skip += (uint8_t)sizes->by_form[form];
            continue;
        }
        if (attribute == 0 && form == 0 && table->op_count == a->op_first) {
            a->fixed_size = skip; /* no attribute is needed and all sizes are fixed */
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

cursor abbrev_find_code(cursor c, uint64_t wanted) {
    for (;;) {
        cursor from = c;
        uint64_t code = cursor_uleb(&c);
        if (code == wanted || code == 0 || c.failed) return from;
        (void)cursor_uleb(&c); /* the tag */
        (void)cursor_u8(&c);
        skip_attributes(&c);
    }
}

bool abbrev_compile_table(abbrev_table *table, const form_sizes *sizes, cursor c,
                          uint64_t last) {
    table->count = table->op_count = 0;
    if (table->ops == NULL && /* C leaves a null pointer plus an offset undefined */
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
        a->has_children = cursor_u8(&c) != 0;
        a->action = action_of(a->tag, cursor_left(&c) == 0 ? 0 : *c.at);
        a->attributes = cursor_offset(&c);
        if (!compile_attributes(table, a, &c, sizes)) return false;
        if (c.failed || table->op_count > UINT32_MAX - 16) break;
        drop_jumps(table, a);
        a->op_count = (uint32_t)table->op_count - a->op_first;
        if (a->code != ++table->count) table->is_sequential = false;
        if (a->code == last) break;
    }
    table->is_damaged = c.failed;
    if (!table->is_sequential)
        qsort(table->items, table->count, sizeof *table->items, compare_codes);
    note_steps(table);
    return true;
}

const abbrev *abbrev_find_unordered(const abbrev_table *table, uint64_t code) {
    size_t low = 0;
    SEARCH_SORTED(low, table->count, table->items[middle].code < code);
    return low < table->count && table->items[low].code == code ? &table->items[low]
                                                                : NULL;
}
