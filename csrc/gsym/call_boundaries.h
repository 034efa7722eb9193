/* call_boundaries.h - a tree of inlined calls, flattened: from one boundary to the next
 * all addresses have the same innermost call. */
#ifndef GSYM_GSYM_CALL_BOUNDARIES_H
#define GSYM_GSYM_CALL_BOUNDARIES_H

#include "gsym/function_info.h"

typedef struct call_boundary {
    uint32_t offset;    /* from the start of the function */
    uint32_t innermost; /* number of the call from there on, 0: none */
} call_boundary;

typedef struct call_boundaries {
    call_boundary *items; /* ascending */
    uint32_t count;
} call_boundaries;

/* The boundaries of a tree, to be given back in any case. False where the tree asks for too
 * much work or memory ran out. */
bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries);
void call_boundaries_deinit(call_boundaries *boundaries);

#endif
