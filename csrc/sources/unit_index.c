/* unit_index.c - find the units with code at an address.
 *
 * The root DIE of a unit has its address ranges, which are read with it by the scan. If it
 * has none, the functions and rows of the unit are read after that: most such units have
 * only types and data, which takes little time. */
#include "base/system.h"
#include "dwarf/line.h"
#include "dwarf/walk.h"
#include "sources/conversion.h"
#include "sources/debug_files.h"

/* Bytes of units of which only root DIEs and their ranges are read. */
#define ROOTS_DROP_SIZE (16u << 20)

typedef struct unit_extent {
    uint64_t start;
    uint64_t end;
    uint32_t unit;
} unit_extent;

struct gsym_unit_index {
    gsym_conversion *conversion;
    LIST(unit_extent) extents; /* in the order of the units */
    LIST(uint64_t) sizes;      /* of the units, in .debug_info */
    uint64_t total_size;
};

typedef struct index_reader {
    gsym_unit_index *index;
    uint64_t passed;        /* bytes of units since pages were last released */
    LIST(uint32_t) without; /* units without ranges */
    abbrev_cache abbrevs;
    range_list ranges;
    unit_walk walk;
    dwarf_line_table lines;
    row_list rows;
    dwarf_budget budget;
    warning_list ignored; /* warnings are reported when the unit is converted */
} index_reader;

/* Whether a range has code. */
static bool is_live(const dwarf_input *input, const gsym_range *range) {
    size_t low = 0;
    SEARCH_SORTED(low, input->text_count, input->text[middle].end <= range->start);
    return input->text_count == 0 ||
           (low < input->text_count && input->text[low].start < range->end);
}

/* Add the ranges of a unit that have code; linkers leave ranges of code that they
 * dropped. */
static bool add_extents(index_reader *reader, const dwarf_input *input,
                        const range_list *ranges, uint32_t unit) {
    for (size_t i = 0; i < ranges->count; ++i) {
        gsym_range range = ranges->items[i];
        if (range.start < range.end && is_live(input, &range) &&
            !LIST_ADD(reader->index->extents,
                      (unit_extent){range.start, range.end, unit}))
            return false;
    }
    return true;
}

static bool add_sequences(index_reader *reader, const dwarf_unit *opened, uint32_t unit) {
    reader->ranges.count = 0;
    if (!dwarf_run_line_program(&reader->lines, &reader->rows, opened, &reader->budget,
                                &reader->ignored))
        return false;
    for (size_t i = 0; i < reader->lines.sequences.count; ++i) {
        const line_sequence *sequence = &reader->lines.sequences.items[i];
        if (!LIST_ADD(reader->ranges, (gsym_range){sequence->low, sequence->high}))
            return false;
    }
    return add_extents(reader, opened->input, &reader->ranges, unit);
}

/* Add the ranges of functions and rows of a unit whose root DIE has no ranges. */
static bool add_contents(index_reader *reader, const unit_source *source, uint32_t unit) {
    dwarf_unit opened;
    if (!dwarf_unit_open(&opened, source->input, source->header, NULL, &reader->abbrevs,
                         &reader->ignored))
        return true;
    return dwarf_walk_unit(&reader->walk, &opened, 0, UINT64_MAX, &reader->ignored) &&
           add_extents(reader, source->input, &reader->walk.ranges, unit) &&
           (opened.tag == DW_TAG_partial_unit || add_sequences(reader, &opened, unit));
}

/* Release all pages after `size` bytes of units: the system maps many more than those that
 * are read. */
static void pass_unit(index_reader *reader, const dwarf_input *input,
                      const dwarf_unit_header *header, uint64_t size) {
    reader->passed += header->end - header->offset;
    if (reader->passed < size) return;
    reader->passed = 0;
    debug_file_drop(debug_file_of(conversion_files(reader->index->conversion), input));
}

/* Add the ranges of a root DIE. */
static bool add_root(void *context, const dwarf_unit *opened, uint32_t unit) {
    index_reader *reader = context;
    size_t extent_count = reader->index->extents.count;
    pass_unit(reader, opened->input, opened->header, ROOTS_DROP_SIZE);
    reader->ranges.count = 0;
    return dwarf_unit_ranges(opened, &reader->ranges, &reader->ignored) &&
           add_extents(reader, opened->input, &reader->ranges, unit) &&
           (reader->index->extents.count > extent_count || LIST_ADD(reader->without, unit));
}

/* Add the sizes of all units, and the contents of those without ranges, which a skeleton
 * has in another file. */
static bool add_units(index_reader *reader, const debug_files *files) {
    gsym_unit_index *index = reader->index;
    if (files->units.count > UINT32_MAX) return false;
    for (size_t i = 0, next = 0; i < files->units.count; ++i) {
        unit_source source = debug_files_unit(files, i);
        uint64_t size = unit_source_size(&source);
        if (!LIST_ADD(index->sizes, size)) return false;
        index->total_size += size;
        if (next == reader->without.count || reader->without.items[next] != i) continue;
        ++next;
        if (source.skeleton == NULL && !add_contents(reader, &source, (uint32_t)i))
            return false;
        pass_unit(reader, source.input, source.header, PAGES_DROP_SIZE);
    }
    return true;
}

gsym_status gsym_unit_index_create(gsym_conversion *conversion,
                                   gsym_unit_index **index_ret, gsym_error *error) {
    index_reader reader = {.abbrevs = {.limit = SCAN_TABLES}};
    root_visit visit = {add_root, &reader};
    gsym_status status;
    reader.index = calloc(1, sizeof *reader.index);
    if (reader.index == NULL) return gsym_fail_memory(error);
    reader.index->conversion = conversion;
    status = conversion_scan_roots(conversion, &visit, error);
    conversion_set_budget(conversion, &reader.budget);
    if (status == GSYM_OK && (!add_units(&reader, conversion_files(conversion)) ||
                              reader.abbrevs.failed))
        status = conversion_fail_reading(&reader.budget, error);
    free(reader.without.items);
    abbrev_cache_deinit(&reader.abbrevs);
    unit_walk_deinit(&reader.walk);
    dwarf_line_table_deinit(&reader.lines);
    free(reader.rows.items);
    free(reader.ranges.items);
    if (status != GSYM_OK) {
        gsym_unit_index_destroy(reader.index);
        return status;
    }
    *index_ret = reader.index;
    return GSYM_OK;
}

void gsym_unit_index_destroy(gsym_unit_index *index) {
    if (index == NULL) return;
    free(index->extents.items);
    free(index->sizes.items);
    free(index);
}

/* Mark the units with code at one of the ascending addresses. For each address, mark also
 * the unit whose code starts last before it: its functions are needed to know whether a
 * symbol without a size before them extends to the address. */
static bool mark_units(const gsym_unit_index *index, const uint64_t *addresses,
                       size_t count, bool *marks) {
    const unit_extent **last = calloc(count + 1, sizeof *last);
    if (last == NULL) return false;
    for (size_t i = 0; i < index->extents.count; ++i) {
        const unit_extent *extent = &index->extents.items[i];
        size_t low = 0;
        SEARCH_SORTED(low, count, addresses[middle] < extent->start);
        if (low < count && addresses[low] < extent->end) marks[extent->unit] = true;
        if (last[low] == NULL || last[low]->start < extent->start) last[low] = extent;
    }
    for (size_t i = 0; i < count; ++i) {
        if (last[i] == NULL) continue;
        marks[last[i]->unit] = true;
        if (last[i + 1] == NULL || last[i + 1]->start < last[i]->start)
            last[i + 1] = last[i];
    }
    free(last);
    return true;
}

gsym_status gsym_unit_index_find(const gsym_unit_index *index, const uint64_t *addresses,
                                 size_t address_count, uint32_t *units, size_t capacity,
                                 size_t *count_ret, uint64_t *size_ret,
                                 uint64_t *total_ret, gsym_error *error) {
    bool *marks = calloc(index->sizes.count + 1, sizeof *marks);
    if (marks == NULL || !mark_units(index, addresses, address_count, marks)) {
        free(marks);
        return gsym_fail_memory(error);
    }
    *count_ret = 0;
    *size_ret = 0;
    *total_ret = index->total_size;
    for (size_t i = 0; i < index->sizes.count; ++i) {
        if (!marks[i]) continue;
        if (*count_ret < capacity) units[*count_ret] = (uint32_t)i;
        ++*count_ret;
        *size_ret += index->sizes.items[i];
    }
    free(marks);
    return GSYM_OK;
}

gsym_status gsym_conversion_select(gsym_conversion *conversion,
                                   const gsym_unit_index *index, const uint32_t *units,
                                   size_t count, gsym_error *error) {
    gsym_conversion *scanned = index->conversion;
    GSYM_TRY(debug_files_share(conversion_files(conversion), conversion_files(scanned),
                               units, count, error));
    creator_share_string_limit(conversion_creator(conversion), conversion_creator(scanned));
    return GSYM_OK;
}
