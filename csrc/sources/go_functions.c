/* go_functions.c - functions of a pclntab with lines and inlined calls -> creator. */
#include "sources/go_reader.h"

enum {
    /* Values and calls to a byte of the table. Functions share the tables that are equal,
     * and one that all share could stand for any amount of work. */
    WORK_PER_BYTE = 16,
    LEAST_WORK = 1 << 16
};

void go_reader_warn(go_reader *reader, gsym_warning_category category,
                    const go_function *function) {
    dwarf_warn(conversion_warnings(reader->conversion), category, function->offset,
               function->address);
}

bool go_reader_spend(go_reader *reader, uint64_t count) {
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

/* ---- lines ------------------------------------------------------------------------- */

/* One of the two tables that a row is of, at some place of the function. */
typedef struct row_source {
    go_values values;
    bool is_open; /* it has a value here */
} row_source;

/* Go on to the value that holds at `offset`. */
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
    if (!ARRAY_RESERVE(*rows, 1)) return gsym_fail_memory(error);
    rows->items[rows->count++] = row;
    return GSYM_OK;
}

/* Make the rows. *size_ret is where they end: behind the code, while the next function
 * starts behind what fills up. Where that is not known, it is where that one starts. */
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
    reader->work_left = WORK_PER_BYTE * size + LEAST_WORK;
    creator_supply_strings(reader->creator, size);
    if (!number_map_init(&reader->files) || !number_map_init(&reader->names))
        return gsym_fail_memory(error);
    for (uint32_t i = 0; i < reader->table.function_count; ++i) {
        go_function function;
        if (!go_pclntab_function(&reader->table, i, &function))
            go_reader_warn(reader, GSYM_WARN_GO_FUNCTION, &function);
        else if (!function.is_gap)
            GSYM_TRY(add_function(reader, &function, count_ret, error));
    }
    return GSYM_OK;
}

/* Whether a function that the creator has already starts where one of the table does. */
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
    if (!is_found) return GSYM_OK;
    if (only_undescribed) GSYM_TRY(is_described(&reader, &is_known, error));
    if (is_known) return GSYM_OK;
    if (reader.table.work_left == 0)
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_LIMIT, reader.table.offset,
                   reader.table.address);
    status = add_functions(&reader, count_ret, error);
    deinit(&reader);
    return status;
}
