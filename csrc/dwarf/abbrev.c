/* abbrev.c - compile abbreviations to operations that skip or read attributes.
 *
 * Adjacent attributes that are not needed are skipped by one operation; if every attribute
 * has a fixed size, one check covers the whole DIE. */
#include "dwarf/abbrev_ops.h"
#include "dwarf/values.h"

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

static void add_size(abbrev *a, int size) {
    if (size < 0 || a->fixed_size > UINT32_MAX - (1u << 21))
        a->fixed_size = UINT32_MAX;
    else
        a->fixed_size += (uint32_t)size;
}

/* Add an operation after `skip` bytes that are not needed, at most 2 MiB. The caller sets
 * the rest of it. */
static abbrev_op *add_op(abbrev_table *table, abbrev *a, uint32_t skip) {
    abbrev_op *op;
    if (table->op_count == table->op_capacity &&
        !array_reserve(&table->ops, &table->op_capacity, table->op_count + 1,
                       sizeof *table->ops))
        return NULL;
    add_size(a, (int)skip);
    op = &table->ops[table->op_count++];
    op->skip = skip;
    op->at = a->fixed_size;
    return op;
}

static uint8_t reading_kind(int size) {
    switch (size) {
        case 0: return OP_READ_CONSTANT;
        case 1: return OP_READ1;
        case 2: return OP_READ2;
        case 4: return OP_READ4;
        case 8: return OP_READ8;
        case FORM_ULEB: return OP_READ_ULEB;
        case FORM_SLEB: return OP_READ_SLEB;
        case FORM_STRING: return OP_READ_STRING;
        case FORM_ADDRX_OFFSET: return OP_READ_ADDRX_OFFSET;
        default: return size > 0 && size < 8 ? OP_READ_UINT : OP_UNKNOWN;
    }
}

void abbrev_set_reading(abbrev_op *op, enum dwarf_field field, uint64_t form, int size,
                        int64_t constant) {
    op->kind = reading_kind(size);
    op->field = (uint8_t)field;
    op->form = (uint16_t)form;
    op->size = size > 0 ? (uint32_t)size : 0;
    op->mask = size > 0 ? UINT64_MAX >> (64 - 8 * size) : 0;
    op->constant = size != 0                      ? 0
                   : form == DW_FORM_flag_present ? 1
                                                  : (uint64_t)constant;
}

static uint8_t skipping_kind(int size) {
    switch (size) {
        case FORM_ULEB:
        case FORM_SLEB: return OP_SKIP_LEB;
        case FORM_STRING: return OP_SKIP_STRING;
        case FORM_BLOCK:
        case FORM_BLOCK1:
        case FORM_BLOCK2:
        case FORM_BLOCK4: return OP_SKIP_BLOCK;
        case FORM_ADDRX_OFFSET: return OP_SKIP_ADDRX_OFFSET;
        default: return size >= 0 ? OP_NONE : OP_UNKNOWN;
    }
}

void abbrev_set_skipping(abbrev_op *op, uint64_t form, int size) {
    op->kind = skipping_kind(size);
    op->field = FIELD_NONE;
    op->form = (uint16_t)form;
    op->size = size == FORM_BLOCK1   ? 1
               : size == FORM_BLOCK2 ? 2
               : size == FORM_BLOCK4 ? 4
                                     : 0;
    op->mask = op->constant = 0;
}

/* Whether a value is an expression for an address, which Clang writes so that attributes
 * share addresses (-minimize-addr-in-v5=Expressions). */
static bool is_address_expression(enum dwarf_field field, uint64_t form) {
    return form == DW_FORM_exprloc &&
           (field == FIELD_LOW_PC || field == FIELD_CALL_RETURN_PC);
}

static bool is_unit_reference(uint64_t form) {
    return form >= DW_FORM_ref1 && form <= DW_FORM_ref8;
}

/* Compile an attribute; *skip, the size of those before it that are not needed, becomes 0
 * or grows. False where memory ran out. */
static bool compile_attribute(abbrev_table *table, abbrev *a, uint64_t attribute,
                              uint64_t form, int64_t constant, uint32_t *skip) {
    int size = form > UINT16_MAX ? FORM_UNKNOWN : abbrev_form_size(form, table);
    enum dwarf_field field = field_of(a->action, attribute);
    abbrev_op *op;
    bool is_expression = is_address_expression(field, form);
    if (size != FORM_INDIRECT && !abbrev_is_readable(size) && !is_expression)
        field = FIELD_NONE;
    if (field != FIELD_NONE && abbrev_has(a, field)) field = FIELD_NONE;
    if (field == FIELD_NONE && size >= 0 && *skip < 1u << 20) {
        *skip += (uint32_t)size;
        return true;
    }
    op = add_op(table, a, *skip);
    if (op == NULL) return false;
    *skip = field == FIELD_NONE && size > 0 ? (uint32_t)size : 0;
    if (field == FIELD_NONE)
        abbrev_set_skipping(op, form, size);
    else
        abbrev_set_reading(op, field, form, size, constant);
    if (size == FORM_INDIRECT) op->kind = OP_INDIRECT;
    if (field == FIELD_NONE && size >= 0) return true;
    if (is_expression && field != FIELD_NONE) op->kind = OP_READ_EXPRESSION;
    if (field != FIELD_NONE) a->fields |= UINT32_C(1) << field;
    if (field == FIELD_DECLARATION && op->kind == OP_READ_CONSTANT)
        a->is_declaration = op->constant != 0;
    if (field == FIELD_SIBLING) {
        a->has_sibling = true;
        if (a->fixed_size < UINT16_MAX && is_unit_reference(form)) {
            a->sibling_at = (uint16_t)a->fixed_size;
            a->sibling_size = (uint8_t)size;
        }
    }
    add_size(a, size);
    return true;
}

/* If all attributes have a fixed size, remove the operations that only skip: each read has
 * the offset of its value. A sibling at a fixed offset is read there. */
static void drop_jumps(abbrev_table *table, abbrev *a) {
    size_t kept = a->op_first;
    if (a->fixed_size == UINT32_MAX) return;
    if (a->sibling_size != 0) a->fields &= ~(UINT32_C(1) << FIELD_SIBLING);
    if (a->sibling_size == 0 && a->fixed_size < 1u << 20) return;
    for (size_t i = a->op_first; i < table->op_count; ++i) {
        const abbrev_op *op = &table->ops[i];
        if (op->kind == OP_NONE || (op->field == FIELD_SIBLING && a->sibling_size != 0))
            continue;
        if (kept < i) table->ops[kept] = *op;
        ++kept;
    }
    table->op_count = kept;
}

/* Whether an inlined call has an origin in its unit, either one range or a list, and
 * nothing but these and its place that is needed. */
static bool is_usual_call(const abbrev_table *table, const abbrev *a) {
    const uint32_t bounds = 1u << FIELD_LOW_PC | 1u << FIELD_HIGH_PC;
    const uint32_t extent = a->fields & (bounds | 1u << FIELD_RANGES);
    const uint32_t place = 1u << FIELD_CALL_FILE | 1u << FIELD_CALL_LINE;
    if (a->action != ACTION_INLINED || a->fixed_size == UINT32_MAX ||
        (a->fields & ~(extent | place)) != 1u << FIELD_ABSTRACT_ORIGIN ||
        (extent != bounds && extent != 1u << FIELD_RANGES))
        return false;
    for (size_t i = a->op_first; i < table->op_count; ++i) {
        const abbrev_op *op = &table->ops[i];
        if ((op->field == FIELD_ABSTRACT_ORIGIN && op->form != DW_FORM_ref4) ||
            (op->field == FIELD_LOW_PC && op->form != DW_FORM_addr) ||
            (op->field == FIELD_HIGH_PC && dwarf_is_address_form(op->form)))
            return false;
    }
    return true;
}

/* Sort the operations of a usual inlined call. False where memory ran out. */
static bool sort_usual_call(abbrev_table *table, abbrev *a) {
    static const uint8_t order[INLINED_OPS] = {
        [INLINED_ORIGIN] = FIELD_ABSTRACT_ORIGIN, [INLINED_LOW_PC] = FIELD_LOW_PC,
        [INLINED_HIGH_PC] = FIELD_HIGH_PC,        [INLINED_RANGES] = FIELD_RANGES,
        [INLINED_CALL_FILE] = FIELD_CALL_FILE,    [INLINED_CALL_LINE] = FIELD_CALL_LINE};
    abbrev_op sorted[INLINED_OPS];
    memset(sorted, 0, sizeof sorted);
    for (unsigned i = 0; i < INLINED_OPS; ++i) {
        sorted[i].field = order[i];
        for (size_t at = a->op_first; at < table->op_count; ++at)
            if (table->ops[at].field == order[i]) sorted[i] = table->ops[at];
    }
    while (table->op_count < (size_t)a->op_first + INLINED_OPS)
        if (add_op(table, a, 0) == NULL) return false;
    memcpy(&table->ops[a->op_first], sorted, sizeof sorted);
    a->is_usual_call = true;
    return true;
}

/* Return the step over a leaf all of whose attributes have a fixed size but for one, or for
 * two blocks. */
static abbrev_step step_over_varying(const abbrev_table *table, const abbrev *a) {
    uint32_t size = 1;
    abbrev_step step = {0};
    for (uint32_t i = 0; i < a->op_count; ++i) {
        const abbrev_op *op = &table->ops[a->op_first + i];
        bool is_block = op->kind == OP_SKIP_BLOCK && op->size <= 1;
        size += op->skip;
        if (size > UINT8_MAX) return (abbrev_step){0};
        if (op->kind == OP_NONE) continue;
        if (is_block && step.kind == STEP_BLOCK && step.second == 0) {
            step.second = (uint8_t)(size - step.at);
        } else {
            if ((!is_block && op->kind != OP_SKIP_STRING) || step.kind != 0)
                return (abbrev_step){0};
            step.kind = is_block ? STEP_BLOCK : STEP_STRING;
            step.at = (uint8_t)size;
        }
        size += is_block;
    }
    if (size > UINT8_MAX) return (abbrev_step){0};
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
    for (uint64_t form = 0; form < sizeof sizes->by_form; ++form) {
        int size = abbrev_form_size(form, table);
        sizes->by_form[form] = size >= 0 ? (int8_t)size : FORM_NOT_FIXED;
    }
}

/* Step over attributes that are not needed and have a fixed size, which are most, and add
 * up their sizes. */
static inline uint32_t skip_unneeded(const uint8_t *fields, const form_sizes *sizes,
                                     cursor *c, uint32_t skip) {
    const uint8_t *at = c->at, *end = c->end;
    while (end - at >= 2 && skip < 1u << 20) {
        uint8_t attribute = at[0], form = at[1];
        if (((attribute | form) & 0x80) != 0 || fields[attribute] != 0 ||
            sizes->by_form[form] < 0)
            break;
        if (form == DW_FORM_implicit_const) {
            cursor constant = *c;
            constant.at = at + 2;
            cursor_skip_leb(&constant);
            if (constant.failed) break;
            at = constant.at;
            continue;
        }
        skip += (uint8_t)sizes->by_form[form];
        at += 2;
    }
    c->at = at;
    return skip;
}

/* Compile the attributes of one abbreviation. False where memory ran out. */
static bool compile_attributes(abbrev_table *table, abbrev *a, cursor *c,
                               const form_sizes *sizes) {
    const uint8_t *fields = fields_by_action[a->action];
    uint32_t skip = 0;
    abbrev_op *op;
    for (;;) {
        uint64_t attribute, form;
        int64_t constant = 0;
        skip = skip_unneeded(fields, sizes, c, skip);
        attribute = cursor_uleb_1(c);
        form = cursor_uleb_1(c);
        if ((attribute == 0 && form == 0) || c->failed) break;
        if (form == DW_FORM_implicit_const) constant = cursor_sleb(c);
        if (!compile_attribute(table, a, attribute, form, constant, &skip)) return false;
    }
    if (a->fixed_size != UINT32_MAX) add_size(a, (int)skip);
    if (GSYM_LIKELY(a->fixed_size != UINT32_MAX || skip == 0)) return true;
    op = add_op(table, a, skip);
    if (op != NULL) abbrev_set_skipping(op, 0, 0);
    return op != NULL;
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
        if (is_usual_call(table, a) && !sort_usual_call(table, a)) return false;
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
