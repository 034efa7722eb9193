/* walk.c - visit the DIEs of a unit once, and list functions, inlined calls, call sites and
 * scopes.
 *
 * Most bytes of .debug_info describe types. Where a DIE has DW_AT_sibling, the walk jumps
 * over DIEs that cannot contain code: over array, enumeration and function types and the
 * parameters of call sites everywhere, over classes and declarations outside of functions.
 * In functions it visits classes, because compilers put the methods of a local class
 * there. */
#include "dwarf/walk.h"
#include "dwarf/abbrev_ops.h"
#include "dwarf/names.h"
#include "dwarf/values.h"

/* Properties of the children of a DIE. */
typedef struct walk_level {
    uint32_t function; /* the function to which inlined calls belong, or NO_INDEX */
    uint32_t call;     /* the innermost inlined call around them, or NO_INDEX */
    uint32_t scope;    /* the innermost scope of names around them, or NO_INDEX */
    bool in_code;      /* somewhere inside a subprogram */
    uint16_t steps; /* kinds of steps over them; a byte would be widened at each step */
} walk_level;

typedef enum visit_result {
    VISIT_OK,
    VISIT_DAMAGED,
    VISIT_NO_MEMORY,
    VISIT_PAUSED /* the walk pauses before the DIE */
} visit_result;

typedef struct walker {
    unit_walk *walk;
    const dwarf_unit *unit;
    warning_list *warnings;
    walk_level *level; /* the last one of the list: the present one */
    size_t max_functions;
    uint32_t too_deep; /* levels below DWARF_MAX_DEPTH */
    bool keeps_scopes;
    bool joins_blocks; /* functions of GHC */
    bool jumps;
    uint64_t max_list_bytes; /* of range lists */
    const abbrev_step *step_table;
    uint8_t steps;         /* kinds of steps everywhere */
    uint8_t steps_outside; /* those outside of functions, too */
} walker;

void unit_walk_deinit(unit_walk *walk) {
    free(walk->functions.items);
    free(walk->nodes.items);
    free(walk->call_sites.items);
    free(walk->scopes.items);
    free(walk->ranges.items);
    free(walk->levels.items);
}

/* ---- levels ---------------------------------------------------------------------- */

/* Return the kinds of steps over DIEs that have these properties. */
static inline uint16_t steps_over(const walker *w, uint32_t function, bool in_code) {
    return (uint16_t)(w->steps | (in_code ? 0 : w->steps_outside) |
                      (function == NO_INDEX ? STEP_INLINED : 0));
}

/* Go to the children of the DIE that was read last, which have these properties. They are
 * written one by one: a copy of all at once would wait for what was just written. */
static inline visit_result descend(walker *w, uint32_t function, uint32_t call,
                                   uint32_t scope, bool in_code, unsigned steps) {
    unit_walk *walk = w->walk;
    if (GSYM_UNLIKELY(walk->levels.count > DWARF_MAX_DEPTH)) {
        w->too_deep = 1;
        w->level->steps = STEP_LEAF;
        dwarf_warn(w->warnings, GSYM_WARN_DEPTH, w->unit->header->offset, DWARF_MAX_DEPTH);
        return VISIT_OK;
    }
    if (!LIST_RESERVE(walk->levels, 1)) return VISIT_NO_MEMORY;
    w->level = &walk->levels.items[walk->levels.count++];
    w->level->function = function;
    w->level->call = call;
    w->level->scope = scope;
    w->level->in_code = in_code;
    w->level->steps = (uint16_t)steps;
    return VISIT_OK;
}

/* Go to children that have the properties of the DIE. */
static visit_result descend_alike(walker *w) {
    const walk_level *level = w->level;
    return descend(w, level->function, level->call, level->scope, level->in_code,
                   level->steps);
}

/* Leave the children that end at `offset`. False where that was the root. */
static bool ascend(walker *w, uint64_t offset) {
    walk_level *level = w->level;
    if (GSYM_UNLIKELY(w->too_deep > 0)) {
        if (--w->too_deep == 0)
            level->steps = steps_over(w, level->function, level->in_code);
        return true;
    }
    if (w->walk->levels.count == 1) return false;
    --w->walk->levels.count;
    if (level->scope != level[-1].scope && level->scope != NO_INDEX)
        w->walk->scopes.items[level->scope].end = offset;
    --w->level;
    return true;
}

/* Add a scope of names; `end` is 0 unless its children are skipped. */
static bool add_scope(walker *w, uint64_t offset, const abbrev *a, uint64_t children,
                      uint64_t end, uint32_t *index_ret) {
    *index_ret = w->level->scope;
    if (!w->keeps_scopes || !a->has_children) return true;
    if (w->walk->scopes.count >= NO_INDEX || !LIST_RESERVE(w->walk->scopes, 1))
        return false;
    *index_ret = (uint32_t)w->walk->scopes.count++;
    w->walk->scopes.items[*index_ret] =
        (walk_scope){offset,  children, end == 0 ? w->unit->header->end : end,
                     w->level->scope, a->tag, end != 0};
    return true;
}

static inline uint64_t sibling_of(const walker *w, const abbrev *a,
                                  const cursor *attributes) {
    return w->jumps ? dwarf_sibling(w->unit, a, attributes) : 0;
}

/* ---- the attributes of a DIE --------------------------------------------------------- */

static bool read_origin(const walker *w, const dwarf_fields *fields,
                        enum dwarf_field field, uint64_t *offset_ret) {
    return dwarf_has(fields, field) &&
           dwarf_reference_value(w->unit, fields->form[field], fields->raw[field],
                                 offset_ret);
}

/* Return the DIE at an offset in the unit. */
static inline uint64_t die_in_unit(const walker *w, uint64_t offset) {
    return ((w->unit->header->offset + offset) & ~DWARF_SUPPLEMENTARY) | w->unit->file_bit;
}

static inline uint64_t origin_of(const walker *w, const dwarf_fields *fields) {
    uint64_t offset;
    /* The usual case of read_origin(), without its calls. */
    if (GSYM_LIKELY(dwarf_has(fields, FIELD_ABSTRACT_ORIGIN) &&
                    !dwarf_has(fields, FIELD_SPECIFICATION) &&
                    fields->form[FIELD_ABSTRACT_ORIGIN] == DW_FORM_ref4))
        return die_in_unit(w, fields->raw[FIELD_ABSTRACT_ORIGIN]);
    return read_origin(w, fields, FIELD_SPECIFICATION, &offset) ||
                   read_origin(w, fields, FIELD_ABSTRACT_ORIGIN, &offset) ||
                   read_origin(w, fields, FIELD_CALL_ORIGIN, &offset)
               ? offset
               : 0;
}

#define MAX_PIECES 16
#define PIECE_SIZE (UINT64_C(1) << 31)

/* Cut a range whose size needs more than 32 bits, which a record cannot store: reduce it to
 * its first part, and add the rest as one more range. *fits_ret is false for a range that
 * is too large or cannot be code. */
static bool cut_range(walker *w, gsym_range *range, bool *fits_ret) {
    gsym_range rest = {range->start + PIECE_SIZE, range->end};
    *fits_ret = range->end - range->start <= MAX_PIECES * PIECE_SIZE &&
                dwarf_in_text(w->unit->code, range->end - 1);
    if (!*fits_ret) return true;
    range->end = rest.start;
    return LIST_ADD(w->walk->ranges, rest);
}

/* Remove ranges from `first` on that cannot contain code. False where memory ran out. */
static bool keep_live_ranges(walker *w, uint64_t offset, size_t first) {
    range_list *ranges = &w->walk->ranges;
    uint64_t last = dwarf_max_address(w->unit);
    size_t kept = first;
    bool may_be_empty = w->joins_blocks && ranges->count == first + 1; /* of GHC */
    for (size_t i = first; i < ranges->count; ++i) {
        gsym_range range = ranges->items[i];
        if (range.start == range.end && !may_be_empty) continue;
        /* Linkers write 0, -1 or -2 for code that they dropped. */
        if (range.start >= last - 1) continue;
        if (!dwarf_in_text(w->unit->code, range.start)) {
            if (range.start == 0 || w->unit->code->span_count > 0) continue;
            dwarf_warn(w->warnings, GSYM_WARN_RANGE_OUTSIDE_TEXT, offset, range.start);
            ++w->walk->outside;
        } else if (range.start > range.end) {
            dwarf_warn(w->warnings, GSYM_WARN_RANGE_INVALID, offset, range.start);
        } else {
            bool fits = true;
            if (GSYM_UNLIKELY(range.end - range.start > UINT32_MAX) &&
                !cut_range(w, &range, &fits))
                return false;
            if (fits)
                ranges->items[kept++] = range;
            else
                dwarf_warn(w->warnings, GSYM_WARN_TOO_LARGE, offset, range.start);
        }
    }
    ranges->count = kept;
    return true;
}

/* Limit: Range lists that a unit reads */
LIMIT(RANGE_BYTES, 1 << 16, 1024);
/* Limit: Range lists that a unit reads, of those of its file */
LIMIT(STORED_RANGE_BYTES, 1 << 20, 4);

/* Return the limit on the bytes of range lists that are read. Any number of DIEs may use
 * the same list. */
static uint64_t max_list_bytes(const dwarf_unit *unit) {
    uint64_t of_file = LIMIT_OF(STORED_RANGE_BYTES,
                                unit->code->sections[GSYM_DEBUG_RANGES].size +
                                    unit->input->sections[GSYM_DEBUG_RNGLISTS].size);
    uint64_t of_unit = LIMIT_OF(RANGE_BYTES, unit->header->end - unit->header->offset);
    return of_unit < of_file ? of_unit : of_file;
}

static inline bool may_read_list(walker *w, uint64_t list, uint64_t offset) {
    if (GSYM_LIKELY(w->walk->lists.bytes <= w->max_list_bytes)) return true;
    dwarf_warn(w->warnings, GSYM_WARN_LIMIT, offset, list);
    return false;
}

/* Whether the ranges of a DIE may be read: if they are a list, the limit must not have been
 * reached. */
static inline bool may_read_ranges(walker *w, const dwarf_fields *fields, uint64_t offset) {
    return !dwarf_has(fields, FIELD_RANGES) ||
           may_read_list(w, fields->raw[FIELD_RANGES], offset);
}

static bool add_function(walker *w, uint64_t offset, const dwarf_fields *fields,
                         uint32_t *index_ret) {
    unit_walk *walk = w->walk;
    size_t first = walk->ranges.count;
    walk_function *function;
    *index_ret = NO_INDEX;
    if (!may_read_ranges(w, fields, offset)) return true;
    if (!dwarf_read_ranges(w->unit, fields, offset, &walk->ranges, &walk->lists,
                           w->warnings) ||
        !keep_live_ranges(w, offset, first))
        return false;
    if (walk->ranges.count == first) return true;
    if (walk->functions.count >= NO_INDEX || !LIST_RESERVE(walk->functions, 1))
        return false;
    *index_ret = (uint32_t)walk->functions.count;
    function = &walk->functions.items[walk->functions.count++];
    memset(function, 0, sizeof *function);
    function->offset = offset;
    function->origin = origin_of(w, fields);
    function->range_first = (uint32_t)first;
    function->range_count = (uint32_t)(walk->ranges.count - first);
    function->node_first = function->node_end = (uint32_t)walk->nodes.count;
    function->site_first = function->site_end = (uint32_t)walk->call_sites.count;
    function->stmt_sequence = UINT64_MAX;
    if (dwarf_has(fields, FIELD_LINKAGE_NAME)) {
        function->linkage_name = fields->raw[FIELD_LINKAGE_NAME];
        function->linkage_name_form = fields->form[FIELD_LINKAGE_NAME];
    }
    if (dwarf_has(fields, FIELD_NAME)) {
        function->name = fields->raw[FIELD_NAME];
        function->name_form = fields->form[FIELD_NAME];
    }
    if (dwarf_has(fields, FIELD_STMT_SEQUENCE) &&
        fields->raw[FIELD_STMT_SEQUENCE] != UINT32_MAX)
        function->stmt_sequence = fields->raw[FIELD_STMT_SEQUENCE];
    return true;
}

/* Add a node for an inlined call that has the ranges from `first` on. A call without any
 * has no node, and neither have the calls inlined into it. */
static inline __attribute__((always_inline)) bool
add_node(walker *w, uint64_t offset, uint64_t origin, size_t first, bool has_call_file,
         uint64_t call_file, uint64_t call_line) {
    unit_walk *walk = w->walk;
    walk_node *node;
    if (walk->ranges.count == first) return true;
    if (walk->nodes.count >= NO_INDEX || walk->ranges.count >= NO_INDEX ||
        !LIST_RESERVE(walk->nodes, 1))
        return false;
    node = &walk->nodes.items[walk->nodes.count++];
    node->offset = offset;
    /* A call without an origin has its name in its own DIE. */
    node->origin = origin == 0 ? offset | w->unit->file_bit : origin;
    node->function = w->level->function;
    node->outer = w->level->call;
    node->depth = node->outer == NO_INDEX ? 1 : walk->nodes.items[node->outer].depth + 1;
    node->range_first = (uint32_t)first;
    node->range_count = (uint32_t)(walk->ranges.count - first);
    node->has_call_file = has_call_file;
    node->call_file = call_file;
    node->call_line = (uint32_t)call_line;
    walk->functions.items[node->function].node_end = (uint32_t)walk->nodes.count;
    return true;
}

/* Read an inlined call whose attributes were sorted; see sort_usual_call(). */
static bool read_usual_call(walker *w, const abbrev *a, cursor *c, uint64_t offset) {
    unit_walk *walk = w->walk;
    const abbrev_op *ops = &w->unit->abbrevs->ops[a->op_first];
    const uint8_t *attributes = c->at;
    size_t first = walk->ranges.count;
    uint64_t start = abbrev_fixed_value(&ops[INLINED_LOW_PC], attributes);
    uint64_t end = start + abbrev_fixed_value(&ops[INLINED_HIGH_PC], attributes);
    uint64_t list = abbrev_fixed_value(&ops[INLINED_RANGES], attributes);
    c->at += a->fixed_size;
    if (abbrev_has(a, FIELD_LOW_PC)
            ? !dwarf_add_range(w->unit, &walk->ranges, start,
                               end & dwarf_max_address(w->unit))
            : may_read_list(w, list, offset) &&
                  !dwarf_read_range_list(w->unit, ops[INLINED_RANGES].form, list, offset,
                                         &walk->ranges, &walk->lists, w->warnings))
        return false;
    return add_node(
        w, offset, die_in_unit(w, abbrev_fixed_value(&ops[INLINED_ORIGIN], attributes)),
        first, abbrev_has(a, FIELD_CALL_FILE),
        abbrev_fixed_value(&ops[INLINED_CALL_FILE], attributes),
        abbrev_fixed_value(&ops[INLINED_CALL_LINE], attributes));
}

static visit_result read_call(walker *w, const abbrev *a, cursor *c, uint64_t offset) {
    unit_walk *walk = w->walk;
    size_t first = walk->ranges.count;
    dwarf_fields fields;
    bool has_file;
    if (!abbrev_read(w->unit->abbrevs, a, c, &fields)) return VISIT_DAMAGED;
    if (may_read_ranges(w, &fields, offset) &&
        !dwarf_read_ranges(w->unit, &fields, offset, &walk->ranges, &walk->lists,
                           w->warnings))
        return VISIT_NO_MEMORY;
    has_file = dwarf_has(&fields, FIELD_CALL_FILE);
    return add_node(w, offset, origin_of(w, &fields), first, has_file,
                    has_file ? fields.raw[FIELD_CALL_FILE] : 0,
                    dwarf_has(&fields, FIELD_CALL_LINE) ? fields.raw[FIELD_CALL_LINE] : 0)
               ? VISIT_OK
               : VISIT_NO_MEMORY;
}

static bool add_call_site(walker *w, const dwarf_fields *fields, uint16_t tag) {
    unit_walk *walk = w->walk;
    enum dwarf_field field =
        tag == DW_TAG_GNU_call_site ? FIELD_LOW_PC : FIELD_CALL_RETURN_PC;
    uint64_t address;
    if (!dwarf_has(fields, field) ||
        !dwarf_address_value(w->unit, fields->form[field], fields->raw[field], &address))
        return true;
    if (walk->call_sites.count >= NO_INDEX || !LIST_RESERVE(walk->call_sites, 1))
        return false;
    walk->call_sites.items[walk->call_sites.count++] =
        (walk_call_site){address & ~w->unit->code->isa_bit, origin_of(w, fields),
                         w->level->function};
    walk->functions.items[w->level->function].site_end = (uint32_t)walk->call_sites.count;
    return true;
}

/* ---- visiting ----------------------------------------------------------------------- */

/* Go on below a DIE, or after one without children. */
static visit_result go_on(walker *w, const abbrev *a, cursor *c) {
    if (!abbrev_skip(w->unit->abbrevs, a, c)) return VISIT_DAMAGED;
    return a->has_children ? descend_alike(w) : VISIT_OK;
}

/* Pass over a DIE and all below it or, without DW_AT_sibling, over its attributes. */
static inline visit_result pass_over(walker *w, const abbrev *a, cursor *c) {
    uint64_t sibling = a->has_children ? sibling_of(w, a, c) : 0;
    if (GSYM_UNLIKELY(sibling == 0)) return go_on(w, a, c);
    c->at = c->start + sibling;
    return VISIT_OK;
}

static visit_result visit_class(walker *w, const abbrev *a, cursor *c, uint64_t offset) {
    uint32_t scope;
    uint64_t sibling = w->level->in_code || !a->has_children ? 0 : sibling_of(w, a, c);
    cursor children;
    if (sibling != 0 && !w->keeps_scopes) {
        c->at = c->start + sibling;
        return VISIT_OK;
    }
    children = *c;
    if (!a->has_children) return go_on(w, a, c);
    if (!abbrev_skip(w->unit->abbrevs, a, &children)) return VISIT_DAMAGED;
    if (!add_scope(w, offset, a, cursor_offset(&children), sibling, &scope))
        return VISIT_NO_MEMORY;
    if (sibling != 0) {
        c->at = c->start + sibling;
        return VISIT_OK;
    }
    *c = children;
    return descend(w, NO_INDEX, NO_INDEX, scope, w->level->in_code,
                   w->level->steps | STEP_INLINED);
}

static visit_result visit_namespace(walker *w, const abbrev *a, cursor *c,
                                    uint64_t offset) {
    const walk_level *level = w->level;
    uint32_t scope;
    if (!abbrev_skip(w->unit->abbrevs, a, c)) return VISIT_DAMAGED;
    if (!a->has_children) return VISIT_OK;
    if (!add_scope(w, offset, a, cursor_offset(c), 0, &scope)) return VISIT_NO_MEMORY;
    return descend(w, level->function, level->call, scope, level->in_code, level->steps);
}

static visit_result visit_function(walker *w, const abbrev *a, cursor *c,
                                   uint64_t offset) {
    uint32_t function = NO_INDEX, scope;
    cursor attributes = *c;
    bool is_declaration = a->is_declaration;
    if (w->walk->functions.count >= w->max_functions && !w->level->in_code)
        return VISIT_PAUSED;
    if (abbrev_has(a, FIELD_LOW_PC) || abbrev_has(a, FIELD_RANGES) ||
        (abbrev_has(a, FIELD_DECLARATION) && !is_declaration)) {
        dwarf_fields fields;
        if (!abbrev_read(w->unit->abbrevs, a, c, &fields)) return VISIT_DAMAGED;
        if (dwarf_has(&fields, FIELD_LOW_PC) || dwarf_has(&fields, FIELD_RANGES)) {
            if (!add_function(w, offset, &fields, &function)) return VISIT_NO_MEMORY;
            is_declaration = false;
        } else if (dwarf_has(&fields, FIELD_DECLARATION)) {
            is_declaration = fields.raw[FIELD_DECLARATION] != 0;
        }
    } else if (!abbrev_skip(w->unit->abbrevs, a, c)) {
        return VISIT_DAMAGED;
    }
    if (is_declaration && !w->level->in_code) {
        *c = attributes;
        return pass_over(w, a, c);
    }
    if (!a->has_children) return VISIT_OK;
    if (!add_scope(w, offset, a, cursor_offset(c), 0, &scope)) return VISIT_NO_MEMORY;
    return descend(w, function, NO_INDEX, scope, true, steps_over(w, function, true));
}

static visit_result visit_inlined(walker *w, const abbrev *a, cursor *c, uint64_t offset) {
    uint32_t function = w->level->function, call = w->level->call;
    if (function == NO_INDEX) { /* in an abstract or dropped function */
        if (!abbrev_skip(w->unit->abbrevs, a, c)) return VISIT_DAMAGED;
    } else {
        size_t count = w->walk->nodes.count;
        visit_result result =
            GSYM_UNLIKELY(!a->is_usual_call || !abbrev_can_load(c, a->fixed_size))
                ? read_call(w, a, c, offset)
            : read_usual_call(w, a, c, offset) ? VISIT_OK
                                               : VISIT_NO_MEMORY;
        if (result != VISIT_OK) return result;
        if (w->walk->nodes.count > count)
            call = (uint32_t)count;
        else
            function = NO_INDEX;
    }
    if (!a->has_children) return VISIT_OK;
    /* The scopes of the callee are around what is declared here. */
    return descend(w, function, call, NO_INDEX, w->level->in_code,
                   w->level->steps | (function == NO_INDEX ? STEP_INLINED : 0u));
}

/* Extend the function around a block to the block. False where memory ran out. */
static bool add_block(walker *w, const dwarf_fields *fields, uint64_t offset) {
    range_list *ranges = &w->walk->ranges;
    size_t first = ranges->count;
    gsym_range *whole;
    if (!dwarf_read_ranges(w->unit, fields, offset, ranges, &w->walk->lists,
                           w->warnings) ||
        !keep_live_ranges(w, offset, first))
        return false;
    whole = &ranges->items[w->walk->functions.items[w->level->function].range_first];
    if (ranges->count > first) {
        gsym_range block = ranges->items[first];
        if (whole->start < block.start) block.start = whole->start;
        if (whole->end > block.end) block.end = whole->end;
        if (block.end - block.start <= UINT32_MAX)
            *whole = block;
        else
            dwarf_warn(w->warnings, GSYM_WARN_TOO_LARGE, offset, block.start);
    }
    ranges->count = first;
    return true;
}

/* Visit a lexical block with a name. GHC describes a function by its first block alone,
 * which may be empty, and the others below it. Between them are only their info tables. */
static visit_result visit_block(walker *w, const abbrev *a, cursor *c, uint64_t offset) {
    dwarf_fields fields;
    if (!w->joins_blocks || w->level->function == NO_INDEX) return go_on(w, a, c);
    if (!abbrev_read(w->unit->abbrevs, a, c, &fields)) return VISIT_DAMAGED;
    if (!add_block(w, &fields, offset)) return VISIT_NO_MEMORY;
    return a->has_children ? descend_alike(w) : VISIT_OK;
}

static visit_result visit_call_site(walker *w, const abbrev *a, cursor *c) {
    if (w->unit->input->call_sites && w->level->function != NO_INDEX) {
        cursor attributes = *c;
        dwarf_fields fields;
        if (!abbrev_read(w->unit->abbrevs, a, &attributes, &fields)) return VISIT_DAMAGED;
        if (!add_call_site(w, &fields, a->tag)) return VISIT_NO_MEMORY;
    }
    return pass_over(w, a, c);
}

static visit_result visit(walker *w, const abbrev *a, cursor *c, uint64_t offset) {
    if (GSYM_UNLIKELY(w->too_deep > 0)) {
        if (a->has_children) ++w->too_deep;
        return abbrev_skip(w->unit->abbrevs, a, c) ? VISIT_OK : VISIT_DAMAGED;
    }
    /* Branches, which processors predict better than a jump to one of all. */
    if (a->action == ACTION_INLINED) return visit_inlined(w, a, c, offset);
    if (a->action == ACTION_PLAIN) return go_on(w, a, c);
    if (a->action == ACTION_FUNCTION) return visit_function(w, a, c, offset);
    if (a->action == ACTION_CLASS) return visit_class(w, a, c, offset);
    if (a->action == ACTION_DATA) return pass_over(w, a, c);
    if (a->action == ACTION_SCOPE) return visit_namespace(w, a, c, offset);
    if (a->action == ACTION_BLOCK) return visit_block(w, a, c, offset);
    if (a->action == ACTION_CALL_SITE) return visit_call_site(w, a, c);
    return go_on(w, a, c);
}

/* Remove the ranges of functions that no block gave code. */
static void drop_empty_functions(unit_walk *walk) {
    for (size_t i = 0; i < walk->functions.count; ++i) {
        walk_function *function = &walk->functions.items[i];
        const gsym_range *range = &walk->ranges.items[function->range_first];
        if (range->start == range->end) function->range_count = 0;
    }
}

/* Empty the lists. The list of ranges gets memory, because C leaves a null pointer plus an
 * offset undefined. */
static bool clear(unit_walk *walk) {
    walk->functions.count = walk->nodes.count = walk->call_sites.count = 0;
    walk->ranges.count = 0;
    walk->outside = 0;
    return LIST_RESERVE(walk->ranges, 1);
}

/* Prefetch, which jumps over DIEs prevent the processor from doing by itself. */
static inline void fetch_ahead(const uint8_t *at) {
    __builtin_prefetch(at + 256);
    __builtin_prefetch(at + 512);
    __builtin_prefetch(at + 1024);
    __builtin_prefetch(at + 2048);
}

/* Step over DIEs of which nothing is needed, up to one that the walk visits, that is
 * damaged, or that is near the end. */
static inline __attribute__((always_inline)) const uint8_t *
take_steps(const walker *w, const cursor *c) {
    const abbrev_step *steps = w->step_table;
    const uint8_t *at = c->at;
    unsigned kinds = w->level->steps;
    while (c->end - at >= STEP_REACH) {
        abbrev_step step = steps[*at];
        unsigned kind = step.kind & kinds;
        if (kind == 0) break;
        fetch_ahead(at);
        if (kind == STEP_BLOCK) {
            unsigned first = at[step.at], second = 0;
            if (first > STEP_MAX_BLOCK) break;
            if (step.second > 0) second = at[step.at + first + step.second];
            if (second > STEP_MAX_BLOCK) break;
            at += step.size + first + second;
        } else if (kind == STEP_STRING) {
            uint32_t four = cursor_load32(at + step.at, CURSOR_HOST_BIG_ENDIAN);
            uint32_t zeros = (four - 0x01010101u) & ~four & 0x80808080u;
            if (zeros == 0) break;
            at += step.size + (unsigned)__builtin_ctz(zeros) / 8 + 1;
        } else if (step.size > 0) {
            at += step.size;
        } else {
            uint64_t ahead = w->unit->header->offset - (uint64_t)(at - c->start) +
                             cursor_load32(at + step.at, CURSOR_HOST_BIG_ENDIAN);
            if (ahead < 2 || ahead > (uint64_t)(c->end - at)) break;
            at += ahead;
        }
    }
    return at;
}

/* Visit the DIEs from the cursor on; *at_ret is the offset of the DIE before which the walk
 * pauses. If the unit is damaged, what was read before is kept. The end of the last list of
 * children may be missing. */
static visit_result visit_all(walker *w, cursor c, uint64_t *at_ret) {
    for (;;) {
        const uint8_t *at;
        uint64_t code;
        const abbrev *a;
        visit_result result;
        c.at = at = take_steps(w, &c);
        if (cursor_left(&c) == 0) return VISIT_OK;
        code = cursor_uleb_1(&c);
        if (code == 0) {
            if (c.failed || !ascend(w, (uint64_t)(at - c.start))) return VISIT_OK;
            continue;
        }
        fetch_ahead(at);
        a = abbrev_find(w->unit->abbrevs, code);
        *at_ret = (uint64_t)(at - c.start);
        result = a == NULL ? VISIT_DAMAGED : visit(w, a, &c, *at_ret);
        if (GSYM_LIKELY(result == VISIT_OK)) continue;
        if (result == VISIT_DAMAGED)
            dwarf_warn(w->warnings, GSYM_WARN_DIE_DAMAGED, *at_ret, code);
        return result;
    }
}

bool dwarf_walk_on(unit_walk *walk, const dwarf_unit *unit, warning_list *warnings) {
    walker w = {.walk = walk,
                .unit = unit,
                .warnings = warnings,
                .level = &walk->levels.items[walk->levels.count - 1],
                .max_functions = walk->max_functions == 0 ? SIZE_MAX : walk->max_functions,
                .keeps_scopes = dwarf_language_has_scopes(unit->language),
                .joins_blocks = unit->language == DW_LANG_Haskell,
                .jumps = !unit->input->full_walk,
                .max_list_bytes = max_list_bytes(unit),
                .step_table = unit->abbrevs->steps,
                .steps = STEP_LEAF};
    cursor c = dwarf_unit_cursor(unit, walk->reached);
    uint64_t at;
    visit_result result;
    if (!clear(walk)) return false;
    if (!unit->input->big_endian) w.steps |= STEP_BLOCK | STEP_STRING;
    if (w.jumps && !unit->input->big_endian) {
        w.steps |= STEP_DATA | (unit->input->call_sites ? 0 : STEP_CALL_SITE);
        w.steps_outside = STEP_DECLARATION | (w.keeps_scopes ? 0 : STEP_CLASS);
    }
    w.level->steps = steps_over(&w, w.level->function, w.level->in_code);
    c.end = c.start + walk->end;
    result = visit_all(&w, c, &at);
    if (w.joins_blocks) drop_empty_functions(walk);
    walk->reached = walk->end;
    if (result != VISIT_PAUSED) return result != VISIT_NO_MEMORY;
    walk->reached = at;
    return true;
}

bool dwarf_walk_unit(unit_walk *walk, const dwarf_unit *unit, uint64_t from, uint64_t to,
                     warning_list *warnings) {
    uint64_t end = unit->header->end;
    uint64_t first = unit->has_children ? unit->first_child : end;
    walk->scopes.count = walk->levels.count = 0;
    walk->lists = (lists_read){0, 0};
    walk->start = walk->reached = from < first ? first : from < end ? from : end;
    walk->end = to < walk->start ? walk->start : to < end ? to : end;
    return LIST_ADD(walk->levels, (walk_level){NO_INDEX, NO_INDEX, NO_INDEX, false, 0}) &&
           dwarf_walk_on(walk, unit, warnings);
}

uint64_t dwarf_child_from(const dwarf_unit *unit, uint64_t from, uint64_t least) {
    cursor c = dwarf_unit_cursor(unit, from);
    bool jumps = !unit->input->full_walk;
    uint64_t depth = 0; /* levels below a child of the root, without DW_AT_sibling */
    while ((cursor_offset(&c) < least || depth > 0) && cursor_left(&c) > 0) {
        uint64_t code = cursor_uleb_1(&c), sibling;
        const abbrev *a;
        if (code == 0 && depth > 0) {
            --depth;
            continue;
        }
        a = abbrev_find(unit->abbrevs, code);
        if (a == NULL) return unit->header->end;
        sibling = a->has_children && jumps ? dwarf_sibling(unit, a, &c) : 0;
        if (sibling != 0) {
            c.at = c.start + sibling;
            continue;
        }
        if (!abbrev_skip(unit->abbrevs, a, &c)) return unit->header->end;
        depth += a->has_children;
    }
    return cursor_offset(&c);
}
