/* batch.c - answers to many addresses as columns.
 *
 * Addresses are worked out in ascending order, a function at a time, and their answers
 * put back into the order that was asked. */
#include "address_order.h"
#include "buffer.h"
#include "function_sweep.h"

enum {
    /* Addresses that are put in order together: what they are worked out in should stay
     * in the caches, but each function should have several of them. */
    LEAST_BLOCK = 1 << 17,
    MOST_BLOCK = 1 << 20,
    BLOCK_PER_FUNCTION = 8,
    AHEAD = 16, /* answers whose frames are fetched before it is their turn */
    FRAMES_AT_FIRST = 64,
    LEAST_SWEPT = 4 /* addresses in one function that are worth an index */
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

/* ---- finding frames ----------------------------------------------------------------- */

/* Where the frames of one address are. */
typedef struct found_frames {
    size_t first;
    uint32_t count; /* 0: there is no answer */
    uint32_t entry;
} found_frames;

/* What a block of addresses is worked out with. */
typedef struct batch_work {
    placed_address *order; /* room for two of each address */
    found_frames *found;   /* in the order that was asked */
    struct { gsym_frame *items; size_t count, capacity; } frames;
    function_sweep sweep;
} batch_work;

/* One address by itself. */
static gsym_status look_up(batch_work *work, const gsym_image *image, uint64_t address,
                           found_frames *ret, bool *is_damaged_ret, gsym_error *error) {
    gsym_answer answer;
    gsym_error fault;
    size_t room = FRAMES_AT_FIRST;
    for (;;) {
        if (!ARRAY_RESERVE(work->frames, room)) return gsym_fail_memory(error);
        *is_damaged_ret =
            gsym_image_lookup(image, address, 0, 0,
                              work->frames.items + work->frames.count, room, NULL, 0,
                              &answer, &fault) != GSYM_OK;
        if (*is_damaged_ret || !answer.found) return GSYM_OK;
        if (answer.frame_count <= room) break;
        room = answer.frame_count;
    }
    *ret = (found_frames){work->frames.count, answer.frame_count, answer.entry};
    work->frames.count += answer.frame_count;
    return GSYM_OK;
}

/* The first address behind those that entry `entry` answers for. */
static uint64_t entry_end(const gsym_image *image, uint32_t entry, const cursor *record) {
    cursor head = *record;
    uint64_t start = image_addr_offset(image, entry), size = cursor_u32(&head);
    uint64_t end = size == 0 || start + size < start ? UINT64_MAX : start + size;
    uint64_t base = image->header.base_address;
    for (uint32_t next = entry + 1; next < image->header.num_addresses; ++next) {
        uint64_t next_start = image_addr_offset(image, next);
        if (next_start == start) continue;
        /* Tables that do not ascend are answered address by address. */
        if (next_start < start) return 0;
        end = next_start < end ? next_start : end;
        break;
    }
    return end > UINT64_MAX - base ? UINT64_MAX : base + end;
}

/* Addresses [0, count) ascend and are all for `image`: answer as many as one function has,
 * if there are enough of them. *done_ret is how many were. */
static gsym_status sweep_function(batch_work *work, const gsym_image *image,
                                  const placed_address *addresses, size_t count,
                                  size_t *done_ret, gsym_error *error) {
    function_sweep *sweep = &work->sweep;
    gsym_error ignored;
    uint32_t entry;
    uint64_t end;
    cursor record;
    bool found;
    *done_ret = 0;
    if (count < LEAST_SWEPT ||
        image_find(image, addresses[0].address, &entry, &record, &found, &ignored) !=
            GSYM_OK ||
        !found)
        return GSYM_OK;
    end = entry_end(image, entry, &record);
    if (addresses[LEAST_SWEPT - 1].address >= end ||
        !function_sweep_begin(sweep, image, entry, &record))
        return GSYM_OK;
    for (size_t i = 0; i < count && addresses[i].address < end; ++i) {
        found_frames *answer = &work->found[addresses[i].place];
        if (i > 0 && addresses[i].address == addresses[i - 1].address) {
            *answer = work->found[addresses[i - 1].place];
        } else {
            if (!function_sweep_to(sweep, addresses[i].address) ||
                !ARRAY_RESERVE(work->frames, sweep->frame_count))
                return gsym_fail_memory(error);
            *answer = (found_frames){work->frames.count, (uint32_t)sweep->frame_count,
                                     entry};
            memcpy(work->frames.items + work->frames.count, sweep->frames,
                   sweep->frame_count * sizeof *sweep->frames);
            work->frames.count += sweep->frame_count;
        }
        *done_ret = i + 1;
    }
    return GSYM_OK;
}

/* Ascending addresses of one segment. */
static gsym_status find_frames(batch_work *work, gsym_batch *batch, const gsym_image *image,
                               const placed_address *addresses, size_t count,
                               gsym_error *error) {
    bool is_damaged = false;
    for (size_t i = 0; i < count;) {
        found_frames *answer = &work->found[addresses[i].place];
        size_t done;
        GSYM_TRY(sweep_function(work, image, addresses + i, count - i, &done, error));
        i += done;
        if (done > 0) continue;
        if (i > 0 && addresses[i].address == addresses[i - 1].address)
            *answer = work->found[addresses[i - 1].place];
        else
            GSYM_TRY(look_up(work, image, addresses[i].address, answer, &is_damaged, error));
        batch->damaged += is_damaged;
        ++i;
    }
    return GSYM_OK;
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
static gsym_status find_all(batch_work *work, gsym_batch *batch, const segment *segments,
                            const uint64_t *starts, size_t segment_count,
                            const placed_address *addresses, size_t count,
                            gsym_error *error) {
    for (size_t i = 0; i < count;) {
        size_t at = find_segment(starts, segment_count, addresses[i].address);
        size_t end = count;
        if (at + 1 < segment_count)
            for (end = i + 1; end < count && addresses[end].address < starts[at + 1];) ++end;
        GSYM_TRY(find_frames(work, batch, segments[at].image, addresses + i, end - i,
                             error));
        i = end;
    }
    return GSYM_OK;
}

static gsym_status look_up_block(batch_work *work, gsym_batch *batch,
                                 const segment *segments, const uint64_t *starts,
                                 size_t segment_count, const uint64_t *addresses,
                                 uint32_t count, uint32_t first, gsym_error *error) {
    size_t frame_count = 0;
    work->frames.count = 0;
    memset(work->found, 0, count * sizeof *work->found);
    for (uint32_t i = 0; i < count; ++i) work->order[i] = (placed_address){addresses[i], i};
    GSYM_TRY(find_all(work, batch, segments, starts, segment_count,
                      address_order(work->order, count), count, error));
    for (uint32_t i = 0; i < count; ++i) frame_count += work->found[i].count;
    if (!reserve(batch, frame_count)) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i) {
        const found_frames *found = &work->found[i];
        size_t at = find_segment(starts, segment_count, addresses[i]);
        if (i + AHEAD < count)
            __builtin_prefetch(work->frames.items + work->found[i + AHEAD].first);
        if (found->count > 0)
            append(batch, &segments[at], first + i, found,
                   work->frames.items + found->first);
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
    size = do_ascend(addresses, count) ? 0 : functions * BLOCK_PER_FUNCTION;
    size = size < LEAST_BLOCK ? LEAST_BLOCK : size > MOST_BLOCK ? MOST_BLOCK : size;
    return size < count ? size : count;
}

static gsym_status look_up_all(gsym_batch *batch, const segment *segments,
                               const uint64_t *starts, size_t segment_count,
                               const uint64_t *addresses, size_t count,
                               gsym_error *error) {
    batch_work work = {0};
    gsym_status status = GSYM_OK;
    size_t block = block_size(segments, segment_count, addresses, count);
    if (count == 0) return GSYM_OK;
    if (count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "more than 2^32 - 1 addresses");
    work.order = malloc(2 * block * sizeof *work.order);
    work.found = malloc(block * sizeof *work.found);
    if (work.order == NULL || work.found == NULL) status = gsym_fail_memory(error);
    for (size_t i = 0; i < count && status == GSYM_OK; i += block) {
        uint32_t size = (uint32_t)(count - i < block ? count - i : block);
        status = look_up_block(&work, batch, segments, starts, segment_count,
                               addresses + i, size, (uint32_t)i, error);
    }
    function_sweep_deinit(&work.sweep);
    free(work.frames.items);
    free(work.found);
    free(work.order);
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
