/* number_map.h - numbers that an input gives to things -> what they stand for. */
#ifndef GSYM_BASE_NUMBER_MAP_H
#define GSYM_BASE_NUMBER_MAP_H

#include "base/internal.h"

typedef struct number_slot {
    uint64_t value; /* plus 1; 0: a free slot */
    uint64_t number;
} number_slot;

/* Number -> value. Numbers are those of the input, so the place of a slot depends on a
 * key that no input knows. */
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
