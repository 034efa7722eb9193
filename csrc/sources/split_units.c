/* split_units.c - link skeleton units to the split units that have their DIEs. */
#include "dwarf/package.h"
#include "sources/conversion.h"
#include "sources/debug_files.h"

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

/* Link a unit to a skeleton; false if they do not fit. In a sound file, units do not
 * overlap and are linked once, so all linked units together may not be larger than their
 * section. */
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

/* Find the dwo_id of a unit in a split file; false: it has none. */
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

/* Return the first skeleton with this dwo_id; NULL if there is none or if it is linked
 * already. */
static skeleton_unit *open_skeleton(const debug_files *files, uint64_t dwo_id) {
    size_t low = 0;
    SEARCH_SORTED(low, files->skeletons.count, files->by_dwo_id[middle]->dwo_id < dwo_id);
    if (low == files->skeletons.count || files->by_dwo_id[low]->dwo_id != dwo_id ||
        files->by_dwo_id[low]->split_input != NULL)
        return NULL;
    return files->by_dwo_id[low];
}

/* Link each unit to the first skeleton with its dwo_id. */
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
    GSYM_TRY(debug_file_scan(split, NULL, NULL, conversion_warnings(conversion), error));
    if (dwarf_is_package(&split->input))
        *matched_ret = link_package(files, split, &abbrevs);
    else
        *matched_ret = link_units(files, split, &abbrevs);
    abbrev_cache_deinit(&abbrevs);
    return abbrevs.failed ? gsym_fail_memory(error) : GSYM_OK;
}
