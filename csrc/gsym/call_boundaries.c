/* call_boundaries.c - which call is the innermost one, from where on. */
#include "gsym/call_boundaries.h"

#include "gsym/address_order.h"
#include "gsym/index_measures.h"

/* What the boundaries are found with. */
typedef struct edge_list {
    placed_address *edges; /* of ranges: the start of range n at 2 * n, its end behind */
    uint32_t *ranks;       /* of each edge among the boundaries */
} edge_list;

/* The boundaries, and which of them each edge is. */
static bool list_offsets(const call_tree *tree, edge_list *list,
                         call_boundaries *boundaries) {
    size_t range_count = tree->ranges.count, count = 2 * range_count;
    uint32_t boundary_count = 0;
    const placed_address *sorted;
    list->edges = malloc(2 * count * sizeof *list->edges);
    list->ranks = malloc(count * sizeof *list->ranks);
    boundaries->items = malloc(count * sizeof *boundaries->items);
    if (list->edges == NULL || list->ranks == NULL || boundaries->items == NULL)
        return false;
    for (uint32_t i = 0; i < range_count; ++i) {
        const call_range *range = &tree->ranges.items[i];
        list->edges[2 * (size_t)i] = (placed_address){range->start, 2 * i};
        list->edges[2 * (size_t)i + 1] = (placed_address){range->end, 2 * i + 1};
    }
    sorted = address_order(list->edges, (uint32_t)count);
    for (size_t i = 0; i < count; ++i) {
        if (boundary_count == 0 ||
            boundaries->items[boundary_count - 1].offset != sorted[i].address)
            boundaries->items[boundary_count++] =
                (call_boundary){(uint32_t)sorted[i].address, 0};
        list->ranks[sorted[i].place] = boundary_count - 1;
    }
    boundaries->count = boundary_count;
    return true;
}

/* Give each call, in the order of the tree, what is still its caller's: a lookup takes the
 * first call of a list that covers its address. */
static bool assign_calls(const call_tree *tree, const uint32_t *ranks,
                         call_boundary *boundaries) {
    uint64_t steps = INDEX_STEPS_PER_RANGE * (uint64_t)tree->ranges.count;
    for (size_t i = 0; i < tree->ranges.count; ++i) {
        uint32_t number = tree->ranges.items[i].node;
        uint32_t parent = tree->nodes.items[number - 1].parent;
        uint32_t end = ranks[2 * i + 1];
        if (end - ranks[2 * i] > steps) return false;
        steps -= end - ranks[2 * i];
        for (uint32_t at = ranks[2 * i]; at < end; ++at)
            if (boundaries[at].innermost == parent) boundaries[at].innermost = number;
    }
    return true;
}

static void join_equals(call_boundaries *boundaries) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < boundaries->count; ++i) {
        const call_boundary *boundary = &boundaries->items[i];
        if (kept > 0 && boundary->innermost == boundaries->items[kept - 1].innermost)
            continue;
        boundaries->items[kept++] = *boundary;
    }
    boundaries->count = kept;
}

bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries) {
    edge_list list = {NULL, NULL};
    bool is_done;
    *boundaries = (call_boundaries){NULL, 0};
    if (tree->ranges.count > UINT32_MAX / 4) return false;
    if (tree->ranges.count == 0) return true;
    is_done = list_offsets(tree, &list, boundaries) &&
              assign_calls(tree, list.ranks, boundaries->items);
    if (is_done) join_equals(boundaries);
    free(list.edges);
    free(list.ranks);
    return is_done;
}

void call_boundaries_deinit(call_boundaries *boundaries) {
    free(boundaries->items);
}
