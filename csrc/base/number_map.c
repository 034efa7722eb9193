/* number_map.c - a hash table by linear probing. */
#include "base/number_map.h"

#include "base/buffer.h"

enum { FIRST_BITS = 8 };

static inline size_t place_of(const number_map *map, uint64_t number) {
    return (size_t)((number + 1) * map->key >> (64 - map->bits));
}

static number_slot *find_slot(const number_map *map, uint64_t number) {
    size_t mask = ((size_t)1 << map->bits) - 1, at = place_of(map, number);
    while (map->slots[at].value != 0 && map->slots[at].number != number)
        at = (at + 1) & mask;
    return &map->slots[at];
}

bool number_map_init(number_map *map) {
    map->bits = FIRST_BITS;
    map->count = 0;
    map->slots = calloc((size_t)1 << FIRST_BITS, sizeof *map->slots);
    /* Where the heap lies differs from run to run. No output depends on it. */
    map->key = ((uintptr_t)map->slots >> 4) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    return map->slots != NULL;
}

void number_map_deinit(number_map *map) { free(map->slots); }

void number_map_fetch(const number_map *map, uint64_t number) {
    __builtin_prefetch(&map->slots[place_of(map, number)]);
}

bool number_map_find(const number_map *map, uint64_t number, uint64_t *value_ret) {
    const number_slot *slot = find_slot(map, number);
    *value_ret = slot->value - 1;
    return slot->value != 0;
}

static bool grow(number_map *map) {
    number_map grown = *map;
    grown.bits++;
    grown.slots = zeroed_table((size_t)1 << grown.bits, sizeof *grown.slots);
    if (grown.slots == NULL) return false;
    for (size_t i = 0; i < (size_t)1 << map->bits; ++i)
        if (map->slots[i].value != 0)
            *find_slot(&grown, map->slots[i].number) = map->slots[i];
    free(map->slots);
    *map = grown;
    return true;
}

bool number_map_set(number_map *map, uint64_t number, uint64_t value) {
    number_slot *slot = find_slot(map, number);
    if (slot->value == 0) {
        if (++map->count > (size_t)1 << (map->bits - 1)) {
            if (!grow(map)) return false;
            slot = find_slot(map, number);
        }
    }
    *slot = (number_slot){value + 1, number};
    return true;
}
