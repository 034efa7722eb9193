/* extraction.c - write the functions of a GSYM file as ranges and return pads.
 *
 * One pass visits the functions: it flattens each one, and writes its ranges and the return
 * pads of its calls. */
#include "base/limit.h"
#include "base/utf8.h"
#include "code/calls.h"
#include "export/function_walk.h"
#include "symbfile/levels.h"
#include "text/text.h"

struct gsym_symbfile_names {
    const gsym_image *image;
    function_walk walk;
    name_numbers names;
    bool is_counted;
    uint32_t *strings;     /* number in the writer of each collected name */
    uint64_t string_count; /* number of names added to the writer */
    uint32_t *files;       /* number of the path of each file, 0: not known yet */
    uint64_t text_left;    /* remaining bytes of names and paths */
    buffer text;           /* scratch */
};

/* State of writing return pads, the chains of functions at calls; functions come in
 * ascending order. */
typedef struct return_pads {
    gsym_symbfile_writer *writer;
    gsym_symbfile_names *names;
    const gsym_calls *calls;
    size_t next;     /* index of the next call */
    index_list open; /* ranges that cover the call, the outermost first */
    LIST(gsym_symbfile_entry) entries; /* of one pad */
} return_pads;

/* Names may overlap and paths share a folder, so that a small file could expand to any
 * size. */
/* Limit: Names of a symbfile made of a GSYM file */
LIMIT(TEXT, 64 << 20, 64);

static const char NO_NAME[] = "<name omitted>";

gsym_status gsym_symbfile_names_create(const gsym_image *image,
                                       gsym_symbfile_names **names_ret,
                                       gsym_error *error) {
    gsym_symbfile_names *names = calloc(1, sizeof *names);
    if (names == NULL) return gsym_fail_memory(error);
    names->image = image;
    names->text_left = LIMIT_OF(TEXT, image->size);
    names->files = calloc((size_t)image->header.num_files + 1, sizeof *names->files);
    if (names->files == NULL || !function_walk_init(&names->walk, image) ||
        !name_numbers_init(&names->names, image->header.strtab_size)) {
        gsym_symbfile_names_destroy(names);
        return gsym_fail_memory(error);
    }
    *names_ret = names;
    return GSYM_OK;
}

void gsym_symbfile_names_destroy(gsym_symbfile_names *names) {
    if (names == NULL) return;
    function_walk_deinit(&names->walk);
    name_numbers_deinit(&names->names);
    buffer_deinit(&names->text);
    free(names->strings);
    free(names->files);
    free(names);
}

gsym_status gsym_symbfile_names_collect(gsym_symbfile_names *names, uint32_t first,
                                        uint32_t count, gsym_error *error) {
    uint32_t entries = names->image->header.num_addresses;
    if (names->is_counted)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the names have been listed");
    if (first > entries) first = entries;
    if (count > entries - first) count = entries - first;
    for (uint32_t i = 0; i < count; ++i)
        GSYM_TRY(function_walk_names(&names->walk, first + i, true, &names->names, error));
    return GSYM_OK;
}

gsym_status gsym_symbfile_names_share(gsym_symbfile_names *names,
                                      const gsym_symbfile_names *other,
                                      gsym_error *error) {
    if (names->is_counted)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the names have been listed");
    if (!name_numbers_share(&names->names, &other->names))
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the names are of another image");
    return GSYM_OK;
}

static void count_names(gsym_symbfile_names *names) {
    if (!names->is_counted) name_numbers_count(&names->names);
    names->is_counted = true;
}

static gsym_status spend_text(gsym_symbfile_names *names, size_t size, gsym_error *error) {
    if (size > names->text_left)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "its names and paths expand to more than %d times its size",
                         TEXT_FACTOR);
    names->text_left -= size;
    return GSYM_OK;
}

gsym_status gsym_symbfile_names_list(gsym_symbfile_names *names, uint64_t first,
                                     uint64_t *strps, size_t capacity,
                                     uint64_t *count_ret, gsym_error *error) {
    uint64_t strp = first;
    size_t listed = 0, size;
    count_names(names);
    *count_ret = names->names.count;
    for (; listed < capacity && name_numbers_next(&names->names, &strp); ++strp) {
        (void)gsym_image_string(names->image, strp, &size);
        GSYM_TRY(spend_text(names, size, error));
        strps[listed++] = strp;
    }
    return GSYM_OK;
}

/* ---- names ------------------------------------------------------------------------ */

/* Add a string to the writer, with invalid UTF-8 replaced by question marks. */
static gsym_status add_string(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                              const char *bytes, size_t size, uint32_t *string_ret,
                              gsym_error *error) {
    size_t sound = utf8_valid_size((const uint8_t *)bytes, size);
    buffer *text = &names->text;
    if (sound == size)
        return gsym_symbfile_writer_add_string(writer, bytes, size, string_ret, error);
    text->size = 0;
    buffer_put(text, bytes, size);
    if (text->failed) return gsym_fail_memory(error);
    while (sound < size) {
        text->bytes[sound++] = '?';
        sound += utf8_valid_size(text->bytes + sound, size - sound);
    }
    return gsym_symbfile_writer_add_string(writer, (const char *)text->bytes, size,
                                           string_ret, error);
}

gsym_status gsym_symbfile_names_add(gsym_symbfile_names *names,
                                    gsym_symbfile_writer *writer, const char *texts,
                                    size_t size, gsym_error *error) {
    const char *end = texts + size;
    count_names(names);
    if (names->strings == NULL)
        names->strings = calloc(names->names.count + 1, sizeof *names->strings);
    if (names->strings == NULL) return gsym_fail_memory(error);
    while (texts < end) {
        const char *nul = memchr(texts, 0, (size_t)(end - texts));
        if (nul == NULL || names->string_count == names->names.count)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "not a text for each name");
        if (nul == texts)
            GSYM_TRY(add_string(names, writer, NO_NAME, sizeof NO_NAME - 1,
                                &names->strings[names->string_count], error));
        else
            GSYM_TRY(add_string(names, writer, texts, (size_t)(nul - texts),
                                &names->strings[names->string_count], error));
        names->string_count++;
        texts = nul + 1;
    }
    return GSYM_OK;
}

/* Return the string of a name; 0 if the name was not collected. */
static uint32_t symbfile_names_function(const gsym_symbfile_names *names, uint64_t strp) {
    uint64_t number;
    if (!name_numbers_has(&names->names, strp)) return 0;
    number = name_numbers_of(&names->names, strp);
    return number < names->string_count ? names->strings[number] : 0;
}

/* ---- paths ------------------------------------------------------------------------ */

static gsym_status add_path(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                            const image_path *parts, uint32_t *string_ret,
                            gsym_error *error) {
    buffer path = {0};
    gsym_status status = GSYM_OK;
    GSYM_TRY(spend_text(names, parts->directory_size + parts->basename_size, error));
    image_path_put(parts, &path);
    if (path.failed)
        status = gsym_fail_memory(error);
    else if (path.size > 0)
        status = add_string(names, writer, (const char *)path.bytes, path.size,
                            string_ret, error);
    buffer_deinit(&path);
    return status;
}

/* Find the string of the path of a file; 0 for no file. */
static gsym_status symbfile_names_file(gsym_symbfile_names *names,
                                       gsym_symbfile_writer *writer, uint32_t file,
                                       uint32_t *string_ret, gsym_error *error) {
    image_path path;
    *string_ret = 0;
    /* File 0 means no file, whatever the entry is. */
    if (file == 0 || file >= names->image->header.num_files) return GSYM_OK;
    if (names->files[file] == 0 && image_path_get(names->image, file, &path))
        GSYM_TRY(add_path(names, writer, &path, &names->files[file], error));
    *string_ret = names->files[file];
    return GSYM_OK;
}

/* Writing return pads: from call to call, find the ranges of a flattened function that
 * cover the call. */

static void return_pads_deinit(return_pads *pads) {
    free(pads->open.items);
    free(pads->entries.items);
}

/* Whether there are calls from `start` to `end` (exclusive); earlier calls are skipped. */
static bool return_pads_seek(return_pads *pads, uint64_t start, uint64_t end) {
    const gsym_calls *calls = pads->calls;
    while (pads->next < calls->addresses.count &&
           calls->addresses.items[pads->next] < start)
        pads->next++;
    return pads->next < calls->addresses.count && calls->addresses.items[pads->next] < end;
}

/* Advance the open ranges to `address`. Ranges are nested and sorted by start; *range is
 * the next one. */
static bool open_ranges(return_pads *pads, const function_levels *levels, size_t *range,
                        uint64_t address) {
    const level_range *ranges = levels->ranges.items;
    for (; *range < levels->ranges.count && ranges[*range].start <= address; ++*range) {
        pads->open.count = ranges[*range].depth;
        if (!LIST_ADD(pads->open, (uint32_t)*range)) return false;
    }
    while (pads->open.count > 0 &&
           ranges[pads->open.items[pads->open.count - 1]].end <= address)
        pads->open.count--;
    return true;
}

/* Find the row of a range at an address, or NULL. */
static const gsym_symbfile_row *row_at(const function_levels *levels,
                                       const level_range *range, uint64_t address) {
    const gsym_symbfile_row *rows = LIST_FROM(levels->rows, range->row_first);
    size_t low = 0;
    SEARCH_SORTED(low, range->row_count, rows[middle].offset <= address - range->start);
    return low == 0 ? NULL : &rows[low - 1];
}

/* Find file and line of a function of the chain at `address`: those of the call of the next
 * range, or of its own row if it is the innermost. *file_ret is a file of the image. */
static uint32_t place_in(const return_pads *pads, const gsym_function *function,
                         const function_levels *levels, size_t depth, uint64_t address,
                         uint32_t *file_ret) {
    const level_range *range = &levels->ranges.items[pads->open.items[depth]];
    const gsym_symbfile_row *row;
    if (depth + 1 < pads->open.count) {
        const gsym_inline_node *call =
            level_call(function, &levels->ranges.items[pads->open.items[depth + 1]]);
        *file_ret = call->call_file;
        return call->call_line;
    }
    row = row_at(levels, range, address);
    *file_ret = row != NULL ? range->file : 0;
    return row != NULL ? row->line : 0;
}

/* List the entries of a return pad, one for each open range. *is_known_ret is false if one
 * has no name, as in a damaged record. */
static gsym_status list_entries(return_pads *pads, const gsym_function *function,
                                const function_levels *levels, uint64_t address,
                                bool *is_known_ret, gsym_error *error) {
    *is_known_ret = true;
    pads->entries.count = 0;
    if (!ARRAY_RESERVE(pads->entries, pads->open.count)) return gsym_fail_memory(error);
    for (size_t depth = 0; depth < pads->open.count; ++depth) {
        const level_range *range = &levels->ranges.items[pads->open.items[depth]];
        gsym_symbfile_entry *entry = &pads->entries.items[pads->entries.count++];
        uint32_t file;
        entry->line = place_in(pads, function, levels, depth, address, &file);
        entry->func = symbfile_names_function(pads->names, level_name(function, range));
        *is_known_ret &= entry->func != 0;
        GSYM_TRY(
            symbfile_names_file(pads->names, pads->writer, file, &entry->file, error));
    }
    return GSYM_OK;
}

/* Write the return pads of the calls in a function, which ends at `end`, and add their
 * number to *count. */
static gsym_status return_pads_add(return_pads *pads, const gsym_function *function,
                                   const function_levels *levels, uint64_t end,
                                   uint64_t *count, gsym_error *error) {
    const gsym_calls *calls = pads->calls;
    size_t range = 0;
    pads->open.count = 0;
    for (; pads->next < calls->addresses.count; ++pads->next) {
        uint64_t address = calls->addresses.items[pads->next];
        uint64_t returns = address + calls->sizes.items[pads->next];
        bool is_known;
        if (address < levels->ranges.items[0].start || address >= end) break;
        if (!open_ranges(pads, levels, &range, address)) return gsym_fail_memory(error);
        GSYM_TRY(list_entries(pads, function, levels, address, &is_known, error));
        if (!is_known || pads->entries.count == 0) continue;
        if (!calls->lines.items[pads->next])
            pads->entries.items[pads->entries.count - 1].line = 0;
        GSYM_TRY(gsym_symbfile_writer_add_return_pad(pads->writer, returns - 1,
                                                     pads->entries.items,
                                                     pads->entries.count, error));
        ++*count;
    }
    return GSYM_OK;
}

struct gsym_symbfile_extraction {
    gsym_symbfile_names *range_names;
    gsym_symbfile_writer *range_writer; /* NULL: no ranges */
    return_pads pads;                   /* without calls if none are wanted */
    function_walk walk;
    function_levels levels;
    uint32_t next; /* entry */
    gsym_symbfile_extraction_counts counts;
};

gsym_status gsym_symbfile_extraction_create(const gsym_image *image,
                                            gsym_symbfile_extraction **extraction_ret,
                                            gsym_error *error) {
    gsym_symbfile_extraction *extraction = calloc(1, sizeof *extraction);
    if (extraction == NULL || !function_walk_init(&extraction->walk, image)) {
        free(extraction);
        return gsym_fail_memory(error);
    }
    *extraction_ret = extraction;
    return GSYM_OK;
}

void gsym_symbfile_extraction_destroy(gsym_symbfile_extraction *extraction) {
    if (extraction == NULL) return;
    function_walk_deinit(&extraction->walk);
    function_levels_deinit(&extraction->levels);
    return_pads_deinit(&extraction->pads);
    free(extraction);
}

void gsym_symbfile_extraction_want_ranges(gsym_symbfile_extraction *extraction,
                                          gsym_symbfile_names *names,
                                          gsym_symbfile_writer *writer) {
    extraction->range_names = names;
    extraction->range_writer = writer;
}

void gsym_symbfile_extraction_want_return_pads(gsym_symbfile_extraction *extraction,
                                               gsym_symbfile_names *names,
                                               gsym_symbfile_writer *writer,
                                               const gsym_calls *calls) {
    extraction->pads = (return_pads){.names = names, .writer = writer, .calls = calls};
}

void gsym_symbfile_extraction_count(const gsym_symbfile_extraction *extraction,
                                    gsym_symbfile_extraction_counts *counts_ret) {
    *counts_ret = extraction->counts;
}

static gsym_status add_range(gsym_symbfile_extraction *extraction,
                             const gsym_function *function, const level_range *level,
                             gsym_error *error) {
    gsym_symbfile_names *names = extraction->range_names;
    gsym_symbfile_writer *writer = extraction->range_writer;
    const gsym_inline_node *call = level_call(function, level);
    gsym_symbfile_range range = {.elf_va = level->start,
                                 .length = level->end - level->start,
                                 .depth = level->depth,
                                 .rows = LIST_FROM(extraction->levels.rows,
                                                   level->row_first),
                                 .row_count = level->row_count};
    if (call != NULL) {
        GSYM_TRY(symbfile_names_file(names, writer, call->call_file, &range.call_file,
                                     error));
        /* Readers interpret a line without a file as one of the caller's file. */
        range.call_line = range.call_file != 0 ? call->call_line : 0;
    }
    range.func = symbfile_names_function(names, level_name(function, level));
    GSYM_TRY(symbfile_names_file(names, writer, level->file, &range.file, error));
    extraction->counts.ranges++;
    extraction->counts.inlined_calls += call != NULL;
    extraction->counts.line_rows += level->row_count;
    return gsym_symbfile_writer_add_range(writer, &range, error);
}

static gsym_status add_ranges(gsym_symbfile_extraction *extraction,
                              const gsym_function *function, gsym_error *error) {
    const function_levels *levels = &extraction->levels;
    extraction->counts.functions++;
    for (size_t i = 0; i < levels->ranges.count; ++i)
        GSYM_TRY(add_range(extraction, function, &levels->ranges.items[i], error));
    return GSYM_OK;
}

static gsym_status add_entry(gsym_symbfile_extraction *extraction, uint32_t index,
                             gsym_error *error) {
    gsym_symbfile_extraction_counts *counts = &extraction->counts;
    const gsym_image *image = extraction->walk.image;
    walked_function walked;
    uint64_t start, end;
    bool is_endless, has_ranges, has_calls;
    GSYM_TRY(function_walk_visit(&extraction->walk, index, &walked, &counts->losses,
                                 error));
    if (walked.function == NULL) return GSYM_OK;
    is_endless = walked.extent.end == UINT64_MAX;
    counts->endless_left_out += is_endless;
    start = image->header.base_address + walked.extent.start;
    end = is_endless ? UINT64_MAX : image->header.base_address + walked.extent.end;
    has_ranges = extraction->range_writer != NULL && !is_endless;
    has_calls =
        extraction->pads.calls != NULL && return_pads_seek(&extraction->pads, start, end);
    if (!has_ranges && !has_calls) return GSYM_OK;
    GSYM_TRY(function_levels_make(
        &extraction->levels, walked.function,
        walked.function->node_count > 0 &&
            function_walk_is_call(image, &walked.function->nodes[0]),
        start, end, error));
    counts->without_calls += !extraction->levels.is_complete;
    if (has_ranges) GSYM_TRY(add_ranges(extraction, walked.function, error));
    if (!has_calls) return GSYM_OK;
    return return_pads_add(&extraction->pads, walked.function, &extraction->levels, end,
                           &counts->return_pads, error);
}

gsym_status gsym_symbfile_extraction_next(gsym_symbfile_extraction *extraction,
                                          uint32_t count, uint32_t *is_done_ret,
                                          gsym_error *error) {
    uint32_t entries = extraction->walk.image->header.num_addresses;
    for (; count > 0 && extraction->next < entries; --count, ++extraction->next)
        GSYM_TRY(add_entry(extraction, extraction->next, error));
    *is_done_ret = extraction->next == entries;
    return GSYM_OK;
}
