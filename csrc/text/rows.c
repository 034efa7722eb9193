/* rows.c - order rows by a key, and take some of them out of a column. */
#include "base/error.h"
#include "base/sort.h"

gsym_status gsym_order_rows(const uint32_t *keys, size_t count, uint32_t *order_ret,
                            gsym_error *error) {
    numbered_address *room, *sorted;
    if (count > UINT32_MAX) return gsym_fail(error, GSYM_E_ARGUMENT, 0, "too many rows");
    room = calloc(count + 1, 2 * sizeof *room);
    if (room == NULL) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i)
        room[i] = (numbered_address){keys[i], (uint32_t)i};
    sorted = address_order(room, (uint32_t)count);
    for (size_t i = 0; i < count; ++i)
        order_ret[i] = sorted[i].number;
    free(room);
    return GSYM_OK;
}

gsym_status gsym_take_rows(const void *column, size_t width, size_t size,
                           const uint32_t *rows, size_t count, size_t after,
                           void *taken_ret, gsym_error *error) {
    const uint8_t *bytes = column;
    uint8_t *taken = taken_ret;
    for (size_t i = 0; i < count; ++i, taken += width) {
        if (rows[i] >= size || after >= size - rows[i])
            return gsym_fail(error, GSYM_E_ARGUMENT, i, "a row outside its column");
        memcpy(taken, bytes + (rows[i] + after) * width, width);
    }
    return GSYM_OK;
}
