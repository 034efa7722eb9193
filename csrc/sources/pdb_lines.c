/* pdb_lines.c - read the lines of a module.
 *
 * The C13 part has checksums of files, lines and lines of inlined functions. The C11 part,
 * which compilers wrote before 2005, has files, each with the lines of some ranges. */
#include "base/sort.h"
#include "sources/pdb_functions.h"

enum {
    LINES_HAVE_COLUMNS = 1,
    INLINEE_LINES_HAVE_FILES = 1, /* CV_INLINEE_SOURCE_LINE_SIGNATURE_EX */
    LINE_MASK = 0xffffff,
    /* Special line numbers for debuggers, at which the line before continues. */
    LINE_NEVER_STEP = 0xfeefee,
    LINE_ALWAYS_STEP_INTO = 0xf00f00,
    C11_RANGE_SIZE = 16, /* bytes of a range without its lines */
    C11_LINE_SIZE = 6
};

static void warn(pdb_reader *reader, const cursor *at) {
    dwarf_warn(reader->warnings, GSYM_WARN_PDB_LINES,
               msf_file_offset(&reader->pdb->file, reader->stream, 0), cursor_offset(at));
}

/* ---- files --------------------------------------------------------------------------- */

static bool add_path(pdb_reader *reader, const char *text, size_t size,
                     uint32_t *code_ret) {
    unit_functions *result = reader->result;
    buffer *arena = &result->arena;
    size_t start = arena->size;
    *code_ret = FILE_NONE;
    if (size == 0) return true;
    buffer_put(arena, text, size);
    path_rules_apply(reader->path_rules, arena, start);
    size = arena->size - start;
    if (arena->failed || !dwarf_spend(&reader->budget->text, size) ||
        result->paths.count >= NO_INDEX - PATH_FIRST)
        return false;
    *code_ret = PATH_FIRST + (uint32_t)result->paths.count;
    return LIST_ADD(result->paths,
                    (unit_path){start, size,
                                string_hash((const char *)arena->bytes + start, size)});
}

/* Number a file that was not seen before. */
static bool add_file(pdb_reader *reader, uint64_t key, const char *text, size_t size,
                     uint32_t *file_ret) {
    unit_functions *result = reader->result;
    uint32_t code;
    if (!add_path(reader, text, size, &code)) return false;
    *file_ret = (uint32_t)result->file_codes.count;
    return LIST_ADD(result->file_codes, code) &&
           number_map_set(&reader->files, key, *file_ret);
}

bool pdb_file_index(pdb_reader *reader, uint32_t checksum, uint32_t *file_ret) {
    cursor c = reader->checksums;
    uint64_t known;
    uint32_t name;
    const char *text = NULL;
    size_t size = 0;
    if (number_map_find(&reader->files, checksum, &known)) {
        *file_ret = (uint32_t)known;
        return true;
    }
    cursor_skip(&c, checksum);
    name = cursor_u32(&c);
    if (c.failed)
        warn(reader, &c);
    else
        text = pdb_name_at(reader->pdb, name, &size);
    return add_file(reader, checksum, text, size, file_ret);
}

/* ---- lines --------------------------------------------------------------------------- */

static bool add_row(pdb_reader *reader, uint64_t address, uint32_t file, uint32_t line) {
    if (reader->result->rows.count >= NO_INDEX) return true;
    if (line == LINE_NEVER_STEP || line == LINE_ALWAYS_STEP_INTO) return true;
    return LIST_ADD(reader->result->rows, (gsym_line_row){address, file, line});
}

/* Read the lines of one file in a subsection. */
static bool read_block(pdb_reader *reader, cursor *c, bool has_columns, uint64_t start,
                       uint32_t size) {
    uint32_t checksum = cursor_u32(c), count = cursor_u32(c), file;
    cursor_skip(c, 4); /* size of the block */
    if (!cursor_need(c, (uint64_t)count * (has_columns ? 12 : 8))) return true;
    if (!pdb_file_index(reader, checksum, &file)) return false;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t offset = cursor_u32_unchecked(c),
                 line = cursor_u32_unchecked(c) & LINE_MASK;
        if (offset < size && !add_row(reader, start + offset, file, line)) return false;
    }
    cursor_skip(c, has_columns ? (uint64_t)count * 4 : 0);
    return true;
}

/* Read a subsection with the lines of one range. A row with line 0 ends the range. */
static bool read_lines(pdb_reader *reader, cursor c) {
    uint32_t offset = cursor_u32(&c), segment = cursor_u16(&c), flags = cursor_u16(&c);
    uint32_t size = cursor_u32(&c), address;
    uint64_t start, ignored;
    size_t first = reader->result->rows.count;
    if (c.failed || !pdb_address(reader->pdb, segment, offset, &address)) {
        warn(reader, &c);
        return true;
    }
    /* Of functions that the linker folded, the lines of the first one are used. */
    if (number_map_find(&reader->lines, (uint64_t)address << 32 | size, &ignored))
        return true;
    if (!number_map_set(&reader->lines, (uint64_t)address << 32 | size, 0)) return false;
    start = reader->base + address;
    while (cursor_left(&c) > 0)
        if (!read_block(reader, &c, (flags & LINES_HAVE_COLUMNS) != 0, start, size))
            return false;
    if (c.failed) warn(reader, &c);
    return reader->result->rows.count == first || add_row(reader, start + size, 0, 0);
}

/* ---- the C11 part -------------------------------------------------------------------- */

/* A range of a segment with lines of one file. */
typedef struct c11_range {
    uint32_t lines; /* their offset in the part */
    uint32_t start, last;
} c11_range;

/* Read the lines of a range. Ranges may share bytes, so *left limits the bytes that are
 * read for all of them. */
static bool read_c11_range(pdb_reader *reader, cursor c11, const c11_range *range,
                           uint32_t file, uint64_t *left, bool *is_damaged) {
    cursor offsets, numbers;
    uint32_t segment, count, address;
    uint64_t cost, start;
    cursor_skip(&c11, range->lines);
    segment = cursor_u16(&c11);
    count = cursor_u16(&c11);
    offsets = numbers = c11;
    cursor_skip(&numbers, 4 * (uint64_t)count);
    cost = C11_RANGE_SIZE + C11_LINE_SIZE * (uint64_t)count;
    *is_damaged = !cursor_need(&numbers, 2 * (uint64_t)count) || cost > *left ||
                  range->last < range->start;
    if (*is_damaged) return true;
    *left -= cost;
    if (!pdb_address(reader->pdb, segment, range->start, &address)) {
        warn(reader, &c11);
        return true;
    }
    start = reader->base + address;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t offset = cursor_u32_unchecked(&offsets),
                 line = cursor_u16_unchecked(&numbers);
        if (offset >= range->start && offset <= range->last &&
            !add_row(reader, start + (offset - range->start), file, line))
            return false;
    }
    return count == 0 ||
           add_row(reader, start + (range->last - range->start) + 1, 0, 0);
}

static bool read_c11_file(pdb_reader *reader, cursor c11, uint32_t at, uint64_t *left,
                          bool *is_damaged) {
    cursor c = c11, lines, ranges;
    uint32_t count, file;
    uint64_t key = (uint64_t)at << 32, known;
    size_t size;
    const char *name;
    cursor_skip(&c, at);
    count = cursor_u16(&c);
    cursor_skip(&c, 2);
    lines = c;
    cursor_skip(&c, 4 * (uint64_t)count);
    ranges = c;
    cursor_skip(&c, 8 * (uint64_t)count);
    name = cursor_cstring(&c, &size);
    *is_damaged = c.failed || number_map_find(&reader->files, key, &known);
    if (*is_damaged) return true;
    if (!add_file(reader, key, name, size, &file)) return false;
    for (uint32_t i = 0; i < count && !*is_damaged; ++i) {
        c11_range range = {.lines = cursor_u32_unchecked(&lines)};
        range.start = cursor_u32_unchecked(&ranges);
        range.last = cursor_u32_unchecked(&ranges);
        if (!read_c11_range(reader, c11, &range, file, left, is_damaged)) return false;
    }
    return true;
}

static bool read_c11(pdb_reader *reader, cursor c11) {
    cursor c = c11;
    uint32_t count;
    uint64_t left = cursor_left(&c11);
    bool is_damaged = false;
    if (left == 0) return true;
    count = cursor_u16(&c);
    cursor_skip(&c, 2); /* number of segments, whose extents follow the files */
    is_damaged = !cursor_need(&c, 4 * (uint64_t)count);
    for (uint32_t i = 0; i < count && !is_damaged; ++i)
        if (!read_c11_file(reader, c11, cursor_u32_unchecked(&c), &left, &is_damaged))
            return false;
    if (is_damaged) warn(reader, &c);
    return true;
}

/* ---- sorted rows --------------------------------------------------------------------- */

/* Order rows by address; of one address, a row that ends a subsection comes first. */
static bool is_row_before(const void *left, const void *right, const void *context) {
    const gsym_line_row *a = left, *b = right;
    (void)context;
    if (a->address != b->address) return a->address < b->address;
    return a->file == 0 && b->file != 0;
}

void pdb_lines_find(const pdb_reader *reader, uint64_t start, uint64_t end,
                    uint32_t *first_ret, uint32_t *count_ret) {
    const gsym_line_row *rows = reader->result->rows.items;
    size_t first = 0, last;
    SEARCH_SORTED(first, reader->line_count, rows[middle].address < start);
    last = first;
    SEARCH_SORTED(last, reader->line_count, rows[middle].address < end);
    /* The row before covers the start, unless it ends a subsection. */
    if (first > 0 && rows[first - 1].file != 0 &&
        (first == reader->line_count || rows[first].address > start))
        --first;
    while (first < last && rows[first].file == 0) ++first;
    *first_ret = (uint32_t)first;
    *count_ret = (uint32_t)(last - first);
}

/* ---- rows without a function --------------------------------------------------------- */

/* Add the rows of a range without functions. The row before the range may continue in it,
 * which is padding. */
static bool add_lines(pdb_reader *reader, gsym_range range) {
    unit_function lines = {.address = range.start,
                           .size = range.end - range.start,
                           .die_offset = msf_file_offset(&reader->pdb->file,
                                                         reader->stream, 0),
                           .name = NO_INDEX,
                           .is_lines = true};
    const gsym_line_row *first;
    pdb_lines_find(reader, range.start, range.end, &lines.row_first, &lines.row_count);
    first = &reader->result->rows.items[lines.row_first];
    if (lines.row_count == 0 || (lines.row_count == 1 && first->address < range.start) ||
        !creator_answers_in(reader->creator, range.start, range.end))
        return true;
    return LIST_ADD(reader->result->functions, lines);
}

/* Add the rows that are in a range and in no function. *at_ret is the index in `covered` of
 * the first range that may end after the start. */
static bool add_lines_between(pdb_reader *reader, gsym_range range, size_t *at_ret) {
    const range_list *covered = &reader->covered;
    size_t at = *at_ret;
    while (range.start < range.end) {
        gsym_range gap = range;
        while (at < covered->count && covered->items[at].end <= range.start) ++at;
        if (at < covered->count && covered->items[at].start < gap.end)
            gap.end = covered->items[at].start;
        if (gap.start < gap.end && !add_lines(reader, gap)) return false;
        range.start = gap.end < range.end ? covered->items[at].end : range.end;
    }
    *at_ret = at;
    return true;
}

bool pdb_lines_add_uncovered(pdb_reader *reader) {
    const unit_functions *result = reader->result;
    range_list *covered = &reader->covered;
    size_t at = 0;
    covered->count = 0;
    if (reader->line_count == 0 || reader->pdb->has_omap) return true;
    if (!LIST_RESERVE(*covered, result->functions.count + 1)) return false;
    for (size_t i = 0; i < result->functions.count; ++i) {
        const unit_function *function = &result->functions.items[i];
        covered->items[covered->count++] =
            (gsym_range){function->address, function->address + function->size};
    }
    ranges_join(covered, 0);
    for (size_t i = 0, end; i < reader->line_count; i = end) {
        const gsym_line_row *rows = result->rows.items;
        end = i + 1;
        if (rows[i].file == 0) continue;
        while (end < reader->line_count && rows[end].file != 0) ++end;
        if (end < reader->line_count &&
            !add_lines_between(reader, (gsym_range){rows[i].address, rows[end].address},
                               &at))
            return false;
    }
    return true;
}

/* ---- inlinees ------------------------------------------------------------------------ */

static bool read_inlinee_lines(pdb_reader *reader, cursor c) {
    bool has_files = cursor_u32(&c) == INLINEE_LINES_HAVE_FILES;
    while (cursor_left(&c) > 0) {
        uint32_t id = cursor_u32(&c);
        pdb_inlinee inlinee = {.file = cursor_u32(&c)};
        uint64_t ignored;
        inlinee.line = cursor_u32(&c);
        if (has_files) cursor_skip(&c, (uint64_t)cursor_u32(&c) * 4);
        if (c.failed) break;
        /* Functions with equal name, type and scope share an id; the first one is used. */
        if (number_map_find(&reader->inlinees, id, &ignored)) continue;
        if (!number_map_set(&reader->inlinees, id, reader->inlinee_lines.count) ||
            !LIST_ADD(reader->inlinee_lines, inlinee))
            return false;
    }
    if (c.failed) warn(reader, &c);
    return true;
}

/* ---- the C13 part -------------------------------------------------------------------- */

bool pdb_lines_read(pdb_reader *reader, cursor c11, cursor c13) {
    cursor c = c13, content;
    uint32_t kind;
    if (!read_c11(reader, c11)) return false;
    reader->checksums = reader->imports = cursor_at(NULL, 0, 0, false);
    while (pdb_next_subsection(&c, &kind, &content)) {
        if (kind == DEBUG_S_FILECHKSMS) reader->checksums = content;
        if (kind == DEBUG_S_CROSSSCOPEIMPORTS) reader->imports = content;
    }
    if (c.failed) warn(reader, &c);
    c = c13;
    while (pdb_next_subsection(&c, &kind, &content)) {
        if (kind == DEBUG_S_LINES && !read_lines(reader, content)) return false;
        if (kind == DEBUG_S_INLINEELINES && !read_inlinee_lines(reader, content))
            return false;
    }
    reader->line_count = reader->result->rows.count;
    return sort_stable(reader->result->rows.items, reader->result->rows.count,
                       sizeof *reader->result->rows.items, is_row_before, NULL);
}
