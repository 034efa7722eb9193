/* batch.c - answers to many addresses as columns. */
#include "buffer.h"
#include "image.h"

enum { FRAMES_AT_FIRST = 64 };

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

typedef struct frame_list {
    gsym_frame *items;
    size_t capacity;
} frame_list;

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

static bool reserve(gsym_batch *batch, size_t more) {
    size_t old = batch->capacity, count = batch->count + more;
    size_t capacity = old < 1024 ? 1024 : old * 2;
    if (GSYM_LIKELY(count <= old)) return true;
    if (capacity < count) capacity = count;
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

static void append(gsym_batch *batch, const segment *from, size_t address_index,
                   const gsym_answer *answer, const gsym_frame *frames) {
    for (uint32_t i = 0; i < answer->frame_count; ++i) {
        size_t at = batch->count++;
        batch->address_index[at] = (uint32_t)address_index;
        batch->function[at] = from->entry_base + answer->entry;
        batch->name[at] = global_name(from, frames[i].name);
        batch->file[at] = global_file(from, frames[i].file);
        batch->line[at] = frames[i].line;
        batch->offset[at] = frames[i].offset;
        batch->inlined[at] = (uint8_t)frames[i].inlined;
    }
    batch->found++;
}

static gsym_status look_up(gsym_batch *batch, const segment *from, uint64_t address,
                           size_t address_index, frame_list *frames, gsym_error *error) {
    const gsym_image *image = from->image;
    gsym_answer answer;
    gsym_status status = gsym_image_lookup(image, address, 0, 0, frames->items,
                                           frames->capacity, NULL, 0, &answer, error);
    if (status == GSYM_OK && answer.frame_count > frames->capacity) {
        if (!array_reserve(&frames->items, &frames->capacity, answer.frame_count,
                           sizeof *frames->items))
            return gsym_fail_memory(error);
        status = gsym_image_lookup(image, address, 0, 0, frames->items, frames->capacity,
                                   NULL, 0, &answer, error);
    }
    if (status != GSYM_OK) {
        batch->damaged++;
        return GSYM_OK;
    }
    if (!answer.found) return GSYM_OK;
    if (!reserve(batch, answer.frame_count)) return gsym_fail_memory(error);
    append(batch, from, address_index, &answer, frames->items);
    return GSYM_OK;
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

static gsym_status look_up_all(gsym_batch *batch, const segment *segments,
                               const uint64_t *starts, size_t segment_count,
                               const uint64_t *addresses, size_t count,
                               gsym_error *error) {
    frame_list frames = {0};
    gsym_status status = GSYM_OK;
    if (count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "more than 2^32 - 1 addresses");
    if (!array_reserve(&frames.items, &frames.capacity, FRAMES_AT_FIRST,
                       sizeof *frames.items))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < count && status == GSYM_OK; ++i) {
        size_t at = find_segment(starts, segment_count, addresses[i]);
        status = look_up(batch, &segments[at], addresses[i], i, &frames, error);
    }
    free(frames.items);
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
