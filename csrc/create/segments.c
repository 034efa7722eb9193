/* segments.c - copy as many entries of another GSYM file as fit a given size.
 *
 * The size is estimated as LLVM does, so that segments end at the same entries: without the
 * count before the version-1 file table and the padding between tables. Merged functions
 * and call sites, which LLVM drops from segments, are kept and counted. */
#include <inttypes.h>

#include "create/copy.h"

/* Return the greatest address offset of the entries that were copied. */
static uint64_t greatest_offset(const gsym_creator *creator) {
    const record_list *records = &creator->records;
    uint64_t base;
    if (records->count == 0) return 0;
    base = creator->options.has_base_address ? creator->options.base_address
                                             : records->items[0].address;
    return records->items[records->count - 1].address - base;
}

/* Return the estimated size of all that comes before the records. */
static uint64_t tables_size(const gsym_creator *creator) {
    uint64_t count = creator->records.count, offset_size = creator->strp_size;
    uint64_t tables =
        count * addr_off_size(greatest_offset(creator)) + count * offset_size +
        (uint64_t)creator->files.count * 2 * offset_size + creator->strings.size;
    uint64_t sections = creator->uuid_size == 0 ? 6 : 7; /* including EndOfList */
    if (creator->options.version == GSYM_VERSION_1) return GSYM_V1_HEADER_SIZE + tables;
    return GSYM_V2_HEADER_SIZE + sections * GSYM_V2_SECTION_ENTRY_SIZE +
           creator->uuid_size + 4 + tables;
}

/* Whether an entry has the start of the one before it. Such entries stay in one segment,
 * because a segment is found by the start of its first entry. */
static bool starts_with_last(const gsym_image *image, uint32_t first, uint32_t index) {
    return index != first &&
           image_addr_offset(image, index) == image_addr_offset(image, index - 1);
}

static gsym_status add_while_below(entry_copy *copy, uint32_t first, uint64_t size,
                                   uint32_t *end_ret, gsym_error *error) {
    const gsym_creator *creator = copy->creator;
    const record_list *records = &creator->records;
    uint64_t records_size = 0;
    uint32_t index = first;
    for (; index < copy->image->header.num_addresses; ++index) {
        if (tables_size(creator) + records_size >= size &&
            !starts_with_last(copy->image, first, index))
            break;
        GSYM_TRY(entry_copy_add(copy, index, error));
        records_size +=
            align_up(creator_record_size(creator, &records->items[records->count - 1]),
                     FUNCTION_INFO_ALIGNMENT);
    }
    if (index == first)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "a segment size of %" PRIu64
                         " is to small to fit any function infos, specify a larger value",
                         size);
    *end_ret = index;
    return GSYM_OK;
}

gsym_status gsym_creator_add_segment(gsym_creator *creator, const gsym_image *image,
                                     uint32_t first, uint64_t size, uint32_t *end_ret,
                                     gsym_error *error) {
    entry_copy copy;
    gsym_status status = entry_copy_begin(&copy, creator, image, error);
    creator->is_segment = true;
    if (status == GSYM_OK) status = add_while_below(&copy, first, size, end_ret, error);
    entry_copy_end(&copy);
    return status;
}
