/* call_boundaries.h - a tree of inlined calls, flattened: from one boundary to the next
 * all addresses have the same innermost call. */
#ifndef GSYM_CALL_BOUNDARIES_H
#define GSYM_CALL_BOUNDARIES_H

#include "function_info.h"

typedef struct call_boundaries {
    uint32_t *offsets;   /* from the start of the function, ascending */
    uint32_t *innermost; /* number of the call from each boundary on, 0: none */
    uint32_t count;
} call_boundaries;

/* The boundaries of a tree, to be given back in any case. False where the tree asks for too
 * much work or memory ran out. */
bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries);
void call_boundaries_deinit(call_boundaries *boundaries);

#endif
