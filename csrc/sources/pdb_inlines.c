/* pdb_inlines.c - make rows and nodes of the annotations of inline sites.
 *
 * Annotations are a small program in the symbol of an inline site; it gives ranges and
 * lines. A site has spans with lines of the inlined function; at the same addresses, a span
 * of its caller has the line of the call. Level by level, from the outermost one on, spans
 * are cut where the spans of the level above change. Then, at each address, the innermost
 * span gives a row of the function, and each other span the file and line of a call. */
#include "base/sort.h"
#include "sources/pdb_functions.h"

enum {
    /* Limit: Nested inline sites of a PDB */
    MAX_LEVELS = 4096,
    /* Records of a site that are searched for one with the same call */
    RECORDS_SEARCHED = 16
};

/* Operations of binary annotations. */
enum {
    BA_OP_END,
    BA_OP_CODE_OFFSET,
    BA_OP_CHANGE_CODE_OFFSET_BASE,
    BA_OP_CHANGE_CODE_OFFSET,
    BA_OP_CHANGE_CODE_LENGTH,
    BA_OP_CHANGE_FILE,
    BA_OP_CHANGE_LINE_OFFSET,
    BA_OP_CHANGE_LINE_END_DELTA,
    BA_OP_CHANGE_RANGE_KIND,
    BA_OP_CHANGE_COLUMN_START,
    BA_OP_CHANGE_COLUMN_END_DELTA,
    BA_OP_CHANGE_CODE_OFFSET_AND_LINE_OFFSET,
    BA_OP_CHANGE_CODE_LENGTH_AND_CODE_OFFSET,
    BA_OP_CHANGE_COLUMN_END,
    BA_OP_COUNT
};

/* ---- annotations ------------------------------------------------------------------- */

/* Read a number of 1, 2 or 4 bytes; its first bits say how many. */
static uint32_t compressed(cursor *c) {
    uint32_t value = cursor_u8(c);
    unsigned more = value < 0x80 ? 0 : value < 0xc0 ? 1 : 3;
    if (value >= 0xe0) c->failed = true;
    value &= more == 0 ? 0x7f : more == 1 ? 0x3f : 0x1f;
    while (more-- > 0) value = value << 8 | cursor_u8(c);
    return value;
}

/* Decode a number whose lowest bit is the sign. */
static uint32_t signed_of(uint32_t value) {
    return value & 1 ? 0 - (value >> 1) : value >> 1;
}

/* The state of the annotations of a site, which are run as a program. */
typedef struct annotation_state {
    uint32_t offset; /* in the function */
    uint32_t chunk;  /* part of the function; only spans in chunk 0 are kept */
    uint32_t file, line;
    bool is_open;    /* the last span of the site needs an end */
} annotation_state;

static void close_span(pdb_reader *reader, annotation_state *state, uint32_t end) {
    pdb_span *last = reader->spans.items + reader->spans.count - 1;
    if (!state->is_open) return;
    state->is_open = false;
    last->end = end < reader->function.size ? end : reader->function.size;
    if ((uint32_t)last->key >= last->end) reader->spans.count--;
}

/* Begin a span at the offset. */
static bool open_span(pdb_reader *reader, annotation_state *state, uint32_t level) {
    close_span(reader, state, state->offset);
    if (state->chunk != 0) return true;
    state->is_open = true;
    return LIST_ADD(reader->spans, (pdb_span){(uint64_t)level << 32 | state->offset, 0,
                                              (uint32_t)reader->sites.count, state->file,
                                              state->line});
}

/* Run an operation. False where memory ran out. */
static bool annotate(pdb_reader *reader, annotation_state *state, uint32_t op, cursor *c,
                     uint32_t level) {
    uint32_t value = compressed(c), length;
    switch (op) {
        case BA_OP_CODE_OFFSET: state->offset = value; return true;
        case BA_OP_CHANGE_CODE_OFFSET_BASE: state->chunk = value; return true;
        case BA_OP_CHANGE_FILE: return pdb_file_index(reader, value, &state->file);
        case BA_OP_CHANGE_LINE_OFFSET: state->line += signed_of(value); return true;
        case BA_OP_CHANGE_CODE_LENGTH:
            state->offset += value;
            close_span(reader, state, state->offset);
            return true;
        case BA_OP_CHANGE_CODE_OFFSET:
            state->offset += value;
            return open_span(reader, state, level);
        case BA_OP_CHANGE_CODE_OFFSET_AND_LINE_OFFSET:
            state->offset += value & 0xf;
            state->line += signed_of(value >> 4);
            return open_span(reader, state, level);
        case BA_OP_CHANGE_CODE_LENGTH_AND_CODE_OFFSET:
            length = value;
            state->offset += compressed(c);
            if (!open_span(reader, state, level)) return false;
            close_span(reader, state, state->offset + length);
            return true;
        default: return true; /* operations for columns and ends of lines */
    }
}

bool pdb_inlines_add_site(pdb_reader *reader, uint32_t parent, uint32_t inlinee,
                          cursor annotations) {
    pdb_site site = {.parent = parent, .inlinee = inlinee, .level = 1};
    annotation_state state = {0};
    uint64_t declared;
    cursor c = annotations;
    if (parent != 0) site.level = reader->sites.items[parent - 1].level + 1;
    if (!LIST_ADD(reader->sites, site)) return false;
    if (number_map_find(&reader->inlinees, inlinee, &declared)) {
        const pdb_inlinee *found = &reader->inlinee_lines.items[declared];
        state.line = found->line;
        if (!pdb_file_index(reader, found->file, &state.file)) return false;
    }
    while (cursor_left(&c) > 0 && site.level <= MAX_LEVELS) {
        uint32_t op = compressed(&c);
        if (op == BA_OP_END) break;
        if (op >= BA_OP_COUNT) c.failed = true;
        if (!c.failed && !annotate(reader, &state, op, &c, site.level)) return false;
        if (c.failed) break;
    }
    if (state.is_open) reader->spans.count--; /* the last span has no end and is dropped */
    if (c.failed || site.level > MAX_LEVELS)
        dwarf_warn(reader->warnings,
                   c.failed ? GSYM_WARN_PDB_SYMBOL : GSYM_WARN_LIMIT,
                   reader->function.offset, inlinee);
    return true;
}

/* ---- levels -------------------------------------------------------------------------- */

static uint32_t start_of(const pdb_span *span) { return (uint32_t)span->key; }

/* Return the number of the record of a site whose call has the line of the span `caller`;
 * if there is none, it is made. 0: memory ran out. */
static uint32_t record_of(pdb_reader *reader, uint32_t site, const pdb_span *caller) {
    pdb_site *called = &reader->sites.items[site - 1];
    uint32_t at = called->newest;
    for (unsigned i = 0; at != 0 && i < RECORDS_SEARCHED; ++i) {
        const pdb_site_record *record = &reader->records.items[at - 1];
        if (record->call_file == caller->file && record->call_line == caller->line)
            return at;
        at = record->previous;
    }
    if (!LIST_ADD(reader->records,
                  (pdb_site_record){site, caller->file, caller->line, called->newest}))
        return 0;
    called->newest = (uint32_t)reader->records.count;
    return called->newest;
}

/* Add the part of a span from `start` to `end`, which lies inside of the span `caller`. */
static bool put_part(pdb_reader *reader, const pdb_span *span, size_t caller,
                     uint32_t start, uint32_t end) {
    pdb_span part = *span, above = reader->placed.items[caller];
    uint32_t record = record_of(reader, span->site, &above);
    if (record == 0) return false;
    part.key = (part.key & ~(uint64_t)UINT32_MAX) | start;
    part.end = end;
    return LIST_ADD(reader->placed, part) &&
           LIST_ADD(reader->pieces,
                    (inline_piece){part.key - (UINT64_C(1) << 32), end, record - 1});
}

/* Cut a span from `start` on where the spans of the level above change. */
static bool place_span(pdb_reader *reader, const pdb_span *span, uint32_t start,
                       size_t *above, size_t level_first) {
    uint32_t parent = reader->sites.items[span->site - 1].parent;
    bool is_covered = true;
    while (start < span->end && reader->row_budget > 0) {
        const pdb_span *caller;
        uint32_t end;
        while (*above < level_first && reader->placed.items[*above].end <= start) ++*above;
        caller = &reader->placed.items[*above];
        if (*above == level_first || start_of(caller) >= span->end) {
            is_covered = false;
            break;
        }
        reader->row_budget--;
        if (start < start_of(caller)) start = start_of(caller), is_covered = false;
        end = span->end < caller->end ? span->end : caller->end;
        if (caller->site != parent)
            is_covered = false;
        else if (!put_part(reader, span, *above, start, end))
            return false;
        start = end;
    }
    if (!is_covered)
        dwarf_warn(reader->warnings, GSYM_WARN_INLINE_UNCONTAINED, reader->function.offset,
                   reader->function.address + start);
    return true;
}

/* Add the spans of level 0: the rows of the function, which cover all of it. */
static bool put_own_spans(pdb_reader *reader, const unit_function *function) {
    const gsym_line_row *row = reader->result->rows.items + function->row_first;
    pdb_span span = {.end = reader->function.size};
    reader->placed.count = 0;
    if (!LIST_RESERVE(reader->placed, (size_t)function->row_count + 1)) return false;
    for (uint32_t i = 0; i < function->row_count; ++i, ++row) {
        uint64_t offset = row->address < function->address
                              ? 0
                              : row->address - function->address;
        if (offset > span.key) {
            reader->placed.items[reader->placed.count] = span;
            reader->placed.items[reader->placed.count++].end = (uint32_t)offset;
        }
        span.key = offset;
        span.file = row->file;
        span.line = row->line;
    }
    reader->placed.items[reader->placed.count++] = span;
    return true;
}

/* Order spans by level and start, then by site. Two spans compare equal only if it does not
 * matter which is first, so the order does not depend on the implementation of qsort(). */
static int compare_spans(const void *left, const void *right) {
    const pdb_span *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->site != b->site) return a->site < b->site ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Add the spans of all sites, level by level; of those that overlap, the one that starts
 * first keeps all of its bytes. */
static bool place_spans(pdb_reader *reader) {
    size_t above = 0, level_first = reader->placed.count;
    uint32_t level = 1, covered = 0;
    qsort(reader->spans.items, reader->spans.count, sizeof *reader->spans.items,
          compare_spans);
    for (size_t i = 0; i < reader->spans.count; ++i) {
        const pdb_span *span = &reader->spans.items[i];
        if ((span->key >> 32) != level) {
            above = level_first;
            level_first = reader->placed.count;
            covered = 0;
            /* A level without spans has no levels below it. */
            if ((span->key >> 32) != ++level || above == level_first) break;
        }
        if (!place_span(reader, span, start_of(span) < covered ? covered : start_of(span),
                        &above, level_first))
            return false;
        if (span->end > covered) covered = span->end;
    }
    if (reader->row_budget == 0)
        dwarf_warn(reader->warnings, GSYM_WARN_LIMIT, reader->function.offset,
                   reader->function.address);
    return true;
}

/* ---- rows and nodes of a function ---------------------------------------------------- */

static bool put_row(pdb_reader *reader, const unit_function *function, uint32_t start,
                    const pdb_span *span) {
    row_list *rows = &reader->result->rows;
    gsym_line_row row = {function->address + start, span->file, span->line};
    if (rows->count >= NO_INDEX) return true;
    if (rows->count > function->row_first &&
        rows->items[rows->count - 1].address == row.address)
        rows->count--;
    return LIST_ADD(*rows, row);
}

/* Close the innermost open span at its end, where the span around it gets another row. */
static bool end_span(pdb_reader *reader, const unit_function *function) {
    const pdb_span *spans = reader->placed.items;
    uint32_t end = spans[reader->open.items[--reader->open.count]].end;
    return reader->open.count == 0 ||
           put_row(reader, function, end,
                   &spans[reader->open.items[reader->open.count - 1]]);
}

/* Make rows of the placed spans: at each address, of the span with the deepest level. */
static bool make_rows(pdb_reader *reader, unit_function *function) {
    pdb_span_list *placed = &reader->placed;
    function->row_first = (uint32_t)reader->result->rows.count;
    reader->open.count = 0;
    for (size_t i = 0; i < placed->count; ++i)
        placed->items[i].key = placed->items[i].key << 32 | placed->items[i].key >> 32;
    sort_by_u64(placed->items, placed->count, sizeof *placed->items);
    for (size_t i = 0; i < placed->count; ++i) {
        const pdb_span *span = &placed->items[i];
        uint32_t start = (uint32_t)(span->key >> 32);
        while (reader->open.count > 0 &&
               placed->items[reader->open.items[reader->open.count - 1]].end <= start)
            if (!end_span(reader, function)) return false;
        if (!put_row(reader, function, start, span) || !LIST_ADD(reader->open, i))
            return false;
    }
    while (reader->open.count > 0)
        if (!end_span(reader, function)) return false;
    function->row_count = (uint32_t)(reader->result->rows.count - function->row_first);
    return true;
}

static bool make_nodes(pdb_reader *reader, unit_function *function) {
    unit_functions *result = reader->result;
    inline_builder *builder = &reader->builder;
    size_t first_range = result->ranges.count;
    if (!inline_builder_build(builder, function->address, (uint32_t)function->size,
                              reader->pieces.items, reader->pieces.count,
                              reader->records.count))
        return false;
    if (builder->nodes.count == 1 || builder->nodes.count > NO_INDEX - result->nodes.count)
        return true;
    function->node_first = (uint32_t)result->nodes.count;
    for (size_t i = 0; i < builder->nodes.count; ++i) {
        const gsym_inline_node *made = &builder->nodes.items[i];
        unit_node node = {.name = function->name,
                          .file_code = FILE_NONE,
                          .depth = made->depth,
                          .range_first = made->range_first + (uint32_t)first_range,
                          .range_count = made->range_count};
        if (i > 0) {
            const pdb_site_record *record =
                &reader->records.items[builder->node_records.items[i]];
            node.file_code = result->file_codes.items[record->call_file];
            node.call_line = record->call_line;
            if (!pdb_name_of_id(reader, reader->sites.items[record->site - 1].inlinee,
                                &node.name))
                return false;
        }
        if (!LIST_ADD(result->nodes, node)) return false;
    }
    function->node_count = (uint32_t)builder->nodes.count;
    for (size_t i = 0; i < builder->ranges.count; ++i)
        if (!LIST_ADD(result->ranges, builder->ranges.items[i])) return false;
    return true;
}

/* Make the spans and pieces of a function. */
static bool place_all(pdb_reader *reader, const unit_function *function) {
    reader->pieces.count = reader->records.count = 0;
    return put_own_spans(reader, function) && place_spans(reader);
}

bool pdb_inlines_join(pdb_reader *reader, unit_function *function) {
    return place_all(reader, function) && make_nodes(reader, function) &&
           make_rows(reader, function);
}

/* ---- moved functions ----------------------------------------------------------------- */

bool pdb_inlines_join_source(pdb_reader *reader, const unit_function *source) {
    pdb_span_list placed;
    inline_piece_list pieces;
    if (!place_all(reader, source)) return false;
    placed = reader->source_placed;
    reader->source_placed = reader->placed;
    reader->placed = placed;
    pieces = reader->source_pieces;
    reader->source_pieces = reader->pieces;
    reader->pieces = pieces;
    return true;
}

/* Add the spans and pieces of a level that are in one moved range, which begins at `offset`
 * of the part. */
static bool move_spans(pdb_reader *reader, uint64_t level, const pdb_moved *moved,
                       uint32_t offset) {
    const pdb_span_list *spans = &reader->source_placed;
    size_t own_count = spans->count - reader->source_pieces.count, at = 0;
    uint32_t source = (uint32_t)(reader->function.address - reader->base);
    uint32_t start = moved->start - source, end = moved->end - source;
    size_t placed_before = reader->placed.count;
    SEARCH_SORTED(at, spans->count, spans->items[middle].key <= (level | start));
    if (at > 0 && spans->items[at - 1].key >= level && spans->items[at - 1].end > start)
        --at;
    for (; at < spans->count && spans->items[at].key < (level | end); ++at) {
        pdb_span span = spans->items[at];
        uint32_t first = start_of(&span) > start ? start_of(&span) : start;
        span.key = level | (offset + (first - start));
        span.end = offset + ((span.end < end ? span.end : end) - start);
        if (!LIST_ADD(reader->placed, span)) return false;
        if (level == 0) continue;
        if (!LIST_ADD(reader->pieces,
                      (inline_piece){span.key - (UINT64_C(1) << 32), span.end,
                                     reader->source_pieces.items[at - own_count].record}))
            return false;
    }
    return dwarf_spend(&reader->budget->rows, reader->placed.count - placed_before);
}

bool pdb_inlines_move(pdb_reader *reader, unit_function *part, size_t first, size_t count) {
    const pdb_moved *moved = reader->moved.items + first;
    const pdb_span_list *spans = &reader->source_placed;
    uint64_t levels = (spans->items[spans->count - 1].key >> 32) + 1;
    const gsym_line_row *row;
    reader->placed.count = reader->pieces.count = 0;
    if (!dwarf_spend(&reader->budget->visits, levels * count)) return false;
    for (uint64_t level = 0; level < levels; ++level)
        for (size_t i = 0; i < count; ++i)
            if (!move_spans(reader, level << 32, &moved[i], moved[i].to - moved[0].to))
                return false;
    if (!make_nodes(reader, part) || !make_rows(reader, part)) return false;
    for (row = reader->result->rows.items + part->row_first;
         part->row_count > 0 && row->file == 0; ++row, --part->row_count)
        ++part->row_first;
    return true;
}
