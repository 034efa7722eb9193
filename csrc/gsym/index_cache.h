/* index_cache.h - the indexes of an image's large records, made as lookups come. */
#ifndef GSYM_GSYM_INDEX_CACHE_H
#define GSYM_GSYM_INDEX_CACHE_H

#include <stdatomic.h>

#include "gsym/function_index.h"

typedef struct index_cache {
    /* One for each entry of the address table: what is known of its record, or its index.
     * An index is published whole and stays until the image is closed. */
    _Atomic(uintptr_t) *slots;
    size_t count;
    _Atomic size_t made; /* slots that hold an index */
    _Atomic uint64_t used; /* bytes of all indexes */
    _Atomic uint64_t limit; /* no index is begun where they take as much */
} index_cache;

enum { INDEX_CACHE_FIRST = 3 }; /* slots below hold no index */

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit);
void index_cache_deinit(index_cache *cache);

/* The index of entry `entry`, if there is one by now. */
static inline const function_index *index_cache_find(const index_cache *cache,
                                                     size_t entry) {
    uintptr_t found = atomic_load_explicit(&cache->slots[entry], memory_order_acquire);
    return found >= INDEX_CACHE_FIRST ? (const function_index *)found : NULL;
}

/* The index of entry `entry`, whose record is at the cursor; NULL: decode it. Most records
 * that are asked for once are never asked for again, so the second time makes it; with
 * `is_frequent` the first. Safe from many threads. */
const function_index *index_cache_get(index_cache *cache, size_t entry,
                                      const cursor *record, unsigned strp_size,
                                      bool is_frequent);

#endif
