/* writer.c - write gsym_function_infos to a GSYM file. */
#include "internal.h"

/* The source file of the previous row. Most rows have the same one. */
typedef struct known_source {
    const char *directory;
    const char *filename;
    uint32_t file;
} known_source;

struct gsym_writer {
    gsym_creator *creator;
    known_source source;
    uint8_t *bytes; /* of the finished file */
};

/* A gsym_function that is being made of a gsym_function_info. All arrays are in one
 * block. */
typedef struct encoded {
    gsym_writer *writer;
    uint8_t *block;
    size_t used;
    gsym_error *error;
} encoded;

gsym_status gsym_writer_create(const gsym_writer_options *options, gsym_writer **writer_ret,
                               gsym_error *error) {
    static const gsym_writer_options defaults = {0};
    const gsym_writer_options *wanted = options == NULL ? &defaults : options;
    gsym_creator_options created = {
        .version = wanted->version == 0 ? GSYM_VERSION_1 : wanted->version,
        .big_endian = (wanted->flags & GSYM_WRITE_BIG_ENDIAN) != 0,
        .has_base_address = (wanted->flags & GSYM_WRITE_BASE_ADDRESS) != 0,
        .base_address = wanted->base_address,
        .has_index = (wanted->flags & GSYM_WRITE_NO_INDEX) == 0};
    gsym_writer *writer = calloc(1, sizeof *writer);
    gsym_status status;
    if (writer == NULL) return gsym_fail_memory(error);
    status = gsym_creator_create(&created, &writer->creator, error);
    if (status == GSYM_OK && wanted->uuid_size != 0)
        status =
            gsym_creator_set_uuid(writer->creator, wanted->uuid, wanted->uuid_size, error);
    if (status == GSYM_OK)
        *writer_ret = writer;
    else
        gsym_writer_destroy(writer);
    return status;
}

void gsym_writer_destroy(gsym_writer *writer) {
    if (writer == NULL) return;
    if (writer->creator != NULL) gsym_creator_destroy(writer->creator);
    free(writer->bytes);
    free(writer);
}

/* ---- functions ----------------------------------------------------------------------- */

static void *take(encoded *to, size_t count, size_t item_size) {
    void *place = to->block + to->used;
    to->used += count * item_size;
    return place;
}

static gsym_status intern(encoded *to, const char *text, uint64_t *strp_ret) {
    *strp_ret = 0;
    if (text == NULL || *text == '\0') return GSYM_OK;
    return gsym_creator_add_string(to->writer->creator, text, strlen(text), strp_ret,
                                   to->error);
}

static gsym_status intern_source(encoded *to, const char *directory, const char *filename,
                                 uint32_t *file_ret) {
    known_source *known = &to->writer->source;
    uint64_t parts[2];
    if (directory == NULL) directory = "";
    if (filename == NULL) filename = "";
    if (known->filename != NULL && strcmp(known->filename, filename) == 0 &&
        strcmp(known->directory, directory) == 0) {
        *file_ret = known->file;
        return GSYM_OK;
    }
    if (*directory != '\0') {
        GSYM_TRY(intern(to, directory, &parts[0]));
        GSYM_TRY(intern(to, filename, &parts[1]));
        GSYM_TRY(gsym_creator_add_file(to->writer->creator, parts[0], parts[1], file_ret,
                                       to->error));
    } else if (*filename != '\0')
        GSYM_TRY(gsym_creator_add_path(to->writer->creator, filename, strlen(filename),
                                       file_ret, to->error));
    else
        *file_ret = 0;
    *known = (known_source){directory, filename, *file_ret};
    return GSYM_OK;
}

static size_t range_count(const gsym_function_info *info) {
    size_t count = 0;
    for (size_t i = 0; i < info->inlined_call_count; ++i)
        count += info->inlined_calls[i].range_count;
    return count;
}

static size_t pattern_count(const gsym_function_info *info) {
    size_t count = 0;
    for (size_t i = 0; i < info->call_count; ++i) count += info->calls[i].pattern_count;
    return count;
}

/* Return the size of the arrays of a function in the block. The sizes of all items are
 * multiples of 8, so that each array is aligned. */
static size_t encoded_size(const gsym_function_info *info) {
    size_t size = info->line_count * sizeof(gsym_line_row) +
                  info->inlined_call_count * sizeof(gsym_inline_node) +
                  range_count(info) * sizeof(gsym_range) +
                  info->call_count * sizeof(gsym_call_site) +
                  pattern_count(info) * sizeof(uint64_t) +
                  info->merged_count * sizeof(gsym_function);
    for (size_t i = 0; i < info->merged_count; ++i)
        size += encoded_size(&info->merged[i]);
    return size;
}

static gsym_status encode_lines(encoded *to, const gsym_function_info *info,
                                gsym_function *function) {
    gsym_line_row *rows = take(to, info->line_count, sizeof *rows);
    for (size_t i = 0; i < info->line_count; ++i) {
        const gsym_line *line = &info->lines[i];
        rows[i] = (gsym_line_row){.address = line->address, .line = line->line};
        GSYM_TRY(intern_source(to, line->directory, line->filename, &rows[i].file));
    }
    function->rows = rows;
    function->row_count = info->line_count;
    return GSYM_OK;
}

static gsym_status encode_inlined_calls(encoded *to, const gsym_function_info *info,
                                        gsym_function *function) {
    gsym_inline_node *nodes = take(to, info->inlined_call_count, sizeof *nodes);
    gsym_range *ranges = take(to, range_count(info), sizeof *ranges);
    size_t used = 0;
    for (size_t i = 0; i < info->inlined_call_count; ++i) {
        const gsym_inlined_call *call = &info->inlined_calls[i];
        nodes[i] = (gsym_inline_node){.call_line = call->call_line,
                                      .depth = call->depth,
                                      .range_first = (uint32_t)used,
                                      .range_count = (uint32_t)call->range_count};
        GSYM_TRY(intern(to, call->function, &nodes[i].name));
        GSYM_TRY(intern_source(to, call->call_directory, call->call_filename,
                               &nodes[i].call_file));
        for (size_t n = 0; n < call->range_count; ++n)
            ranges[used++] = (gsym_range){call->ranges[n].start, call->ranges[n].end};
    }
    function->nodes = nodes;
    function->node_count = info->inlined_call_count;
    function->ranges = ranges;
    function->range_count = used;
    return GSYM_OK;
}

static gsym_status encode_calls(encoded *to, const gsym_function_info *info,
                                gsym_function *function) {
    gsym_call_site *sites = take(to, info->call_count, sizeof *sites);
    uint64_t *regexes = take(to, pattern_count(info), sizeof *regexes);
    size_t used = 0;
    for (size_t i = 0; i < info->call_count; ++i) {
        const gsym_call *call = &info->calls[i];
        sites[i] = (gsym_call_site){.return_offset = call->return_offset,
                                    .flags = call->flags,
                                    .regex_first = (uint32_t)used,
                                    .regex_count = call->pattern_count};
        for (uint32_t n = 0; n < call->pattern_count; ++n)
            GSYM_TRY(intern(to, call->patterns[n], &regexes[used++]));
    }
    function->call_sites = sites;
    function->call_site_count = info->call_count;
    function->regexes = regexes;
    function->regex_count = used;
    return GSYM_OK;
}

static gsym_status encode(encoded *to, const gsym_function_info *info,
                          gsym_function *function) {
    *function = (gsym_function){.address = info->address, .size = info->size};
    GSYM_TRY(intern(to, info->name, &function->name));
    GSYM_TRY(encode_lines(to, info, function));
    GSYM_TRY(encode_inlined_calls(to, info, function));
    return encode_calls(to, info, function);
}

static gsym_status add(encoded *to, const gsym_function_info *info) {
    gsym_function *merged = take(to, info->merged_count, sizeof *merged);
    gsym_function function;
    for (size_t i = 0; i < info->merged_count; ++i) {
        if (info->merged[i].merged_count != 0)
            return gsym_fail(to->error, GSYM_E_ARGUMENT, 0,
                             "a merged function has merged functions");
        GSYM_TRY(encode(to, &info->merged[i], &merged[i]));
    }
    GSYM_TRY(encode(to, info, &function));
    function.merged = merged;
    function.merged_count = info->merged_count;
    return gsym_creator_add_function(to->writer->creator, &function, GSYM_ORIGIN_DEBUG_INFO,
                                     to->error);
}

gsym_status gsym_writer_add(gsym_writer *writer, const gsym_function_info *info,
                            gsym_error *error) {
    encoded to = {.writer = writer, .block = malloc(encoded_size(info) + 1),
                  .error = error};
    gsym_status status;
    if (to.block == NULL) return gsym_fail_memory(error);
    status = add(&to, info);
    free(to.block);
    writer->source = (known_source){NULL, NULL, 0}; /* the caller may free these strings */
    return status;
}

gsym_status gsym_writer_add_file(gsym_writer *writer, const gsym_file *file,
                                 gsym_error *error) {
    return in_file(file->path,
                   gsym_creator_add_entries(writer->creator, file->image, NULL, error),
                   error);
}

/* ---- output -------------------------------------------------------------------------- */

gsym_status gsym_writer_save(gsym_writer *writer, const char *path, gsym_error *error) {
    gsym_creator_report report;
    GSYM_TRY(gsym_creator_finish(writer->creator, &report, error));
    return in_file(path, file_write(writer->creator, NULL, 0, false, path, error), error);
}

gsym_status gsym_writer_bytes(gsym_writer *writer, const uint8_t **bytes_ret,
                              size_t *size_ret, gsym_error *error) {
    gsym_creator_report report;
    GSYM_TRY(gsym_creator_finish(writer->creator, &report, error));
    writer->bytes = malloc((size_t)report.file_size);
    if (writer->bytes == NULL) return gsym_fail_memory(error);
    *bytes_ret = writer->bytes;
    return gsym_creator_read(writer->creator, writer->bytes, (size_t)report.file_size,
                             size_ret, error);
}
