/* answer_queue.h - look up the addresses of a block of lines together, and answer the lines
 * in their order. */
#ifndef GSYM_TEXT_ANSWER_QUEUE_H
#define GSYM_TEXT_ANSWER_QUEUE_H

#include "gsym/sweep.h"

typedef struct waiting_line {
    uint64_t address; /* as in the line */
    uint64_t size;    /* of the line */
} waiting_line;

typedef struct answer_queue {
    LIST(waiting_line) lines;
    size_t max_lines;     /* number of lines that are looked up together */
    size_t next;     /* the first line without an answer */
    uint32_t sought; /* number of lines that have to be looked up */
    address_sweep sweep;
} answer_queue;

void queue_deinit(answer_queue *queue);
/* Remove all lines. Lines that are added later are answered by `image`, which may be
 * NULL. */
void queue_begin(answer_queue *queue, const gsym_image *image);
/* Whether a block is complete. */
static inline bool queue_is_full(const answer_queue *queue) {
    return queue->lines.count >= queue->max_lines;
}
/* Add a line to be answered with the frames at `sought`. */
bool queue_add(answer_queue *queue, uint64_t address, uint64_t size, uint64_t sought);
/* Add a line that is not looked up here. */
bool queue_add_unsought(answer_queue *queue, uint64_t address, uint64_t size);
/* A position in the queue, to remove the lines after it. */
typedef struct queue_mark {
    size_t lines;
    uint32_t sought;
} queue_mark;

static inline queue_mark queue_end(const answer_queue *queue) {
    return (queue_mark){queue->lines.count, queue->sought};
}

static inline void queue_cut(answer_queue *queue, queue_mark mark) {
    queue->lines.count = mark.lines;
    queue->sought = mark.sought;
}

/* Clear the results, and return the addresses of all lines in ascending order. The caller
 * passes ranges of them to address_sweep_find(). */
numbered_address *queue_order(answer_queue *queue, bool llvm);
/* Look up all lines, by LLVM's rules or by the usual ones. */
gsym_status queue_find(answer_queue *queue, const gsym_image *image, bool llvm,
                       gsym_error *error);

/* Return the next line, or NULL. */
static inline const waiting_line *queue_next(const answer_queue *queue) {
    return queue->next < queue->lines.count ? &queue->lines.items[queue->next] : NULL;
}

/* Return the result for the next line; with the count FRAMES_UNKNOWN, it must be looked up
 * separately. */
static inline const found_frames *queue_found(const answer_queue *queue) {
    return &queue->sweep.found[queue->next];
}

enum {
    /* Number of lines ahead for which frames, names and texts of names are prefetched. */
    AHEAD_FRAMES = 16,
    AHEAD_NAMES = 8,
    AHEAD_TEXTS = 4,
    LINE_OF_CACHE = 64
};

/* Find the frames of a line after the next one; return their number, 0 if unknown. */
uint32_t queue_frames_ahead(const answer_queue *queue, size_t ahead,
                            const gsym_frame **frames_ret);
/* Prefetch memory for lines after the next one, if they are for this image. */
void queue_look_ahead(const answer_queue *queue, const gsym_image *image);

#endif
