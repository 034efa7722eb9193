/* tables.c - search and grow the hash tables of tables.h. */
#include "base/tables.h"
#include "base/cursor.h"

enum { FIRST_SLOTS = 1024, FIRST_BITS = 8, MIN_BITS = 4 };

void *zeroed_table(size_t count, size_t item_size) {
    enum { PAGE = 4096 };
    char *table = calloc(count, item_size);
    if (table == NULL) return NULL;
    for (size_t at = 0; at < count * item_size; at += PAGE)
        *(volatile char *)(table + at) = 0;
    return table;
}

/* ---- slot_table ------------------------------------------------------------------ */

bool slot_table_grow(slot_table *table) {
    size_t size = table->slots == NULL ? FIRST_SLOTS : 2 * (table->mask + 1);
    slot_table grown = {zeroed_table(size, sizeof *grown.slots), size - 1, table->count};
    if (grown.slots == NULL) return false;
    for (size_t at = 0; table->slots != NULL && at <= table->mask; ++at)
        if (table->slots[at].number != 0)
            *slot_table_free_slot(&grown, table->slots[at].hash) = table->slots[at];
    free(table->slots);
    *table = grown;
    return true;
}

void slot_table_remove(slot_table *table, uint64_t hash, uint64_t number) {
    size_t mask = table->mask, hole = (size_t)hash & mask;
    if (table->slots == NULL) return;
    while (table->slots[hole].number != number) {
        if (table->slots[hole].number == 0) return;
        hole = (hole + 1) & mask;
    }
    /* Move back each slot that a search would not reach across the hole. */
    for (size_t at = (hole + 1) & mask; table->slots[at].number != 0;
         at = (at + 1) & mask) {
        size_t first = (size_t)table->slots[at].hash & mask;
        if (((at - first) & mask) < ((at - hole) & mask)) continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = (hash_slot){0, 0};
    table->count--;
}

void slot_table_clear(slot_table *table) {
    table->count = 0;
    if (table->slots != NULL)
        memset(table->slots, 0, (table->mask + 1) * sizeof *table->slots);
}

/* ---- number_map ------------------------------------------------------------------ */

static bool allocate(number_map *map, unsigned bits) {
    map->slots = zeroed_table((size_t)1 << bits, sizeof *map->slots);
    map->bits = map->allocated_bits = map->slots == NULL ? 0 : bits;
    /* An address of the heap serves as key, because it differs from run to run. No output
     * depends on the key. */
    map->key = ((uintptr_t)map->slots >> 4) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    return map->slots != NULL;
}

void number_map_deinit(number_map *map) { free(map->slots); }

bool number_map_reset(number_map *map, size_t count) {
    unsigned bits = count == 0 ? FIRST_BITS : MIN_BITS;
    while ((size_t)1 << (bits - 1) < count) bits++;
    map->count = 0;
    if (bits > map->allocated_bits) {
        free(map->slots);
        return allocate(map, bits);
    }
    map->bits = bits;
    memset(map->slots, 0, ((size_t)1 << bits) * sizeof *map->slots);
    return true;
}

size_t number_map_size(const number_map *map) {
    return map->slots == NULL ? 0 : sizeof *map->slots << map->allocated_bits;
}

static bool grow(number_map *map) {
    number_map grown = {.count = map->count};
    if (!allocate(&grown, map->slots == NULL ? FIRST_BITS : map->bits + 1)) return false;
    for (size_t i = 0; map->slots != NULL && i < (size_t)1 << map->bits; ++i)
        if (map->slots[i].value != 0)
            *number_map_slot(&grown, map->slots[i].number) = map->slots[i];
    free(map->slots);
    *map = grown;
    return true;
}

bool number_map_set(number_map *map, uint64_t number, uint64_t value) {
    number_slot *slot;
    if (map->slots == NULL && !grow(map)) return false;
    slot = number_map_slot(map, number);
    if (slot->value == 0 && ++map->count > (size_t)1 << (map->bits - 1)) {
        if (!grow(map)) return false;
        slot = number_map_slot(map, number);
    }
    *slot = (number_slot){value + 1, number};
    return true;
}
