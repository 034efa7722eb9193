/* tables.h - hash tables by linear probing: of hashes, and of numbers of the input. */
#ifndef GSYM_BASE_TABLES_H
#define GSYM_BASE_TABLES_H

#include "base/buffer.h"
#include "base/error.h"

/* ---- hash -> number ---------------------------------------------------------- *
 * The owner knows what a number stands for and whether equal hashes mean equal content. */

/* 0 marks a free slot: tables keep their number 0 out of it. The whole hash is kept, so
 * that growing reads no content. */
typedef struct hash_slot {
    uint64_t hash;
    uint64_t number;
} hash_slot;

typedef struct slot_table {
    hash_slot *slots;
    size_t mask;
    size_t count;
} slot_table;

/* `count` is a power of two. */
static inline bool slot_table_init(slot_table *table, size_t count) {
    table->slots = zeroed_table(count, sizeof *table->slots);
    table->mask = count - 1;
    table->count = 0;
    return table->slots != NULL;
}

static inline hash_slot *slot_table_free_slot(const slot_table *table, uint64_t hash) {
    size_t at = (size_t)hash & table->mask;
    while (table->slots[at].number != 0) at = (at + 1) & table->mask;
    return &table->slots[at];
}

/* Keep at least three slots of eight free. */
static inline bool slot_table_reserve(slot_table *table) {
    slot_table grown;
    if (GSYM_LIKELY(table->count < (table->mask + 1) / 8 * 5)) return true;
    if (!slot_table_init(&grown, (table->mask + 1) * 2)) return false;
    for (size_t at = 0; at <= table->mask; ++at)
        if (table->slots[at].number != 0)
            *slot_table_free_slot(&grown, table->slots[at].hash) = table->slots[at];
    grown.count = table->count;
    free(table->slots);
    *table = grown;
    return true;
}

static inline void slot_table_insert(slot_table *table, uint64_t hash, uint64_t number) {
    *slot_table_free_slot(table, hash) = (hash_slot){hash, number};
    table->count++;
}

/* ---- numbers of an input -> values ---------------------------------------------- */

typedef struct number_slot {
    uint64_t value; /* plus 1; 0: a free slot */
    uint64_t number;
} number_slot;

/* The place of a slot depends on a key that no input knows. */
typedef struct number_map {
    number_slot *slots;
    size_t count;
    unsigned bits; /* 1 << bits slots */
    uint64_t key;  /* odd */
} number_map;

bool number_map_init(number_map *map);
void number_map_deinit(number_map *map);
/* Have the memory fetched that a search for `number` begins in. */
void number_map_fetch(const number_map *map, uint64_t number);
bool number_map_find(const number_map *map, uint64_t number, uint64_t *value_ret);
/* `value` is below UINT64_MAX. False where memory ran out. */
bool number_map_set(number_map *map, uint64_t number, uint64_t value);

#endif
