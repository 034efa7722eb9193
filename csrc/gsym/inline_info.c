/* inline_info.c - encode and decode InfoType 2: the tree of calls inlined into a function.
 *
 *     node: uleb range_count           0 ends a list of siblings
 *           range_count * {uleb start - base, uleb size}
 *           u8 has_children, strp name, uleb call_file, uleb call_line
 *           children and a 0, where has_children is set
 *
 * The base of the root is the start of the function; the base of any other node is the
 * start of the first range of its parent. A hostile input can nest nodes to any depth, so
 * no function here calls itself. */
#include "base/sort.h"
#include "gsym/function_info.h"
#include "gsym/index.h"

/* ---- encode ----------------------------------------------------------------- */

enum { PATH_ON_STACK = 64 };

/* The nodes from the root to the current one. */
typedef struct node_path {
    const gsym_inline_node **items;
    size_t capacity;
    const gsym_inline_node *few[PATH_ON_STACK];
} node_path;

static bool node_path_set(node_path *path, size_t depth, const gsym_inline_node *node) {
    if (GSYM_UNLIKELY(depth >= path->capacity)) {
        size_t capacity = path->capacity * 2; /* depth grows by one at a time */
        const gsym_inline_node **items = malloc(capacity * sizeof *items);
        if (items == NULL) return false;
        memcpy(items, path->items, path->capacity * sizeof *items);
        if (path->items != path->few) free(path->items);
        path->items = items;
        path->capacity = capacity;
    }
    path->items[depth] = node;
    return true;
}

/* Whether each range of the child is within a range of the parent. Both lists ascend, so
 * one pass over the ranges of the parent is enough. */
static bool ranges_contain(const gsym_range *parent, size_t parent_count,
                           const gsym_range *child, size_t child_count) {
    size_t at = 0;
    for (size_t i = 0; i < child_count; ++i) {
        while (at < parent_count && parent[at].end < child[i].end) at++;
        if (at == parent_count || child[i].start < parent[at].start) return false;
    }
    return true;
}

bool ranges_ascend(const gsym_range *ranges, size_t count, uint64_t first) {
    uint64_t end = first;
    for (size_t i = 0; i < count; ++i) {
        if (ranges[i].start < end || ranges[i].end < ranges[i].start) return false;
        end = ranges[i].end;
    }
    return true;
}

typedef struct tree_encoder {
    buffer *out;
    unsigned strp_size;
    uint64_t start; /* of the function */
    const gsym_inline_node *nodes;
    const gsym_range *ranges;
    index_source *source; /* or NULL */
    size_t payload;       /* offset of the tree in the output */
    node_path path;
} tree_encoder;

/* Note where a name is, which is written next. Add its node, which begins at offset `at` of
 * the output, to the tree from which the index is made. */
static bool note_node(tree_encoder *encoder, size_t at, const gsym_inline_node *node) {
    index_source *source = encoder->source;
    call_tree *tree = &source->tree;
    const gsym_range *range = encoder->ranges + node->range_first;
    const gsym_range *end = range + node->range_count;
    uint32_t number = (uint32_t)tree->nodes.count + 1, parent = 0;
    buffer_put_uleb(&source->names, encoder->out->size - source->last_name);
    source->last_name = encoder->out->size;
    if (source->names.failed || source->only_names) return !source->names.failed;
    if (node->depth != 0)
        parent = (uint32_t)(encoder->path.items[node->depth - 1] - encoder->nodes) + 1;
    if (!LIST_RESERVE(tree->nodes, 1) || !LIST_RESERVE(tree->ranges, node->range_count) ||
        !LIST_ADD(tree->locations, (uint32_t)(at - encoder->payload)))
        return false;
    tree->nodes.items[tree->nodes.count++] =
        (call_node){.parent = parent,
                    .start = (uint32_t)(range->start - encoder->start),
                    .fields = (uint32_t)(encoder->out->size - encoder->payload)};
    for (; range < end; ++range) {
        source->is_far |= range->end - encoder->start > UINT32_MAX;
        if (range->start == range->end) continue;
        tree->ranges.items[tree->ranges.count++] =
            (call_range){(uint32_t)(range->start - encoder->start),
                         (uint32_t)(range->end - encoder->start), number};
    }
    return true;
}

static gsym_status encode_node(tree_encoder *encoder, uint64_t base,
                               const gsym_inline_node *node, bool has_children,
                               gsym_error *error) {
    buffer *out = encoder->out;
    const gsym_range *ranges = encoder->ranges + node->range_first;
    size_t start = out->size;
    uint8_t *at;
    if (node->range_count == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "an inlined call has no range");
    if (!ranges_ascend(ranges, node->range_count, base))
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "InlineInfo ranges not in ascending order");
    if (!buffer_reserve(out, (2 * (size_t)node->range_count + 4) * MAX_LEB_SIZE))
        return gsym_fail_memory(error);
    at = put_uleb_unchecked(out->bytes + out->size, node->range_count);
    for (uint32_t i = 0; i < node->range_count; ++i) {
        at = put_uleb_unchecked(at, ranges[i].start - base);
        at = put_uleb_unchecked(at, ranges[i].end - ranges[i].start);
    }
    *at++ = has_children;
    out->size = (size_t)(at - out->bytes);
    if (encoder->source != NULL && !note_node(encoder, start, node))
        return gsym_fail_memory(error);
    buffer_put_uint(out, node->name, encoder->strp_size);
    at = put_uleb_unchecked(out->bytes + out->size, node->call_file);
    at = put_uleb_unchecked(at, node->call_line);
    out->size = (size_t)(at - out->bytes);
    return GSYM_OK;
}

static gsym_status encode_tree(tree_encoder *encoder, size_t count, gsym_error *error) {
    const gsym_inline_node *nodes = encoder->nodes;
    const gsym_range *ranges = encoder->ranges;
    node_path *path = &encoder->path;
    for (size_t i = 0; i < count; ++i) {
        const gsym_inline_node *node = &nodes[i];
        uint32_t next_depth = i + 1 < count ? nodes[i + 1].depth : 0;
        uint64_t base = encoder->start;
        if ((i == 0) != (node->depth == 0) ||
            (next_depth > node->depth && next_depth - node->depth > 1))
            return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "InlineInfo nodes not in pre-order");
        if (node->depth != 0) {
            const gsym_inline_node *parent = path->items[node->depth - 1];
            if (!ranges_contain(ranges + parent->range_first, parent->range_count,
                                ranges + node->range_first, node->range_count))
                return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                                 "child range not contained in parent");
            base = ranges[parent->range_first].start;
        }
        if (!node_path_set(path, node->depth, node)) return gsym_fail_memory(error);
        GSYM_TRY(encode_node(encoder, base, node, next_depth > node->depth, error));
        for (uint32_t depth = node->depth; depth > next_depth; --depth)
            buffer_put_u8(encoder->out, 0);
    }
    return encoder->out->failed ? gsym_fail_memory(error) : GSYM_OK;
}

gsym_status inline_info_encode(buffer *out, unsigned strp_size, uint64_t start,
                               const gsym_inline_node *nodes, size_t count,
                               const gsym_range *ranges, index_source *source,
                               gsym_error *error) {
    tree_encoder encoder;
    gsym_status status;
    encoder.out = out;
    encoder.strp_size = strp_size;
    encoder.start = start;
    encoder.nodes = nodes;
    encoder.ranges = ranges;
    encoder.source = source;
    encoder.payload = out->size;
    encoder.path.items = encoder.path.few;
    encoder.path.capacity = PATH_ON_STACK;
    status = encode_tree(&encoder, count, error);
    if (encoder.path.items != encoder.path.few) free(encoder.path.items);
    if (source != NULL) source->calls_size = out->size - encoder.payload;
    return status;
}

/* ---- decode ----------------------------------------------------------------- */

static gsym_status decode_ranges(cursor *c, uint64_t base, uint64_t count,
                                 range_list *ranges, gsym_error *error) {
    for (uint64_t i = 0; i < count; ++i) {
        const uint8_t *at = c->at;
        uint64_t start = base + cursor_uleb_1(c);
        uint64_t end = start + cursor_uleb_1(c);
        if (c->failed)
            return cursor_missing(c, at, "InlineInfo address ranges data", error);
        if (!LIST_ADD(*ranges, (gsym_range){start, end})) return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

static gsym_status decode_fields(cursor *c, unsigned strp_size, gsym_inline_node *node,
                                 bool *has_children_ret, gsym_error *error) {
    const uint8_t *at = c->at;
    *has_children_ret = cursor_u8(c) != 0;
    if (c->failed)
        return cursor_missing(c, at, "InlineInfo uint8_t indicating children", error);
    at = c->at;
    node->name = cursor_uint(c, strp_size);
    if (c->failed) return cursor_missing(c, at, "InlineInfo name", error);
    at = c->at;
    node->call_file = (uint32_t)cursor_uleb_1(c);
    if (c->failed) return cursor_missing(c, at, "ULEB128 for InlineInfo call file", error);
    at = c->at;
    node->call_line = (uint32_t)cursor_uleb_1(c);
    if (c->failed) return cursor_missing(c, at, "ULEB128 for InlineInfo call line", error);
    return GSYM_OK;
}

gsym_status inline_info_decode(cursor *payload, unsigned strp_size, uint64_t start,
                               function_parts *parts, gsym_error *error) {
    size_t first_node = parts->nodes.count, first_range = parts->ranges.count;
    parts->parents.count = 0;
    do {
        const uint8_t *at = payload->at;
        uint64_t base = start, range_count = cursor_uleb_1(payload);
        bool has_children;
        gsym_inline_node node = {.depth = (uint32_t)parts->parents.count};
        if (payload->failed)
            return cursor_missing(payload, at, "InlineInfo address ranges data", error);
        if (range_count == 0) { /* the end of a list of children */
            if (node.depth != 0) parts->parents.count--;
            continue;
        }
        if (node.depth != 0) {
            uint32_t parent = parts->parents.items[node.depth - 1];
            uint32_t range = parts->nodes.items[first_node + parent].range_first;
            base = parts->ranges.items[first_range + range].start;
        }
        node.range_first = (uint32_t)(parts->ranges.count - first_range);
        node.range_count = (uint32_t)range_count;
        GSYM_TRY(decode_ranges(payload, base, range_count, &parts->ranges, error));
        GSYM_TRY(decode_fields(payload, strp_size, &node, &has_children, error));
        if (has_children &&
            !LIST_ADD(parts->parents, (uint32_t)(parts->nodes.count - first_node)))
            return gsym_fail_memory(error);
        if (!LIST_ADD(parts->nodes, node)) return gsym_fail_memory(error);
    } while (parts->parents.count != 0);
    return GSYM_OK;
}

/* ---- list ------------------------------------------------------------------- */

static bool list_ranges(cursor *c, uint64_t count, uint32_t base, call_tree *tree) {
    uint32_t number = (uint32_t)tree->nodes.count;
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t start = base + cursor_uleb_2(c);
        uint64_t size = cursor_uleb_2(c);
        if (c->failed || start > UINT32_MAX || size > UINT32_MAX - start) return false;
        if (i == 0) tree->nodes.items[number - 1].start = (uint32_t)start;
        if (size == 0) continue;
        if (!LIST_ADD(tree->ranges,
                      (call_range){(uint32_t)start, (uint32_t)(start + size), number})) {
            tree->failed = true;
            return false;
        }
    }
    return true;
}

bool inline_info_list(const cursor *payload, unsigned strp_size, call_tree *tree) {
    cursor c = *payload;
    uint32_t parent = 0;
    if (cursor_left(&c) > UINT32_MAX) return false;
    do {
        uint32_t at = (uint32_t)(c.at - payload->at);
        uint64_t range_count = cursor_uleb_1(&c);
        uint32_t base = parent == 0 ? 0 : tree->nodes.items[parent - 1].start;
        call_node *node;
        bool has_children;
        if (range_count == 0) {
            if (parent != 0) parent = tree->nodes.items[parent - 1].parent;
            continue;
        }
        tree->failed = !LIST_ADD(tree->locations, at) ||
                       !LIST_ADD(tree->nodes, (call_node){.parent = parent});
        if (tree->failed || !list_ranges(&c, range_count, base, tree)) return false;
        node = &tree->nodes.items[tree->nodes.count - 1];
        has_children = cursor_u8(&c) != 0;
        node->fields = (uint32_t)(c.at - payload->at);
        cursor_skip(&c, strp_size);
        cursor_skip_leb(&c);
        cursor_skip_leb(&c);
        if (has_children) parent = (uint32_t)tree->nodes.count;
    } while (parent != 0 && !c.failed);
    return !c.failed;
}

/* Skip two numbers: usually by one load, without a branch on their sizes. */
static inline __attribute__((always_inline)) void skip_pair(cursor *c) {
    uint64_t ends = 0;
    if (GSYM_LIKELY(cursor_left(c) >= sizeof ends))
        ends = ~cursor_load64(c->at, CURSOR_HOST_BIG_ENDIAN) & UINT64_C(0x8080808080808080);
    ends &= ends - 1;
    if (GSYM_LIKELY(ends != 0)) {
        c->at += __builtin_ctzll(ends) / 8 + 1;
        return;
    }
    cursor_skip_leb(c);
    cursor_skip_leb(c);
}

size_t inline_info_names(const cursor *payload, unsigned strp_size, uint32_t *names_ret) {
    cursor c = *payload;
    size_t count = 0;
    uint64_t depth = 0; /* number of lists of siblings that have not ended */
    do {
        uint64_t range_count = cursor_uleb_1(&c);
        bool has_children;
        if (range_count == 0) {
            depth -= depth != 0;
            continue;
        }
        skip_pair(&c);
        while (GSYM_UNLIKELY(--range_count != 0) && !c.failed) skip_pair(&c);
        has_children = cursor_u8(&c) != 0;
        names_ret[count] = (uint32_t)(c.at - payload->at);
        cursor_skip(&c, strp_size);
        skip_pair(&c);
        count += !c.failed;
        depth += has_children;
    } while (depth != 0 && !c.failed);
    return count;
}

void call_tree_deinit(call_tree *tree) {
    free(tree->nodes.items);
    free(tree->locations.items);
    free(tree->ranges.items);
}

inline_match inline_info_node(const cursor *payload, unsigned strp_size, uint64_t start,
                              const call_node *node) {
    cursor c = *payload;
    inline_match match;
    cursor_skip(&c, node->fields);
    match.name = cursor_strp(&c, strp_size);
    match.start = start + node->start;
    match.call_file = (uint32_t)cursor_uleb_2(&c);
    match.call_line = (uint32_t)cursor_uleb_2(&c);
    match.is_root = node->parent == 0;
    return match;
}

/* ---- walk ------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void skip_ranges(cursor *c, uint64_t count) {
    for (uint64_t i = 0; i < count && !c->failed; ++i) {
        cursor_skip_leb(c);
        cursor_skip_leb(c);
    }
}

/* Whether one of the next `count` ranges covers the address; they are read. walk->until is
 * lowered to the next start or end of a range after the address. */
static inline __attribute__((always_inline)) bool
ranges_cover(cursor *c, inline_walk *walk, uint64_t count, uint64_t *start_ret) {
    uint64_t address = walk->address;
    bool covered = false;
    for (uint64_t i = 0; i < count && !c->failed; ++i) {
        uint64_t start = walk->base + cursor_uleb_2(c);
        uint64_t size = cursor_uleb_2(c), edge = start;
        if (i == 0) *start_ret = start;
        if (address - start < size) {
            covered = true;
            edge = start + size;
        }
        if (edge > address && edge < walk->until) walk->until = edge;
    }
    return covered;
}

static inline __attribute__((always_inline)) void skip_call(cursor *c, unsigned strp_size) {
    cursor_skip(c, strp_size);
    cursor_skip_leb(c);
    cursor_skip_leb(c);
}

bool inline_walk_next(inline_walk *walk, inline_match *match_ret) {
    cursor c = walk->payload; /* a copy, which can be in registers */
    uint64_t depth = 0;       /* levels below the list that is being searched */
    bool covered = false;
    while (!walk->is_done && !covered && cursor_left(&c) >= walk->min_left) {
        uint64_t start = 0, range_count = cursor_uleb_2(&c);
        bool has_children;
        if (range_count == 0) { /* the end of a list; a failed read gives 0, too */
            if (depth == 0 || c.failed) walk->is_done = true;
            else depth--;
            continue;
        }
        if (depth > 0) skip_ranges(&c, range_count);
        else covered = ranges_cover(&c, walk, range_count, &start);
        has_children = cursor_u8(&c) != 0;
        if (covered) {
            match_ret->name = cursor_strp(&c, walk->strp_size);
            match_ret->start = start;
            match_ret->call_file = (uint32_t)cursor_uleb_2(&c);
            match_ret->call_line = (uint32_t)cursor_uleb_2(&c);
            match_ret->is_root = walk->is_root;
            walk->is_done = !has_children;
            walk->base = start;
        } else {
            skip_call(&c, walk->strp_size);
            depth += has_children;
            walk->is_done = walk->is_root;
        }
        walk->is_root = false;
    }
    walk->payload = c;
    return covered;
}

bool inline_nodes_next(inline_nodes *walk, inline_match *match_ret) {
    cursor *c = &walk->payload;
    while (!walk->is_done) {
        uint64_t range_count = cursor_uleb_1(c);
        match_ret->is_root = walk->depth == 0;
        if (range_count == 0) {
            walk->is_done = walk->depth <= 1 || c->failed;
            walk->depth--;
            continue;
        }
        skip_ranges(c, range_count);
        walk->depth += cursor_u8(c) != 0;
        match_ret->name = cursor_uint(c, walk->strp_size);
        match_ret->call_file = (uint32_t)cursor_uleb_1(c);
        match_ret->call_line = (uint32_t)cursor_uleb_1(c);
        walk->is_done = walk->depth == 0 || c->failed;
        return !c->failed;
    }
    return false;
}
