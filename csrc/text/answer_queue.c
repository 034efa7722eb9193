/* answer_queue.c - look up the addresses of a block of lines in ascending order, and answer
 * the lines in their own order. */
#include "text/answer_queue.h"

#include "base/list.h"

enum {
    /* Bounds of the number of lines that are looked up together: the lines should stay in
     * the caches, but each function should have several of them. */
    MIN_LINES = 1 << 15,
    MAX_LINES = 1 << 17,
    LINES_PER_FUNCTION = 8,
    MAX_FRAMES = 1 << 20,
    MAX_FETCHED = 16 /* frames of one line that are prefetched */
};

void queue_deinit(answer_queue *queue) {
    free(queue->lines.items);
    address_sweep_deinit(&queue->sweep);
}

void queue_begin(answer_queue *queue, const gsym_image *image) {
    uint64_t functions = image == NULL ? 0 : image->header.num_addresses;
    uint64_t wanted = functions * LINES_PER_FUNCTION;
    queue->max_lines = wanted < MIN_LINES   ? MIN_LINES
                  : wanted > MAX_LINES ? MAX_LINES
                                       : (size_t)wanted;
    queue->lines.count = queue->next = 0;
    queue->sought = 0;
}

bool queue_add_unsought(answer_queue *queue, uint64_t address, uint64_t size) {
    size_t count = queue->lines.count;
    if (!LIST_RESERVE(queue->lines, 1)) return false;
    if (count >= queue->sweep.capacity &&
        !address_sweep_reserve(&queue->sweep, queue->lines.capacity))
        return false;
    queue->lines.items[queue->lines.count++] = (waiting_line){address, size};
    return true;
}

bool queue_add(answer_queue *queue, uint64_t address, uint64_t size, uint64_t sought) {
    uint32_t number = (uint32_t)queue->lines.count;
    if (!queue_add_unsought(queue, address, size)) return false;
    queue->sweep.order[queue->sought++] = (numbered_address){sought, number};
    return true;
}

numbered_address *queue_order(answer_queue *queue, bool llvm) {
    address_sweep *sweep = &queue->sweep;
    sweep->llvm = llvm;
    sweep->frames_only = true;
    sweep->frame_limit = MAX_FRAMES;
    return address_sweep_begin(sweep, (uint32_t)queue->lines.count, queue->sought);
}

gsym_status queue_find(answer_queue *queue, const gsym_image *image, bool llvm,
                       gsym_error *error) {
    const numbered_address *order = queue_order(queue, llvm);
    if (image == NULL) return GSYM_OK;
    return address_sweep_find(&queue->sweep, image, order, queue->sought, error);
}

uint32_t queue_frames_ahead(const answer_queue *queue, size_t ahead,
                            const gsym_frame **frames_ret) {
    const size_t at = queue->next + ahead;
    const found_frames *found;
    if (at >= queue->lines.count || queue->sweep.found[at].count == FRAMES_UNKNOWN)
        return 0;
    found = &queue->sweep.found[at];
    *frames_ret = queue->sweep.frames.items + found->first;
    return found->count < MAX_FETCHED ? found->count : MAX_FETCHED;
}

static void fetch_name(const gsym_image *image, uint64_t strp) {
    if (strp < image->header.strtab_size) {
        const char *name = image->strings + strp;
        __builtin_prefetch(name);
        __builtin_prefetch(name + LINE_OF_CACHE);
    }
}

void queue_look_ahead(const answer_queue *queue, const gsym_image *image) {
    const gsym_frame *frames;
    uint32_t count = queue_frames_ahead(queue, AHEAD_FRAMES, &frames);
    if (count > 0) __builtin_prefetch(frames);
    count = queue_frames_ahead(queue, AHEAD_NAMES, &frames);
    for (uint32_t i = 0; i < count; ++i) fetch_name(image, frames[i].name);
}
