/* inline_builder.c - make a tree of inlined calls that come with their level and ranges.
 *
 * Here a record is an inlined call as the input describes it, and a piece is one of its
 * ranges. A record does not name its caller, which follows from the ranges: the caller is
 * on the level above, at the same addresses. Levels are placed from the outermost one on.
 * Of pieces of one level that overlap, the one that starts first keeps all of its bytes. A
 * piece is cut where pieces of the level above begin and end, and each part belongs to the
 * node that covers it there. So at any address the chain of calls has one record of each
 * level, up to the first level that has none. */
#include "create/inline_builder.h"

#include "base/limit.h"

#define NONE UINT32_MAX

enum {
    /* Limit: Nested `INLINE` records, and inlined calls of a Go function */
    MAX_LEVELS = 4096,
    RUN = 4 /* number of pieces that are sorted by insertion */
};

/* Only a record that spans several calls of the level above is cut into more than one part.
 * Limit: Parts of `INLINE` records, and of calls of Go, that span several calls */
LIMIT(PIECES, 256, 4);

void inline_builder_deinit(inline_builder *builder) {
    free(builder->drafts.items);
    free(builder->spans.items);
    free(builder->newest.items);
    free(builder->spare.items);
    free(builder->nodes.items);
    free(builder->node_records.items);
    free(builder->ranges.items);
}

/* ---- order of the pieces --------------------------------------------------------- */

static inline uint32_t piece_level(const inline_piece *piece) {
    return (uint32_t)(piece->key >> 32);
}

static inline uint32_t piece_start(const inline_piece *piece) {
    return (uint32_t)piece->key;
}

/* Sort runs of RUN pieces by insertion, then merge runs in pairs. Pieces of equal key keep
 * their order. `spare` has room for `count` pieces. */
static void sort_pieces(inline_piece *pieces, size_t count, inline_piece *spare) {
    for (size_t i = 1; i < count; ++i) {
        inline_piece piece = pieces[i];
        size_t at = i;
        for (; at % RUN != 0 && pieces[at - 1].key > piece.key; --at)
            pieces[at] = pieces[at - 1];
        pieces[at] = piece;
    }
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t first = 0; first + width < count; first += 2 * width) {
            size_t middle = first + width, left = 0, right = middle, at = first;
            size_t end = count - middle < width ? count : middle + width;
            if (pieces[middle - 1].key <= pieces[middle].key) continue;
            memcpy(spare, pieces + first, width * sizeof *pieces);
            while (left < width && right < end) {
                /* The comparison is used as a number and not in a branch, which could not
                 * be predicted. */
                size_t is_right = pieces[right].key < spare[left].key;
                const inline_piece *next[2] = {spare + left, pieces + right};
                pieces[at++] = *next[is_right];
                right += is_right;
                left += 1 - is_right;
            }
            memcpy(pieces + at, spare + left, (width - left) * sizeof *pieces);
        }
    }
}

/* ---- one level ------------------------------------------------------------------- */

/* Return the node of a record below `parent`, a new one if there is none; NONE where memory
 * ran out. */
static uint32_t node_of(inline_builder *builder, uint32_t record, uint32_t parent) {
    uint32_t newest = builder->newest.items[record];
    if (newest != NONE && builder->drafts.items[newest].parent == parent) return newest;
    if (builder->drafts.count == NONE || !LIST_RESERVE(builder->drafts, 1)) return NONE;
    newest = (uint32_t)builder->drafts.count++;
    builder->drafts.items[newest] = (inline_draft){
        .record = record, .parent = parent, .first_child = NONE, .next_sibling = NONE};
    builder->newest.items[record] = newest;
    return newest;
}

static bool add_span(inline_builder *builder, size_t level_first, uint32_t start,
                     uint32_t end, uint32_t node) {
    inline_span *last = builder->spans.items + builder->spans.count - 1;
    if (builder->spans.count > level_first && last->node == node && last->end == start) {
        last->end = end;
        return true;
    }
    return LIST_ADD(builder->spans, (inline_span){start, end, node});
}

/* Cut the addresses from start to end at the spans of the level above, of which `*above` is
 * the first that may overlap them, and add a span for each part. */
static bool place_piece(inline_builder *builder, uint32_t record, uint32_t start,
                        uint32_t end, size_t *above, size_t level_first) {
    bool is_covered = true;
    while (start < end) {
        inline_span parent;
        uint32_t stop, node;
        while (*above < level_first && builder->spans.items[*above].end <= start) ++*above;
        if (*above == level_first || builder->spans.items[*above].start >= end) {
            is_covered = false;
            break;
        }
        parent = builder->spans.items[*above];
        if (parent.start > start) {
            is_covered = false;
            start = parent.start;
        }
        stop = end < parent.end ? end : parent.end;
        node = node_of(builder, record, parent.node);
        if (node == NONE || !add_span(builder, level_first, start, stop, node))
            return false;
        start = stop;
    }
    builder->uncovered += !is_covered;
    return true;
}

/* ---- all levels ------------------------------------------------------------------ */

/* Turn the pieces into spans of nodes. */
static bool place_pieces(inline_builder *builder, const inline_piece *pieces,
                         size_t piece_count) {
    size_t above = 0, level_first = 1;
    uint64_t limit = LIMIT_OF(PIECES, piece_count);
    uint32_t level = 0, covered = 0;
    for (size_t i = 0; i < piece_count; ++i) {
        const inline_piece *piece = &pieces[i];
        uint32_t start = piece_start(piece);
        if (piece_level(piece) != level) {
            if (piece_level(piece) - level > 1 || level_first == builder->spans.count) {
                builder->uncovered += piece_count - i;
                break;
            }
            above = level_first;
            level_first = builder->spans.count;
            covered = 0;
            level++;
        }
        if (level == MAX_LEVELS || builder->spans.count > limit) {
            builder->beyond_limit += piece_count - i;
            break;
        }
        if (start < covered) {
            builder->overlapping++;
            start = covered;
        }
        if (start >= piece->end) continue;
        covered = piece->end;
        if (!place_piece(builder, piece->record, start, piece->end, &above, level_first))
            return false;
    }
    return true;
}

/* ---- the result ------------------------------------------------------------------ */

/* Make the spans of each node its ranges. They ascend because the spans of a level do. */
static bool gather_ranges(inline_builder *builder, uint64_t address) {
    inline_draft *drafts = builder->drafts.items;
    uint32_t sum = 0;
    if (builder->spans.count > UINT32_MAX ||
        !LIST_RESERVE(builder->ranges, builder->spans.count))
        return false;
    for (size_t i = 0; i < builder->spans.count; ++i)
        drafts[builder->spans.items[i].node].range_count++;
    for (size_t i = 0; i < builder->drafts.count; ++i) {
        drafts[i].range_first = sum;
        sum += drafts[i].range_count;
        drafts[i].range_count = 0;
    }
    for (size_t i = 0; i < builder->spans.count; ++i) {
        const inline_span *span = &builder->spans.items[i];
        inline_draft *draft = &drafts[span->node];
        builder->ranges.items[draft->range_first + draft->range_count++] =
            (gsym_range){address + span->start, address + span->end};
    }
    builder->ranges.count = sum;
    return true;
}

static void link_children(inline_builder *builder) {
    inline_draft *drafts = builder->drafts.items;
    for (size_t i = builder->drafts.count; i-- > 1;) {
        inline_draft *parent = &drafts[drafts[i].parent];
        drafts[i].next_sibling = parent->first_child;
        parent->first_child = (uint32_t)i;
    }
}

static bool put_nodes(inline_builder *builder) {
    const inline_draft *drafts = builder->drafts.items;
    uint32_t at = 0, depth = 0;
    if (!LIST_RESERVE(builder->nodes, builder->drafts.count) ||
        !LIST_RESERVE(builder->node_records, builder->drafts.count))
        return false;
    for (;;) {
        builder->node_records.items[builder->nodes.count] = drafts[at].record;
        builder->nodes.items[builder->nodes.count++] =
            (gsym_inline_node){.depth = depth,
                               .range_first = drafts[at].range_first,
                               .range_count = drafts[at].range_count};
        if (drafts[at].first_child != NONE) {
            at = drafts[at].first_child;
            depth++;
            continue;
        }
        while (depth > 0 && drafts[at].next_sibling == NONE) {
            at = drafts[at].parent;
            depth--;
        }
        if (depth == 0) return true;
        at = drafts[at].next_sibling;
    }
}

bool inline_builder_build(inline_builder *builder, uint64_t address, uint32_t size,
                          inline_piece *pieces, size_t piece_count, size_t record_count) {
    builder->drafts.count = builder->spans.count = 0;
    builder->nodes.count = builder->ranges.count = 0;
    builder->newest.count = 0;
    builder->overlapping = builder->uncovered = builder->beyond_limit = 0;
    if (!LIST_RESERVE(builder->newest, record_count) ||
        !LIST_RESERVE(builder->spare, piece_count) ||
        !LIST_RESERVE(builder->drafts, 1) || !LIST_RESERVE(builder->spans, 1))
        return false;
    if (record_count != 0)
        memset(builder->newest.items, 0xff, record_count * sizeof *builder->newest.items);
    builder->drafts.items[builder->drafts.count++] = (inline_draft){
        .record = NONE, .parent = NONE, .first_child = NONE, .next_sibling = NONE};
    builder->spans.items[builder->spans.count++] = (inline_span){0, size, 0};
    sort_pieces(pieces, piece_count, builder->spare.items);
    if (!place_pieces(builder, pieces, piece_count) || !gather_ranges(builder, address))
        return false;
    link_children(builder);
    return put_nodes(builder);
}
