/* list.h - append to lists, which grow; search sorted lists; join ranges. */
#ifndef GSYM_BASE_LIST_H
#define GSYM_BASE_LIST_H

#include "base/error.h"

/* Grow the array *items to room for `count` items of `item_size`; the capacity doubles.
 * False where memory ran out. */
bool array_reserve(void *items, size_t *capacity, size_t count, size_t item_size);

/* Give back the pages of an array of `size` bytes, but for the first `kept` bytes. */
void array_release(void *items, size_t size, size_t kept);

/* A growing array, empty when zeroed; its items are freed with free(). */
#define LIST(type)              \
    struct {                    \
        type *items;            \
        size_t count, capacity; \
    }

/* Make room for `more` items; false where memory ran out. */
#define LIST_RESERVE(list, more)                                                         \
    (GSYM_LIKELY((list).count + (more) <= (list).capacity) ||                            \
     array_reserve(&(list).items, &(list).capacity, (list).count + (more),               \
                   sizeof *(list).items))

/* Append one item; false where memory ran out. */
#define LIST_ADD(list, ...)                                                              \
    (LIST_RESERVE(list, 1) && ((list).items[(list).count++] = (__VA_ARGS__), true))

/* Return a pointer to item `at`, which may be the end; NULL for a list without memory,
 * because C leaves NULL + 0 undefined. */
#define LIST_FROM(list, at) ((list).items == NULL ? NULL : (list).items + (at))

/* Give the memory of a list back to the system, but for the first `kept` bytes. Its items
 * are lost; it keeps its capacity. */
#define LIST_RELEASE(list, kept)                                                         \
    array_release((list).items, (list).count * sizeof *(list).items, kept)

/* Binary search in [low, count): set `low` to the first index for which `is_before`, an
 * expression of `middle`, is false. It must be true for all lower indexes and false for all
 * higher ones. */
#define SEARCH_SORTED(low, count, is_before)                                             \
    do {                                                                                 \
        size_t search_end = (count);                                                     \
        while ((low) < search_end) {                                                     \
            size_t middle = (low) + (search_end - (low)) / 2;                            \
            if (is_before)                                                               \
                (low) = middle + 1;                                                      \
            else                                                                         \
                search_end = middle;                                                     \
        }                                                                                \
    } while (0)

typedef LIST(gsym_line_row) row_list;
typedef LIST(gsym_range) range_list;

/* Append a row unless it repeats file and line of the last one. Its memory is reserved. */
static inline void row_list_put(row_list *rows, gsym_line_row row) {
    size_t count = rows->count;
    if (count > 0 && rows->items[count - 1].file == row.file &&
        rows->items[count - 1].line == row.line)
        return;
    rows->items[rows->count++] = row;
}

/* Append all of `more`; false where memory ran out. */
bool ranges_append(range_list *ranges, const range_list *more);
/* Sort the ranges from `first` on and join those that touch. */
void ranges_join(range_list *ranges, size_t first);

#endif
