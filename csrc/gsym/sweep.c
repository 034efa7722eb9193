/* sweep.c - look up ascending addresses: a function at a time if it has several of them,
 * else each address separately. */
#include "gsym/sweep.h"
#include "base/buffer.h"
#include "base/system.h"
#include "gsym/lookup.h"

/* Radix sort by the bits in which the addresses differ. */

enum { MOST_DIGIT_BITS = 11, FEW = 32 };

static void insert(placed_address *items, uint32_t count) {
    for (uint32_t i = 1; i < count; ++i) {
        placed_address item = items[i];
        uint32_t at = i;
        for (; at > 0 && items[at - 1].address > item.address; --at) items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Bits of a digit: the fewest passes with no more digit values than items, and the smallest
 * digits for these passes. */
static unsigned digit_size(uint64_t difference, uint32_t count) {
    unsigned width = 64 - (unsigned)__builtin_clzll(difference | 1);
    unsigned most = 31 - (unsigned)__builtin_clz(count), passes;
    if (most > MOST_DIGIT_BITS) most = MOST_DIGIT_BITS;
    passes = (width + most - 1) / most;
    return (width + passes - 1) / passes;
}

placed_address *address_order(placed_address *room, uint32_t count) {
    placed_address *items = room, *spare = room + count;
    uint64_t low = UINT64_MAX, high = 0;
    bool is_sorted = true;
    unsigned digit_bits;
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t address = items[i].address;
        if (address < high) is_sorted = false;
        if (address > high) high = address;
        if (address < low) low = address;
    }
    if (is_sorted) return items;
    if (count <= FEW) {
        insert(items, count);
        return items;
    }
    digit_bits = digit_size(high - low, count);
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift != 0; shift += digit_bits) {
        uint32_t starts[1 << MOST_DIGIT_BITS], sum = 0, digits = UINT32_C(1) << digit_bits;
        placed_address *sorted = spare;
        memset(starts, 0, digits * sizeof *starts);
        for (uint32_t i = 0; i < count; ++i)
            ++starts[((items[i].address - low) >> shift) & (digits - 1)];
        for (uint32_t i = 0; i < digits; ++i) {
            uint32_t start = sum;
            sum += starts[i];
            starts[i] = start;
        }
        for (uint32_t i = 0; i < count; ++i)
            sorted[starts[((items[i].address - low) >> shift) & (digits - 1)]++] = items[i];
        spare = items;
        items = sorted;
    }
    return items;
}

/* State is kept between addresses: rows continue, and frames are the same up to the next
 * boundary of calls. */

static bool function_sweep_begin(function_sweep *sweep, const gsym_image *image,
                                 bool llvm, uint32_t entry, const cursor *record) {
    cursor lines;
    free(sweep->own_index);
    sweep->own_index = NULL;
    sweep->index =
        index_cache_get(image->indexes, entry, record, image->strp_size, true);
    if (sweep->index == NULL)
        sweep->index = sweep->own_index =
            function_index_create(record, image->strp_size, 0);
    if (sweep->index == NULL) return false;
    sweep->image = image;
    sweep->llvm = llvm;
    sweep->entry = entry;
    sweep->start = image->header.base_address + image_addr_offset(image, entry);
    sweep->checkpoint = sweep->boundary = 0;
    sweep->frame_count = 0;
    sweep->has_lines = sweep->index->parts[GSYM_INFO_LINE_TABLE].size > 0;
    lines = function_index_payload(sweep->index, record, GSYM_INFO_LINE_TABLE);
    sweep->lines.row = (gsym_line_row){0, 0, 0};
    return !sweep->has_lines || line_sweep_begin(&sweep->lines, &lines, sweep->start);
}

/* The count of ascending numbers, `stride` bytes apart, that are not above `offset`; the
 * first `from` are not. */
static uint32_t count_up_to(const void *numbers, size_t stride, uint32_t from,
                            uint32_t count, uint64_t offset) {
    const uint8_t *bytes = numbers;
    uint32_t step = 1, low = from, left;
#define NUMBER(i) (*(const uint32_t *)(const void *)(bytes + (size_t)(i) * stride))
    while (low < count && NUMBER(low) <= offset) {
        from = low + 1;
        low += step < count - low ? step : count - low;
        step *= 2;
    }
    left = low - from;
    while (left > 0) {
        uint32_t half = left / 2;
        if (NUMBER(from + half) <= offset) {
            from += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
#undef NUMBER
    return from;
}

static void find_row(function_sweep *sweep, uint64_t address) {
    const function_index *index = sweep->index;
    uint32_t known = count_up_to(index->checkpoints, sizeof *index->checkpoints,
                                 sweep->checkpoint, index->checkpoint_count,
                                 address - sweep->start);
    if (known > sweep->checkpoint)
        line_sweep_skip(&sweep->lines, &index->checkpoints[known - 1]);
    sweep->checkpoint = known;
    line_sweep_advance(&sweep->lines, address);
}

static bool list_frames(function_sweep *sweep, uint64_t address) {
    const gsym_line_row *row = &sweep->lines.row;
    frame_list list = {.image = sweep->image,
                       .start = sweep->start,
                       .address = address,
                       .llvm = sweep->llvm,
                       .frames = sweep->frames,
                       .capacity = sweep->frame_capacity,
                       .file = frame_file(sweep->image, row->file),
                       .line = row->line};
    sweep->frame_count = 0;
    frames_put_indexed(&list, sweep->index);
    if (list.has_unknown_file) return true;
    if (list.count > sweep->frame_capacity) {
        if (!array_reserve(&sweep->frames, &sweep->frame_capacity, list.count,
                           sizeof *sweep->frames))
            return false;
        return list_frames(sweep, address);
    }
    sweep->frame_count = list.count;
    return true;
}

/* LLVM gives no answer without a line. */
static bool has_row(const function_sweep *sweep) {
    uint32_t file = sweep->lines.row.file;
    return !sweep->llvm || !sweep->has_lines ||
           (file != 0 && file < sweep->image->header.num_files);
}

/* Find the frames at an address of the function, not below the previous one; none if LLVM's
 * rules give no answer. False if out of memory. */
static bool function_sweep_to(function_sweep *sweep, uint64_t address) {
    const function_index *index = sweep->index;
    uint32_t boundary =
        count_up_to(index->boundaries, sizeof *index->boundaries, sweep->boundary,
                    index->boundary_count, address - sweep->start);
    bool is_same = sweep->frame_count > 0 && boundary == sweep->boundary;
    uint64_t step = address - sweep->address;
    sweep->boundary = boundary;
    sweep->address = address;
    if (sweep->has_lines) find_row(sweep, address);
    if (!has_row(sweep)) {
        sweep->frame_count = 0;
        return true;
    }
    if (is_same) {
        sweep->frames[0].file = frame_file(sweep->image, sweep->lines.row.file);
        sweep->frames[0].line = sweep->lines.row.line;
        for (size_t i = 0; i < sweep->frame_count; ++i) sweep->frames[i].offset += step;
    } else if (!list_frames(sweep, address)) {
        return false;
    }
    for (size_t i = 0; sweep->llvm && i < sweep->frame_count; ++i)
        sweep->frames[i].offset = (uint32_t)sweep->frames[i].offset;
    return true;
}

static void function_sweep_deinit(function_sweep *sweep) {
    free(sweep->own_index);
    free(sweep->frames);
}

enum {
    FRAMES_AT_FIRST = 64,
    LEAST_SWEPT = 4, /* addresses in one function that are worth an index */
    MOST_PASSED = 1 << 20 /* bytes of records before their pages are given back */
};

bool address_sweep_reserve(address_sweep *sweep, size_t count) {
    size_t room = 2 * sweep->capacity, found = sweep->capacity;
    if (!array_reserve(&sweep->order, &room, 2 * count, sizeof *sweep->order) ||
        !array_reserve(&sweep->found, &found, count, sizeof *sweep->found))
        return false;
    sweep->capacity = room / 2 < found ? room / 2 : found;
    return true;
}

placed_address *address_sweep_begin(address_sweep *sweep, uint32_t count, uint32_t sought) {
    sweep->frames.count = 0;
    for (uint32_t i = 0; i < count; ++i)
        sweep->found[i] = (found_frames){0, FRAMES_UNKNOWN, 0};
    return address_order(sweep->order, sought);
}

/* Look up a single address. */
static gsym_status look_up(address_sweep *sweep, const gsym_image *image,
                           uint64_t address, found_frames *ret, gsym_error *error) {
    gsym_answer answer;
    gsym_error fault;
    size_t count = FRAMES_AT_FIRST;
    uint32_t flags = sweep->llvm ? GSYM_LOOKUP_LLVM : 0;
    for (;;) {
        gsym_lookup_room room = {.frame_capacity = count};
        if (!ARRAY_RESERVE(sweep->frames, count)) return gsym_fail_memory(error);
        room.frames = sweep->frames.items + sweep->frames.count;
        if (gsym_image_lookup(image, address, 0, flags, &room, &answer, &fault) != GSYM_OK)
            return GSYM_OK;
        if (answer.frame_count <= count) break;
        count = answer.frame_count;
    }
    if (sweep->frames_only && answer.regex_count > 0) return GSYM_OK;
    *ret = (found_frames){sweep->frames.count, answer.frame_count, answer.entry};
    sweep->frames.count += answer.frame_count;
    return GSYM_OK;
}

/* The first address after those of entry `entry`. */
static uint64_t entry_end(const gsym_image *image, uint32_t entry, const cursor *record) {
    cursor head = *record;
    uint64_t start = image_addr_offset(image, entry), size = cursor_u32(&head);
    uint64_t end = size == 0 || start + size < start ? UINT64_MAX : start + size;
    uint64_t base = image->header.base_address;
    for (uint32_t next = entry + 1; next < image->header.num_addresses; ++next) {
        uint64_t next_start = image_addr_offset(image, next);
        if (next_start == start) continue;
        /* With unsorted tables, look up each address. */
        if (next_start < start) return 0;
        end = next_start < end ? next_start : end;
        break;
    }
    return end > UINT64_MAX - base ? UINT64_MAX : base + end;
}

/* Enter the function at the first of `count` ascending addresses, if enough of them are in
 * it. *end_ret is the first address after it. That a function cannot be swept is found out
 * once, not for each address. */
static bool begin_function(address_sweep *sweep, const gsym_image *image,
                           const placed_address *addresses, size_t count,
                           uint64_t *end_ret) {
    function_sweep *function = &sweep->function;
    uint64_t first = addresses[0].address;
    gsym_error ignored;
    uint32_t entry;
    cursor record;
    bool found;
    if (count < LEAST_SWEPT || first < sweep->single_below ||
        image_find(image, first, &entry, &record, &found, &ignored) != GSYM_OK || !found)
        return false;
    *end_ret = entry_end(image, entry, &record);
    if (addresses[LEAST_SWEPT - 1].address < *end_ret &&
        function_sweep_begin(function, image, sweep->llvm, entry, &record) &&
        !(sweep->frames_only && function_index_has_more(function->index)))
        return true;
    sweep->single_below = *end_ret > first ? *end_ret : UINT64_MAX;
    return false;
}

/* The current frames as the result of one address. */
static bool keep_frames(address_sweep *sweep, found_frames *ret) {
    const function_sweep *function = &sweep->function;
    size_t count = function->frame_count;
    if (count == 0) return true;
    if (!ARRAY_RESERVE(sweep->frames, count)) return false;
    *ret = (found_frames){sweep->frames.count, (uint32_t)count, function->entry};
    memcpy(sweep->frames.items + sweep->frames.count, function->frames,
           count * sizeof *function->frames);
    sweep->frames.count += count;
    return true;
}

static bool is_full(const address_sweep *sweep) {
    return sweep->frame_limit != 0 && sweep->frames.count >= sweep->frame_limit;
}

/* Look up the addresses in one function, if there are enough of them. *done_ret is their
 * number. */
static gsym_status sweep_function(address_sweep *sweep, const gsym_image *image,
                                  const placed_address *addresses, size_t count,
                                  size_t *done_ret, gsym_error *error) {
    uint64_t end;
    size_t i = 0;
    *done_ret = 0;
    if (!begin_function(sweep, image, addresses, count, &end)) return GSYM_OK;
    for (; i < count && addresses[i].address < end && !is_full(sweep); ++i) {
        found_frames *answer = &sweep->found[addresses[i].place];
        if (i > 0 && addresses[i].address == addresses[i - 1].address)
            *answer = sweep->found[addresses[i - 1].place];
        else if (!function_sweep_to(&sweep->function, addresses[i].address) ||
                 !keep_frames(sweep, answer))
            return gsym_fail_memory(error);
    }
    *done_ret = i;
    return GSYM_OK;
}

/* Release pages of the image if many were passed. */
static void give_back(address_sweep *sweep, const gsym_image *image,
                      const found_frames *found) {
    uint64_t offset;
    if (!sweep->gives_back || found->count == FRAMES_UNKNOWN || found->count == 0) return;
    offset = image_record_offset(image, found->entry);
    if (offset >= sweep->given_back && offset - sweep->given_back < MOST_PASSED) return;
    sweep->given_back = offset;
    pages_give_back(image->data, image->size);
}

gsym_status address_sweep_find(address_sweep *sweep, const gsym_image *image,
                               const placed_address *addresses, size_t count,
                               gsym_error *error) {
    sweep->single_below = 0;
    for (size_t i = 0; i < count && !is_full(sweep);) {
        found_frames *answer = &sweep->found[addresses[i].place];
        size_t done;
        GSYM_TRY(sweep_function(sweep, image, addresses + i, count - i, &done, error));
        if (done > 0)
            i += done;
        else if (i > 0 && addresses[i].address == addresses[i - 1].address)
            *answer = sweep->found[addresses[i++ - 1].place];
        else
            GSYM_TRY(look_up(sweep, image, addresses[i++].address, answer, error));
        give_back(sweep, image, answer);
    }
    return GSYM_OK;
}

void address_sweep_deinit(address_sweep *sweep) {
    function_sweep_deinit(&sweep->function);
    free(sweep->order);
    free(sweep->found);
    free(sweep->frames.items);
}
