/* call_boundaries.c - list the offsets of a function at which the innermost call
 * changes. */
#include "base/sort.h"
#include "gsym/function_info.h"
#include "gsym/index.h"

enum {
    MAX_MARKED = UINT16_MAX, /* greatest offset that is marked */
    OFFSETS_PER_RANGE = 1024 /* up to so many, marking is faster than sorting */
};

static uint32_t last_offset(const call_tree *tree) {
    uint32_t last = 0;
    for (size_t i = 0; i < tree->ranges.count; ++i) {
        const call_range *range = &tree->ranges.items[i];
        uint32_t end = range->end > range->start ? range->end : range->start;
        if (end > last) last = end;
    }
    return last;
}

/* List the offsets up to `last` in the order of bits that are set for them. */
static bool list_marked(const call_tree *tree, uint32_t last, call_boundaries *boundaries) {
    size_t words = last / 64 + 1;
    uint64_t marks[MAX_MARKED / 64 + 1];
    uint16_t *rank_at; /* only items of marked offsets are set */
    boundaries->failed = !LIST_RESERVE(boundaries->rank_at, (size_t)last + 1);
    if (boundaries->failed) return false;
    rank_at = boundaries->rank_at.items;
    memset(marks, 0, words * sizeof *marks);
    for (size_t i = 0; i < tree->ranges.count; ++i) {
        const call_range *range = &tree->ranges.items[i];
        marks[range->start / 64] |= UINT64_C(1) << range->start % 64;
        marks[range->end / 64] |= UINT64_C(1) << range->end % 64;
    }
    for (size_t word = 0; word < words; ++word)
        for (uint64_t bits = marks[word]; bits != 0; bits &= bits - 1) {
            uint32_t offset = (uint32_t)(64 * word) + (uint32_t)__builtin_ctzll(bits);
            rank_at[offset] = (uint16_t)boundaries->count;
            boundaries->items[boundaries->count++] = (call_boundary){offset, 0};
        }
    for (size_t i = 0; i < tree->ranges.count; ++i) {
        boundaries->ranks.items[2 * i] = rank_at[tree->ranges.items[i].start];
        boundaries->ranks.items[2 * i + 1] = rank_at[tree->ranges.items[i].end];
    }
    return true;
}

static bool list_sorted(const call_tree *tree, call_boundaries *boundaries) {
    size_t count = 2 * tree->ranges.count;
    const numbered_address *sorted;
    boundaries->edges.count = 0;
    boundaries->failed = !LIST_RESERVE(boundaries->edges, 2 * count);
    if (boundaries->failed) return false;
    for (uint32_t i = 0; i < tree->ranges.count; ++i) {
        const call_range *range = &tree->ranges.items[i];
        numbered_address *edges = &boundaries->edges.items[2 * (size_t)i];
        edges[0] = (numbered_address){range->start, 2 * i};
        edges[1] = (numbered_address){range->end, 2 * i + 1};
    }
    sorted = address_order(boundaries->edges.items, (uint32_t)count);
    for (size_t i = 0; i < count; ++i) {
        if (boundaries->count == 0 ||
            boundaries->items[boundaries->count - 1].offset != sorted[i].address)
            boundaries->items[boundaries->count++] =
                (call_boundary){(uint32_t)sorted[i].address, 0};
        boundaries->ranks.items[sorted[i].number] = (uint32_t)boundaries->count - 1;
    }
    return true;
}

/* List the offsets of all starts and ends of ranges, each once, as boundaries; and for each
 * start or end the index of its boundary. */
static bool list_offsets(const call_tree *tree, call_boundaries *boundaries) {
    size_t count = 2 * tree->ranges.count;
    uint32_t last = last_offset(tree);
    boundaries->ranks.count = 0;
    boundaries->failed = !LIST_RESERVE(boundaries->ranks, count) ||
                         !LIST_RESERVE(*boundaries, count);
    if (boundaries->failed) return false;
    return last <= MAX_MARKED && last / OFFSETS_PER_RANGE < tree->ranges.count
               ? list_marked(tree, last, boundaries)
               : list_sorted(tree, boundaries);
}

/* Find the innermost call from each boundary on. Calls are visited in the order of the
 * tree; each takes those boundaries in its ranges that still belong to its caller, because
 * a lookup uses the first call of a list that covers the address. */
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
    size_t kept = 0;
    for (size_t i = 0; i < boundaries->count; ++i) {
        const call_boundary *boundary = &boundaries->items[i];
        if (kept > 0 && boundary->innermost == boundaries->items[kept - 1].innermost)
            continue;
        boundaries->items[kept++] = *boundary;
    }
    boundaries->count = kept;
}

bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries) {
    boundaries->count = 0;
    if (tree->ranges.count > UINT32_MAX / 4) return false;
    if (tree->ranges.count == 0) return true;
    if (!list_offsets(tree, boundaries) ||
        !assign_calls(tree, boundaries->ranks.items, boundaries->items))
        return false;
    join_equals(boundaries);
    return true;
}

void call_boundaries_deinit(call_boundaries *boundaries) {
    free(boundaries->items);
    free(boundaries->edges.items);
    free(boundaries->ranks.items);
    free(boundaries->rank_at.items);
}
