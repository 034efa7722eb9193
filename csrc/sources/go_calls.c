/* go_calls.c - make a tree of the inlined calls of a Go function.
 *
 * A pc-value table gives, for each part of a function, the innermost inlined call. A list
 * elsewhere has the name and the caller of each call. Since Go 1.20 the caller is an offset
 * in the function: file, line and call at this offset are those of the caller. */
#include "sources/go.h"

enum {
    CALL_SIZE = 16,        /* bytes of an inlined call since Go 1.20 */
    CALL_SIZE_BEFORE = 20
};

/* ---- the bytes of each call -------------------------------------------------------- */

/* List the spans. *count_ret is the greatest number of a call in them, plus 1. */
static gsym_status read_spans(go_reader *reader, const go_function *function,
                              uint32_t size, uint32_t *count_ret, gsym_error *error) {
    go_values values = go_values_at(&reader->table, function->calls);
    *count_ret = 0;
    reader->spans.count = 0;
    while (values.end < size && go_values_next(&values)) {
        uint32_t end = values.end < size ? (uint32_t)values.end : size;
        if (!go_reader_spend(reader, 1)) break;
        if (values.value < 0 || values.start >= end) continue;
        if (!LIST_ADD(reader->spans,
                      (go_call_span){(uint32_t)values.start, end, (uint32_t)values.value}))
            return gsym_fail_memory(error);
        if ((uint32_t)values.value >= *count_ret) *count_ret = (uint32_t)values.value + 1;
    }
    return GSYM_OK;
}

/* Return the innermost call at `offset`. */
static uint32_t call_at(const go_reader *reader, uint32_t offset) {
    const go_call_span *spans = reader->spans.items;
    size_t low = 0;
    SEARCH_SORTED(low, reader->spans.count, spans[middle].end <= offset);
    return low < reader->spans.count && spans[low].start <= offset ? spans[low].call
                                                                   : GO_NO_CALL;
}

/* ---- the calls --------------------------------------------------------------------- */

/* Take file and line of the caller from the row of the byte at `offset`. */
static void place_caller(const go_reader *reader, const go_function *function,
                         uint32_t offset, go_call *call) {
    const gsym_line_row *rows = reader->rows.items;
    size_t low = 0;
    SEARCH_SORTED(low, reader->rows.count,
                  rows[middle].address - function->address <= offset);
    if (low == 0) return;
    call->call_file = rows[low - 1].file;
    call->call_line = rows[low - 1].line;
}

static gsym_status read_call(go_reader *reader, const go_function *function, cursor *c,
                             go_call *call, gsym_error *error) {
    if (reader->table.layout == GO_LAYOUT_1_20) {
        uint32_t caller;
        cursor_skip(c, 4); /* kind of the function */
        call->name = cursor_u32(c);
        caller = cursor_u32(c);
        cursor_skip(c, 4); /* line of its start */
        call->parent = call_at(reader, caller);
        place_caller(reader, function, caller, call);
    } else {
        int16_t parent = (int16_t)cursor_u16(c);
        int32_t file, line;
        cursor_skip(c, 2);
        file = (int32_t)cursor_u32(c);
        line = (int32_t)cursor_u32(c);
        call->parent = parent < 0 ? GO_NO_CALL : (uint32_t)parent;
        call->call_line = line < 0 ? 0 : (uint32_t)line;
        call->name = cursor_u32(c);
        cursor_skip(c, 4); /* address of the caller */
        return go_file_number(reader, function, file, &call->call_file, error);
    }
    return GSYM_OK;
}

/* Read the first `count` calls. *is_sound_ret is false if they cannot be calls in this
 * function. */
static gsym_status read_calls(go_reader *reader, const go_function *function,
                              uint32_t count, bool *is_sound_ret, gsym_error *error) {
    bool is_new = reader->table.layout == GO_LAYOUT_1_20;
    cursor c = go_bytes_at(&reader->table, function->tree);
    reader->calls.count = 0;
    *is_sound_ret = cursor_left(&c) / (is_new ? CALL_SIZE : CALL_SIZE_BEFORE) >= count &&
                    go_reader_spend(reader, count);
    if (!*is_sound_ret) return GSYM_OK;
    if (!LIST_RESERVE(reader->calls, count)) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i) {
        go_call *call = &reader->calls.items[i];
        memset(call, 0, sizeof *call);
        GSYM_TRY(read_call(reader, function, &c, call, error));
        reader->calls.count++;
        if (call->parent == GO_NO_CALL) continue;
        /* The compiler gives a caller a lower number than the calls in it. */
        *is_sound_ret = call->parent < i;
        if (!*is_sound_ret) return GSYM_OK;
        call->level = reader->calls.items[call->parent].level + 1;
    }
    return GSYM_OK;
}

/* ---- the tree ---------------------------------------------------------------------- */

/* Add each span as a piece of its call, and as a piece of each call that contains this
 * call. */
static gsym_status make_pieces(go_reader *reader, gsym_error *error) {
    const go_call *calls = reader->calls.items;
    reader->pieces.count = 0;
    for (size_t i = 0; i < reader->spans.count; ++i) {
        const go_call_span *span = &reader->spans.items[i];
        uint32_t levels = calls[span->call].level + 1;
        if (!go_reader_spend(reader, levels)) return GSYM_OK;
        if (!LIST_RESERVE(reader->pieces, levels)) return gsym_fail_memory(error);
        for (uint32_t call = span->call; call != GO_NO_CALL; call = calls[call].parent)
            reader->pieces.items[reader->pieces.count++] =
                (inline_piece){(uint64_t)calls[call].level << 32 | span->start, span->end,
                               call};
    }
    return GSYM_OK;
}

static gsym_status name_nodes(go_reader *reader, const go_function *function, uint64_t name,
                              gsym_error *error) {
    gsym_inline_node *nodes = reader->builder.nodes.items;
    const uint32_t *calls = reader->builder.node_records.items;
    nodes[0].name = name;
    for (size_t i = 1; i < reader->builder.nodes.count; ++i) {
        const go_call *call = &reader->calls.items[calls[i]];
        bool is_known;
        nodes[i].call_file = call->call_file;
        nodes[i].call_line = call->call_line;
        GSYM_TRY(
            go_name_number(reader, call->name, &is_known, &nodes[i].name, error));
        if (!is_known) go_reader_warn(reader, GSYM_WARN_GO_CALLS, function);
    }
    return GSYM_OK;
}

gsym_status go_calls_read(go_reader *reader, const go_function *function,
                          uint32_t size, uint64_t name, gsym_error *error) {
    inline_builder *builder = &reader->builder;
    uint32_t count;
    bool is_sound = false;
    builder->nodes.count = 0;
    if (function->calls == 0) return GSYM_OK;
    GSYM_TRY(read_spans(reader, function, size, &count, error));
    if (count == 0) return GSYM_OK;
    if (function->tree != 0)
        GSYM_TRY(read_calls(reader, function, count, &is_sound, error));
    if (!is_sound) {
        go_reader_warn(reader, GSYM_WARN_GO_CALLS, function);
        return GSYM_OK;
    }
    GSYM_TRY(make_pieces(reader, error));
    if (!inline_builder_build(builder, function->address, size, reader->pieces.items,
                              reader->pieces.count, reader->calls.count))
        return gsym_fail_memory(error);
    if (builder->beyond_limit > 0) go_reader_warn(reader, GSYM_WARN_LIMIT, function);
    if (builder->nodes.count == 1) builder->nodes.count = 0; /* a tree that is only the
                                                                root is omitted */
    return builder->nodes.count == 0 ? GSYM_OK
                                     : name_nodes(reader, function, name, error);
}
