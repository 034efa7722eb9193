/* tables.h - define hash tables with linear probing: by hashes, and by numbers of the
 * input. */
#ifndef GSYM_BASE_TABLES_H
#define GSYM_BASE_TABLES_H

#include "base/error.h"

/* Allocate `count` zeroed items and write to each page of them. A page that is read before
 * it is written is mapped twice, as happens in hash tables, and the second mapping
 * invalidates the cached address translations of all threads. */
void *zeroed_table(size_t count, size_t item_size);

/* ---- hash -> number ---------------------------------------------------------- *
 * The owner knows the meaning of a number and whether equal hashes mean equal content. */

/* A number of 0 marks a free slot, so that tables do not store the number 0. The whole hash
 * is kept, so that growing reads no content. */
typedef struct hash_slot {
    uint64_t hash;
    uint64_t number;
} hash_slot;

/* Empty when zeroed; its slots are freed with free(). */
typedef struct slot_table {
    hash_slot *slots;
    size_t mask; /* one less than a power of two */
    size_t count;
} slot_table;

static inline hash_slot *slot_table_free_slot(const slot_table *table, uint64_t hash) {
    size_t at = (size_t)hash & table->mask;
    while (table->slots[at].number != 0) at = (at + 1) & table->mask;
    return &table->slots[at];
}

bool slot_table_grow(slot_table *table);
/* Remove a number that was inserted with `hash`; nothing where it is not there. */
void slot_table_remove(slot_table *table, uint64_t hash, uint64_t number);
void slot_table_clear(slot_table *table);

/* Make room for one more number: at most five of eight slots are used. */
static inline bool slot_table_reserve(slot_table *table) {
    return GSYM_LIKELY(table->count < (table->mask + 1) / 8 * 5) || slot_table_grow(table);
}

static inline void slot_table_insert(slot_table *table, uint64_t hash, uint64_t number) {
    *slot_table_free_slot(table, hash) = (hash_slot){hash, number};
    table->count++;
}

/* Return the next number with a hash, 0 at the end. *at is the state of the search; it is
 * `hash` for the first call. */
static inline uint64_t slot_table_next(const slot_table *table, uint64_t hash,
                                       uint64_t *at) {
    if (table->slots == NULL) return 0;
    for (;;) {
        const hash_slot *slot = &table->slots[(*at)++ & table->mask];
        if (slot->number == 0 || slot->hash == hash) return slot->number;
    }
}

/* Prefetch the slot in which a search for `hash` begins. */
static inline void slot_table_fetch(const slot_table *table, uint64_t hash) {
    if (table->slots != NULL) __builtin_prefetch(&table->slots[hash & table->mask]);
}

/* ---- numbers of an input -> values ---------------------------------------------- */

typedef struct number_slot {
    uint64_t value; /* the value plus 1; 0: a free slot */
    uint64_t number;
} number_slot;

/* Empty when zeroed. The position of a slot depends on a secret key. */
typedef struct number_map {
    number_slot *slots; /* 1 << bits of them */
    size_t count;
    unsigned bits;
    unsigned allocated_bits;
    uint64_t key; /* odd */
} number_map;

void number_map_deinit(number_map *map);
/* Empty the map and prepare it for about `count` numbers, 0 if that is unknown. The time
 * depends on `count`, not on the numbers that the map had. False where memory ran out. */
bool number_map_reset(number_map *map, size_t count);
size_t number_map_size(const number_map *map); /* in bytes */
/* Set the value of a number; it must be below UINT64_MAX. False where memory ran out. */
bool number_map_set(number_map *map, uint64_t number, uint64_t value);

/* Return the slot in which a search begins. The product is folded and multiplied a second
 * time: with one multiplication, numbers at equal distances would collide for some keys. */
static inline size_t number_map_first(const number_map *map, uint64_t number) {
    uint64_t hash = (number + 1) * map->key;
    return (size_t)((hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) >>
                    (64 - map->bits));
}

static inline number_slot *number_map_slot(const number_map *map, uint64_t number) {
    size_t mask = ((size_t)1 << map->bits) - 1, at = number_map_first(map, number);
    while (map->slots[at].value != 0 && map->slots[at].number != number)
        at = (at + 1) & mask;
    return &map->slots[at];
}

/* Prefetch the memory in which a search for `number` begins. */
static inline void number_map_fetch(const number_map *map, uint64_t number) {
    if (map->slots != NULL) __builtin_prefetch(&map->slots[number_map_first(map, number)]);
}

static inline bool number_map_find(const number_map *map, uint64_t number,
                                   uint64_t *value_ret) {
    *value_ret = 0;
    if (GSYM_LIKELY(map->slots != NULL)) *value_ret = number_map_slot(map, number)->value;
    return (*value_ret)-- != 0;
}

#endif
