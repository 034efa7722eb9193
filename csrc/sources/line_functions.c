/* line_functions.c - add the functions of line tables that no unit refers to.
 *
 * Compilers of GPUs write line tables without DIEs, for profilers (-lineinfo). Each symbol
 * of a function gets the rows of its addresses. Line programs of CUDA have inlined calls,
 * too: a call applies to the rows after it, and names the row from which it is made, which
 * may be of another inlined call.
 *
 * Source for CUDA: the output of nvdisasm -gi beside the bytes that ptxas writes. */
#include "create/inline_builder.h"
#include "dwarf/line.h"
#include "sources/conversion.h"
#include "sources/debug_files.h"
#include "sources/symbols.h"

/* Limit: Rows and inlined calls of line tables without DIEs, which functions may share */
LIMIT(TABLE_STEPS, 1 << 20, 64);

/* An inlined call; equal calls of a sequence are one. */
typedef struct known_call {
    line_call made;
    uint32_t outer; /* index plus 1 of the call that it is in; 0: none */
    uint32_t level;
    uint32_t last_piece; /* index plus 1 of its last piece in the function; 0: none */
} known_call;

typedef struct table_reader {
    gsym_conversion *conversion;
    gsym_creator *creator;
    symbol_function_list functions;
    dwarf_unit_header header;
    dwarf_unit unit; /* stands for the unit that the table does not have */
    dwarf_budget budget;
    dwarf_line_table table;
    row_list rows;
    line_calls calls;
    bool has_calls;
    number_map files; /* index of a file of the table -> file of the output */
    number_map names; /* offset in .debug_str -> strp */
    number_map numbers; /* caller and name -> index in `known`, of one sequence */
    LIST(known_call) known;
    LIST(uint32_t) known_of; /* for each call of the table its index in `known` plus 1 */
    uint64_t work_left;
    /* scratch for one function */
    buffer path;
    row_list own;
    inline_piece_list pieces;
    inline_builder builder;
    uint64_t count;
} table_reader;

static void deinit(table_reader *reader) {
    free(reader->functions.items);
    dwarf_line_table_deinit(&reader->table);
    free(reader->rows.items);
    free(reader->calls.calls.items);
    free(reader->calls.of_rows.items);
    number_map_deinit(&reader->files);
    number_map_deinit(&reader->names);
    number_map_deinit(&reader->numbers);
    free(reader->known.items);
    free(reader->known_of.items);
    buffer_deinit(&reader->path);
    free(reader->own.items);
    free(reader->pieces.items);
    inline_builder_deinit(&reader->builder);
}

static void warn(const table_reader *reader, gsym_warning_category category,
                 uint64_t value) {
    dwarf_warn(conversion_warnings(reader->conversion), category, reader->unit.stmt_list,
               value);
}

static gsym_status file_number(table_reader *reader, uint32_t index, uint32_t *file_ret,
                               gsym_error *error) {
    const line_file *file;
    uint64_t known;
    bool is_none;
    *file_ret = 0;
    if (number_map_find(&reader->files, index, &known)) {
        *file_ret = (uint32_t)known;
        return GSYM_OK;
    }
    file = dwarf_line_table_file(&reader->table, index, &is_none);
    if (file != NULL) {
        buffer *path = &reader->path;
        path->size = 0;
        dwarf_line_table_path(&reader->table, file, &reader->unit, path);
        path_rules_apply(conversion_input(reader->conversion)->path_rules, path, 0);
        if (path->failed) return gsym_fail_memory(error);
        GSYM_TRY(creator_intern_path(reader->creator, (const char *)path->bytes, path->size,
                                     string_hash((const char *)path->bytes, path->size),
                                     file_ret, error));
    } else if (!is_none) {
        warn(reader, GSYM_WARN_LINE_FILE_INDEX, index);
    }
    return number_map_set(&reader->files, index, *file_ret) ? GSYM_OK
                                                            : gsym_fail_memory(error);
}

/* Intern the name at an offset of .debug_str. The strp is 0 if the offset is invalid. */
static gsym_status name_number(table_reader *reader, uint64_t offset, uint64_t *strp_ret,
                               gsym_error *error) {
    cursor c = dwarf_section(reader->unit.input, GSYM_DEBUG_STR, offset);
    const char *text;
    size_t size = 0;
    *strp_ret = 0;
    if (number_map_find(&reader->names, offset, strp_ret)) return GSYM_OK;
    text = cursor_name(&c, reader->unit.long_names, &size);
    if (text != NULL && size > 0)
        GSYM_TRY(creator_intern(reader->creator, text, size, string_hash(text, size),
                                strp_ret, error));
    return number_map_set(&reader->names, offset, *strp_ret) ? GSYM_OK
                                                             : gsym_fail_memory(error);
}

/* ---- inlined calls ------------------------------------------------------------------- */

/* Return the call that a row is in, as an index in `known` plus 1; 0: none. */
static uint32_t call_of_row(const table_reader *reader, size_t row) {
    uint32_t call = reader->has_calls ? reader->calls.of_rows.items[row] : 0;
    return call == 0 ? 0 : reader->known_of.items[call - 1];
}

/* List the calls of a sequence; those that are in no row of it are left out. */
static gsym_status list_calls(table_reader *reader, const line_sequence *sequence,
                              gsym_error *error) {
    size_t count = reader->calls.calls.count;
    uint32_t last = 0;
    reader->known.count = 0;
    if (!reader->has_calls) return GSYM_OK;
    if (!number_map_reset(&reader->numbers, count) ||
        !LIST_RESERVE(reader->known_of, count))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < sequence->row_count; ++i) {
        uint32_t call = reader->calls.of_rows.items[sequence->row_first + i];
        const line_call *made;
        uint64_t key, number;
        if (call == 0 || call == last) continue;
        last = call;
        made = &reader->calls.calls.items[call - 1];
        key = ((uint64_t)made->caller << 32 | (made->name & UINT32_MAX)) + 1;
        if (!number_map_find(&reader->numbers, key, &number)) {
            /* The row of the caller is before the call, so its own call is listed. */
            uint32_t outer =
                call_of_row(reader, sequence->row_first + (size_t)made->caller - 1);
            number = reader->known.count;
            if (!LIST_ADD(reader->known,
                          (known_call){.made = *made,
                                       .outer = outer,
                                       .level = outer == 0 ? 0
                                                           : reader->known.items[outer - 1]
                                                                     .level + 1}) ||
                !number_map_set(&reader->numbers, key, number))
                return gsym_fail_memory(error);
        }
        reader->known_of.items[call - 1] = (uint32_t)number + 1;
    }
    return GSYM_OK;
}

/* Add the bytes of a row, from `start` to `end` in the function, to the pieces of its
 * calls, from the innermost one outwards. */
static gsym_status add_pieces(table_reader *reader, size_t row, uint32_t start,
                              uint32_t end, gsym_error *error) {
    for (uint32_t at = call_of_row(reader, row); at != 0;) {
        known_call *call = &reader->known.items[at - 1];
        inline_piece *last = call->last_piece == 0
                                 ? NULL
                                 : &reader->pieces.items[call->last_piece - 1];
        if (reader->work_left == 0) return GSYM_OK;
        reader->work_left--;
        if (last != NULL && last->end == start) {
            last->end = end;
        } else {
            if (!LIST_ADD(reader->pieces,
                          (inline_piece){(uint64_t)call->level << 32 | start, end, at - 1}))
                return gsym_fail_memory(error);
            call->last_piece = (uint32_t)reader->pieces.count;
        }
        at = call->outer;
    }
    return GSYM_OK;
}

static gsym_status make_tree(table_reader *reader, const line_sequence *sequence,
                             gsym_function *function, gsym_error *error) {
    inline_builder *builder = &reader->builder;
    if (!inline_builder_build(builder, function->address, (uint32_t)function->size,
                              reader->pieces.items, reader->pieces.count,
                              reader->known.count))
        return gsym_fail_memory(error);
    if (builder->beyond_limit > 0) warn(reader, GSYM_WARN_LIMIT, function->address);
    builder->nodes.items[0].name = function->name;
    for (size_t i = 1; i < builder->nodes.count; ++i) {
        const line_call *call = &reader->known.items[builder->node_records.items[i]].made;
        const gsym_line_row *caller =
            &reader->rows.items[sequence->row_first + (size_t)call->caller - 1];
        gsym_inline_node *node = &builder->nodes.items[i];
        node->call_line = caller->line;
        GSYM_TRY(file_number(reader, caller->file, &node->call_file, error));
        GSYM_TRY(name_number(reader, call->name, &node->name, error));
    }
    inline_builder_fill(builder, function);
    return GSYM_OK;
}

/* ---- functions ----------------------------------------------------------------------- */

/* Make the rows of a function, and the pieces of the inlined calls in it. */
static gsym_status make_rows(table_reader *reader, const line_sequence *sequence,
                             const gsym_function *function, gsym_error *error) {
    const gsym_line_row *rows = reader->rows.items;
    size_t at = sequence->row_first + 1, stop = sequence->row_first + sequence->row_count;
    uint64_t end = function->address + function->size;
    SEARCH_SORTED(at, stop, rows[middle].address <= function->address);
    for (--at; at < stop && rows[at].address < end && reader->work_left > 0; ++at) {
        gsym_line_row row = rows[at];
        uint64_t next = at + 1 < stop ? rows[at + 1].address : sequence->high;
        reader->work_left--;
        if (next <= row.address) continue; /* the next row is at the same address */
        if (next > end) next = end;
        if (row.address < function->address) row.address = function->address;
        GSYM_TRY(file_number(reader, row.file, &row.file, error));
        if (!add_changed_row(&reader->own, row)) return gsym_fail_memory(error);
        GSYM_TRY(add_pieces(reader, at, (uint32_t)(row.address - function->address),
                            (uint32_t)(next - function->address), error));
    }
    return GSYM_OK;
}

static gsym_status add_function(table_reader *reader, const line_sequence *sequence,
                                const symbol_function *symbol, gsym_error *error) {
    gsym_function function = {.address = symbol->address, .size = symbol->size};
    reader->own.count = reader->pieces.count = 0;
    for (size_t i = 0; i < reader->known.count; ++i) reader->known.items[i].last_piece = 0;
    GSYM_TRY(make_rows(reader, sequence, &function, error));
    GSYM_TRY(creator_intern(reader->creator, symbol->name, symbol->name_size,
                            string_hash(symbol->name, symbol->name_size), &function.name,
                            error));
    if (reader->pieces.count > 0)
        GSYM_TRY(make_tree(reader, sequence, &function, error));
    function.rows = reader->own.items;
    function.row_count = reader->own.count;
    reader->count++;
    return gsym_creator_add_function(reader->creator, &function, GSYM_ORIGIN_DEBUG_INFO,
                                     error);
}

/* Add the functions that start in a sequence. */
static gsym_status add_functions(table_reader *reader, const line_sequence *sequence,
                                 gsym_error *error) {
    const symbol_function *functions = reader->functions.items;
    size_t at = 0, count = reader->functions.count;
    SEARCH_SORTED(at, count, functions[middle].address < sequence->low);
    if (at == count || functions[at].address >= sequence->high) return GSYM_OK;
    GSYM_TRY(list_calls(reader, sequence, error));
    for (; at < count && functions[at].address < sequence->high; ++at) {
        uint64_t steps = 1 + reader->known.count;
        symbol_function function = functions[at];
        if (function.size == 0) function.size = sequence->high - function.address;
        if (function.size > UINT32_MAX) continue;
        reader->work_left -= steps < reader->work_left ? steps : reader->work_left;
        if (reader->work_left == 0) break;
        GSYM_TRY(add_function(reader, sequence, &function, error));
    }
    return GSYM_OK;
}

static gsym_status read_table(table_reader *reader, gsym_error *error) {
    warning_list *warnings = conversion_warnings(reader->conversion);
    bool is_read =
        reader->has_calls
            ? dwarf_run_line_program_with_calls(&reader->table, &reader->rows,
                                                &reader->calls, &reader->unit,
                                                &reader->budget, warnings)
            : dwarf_run_line_program(&reader->table, &reader->rows, &reader->unit,
                                     &reader->budget, warnings);
    if (!is_read) return conversion_fail_reading(&reader->budget, error);
    if (!number_map_reset(&reader->files, reader->table.files.count))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < reader->table.sequences.count; ++i)
        GSYM_TRY(add_functions(reader, &reader->table.sequences.items[i], error));
    return GSYM_OK;
}

static gsym_status read_tables(table_reader *reader, const debug_files *files,
                               gsym_error *error) {
    const dwarf_input *input = reader->unit.input;
    uint64_t size = input->sections[GSYM_DEBUG_LINE].size, units;
    uint64_t long_names = LIMIT_OF(TABLE_STEPS, input->sections[GSYM_DEBUG_STR].size);
    reader->unit.long_names = &long_names;
    reader->work_left = LIMIT_OF(TABLE_STEPS, size);
    while (reader->unit.stmt_list < size) {
        uint64_t offset = reader->unit.stmt_list;
        cursor c = dwarf_section(input, GSYM_DEBUG_LINE, offset);
        uint64_t length = dwarf_read_length(&c, &reader->header.offset_size);
        if (c.failed || length > cursor_left(&c)) {
            warn(reader, GSYM_WARN_LINE_PROGRAM, offset);
            return GSYM_OK;
        }
        if (!number_map_find(&files->line_tables, dwarf_key(input, offset), &units))
            GSYM_TRY(read_table(reader, error));
        if (reader->work_left == 0) {
            warn(reader, GSYM_WARN_LIMIT, offset);
            return GSYM_OK;
        }
        reader->unit.stmt_list = cursor_offset(&c) + length;
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_line_functions(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               uint64_t *count_ret, gsym_error *error) {
    const debug_files *files = conversion_files(conversion);
    const dwarf_input *input = &files->files.items[0]->input;
    bool is_cuda = object->header.format == GSYM_OBJECT_ELF &&
                   object->header.machine == EM_CUDA;
    table_reader reader = {.conversion = conversion,
                           .creator = conversion_creator(conversion),
                           .header = {.version = 4, .address_size = 8, .offset_size = 4},
                           .has_calls = is_cuda};
    gsym_status status;
    *count_ret = 0;
    if (object->header.format != GSYM_OBJECT_ELF ||
        input->sections[GSYM_DEBUG_LINE].size == 0 ||
        (input->sections[GSYM_DEBUG_INFO].size > 0 && !is_cuda))
        return GSYM_OK;
    reader.unit = (dwarf_unit){.input = input,
                               .code = input,
                               .header = &reader.header,
                               .section = GSYM_DEBUG_INFO,
                               .has_stmt_list = true,
                               .comp_dir = {"", 0}};
    conversion_set_budget(conversion, &reader.budget);
    status = elf_list_functions(conversion, object, &reader.functions, error);
    if (status == GSYM_OK) status = read_tables(&reader, files, error);
    *count_ret = reader.count;
    deinit(&reader);
    return status;
}
