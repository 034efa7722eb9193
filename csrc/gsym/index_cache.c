/* index_cache.c - make, publish and count indexes of functions in memory. */
#include "base/buffer.h"
#include "gsym/index.h"

/* A slot holds SLOT_NEW until its function is looked up, then a pointer to its index, or
 * SLOT_WITHOUT if it has none. */
enum { SLOT_NEW = 0, SLOT_WITHOUT = 1, SLOT_INDEX };

/* An index as a file would hold it. */
typedef struct made_index {
    size_t size;
    uint8_t bytes[];
} made_index;

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit) {
    /* Zeroed pages from calloc() take memory only when they are written. */
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
        free((made_index *)slot);
        --left;
    }
    free(cache->slots);
}

static made_index *make(const cursor *record, unsigned strp_size) {
    index_encoder encoder = {.node_count = 0};
    buffer bytes = {.swap = record->swap};
    made_index *made = NULL;
    if (function_index_encode(&encoder, &bytes, record, strp_size) && !bytes.failed)
        made = malloc(sizeof *made + bytes.size);
    if (made != NULL) {
        made->size = bytes.size;
        memcpy(made->bytes, bytes.bytes, bytes.size);
    }
    buffer_deinit(&bytes);
    index_encoder_deinit(&encoder);
    return made;
}

/* Store an index in its slot. Return the content of the slot, which is the index of another
 * thread if that was faster. */
static uintptr_t publish(index_cache *cache, size_t entry, made_index *made) {
    uintptr_t found = SLOT_NEW, slot = made == NULL ? SLOT_WITHOUT : (uintptr_t)made;
    if (!atomic_compare_exchange_strong_explicit(&cache->slots[entry], &found, slot,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire)) {
        free(made);
        return found;
    }
    if (made != NULL) {
        atomic_fetch_add_explicit(&cache->made, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&cache->used, sizeof *made + made->size,
                                  memory_order_relaxed);
    }
    return slot;
}

bool index_cache_find(index_cache *cache, size_t entry, const cursor *record,
                      unsigned strp_size, function_index *index_ret) {
    uintptr_t slot = atomic_load_explicit(&cache->slots[entry], memory_order_acquire);
    const made_index *made;
    cursor c;
    if (slot == SLOT_NEW &&
        atomic_load_explicit(&cache->used, memory_order_relaxed) <
            atomic_load_explicit(&cache->limit, memory_order_relaxed))
        slot = publish(cache, entry, make(record, strp_size));
    if (slot < SLOT_INDEX) return false;
    made = (const made_index *)slot;
    c = (cursor){.at = made->bytes,
                 .end = made->bytes + made->size,
                 .start = made->bytes,
                 .swap = record->swap};
    return function_index_open(&c, index_ret);
}
