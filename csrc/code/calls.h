/* calls.h - a list of calls as the engine's own sources see it. */
#ifndef GSYM_CODE_CALLS_H
#define GSYM_CODE_CALLS_H

#include "base/buffer.h"

struct gsym_calls {
    struct {
        uint64_t *items;
        size_t count, capacity;
    } addresses;
    struct {
        uint8_t *items;
        size_t count, capacity;
    } sizes, lines; /* as long as `addresses` */
    gsym_call_columns counts;
};

/* Append a call. False where memory ran out. */
bool calls_add(gsym_calls *calls, uint64_t address, unsigned size, bool has_line);

#endif
