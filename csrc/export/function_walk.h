/* function_walk.h - the functions of a file, entry by entry, each with the addresses for
 * which a lookup answers with it: so written elsewhere, none of them overlap.
 *
 * A walk visits each record twice: first for its names, then completely. */
#ifndef GSYM_EXPORT_FUNCTION_WALK_H
#define GSYM_EXPORT_FUNCTION_WALK_H

#include "base/error.h"
#include "gsym/function_info.h"
#include "gsym/image.h"

/* Strings of a table, numbered 0, 1, 2, ... by their offset.
 *
 * A bit for each byte of the string table marks the strings that are members; their
 * numbers are counted from the bits when they are asked for. */

typedef struct name_numbers {
    uint64_t *words;
    uint64_t *before; /* members before each word */
    uint64_t end;     /* size of the string table; represents every offset past it */
    uint64_t count;   /* members, once they are counted */
} name_numbers;

/* Room for the strings of a table of `size` bytes. */
bool name_numbers_init(name_numbers *names, uint64_t size);
void name_numbers_deinit(name_numbers *names);

static inline void name_numbers_add(name_numbers *names, uint64_t strp) {
    if (strp > names->end) strp = names->end;
    names->words[strp / 64] |= UINT64_C(1) << (strp % 64);
}

static inline bool name_numbers_has(const name_numbers *names, uint64_t strp) {
    if (strp > names->end) strp = names->end;
    return (names->words[strp / 64] >> (strp % 64) & 1) != 0;
}

/* Make members of those of `other`; false where its table has another size. */
bool name_numbers_share(name_numbers *names, const name_numbers *other);
/* Nothing may be added afterwards. */
void name_numbers_count(name_numbers *names);
/* Number of a member. */
uint64_t name_numbers_of(const name_numbers *names, uint64_t strp);
/* The first member at or after *strp_ret, or false if there is none. */
bool name_numbers_next(const name_numbers *names, uint64_t *strp_ret);

/* Addresses from base_address on. */
typedef struct answer_extent {
    uint64_t start;
    uint64_t end; /* UINT64_MAX: that of the function is not known */
} answer_extent;

typedef struct function_walk {
    const gsym_image *image;
    gsym_record *record;
    uint64_t visited_bytes; /* of records */
    /* Of the entries that start together: */
    uint64_t limit;    /* where the next one starts */
    uint64_t answered; /* end of the addresses that those so far answer for */
    bool are_several;
} function_walk;

typedef struct walked_function {
    const gsym_function *function; /* NULL: damaged, or others answer in its place */
    answer_extent extent;
} walked_function;

bool function_walk_init(function_walk *walk, const gsym_image *image);
void function_walk_deinit(function_walk *walk);
/* Add the names of the calls inlined into the function of an entry, and with `with_own`
 * its own. A damaged record is passed over. */
gsym_status function_walk_names(function_walk *walk, uint32_t index, bool with_own,
                                name_numbers *names, gsym_error *error);
/* Visits the entries in order. Losses are added to `losses`. */
gsym_status function_walk_visit(function_walk *walk, uint32_t index,
                                walked_function *walked_ret, gsym_walk_losses *losses,
                                gsym_error *error);

/* Whether a lookup takes the node for an inlined call: the root stands for the function
 * itself, unless it names a file. */
bool function_walk_is_call(const gsym_image *image, const gsym_inline_node *node);

#endif
