/* function_index.c - index one record. */
#include "function_index.h"

#include "call_boundaries.h"

enum { CHECKPOINT_SPACING = 64 }; /* bytes of opcodes */

/* What an index is put together from. */
typedef struct index_builder {
    function_index index;
    checkpoint_list checkpoints;
    call_tree tree;
    call_boundaries boundaries;
} index_builder;

/* ---- the record --------------------------------------------------------------------- */

/* Known InfoTypes stand once each and ascend, as every encoder writes them. */
static bool read_parts(function_index *index, const cursor *record, unsigned strp_size) {
    cursor c = *record;
    uint32_t last = GSYM_INFO_END_OF_LIST;
    record_info info;
    gsym_error ignored;
    if (function_info_decode_head(&c, strp_size, &index->size, &index->name, &ignored) !=
        GSYM_OK)
        return false;
    for (;;) {
        if (function_info_next(&c, &info, &ignored) != GSYM_OK) return false;
        if (info.type == GSYM_INFO_END_OF_LIST) return true;
        if (info.type > GSYM_INFO_CALL_SITES) continue;
        if (info.type <= last) return false;
        last = info.type;
        if ((uint64_t)(info.payload.end - record->at) > UINT32_MAX) return false;
        index->parts[info.type] =
            (index_part){(uint32_t)(info.payload.at - record->at),
                         (uint32_t)(info.payload.end - info.payload.at)};
    }
}

/* ---- creating ------------------------------------------------------------------------- */

static bool build(index_builder *builder, const cursor *record, unsigned strp_size,
                  uint32_t least) {
    function_index *index = &builder->index;
    const index_part *lines = &index->parts[GSYM_INFO_LINE_TABLE];
    const index_part *calls = &index->parts[GSYM_INFO_INLINE_INFO];
    cursor payload;
    if (!read_parts(index, record, strp_size)) return false;
    if (lines->size < least && calls->size < least) return false;
    payload = function_index_payload(index, record, GSYM_INFO_LINE_TABLE);
    if (lines->size > 0 &&
        !line_table_checkpoints(&payload, CHECKPOINT_SPACING, &builder->checkpoints))
        return false;
    payload = function_index_payload(index, record, GSYM_INFO_INLINE_INFO);
    return calls->size == 0 ||
           (inline_info_list(&payload, strp_size, &builder->tree, NULL) &&
            call_boundaries_list(&builder->tree, &builder->boundaries));
}

static void *put_array(uint8_t **at, const void *items, size_t count, size_t item_size) {
    void *copy = *at;
    if (count > 0) memcpy(copy, items, count * item_size);
    *at += count * item_size;
    return copy;
}

static function_index *pack(const index_builder *builder) {
    size_t checkpoints = builder->checkpoints.count, nodes = builder->tree.nodes.count;
    size_t boundaries = builder->boundaries.count;
    size_t size = sizeof(function_index) + checkpoints * sizeof(line_checkpoint) +
                  nodes * sizeof(call_node) + boundaries * 2 * sizeof(uint32_t);
    function_index *index = malloc(size);
    uint8_t *at = (uint8_t *)(index + 1);
    if (index == NULL) return NULL;
    *index = builder->index;
    index->bytes = size;
    index->checkpoint_count = (uint32_t)checkpoints;
    index->boundary_count = builder->boundaries.count;
    index->checkpoints =
        put_array(&at, builder->checkpoints.items, checkpoints, sizeof(line_checkpoint));
    index->nodes = put_array(&at, builder->tree.nodes.items, nodes, sizeof(call_node));
    index->boundaries =
        put_array(&at, builder->boundaries.offsets, boundaries, sizeof(uint32_t));
    index->innermost =
        put_array(&at, builder->boundaries.innermost, boundaries, sizeof(uint32_t));
    return index;
}

function_index *function_index_create(const cursor *record, unsigned strp_size,
                                      uint32_t least) {
    index_builder builder = {0};
    function_index *index = NULL;
    if (build(&builder, record, strp_size, least)) index = pack(&builder);
    free(builder.checkpoints.items);
    free(builder.tree.nodes.items);
    free(builder.tree.ranges.items);
    call_boundaries_deinit(&builder.boundaries);
    return index;
}

/* ---- asking --------------------------------------------------------------------------- */

const line_checkpoint *function_index_checkpoint(const function_index *index,
                                                 uint64_t offset) {
    const line_checkpoint *low = index->checkpoints;
    size_t left = index->checkpoint_count;
    if (left == 0 || low->offset > offset) return NULL;
    while (left > 1) {
        size_t half = left / 2;
        low += half & (0 - (size_t)(low[half].offset <= offset));
        left -= half;
    }
    return low;
}

const call_node *function_index_innermost(const function_index *index, uint64_t offset) {
    const uint32_t *low = index->boundaries;
    size_t left = index->boundary_count;
    uint32_t number;
    if (left == 0 || *low > offset) return NULL;
    while (left > 1) {
        size_t half = left / 2;
        low += half & (0 - (size_t)(low[half] <= offset));
        left -= half;
    }
    number = index->innermost[low - index->boundaries];
    return number == 0 ? NULL : &index->nodes[number - 1];
}
