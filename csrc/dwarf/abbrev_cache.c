/* abbrev_cache.c - keep compiled abbreviation tables by their offset, and limit the total
 * size of tables that overlap. */
#include "dwarf/abbrev_ops.h"
#include "dwarf/unit.h"

/* Return the code of the abbreviation of a unit's root DIE. */
static uint64_t root_code(const dwarf_input *input, const dwarf_unit_header *header) {
    cursor c = dwarf_section(input,
                             header->is_in_types ? GSYM_DEBUG_TYPES : GSYM_DEBUG_INFO,
                             header->offset + header->header_size);
    return cursor_uleb(&c);
}

static bool is_table_of(const abbrev_table *table, const dwarf_input *input,
                        const dwarf_unit_header *header) {
    return table->input == input && table->offset == header->abbrev_offset &&
           table->address_size == header->address_size &&
           table->offset_size == header->offset_size &&
           table->is_version_2 == (header->version == 2) &&
           (!table->is_root || table->root == root_code(input, header));
}

/* Return the slot of a unit's table, or the empty one where it belongs. */
static abbrev_table **find_slot(const abbrev_cache *cache, const dwarf_input *input,
                                uint64_t offset, const dwarf_unit_header *header) {
    size_t mask = cache->capacity - 1;
    uint64_t key = dwarf_key(input, offset);
    size_t slot = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (cache->slots[slot] != NULL &&
           (header == NULL || !is_table_of(cache->slots[slot], input, header)))
        slot = (slot + 1) & mask;
    return &cache->slots[slot];
}

static bool rehash(abbrev_cache *cache, size_t capacity) {
    abbrev_cache fresh = {.capacity = capacity};
    fresh.slots = calloc(capacity, sizeof(abbrev_table *));
    if (fresh.slots == NULL) return false;
    for (size_t i = 0; i < cache->capacity; ++i)
        if (cache->slots[i] != NULL)
            *find_slot(&fresh, cache->slots[i]->input, cache->slots[i]->offset, NULL) =
                cache->slots[i];
    free(cache->slots);
    cache->slots = fresh.slots;
    cache->capacity = capacity;
    return true;
}

static void table_destroy(abbrev_table *table) {
    if (table == NULL) return;
    free(table->items);
    free(table->ops);
    free(table);
}

/* Forget the tables that are not shared; their memory is kept for tables that are read
 * next. False where memory ran out. */
static bool forget(abbrev_cache *cache) {
    for (size_t i = 0; i < cache->capacity; ++i) {
        if (cache->slots[i] == NULL || cache->slots[i]->is_shared) continue;
        cache->slots[i]->next_spare = cache->spare;
        cache->spare = cache->slots[i];
        cache->slots[i] = NULL;
    }
    cache->count = cache->shared_count;
    return rehash(cache, cache->capacity);
}

/* Whether the limit of tables that are not shared is reached. It grows with the number of
 * shared tables, which forget() has to move. */
static bool is_full(const abbrev_cache *cache) {
    return cache->limit != 0 &&
           cache->count - cache->shared_count >= cache->limit + cache->shared_count;
}

/* Return the number of units with a lower abbrev_key than `key`; at least `from` units have
 * one. The first two after these are tried before a binary search, because most tables have
 * only one unit. */
static size_t units_before(const dwarf_input *input, size_t from, uint64_t key) {
    size_t low = from;
    for (; low < input->abbrev_key_count && low - from < 2; ++low)
        if (input->abbrev_keys[low] >= key) return low;
    SEARCH_SORTED(low, input->abbrev_key_count, input->abbrev_keys[middle] < key);
    return low;
}

/* A hostile file may let the tables of many units overlap, each with most of a large
 * section. To bound the total size of all tables, a table ends where it would overlap too
 * many others. */
/* Limit: Overlapping abbreviation tables */
LIMIT(OVERLAPPING, 4 << 20, 4);

/* Return the bytes that a table may use, and set is_shared and is_cut. */
static cursor table_bytes(abbrev_table *table) {
    const dwarf_input *input = table->input;
    uint64_t offset = table->offset, end;
    cursor c = dwarf_section(input, GSYM_DEBUG_ABBREV, offset);
    size_t first = units_before(input, 0, abbrev_key(offset, false));
    size_t with_code = units_before(input, first, abbrev_key(offset, true));
    size_t next = units_before(input, with_code, abbrev_key(offset + 1, false));
    size_t sharing = next - first;
    size_t max_overlaps = OVERLAPPING_FLOOR / (input->sections[GSYM_DEBUG_ABBREV].size + 1);
    if (sharing > 1) max_overlaps /= sharing;
    if (max_overlaps < OVERLAPPING_FACTOR) max_overlaps = OVERLAPPING_FACTOR;
    table->is_shared = with_code > first + 1;
    if (c.failed || max_overlaps >= input->abbrev_key_count - next) return c;
    end = input->abbrev_keys[next + max_overlaps] >> 1;
    table->is_cut = end - offset < cursor_left(&c);
    if (table->is_cut) c.end = c.at + (end - offset);
    return c;
}

/* Return the bytes of a table from the abbreviation of a root DIE on. Tables that overlap
 * are searched up to the limit on their total size, too. */
static cursor bytes_from_root(abbrev_cache *cache, const abbrev_table *table, cursor c) {
    const uint8_t *start = c.at;
    if (cache->searched_file != table->input) cache->searched = 0;
    cache->searched_file = table->input;
    if (cache->searched >
        LIMIT_OF(OVERLAPPING, table->input->sections[GSYM_DEBUG_ABBREV].size))
        c.end = c.at;
    c = abbrev_find_code(c, table->root);
    cache->searched += (uint64_t)(c.at - start);
    return c;
}

static const abbrev_table *find_table(abbrev_cache *cache, const dwarf_input *input,
                                      const dwarf_unit_header *header) {
    abbrev_table **slot, *table;
    cursor bytes;
    if (2 * cache->count >= cache->capacity &&
        !rehash(cache, cache->capacity == 0 ? 16 : 2 * cache->capacity))
        return NULL;
    slot = find_slot(cache, input, header->abbrev_offset, header);
    if (*slot != NULL) return *slot;
    if (is_full(cache)) {
        if (!forget(cache)) return NULL;
        slot = find_slot(cache, input, header->abbrev_offset, header);
    }
    table = cache->spare != NULL ? cache->spare : calloc(1, sizeof *table);
    if (table == NULL) return NULL;
    cache->spare = table->next_spare;
    table->input = input;
    table->offset = header->abbrev_offset;
    table->address_size = header->address_size;
    table->offset_size = header->offset_size;
    table->is_version_2 = header->version == 2;
    table->is_cut = false;
    bytes = table_bytes(table);
    table->is_root = cache->has_roots && !table->is_shared;
    table->root = table->is_root ? root_code(input, header) : 0;
    if (table->is_root) bytes = bytes_from_root(cache, table, bytes);
    abbrev_resolve_form_sizes(table, &cache->sizes);
    if (!abbrev_compile_table(table, &cache->sizes, bytes, table->root)) {
        table->next_spare = cache->spare;
        cache->spare = table;
        return NULL;
    }
    ++cache->count;
    cache->shared_count += table->is_shared;
    return *slot = table;
}

const abbrev_table *abbrev_cache_get(abbrev_cache *cache, const dwarf_input *input,
                                     const dwarf_unit_header *header) {
    const abbrev_table *table = find_table(cache, input, header);
    if (table == NULL) cache->failed = true;
    return table;
}

void abbrev_cache_deinit(abbrev_cache *cache) {
    for (size_t i = 0; i < cache->capacity; ++i) table_destroy(cache->slots[i]);
    while (cache->spare != NULL) {
        abbrev_table *spare = cache->spare;
        cache->spare = spare->next_spare;
        table_destroy(spare);
    }
    free(cache->slots);
}
