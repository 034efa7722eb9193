/* slot_table.h - hash -> number, by linear probing.
 *
 * What a number stands for, and whether equal hashes mean equal content, is for the owner
 * of the table to tell. */
#ifndef GSYM_BASE_SLOT_TABLE_H
#define GSYM_BASE_SLOT_TABLE_H

#include "base/buffer.h"

/* 0 marks a free slot: tables keep their number 0 out of it. The whole hash is kept, so
 * that growing reads no content. */
typedef struct slot {
    uint64_t hash;
    uint64_t number;
} slot;

typedef struct slot_table {
    slot *slots;
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

static inline slot *slot_table_free_slot(const slot_table *table, uint64_t hash) {
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
    *slot_table_free_slot(table, hash) = (slot){hash, number};
    table->count++;
}

#endif
