/* breakpad.c - write the functions of a GSYM file as Breakpad text (.sym).
 *
 *     FILE number path
 *     INLINE_ORIGIN number name
 *     FUNC [m] address size 0 name          INLINE records
 *     address size line file                and lines follow it
 *     PUBLIC [m] address 0 name             a function without a size
 *
 * Readers treat overlapping functions and lines differently, so the text has none:
 * each function is written only for the addresses at which a lookup answers with it.
 * Like a dump, the text is made in pieces. Names must precede the records that use
 * them, so all records are visited twice. */
#include "base/characters.h"
#include "export/breakpad.h"

enum {
    NAMES_PER_CALL = 1 << 16, /* records that one call visits; between calls the caller
                                 can stop */
    LINES_PER_RESERVE = 1024,
    MAX_LINE_SIZE = 2 * (MAX_HEX_SIZE + 1) + 2 * (MAX_DECIMAL_SIZE + 1)
};

gsym_status gsym_breakpad_export_create(const gsym_image *image,
                                        gsym_breakpad_export **export_ret,
                                        gsym_error *error) {
    gsym_breakpad_export *export = calloc(1, sizeof *export);
    if (export == NULL) return gsym_fail_memory(error);
    export->image = image;
    if (!name_numbers_init(&export->origins, image->header.strtab_size) ||
        !function_walk_init(&export->walk, image)) {
        gsym_breakpad_export_destroy(export);
        return gsym_fail_memory(error);
    }
    *export_ret = export;
    return GSYM_OK;
}

void gsym_breakpad_export_destroy(gsym_breakpad_export *export) {
    if (export == NULL) return;
    function_walk_deinit(&export->walk);
    name_numbers_deinit(&export->origins);
    export_inlines_deinit(&export->inlines);
    free(export);
}

void gsym_breakpad_export_count(const gsym_breakpad_export *export,
                                gsym_breakpad_export_counts *counts_ret) {
    *counts_ret = export->counts;
}

/* ---- names and paths: one line, UTF-8, never blank ---------------------------------- */

/* Replace each byte that readers would not accept by a question mark. False if there was
 * any. */
static bool mend(uint8_t *at, const uint8_t *end) {
    bool is_sound = true;
    while (at < end) {
        size_t size = *at == '\n' || *at == '\r' ? 0 : utf8_size(at, (size_t)(end - at));
        if (size == 0) {
            *at = '?';
            is_sound = false;
            size = 1;
        }
        at += size;
    }
    return is_sound;
}

/* Mend the name, which is the text from `start` on, and end the line. */
static void end_name(gsym_breakpad_export *export, gsym_text *text, size_t start) {
    if (text->out.failed) return;
    if (are_blank(text->out.bytes + start, text->out.size - start)) {
        text->out.size = start;
        text_put_literal(text, "<name omitted>");
        export->counts.names_changed++;
    } else if (!mend(text->out.bytes + start, text->out.bytes + text->out.size)) {
        export->counts.names_changed++;
    }
    text_put_char(text, '\n');
}

static void put_name(gsym_breakpad_export *export, gsym_text *text, uint64_t strp) {
    size_t start;
    text_put_char(text, ' ');
    start = text->out.size;
    text_put_string(text, export->image, strp);
    end_name(export, text, start);
}

static void put_file(gsym_breakpad_export *export, gsym_text *text, uint32_t file) {
    image_path path;
    size_t start;
    if (file == 0) return; /* file 0 means no file, whatever its entry in the file table
                              is */
    (void)image_path_get(export->image, file, &path);
    if (path.directory_size == 0 && path.basename_size == 0) return;
    text_put_literal(text, "FILE ");
    text_put_decimal(text, file);
    text_put_char(text, ' ');
    start = text->out.size;
    image_path_put(&path, &text->out);
    end_name(export, text, start);
    export->counts.files++;
}

static void put_origin(gsym_breakpad_export *export, gsym_text *text, uint64_t strp) {
    text_put_literal(text, "INLINE_ORIGIN ");
    text_put_decimal(text, export->counts.inline_origins++);
    put_name(export, text, strp);
}

/* ---- functions ---------------------------------------------------------------------- */

static void put_line(uint8_t **at, answer_extent extent, uint32_t line, uint32_t file) {
    *at = put_hex_unchecked(*at, extent.start);
    *(*at)++ = ' ';
    *at = put_hex_unchecked(*at, extent.end - extent.start);
    *(*at)++ = ' ';
    *at = put_decimal_unchecked(*at, line);
    *(*at)++ = ' ';
    *at = put_decimal_unchecked(*at, file);
    *(*at)++ = '\n';
}

/* Put line records for a limited number of rows from `first` on; *next_ret is the index of
 * the row after them. Of several rows at one address, the last one is used. */
static gsym_status put_some_lines(gsym_breakpad_export *export, gsym_text *text,
                                  const gsym_function *function, answer_extent extent,
                                  size_t first, size_t *next_ret, gsym_error *error) {
    uint64_t base = export->image->header.base_address;
    size_t last = function->row_count - first < LINES_PER_RESERVE
                      ? function->row_count
                      : first + LINES_PER_RESERVE;
    uint8_t *at;
    if (!buffer_reserve(&text->out, LINES_PER_RESERVE * MAX_LINE_SIZE))
        return gsym_fail_memory(error);
    at = text->out.bytes + text->out.size;
    for (; first < last; ++first) {
        const gsym_line_row *row = &function->rows[first];
        answer_extent covered = {row->address - base, extent.end};
        if (covered.start >= extent.end) {
            first = last = function->row_count;
            break;
        }
        if (first + 1 < function->row_count && row[1].address - base < covered.end)
            covered.end = row[1].address - base;
        if (covered.start < extent.start) covered.start = extent.start;
        if (covered.start >= covered.end) continue;
        put_line(&at, covered, row->line, export_file(export->image, row->file));
        export->counts.lines++;
    }
    text->out.size = (size_t)(at - text->out.bytes);
    *next_ret = first;
    return GSYM_OK;
}

/* Put a record with line 0 for the addresses before the first row, because readers find
 * inlined calls only at addresses with a line. */
static gsym_status put_no_line(gsym_breakpad_export *export, gsym_text *text,
                               const gsym_function *function, answer_extent extent,
                               gsym_error *error) {
    uint8_t *at;
    if (function->row_count > 0) {
        uint64_t first = function->rows[0].address - export->image->header.base_address;
        if (first < extent.end) extent.end = first;
    }
    if (extent.start >= extent.end) return GSYM_OK;
    if (!buffer_reserve(&text->out, MAX_LINE_SIZE)) return gsym_fail_memory(error);
    at = text->out.bytes + text->out.size;
    put_line(&at, extent, 0, 0);
    text->out.size = (size_t)(at - text->out.bytes);
    export->counts.lines++;
    return GSYM_OK;
}

static gsym_status put_parts(gsym_breakpad_export *export, gsym_text *text,
                             const gsym_function *function, answer_extent extent,
                             gsym_error *error) {
    uint64_t calls = export->counts.inlined_calls;
    GSYM_TRY(export_inlines_put(export, text, function, extent, error));
    if (export->counts.inlined_calls != calls)
        GSYM_TRY(put_no_line(export, text, function, extent, error));
    for (size_t row = 0; row < function->row_count;)
        GSYM_TRY(put_some_lines(export, text, function, extent, row, &row, error));
    return GSYM_OK;
}

static bool has_details(const gsym_function *function) {
    return function->row_count > 0 || function->node_count > 0;
}

/* Whether a function is written with a size. A function without a size that has lines gets
 * one, because it extends to the next function; the size must fit into 32 bits. */
static bool has_extent(const gsym_function *function, answer_extent extent) {
    return function->size != 0 ||
           (has_details(function) && extent.end != UINT64_MAX &&
            extent.end - extent.start <= UINT32_MAX);
}

static void put_head(gsym_breakpad_export *export, gsym_text *text,
                     const gsym_function *function, answer_extent extent) {
    uint8_t *at;
    if (has_extent(function, extent))
        text_put_literal(text, "FUNC ");
    else
        text_put_literal(text, "PUBLIC ");
    if (export->walk.are_several || function->merged_count > 0)
        text_put_literal(text, "m ");
    if (!buffer_reserve(&text->out, 2 * (MAX_HEX_SIZE + 1))) return;
    at = put_hex_unchecked(text->out.bytes + text->out.size, extent.start);
    *at++ = ' ';
    if (has_extent(function, extent)) {
        at = put_hex_unchecked(at, extent.end - extent.start);
        *at++ = ' ';
    }
    text->out.size = (size_t)(at - text->out.bytes);
    text_put_char(text, '0'); /* bytes of parameters on the stack */
    put_name(export, text, function->name);
}

static gsym_status put_function(gsym_breakpad_export *export, gsym_text *text,
                                const gsym_function *function, answer_extent extent,
                                gsym_error *error) {
    gsym_breakpad_export_counts *counts = &export->counts;
    put_head(export, text, function, extent);
    counts->call_sites_left_out += function->call_site_count;
    counts->unknown_left_out += function->extra_count;
    if (has_extent(function, extent)) {
        counts->functions++;
        return put_parts(export, text, function, extent, error);
    }
    counts->public_symbols++;
    counts->details_left_out += has_details(function);
    return GSYM_OK;
}

static gsym_status put_entry(gsym_breakpad_export *export, gsym_text *text, uint32_t index,
                             gsym_error *error) {
    walked_function walked;
    GSYM_TRY(function_walk_visit(&export->walk, index, &walked, &export->counts.losses,
                                 error));
    if (walked.function == NULL) return GSYM_OK;
    return put_function(export, text, walked.function, walked.extent, error);
}

/* ---- the parts in order ------------------------------------------------------------ */

static uint64_t part_end(const gsym_breakpad_export *export) {
    switch (export->part) {
        case EXPORT_FILES: return export->image->header.num_files;
        case EXPORT_ORIGINS: return export->origins.end + 1;
        default: return export->image->header.num_addresses;
    }
}

static gsym_status put_item(gsym_breakpad_export *export, gsym_text *text,
                            gsym_error *error) {
    switch (export->part) {
        case EXPORT_NAMES:
            GSYM_TRY(function_walk_names(&export->walk, (uint32_t)export->next, false,
                                         &export->origins, error));
            export->counts.visited++;
            break;
        case EXPORT_FILES: put_file(export, text, (uint32_t)export->next); break;
        case EXPORT_ORIGINS:
            if (name_numbers_next(&export->origins, &export->next))
                put_origin(export, text, export->next);
            else
                export->next = export->origins.end;
            break;
        default:
            GSYM_TRY(put_entry(export, text, (uint32_t)export->next, error));
            export->counts.visited++;
    }
    export->next++;
    return GSYM_OK;
}

static void begin_next_part(gsym_breakpad_export *export) {
    if (export->part == EXPORT_NAMES) name_numbers_count(&export->origins);
    export->part++;
    export->next = 0;
}

gsym_status gsym_breakpad_export_next(gsym_breakpad_export *export, gsym_text *text,
                                      size_t size, uint32_t *is_done_ret,
                                      gsym_error *error) {
    size_t limit = text->out.size + size;
    for (; export->part < EXPORT_DONE; begin_next_part(export)) {
        while (export->next < part_end(export)) {
            GSYM_TRY(put_item(export, text, error));
            if (text->out.size >= limit ||
                (export->part == EXPORT_NAMES && export->next % NAMES_PER_CALL == 0)) {
                *is_done_ret = 0;
                return text_status(text, error);
            }
        }
    }
    *is_done_ret = 1;
    return text_status(text, error);
}
