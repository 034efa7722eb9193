/* abbrev_run.c - run the operations of an abbreviation: read or skip the attributes of a
 * DIE. */
#include "dwarf/abbrev_ops.h"

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
    size = form > UINT16_MAX ? FORM_UNKNOWN : abbrev_form_size(form, table);
    constant = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
    if (abbrev_is_readable(size))
        abbrev_set_reading(&op, (enum dwarf_field)field, form, size, constant);
    else
        abbrev_set_skipping(&op, form, size);
    op.skip = size > 0 && op.kind == OP_NONE ? (uint32_t)size : 0;
    return run_op(table, &op, c, fields);
}

/* Read the rest of an expression, which may add a number to the address, and return this
 * number or 0. An expression that does anything else is marked as failed. */
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

/* Read an expression that is an address or an address index, to which a number may be
 * added. The value of any other expression keeps the form DW_FORM_exprloc, which readers of
 * addresses refuse. */
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

/* Run one operation. This is always inlined: where `fields` is NULL, the compiler then
 * removes the reads. */
static inline __attribute__((always_inline)) bool
run_one(const abbrev_table *table, const abbrev_op *op, cursor *c, dwarf_fields *fields) {
    uint64_t size;
    size_t ignored;
    cursor_skip(c, op->skip);
    switch (op->kind) {
        case OP_NONE: break;
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

/* Read a DIE whose attributes vary in size, or that is near the end. This is not inlined,
 * so that abbrev_read() saves no registers. */
static __attribute__((noinline)) bool
read_each(const abbrev_table *table, const abbrev *a, cursor *c, dwarf_fields *fields) {
    const abbrev_op *op = &table->ops[a->op_first];
    const abbrev_op *end = op + a->op_count;
    const uint8_t *attributes = c->at;
    bool is_fixed = a->fixed_size != UINT32_MAX;
    fields->present = is_fixed ? a->fields : 0;
    if (is_fixed && !cursor_need(c, a->fixed_size)) return false;
    for (; !is_fixed && op < end; ++op)
        if (!run_op(table, op, c, fields)) return false;
    for (; op < end; ++op) {
        fields->form[op->field] = op->form;
        fields->raw[op->field] =
            op->size == 0 ? op->constant
                          : cursor_load(attributes + op->at, op->size, c->swap);
    }
    if (is_fixed) c->at += a->fixed_size;
    return true;
}

bool abbrev_read(const abbrev_table *table, const abbrev *a, cursor *c,
                 dwarf_fields *fields) {
    const abbrev_op *op = &table->ops[a->op_first];
    const abbrev_op *end = op + a->op_count;
    const uint8_t *attributes = c->at;
    /* If all attributes have a fixed size, one check covers all reads. */
    if (GSYM_UNLIKELY(!abbrev_can_load(c, a->fixed_size)))
        return read_each(table, a, c, fields);
    c->at += a->fixed_size;
    fields->present = a->fields;
    for (; op < end; ++op) {
        fields->form[op->field] = op->form;
        fields->raw[op->field] = abbrev_fixed_value(op, attributes);
    }
    return true;
}

bool abbrev_read_attribute(const abbrev_table *table, const abbrev *a, cursor c,
                           uint64_t attribute, uint64_t *value_ret, uint64_t *cost) {
    cursor declaration = dwarf_section(table->input, GSYM_DEBUG_ABBREV, a->attributes);
    dwarf_fields fields;
    for (;;) {
        uint64_t found = cursor_uleb(&declaration), form = cursor_uleb(&declaration);
        int64_t constant = form == DW_FORM_implicit_const ? cursor_sleb(&declaration) : 0;
        int size = form > UINT16_MAX ? FORM_UNKNOWN : abbrev_form_size(form, table);
        abbrev_op op;
        ++*cost;
        if ((found == 0 && form == 0) || declaration.failed) return false;
        if (found == attribute && (abbrev_is_readable(size) || size == FORM_INDIRECT))
            abbrev_set_reading(&op, FIELD_NAME, form, size, constant);
        else
            abbrev_set_skipping(&op, form, size);
        if (size == FORM_INDIRECT) op.kind = OP_INDIRECT;
        op.skip = size > 0 && op.kind == OP_NONE ? (uint32_t)size : 0;
        fields.present = 0;
        if (!run_op(table, &op, &c, &fields)) return false;
        if (!dwarf_has(&fields, FIELD_NAME)) continue;
        *value_ret = fields.raw[FIELD_NAME];
        return true;
    }
}
