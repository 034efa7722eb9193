/* batch.c - answers to many addresses as columns.
 *
 * Addresses are worked out in ascending order, a function at a time, and their answers
 * put back into the order that was asked. */
#include "address_sweep.h"
#include "buffer.h"

enum {
    /* Addresses that are put in order together: what they are worked out in should stay
     * in the caches, but each function should have several of them. */
    ASCENDING_BLOCK = 1 << 13,
    LEAST_BLOCK = 1 << 17,
    MOST_BLOCK = 1 << 20,
    BLOCK_PER_FUNCTION = 8,
    AHEAD = 16 /* answers whose frames are fetched before it is their turn */
};

struct gsym_batch {
    size_t count, capacity;
    uint32_t *address_index;
    uint32_t *function;
    uint64_t *name;
    uint32_t *file;
    uint32_t *line;
    uint64_t *offset;
    uint8_t *inlined;
    uint64_t found;
    uint64_t damaged;
};

/* One image of a set, and what its numbers count on from. */
typedef struct segment {
    const gsym_image *image;
    uint64_t name_base;
    uint32_t entry_base;
    uint32_t file_base;
} segment;

static bool reserve_column(void *column, size_t capacity, size_t count, size_t item_size) {
    return array_reserve(column, &capacity, count, item_size);
}

/* Make room for `more` frames. */
static bool reserve(gsym_batch *batch, size_t more) {
    size_t capacity = batch->count + more;
    if (GSYM_LIKELY(capacity <= batch->capacity)) return true;
    if (!reserve_column(&batch->address_index, capacity, capacity, 4) ||
        !reserve_column(&batch->function, capacity, capacity, 4) ||
        !reserve_column(&batch->name, capacity, capacity, 8) ||
        !reserve_column(&batch->file, capacity, capacity, 4) ||
        !reserve_column(&batch->line, capacity, capacity, 4) ||
        !reserve_column(&batch->offset, capacity, capacity, 8) ||
        !reserve_column(&batch->inlined, capacity, capacity, 1))
        return false;
    batch->capacity = capacity;
    return true;
}

/* A number past the table means the same as 0; it must not reach into the next one. */
static uint64_t global_name(const segment *from, uint64_t name) {
    return from->name_base + (name < from->image->header.strtab_size ? name : 0);
}

static uint32_t global_file(const segment *from, uint32_t file) {
    bool is_known = file != 0 && file < from->image->header.num_files;
    return is_known ? from->file_base + file : 0;
}

/* ---- the columns ---------------------------------------------------------------------- */

static void append(gsym_batch *batch, const segment *from, uint32_t address_index,
                   const found_frames *answer, const gsym_frame *frames) {
    for (uint32_t i = 0; i < answer->count; ++i) {
        size_t at = batch->count++;
        batch->address_index[at] = address_index;
        batch->function[at] = from->entry_base + answer->entry;
        batch->name[at] = global_name(from, frames[i].name);
        batch->file[at] = global_file(from, frames[i].file);
        batch->line[at] = frames[i].line;
        batch->offset[at] = frames[i].offset;
        batch->inlined[at] = (uint8_t)frames[i].inlined;
    }
    batch->found++;
}

/* The last segment that starts at or below `address`, or the first one. */
static size_t find_segment(const uint64_t *starts, size_t count, uint64_t address) {
    size_t low = 0, left = count;
    while (left > 1) {
        size_t half = left / 2;
        if (starts[low + half] <= address) low += half;
        left -= half;
    }
    return low;
}

/* Split ascending addresses between the segments. */
static gsym_status find_all(address_sweep *sweep, const segment *segments,
                            const uint64_t *starts, size_t segment_count,
                            const placed_address *addresses, size_t count,
                            gsym_error *error) {
    for (size_t i = 0; i < count;) {
        size_t at = find_segment(starts, segment_count, addresses[i].address);
        size_t end = count;
        if (at + 1 < segment_count)
            for (end = i + 1; end < count && addresses[end].address < starts[at + 1];) ++end;
        GSYM_TRY(address_sweep_find(sweep, segments[at].image, addresses + i, end - i,
                                    error));
        i = end;
    }
    return GSYM_OK;
}

/* Make room for the frames of a block and, if there is memory, for those of `blocks`
 * blocks like it: what grows in steps is copied, and its pages are made anew. */
static bool reserve_blocks(gsym_batch *batch, size_t frame_count, size_t blocks) {
    size_t needed = batch->count + frame_count, guess;
    if (needed <= batch->capacity) return true;
    if (!__builtin_mul_overflow(frame_count + frame_count / 32, blocks, &guess) &&
        guess > frame_count && reserve(batch, guess))
        return true;
    return reserve(batch, needed) || reserve(batch, frame_count);
}

static gsym_status look_up_block(address_sweep *sweep, gsym_batch *batch,
                                 const segment *segments, const uint64_t *starts,
                                 size_t segment_count, const uint64_t *addresses,
                                 uint32_t count, uint32_t first, size_t blocks_left,
                                 gsym_error *error) {
    size_t frame_count = 0;
    for (uint32_t i = 0; i < count; ++i)
        sweep->order[i] = (placed_address){addresses[i], i};
    GSYM_TRY(find_all(sweep, segments, starts, segment_count,
                      address_sweep_begin(sweep, count, count), count, error));
    for (uint32_t i = 0; i < count; ++i) {
        if (sweep->found[i].count == FRAMES_UNKNOWN) {
            sweep->found[i].count = 0;
            ++batch->damaged;
        }
        frame_count += sweep->found[i].count;
    }
    if (!reserve_blocks(batch, frame_count, blocks_left)) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i) {
        const found_frames *found = &sweep->found[i];
        size_t at = find_segment(starts, segment_count, addresses[i]);
        if (i + AHEAD < count)
            __builtin_prefetch(sweep->frames.items + sweep->found[i + AHEAD].first);
        if (found->count > 0)
            append(batch, &segments[at], first + i, found,
                   sweep->frames.items + found->first);
    }
    return GSYM_OK;
}

static bool do_ascend(const uint64_t *addresses, size_t count) {
    for (size_t i = 1; i < count; ++i)
        if (addresses[i] < addresses[i - 1]) return false;
    return true;
}

static size_t block_size(const segment *segments, size_t segment_count,
                         const uint64_t *addresses, size_t count) {
    size_t functions = 0, size;
    for (size_t i = 0; i < segment_count; ++i)
        functions += segments[i].image->header.num_addresses;
    size = functions * BLOCK_PER_FUNCTION;
    size = size < LEAST_BLOCK ? LEAST_BLOCK : size > MOST_BLOCK ? MOST_BLOCK : size;
    if (do_ascend(addresses, count)) size = ASCENDING_BLOCK;
    return size < count ? size : count;
}

static gsym_status look_up_all(gsym_batch *batch, const segment *segments,
                               const uint64_t *starts, size_t segment_count,
                               const uint64_t *addresses, size_t count,
                               gsym_error *error) {
    address_sweep sweep = {0};
    gsym_status status = GSYM_OK;
    size_t block = block_size(segments, segment_count, addresses, count);
    if (count == 0) return GSYM_OK;
    if (count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "more than 2^32 - 1 addresses");
    if (!address_sweep_reserve(&sweep, block)) status = gsym_fail_memory(error);
    for (size_t i = 0; i < count && status == GSYM_OK; i += block) {
        uint32_t size = (uint32_t)(count - i < block ? count - i : block);
        status = look_up_block(&sweep, batch, segments, starts, segment_count,
                               addresses + i, size, (uint32_t)i,
                               (count - i + block - 1) / block, error);
    }
    address_sweep_deinit(&sweep);
    return status;
}

static gsym_status make_batch(const segment *segments, const uint64_t *starts,
                              size_t segment_count, const uint64_t *addresses,
                              size_t count, gsym_batch **batch_ret, gsym_error *error) {
    gsym_status status;
    gsym_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return gsym_fail_memory(error);
    status = look_up_all(batch, segments, starts, segment_count, addresses, count, error);
    if (status != GSYM_OK) {
        gsym_batch_destroy(batch);
        return status;
    }
    *batch_ret = batch;
    return GSYM_OK;
}

gsym_status gsym_image_lookup_many(const gsym_image *image, const uint64_t *addresses,
                                   size_t count, gsym_batch **batch_ret,
                                   gsym_error *error) {
    segment whole = {.image = image};
    return make_batch(&whole, NULL, 1, addresses, count, batch_ret, error);
}

static gsym_status number_segments(segment *segments, const gsym_image *const *images,
                                   size_t count, gsym_error *error) {
    uint64_t name_base = 0, entry_base = 0, file_base = 0;
    for (size_t i = 0; i < count; ++i) {
        const gsym_header *header = &images[i]->header;
        segments[i] = (segment){images[i], name_base, (uint32_t)entry_base,
                                (uint32_t)file_base};
        name_base += header->strtab_size;
        entry_base += header->num_addresses;
        file_base += header->num_files;
        if (entry_base > UINT32_MAX || file_base > UINT32_MAX)
            return gsym_fail(error, GSYM_E_LIMIT, 0,
                             "the segments hold more functions or files than can be "
                             "counted with 32 bits");
    }
    return GSYM_OK;
}

gsym_status gsym_segments_lookup_many(const gsym_image *const *segments,
                                      const uint64_t *starts, size_t segment_count,
                                      const uint64_t *addresses, size_t count,
                                      gsym_batch **batch_ret, gsym_error *error) {
    segment *numbered;
    gsym_status status;
    if (segment_count == 0) return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no segments");
    numbered = calloc(segment_count, sizeof *numbered);
    if (numbered == NULL) return gsym_fail_memory(error);
    status = number_segments(numbered, segments, segment_count, error);
    if (status == GSYM_OK)
        status = make_batch(numbered, starts, segment_count, addresses, count, batch_ret,
                            error);
    free(numbered);
    return status;
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
        .found = batch->found,
        .damaged = batch->damaged,
    };
}

void gsym_batch_destroy(gsym_batch *batch) {
    if (batch == NULL) return;
    free(batch->address_index);
    free(batch->function);
    free(batch->name);
    free(batch->file);
    free(batch->line);
    free(batch->offset);
    free(batch->inlined);
    free(batch);
}
