/* inline_builder.h - make a tree of inlined calls that come with their level and ranges. */
#ifndef GSYM_CREATE_INLINE_BUILDER_H
#define GSYM_CREATE_INLINE_BUILDER_H

#include "gsym/function_info.h"

/* One range of a record, which is an inlined call as the input describes it. */
typedef struct inline_piece {
    uint64_t key; /* level << 32 | start; pieces become spans in this order */
    uint32_t end;
    uint32_t record; /* its number in the function */
} inline_piece;

typedef LIST(inline_piece) inline_piece_list;

/* A node that is being made. */
typedef struct inline_draft {
    uint32_t record;
    uint32_t parent;
    uint32_t first_child, next_sibling;
    uint32_t range_first, range_count;
} inline_draft;

/* A range of a node: the part of a piece that lies in one span of the parent. */
typedef struct inline_span {
    uint32_t start, end;
    uint32_t node;
} inline_span;

/* Memory for making a tree, and the result in `nodes` and `ranges`; nodes are in
 * pre-order. */
typedef struct inline_builder {
    LIST(inline_draft) drafts;
    LIST(inline_span) spans;
    LIST(uint32_t) newest; /* the draft made last for each record */
    inline_piece_list spare;
    node_list nodes;
    LIST(uint32_t) node_records; /* the record of each node; that of the root means
                                    nothing */
    range_list ranges;
    /* pieces that were cut or dropped: because they overlap on one level, because no call
     * of the level above covers them, or because a limit was reached */
    uint64_t overlapping, uncovered, beyond_limit;
} inline_builder;

void inline_builder_deinit(inline_builder *builder);
/* Make the tree of a function; sorts the pieces. False where memory ran out. */
bool inline_builder_build(inline_builder *builder, uint64_t address, uint32_t size,
                          inline_piece *pieces, size_t piece_count, size_t record_count);
/* Give a function the tree that was made last. */
static inline void inline_builder_fill(const inline_builder *builder,
                                       gsym_function *function) {
    function->nodes = builder->nodes.items;
    function->node_count = builder->nodes.count;
    function->ranges = builder->ranges.items;
    function->range_count = builder->ranges.count;
}

#endif
