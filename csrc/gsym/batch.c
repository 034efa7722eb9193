/* batch.c - look up many addresses, and return the frames as columns.
 *
 * Addresses are looked up in ascending order, a function at a time, and their answers are
 * put into the original order. */
#include "gsym/batch.h"
#include "base/list.h"
#include "gsym/frames.h"
#include "gsym/sweep.h"

enum {
    /* Addresses are sorted in blocks of such sizes: small enough that the working set fits
     * the caches, large enough that each function has several addresses. Input that is
     * sorted already has blocks of ASCENDING_BLOCK. */
    ASCENDING_BLOCK = 1 << 13,
    MIN_BLOCK = 1 << 17,
    MAX_BLOCK = 1 << 20,
    BLOCK_PER_FUNCTION = 8,
    AHEAD = 16 /* how many answers ahead frames are prefetched */
};

static bool reserve_column(void *column, size_t capacity, size_t count, size_t item_size) {
    return array_reserve(column, &capacity, count, item_size);
}

/* Reserve space for `more` frames. A batch that has frames already grows at least by
 * half. */
static bool reserve(gsym_batch *batch, size_t more) {
    size_t capacity = batch->count + more, grown = batch->capacity / 2 * 3;
    if (GSYM_LIKELY(capacity <= batch->capacity)) return true;
    if (capacity < grown) capacity = grown;
    if (!reserve_column(&batch->address_index, capacity, capacity, 4) ||
        !reserve_column(&batch->function, capacity, capacity, 4) ||
        !reserve_column(&batch->name, capacity, capacity, 8) ||
        !reserve_column(&batch->file, capacity, capacity, 4) ||
        !reserve_column(&batch->line, capacity, capacity, 4) ||
        !reserve_column(&batch->offset, capacity, capacity, 8) ||
        !reserve_column(&batch->inlined, capacity, capacity, 1) ||
        !reserve_column(&batch->miss, capacity, capacity, 1))
        return false;
    batch->capacity = capacity;
    return true;
}

/* ---- the columns --------------------------------------------------------------------- */

/* Append the frames of an answer. Names and files outside their tables become 0. */
static void append(gsym_batch *batch, const gsym_image *image, uint32_t address_index,
                   const found_frames *answer, const gsym_frame *frames) {
    for (uint32_t i = 0; i < answer->count; ++i) {
        size_t at = batch->count++;
        batch->address_index[at] = address_index;
        batch->function[at] = answer->entry;
        batch->name[at] = frames[i].name < image->header.strtab_size ? frames[i].name : 0;
        batch->file[at] = frame_file(image, frames[i].file);
        batch->line[at] = frames[i].line;
        batch->offset[at] = frames[i].offset;
        batch->inlined[at] = (uint8_t)frames[i].inlined;
        batch->miss[at] = GSYM_MISS_NONE;
    }
    batch->found++;
}

static bool is_miss(const found_frames *found) {
    return found->count == 0 || found->count == FRAMES_UNKNOWN;
}

static void append_miss(gsym_batch *batch, uint32_t address_index, gsym_miss miss) {
    size_t at = batch->count++;
    batch->address_index[at] = address_index;
    batch->function[at] = UINT32_MAX;
    batch->name[at] = batch->offset[at] = 0;
    batch->file[at] = batch->line[at] = 0;
    batch->inlined[at] = 0;
    batch->miss[at] = (uint8_t)miss;
}

/* Reserve space for the frames of a block and, if possible, of `blocks` similar blocks, so
 * that the columns are not copied to new memory for each block. */
static bool reserve_blocks(gsym_batch *batch, size_t frame_count, size_t blocks) {
    size_t needed = batch->count + frame_count, guess;
    if (needed <= batch->capacity) return true;
    if (!__builtin_mul_overflow(frame_count + frame_count / 32, blocks, &guess) &&
        guess > frame_count && reserve(batch, guess))
        return true;
    return reserve(batch, needed) || reserve(batch, frame_count);
}

static gsym_status look_up_block(address_sweep *sweep, gsym_batch *batch,
                                 const gsym_image *image, const uint64_t *addresses,
                                 uint32_t count, uint32_t first, size_t blocks_left,
                                 bool misses, gsym_error *error) {
    size_t row_count = 0;
    for (uint32_t i = 0; i < count; ++i)
        sweep->order[i] = (numbered_address){addresses[i], i};
    GSYM_TRY(address_sweep_find(sweep, image, address_sweep_begin(sweep, count, count),
                                count, error));
    for (uint32_t i = 0; i < count; ++i) {
        const found_frames *found = &sweep->found[i];
        if (found->count == FRAMES_UNKNOWN) ++batch->damaged;
        row_count += is_miss(found) ? misses : found->count;
    }
    if (!reserve_blocks(batch, row_count, blocks_left)) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i) {
        const found_frames *found = &sweep->found[i];
        if (i + AHEAD < count)
            __builtin_prefetch(sweep->frames.items + sweep->found[i + AHEAD].first);
        if (!is_miss(found))
            append(batch, image, first + i, found, sweep->frames.items + found->first);
        else if (misses)
            append_miss(batch, first + i,
                        found->count == 0 ? GSYM_MISS_NO_FUNCTION : GSYM_MISS_DAMAGED);
    }
    return GSYM_OK;
}

static bool addresses_ascend(const uint64_t *addresses, size_t count) {
    for (size_t i = 1; i < count; ++i)
        if (addresses[i] < addresses[i - 1]) return false;
    return true;
}

static size_t block_size(const gsym_image *image, const uint64_t *addresses,
                         size_t count) {
    size_t size = (size_t)image->header.num_addresses * BLOCK_PER_FUNCTION;
    size = size < MIN_BLOCK ? MIN_BLOCK : size > MAX_BLOCK ? MAX_BLOCK : size;
    if (addresses_ascend(addresses, count)) size = ASCENDING_BLOCK;
    return size < count ? size : count;
}

gsym_status batch_look_up(gsym_batch *batch, const gsym_image *image,
                          const uint64_t *addresses, size_t count, uint32_t first,
                          bool misses, gsym_error *error) {
    address_sweep sweep = {0};
    gsym_status status = GSYM_OK;
    size_t block;
    if (count == 0) return GSYM_OK;
    if (count > UINT32_MAX - first)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "more than 2^32 - 1 addresses");
    block = block_size(image, addresses, count);
    if (!address_sweep_reserve(&sweep, block)) status = gsym_fail_memory(error);
    for (size_t i = 0; i < count && status == GSYM_OK; i += block) {
        uint32_t size = (uint32_t)(count - i < block ? count - i : block);
        status = look_up_block(&sweep, batch, image, addresses + i, size,
                               first + (uint32_t)i,
                               (count - i + block - 1) / block, misses, error);
    }
    address_sweep_deinit(&sweep);
    return status;
}

gsym_status gsym_image_lookup_many(const gsym_image *image, const uint64_t *addresses,
                                   size_t count, int misses, gsym_batch **batch_ret,
                                   gsym_error *error) {
    gsym_status status;
    gsym_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return gsym_fail_memory(error);
    status = batch_look_up(batch, image, addresses, count, 0, misses != 0, error);
    if (status != GSYM_OK) {
        gsym_batch_destroy(batch);
        return status;
    }
    *batch_ret = batch;
    return GSYM_OK;
}

gsym_status gsym_batch_create_joined(gsym_batch *const *parts, size_t part_count,
                                     gsym_batch **batch_ret, gsym_error *error) {
    gsym_batch *batch = calloc(1, sizeof *batch);
    size_t count = 0;
    if (batch == NULL) return gsym_fail_memory(error);
    for (size_t i = 0; i < part_count; ++i) {
        count += parts[i]->count;
        batch->found += parts[i]->found;
        batch->damaged += parts[i]->damaged;
    }
    if (!reserve(batch, count)) {
        gsym_batch_destroy(batch);
        return gsym_fail_memory(error);
    }
    batch->count = count;
    *batch_ret = batch;
    return GSYM_OK;
}

void gsym_batch_join(gsym_batch *batch, gsym_batch *const *parts, size_t index,
                     uint32_t first_address) {
    const gsym_batch *part = parts[index];
    size_t at = 0, count = part->count;
    for (size_t i = 0; i < index; ++i) at += parts[i]->count;
    if (count == 0) return;
    for (size_t i = 0; i < count; ++i)
        batch->address_index[at + i] = first_address + part->address_index[i];
    memcpy(batch->function + at, part->function, count * sizeof *part->function);
    memcpy(batch->name + at, part->name, count * sizeof *part->name);
    memcpy(batch->file + at, part->file, count * sizeof *part->file);
    memcpy(batch->line + at, part->line, count * sizeof *part->line);
    memcpy(batch->offset + at, part->offset, count * sizeof *part->offset);
    memcpy(batch->inlined + at, part->inlined, count * sizeof *part->inlined);
    memcpy(batch->miss + at, part->miss, count * sizeof *part->miss);
}

void gsym_batch_columns(const gsym_batch *batch, gsym_columns *columns_ret) {
    *columns_ret = (gsym_columns){
        .count = batch->count,
        .address_index = batch->address_index,
        .function = batch->function,
        .name = batch->name,
        .file = batch->file,
        .line = batch->line,
        .offset = batch->offset,
        .inlined = batch->inlined,
        .miss = batch->miss,
        .found = batch->found,
        .damaged = batch->damaged,
    };
}

void batch_deinit(gsym_batch *batch) {
    free(batch->address_index);
    free(batch->function);
    free(batch->name);
    free(batch->file);
    free(batch->line);
    free(batch->offset);
    free(batch->inlined);
    free(batch->miss);
}

void gsym_batch_destroy(gsym_batch *batch) {
    if (batch == NULL) return;
    batch_deinit(batch);
    free(batch);
}
