/* debug_files.c - keep the debug sections of a conversion: add files, find their units,
 * release their pages. */
#include "base/sort.h"
#include "base/system.h"
#include "dwarf/package.h"
#include "sources/conversion.h"
#include "sources/debug_files.h"

/* Release the pages of all sections. */
void debug_file_drop(const debug_file *file) {
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i) {
        const dwarf_bytes *section = &file->input.sections[i];
        if (section->is_file_mapping) pages_release(section->data, section->size);
    }
}

/* ---- what is given ------------------------------------------------------------------- */

gsym_status debug_files_add(debug_files *files, gsym_dwarf_role role, uint32_t *file_ret,
                            gsym_error *error) {
    debug_file *file;
    if (files->files.count >= DWARF_FILE_LIMIT)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "more than %u files with debug sections",
                         DWARF_FILE_LIMIT);
    file = calloc(1, sizeof *file);
    if (file == NULL || !LIST_RESERVE(files->files, 1)) {
        free(file);
        return gsym_fail_memory(error);
    }
    file->role = role;
    file->input = files->common;
    file->input.number = *file_ret = (uint32_t)files->files.count;
    files->files.items[files->files.count++] = file;
    return GSYM_OK;
}

gsym_status debug_files_init(debug_files *files, gsym_error *error) {
    uint32_t first;
    return debug_files_add(files, GSYM_DWARF_MAIN, &first, error);
}

void debug_files_end(debug_files *files) {
    for (size_t i = 0; i < files->files.count; ++i) {
        debug_file *file = files->files.items[i];
        debug_file_drop(file);
        free(file->units.items);
        free(file->type_units.items);
        free(file->abbrev_keys.items);
        free(file->spans.items);
        free(file->span_ranges.items);
        free(file);
    }
    free(files->files.items);
    free(files->units.items);
    free(files->skeletons.items);
    free(files->by_dwo_id);
    number_map_deinit(&files->line_tables);
    memset(&files->files, 0, sizeof files->files);
    memset(&files->units, 0, sizeof files->units);
    memset(&files->skeletons, 0, sizeof files->skeletons);
    files->by_dwo_id = NULL;
    files->line_tables = (number_map){0};
    files->supplementary = NULL;
}

void debug_files_deinit(debug_files *files) {
    debug_files_end(files);
    path_rules_deinit(&files->path_rules);
    free(files->text.items);
    free(files->live.items);
}

/* ---- where there is code ----------------------------------------------------------- */

static int compare_spans(const void *left, const void *right) {
    const address_span *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_live(const void *left, const void *right) {
    const live_code *a = left, *b = right;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return (int)b->has_name - (int)a->has_name;
}

void debug_files_take_live(debug_files *files) {
    if (files->live.count > 1)
        qsort(files->live.items, files->live.count, sizeof *files->live.items,
              compare_live);
    files->common.live = files->live.items;
    files->common.live_count = files->live.count;
    for (size_t i = 0; i < files->live.count; ++i)
        files->common.has_live_sizes |= files->live.items[i].size > 0;
    for (size_t i = 0; i < files->files.count; ++i) {
        dwarf_input *input = &files->files.items[i]->input;
        input->live = files->common.live;
        input->live_count = files->common.live_count;
        input->has_live_sizes = files->common.has_live_sizes;
    }
}

/* If a file has spans, use these as its text ranges. Such a file is not linked, so address
 * 0 does not mean dropped code. */
static gsym_status prepare_spans(debug_file *file, gsym_error *error) {
    if (file->spans.count == 0) return GSYM_OK;
    if (!LIST_RESERVE(file->span_ranges, file->spans.count))
        return gsym_fail_memory(error);
    qsort(file->spans.items, file->spans.count, sizeof *file->spans.items, compare_spans);
    for (size_t i = 0; i < file->spans.count; ++i)
        file->span_ranges.items[file->span_ranges.count++] =
            (gsym_range){file->spans.items[i].start, file->spans.items[i].end};
    ranges_join(&file->span_ranges, 0);
    file->input.text = file->span_ranges.items;
    file->input.text_count = file->span_ranges.count;
    file->input.knows_live = false;
    file->input.spans = file->spans.items;
    file->input.span_count = file->spans.count;
    return GSYM_OK;
}

/* ---- units --------------------------------------------------------------------------- */

static bool add_abbrev_keys(const unit_list *units, offset_list *keys) {
    if (!LIST_RESERVE(*keys, units->count)) return false;
    for (size_t i = 0; i < units->count; ++i)
        keys->items[keys->count++] = abbrev_key(
            units->items[i].abbrev_offset, dwarf_is_type_unit(&units->items[i]));
    return true;
}

/* List the abbreviation tables of all units in ascending order. */
static gsym_status list_abbrev_keys(debug_file *file, gsym_error *error) {
    offset_list *keys = &file->abbrev_keys;
    if (!add_abbrev_keys(&file->units, keys) ||
        !add_abbrev_keys(&file->type_units, keys) ||
        !dwarf_package_abbrevs(&file->input, GSYM_DEBUG_CU_INDEX, keys) ||
        !dwarf_package_abbrevs(&file->input, GSYM_DEBUG_TU_INDEX, keys))
        return gsym_fail_memory(error);
    if (keys->count == 0) return GSYM_OK;
    sort_by_u64(keys->items, keys->count, sizeof *keys->items);
    file->input.abbrev_keys = keys->items;
    file->input.abbrev_key_count = keys->count;
    return GSYM_OK;
}

gsym_status debug_file_scan(debug_file *file, dwarf_unit_visit *visit, void *context,
                            warning_list *warnings, gsym_error *error) {
    dwarf_input *input = &file->input;
    file->is_scanned = true;
    warnings->file = input->number;
    if (dwarf_is_package(input)) return list_abbrev_keys(file, error);
    GSYM_TRY(dwarf_scan_units(input, &file->units, &file->type_units, visit, context,
                              warnings, error));
    input->units = file->units.items;
    input->unit_count = file->units.count;
    input->type_units = file->type_units.items;
    input->type_unit_count = file->type_units.count;
    return list_abbrev_keys(file, error);
}

/* Count a unit that uses its line table. Partial units do not count: dwz makes them of DIEs
 * that several units share, and gives them the line table of one of these. */
static bool add_line_table(debug_files *files, const dwarf_unit *unit) {
    uint64_t key, count;
    if (unit->tag == DW_TAG_partial_unit || !dwarf_lines_key(unit, &key)) return true;
    if (!number_map_find(&files->line_tables, key, &count)) count = 0;
    return number_map_set(&files->line_tables, key, count + 1);
}

/* Add the unit if it is a skeleton with code; the skeleton of a Clang module has none. */
static bool add_skeleton(debug_files *files, const dwarf_unit *unit) {
    bool may_be = unit->header->version >= 5
                      ? unit->header->type == DW_UT_skeleton
                      : unit->input->sections[GSYM_DEBUG_ADDR].size > 0;
    if (!may_be || !unit->has_dwo_id || !unit->has_code) return true;
    return LIST_ADD(files->skeletons, (skeleton_unit){.input = unit->input,
                                                      .unit = files->units.count - 1,
                                                      .dwo_id = unit->dwo_id,
                                                      .dwo_name = unit->dwo_name,
                                                      .comp_dir = unit->comp_dir});
}

/* A scan of main files that reads each root DIE with the header before it: to come back
 * later would map their pages a second time, and the system maps many pages around each. */
typedef struct root_scan {
    debug_files *files;
    const root_visit *visit; /* or NULL */
    debug_file *file; /* the one that is being scanned */
    abbrev_cache roots;
} root_scan;

static bool list_unit(void *context, const dwarf_unit_header *header) {
    root_scan *scan = context;
    debug_file *file = scan->file;
    warning_list ignored = {0}; /* the unit is read again later */
    dwarf_unit unit;
    if (!LIST_ADD(scan->files->units, (unit_position){file->input.number,
                                                      (uint32_t)file->units_left++}))
        return false;
    if (dwarf_is_type_unit(header) ||
        !dwarf_unit_open(&unit, &file->input, header, NULL, &scan->roots, &ignored))
        return true;
    return add_line_table(scan->files, &unit) && add_skeleton(scan->files, &unit) &&
           (scan->visit == NULL ||
            scan->visit->call(scan->visit->context, &unit,
                              (uint32_t)(scan->files->units.count - 1)));
}

static int compare_dwo_ids(const void *left, const void *right) {
    const skeleton_unit *a = *(skeleton_unit *const *)left;
    const skeleton_unit *b = *(skeleton_unit *const *)right;
    if (a->dwo_id != b->dwo_id) return a->dwo_id < b->dwo_id ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static gsym_status sort_skeletons(debug_files *files, gsym_error *error) {
    size_t count = files->skeletons.count;
    files->by_dwo_id = malloc((count + 1) * sizeof(skeleton_unit *));
    if (files->by_dwo_id == NULL) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        skeleton_unit *skeleton = &files->skeletons.items[i];
        skeleton->header = debug_files_unit(files, skeleton->unit).header;
        files->by_dwo_id[i] = skeleton;
    }
    qsort(files->by_dwo_id, count, sizeof(skeleton_unit *), compare_dwo_ids);
    return GSYM_OK;
}

static gsym_status scan_all(root_scan *scan, warning_list *warnings, gsym_error *error) {
    debug_files *files = scan->files;
    for (size_t i = 0; i < files->files.count; ++i) {
        debug_file *file = scan->file = files->files.items[i];
        dwarf_input *input = &file->input;
        bool is_main = file->role == GSYM_DWARF_MAIN;
        if (file->role == GSYM_DWARF_SPLIT) continue;
        input->text = files->common.text;
        input->text_count = files->common.text_count;
        input->path_rules = files->common.path_rules;
        input->isa_bit = files->common.isa_bit;
        input->knows_live = files->common.knows_live;
        if (files->supplementary != NULL && file != files->supplementary)
            input->supplementary = &files->supplementary->input;
        GSYM_TRY(prepare_spans(file, error));
        GSYM_TRY(debug_file_scan(file, is_main ? list_unit : NULL, scan, warnings, error));
        debug_file_drop(file);
    }
    return scan->roots.failed ? gsym_fail_memory(error) : GSYM_OK;
}

void debug_files_prepare(debug_files *files) {
    ranges_join(&files->text, 0);
    files->common.text = files->text.items;
    files->common.text_count = files->text.count;
    files->common.path_rules = &files->path_rules;
    debug_files_take_live(files);
}

gsym_status debug_files_scan(debug_files *files, const root_visit *visit,
                             warning_list *warnings, gsym_error *error) {
    root_scan scan = {.files = files,
                      .visit = visit,
                      .roots = {.limit = SCAN_TABLES, .has_roots = true}};
    gsym_status status = scan_all(&scan, warnings, error);
    abbrev_cache_deinit(&scan.roots);
    if (status != GSYM_OK) return status;
    files->is_scanned = true;
    return sort_skeletons(files, error);
}

bool debug_files_share_lines(const debug_files *files, uint64_t key) {
    uint64_t count;
    if (files->scanned != NULL) files = files->scanned;
    return number_map_find(&files->line_tables, key, &count) && count > 1;
}

unit_source debug_files_unit(const debug_files *files, size_t index) {
    const unit_position *place = &files->units.items[index];
    const debug_file *file = files->files.items[place->file];
    const skeleton_unit *skeletons = files->skeletons.items;
    const dwarf_unit_header *header = &file->input.units[place->number];
    unit_source source = {.input = &file->input,
                          .header = header,
                          .from = header->offset,
                          .to = header->end};
    size_t low = 0;
    SEARCH_SORTED(low, files->skeletons.count, skeletons[middle].unit < index);
    if (low < files->skeletons.count && skeletons[low].unit == index)
        source.skeleton = &skeletons[low];
    return source;
}

/* Copy the files of another conversion with what its scan found, but not how far they have
 * been read. */
static gsym_status share_files(debug_files *files, const debug_files *scanned,
                               gsym_error *error) {
    for (uint32_t i = 0; i < scanned->files.count; ++i) {
        const debug_file *file = scanned->files.items[i];
        uint32_t number = i;
        if (i == files->files.count)
            GSYM_TRY(debug_files_add(files, file->role, &number, error));
        files->files.items[number]->input = file->input;
    }
    files->common = scanned->common;
    files->scanned = scanned;
    files->is_scanned = true;
    return GSYM_OK;
}

gsym_status debug_files_share(debug_files *files, const debug_files *scanned,
                              const uint32_t *units, size_t count, gsym_error *error) {
    if (files->is_scanned || scanned->skeletons.count > 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "units that cannot be selected");
    GSYM_TRY(share_files(files, scanned, error));
    if (!LIST_RESERVE(files->units, count)) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        if (units[i] >= scanned->units.count || (i > 0 && units[i] <= units[i - 1]))
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "units to select do not ascend");
        files->units.items[files->units.count++] = scanned->units.items[units[i]];
        ++files->files.items[files->units.items[i].file]->units_left;
    }
    return GSYM_OK;
}

static uint64_t header_size(const dwarf_unit_header *header) {
    return header->end - header->offset;
}

uint64_t unit_source_size(const unit_source *unit) {
    const skeleton_unit *skeleton = unit->skeleton;
    uint64_t size = unit->to - unit->from;
    if (skeleton != NULL && skeleton->split_input != NULL)
        size += header_size(&skeleton->split_header);
    return size;
}

uint64_t debug_files_size(const debug_files *files) {
    uint64_t size = 0;
    for (size_t i = 0; i < files->files.count; ++i)
        if (files->files.items[i]->role == GSYM_DWARF_MAIN)
            size += files->files.items[i]->input.sections[GSYM_DEBUG_INFO].size;
    for (size_t i = 0; i < files->skeletons.count; ++i)
        if (files->skeletons.items[i].split_input != NULL)
            size += header_size(&files->skeletons.items[i].split_header);
    return size;
}

/* ---- giving pages back -------------------------------------------------------------- */

/* Return the pages of a section from those that were released last up to the offset
 * `done`. */
static page_range take_done_pages(debug_file *file, gsym_debug_section which,
                                  uint64_t done) {
    const dwarf_bytes *section = &file->input.sections[which];
    drop_mark *mark = &file->marks[which];
    page_range range = {NULL, 0};
    if (done > mark->done) mark->done = done;
    if (!section->is_file_mapping || mark->done < mark->dropped + PAGES_DROP_SIZE ||
        mark->done > section->size)
        return range;
    range.start = section->data + mark->dropped;
    range.size = (size_t)(mark->done - mark->dropped);
    mark->dropped = mark->done;
    return range;
}

/* After so many bytes of DIEs, one of so many slices of .debug_str is given back. */
#define STRINGS_DROP_SIZE (4u << 20)
#define STRINGS_SLICES 12

/* Return a slice of .debug_str, now and then. DIEs refer to it in no order, so that all of
 * it is in use all the time, and each slice is read again. */
static page_range take_strings(debug_file *file, uint64_t done) {
    const dwarf_bytes *section = &file->input.sections[GSYM_DEBUG_STR];
    drop_mark *mark = &file->marks[GSYM_DEBUG_STR];
    size_t size = section->size / STRINGS_SLICES + 1;
    size_t start = (size_t)(done / STRINGS_DROP_SIZE % STRINGS_SLICES) * size;
    if (!section->is_file_mapping || done < mark->dropped + STRINGS_DROP_SIZE ||
        start >= section->size)
        return (page_range){NULL, 0};
    mark->dropped = done;
    if (size > section->size - start) size = section->size - start;
    return (page_range){section->data + start, size};
}

/* Take the pages of a split unit; and those of its file when all of its units are read,
 * because units in a package are not in the order of the skeletons. */
static void take_split_pages(debug_files *files, const skeleton_unit *skeleton,
                             done_pages *pages) {
    debug_file *file = debug_file_of(files, skeleton->split_input);
    const dwarf_bytes *info = &file->input.sections[GSYM_DEBUG_INFO];
    const dwarf_unit_header *header = &skeleton->split_header;
    if (--file->units_left == 0)
        pages->split = file;
    else if (info->is_file_mapping)
        pages->split_info = (page_range){info->data + header->offset,
                                         (size_t)(header->end - header->offset)};
}

done_pages debug_files_part_done(debug_files *files, const unit_source *unit,
                                 uint64_t reached) {
    debug_file *file = debug_file_of(files, unit->input);
    done_pages pages = {0};
    if (unit->skeleton != NULL) return pages; /* the file of the skeleton is still
                                                 needed; its DIEs are in another file */
    pages.ranges[GSYM_DEBUG_INFO] = take_done_pages(file, GSYM_DEBUG_INFO, reached);
    return pages;
}

done_pages debug_files_unit_done(debug_files *files, const unit_source *unit,
                                 uint64_t lines_end, uint64_t lists_end) {
    debug_file *file = debug_file_of(files, unit->input);
    done_pages pages = {0};
    uint64_t done[GSYM_DEBUG_SECTION_COUNT] = {
        [GSYM_DEBUG_INFO] = unit->to,
        [GSYM_DEBUG_ABBREV] = unit->header->abbrev_offset,
        [GSYM_DEBUG_LINE] = lines_end,
        [GSYM_DEBUG_RNGLISTS] = lists_end,
    };
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i)
        pages.ranges[i] = take_done_pages(file, (gsym_debug_section)i, done[i]);
    pages.ranges[GSYM_DEBUG_STR] = take_strings(file, unit->to);
    if ((unit->cut_count == 0 || unit->is_rest) && --file->units_left == 0)
        pages.main = file;
    if (unit->skeleton != NULL && unit->skeleton->split_input != NULL)
        take_split_pages(files, unit->skeleton, &pages);
    return pages;
}

void done_pages_drop(const done_pages *pages) {
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i)
        pages_release(pages->ranges[i].start, pages->ranges[i].size);
    pages_release(pages->split_info.start, pages->split_info.size);
    if (pages->main != NULL) debug_file_drop(pages->main);
    if (pages->split != NULL) debug_file_drop(pages->split);
}
