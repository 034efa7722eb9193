/* debug_files.c - the sets of debug sections that a conversion reads: how they are
 * given, which units they contain, when their pages are released. */
#include "sources/debug_files.h"
#include "base/system.h"
#include "sources/conversion.h"

/* Give the pages of all sections back. */
void debug_file_drop(const debug_file *file) {
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i) {
        const dwarf_bytes *section = &file->input.sections[i];
        if (section->is_file_mapping) pages_give_back(section->data, section->size);
    }
}

/* ---- what is given ------------------------------------------------------------------- */

static gsym_status add_file(debug_files *files, gsym_dwarf_role role, uint32_t *file_ret,
                            gsym_error *error) {
    debug_file *file;
    if (files->files.count >= DWARF_FILE_LIMIT)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "more than %u files with debug sections",
                         DWARF_FILE_LIMIT);
    file = calloc(1, sizeof *file);
    if (file == NULL || !ARRAY_RESERVE(files->files, 1)) {
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
    return add_file(files, GSYM_DWARF_MAIN, &first, error);
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

gsym_status gsym_conversion_add_file(gsym_conversion *conversion, gsym_dwarf_role role,
                                     uint32_t *file_ret, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    bool is_second = role == GSYM_DWARF_SUPPLEMENTARY && files->supplementary != NULL;
    if ((unsigned)role > GSYM_DWARF_SPLIT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such role of a file");
    if (role != GSYM_DWARF_SPLIT && files->is_scanned)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the units are known already");
    if (is_second)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "there is a supplementary file already");
    GSYM_TRY(add_file(files, role, file_ret, error));
    if (role == GSYM_DWARF_SUPPLEMENTARY)
        files->supplementary = files->files.items[*file_ret];
    return GSYM_OK;
}

/* NULL, and *error filled, where no file has the number. */
static debug_file *file_numbered(const debug_files *files, uint32_t number,
                                 gsym_error *error) {
    if (number < files->files.count) return files->files.items[number];
    (void)gsym_fail(error, GSYM_E_ARGUMENT, 0, "no file has the number %u", number);
    return NULL;
}

gsym_status gsym_conversion_set_section(gsym_conversion *conversion, uint32_t file,
                                        gsym_debug_section which, const uint8_t *data,
                                        size_t size, uint32_t is_file_mapping,
                                        gsym_error *error) {
    debug_file *found = file_numbered(conversion_files(conversion), file, error);
    if (found == NULL) return error->status;
    if ((unsigned)which >= GSYM_DEBUG_SECTION_COUNT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such debug section");
    if ((uint64_t)size >> DWARF_OFFSET_BITS != 0)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "a debug section of more than 1 TiB");
    /* The indexes are of the split units, which the same file may hold. */
    if (found->role != GSYM_DWARF_SPLIT &&
        (which == GSYM_DEBUG_CU_INDEX || which == GSYM_DEBUG_TU_INDEX))
        return GSYM_OK;
    found->input.sections[which] = (dwarf_bytes){data, size, is_file_mapping != 0, {0}};
    creator_supply_strings(conversion_creator(conversion), size);
    return GSYM_OK;
}

gsym_status gsym_conversion_distrust(gsym_conversion *conversion, uint32_t file,
                                     gsym_debug_section which, uint64_t start, uint64_t end,
                                     gsym_error *error) {
    debug_file *found = file_numbered(conversion_files(conversion), file, error);
    uint64_t size;
    if (found == NULL) return error->status;
    if ((unsigned)which >= GSYM_DEBUG_SECTION_COUNT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such debug section");
    size = found->input.sections[which].size;
    if (end > size) end = size;
    if (start < end) found->input.sections[which].distrusted = (gsym_range){start, end};
    return GSYM_OK;
}

gsym_status gsym_conversion_add_address_span(gsym_conversion *conversion, uint32_t file,
                                             uint64_t start, uint64_t size,
                                             uint64_t address, gsym_error *error) {
    debug_file *found = file_numbered(conversion_files(conversion), file, error);
    uint64_t end, moved_end;
    if (found == NULL) return error->status;
    if (found->role != GSYM_DWARF_MAIN)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "only a main file has functions");
    if (__builtin_add_overflow(start, size, &end) ||
        __builtin_add_overflow(address, size, &moved_end))
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "an address span without an end");
    if (!ARRAY_RESERVE(found->spans, 1)) return gsym_fail_memory(error);
    found->spans.items[found->spans.count++] = (address_span){start, end, address};
    return GSYM_OK;
}

gsym_status gsym_conversion_add_text_range(gsym_conversion *conversion, uint64_t start,
                                           uint64_t end, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    if (start >= end) return GSYM_OK;
    if (!LIST_ADD(files->text, (gsym_range){start, end})) return gsym_fail_memory(error);
    return creator_add_text_range(conversion_creator(conversion), start, end, error);
}

gsym_status gsym_conversion_add_path_map(gsym_conversion *conversion, const char *old_bytes,
                                         size_t old_size, const char *new_bytes,
                                         size_t new_size, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    if (!path_rules_add(&files->path_rules, old_bytes, old_size, new_bytes, new_size))
        return gsym_fail_memory(error);
    return GSYM_OK;
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

/* In a file with spans, those replace the text ranges, and nothing is at 0 by a linker. */
static gsym_status prepare_spans(debug_file *file, gsym_error *error) {
    if (file->spans.count == 0) return GSYM_OK;
    if (!ARRAY_RESERVE(file->span_ranges, file->spans.count))
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
    if (!ARRAY_RESERVE(*keys, units->count)) return false;
    for (size_t i = 0; i < units->count; ++i)
        keys->items[keys->count++] = abbrev_key(
            units->items[i].abbrev_offset, dwarf_is_type_unit(&units->items[i]));
    return true;
}

/* The abbreviation tables of all units, ascending. */
static gsym_status list_abbrev_keys(debug_file *file, gsym_error *error) {
    offset_list *keys = &file->abbrev_keys;
    if (!add_abbrev_keys(&file->units, keys) ||
        !add_abbrev_keys(&file->type_units, keys) ||
        !dwarf_package_abbrevs(&file->input, GSYM_DEBUG_CU_INDEX, keys) ||
        !dwarf_package_abbrevs(&file->input, GSYM_DEBUG_TU_INDEX, keys))
        return gsym_fail_memory(error);
    if (keys->count == 0) return GSYM_OK;
    qsort(keys->items, keys->count, sizeof *keys->items, compare_first_u64);
    file->input.abbrev_keys = keys->items;
    file->input.abbrev_key_count = keys->count;
    return GSYM_OK;
}

/* Find the units of one file. */
static gsym_status debug_file_scan(debug_file *file, warning_list *warnings,
                                   gsym_error *error) {
    dwarf_input *input = &file->input;
    file->is_scanned = true;
    warnings->file = input->number;
    if (dwarf_is_package(input)) return list_abbrev_keys(file, error);
    GSYM_TRY(dwarf_scan_units(input, &file->units, &file->type_units, warnings, error));
    input->units = file->units.items;
    input->unit_count = file->units.count;
    input->type_units = file->type_units.items;
    input->type_unit_count = file->type_units.count;
    return list_abbrev_keys(file, error);
}

/* What dwz moves out of several units has the line table of one of them. */
static bool add_line_table(debug_files *files, const dwarf_unit *unit) {
    uint64_t key, count;
    if (unit->tag == DW_TAG_partial_unit || !dwarf_lines_key(unit, &key)) return true;
    if (!number_map_find(&files->line_tables, key, &count)) count = 0;
    return number_map_set(&files->line_tables, key, count + 1);
}

/* Add the unit if it is a skeleton with code; that of a Clang module has none. */
static bool add_skeleton(debug_files *files, const dwarf_unit *unit) {
    bool may_be = unit->header->version >= 5
                      ? unit->header->type == DW_UT_skeleton
                      : unit->input->sections[GSYM_DEBUG_ADDR].size > 0;
    if (!may_be || !unit->has_dwo_id || !unit->has_code) return true;
    return LIST_ADD(files->skeletons, (skeleton_unit){.input = unit->input,
                                                      .header = unit->header,
                                                      .unit = files->units.count - 1,
                                                      .dwo_id = unit->dwo_id,
                                                      .dwo_name = unit->dwo_name,
                                                      .comp_dir = unit->comp_dir});
}

static gsym_status list_units(debug_files *files, debug_file *file, abbrev_cache *roots,
                              gsym_error *error) {
    size_t count = file->units.count;
    uint64_t given_back = 0;
    if (!ARRAY_RESERVE(files->units, count)) return gsym_fail_memory(error);
    file->units_left = count;
    for (size_t i = 0; i < count; ++i) {
        const dwarf_unit_header *header = &file->units.items[i];
        warning_list ignored = {0}; /* the unit is read again later */
        dwarf_unit unit;
        files->units.items[files->units.count++] =
            (unit_place){file->input.number, (uint32_t)i};
        if (!dwarf_is_type_unit(header) &&
            dwarf_unit_open(&unit, &file->input, header, NULL, roots, &ignored) &&
            !(add_line_table(files, &unit) && add_skeleton(files, &unit)))
            return gsym_fail_memory(error);
        /* Around a root DIE the system maps much more of its file. */
        if (header->end - given_back >= PAGES_DROP_SIZE) {
            debug_file_drop(file);
            given_back = header->end;
        }
    }
    return GSYM_OK;
}

static gsym_status list_all_units(debug_files *files, gsym_error *error) {
    abbrev_cache abbrevs = {.limit = SCAN_TABLES, .has_roots = true};
    gsym_status status = GSYM_OK;
    for (size_t i = 0; i < files->files.count && status == GSYM_OK; ++i)
        if (files->files.items[i]->role == GSYM_DWARF_MAIN)
            status = list_units(files, files->files.items[i], &abbrevs, error);
    abbrev_cache_deinit(&abbrevs);
    return status == GSYM_OK && abbrevs.failed ? gsym_fail_memory(error) : status;
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
    for (size_t i = 0; i < count; ++i)
        files->by_dwo_id[i] = &files->skeletons.items[i];
    qsort(files->by_dwo_id, count, sizeof(skeleton_unit *), compare_dwo_ids);
    return GSYM_OK;
}

gsym_status debug_files_scan(debug_files *files, warning_list *warnings,
                             gsym_error *error) {
    ranges_join(&files->text, 0);
    files->common.text = files->text.items;
    files->common.text_count = files->text.count;
    files->common.path_rules = &files->path_rules;
    debug_files_take_live(files);
    for (size_t i = 0; i < files->files.count; ++i) {
        debug_file *file = files->files.items[i];
        dwarf_input *input = &file->input;
        if (file->role == GSYM_DWARF_SPLIT) continue;
        input->text = files->common.text;
        input->text_count = files->common.text_count;
        input->path_rules = files->common.path_rules;
        input->isa_bit = files->common.isa_bit;
        input->knows_live = files->common.knows_live;
        if (files->supplementary != NULL && file != files->supplementary)
            input->supplementary = &files->supplementary->input;
        GSYM_TRY(prepare_spans(file, error));
        GSYM_TRY(debug_file_scan(file, warnings, error));
    }
    files->is_scanned = true;
    GSYM_TRY(list_all_units(files, error));
    return sort_skeletons(files, error);
}

bool debug_files_share_lines(const debug_files *files, uint64_t key) {
    uint64_t count;
    if (files->scanned != NULL) files = files->scanned;
    return number_map_find(&files->line_tables, key, &count) && count > 1;
}

unit_source debug_files_unit(const debug_files *files, size_t index) {
    const unit_place *place = &files->units.items[index];
    const debug_file *file = files->files.items[place->file];
    const skeleton_unit *skeletons = files->skeletons.items;
    unit_source source = {&file->input, &file->input.units[place->number], NULL};
    size_t low = 0;
    SEARCH_SORTED(low, files->skeletons.count, skeletons[middle].unit < index);
    if (low < files->skeletons.count && skeletons[low].unit == index)
        source.skeleton = &skeletons[low];
    return source;
}

/* What is found of a file is shared, how far it has been read is not. */
static gsym_status share_files(debug_files *files, const debug_files *scanned,
                               gsym_error *error) {
    for (uint32_t i = 0; i < scanned->files.count; ++i) {
        const debug_file *file = scanned->files.items[i];
        uint32_t number = i;
        if (i == files->files.count) GSYM_TRY(add_file(files, file->role, &number, error));
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
    if (!ARRAY_RESERVE(files->units, count)) return gsym_fail_memory(error);
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
    uint64_t size = header_size(unit->header);
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

/* What has been read of a section, which is up to `done`, since pages of it were given back
 * last. */
static page_span take_done_pages(debug_file *file, gsym_debug_section which,
                                 uint64_t done) {
    const dwarf_bytes *section = &file->input.sections[which];
    drop_mark *mark = &file->marks[which];
    page_span span = {NULL, 0};
    if (done > mark->done) mark->done = done;
    if (!section->is_file_mapping || mark->done < mark->dropped + PAGES_DROP_SIZE ||
        mark->done > section->size)
        return span;
    span.start = section->data + mark->dropped;
    span.size = (size_t)(mark->done - mark->dropped);
    mark->dropped = mark->done;
    return span;
}

/* A package has its units in an order of its own. */
static void take_split_pages(debug_files *files, const skeleton_unit *skeleton,
                             done_pages *pages) {
    debug_file *file = debug_file_of(files, skeleton->split_input);
    const dwarf_bytes *info = &file->input.sections[GSYM_DEBUG_INFO];
    const dwarf_unit_header *header = &skeleton->split_header;
    if (--file->units_left == 0)
        pages->split = file;
    else if (info->is_file_mapping)
        pages->split_info = (page_span){info->data + header->offset,
                                        (size_t)(header->end - header->offset)};
}

done_pages debug_files_part_done(debug_files *files, const unit_source *unit,
                                 uint64_t reached) {
    debug_file *file = debug_file_of(files, unit->input);
    done_pages pages = {0};
    if (unit->skeleton != NULL) return pages; /* the DIEs are in another file */
    pages.spans[GSYM_DEBUG_INFO] = take_done_pages(file, GSYM_DEBUG_INFO, reached);
    return pages;
}

done_pages debug_files_unit_done(debug_files *files, const unit_source *unit,
                                 uint64_t lines_end, uint64_t lists_end) {
    debug_file *file = debug_file_of(files, unit->input);
    done_pages pages = {0};
    uint64_t done[GSYM_DEBUG_SECTION_COUNT] = {
        [GSYM_DEBUG_INFO] = unit->header->end,
        [GSYM_DEBUG_ABBREV] = unit->header->abbrev_offset,
        [GSYM_DEBUG_LINE] = lines_end,
        [GSYM_DEBUG_RNGLISTS] = lists_end,
    };
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i)
        pages.spans[i] = take_done_pages(file, (gsym_debug_section)i, done[i]);
    if (--file->units_left == 0) pages.main = file;
    if (unit->skeleton != NULL && unit->skeleton->split_input != NULL)
        take_split_pages(files, unit->skeleton, &pages);
    return pages;
}

void done_pages_drop(const done_pages *pages) {
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i)
        pages_give_back(pages->spans[i].start, pages->spans[i].size);
    pages_give_back(pages->split_info.start, pages->split_info.size);
    if (pages->main != NULL) debug_file_drop(pages->main);
    if (pages->split != NULL) debug_file_drop(pages->split);
}

/* Skeleton units, and the split units that complete them. */

size_t gsym_conversion_skeleton_count(gsym_conversion *conversion) {
    return conversion_files(conversion)->skeletons.count;
}

gsym_status gsym_conversion_skeleton(gsym_conversion *conversion, size_t index,
                                     gsym_skeleton *skeleton_ret, gsym_error *error) {
    const debug_files *files = conversion_files(conversion);
    const skeleton_unit *skeleton;
    if (index >= files->skeletons.count)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no skeleton unit has the number %zu",
                         index);
    skeleton = &files->skeletons.items[index];
    *skeleton_ret = (gsym_skeleton){
        .unit_offset = skeleton->header->offset,
        .dwo_id = skeleton->dwo_id,
        .dwo_name = skeleton->dwo_name.bytes,
        .dwo_name_size = skeleton->dwo_name.size,
        .comp_dir = skeleton->comp_dir.bytes,
        .comp_dir_size = skeleton->comp_dir.size,
        .file = skeleton->input->number,
        .is_complete = skeleton->split_input != NULL,
    };
    return GSYM_OK;
}

/* ---- linking ------------------------------------------------------------------------- */

/* Whether the unit was taken. Sound units do not overlap and complete one skeleton each,
 * so all that are taken are no larger than their section. */
static bool link_unit(debug_file *file, skeleton_unit *skeleton,
                      const dwarf_unit_header *header) {
    uint64_t size = header->end - header->offset;
    bool is_old = header->version < 5;
    if (is_old != (skeleton->header->version < 5) ||
        header->type != (is_old ? DW_UT_compile : DW_UT_split_compile) ||
        header->address_size != skeleton->header->address_size ||
        size > file->input.sections[GSYM_DEBUG_INFO].size - file->linked_size)
        return false;
    file->linked_size += size;
    ++file->units_left;
    skeleton->split_input = &file->input;
    skeleton->split_header = *header;
    return true;
}

/* The dwo_id of a unit in a split file; false: it has none. */
static bool find_dwo_id(const debug_file *file, const dwarf_unit_header *header,
                        abbrev_cache *abbrevs, uint64_t *dwo_id_ret) {
    warning_list ignored = {0}; /* the unit is read again later */
    dwarf_unit unit;
    *dwo_id_ret = header->signature;
    if (header->version >= 5) return header->type == DW_UT_split_compile;
    if (!dwarf_unit_open(&unit, &file->input, header, NULL, abbrevs, &ignored))
        return false;
    *dwo_id_ret = unit.dwo_id;
    return unit.has_dwo_id;
}

/* The first skeleton with a dwo_id, unless it is complete; or NULL. */
static skeleton_unit *open_skeleton(const debug_files *files, uint64_t dwo_id) {
    size_t low = 0;
    SEARCH_SORTED(low, files->skeletons.count, files->by_dwo_id[middle]->dwo_id < dwo_id);
    if (low == files->skeletons.count || files->by_dwo_id[low]->dwo_id != dwo_id ||
        files->by_dwo_id[low]->split_input != NULL)
        return NULL;
    return files->by_dwo_id[low];
}

/* Each unit completes the first skeleton of its dwo_id. */
static uint64_t link_units(debug_files *files, debug_file *file, abbrev_cache *abbrevs) {
    uint64_t matched = 0;
    for (size_t i = 0; i < file->units.count; ++i) {
        const dwarf_unit_header *header = &file->units.items[i];
        skeleton_unit *skeleton;
        uint64_t dwo_id;
        if (!find_dwo_id(file, header, abbrevs, &dwo_id)) continue;
        skeleton = open_skeleton(files, dwo_id);
        if (skeleton != NULL) matched += link_unit(file, skeleton, header);
    }
    return matched;
}

static uint64_t link_package(debug_files *files, debug_file *file, abbrev_cache *abbrevs) {
    uint64_t matched = 0;
    for (size_t i = 0; i < files->skeletons.count; ++i) {
        skeleton_unit *skeleton = &files->skeletons.items[i];
        dwarf_unit_header header;
        uint64_t dwo_id, from = 0;
        if (skeleton != open_skeleton(files, skeleton->dwo_id)) continue;
        while (dwarf_package_unit(&file->input, GSYM_DEBUG_CU_INDEX, skeleton->dwo_id, from,
                                  &header)) {
            if (find_dwo_id(file, &header, abbrevs, &dwo_id) &&
                dwo_id == skeleton->dwo_id) {
                matched += link_unit(file, skeleton, &header);
                break;
            }
            from = header.offset + 1;
        }
    }
    return matched;
}

gsym_status gsym_conversion_link_split(gsym_conversion *conversion, uint32_t file,
                                       uint64_t *matched_ret, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    abbrev_cache abbrevs = {.limit = SCAN_TABLES};
    debug_file *split;
    *matched_ret = 0;
    if (file >= files->files.count || files->files.items[file]->role != GSYM_DWARF_SPLIT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "file %u has no split units", file);
    split = files->files.items[file];
    if (!files->is_scanned || split->is_scanned)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "file %u is to be linked once, after "
                         "the scan", file);
    GSYM_TRY(debug_file_scan(split, conversion_warnings(conversion), error));
    if (dwarf_is_package(&split->input))
        *matched_ret = link_package(files, split, &abbrevs);
    else
        *matched_ret = link_units(files, split, &abbrevs);
    abbrev_cache_deinit(&abbrevs);
    return abbrevs.failed ? gsym_fail_memory(error) : GSYM_OK;
}
