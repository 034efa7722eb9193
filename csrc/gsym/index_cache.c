/* index_cache.c - make, publish and count indexes. */
#include "gsym/index_cache.h"

#include "gsym/index_measures.h"

/* What a slot holds before it holds an index. */
enum { SLOT_NEW = 0, SLOT_TOUCHED = 1, SLOT_WITHOUT = 2, SLOT_INDEX = INDEX_CACHE_FIRST };

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit) {
    /* Zeros, of which the system makes memory where a lookup comes by. */
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
