/* conversion_files.c - set up a conversion: files, their sections, ranges of addresses,
 * rules for paths. */
#include "sources/conversion.h"
#include "sources/debug_files.h"

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
    GSYM_TRY(debug_files_add(files, role, file_ret, error));
    if (role == GSYM_DWARF_SUPPLEMENTARY)
        files->supplementary = files->files.items[*file_ret];
    return GSYM_OK;
}

/* Return the file with a number; NULL, with *error filled, if there is none. */
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
    /* The indexes of a package are for split units; a main file that contains a package has
     * these sections, too. */
    if (found->role != GSYM_DWARF_SPLIT &&
        (which == GSYM_DEBUG_CU_INDEX || which == GSYM_DEBUG_TU_INDEX))
        return GSYM_OK;
    found->input.sections[which] = (dwarf_bytes){data, size, is_file_mapping != 0, {0}};
    creator_raise_string_limit(conversion_creator(conversion), size);
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
    if (!LIST_RESERVE(found->spans, 1)) return gsym_fail_memory(error);
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
