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
#include "base/utf8.h"
#include "export/function_walk.h"
#include "text/text.h"

/* The state of an inlined call while its function is written. */
typedef struct inline_verdict {
    uint64_t claimed; /* end of its children's ranges so far */
    uint32_t parent;
    bool may_overlap; /* its children's ranges do not come in order */
    bool is_kept;
} inline_verdict;

typedef LIST(inline_verdict) inline_verdict_list;

/* A range of an inlined call, to be sorted among those of its siblings. */
typedef struct sibling_range {
    gsym_range range;
    uint32_t parent;
    uint32_t node;
} sibling_range;

typedef LIST(sibling_range) sibling_range_list;

/* Scratch, kept from function to function. */
typedef struct export_inlines {
    inline_verdict_list verdicts;
    sibling_range_list siblings;
} export_inlines;

enum export_part {
    EXPORT_NAMES = 0, /* collect the names of inlined calls; nothing is written */
    EXPORT_FILES,
    EXPORT_ORIGINS,
    EXPORT_FUNCTIONS,
    EXPORT_DONE
};

struct gsym_breakpad_export {
    const gsym_image *image;
    function_walk walk;
    name_numbers origins;
    export_inlines inlines;
    gsym_breakpad_export_counts counts;
    enum export_part part;
    uint64_t next; /* entry, file or string offset within the part */
};

/* Return the number of a file in a record. A file that the table lacks gets 0, which no
 * FILE record has: readers treat that as no file. */
static inline uint32_t export_file(const gsym_image *image, uint32_t file) {
    return file < image->header.num_files ? file : 0;
}

/* INLINE records: the tree of inlined calls in Breakpad text.
 *
 *     INLINE level call_line call_file origin (address size)+
 *
 * Readers find a call by its level and an address, so each range has to be inside of a
 * range of the caller, and ranges of siblings must not overlap. Calls that break this are
 * left out with all calls inlined into them, because readers disagree about them. Nothing
 * here recurses, and the cost is that of sorting the ranges. */

#define NO_PARENT UINT32_MAX

enum {
    MAX_HEAD_SIZE = sizeof "INLINE" + 4 * (MAX_DECIMAL_SIZE + 1),
    MAX_RANGE_SIZE = 2 * (MAX_HEX_SIZE + 1)
};

static void export_inlines_deinit(export_inlines *inlines) {
    free(inlines->verdicts.items);
    free(inlines->siblings.items);
}

/* ---- which calls are written ------------------------------------------------------ */

static const gsym_range *ranges_of(const gsym_function *function, size_t node) {
    return function->ranges + function->nodes[node].range_first;
}

static bool has_code(const gsym_range *ranges, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (ranges[i].start < ranges[i].end) return true;
    return false;
}

static bool do_ascend(const gsym_range *ranges, size_t count) {
    uint64_t end = 0;
    for (size_t i = 0; i < count; ++i) {
        if (ranges[i].start < end || ranges[i].end < ranges[i].start) return false;
        end = ranges[i].end;
    }
    return true;
}

/* Whether one of the ascending `ranges` contains all of `inner`. */
static bool holds(const gsym_range *ranges, size_t count, gsym_range inner) {
    size_t low = 0;
    SEARCH_SORTED(low, count, ranges[middle].end <= inner.start);
    return low < count && ranges[low].start <= inner.start &&
           inner.end <= ranges[low].end;
}

static bool lies_inside(const gsym_function *function, size_t node, size_t parent) {
    const gsym_range *ranges = ranges_of(function, node);
    const gsym_range *outer = ranges_of(function, parent);
    for (size_t i = 0; i < function->nodes[node].range_count; ++i)
        if (ranges[i].start < ranges[i].end &&
            !holds(outer, function->nodes[parent].range_count, ranges[i]))
            return false;
    return true;
}

static uint32_t find_parent(const inline_verdict *verdicts, const gsym_function *function,
                            size_t node) {
    uint32_t parent = (uint32_t)node - 1;
    if (node == 0) return NO_PARENT;
    while (function->nodes[parent].depth >= function->nodes[node].depth)
        parent = verdicts[parent].parent;
    return parent;
}

/* Decide whether a call can be written by its ranges and those of its caller, and record in
 * the caller whether ranges of its calls may overlap. */
static void judge(inline_verdict *verdicts, const gsym_function *function, size_t node) {
    const gsym_range *ranges = ranges_of(function, node);
    size_t count = function->nodes[node].range_count;
    inline_verdict *verdict = &verdicts[node], *parent;
    bool is_in_order = do_ascend(ranges, count);
    *verdict = (inline_verdict){.parent = find_parent(verdicts, function, node)};
    verdict->is_kept = is_in_order && has_code(ranges, count);
    if (node == 0) return;
    parent = &verdicts[verdict->parent];
    parent->may_overlap |= !is_in_order || ranges[0].start < parent->claimed;
    if (is_in_order && ranges[count - 1].end > parent->claimed)
        parent->claimed = ranges[count - 1].end;
    verdict->is_kept = verdict->is_kept && lies_inside(function, node, verdict->parent);
}

static int compare_siblings(const void *left, const void *right) {
    const sibling_range *a = left, *b = right;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    return (a->range.start > b->range.start) - (a->range.start < b->range.start);
}

static gsym_status gather_siblings(export_inlines *inlines,
                                   const gsym_function *function, gsym_error *error) {
    const inline_verdict *verdicts = inlines->verdicts.items;
    inlines->siblings.count = 0;
    if (!ARRAY_RESERVE(inlines->siblings, function->range_count))
        return gsym_fail_memory(error);
    for (size_t node = 1; node < function->node_count; ++node) {
        const gsym_range *ranges = ranges_of(function, node);
        if (!verdicts[verdicts[node].parent].may_overlap) continue;
        for (size_t i = 0; i < function->nodes[node].range_count; ++i)
            if (ranges[i].start < ranges[i].end)
                inlines->siblings.items[inlines->siblings.count++] =
                    (sibling_range){ranges[i], verdicts[node].parent, (uint32_t)node};
    }
    return GSYM_OK;
}

/* Drop siblings that overlap: lookups take the first one, readers may take another. */
static gsym_status drop_overlapping(export_inlines *inlines,
                                    const gsym_function *function, gsym_error *error) {
    inline_verdict *verdicts = inlines->verdicts.items;
    const sibling_range *sibling, *longest;
    GSYM_TRY(gather_siblings(inlines, function, error));
    sibling = longest = inlines->siblings.items;
    qsort(inlines->siblings.items, inlines->siblings.count, sizeof *sibling,
          compare_siblings);
    for (size_t i = 1; i < inlines->siblings.count; ++i) {
        sibling++;
        if (sibling->parent == longest->parent && sibling->node != longest->node &&
            sibling->range.start < longest->range.end)
            verdicts[sibling->node].is_kept = verdicts[longest->node].is_kept = false;
        if (sibling->parent != longest->parent ||
            sibling->range.end > longest->range.end)
            longest = sibling;
    }
    return GSYM_OK;
}

static gsym_status settle(export_inlines *inlines, const gsym_function *function,
                          gsym_error *error) {
    bool may_overlap = false;
    inline_verdict *verdicts;
    inlines->verdicts.count = 0;
    if (!ARRAY_RESERVE(inlines->verdicts, function->node_count))
        return gsym_fail_memory(error);
    verdicts = inlines->verdicts.items;
    for (size_t node = 0; node < function->node_count; ++node) {
        judge(verdicts, function, node);
        may_overlap |= node > 0 && verdicts[verdicts[node].parent].may_overlap;
    }
    if (may_overlap) GSYM_TRY(drop_overlapping(inlines, function, error));
    for (size_t node = 1; node < function->node_count; ++node)
        verdicts[node].is_kept &= verdicts[verdicts[node].parent].is_kept;
    return GSYM_OK;
}

/* ---- records ------------------------------------------------------------------------ */

/* Put the parts of ranges inside `extent`; false if there are none. */
static bool put_ranges(uint8_t **at, const gsym_range *ranges, size_t count,
                       uint64_t base, answer_extent extent) {
    uint8_t *begin = *at;
    for (size_t i = 0; i < count; ++i) {
        uint64_t start = ranges[i].start - base, end = ranges[i].end - base;
        if (start < extent.start) start = extent.start;
        if (end > extent.end) end = extent.end;
        if (start >= end) continue;
        *(*at)++ = ' ';
        *at = put_hex_unchecked(*at, start);
        *(*at)++ = ' ';
        *at = put_hex_unchecked(*at, end - start);
    }
    return *at != begin;
}

static uint8_t *put_number(uint8_t *at, uint64_t value) {
    *at++ = ' ';
    return put_decimal_unchecked(at, value);
}

static gsym_status put_call(gsym_breakpad_export *export, gsym_text *text,
                            const gsym_function *function, const gsym_inline_node *node,
                            uint64_t level, answer_extent extent, gsym_error *error) {
    uint8_t *at;
    size_t count = node->range_count;
    if (!buffer_reserve(&text->out, MAX_HEAD_SIZE + count * MAX_RANGE_SIZE + 1))
        return gsym_fail_memory(error);
    at = text->out.bytes + text->out.size;
    memcpy(at, "INLINE", 6);
    at = put_number(at + 6, level);
    at = put_number(at, node->call_line);
    at = put_number(at, export_file(export->image, node->call_file));
    at = put_number(at, name_numbers_of(&export->origins, node->name));
    if (!put_ranges(&at, function->ranges + node->range_first, count,
                    export->image->header.base_address, extent))
        return GSYM_OK;
    *at++ = '\n';
    text->out.size = (size_t)(at - text->out.bytes);
    export->counts.inlined_calls++;
    return GSYM_OK;
}

/* Append an INLINE record for each call inlined into `function` that has code inside
 * `extent`; the names of all have been collected. */
static gsym_status export_inlines_put(gsym_breakpad_export *export, gsym_text *text,
                                      const gsym_function *function, answer_extent extent,
                                      gsym_error *error) {
    bool root_is_call;
    if (function->node_count == 0) return GSYM_OK;
    root_is_call = function_walk_is_call(export->image, &function->nodes[0]);
    GSYM_TRY(settle(&export->inlines, function, error));
    for (size_t i = root_is_call ? 0 : 1; i < function->node_count; ++i) {
        const gsym_inline_node *node = &function->nodes[i];
        uint64_t level = (uint64_t)node->depth - !root_is_call;
        if (export->inlines.verdicts.items[i].is_kept)
            GSYM_TRY(put_call(export, text, function, node, level, extent, error));
        else if (has_code(ranges_of(function, i), node->range_count))
            export->counts.inlined_calls_left_out++;
    }
    return GSYM_OK;
}

enum {
    NAMES_PER_CALL = 1 << 16, /* records visited before the caller gets to run */
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

/* Replace each byte that readers would not accept by a question mark. */
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

static bool is_blank(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at == end;
}

/* Mend the name, which is the text from `start` on, and end the line. */
static void end_name(gsym_breakpad_export *export, gsym_text *text, size_t start) {
    if (text->out.failed) return;
    if (is_blank(text->out.bytes + start, text->out.bytes + text->out.size)) {
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
    if (file == 0) return; /* whatever its entry in the file table is */
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

/* Put line records for a limited number of rows from `first` on; *next_ret is the row that
 * comes next. Of several rows at one address, the last one is used. */
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

/* Put line 0 for bytes before the first row: readers find inlined calls only at addresses
 * with a line. */
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

/* Whether a function is written with a size. One without a size that has lines extends to
 * the next function, if the size then fits 32 bits. */
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
