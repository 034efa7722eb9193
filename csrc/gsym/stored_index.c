/* stored_index.c - encode and query indexes in a file.
 *
 *     uleb line_table_size, uleb inline_info_size
 *     uleb checkpoint_count, uleb boundary_count, uleb node_count
 *     uleb widths     2 bits for each column, the first one lowest: 1, 2, 4 or 8 bytes
 *     columns         as listed in index.h
 */
#include "base/hash.h"
#include "gsym/index.h"

enum {
    CALLS_SPACING = 64, /* bytes of nodes that a walk reads */
    MOST_WIDTHS = (1 << 2 * COLUMN_COUNT) - 1
};

typedef enum column_group { CHECKPOINTS, BOUNDARIES, NODES } column_group;

static column_group group_of(stored_column column) {
    return column < CALLS_OFFSET ? CHECKPOINTS
           : column < NODE_PARENT ? BOUNDARIES
                                  : NODES;
}

/* ---- encode: the checkpoints of calls --------------------------------------------------- */

/* Adjacent boundaries whose calls are found by one walk. */
typedef struct call_group {
    uint32_t offset;
    uint32_t node; /* common to all */
    uint32_t at;   /* of the first call below it; 0: none has any */
    uint32_t end;  /* of the bytes that the longest walk reads */
} call_group;

typedef LIST(call_group) group_list;

typedef struct index_encoder {
    checkpoint_list checkpoints;
    call_tree tree;
    span_list spans;
    call_boundaries boundaries;
    group_list groups;
    uint32_t *numbers; /* of stored nodes, by number in the tree; 0: not stored */
    uint32_t node_count;
    uint64_t steps; /* remaining */
} index_encoder;

static uint32_t parent_of(const index_encoder *encoder, uint32_t node) {
    return encoder->tree.nodes.items[node - 1].parent;
}

static const call_span *span_of(const index_encoder *encoder, uint32_t node) {
    return &encoder->spans.items[node - 1];
}

/* Add addresses with innermost call `node` to a group. False: too much work. */
static bool join(index_encoder *encoder, call_group *group, uint32_t node) {
    uint32_t below = 0, end = node == 0 ? 0 : span_of(encoder, node)->end;
    if (end > group->end) group->end = end;
    while (group->node != node) {
        if (encoder->steps-- == 0) return false;
        if (node > group->node) {
            below = node;
            node = parent_of(encoder, node);
        } else {
            group->at = span_of(encoder, group->node)->at;
            group->node = parent_of(encoder, group->node);
        }
    }
    if (below != 0 && (group->at == 0 || span_of(encoder, below)->at < group->at))
        group->at = span_of(encoder, below)->at;
    return true;
}

static bool is_short(const call_group *group) {
    return group->end <= group->at || group->end - group->at <= CALLS_SPACING;
}

/* Fewer nodes are stored if the walk begins further out. */
static void move_outwards(const index_encoder *encoder, call_group *group) {
    while (group->node != 0) {
        call_group wider = *group;
        wider.at = span_of(encoder, group->node)->at;
        wider.node = parent_of(encoder, group->node);
        if (!is_short(&wider)) return;
        *group = wider;
    }
}

static bool is_last(const group_list *groups, const call_group *group) {
    const call_group *last;
    if (groups->count == 0) return false;
    last = &groups->items[groups->count - 1];
    return last->node == group->node && last->at == group->at;
}

static bool put_group(index_encoder *encoder, call_group *group) {
    group_list *groups = &encoder->groups;
    move_outwards(encoder, group);
    if (is_last(groups, group)) return true;
    return LIST_ADD(*groups, *group);
}

static bool group_boundaries(index_encoder *encoder) {
    const call_boundaries *boundaries = &encoder->boundaries;
    call_group group = {0, 0, 0, 0};
    for (uint32_t i = 0; i < boundaries->count; ++i) {
        uint32_t node = boundaries->items[i].innermost;
        call_group wider = group;
        if (i > 0) {
            if (!join(encoder, &wider, node)) return false;
            if (is_short(&wider)) {
                group = wider;
                continue;
            }
            if (!put_group(encoder, &group)) return false;
        }
        group = (call_group){boundaries->items[i].offset, node, 0,
                             node == 0 ? 0 : span_of(encoder, node)->end};
    }
    return boundaries->count == 0 || put_group(encoder, &group);
}

/* Number the nodes below which walks begin, and their ancestors. */
static bool number_nodes(index_encoder *encoder) {
    size_t count = encoder->tree.nodes.count;
    encoder->numbers = calloc(count + 1, sizeof *encoder->numbers);
    if (encoder->numbers == NULL) return false;
    for (size_t i = 0; i < encoder->groups.count; ++i)
        for (uint32_t node = encoder->groups.items[i].node;
             node != 0 && encoder->numbers[node] == 0; node = parent_of(encoder, node))
            encoder->numbers[node] = 1;
    for (size_t node = 1; node <= count; ++node)
        if (encoder->numbers[node] != 0) encoder->numbers[node] = ++encoder->node_count;
    return true;
}

static bool find_checkpoints(index_encoder *encoder, const cursor *lines,
                             const cursor *calls, unsigned strp_size) {
    if (cursor_left(lines) >= INDEX_LEAST_PAYLOAD &&
        !line_table_checkpoints(lines, INDEX_LINE_SPACING, &encoder->checkpoints))
        return false;
    if (cursor_left(calls) < INDEX_LEAST_PAYLOAD) return true;
    if (!inline_info_list(calls, strp_size, &encoder->tree, &encoder->spans) ||
        !call_boundaries_list(&encoder->tree, &encoder->boundaries))
        return false;
    encoder->steps = INDEX_STEPS_PER_RANGE * (uint64_t)encoder->tree.ranges.count;
    return group_boundaries(encoder) && number_nodes(encoder);
}

/* ---- encode: the columns ------------------------------------------------------------------ */

static uint32_t number_at(const index_encoder *encoder, stored_column column, size_t i) {
    const line_checkpoint *lines = encoder->checkpoints.items;
    const call_group *groups = encoder->groups.items;
    const call_node *nodes = encoder->tree.nodes.items;
    switch (column) {
        case LINE_OFFSET: return lines[i].offset;
        case LINE_AT: return lines[i].at;
        case LINE_FILE: return lines[i].file;
        case LINE_NUMBER: return lines[i].line;
        case CALLS_OFFSET: return groups[i].offset;
        case CALLS_NODE: return encoder->numbers[groups[i].node];
        case CALLS_AT: return groups[i].at;
        case NODE_PARENT: return encoder->numbers[nodes[i].parent];
        case NODE_START: return nodes[i].start;
        default: return nodes[i].fields;
    }
}

/* Rows of a column, without some nodes. */
static size_t row_count(const index_encoder *encoder, stored_column column) {
    switch (group_of(column)) {
        case CHECKPOINTS: return encoder->checkpoints.count;
        case BOUNDARIES: return encoder->groups.count;
        default: return encoder->node_count == 0 ? 0 : encoder->tree.nodes.count;
    }
}

static bool is_stored(const index_encoder *encoder, stored_column column, size_t i) {
    return group_of(column) != NODES || encoder->numbers[i + 1] != 0;
}

static unsigned width_code(const index_encoder *encoder, stored_column column) {
    uint32_t all = 0;
    for (size_t i = 0; i < row_count(encoder, column); ++i)
        if (is_stored(encoder, column, i)) all |= number_at(encoder, column, i);
    return all <= UINT8_MAX ? 0 : all <= UINT16_MAX ? 1 : 2;
}

static void put_columns(buffer *out, const index_encoder *encoder) {
    uint32_t widths = 0;
    for (stored_column column = 0; column < COLUMN_COUNT; ++column)
        widths |= width_code(encoder, column) << 2 * column;
    buffer_put_uleb(out, encoder->checkpoints.count);
    buffer_put_uleb(out, encoder->groups.count);
    buffer_put_uleb(out, encoder->node_count);
    buffer_put_uleb(out, widths);
    for (stored_column column = 0; column < COLUMN_COUNT; ++column) {
        unsigned width = 1u << (widths >> 2 * column & 3);
        for (size_t i = 0; i < row_count(encoder, column); ++i)
            if (is_stored(encoder, column, i))
                buffer_put_uint(out, number_at(encoder, column, i), width);
    }
}

/* Append the index of a record's line table and tree of calls, whose payloads may be empty.
 * False, and nothing is appended, if neither is large, one is damaged, or out of memory. */
static bool stored_index_encode(buffer *out, const cursor *lines, const cursor *calls,
                                unsigned strp_size) {
    index_encoder encoder = {0};
    bool is_worth = (cursor_left(lines) >= INDEX_LEAST_PAYLOAD ||
                     cursor_left(calls) >= INDEX_LEAST_PAYLOAD) &&
                    find_checkpoints(&encoder, lines, calls, strp_size);
    if (is_worth) {
        buffer_put_uleb(out, cursor_left(lines));
        buffer_put_uleb(out, cursor_left(calls));
        put_columns(out, &encoder);
    }
    free(encoder.checkpoints.items);
    free(encoder.tree.nodes.items);
    free(encoder.tree.ranges.items);
    free(encoder.spans.items);
    free(encoder.groups.items);
    free(encoder.numbers);
    call_boundaries_deinit(&encoder.boundaries);
    return is_worth;
}

/* ---- query
 * ---------------------------------------------------------------------------------- */

static bool stored_index_open(const cursor *at, stored_index *index_ret) {
    cursor c = *at;
    uint64_t widths, size = 0;
    index_ret->swap = c.swap;
    index_ret->line_table_size = cursor_uleb(&c);
    index_ret->inline_info_size = cursor_uleb(&c);
    for (column_group group = CHECKPOINTS; group <= NODES; ++group) {
        uint64_t count = cursor_uleb(&c);
        if (count > UINT32_MAX) return false;
        index_ret->counts[group] = (uint32_t)count;
    }
    widths = cursor_uleb(&c);
    if (c.failed || widths > MOST_WIDTHS) return false;
    index_ret->numbers = c.at;
    for (stored_column column = 0; column < COLUMN_COUNT; ++column) {
        unsigned shift = widths >> 2 * column & 3;
        index_ret->widths[column] = (uint8_t)(1u << shift);
        index_ret->columns[column] = size;
        size += (uint64_t)index_ret->counts[group_of(column)] << shift;
    }
    return size <= cursor_left(&c);
}

/* Number `i` of a column, which is long enough. */
static inline uint64_t number_in(const stored_index *index, stored_column column,
                                 size_t i) {
    const uint8_t *at =
        index->numbers + index->columns[column] + i * index->widths[column];
    switch (index->widths[column]) {
        case 1: return *at;
        case 2: return cursor_load16(at, index->swap);
        case 4: return cursor_load32(at, index->swap);
        default: return cursor_load64(at, index->swap);
    }
}

/* The last number of an ascending column that is not above `offset`. */
static bool search(const stored_index *index, stored_column column, uint64_t offset,
                   size_t *found_ret) {
    size_t low = 0, left = index->counts[group_of(column)];
    if (left == 0 || number_in(index, column, 0) > offset) return false;
    while (left > 1) {
        size_t half = left / 2;
        low += half & (0 - (size_t)(number_in(index, column, low + half) <= offset));
        left -= half;
    }
    *found_ret = low;
    return true;
}

bool stored_index_line(const stored_index *index, uint64_t offset,
                       line_checkpoint *checkpoint_ret) {
    size_t i;
    if (!search(index, LINE_OFFSET, offset, &i)) return false;
    *checkpoint_ret = (line_checkpoint){(uint32_t)number_in(index, LINE_OFFSET, i),
                                        (uint32_t)number_in(index, LINE_AT, i),
                                        (uint32_t)number_in(index, LINE_FILE, i),
                                        (uint32_t)number_in(index, LINE_NUMBER, i)};
    return checkpoint_ret->at <= index->line_table_size;
}

bool stored_index_calls(const stored_index *index, uint64_t offset,
                        calls_checkpoint *checkpoint_ret) {
    size_t i;
    if (!search(index, CALLS_OFFSET, offset, &i)) return false;
    *checkpoint_ret = (calls_checkpoint){(uint32_t)number_in(index, CALLS_NODE, i),
                                         (uint32_t)number_in(index, CALLS_AT, i)};
    return checkpoint_ret->node <= index->counts[NODES] &&
           checkpoint_ret->at <= index->inline_info_size;
}

bool stored_index_node(const stored_index *index, uint32_t number, call_node *node_ret) {
    size_t i = (size_t)number - 1;
    if (number == 0 || number > index->counts[NODES]) return false;
    *node_ret = (call_node){(uint32_t)number_in(index, NODE_PARENT, i),
                            (uint32_t)number_in(index, NODE_START, i),
                            (uint32_t)number_in(index, NODE_FIELDS, i)};
    return node_ret->parent < number;
}

/* The indexes of all functions.
 *
 *     num_addresses * u32   where the index of an entry is, from the start; 0: it has none
 *     indexes               as above
 *     zeros                 in version 1, so that the file has a multiple of 512 bytes
 *     u64 size              of all, this trailer included
 *     u64 checksum          XXH64 of the header, in version 2 with the directory
 *     u32 num_addresses
 *     u32 function_count    that have an index
 *     u32 version
 *     u32 magic
 *
 * The trailer comes last, because only the end of a version-1 file can be found that has
 * more than its records. */

enum {
    INDEX_VERSION = 1,
    TRAILER_SIZE = 32,
    CHECKSUM_FROM_END = 24,
    TABLE_ENTRY_SIZE = 4
};

/* ---- find ------------------------------------------------------------------------------- */

bool index_section_open(const uint8_t *data, uint64_t end, size_t head_size,
                        bool big_endian, index_section *section_ret) {
    cursor c = cursor_at(data, (size_t)end, end < TRAILER_SIZE ? end : end - TRAILER_SIZE,
                         big_endian);
    uint64_t size = cursor_u64(&c), checksum = cursor_u64(&c);
    uint32_t num_addresses = cursor_u32(&c), function_count = cursor_u32(&c);
    uint32_t version = cursor_u32(&c), magic = cursor_u32(&c);
    *section_ret = (index_section){0};
    if (c.failed || magic != GSYM_INDEX_MAGIC || version != INDEX_VERSION ||
        size < TRAILER_SIZE || size > end || head_size > end - size ||
        num_addresses > (size - TRAILER_SIZE) / TABLE_ENTRY_SIZE ||
        xxh64(data, head_size) != checksum)
        return false;
    *section_ret = (index_section){.bytes = data + (end - size),
                                   .size = (size_t)size,
                                   .num_addresses = num_addresses,
                                   .function_count = function_count,
                                   .swap = c.swap};
    return true;
}

bool index_section_find(const index_section *section, uint32_t entry,
                        stored_index *index_ret) {
    uint32_t offset;
    cursor c;
    if (entry >= section->num_addresses) return false;
    offset = cursor_load32(section->bytes + (size_t)entry * TABLE_ENTRY_SIZE, section->swap);
    if (offset == 0 || offset >= section->size - TRAILER_SIZE) return false;
    c = (cursor){.at = section->bytes + offset,
                 .end = section->bytes + section->size - TRAILER_SIZE,
                 .start = section->bytes,
                 .swap = section->swap};
    return stored_index_open(&c, index_ret);
}

/* ---- make ------------------------------------------------------------------------------- */

void index_section_begin(buffer *out, uint32_t num_addresses) {
    size_t size = (size_t)num_addresses * TABLE_ENTRY_SIZE;
    if (!buffer_reserve(out, size)) return;
    if (size > 0) memset(out->bytes, 0, size);
    out->size = size;
}

void index_section_add(buffer *out, uint32_t entry, const cursor *record,
                       unsigned strp_size) {
    size_t offset = out->size;
    cursor c = *record;
    record_payloads payloads;
    cursor_skip(&c, sizeof(uint32_t) + strp_size);
    if (offset <= UINT32_MAX && function_info_payloads(&c, &payloads) &&
        stored_index_encode(out, &payloads.of[GSYM_INFO_LINE_TABLE],
                            &payloads.of[GSYM_INFO_INLINE_INFO], strp_size))
        buffer_patch_u32(out, (size_t)entry * TABLE_ENTRY_SIZE, (uint32_t)offset);
}

void index_section_fill_up(buffer *out, uint64_t start) {
    uint64_t end = start + out->size + TRAILER_SIZE;
    for (; end % INDEX_FILE_MULTIPLE != 0 && !out->failed; ++end) buffer_put_u8(out, 0);
}

static uint32_t count_functions(const buffer *out, uint32_t num_addresses) {
    uint32_t count = 0;
    for (size_t i = 0; i < num_addresses && !out->failed; ++i)
        count += cursor_load32(out->bytes + i * TABLE_ENTRY_SIZE, false) != 0;
    return count;
}

void index_section_end(buffer *out, uint32_t num_addresses) {
    buffer_put_u64(out, out->size + TRAILER_SIZE);
    buffer_put_u64(out, 0);
    buffer_put_u32(out, num_addresses);
    buffer_put_u32(out, count_functions(out, num_addresses));
    buffer_put_u32(out, INDEX_VERSION);
    buffer_put_u32(out, GSYM_INDEX_MAGIC);
}

void index_section_identify(buffer *out, const uint8_t *head, size_t head_size) {
    uint64_t checksum = xxh64(head, head_size);
    if (out->failed) return;
    if (out->swap) checksum = __builtin_bswap64(checksum);
    memcpy(out->bytes + out->size - CHECKSUM_FROM_END, &checksum, sizeof checksum);
}
