/* index_section.c - find, and make, the index part of a file: the indexes of all large
 * functions.
 *
 *     num_addresses * u32   where the index of an entry is, from the start; 0: it has none
 *     indexes               as in function_index.c
 *     zeros                 in version 1, so that the file has a multiple of 512 bytes
 *     starts                if the address table takes more than a page: its first entry in
 *                           each, so that a lookup reads this page and one of the table
 *     u64 size              of all, this trailer included
 *     u64 checksum          XXH64 of the header, in version 2 with the directory
 *     u32 num_addresses
 *     u32 function_count    that have an index
 *     u32 version
 *     u32 magic
 *
 * The numbers come last, because a version-1 file has no directory: only what stands at its
 * end can be found. */
#include "base/checksum.h"
#include "gsym/index.h"

enum {
    VERSION_WITHOUT_STARTS = 2,
    VERSION_WITH_STARTS = 3,
    TRAILER_SIZE = 32,
    CHECKSUM_FROM_END = 24,
    TABLE_ENTRY_SIZE = 4
};

/* ---- find ---------------------------------------------------------------------------- */

size_t index_starts_size(uint32_t num_addresses, unsigned width) {
    size_t size = (size_t)num_addresses * width;
    return size <= INDEX_STARTS_SPACING
               ? 0
               : (size + INDEX_STARTS_SPACING - 1) / INDEX_STARTS_SPACING * width;
}

bool index_section_open(const uint8_t *data, uint64_t end, size_t head_size,
                        const gsym_header *header, index_section *section_ret) {
    cursor c = cursor_at(data, (size_t)end, end < TRAILER_SIZE ? end : end - TRAILER_SIZE,
                         header->big_endian);
    uint64_t size = cursor_u64(&c), checksum = cursor_u64(&c);
    uint32_t num_addresses = cursor_u32(&c), function_count = cursor_u32(&c);
    uint32_t version = cursor_u32(&c), magic = cursor_u32(&c);
    bool has_starts = version == VERSION_WITH_STARTS;
    uint32_t width = header->addr_off_size;
    size_t starts = has_starts && num_addresses == header->num_addresses
                        ? index_starts_size(num_addresses, width)
                        : 0;
    *section_ret = (index_section){0};
    if (c.failed || magic != GSYM_INDEX_MAGIC ||
        (version != VERSION_WITHOUT_STARTS && !has_starts) || size < TRAILER_SIZE ||
        size > end || head_size > end - size || starts > size - TRAILER_SIZE ||
        num_addresses > (size - TRAILER_SIZE - starts) / TABLE_ENTRY_SIZE ||
        xxh64(data, head_size) != checksum)
        return false;
    *section_ret = (index_section){.bytes = data + (end - size),
                                   .size = (size_t)size,
                                   .num_addresses = num_addresses,
                                   .function_count = function_count,
                                   .starts = data + (end - TRAILER_SIZE - starts),
                                   .starts_count = (uint32_t)(starts / width),
                                   .swap = c.swap};
    return true;
}

bool index_section_find(const index_section *section, uint32_t entry,
                        function_index *index_ret) {
    uint32_t offset;
    cursor c;
    if (entry >= section->num_addresses) return false;
    offset = cursor_load32(section->bytes + (size_t)entry * TABLE_ENTRY_SIZE,
                           section->swap);
    if (offset == 0 || offset >= section->size - TRAILER_SIZE) return false;
    c = (cursor){.at = section->bytes + offset,
                 .end = section->bytes + section->size - TRAILER_SIZE,
                 .start = section->bytes,
                 .swap = section->swap};
    return function_index_open(&c, index_ret);
}

/* ---- make ---------------------------------------------------------------------------- */

void index_section_begin(buffer *out, uint32_t num_addresses) {
    size_t size = (size_t)num_addresses * TABLE_ENTRY_SIZE;
    if (!buffer_reserve(out, size)) return;
    if (size > 0) memset(out->bytes, 0, size);
    out->size = size;
}

void index_section_add(buffer *out, uint32_t entry, size_t offset) {
    if (out->size == offset) return;
    if (offset > UINT32_MAX)
        out->size = offset;
    else
        buffer_patch_u32(out, (size_t)entry * TABLE_ENTRY_SIZE, (uint32_t)offset);
}

bool index_section_is_worth(const buffer *out, uint32_t num_addresses) {
    return out->size > (size_t)num_addresses * TABLE_ENTRY_SIZE;
}

void index_section_fill_up(buffer *out, uint64_t start) {
    uint64_t end = start + out->size + TRAILER_SIZE;
    for (; end % INDEX_FILE_MULTIPLE != 0 && !out->failed; ++end) buffer_put_u8(out, 0);
}

static uint32_t count_functions(const buffer *out, uint32_t num_addresses) {
    uint32_t count = 0;
    for (size_t i = 0; i < num_addresses && !out->failed; ++i)
        count += cursor_load32(out->bytes + i * TABLE_ENTRY_SIZE, false) != 0;
    return count;
}

void index_section_end(buffer *out, uint32_t num_addresses, bool has_starts) {
    buffer_put_u64(out, out->size + TRAILER_SIZE);
    buffer_put_u64(out, 0);
    buffer_put_u32(out, num_addresses);
    buffer_put_u32(out, count_functions(out, num_addresses));
    buffer_put_u32(out, has_starts ? VERSION_WITH_STARTS : VERSION_WITHOUT_STARTS);
    buffer_put_u32(out, GSYM_INDEX_MAGIC);
}

void index_section_identify(buffer *out, const uint8_t *head, size_t head_size) {
    uint64_t checksum = xxh64(head, head_size);
    if (out->failed) return;
    if (out->swap) checksum = __builtin_bswap64(checksum);
    memcpy(out->bytes + out->size - CHECKSUM_FROM_END, &checksum, sizeof checksum);
}
