/* answer_queue.h - lines that wait for their answers: looked up together, answered in the
 * order in which they came. */
#ifndef GSYM_GSYM_ANSWER_QUEUE_H
#define GSYM_GSYM_ANSWER_QUEUE_H

#include "gsym/sweep.h"

typedef struct waiting_line {
    uint64_t address; /* as the line has it */
    uint64_t size;    /* of the line */
} waiting_line;

typedef struct answer_queue {
    LIST(waiting_line) lines;
    size_t most;     /* lines that are looked up together */
    size_t next;     /* the first line without an answer */
    uint32_t sought; /* lines that are to be looked up */
    address_sweep sweep;
} answer_queue;

void queue_deinit(answer_queue *queue);
/* Forget all lines; those that follow are about `image`, which may be NULL. */
void queue_begin(answer_queue *queue, const gsym_image *image);
/* Whether as many lines are there as are looked up together. */
static inline bool queue_is_full(const answer_queue *queue) {
    return queue->lines.count >= queue->most;
}
/* A line that is to be answered with what is at `sought`. */
bool queue_add(answer_queue *queue, uint64_t address, uint64_t size, uint64_t sought);
/* A line that is not looked up here. */
bool queue_add_unsought(answer_queue *queue, uint64_t address, uint64_t size);
/* Where lines end that were added, to give up those that follow. */
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

/* Forget what was found; the addresses of all lines in ascending order, to be looked up in
 * ranges by address_sweep_find(). */
placed_address *queue_order(answer_queue *queue, bool llvm);
/* Look up all lines, by LLVM's rules or by ours. */
gsym_status queue_find(answer_queue *queue, const gsym_image *image, bool llvm,
                       gsym_error *error);

/* The line that is next, or NULL. */
static inline const waiting_line *queue_next(const answer_queue *queue) {
    return queue->next < queue->lines.count ? &queue->lines.items[queue->next] : NULL;
}

/* What was found for it; FRAMES_UNKNOWN: it has to be looked up by itself. */
static inline const found_frames *queue_found(const answer_queue *queue) {
    return &queue->sweep.found[queue->next];
}

enum {
    /* Lines whose frames are fetched before it is their turn; likewise what these name;
     * and where that stands elsewhere, what it leads to. */
    AHEAD_FRAMES = 16,
    AHEAD_NAMES = 8,
    AHEAD_TEXTS = 4,
    LINE_OF_CACHE = 64
};

/* The first frames of the line so far after the next one; none where they are not there.
 * Gives how many they are. */
uint32_t queue_frames_ahead(const answer_queue *queue, size_t ahead,
                            const gsym_frame **frames_ret);
/* Have the memory fetched that lines after the next one are going to need, if they are
 * about this image. */
void queue_look_ahead(const answer_queue *queue, const gsym_image *image);

#endif
