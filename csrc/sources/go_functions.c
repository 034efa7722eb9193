/* go_functions.c - add the functions of a pclntab, with lines and inlined calls. */
#include "sources/go.h"

/* Functions share equal pc-value tables. If all functions share one, reading it for each of
 * them could take any amount of work, so the work is limited by the size of the pclntab.
 * Limit: Values and inlined calls of the functions of a pclntab, which may be shared */
LIMIT(TABLE_STEPS, 1 << 16, 16);

/* ---- lines ------------------------------------------------------------------------- */

/* A position in the table of lines or the table of files of a function. */
typedef struct row_source {
    go_values values;
    bool is_open; /* the table has a value here */
} row_source;

/* Continue to the value at `offset`. */
static void advance(go_reader *reader, row_source *source, uint64_t offset) {
    while (source->is_open && source->values.end <= offset)
        source->is_open = go_values_next(&source->values) && go_reader_spend(reader, 1);
}

static uint64_t end_of(const row_source *source) {
    return source->is_open ? source->values.end : UINT64_MAX;
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
        if (!LIST_RESERVE(reader->rows, 1)) return gsym_fail_memory(error);
        row_list_put(&reader->rows,
                     (gsym_line_row){function->address + at, file,
                                     lines.is_open && lines.values.value > 0
                                         ? (uint32_t)lines.values.value
                                         : 0});
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
    inline_builder_fill(&reader->builder, &made);
    ++*count_ret;
    return gsym_creator_add_function(reader->creator, &made, GSYM_ORIGIN_DEBUG_INFO, error);
}

static gsym_status add_functions(go_reader *reader, uint64_t *count_ret,
                                 gsym_error *error) {
    uint64_t size = reader->table.end - reader->table.offset;
    reader->work_left = LIMIT_OF(TABLE_STEPS, size);
    creator_raise_string_limit(reader->creator, size);
    for (uint32_t i = 0; i < reader->table.function_count; ++i) {
        go_function function;
        if (!go_pclntab_function(&reader->table, i, &function))
            go_reader_warn(reader, GSYM_WARN_GO_FUNCTION, &function);
        else if (!function.is_gap)
            GSYM_TRY(add_function(reader, &function, count_ret, error));
    }
    return GSYM_OK;
}

/* Find out whether the creator has a function already that starts where a function of the
 * table starts. */
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
    go_reader_deinit(&reader);
    return status;
}
