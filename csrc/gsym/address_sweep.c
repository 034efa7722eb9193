/* address_sweep.c - a function at a time where several addresses are in one, each address
 * by itself where not. */
#include "gsym/address_sweep.h"

#include "base/buffer.h"
#include "base/pages.h"

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

/* One address by itself. */
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

/* Enter the function at the first of `count` ascending addresses, if enough of them are
 * in it. *end_ret is the first address behind it. What it takes to find out that a function
 * cannot be swept is spent once, not for each of its addresses. */
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

/* The frames that were found, as those of one address. */
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

/* Answer as many of the addresses as one function has, if there are enough of them.
 * *done_ret is how many were. */
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

/* Give the pages of the image back if many were passed up to what was found. */
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
