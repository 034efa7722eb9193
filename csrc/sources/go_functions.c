/* go_functions.c - add the functions of a pclntab, with lines and inlined calls. */
#include "sources/go.h"

/* Functions share equal pc-value tables. If all functions share one, reading it for each of
 * them could take any amount of work, so the work is limited by the size of the pclntab.
 * Limit: Values and inlined calls of the functions of a pclntab, which may be shared */
LIMIT(TABLE_STEPS, 1 << 16, 16);

static void go_reader_warn(go_reader *reader, gsym_warning_category category,
                           const go_function *function) {
    dwarf_warn(conversion_warnings(reader->conversion), category, function->offset,
               function->address);
}

/* Subtract `count` from the remaining work; if there is less, the function is cut. */
static bool go_reader_spend(go_reader *reader, uint64_t count) {
    if (GSYM_LIKELY(count <= reader->work_left)) {
        reader->work_left -= count;
        return true;
    }
    reader->work_left = 0;
    reader->is_cut = true;
    return false;
}

static void deinit(go_reader *reader) {
    number_map_deinit(&reader->files);
    number_map_deinit(&reader->names);
    buffer_deinit(&reader->path);
    free(reader->rows.items);
    free(reader->calls.items);
    free(reader->spans.items);
    free(reader->pieces.items);
    inline_builder_deinit(&reader->builder);
}

/* Find the strp of a name, each of which is interned once: any number of functions may
 * share a long name. */

static gsym_status go_name_number(go_reader *reader, uint32_t place, bool *is_known_ret,
                                  uint64_t *name_ret, gsym_error *error) {
    uint64_t known; /* plus 1; 0: it has no name */
    if (!number_map_find(&reader->names, place, &known)) {
        size_t size;
        const char *text = go_pclntab_name(&reader->table, place, &size);
        known = 0;
        if (text != NULL) {
            GSYM_TRY(creator_intern(reader->creator, text, size, string_hash(text, size),
                                    &known, error));
            known++;
        }
        if (!number_map_set(&reader->names, place, known)) return gsym_fail_memory(error);
    }
    *is_known_ret = known != 0;
    *name_ret = known != 0 ? known - 1 : 0;
    return GSYM_OK;
}

static gsym_status intern_path(go_reader *reader, const char *text, size_t size,
                               uint32_t *file_ret, gsym_error *error) {
    buffer *path = &reader->path;
    path->size = 0;
    buffer_put(path, text, size);
    path_rules_apply(conversion_input(reader->conversion)->path_rules, path, 0);
    if (path->failed) return gsym_fail_memory(error);
    return creator_intern_path(reader->creator, (const char *)path->bytes, path->size,
                               string_hash((const char *)path->bytes, path->size),
                               file_ret, error);
}

/* Find the file of the output for file `number` of the function's unit; 0: unknown. */
static gsym_status go_file_number(go_reader *reader, const go_function *function,
                                  int32_t number, uint32_t *file_ret, gsym_error *error) {
    uint32_t place;
    size_t size;
    uint64_t known;
    const char *text;
    *file_ret = 0;
    if (!go_pclntab_path_offset(&reader->table, function->unit, number, &place))
        return GSYM_OK;
    if (number_map_find(&reader->files, place, &known)) {
        *file_ret = (uint32_t)known;
        return GSYM_OK;
    }
    text = go_pclntab_path(&reader->table, place, &size);
    if (text != NULL && size > 0)
        GSYM_TRY(intern_path(reader, text, size, file_ret, error));
    return number_map_set(&reader->files, place, *file_ret) ? GSYM_OK
                                                            : gsym_fail_memory(error);
}

/* ---- lines ------------------------------------------------------------------------- */

/* A position in the table of lines or that of files, from which rows are made. */
typedef struct row_source {
    go_values values;
    bool is_open; /* it has a value here */
} row_source;

/* Continue to the value at `offset`. */
static void advance(go_reader *reader, row_source *source, uint64_t offset) {
    while (source->is_open && source->values.end <= offset)
        source->is_open = go_values_next(&source->values) && go_reader_spend(reader, 1);
}

static uint64_t end_of(const row_source *source) {
    return source->is_open ? source->values.end : UINT64_MAX;
}

static gsym_status put_row(go_reader *reader, gsym_line_row row, gsym_error *error) {
    row_list *rows = &reader->rows;
    if (rows->count > 0 && rows->items[rows->count - 1].file == row.file &&
        rows->items[rows->count - 1].line == row.line)
        return GSYM_OK;
    return LIST_ADD(*rows, row) ? GSYM_OK : gsym_fail_memory(error);
}

/* Make the rows. *size_ret is the size of the code without the padding before the next
 * function; if it is not known, the distance to the next function. */
static gsym_status make_rows(go_reader *reader, const go_function *function,
                             uint32_t *size_ret, gsym_error *error) {
    row_source lines = {go_values_at(&reader->table, function->lines), true};
    row_source files = {go_values_at(&reader->table, function->files), true};
    uint64_t at = 0;
    uint32_t file = 0;
    int32_t file_value = -1;
    bool is_damaged, has_end;
    reader->rows.count = 0;
    for (;;) {
        advance(reader, &lines, at);
        advance(reader, &files, at);
        if (at >= function->size || (!lines.is_open && !files.is_open)) break;
        if (files.is_open && files.values.value != file_value)
            GSYM_TRY(go_file_number(reader, function, files.values.value, &file, error));
        file_value = files.is_open ? files.values.value : -1;
        if (!files.is_open) file = 0;
        GSYM_TRY(put_row(
            reader,
            (gsym_line_row){function->address + at, file,
                            lines.is_open && lines.values.value > 0
                                ? (uint32_t)lines.values.value
                                : 0},
            error));
        at = end_of(&lines) < end_of(&files) ? end_of(&lines) : end_of(&files);
    }
    is_damaged = lines.values.c.failed || files.values.c.failed;
    if (is_damaged) go_reader_warn(reader, GSYM_WARN_GO_VALUES, function);
    has_end = at > 0 && at < function->size && !is_damaged && !reader->is_cut;
    *size_ret = (uint32_t)(has_end ? at : function->size);
    return GSYM_OK;
}

/* Make a tree of the inlined calls of a Go function.
 *
 * A pc-value table gives, for each part of a function, the innermost inlined call. A list
 * elsewhere has the name and the caller of each call. Since Go 1.20 the caller is an offset
 * in the function: file, line and call at this offset are those of the caller. */

enum {
    CALL_SIZE = 16,        /* since Go 1.20 */
    CALL_SIZE_BEFORE = 20
};

/* ---- the bytes of each call -------------------------------------------------------- */

/* List the spans; *count_ret is the number of calls that they name. */
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
        cursor_skip(c, 4); /* which kind of function it is */
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

/* Read the first `count` calls. *is_sound_ret is false if they cannot be of this
 * function. */
static gsym_status read_calls(go_reader *reader, const go_function *function,
                              uint32_t count, bool *is_sound_ret, gsym_error *error) {
    bool is_new = reader->table.layout == GO_LAYOUT_1_20;
    cursor c = go_bytes_at(&reader->table, function->tree);
    reader->calls.count = 0;
    *is_sound_ret = cursor_left(&c) / (is_new ? CALL_SIZE : CALL_SIZE_BEFORE) >= count &&
                    go_reader_spend(reader, count);
    if (!*is_sound_ret) return GSYM_OK;
    if (!ARRAY_RESERVE(reader->calls, count)) return gsym_fail_memory(error);
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

/* Make each span a piece of its call, and of all calls that contain this one. */
static gsym_status make_pieces(go_reader *reader, gsym_error *error) {
    const go_call *calls = reader->calls.items;
    reader->pieces.count = 0;
    for (size_t i = 0; i < reader->spans.count; ++i) {
        const go_call_span *span = &reader->spans.items[i];
        uint32_t levels = calls[span->call].level + 1;
        if (!go_reader_spend(reader, levels)) return GSYM_OK;
        if (!ARRAY_RESERVE(reader->pieces, levels)) return gsym_fail_memory(error);
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

/* Make the tree of inlined calls of a function of `size` bytes, whose rows are made and
 * whose name has the strp `name`. Damaged data is a warning. */
static gsym_status go_calls_read(go_reader *reader, const go_function *function,
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
    if (builder->nodes.count == 1) builder->nodes.count = 0; /* there is only the root */
    return builder->nodes.count == 0 ? GSYM_OK
                                     : name_nodes(reader, function, name, error);
}

/* ---- functions --------------------------------------------------------------------- */

static gsym_status add_function(go_reader *reader, const go_function *function,
                                uint64_t *count_ret, gsym_error *error) {
    gsym_function made = {.address = function->address};
    uint32_t size;
    bool is_known;
    if (!dwarf_in_text(conversion_input(reader->conversion), function->address)) {
        go_reader_warn(reader, GSYM_WARN_RANGE_OUTSIDE_TEXT, function);
        return GSYM_OK;
    }
    reader->is_cut = false;
    GSYM_TRY(go_name_number(reader, function->name, &is_known, &made.name, error));
    if (!is_known || made.name == 0) {
        go_reader_warn(reader, GSYM_WARN_GO_FUNCTION, function);
        return GSYM_OK;
    }
    GSYM_TRY(make_rows(reader, function, &size, error));
    GSYM_TRY(go_calls_read(reader, function, size, made.name, error));
    if (reader->is_cut) go_reader_warn(reader, GSYM_WARN_LIMIT, function);
    made.size = size;
    made.rows = reader->rows.items;
    made.row_count = reader->rows.count;
    made.nodes = reader->builder.nodes.items;
    made.node_count = reader->builder.nodes.count;
    made.ranges = reader->builder.ranges.items;
    made.range_count = reader->builder.ranges.count;
    ++*count_ret;
    return gsym_creator_add_function(reader->creator, &made, GSYM_ORIGIN_DEBUG_INFO, error);
}

static gsym_status add_functions(go_reader *reader, uint64_t *count_ret,
                                 gsym_error *error) {
    uint64_t size = reader->table.end - reader->table.offset;
    reader->work_left = LIMIT_OF(TABLE_STEPS, size);
    creator_supply_strings(reader->creator, size);
    for (uint32_t i = 0; i < reader->table.function_count; ++i) {
        go_function function;
        if (!go_pclntab_function(&reader->table, i, &function))
            go_reader_warn(reader, GSYM_WARN_GO_FUNCTION, &function);
        else if (!function.is_gap)
            GSYM_TRY(add_function(reader, &function, count_ret, error));
    }
    return GSYM_OK;
}

/* Whether the creator has a function already that starts where one of the table does. */
static gsym_status is_described(go_reader *reader, bool *is_described_ret,
                                gsym_error *error) {
    uint32_t count = reader->table.function_count;
    uint64_t *addresses = malloc((size_t)count * sizeof *addresses + 1);
    if (addresses == NULL) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i)
        addresses[i] = go_pclntab_address(&reader->table, i);
    *is_described_ret = creator_describes(reader->creator, addresses, count);
    free(addresses);
    return GSYM_OK;
}

gsym_status gsym_conversion_add_go_functions(gsym_conversion *conversion,
                                             const gsym_object *object,
                                             uint32_t only_undescribed,
                                             uint64_t *count_ret, gsym_error *error) {
    go_reader reader = {.conversion = conversion,
                        .creator = conversion_creator(conversion)};
    bool is_found, is_known = false;
    gsym_status status;
    *count_ret = 0;
    GSYM_TRY(go_pclntab_open(object, &reader.table, &is_found, error));
    if (is_found && only_undescribed) GSYM_TRY(is_described(&reader, &is_known, error));
    if (is_known) return GSYM_OK;
    if (reader.table.work_left == 0)
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_LIMIT, reader.table.offset,
                   reader.table.address);
    if (!is_found) return GSYM_OK;
    status = add_functions(&reader, count_ret, error);
    deinit(&reader);
    return status;
}
