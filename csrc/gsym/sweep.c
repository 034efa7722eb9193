/* sweep.c - look up ascending addresses: a function at a time if it has several of them,
 * else each address separately. */
#include "gsym/sweep.h"
#include "base/system.h"
#include "gsym/frames.h"

/* ---- one function ------------------------------------------------------------------- */

/* A sweep keeps its state from one address to the next: the line program continues from the
 * last row, and the frames stay the same up to the next start or end of a call. */

/* Find the index of a large function, or make one for this sweep. */
static bool find_index(function_sweep *sweep, const cursor *record) {
    cursor made;
    sweep->index = &sweep->opened;
    if (image_index(sweep->image, sweep->entry, record, &sweep->opened)) return true;
    sweep->made.size = 0;
    sweep->made.swap = record->swap;
    if (!function_index_encode(&sweep->encoder, &sweep->made, record,
                               sweep->image->strp_size) ||
        sweep->made.failed)
        return false;
    made = (cursor){.at = sweep->made.bytes,
                    .end = sweep->made.bytes + sweep->made.size,
                    .start = sweep->made.bytes,
                    .swap = record->swap};
    return function_index_open(&made, &sweep->opened);
}

/* Begin with a function; false if it cannot be swept. *more_ret says whether the function
 * has more than lines and calls. */
static bool function_sweep_begin(function_sweep *sweep, const gsym_image *image,
                                 bool llvm, uint32_t entry, const cursor *record,
                                 bool *more_ret) {
    cursor c = *record;
    record_payloads payloads;
    const cursor *lines = &payloads.by_type[GSYM_INFO_LINE_TABLE];
    const cursor *calls = &payloads.by_type[GSYM_INFO_INLINE_INFO];
    gsym_error ignored;
    uint64_t size;
    if (function_info_decode_head(&c, image->strp_size, &size, &sweep->name, &ignored) !=
            GSYM_OK ||
        !function_info_payloads(&c, &payloads))
        return false;
    sweep->image = image;
    sweep->llvm = llvm;
    sweep->entry = entry;
    sweep->start = image->header.base_address + image_addr_offset(image, entry);
    sweep->index = NULL;
    if (function_index_is_worth(cursor_left(lines), cursor_left(calls)) &&
        !find_index(sweep, record))
        return false;
    sweep->frame_count = 0;
    sweep->has_lines = cursor_left(lines) > 0;
    sweep->calls = cursor_left(calls) > 0 && (sweep->has_lines || !llvm) ? *calls
                                                                         : (cursor){0};
    sweep->lines.row = (gsym_line_row){0, 0, 0};
    *more_ret = cursor_left(&payloads.by_type[GSYM_INFO_MERGED_FUNCTIONS]) > 0 ||
                cursor_left(&payloads.by_type[GSYM_INFO_CALL_SITES]) > 0;
    return !sweep->has_lines || line_sweep_begin(&sweep->lines, lines, sweep->start);
}

static void find_row(function_sweep *sweep, uint64_t address) {
    line_sweep *lines = &sweep->lines;
    line_checkpoint checkpoint;
    if (!lines->has_next || lines->program.row.address > address) return;
    if (function_index_line(sweep->index, &lines->payload, address - sweep->start,
                            &checkpoint))
        line_sweep_skip(lines, &checkpoint);
    line_sweep_advance(lines, address);
}

/* Whether the address has an answer. It has none if the line table is damaged or, by LLVM's
 * rules, if it has no line for the address. */
static bool has_row(const function_sweep *sweep) {
    uint32_t file = sweep->lines.row.file;
    if (!sweep->has_lines) return true;
    if (!sweep->lines.has_next && sweep->lines.program.c.failed) return false;
    return !sweep->llvm || (file != 0 && file < sweep->image->header.num_files);
}

static bool list_frames(function_sweep *sweep, uint64_t address) {
    const gsym_line_row *row = &sweep->lines.row;
    function_calls calls = {.payload = sweep->calls};
    frame_list list = {.image = sweep->image,
                       .start = sweep->start,
                       .address = address,
                       .llvm = sweep->llvm,
                       .frames = sweep->frames,
                       .capacity = sweep->frame_capacity,
                       .file = frame_file(sweep->image, row->file),
                       .line = row->line};
    gsym_error ignored;
    sweep->frame_count = 0;
    if (sweep->calls.at != NULL)
        calls = function_index_calls(sweep->index, &sweep->calls, address - sweep->start);
    if (frames_put(&list, sweep->name, &calls, &ignored) != GSYM_OK ||
        list.has_unknown_file)
        return true;
    if (list.count > sweep->frame_capacity) {
        if (!array_reserve(&sweep->frames, &sweep->frame_capacity, list.count,
                           sizeof *sweep->frames))
            return false;
        return list_frames(sweep, address);
    }
    sweep->frame_count = list.count;
    sweep->until = list.until;
    return true;
}

/* Find the frames at an address of the function, not below the previous one; none if there
 * is no answer. False if out of memory. */
static bool function_sweep_to(function_sweep *sweep, uint64_t address) {
    bool is_same = sweep->frame_count > 0 && address < sweep->until;
    uint64_t step = address - sweep->address;
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
    buffer_deinit(&sweep->made);
    index_encoder_deinit(&sweep->encoder);
    free(sweep->frames);
}

/* ---- many functions ----------------------------------------------------------------- */

enum {
    FRAMES_AT_FIRST = 64,
    MIN_SWEPT = 2, /* addresses in one function that are worth a sweep */
    MAX_PASSED = 1 << 20 /* bytes of records; after them, their pages are released */
};

bool address_sweep_reserve(address_sweep *sweep, size_t count) {
    size_t room = 2 * sweep->capacity, found = sweep->capacity;
    if (!array_reserve(&sweep->order, &room, 2 * count, sizeof *sweep->order) ||
        !array_reserve(&sweep->found, &found, count, sizeof *sweep->found))
        return false;
    sweep->capacity = room / 2 < found ? room / 2 : found;
    return true;
}

numbered_address *address_sweep_begin(address_sweep *sweep, uint32_t count,
                                      uint32_t sought) {
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
        if (!LIST_RESERVE(sweep->frames, count)) return gsym_fail_memory(error);
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

/* Return the first address after those of entry `entry`. */
static uint64_t entry_end(const gsym_image *image, uint32_t entry, const cursor *record) {
    cursor head = *record;
    uint64_t start = image_addr_offset(image, entry), size = cursor_u32(&head);
    uint64_t end = size == 0 || start + size < start ? UINT64_MAX : start + size;
    uint64_t base = image->header.base_address;
    for (uint32_t next = entry + 1; next < image->header.num_addresses; ++next) {
        uint64_t next_start = image_addr_offset(image, next);
        if (next_start == start) continue;
        /* The address table is not sorted: no address after these is known to have the same
         * entry. */
        if (next_start < start) return 0;
        end = next_start < end ? next_start : end;
        break;
    }
    return end > UINT64_MAX - base ? UINT64_MAX : base + end;
}

/* Begin the sweep of the function at the first of `count` ascending addresses, if enough of
 * them are in it. *end_ret is the first address after the function. If it cannot be swept,
 * single_below is set to that, so that this is not tried again for its other addresses. */
static bool begin_function(address_sweep *sweep, const gsym_image *image,
                           const numbered_address *addresses, size_t count,
                           uint64_t *end_ret) {
    function_sweep *function = &sweep->function;
    uint64_t first = addresses[0].address;
    gsym_error ignored;
    uint32_t entry;
    cursor record;
    bool found, has_more;
    if (count < MIN_SWEPT || first < sweep->single_below ||
        image_find(image, first, &entry, &record, &found, &ignored) != GSYM_OK || !found)
        return false;
    *end_ret = entry_end(image, entry, &record);
    if (addresses[MIN_SWEPT - 1].address < *end_ret &&
        function_sweep_begin(function, image, sweep->llvm, entry, &record, &has_more) &&
        !(sweep->frames_only && has_more))
        return true;
    sweep->single_below = *end_ret > first ? *end_ret : UINT64_MAX;
    return false;
}

/* Append the current frames as the result of one address. */
static bool keep_frames(address_sweep *sweep, found_frames *ret) {
    const function_sweep *function = &sweep->function;
    size_t count = function->frame_count;
    if (count == 0) return true;
    if (!LIST_RESERVE(sweep->frames, count)) return false;
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
                                  const numbered_address *addresses, size_t count,
                                  size_t *done_ret, gsym_error *error) {
    uint64_t end;
    size_t i = 0;
    *done_ret = 0;
    if (!begin_function(sweep, image, addresses, count, &end)) return GSYM_OK;
    for (; i < count && addresses[i].address < end && !is_full(sweep); ++i) {
        found_frames *answer = &sweep->found[addresses[i].number];
        if (i > 0 && addresses[i].address == addresses[i - 1].address)
            *answer = sweep->found[addresses[i - 1].number];
        else if (!function_sweep_to(&sweep->function, addresses[i].address) ||
                 !keep_frames(sweep, answer))
            return gsym_fail_memory(error);
    }
    *done_ret = i;
    return GSYM_OK;
}

/* Release pages of the image if many were passed. */
static void release_passed_pages(address_sweep *sweep, const gsym_image *image,
                                 const found_frames *found) {
    uint64_t offset;
    if (!sweep->releases_pages || found->count == FRAMES_UNKNOWN || found->count == 0)
        return;
    offset = image_record_offset(image, found->entry);
    if (offset >= sweep->released && offset - sweep->released < MAX_PASSED) return;
    sweep->released = offset;
    pages_release(image->data, image->size);
}

gsym_status address_sweep_find(address_sweep *sweep, const gsym_image *image,
                               const numbered_address *addresses, size_t count,
                               gsym_error *error) {
    sweep->single_below = 0;
    for (size_t i = 0; i < count && !is_full(sweep);) {
        found_frames *answer = &sweep->found[addresses[i].number];
        size_t done;
        GSYM_TRY(sweep_function(sweep, image, addresses + i, count - i, &done, error));
        if (done > 0)
            i += done;
        else if (i > 0 && addresses[i].address == addresses[i - 1].address)
            *answer = sweep->found[addresses[i++ - 1].number];
        else
            GSYM_TRY(look_up(sweep, image, addresses[i++].address, answer, error));
        release_passed_pages(sweep, image, answer);
    }
    return GSYM_OK;
}

void address_sweep_deinit(address_sweep *sweep) {
    function_sweep_deinit(&sweep->function);
    free(sweep->order);
    free(sweep->found);
    free(sweep->frames.items);
}
