/* function_index.c - encode and query the index of one function.
 *
 *     u8 widths             2 bits for each kind of number, the first one lowest: 1, 2 or
 *                           4 bytes
 *     uleb line_table_size, uleb inline_info_size
 *     uleb call_checkpoint_count, uleb node_count
 *     checkpoints       for each 64 bytes of the line table, the first row whose opcodes
 *                       end there or up to 63 bytes later: its offset in the function, u8
 *                       how many bytes later, file, line
 *     call checkpoints  offset, node that contains the calls, location of the first call in
 *                       it
 *     nodes             parent, offset of its first range, location of its name */
#include "gsym/index.h"

enum { WIDTH_BITS = 2 };

static bool out_of_memory(index_encoder *encoder) {
    encoder->failed = true;
    return false;
}

/* ---- encode: the call checkpoints, each of which is made of a group of boundaries --- */

static uint32_t parent_of(const index_encoder *encoder, uint32_t node) {
    return encoder->source.tree.nodes.items[node - 1].parent;
}

static uint32_t location_of(const index_encoder *encoder, uint32_t node) {
    return encoder->source.tree.locations.items[node - 1];
}

/* Let the walk of a group begin one call further out. */
static void move_outwards(const index_encoder *encoder, call_group *group) {
    group->at = location_of(encoder, group->node);
    if (group->at > group->last) group->last = group->at;
    group->node = parent_of(encoder, group->node);
}

/* Extend a group by a boundary whose innermost call is `node`. False if this takes too much
 * work. */
static bool join(index_encoder *encoder, call_group *group, uint32_t node) {
    uint32_t below = 0, innermost = node;
    while (group->node != node) {
        if (encoder->steps-- == 0) return false;
        if (node > group->node) {
            below = node;
            node = parent_of(encoder, node);
        } else {
            move_outwards(encoder, group);
        }
    }
    if (below == 0) return true;
    if (group->at == 0 || location_of(encoder, below) < group->at)
        group->at = location_of(encoder, below);
    if (location_of(encoder, innermost) > group->last)
        group->last = location_of(encoder, innermost);
    return true;
}

static bool is_short(const call_group *group) {
    return group->last - group->at < INDEX_CALLS_SPACING;
}

/* Append a group. Its walk is moved outwards as long as it stays short, so that fewer nodes
 * have to be stored. */
static bool put_group(index_encoder *encoder, call_group group) {
    size_t count = encoder->groups.count;
    const call_group *last = count == 0 ? NULL : &encoder->groups.items[count - 1];
    call_group wider = group;
    while (group.node != 0) {
        move_outwards(encoder, &wider);
        if (!is_short(&wider)) break;
        group = wider;
    }
    if (last != NULL && last->node == group.node && last->at == group.at) return true;
    return LIST_ADD(encoder->groups, group) || out_of_memory(encoder);
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
            if (!put_group(encoder, group)) return false;
        }
        group = (call_group){boundaries->items[i].offset, node, 0, 0};
    }
    return boundaries->count == 0 || put_group(encoder, group);
}

/* Number the nodes below which walks begin, and their ancestors. */
static bool number_nodes(index_encoder *encoder) {
    size_t count = encoder->source.tree.nodes.count;
    uint32_t *numbers;
    if (!LIST_RESERVE(encoder->numbers, count + 1)) return out_of_memory(encoder);
    numbers = encoder->numbers.items;
    memset(numbers, 0, (count + 1) * sizeof *numbers);
    for (size_t i = 0; i < encoder->groups.count; ++i)
        for (uint32_t node = encoder->groups.items[i].node; node != 0 && numbers[node] == 0;
             node = parent_of(encoder, node))
            numbers[node] = 1;
    for (size_t node = 1; node <= count; ++node)
        if (numbers[node] != 0) numbers[node] = ++encoder->node_count;
    return true;
}

static bool find_groups(index_encoder *encoder) {
    const call_tree *tree = &encoder->source.tree;
    encoder->groups.count = 0;
    encoder->node_count = 0;
    if (encoder->source.calls_size <= INDEX_CALLS_SPACING) return true;
    if (!call_boundaries_list(tree, &encoder->boundaries))
        return encoder->boundaries.failed && out_of_memory(encoder);
    encoder->steps = INDEX_STEPS_PER_RANGE * (uint64_t)tree->ranges.count;
    return group_boundaries(encoder) && number_nodes(encoder);
}

/* ---- encode: the numbers ------------------------------------------------------------- */

/* A pass over all numbers: the first one collects the bits that are set in each kind, which
 * give its width; the second one appends the numbers. */
typedef struct number_sink {
    uint32_t bits[INDEX_NUMBERS];
    unsigned widths[INDEX_NUMBERS];
    buffer *out; /* NULL: the first pass */
} number_sink;

static inline __attribute__((always_inline)) void
put_number(number_sink *sink, index_number kind, uint32_t number) {
    if (sink->out == NULL) sink->bits[kind] |= number;
    else if (sink->widths[kind] == 1) buffer_put_u8(sink->out, (uint8_t)number);
    else if (sink->widths[kind] == 2) buffer_put_u16(sink->out, (uint16_t)number);
    else buffer_put_u32(sink->out, number);
}

static void put_tables(number_sink *sink, const index_encoder *encoder) {
    for (size_t i = 0; i < encoder->source.checkpoints.count; ++i) {
        const line_checkpoint *checkpoint = &encoder->source.checkpoints.items[i];
        put_number(sink, INDEX_OFFSET, checkpoint->offset);
        if (sink->out != NULL)
            buffer_put_u8(sink->out, (uint8_t)(checkpoint->at % INDEX_LINE_SPACING));
        put_number(sink, INDEX_LINE, checkpoint->file);
        put_number(sink, INDEX_LINE, checkpoint->line);
    }
    for (size_t i = 0; i < encoder->groups.count; ++i) {
        const call_group *group = &encoder->groups.items[i];
        put_number(sink, INDEX_OFFSET, group->offset);
        put_number(sink, INDEX_NODE, encoder->numbers.items[group->node]);
        put_number(sink, INDEX_LOCATION, group->at);
    }
    for (size_t i = 0; encoder->node_count > 0 && i < encoder->source.tree.nodes.count;
         ++i) {
        const call_node *node = &encoder->source.tree.nodes.items[i];
        if (encoder->numbers.items[i + 1] == 0) continue;
        put_number(sink, INDEX_NODE, encoder->numbers.items[node->parent]);
        put_number(sink, INDEX_OFFSET, node->start);
        put_number(sink, INDEX_LOCATION, node->fields);
    }
}

static void put_index(buffer *out, const index_encoder *encoder) {
    number_sink sink = {.out = NULL};
    unsigned widths = 0;
    put_tables(&sink, encoder);
    for (unsigned kind = 0; kind < INDEX_NUMBERS; ++kind) {
        unsigned code = 2;
        if (sink.bits[kind] <= UINT8_MAX)
            code = 0;
        else if (sink.bits[kind] <= UINT16_MAX)
            code = 1;
        sink.widths[kind] = 1u << code;
        widths |= code << WIDTH_BITS * kind;
    }
    buffer_put_u8(out, (uint8_t)widths);
    buffer_put_uleb(out, encoder->source.lines_size);
    buffer_put_uleb(out, encoder->source.calls_size);
    buffer_put_uleb(out, encoder->groups.count);
    buffer_put_uleb(out, encoder->node_count);
    sink.out = out;
    put_tables(&sink, encoder);
}

void index_encoder_deinit(index_encoder *encoder) {
    index_source_deinit(&encoder->source);
    free(encoder->groups.items);
    free(encoder->numbers.items);
    call_boundaries_deinit(&encoder->boundaries);
}

bool function_index_put(index_encoder *encoder, buffer *out) {
    const index_source *source = &encoder->source;
    if (!function_index_is_worth(source->lines_size, source->calls_size) || source->is_far)
        return false;
    if (find_groups(encoder)) {
        put_index(out, encoder);
        return true;
    }
    if (encoder->failed) out->failed = true;
    return false;
}

static bool list_record(index_encoder *encoder, const cursor *lines, const cursor *calls,
                        unsigned strp_size) {
    index_source *source = &encoder->source;
    index_source_clear(source);
    source->lines_size = cursor_left(lines);
    source->calls_size = cursor_left(calls);
    if (!function_index_is_worth(source->lines_size, source->calls_size)) return false;
    if (!LIST_RESERVE(source->checkpoints, source->lines_size / INDEX_LINE_SPACING))
        return out_of_memory(encoder);
    if (source->lines_size > 0 && !line_table_checkpoints(lines, &source->checkpoints))
        return false;
    return source->calls_size <= INDEX_CALLS_SPACING ||
           inline_info_list(calls, strp_size, &source->tree) ||
           (source->tree.failed && out_of_memory(encoder));
}

bool function_index_encode(index_encoder *encoder, buffer *out, const cursor *record,
                           unsigned strp_size) {
    cursor c = *record;
    record_payloads payloads;
    if (cursor_left(record) < INDEX_MIN_PAYLOAD) return false;
    cursor_skip(&c, sizeof(uint32_t) + strp_size);
    if (function_info_payloads(&c, &payloads) &&
        list_record(encoder, &payloads.by_type[GSYM_INFO_LINE_TABLE],
                    &payloads.by_type[GSYM_INFO_INLINE_INFO], strp_size))
        return function_index_put(encoder, out);
    if (encoder->failed) out->failed = true;
    return false;
}

/* ---- query --------------------------------------------------------------------------- */

static inline uint32_t width_of(unsigned widths, index_number kind) {
    return 1u << (widths >> WIDTH_BITS * kind & 3);
}

static inline uint32_t checkpoint_size(unsigned widths) {
    return width_of(widths, INDEX_OFFSET) + 1 + 2 * width_of(widths, INDEX_LINE);
}

/* Return the size of a call checkpoint, which is also that of a node. */
static inline uint32_t call_size(unsigned widths) {
    return width_of(widths, INDEX_OFFSET) + width_of(widths, INDEX_NODE) +
           width_of(widths, INDEX_LOCATION);
}

bool function_index_open(const cursor *at, function_index *index_ret) {
    cursor c = *at;
    unsigned widths = cursor_u8(&c);
    uint64_t line_table_size = cursor_uleb_2(&c);
    uint64_t inline_info_size = cursor_uleb_2(&c);
    uint64_t call_checkpoint_count = cursor_uleb_2(&c), node_count = cursor_uleb_2(&c);
    uint64_t checkpoint_count =
        (line_table_size - (line_table_size > 0)) / INDEX_LINE_SPACING;
    uint64_t checkpoints, call_checkpoints;
    if (c.failed || (line_table_size | call_checkpoint_count | node_count) > UINT32_MAX)
        return false;
    checkpoints = checkpoint_count * checkpoint_size(widths);
    call_checkpoints = call_checkpoint_count * call_size(widths);
    if (checkpoints + call_checkpoints + node_count * call_size(widths) > cursor_left(&c))
        return false;
    *index_ret = (function_index){.line_table_size = line_table_size,
                                  .inline_info_size = inline_info_size,
                                  .checkpoints = c.at,
                                  .call_checkpoints = c.at + checkpoints,
                                  .nodes = c.at + checkpoints + call_checkpoints,
                                  .checkpoint_count = (uint32_t)checkpoint_count,
                                  .call_checkpoint_count = (uint32_t)call_checkpoint_count,
                                  .node_count = (uint32_t)node_count,
                                  .widths = widths,
                                  .swap = c.swap};
    return true;
}

/* The widths of nearly all indexes. Code for these is compiled with constant widths. */
enum { COMMON_WIDTHS = 1 | 1 << WIDTH_BITS | 0 << 2 * WIDTH_BITS | 1 << 3 * WIDTH_BITS };

#define AS_CONSTANTS(function, index, ...)                       \
    ((index)->widths == COMMON_WIDTHS && !(index)->swap          \
         ? function(index, COMMON_WIDTHS, false, __VA_ARGS__)    \
         : function(index, (index)->widths, (index)->swap, __VA_ARGS__))

static inline __attribute__((always_inline)) uint32_t
load(const uint8_t *at, unsigned width, bool swap) {
    switch (width) {
        case 1: return *at;
        case 2: return cursor_load16(at, swap);
        default: return cursor_load32(at, swap);
    }
}

/* Return the number of rows whose first number is at most `offset`; these numbers ascend.
 * Like the search of the address table, this has no branch on the numbers. */
static inline __attribute__((always_inline)) uint32_t
count_up_to(const uint8_t *rows, size_t left, size_t row_size, uint64_t offset,
            unsigned width, bool swap) {
    size_t low = 0;
    if (left == 0 || load(rows, width, swap) > offset) return 0;
    while (left > 1) {
        size_t half = left / 2, middle = low + half;
        low = load(rows + middle * row_size, width, swap) <= offset ? middle : low;
        left -= half;
    }
    return (uint32_t)low + 1;
}

static inline __attribute__((always_inline)) bool
find_line(const function_index *index, unsigned widths, bool swap, uint64_t offset,
          line_checkpoint *checkpoint_ret) {
    uint32_t offset_size = width_of(widths, INDEX_OFFSET);
    uint32_t line_size = width_of(widths, INDEX_LINE);
    uint32_t known = count_up_to(index->checkpoints, index->checkpoint_count,
                                 checkpoint_size(widths), offset, offset_size, swap);
    const uint8_t *at;
    if (known == 0) return false;
    at = index->checkpoints + (size_t)(known - 1) * checkpoint_size(widths);
    checkpoint_ret->offset = load(at, offset_size, swap);
    at += offset_size;
    checkpoint_ret->at = known * INDEX_LINE_SPACING + *at++;
    checkpoint_ret->file = load(at, line_size, swap);
    checkpoint_ret->line = load(at + line_size, line_size, swap);
    return checkpoint_ret->at <= index->line_table_size;
}

bool function_index_line(const function_index *index, const cursor *payload,
                         uint64_t offset, line_checkpoint *checkpoint_ret) {
    return index != NULL && index->line_table_size == cursor_left(payload) &&
           AS_CONSTANTS(find_line, index, offset, checkpoint_ret);
}

static inline __attribute__((always_inline)) bool
find_calls(const function_index *index, unsigned widths, bool swap, uint64_t offset,
           calls_checkpoint *checkpoint_ret) {
    uint32_t offset_size = width_of(widths, INDEX_OFFSET);
    uint32_t node_size = width_of(widths, INDEX_NODE);
    uint32_t known = count_up_to(index->call_checkpoints, index->call_checkpoint_count,
                                 call_size(widths), offset, offset_size, swap);
    const uint8_t *at;
    if (known == 0) return false;
    at = index->call_checkpoints + (size_t)(known - 1) * call_size(widths) + offset_size;
    checkpoint_ret->node = load(at, node_size, swap);
    checkpoint_ret->at = load(at + node_size, width_of(widths, INDEX_LOCATION), swap);
    checkpoint_ret->end = UINT32_MAX;
    if (known < index->call_checkpoint_count)
        checkpoint_ret->end = load(at + call_size(widths) - offset_size, offset_size, swap);
    return checkpoint_ret->node <= index->node_count &&
           checkpoint_ret->at <= index->inline_info_size;
}

function_calls function_index_calls(const function_index *index, const cursor *payload,
                                    uint64_t offset) {
    function_calls calls = {.payload = *payload};
    if (index != NULL && index->inline_info_size == cursor_left(payload) &&
        AS_CONSTANTS(find_calls, index, offset, &calls.from))
        calls.index = index;
    return calls;
}

static inline __attribute__((always_inline)) bool
find_node(const function_index *index, unsigned widths, bool swap, uint32_t number,
          call_node *node_ret) {
    const uint8_t *at = index->nodes + (size_t)(number - 1) * call_size(widths);
    node_ret->parent = load(at, width_of(widths, INDEX_NODE), swap);
    at += width_of(widths, INDEX_NODE);
    node_ret->start = load(at, width_of(widths, INDEX_OFFSET), swap);
    at += width_of(widths, INDEX_OFFSET);
    node_ret->fields = load(at, width_of(widths, INDEX_LOCATION), swap);
    return node_ret->parent < number;
}

bool function_index_node(const function_index *index, uint32_t number,
                         call_node *node_ret) {
    return number != 0 && number <= index->node_count &&
           AS_CONSTANTS(find_node, index, number, node_ret);
}
