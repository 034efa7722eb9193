/* function_index.c - index one record. */
#include "base/buffer.h"
#include "gsym/index.h"

enum {
    /* Average of a slice, which should fit in one or two cache lines. */
    CHECKPOINTS_PER_SLICE = 4,
    BOUNDARIES_PER_SLICE = 8
};

/* The parts of an index. */
typedef struct index_builder {
    function_index index;
    checkpoint_list checkpoints;
    call_tree tree;
    call_boundaries boundaries;
    LIST(index_call) calls;
} index_builder;

/* ---- the record --------------------------------------------------------------------- */

static bool read_parts(function_index *index, const cursor *record, unsigned strp_size) {
    cursor c = *record;
    record_payloads found;
    gsym_error ignored;
    if (function_info_decode_head(&c, strp_size, &index->size, &index->name, &ignored) !=
            GSYM_OK ||
        !function_info_payloads(&c, &found))
        return false;
    for (uint32_t type = 0; type <= GSYM_INFO_CALL_SITES; ++type) {
        const cursor *payload = &found.of[type];
        if ((uint64_t)(payload->end - record->at) > UINT32_MAX) return false;
        index->parts[type] = (index_part){(uint32_t)(payload->at - record->at),
                                          (uint32_t)cursor_left(payload)};
    }
    return true;
}

static bool read_calls(index_builder *builder, const cursor *payload, unsigned strp_size) {
    size_t count = builder->tree.nodes.count;
    if (!ARRAY_RESERVE(builder->calls, count)) return false;
    for (size_t i = 0; i < count; ++i) {
        const call_node *node = &builder->tree.nodes.items[i];
        inline_match match = inline_info_node(payload, strp_size, 0, node);
        builder->calls.items[i] = (index_call){match.name, node->parent, node->start,
                                               match.call_file, match.call_line};
    }
    builder->calls.count = count;
    return true;
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
        !line_table_checkpoints(&payload, INDEX_LINE_SPACING, &builder->checkpoints))
        return false;
    payload = function_index_payload(index, record, GSYM_INFO_INLINE_INFO);
    return calls->size == 0 ||
           (inline_info_list(&payload, strp_size, &builder->tree, NULL) &&
            call_boundaries_list(&builder->tree, &builder->boundaries) &&
            read_calls(builder, &payload, strp_size));
}

static void *put_array(uint8_t **at, const void *items, size_t count, size_t item_size) {
    void *copy = *at;
    if (count > 0) memcpy(copy, items, count * item_size);
    *at += count * item_size;
    return copy;
}

/* The last address with data; it may need all 32 bits, and a shift of that size. */
static uint64_t last_offset(const index_builder *builder) {
    const checkpoint_list *checkpoints = &builder->checkpoints;
    const call_boundaries *boundaries = &builder->boundaries;
    uint32_t line =
        checkpoints->count == 0 ? 0 : checkpoints->items[checkpoints->count - 1].offset;
    uint32_t call =
        boundaries->count == 0 ? 0 : boundaries->items[boundaries->count - 1].offset;
    return line > call ? line : call;
}

static void choose_slices(index_builder *builder) {
    function_index *index = &builder->index;
    size_t most = builder->checkpoints.count / CHECKPOINTS_PER_SLICE +
                  builder->boundaries.count / BOUNDARIES_PER_SLICE;
    uint64_t last = last_offset(builder);
    while (last >> index->slice_bits > most) ++index->slice_bits;
    index->last_slice = (uint32_t)(last >> index->slice_bits);
}

static void fill_slices(const function_index *index, index_slice *slices) {
    index_slice before = {0, 0};
    for (uint32_t i = 0; i <= index->last_slice; ++i) {
        uint64_t start = (uint64_t)i << index->slice_bits;
        while (before.checkpoints < index->checkpoint_count &&
               index->checkpoints[before.checkpoints].offset < start)
            ++before.checkpoints;
        while (before.boundaries < index->boundary_count &&
               index->boundaries[before.boundaries].offset < start)
            ++before.boundaries;
        slices[i] = before;
    }
    slices[index->last_slice + 1] =
        (index_slice){index->checkpoint_count, index->boundary_count};
}

static function_index *pack(index_builder *builder) {
    size_t checkpoints = builder->checkpoints.count, calls = builder->calls.count;
    size_t boundaries = builder->boundaries.count, slices, size;
    function_index *index;
    index_slice *slice;
    uint8_t *at;
    choose_slices(builder);
    slices = (size_t)builder->index.last_slice + 2;
    size = sizeof(function_index) + checkpoints * sizeof(line_checkpoint) +
           calls * sizeof(index_call) + boundaries * sizeof(call_boundary) +
           slices * sizeof(index_slice);
    index = malloc(size);
    if (index == NULL) return NULL;
    *index = builder->index;
    index->bytes = size;
    index->checkpoint_count = (uint32_t)checkpoints;
    index->boundary_count = builder->boundaries.count;
    slice = (index_slice *)(index + 1);
    index->slices = slice;
    at = (uint8_t *)(slice + slices);
    index->checkpoints =
        put_array(&at, builder->checkpoints.items, checkpoints, sizeof(line_checkpoint));
    index->calls = put_array(&at, builder->calls.items, calls, sizeof(index_call));
    index->boundaries =
        put_array(&at, builder->boundaries.items, boundaries, sizeof(call_boundary));
    fill_slices(index, slice);
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
    free(builder.calls.items);
    call_boundaries_deinit(&builder.boundaries);
    return index;
}

/* ---- lookup ---------------------------------------------------------------------------
 * */

static inline const index_slice *slice_at(const function_index *index, uint64_t offset) {
    uint64_t slice = offset >> index->slice_bits;
    return &index->slices[slice < index->last_slice ? slice : index->last_slice];
}

const line_checkpoint *function_index_checkpoint(const function_index *index,
                                                 uint64_t offset) {
    const index_slice *slice = slice_at(index, offset);
    uint32_t known = slice[0].checkpoints, left = slice[1].checkpoints - known;
    while (left > 0) {
        uint32_t half = left / 2;
        bool is_known = index->checkpoints[known + half].offset <= offset;
        known += is_known ? half + 1 : 0;
        left = is_known ? left - half - 1 : half;
    }
    return known == 0 ? NULL : &index->checkpoints[known - 1];
}

const index_call *function_index_innermost(const function_index *index, uint64_t offset) {
    const index_slice *slice = slice_at(index, offset);
    uint32_t known = slice[0].boundaries, left = slice[1].boundaries - known, number;
    while (left > 0) {
        uint32_t half = left / 2;
        bool is_known = index->boundaries[known + half].offset <= offset;
        known += is_known ? half + 1 : 0;
        left = is_known ? left - half - 1 : half;
    }
    number = known == 0 ? 0 : index->boundaries[known - 1].innermost;
    return number == 0 ? NULL : &index->calls[number - 1];
}

/* Make, publish and count indexes. */

/* The contents of a slot before its index is made. */
enum { SLOT_NEW = 0, SLOT_TOUCHED = 1, SLOT_WITHOUT = 2, SLOT_INDEX = INDEX_CACHE_FIRST };

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit) {
    /* Zero pages, which take memory only when used. */
    cache->slots = calloc(count == 0 ? 1 : count, sizeof *cache->slots);
    cache->count = count;
    atomic_init(&cache->made, 0);
    atomic_init(&cache->used, 0);
    atomic_init(&cache->limit, limit);
    return cache->slots != NULL;
}

void index_cache_deinit(index_cache *cache) {
    size_t left = atomic_load_explicit(&cache->made, memory_order_relaxed);
    for (size_t i = 0; left > 0; ++i) {
        uintptr_t slot = atomic_load_explicit(&cache->slots[i], memory_order_relaxed);
        if (slot < SLOT_INDEX) continue;
        free((function_index *)slot);
        --left;
    }
    free(cache->slots);
}

static const function_index *make(index_cache *cache, size_t entry, uintptr_t found,
                                  const cursor *record, unsigned strp_size) {
    function_index *index = function_index_create(record, strp_size, INDEX_LEAST_PAYLOAD);
    uintptr_t made = index == NULL ? SLOT_WITHOUT : (uintptr_t)index;
    while (!atomic_compare_exchange_strong_explicit(&cache->slots[entry], &found, made,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire)) {
        if (found < SLOT_WITHOUT) continue;
        free(index); /* another thread was faster */
        return found >= SLOT_INDEX ? (const function_index *)found : NULL;
    }
    if (index == NULL) return NULL;
    atomic_fetch_add_explicit(&cache->made, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cache->used, index->bytes, memory_order_relaxed);
    return index;
}

const function_index *index_cache_get(index_cache *cache, size_t entry,
                                      const cursor *record, unsigned strp_size,
                                      bool is_frequent) {
    uintptr_t slot = atomic_load_explicit(&cache->slots[entry], memory_order_acquire);
    if (GSYM_LIKELY(slot >= SLOT_INDEX)) return (const function_index *)slot;
    if (slot == SLOT_WITHOUT || atomic_load_explicit(&cache->used, memory_order_relaxed) >=
                                    atomic_load_explicit(&cache->limit,
                                                         memory_order_relaxed))
        return NULL;
    if (slot == SLOT_TOUCHED || is_frequent)
        return make(cache, entry, slot, record, strp_size);
    (void)atomic_compare_exchange_strong_explicit(&cache->slots[entry], &slot, SLOT_TOUCHED,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed);
    return NULL;
}
