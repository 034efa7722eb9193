/* copy.c - copy functions of another GSYM file, and its sections of unknown type.
 *
 * Strings and files get the numbers of this creator: in the order in which LLVM's converter
 * meets them or, with gsym_creator_add_tables(), in that of the other file's tables.
 *
 * In a hostile file all entries may share one record, and all names may start in one long
 * string. So each string is read once, and the sum of what is read is limited by the size
 * of the file. */
#include <inttypes.h>

#include "create/copy.h"

gsym_status entry_copy_begin(entry_copy *copy, gsym_creator *creator,
                             const gsym_image *image, gsym_error *error) {
    *copy = (entry_copy){.creator = creator, .image = image, .is_bounded = true};
    GSYM_TRY(creator_check_open(creator, error));
    GSYM_TRY(gsym_record_create(&copy->record, error));
    copy->files = calloc((size_t)image->header.num_files + 1, sizeof *copy->files);
    return copy->files != NULL ? GSYM_OK : gsym_fail_memory(error);
}

void entry_copy_end(entry_copy *copy) {
    gsym_record_destroy(copy->record);
    number_map_deinit(&copy->strings);
    free(copy->files);
    free(copy->rows.items);
    free(copy->nodes.items);
    free(copy->regexes.items);
    free(copy->functions.items);
}

/* ---- strings and files ------------------------------------------------------ */

static gsym_status copy_string(entry_copy *copy, uint64_t strp, uint64_t *strp_ret,
                               gsym_error *error) {
    const gsym_image *image = copy->image;
    size_t size;
    const char *bytes;
    if (number_map_find(&copy->strings, strp, strp_ret)) return GSYM_OK;
    bytes = gsym_image_string(image, strp, &size);
    copy->strings_size += size;
    if (copy->strings_size > image->header.strtab_size + image->size)
        return gsym_fail(error, GSYM_E_FORMAT, image->header.strtab_offset + strp,
                         "strings overlap");
    GSYM_TRY(gsym_creator_add_string(copy->creator, bytes, size, strp_ret, error));
    if (!number_map_set(&copy->strings, strp, *strp_ret))
        return gsym_fail_memory(error);
    return GSYM_OK;
}

static gsym_status copy_file(entry_copy *copy, uint32_t index, uint32_t *file_ret,
                             gsym_error *error) {
    uint64_t directory, basename;
    *file_ret = 0;
    if (index == 0) return GSYM_OK; /* 0 means no file in both tables */
    GSYM_TRY(gsym_image_file(copy->image, index, &directory, &basename, error));
    if (copy->files[index] == 0) {
        GSYM_TRY(copy_string(copy, directory, &directory, error));
        GSYM_TRY(copy_string(copy, basename, &basename, error));
        GSYM_TRY(gsym_creator_add_file(copy->creator, directory, basename,
                                       &copy->files[index], error));
    }
    *file_ret = copy->files[index];
    return GSYM_OK;
}

/* Copy all strings and files in their order, also those that no function uses. */
static gsym_status copy_tables(entry_copy *copy, gsym_error *error) {
    const gsym_header *header = &copy->image->header;
    uint64_t own_size = header->shared_size == 0
                            ? header->strtab_size
                            : header->file_size - header->strtab_offset;
    for (uint64_t strp = 0; strp < own_size;) {
        uint64_t ignored;
        size_t size;
        (void)gsym_image_string(copy->image, strp, &size);
        GSYM_TRY(copy_string(copy, strp, &ignored, error));
        strp += size + 1;
    }
    for (uint32_t index = 1; index < header->num_files; ++index) {
        uint32_t ignored;
        GSYM_TRY(copy_file(copy, index, &ignored, error));
    }
    return GSYM_OK;
}

/* ---- one function ----------------------------------------------------------- */

#define RESERVE(array, count)                                                            \
    ((count) < (array).capacity ||                                                       \
     array_reserve(&(array).items, &(array).capacity, (count), sizeof *(array).items))

/* Reserve memory for all functions of an entry at once, because no array may move while a
 * function points into it. */
static bool reserve_all(entry_copy *copy, const gsym_function *functions, size_t count) {
    size_t rows = 0, nodes = 0, regexes = 0;
    for (size_t i = 0; i < count; ++i) {
        rows += functions[i].row_count;
        nodes += functions[i].node_count;
        regexes += functions[i].regex_count;
    }
    copy->row_count = copy->node_count = copy->regex_count = 0;
    return RESERVE(copy->rows, rows) && RESERVE(copy->nodes, nodes) &&
           RESERVE(copy->regexes, regexes) && RESERVE(copy->functions, count);
}

static gsym_status copy_rows(entry_copy *copy, gsym_function *function,
                             gsym_error *error) {
    gsym_line_row *rows = copy->rows.items + copy->row_count;
    for (size_t i = 0; i < function->row_count; ++i) {
        rows[i] = function->rows[i];
        GSYM_TRY(copy_file(copy, rows[i].file, &rows[i].file, error));
    }
    function->rows = rows;
    copy->row_count += function->row_count;
    return GSYM_OK;
}

static gsym_status copy_nodes(entry_copy *copy, gsym_function *function,
                              gsym_error *error) {
    gsym_inline_node *nodes = copy->nodes.items + copy->node_count;
    for (size_t i = 0; i < function->node_count; ++i) {
        nodes[i] = function->nodes[i];
        GSYM_TRY(copy_string(copy, nodes[i].name, &nodes[i].name, error));
        GSYM_TRY(copy_file(copy, nodes[i].call_file, &nodes[i].call_file, error));
    }
    function->nodes = nodes;
    copy->node_count += function->node_count;
    return GSYM_OK;
}

static gsym_status copy_regexes(entry_copy *copy, gsym_function *function,
                                gsym_error *error) {
    uint64_t *regexes = copy->regexes.items + copy->regex_count;
    for (size_t i = 0; i < function->regex_count; ++i)
        GSYM_TRY(copy_string(copy, function->regexes[i], &regexes[i], error));
    function->regexes = regexes;
    copy->regex_count += function->regex_count;
    return GSYM_OK;
}

static gsym_status copy_function(entry_copy *copy, gsym_function *function,
                                 gsym_error *error) {
    GSYM_TRY(copy_string(copy, function->name, &function->name, error));
    GSYM_TRY(copy_rows(copy, function, error));
    GSYM_TRY(copy_nodes(copy, function, error));
    return copy_regexes(copy, function, error);
}

/* ---- what is selected ------------------------------------------------------- */

static bool has_wanted_name(const gsym_selection *selection, uint64_t name) {
    size_t low = 0;
    if (selection == NULL || !selection->by_name) return true;
    SEARCH_SORTED(low, selection->name_count, selection->names[middle] < name);
    return low < selection->name_count && selection->names[low] == name;
}

/* Return the last address for which entry `index` may answer. Without a size, this depends
 * on the next entry with another start; it is kept in the state for other entries of the
 * same start. */
static uint64_t entry_last_address(entry_copy *copy, uint32_t index, uint64_t size) {
    const gsym_image *image = copy->image;
    uint64_t base = image->header.base_address, start = copy->last_offset;
    if (size != 0) return base + start + (size - 1);
    if (copy->next_offset <= start) {
        copy->next_offset = start;
        while (++index < image->header.num_addresses && copy->next_offset == start)
            copy->next_offset = image_addr_offset(image, index);
        if (copy->next_offset == start) copy->next_offset = UINT64_MAX - base;
    }
    return base + (copy->next_offset - 1);
}

static bool has_wanted_address(entry_copy *copy, uint32_t index,
                               const gsym_function *function) {
    const gsym_selection *selection = copy->selection;
    uint64_t last;
    if (selection == NULL || !selection->by_address) return true;
    last = entry_last_address(copy, index, function->size);
    for (size_t i = 0; i < selection->range_count; ++i)
        if (function->address < selection->ranges[i].end &&
            last >= selection->ranges[i].start)
            return true;
    return false;
}

/* Give functions without a size, which answer up to the next entry, an end at `address`.
 * The entry there is left out, and they must not answer for its addresses. */
static void bound_sizeless(entry_copy *copy, uint64_t address) {
    const record_list *records = &copy->creator->records;
    if (copy->is_bounded || records->items[records->count - 1].address == address) return;
    copy->is_bounded = true;
    for (size_t i = records->count; i-- > 0;) {
        creator_record *record = &records->items[i];
        uint64_t gap = address - record->address;
        if (record->address != records->items[records->count - 1].address) return;
        if (record->size == 0) record->size = gap > UINT32_MAX ? UINT32_MAX : gap;
    }
}

/* Copy the selected functions of an entry; the others are merged into the first of them. */
static gsym_status add_wanted(entry_copy *copy, uint32_t index,
                              const gsym_function *decoded, gsym_error *error) {
    gsym_function *functions = copy->functions.items;
    bool is_wanted = has_wanted_address(copy, index, decoded);
    size_t count = 0;
    for (size_t i = 0; is_wanted && i <= decoded->merged_count; ++i) {
        const gsym_function *function = i == 0 ? decoded : &decoded->merged[i - 1];
        if (!has_wanted_name(copy->selection, function->name)) continue;
        functions[count] = *function;
        GSYM_TRY(copy_function(copy, &functions[count++], error));
    }
    if (count == 0) {
        bound_sizeless(copy, decoded->address);
        return GSYM_OK;
    }
    copy->is_bounded = false;
    functions[0].merged = functions + 1;
    functions[0].merged_count = count - 1;
    return gsym_creator_add_function(copy->creator, functions, GSYM_ORIGIN_DEBUG_INFO,
                                     error);
}

/* ---- entries ---------------------------------------------------------------- */

static gsym_status check_order(entry_copy *copy, uint32_t index, gsym_error *error) {
    const gsym_header *header = &copy->image->header;
    uint64_t offset = image_addr_offset(copy->image, index);
    uint64_t at = header->addr_offsets_offset + (uint64_t)index * header->addr_off_size;
    if (offset < copy->last_offset || offset > UINT64_MAX - header->base_address)
        return gsym_fail(error, GSYM_E_FORMAT, at,
                         "the address table does not ascend to entry %" PRIu32, index);
    copy->last_offset = offset;
    return GSYM_OK;
}

/* Report a function that the creator refuses as damage of the file that it comes from. */
static gsym_status blame_entry(const gsym_image *image, uint32_t index,
                               gsym_status status, gsym_error *error) {
    char reason[GSYM_ERROR_TEXT_SIZE];
    uint64_t address, record_offset;
    if (status != GSYM_E_ARGUMENT && status != GSYM_E_FORMAT) return status;
    memcpy(reason, error->what, sizeof reason);
    GSYM_TRY(gsym_image_entry(image, index, &address, &record_offset, error));
    return gsym_fail(error, GSYM_E_FORMAT,
                     status == GSYM_E_FORMAT ? error->offset : record_offset,
                     "function %" PRIu32 " at 0x%" PRIx64 ": %s", index, address, reason);
}

static gsym_status add_record(entry_copy *copy, uint32_t index, gsym_error *error) {
    const gsym_function *decoded;
    GSYM_TRY(gsym_record_decode(copy->record, copy->image, index, &decoded, error));
    copy->records_size += record_size(copy->record);
    if (copy->records_size > copy->image->size)
        return gsym_fail(error, GSYM_E_FORMAT, image_record_offset(copy->image, index),
                         "records overlap");
    GSYM_TRY(image_check_function(copy->image, decoded,
                                  image_record_offset(copy->image, index), error));
    if (!reserve_all(copy, decoded, decoded->merged_count + 1))
        return gsym_fail_memory(error);
    return add_wanted(copy, index, decoded, error);
}

gsym_status entry_copy_add(entry_copy *copy, uint32_t index, gsym_error *error) {
    GSYM_TRY(check_order(copy, index, error));
    return blame_entry(copy->image, index, add_record(copy, index, error), error);
}

static gsym_status add_all(entry_copy *copy, gsym_error *error) {
    for (uint32_t index = 0; index < copy->image->header.num_addresses; ++index)
        GSYM_TRY(entry_copy_add(copy, index, error));
    return GSYM_OK;
}

gsym_status gsym_creator_add_entries(gsym_creator *creator, const gsym_image *image,
                                     const gsym_selection *selection, gsym_error *error) {
    entry_copy copy;
    gsym_status status = entry_copy_begin(&copy, creator, image, error);
    copy.selection = selection;
    if (status == GSYM_OK) status = add_all(&copy, error);
    entry_copy_end(&copy);
    return status;
}

gsym_status gsym_creator_add_tables(gsym_creator *creator, const gsym_image *image,
                                    gsym_error *error) {
    entry_copy copy;
    gsym_status status = entry_copy_begin(&copy, creator, image, error);
    if (status == GSYM_OK) status = copy_tables(&copy, error);
    entry_copy_end(&copy);
    return status;
}

/* ---- sections --------------------------------------------------------------- */

static gsym_status add_new_sections(gsym_creator *creator, const gsym_image *image,
                                    const number_map *known, gsym_error *error) {
    uint64_t size = 0, ignored;
    for (uint32_t i = 0; i < image->header.section_count; ++i) {
        gsym_section section;
        GSYM_TRY(gsym_image_section(image, i, &section, error));
        if (section.type <= GSYM_SECTION_UUID || section.type == GSYM_SECTION_INDEX ||
            number_map_find(known, section.type, &ignored))
            continue;
        if (section.size > image->size - size)
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "sections overlap");
        size += section.size;
        GSYM_TRY(gsym_creator_add_section(creator, section.type,
                                          image->data + section.offset,
                                          (size_t)section.size, error));
    }
    return GSYM_OK;
}

gsym_status gsym_creator_add_sections(gsym_creator *creator, const gsym_image *image,
                                      gsym_error *error) {
    number_map known = {0};
    gsym_status status = GSYM_OK;
    if (creator->options.version == GSYM_VERSION_1) return GSYM_OK;
    for (size_t i = 0; i < creator->sections.count && status == GSYM_OK; ++i)
        if (!number_map_set(&known, creator->sections.items[i].type, 1))
            status = gsym_fail_memory(error);
    if (status == GSYM_OK) status = add_new_sections(creator, image, &known, error);
    number_map_deinit(&known);
    return status;
}
