/* skeletons.c - skeleton units, and the split units that complete them. */
#include "debug_files.h"

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

gsym_status gsym_conversion_link_split(gsym_conversion *conversion, uint32_t file,
                                       uint64_t *matched_ret, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    *matched_ret = 0;
    if (file >= files->files.count || files->files.items[file]->role != GSYM_DWARF_SPLIT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "file %u holds no split units", file);
    return GSYM_OK;
}
