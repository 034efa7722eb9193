/* function_walk.h - visit the functions of a file, each with the addresses at which a
 * lookup answers with it.
 *
 * These addresses do not overlap, so exporters can write them to formats without overlaps.
 * A walk visits each record twice: first for its names, then completely. */
#ifndef GSYM_EXPORT_FUNCTION_WALK_H
#define GSYM_EXPORT_FUNCTION_WALK_H

#include "base/error.h"
#include "gsym/function_info.h"
#include "gsym/image.h"

/* A set of strings of a table, which are numbered 0, 1, 2, ... by their offset.
 *
 * A bit for each byte of the string table marks the members. The number of a member is the
 * number of bits before its own. */

typedef struct name_numbers {
    uint64_t *words;
    uint64_t *before; /* members before each word */
    uint64_t end;     /* size of the string table; stands for every offset past it */
    uint64_t count;   /* number of members; set by name_numbers_count() */
} name_numbers;

/* Begin an empty set for a table of `size` bytes; false where memory ran out. */
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

/* Replace the members by those of `other`; false if its table has another size. */
bool name_numbers_share(name_numbers *names, const name_numbers *other);
/* Count the members, so that they have numbers; none may be added afterwards. */
void name_numbers_count(name_numbers *names);
/* Return the number of a member. */
uint64_t name_numbers_of(const name_numbers *names, uint64_t strp);
/* Find the first member at or after *strp_ret; false if there is none. */
bool name_numbers_next(const name_numbers *names, uint64_t *strp_ret);

/* A range of addresses, relative to base_address. */
typedef struct answer_extent {
    uint64_t start;
    uint64_t end; /* UINT64_MAX: the function has no size, and none follows it */
} answer_extent;

typedef struct function_walk {
    const gsym_image *image;
    gsym_record *record;
    uint64_t visited_bytes; /* of records */
    /* Of the present entry and those that start together with it: */
    uint64_t limit;    /* start of the next entry */
    uint64_t answered; /* end of the addresses that visited ones answer for */
    bool are_several;
} function_walk;

typedef struct walked_function {
    const gsym_function *function; /* NULL: damaged, or others answer in its place */
    answer_extent extent;
} walked_function;

bool function_walk_init(function_walk *walk, const gsym_image *image);
void function_walk_deinit(function_walk *walk);
/* Add the names of the calls inlined into the function of an entry and, with `with_own`,
 * the name of the function. A damaged record is ignored. */
gsym_status function_walk_names(function_walk *walk, uint32_t index, bool with_own,
                                name_numbers *names, gsym_error *error);
/* Visit an entry; callers visit them in order. Losses are added to `losses`. */
gsym_status function_walk_visit(function_walk *walk, uint32_t index,
                                walked_function *walked_ret, gsym_walk_losses *losses,
                                gsym_error *error);

/* Whether a lookup takes a node as an inlined call: the root stands for the function
 * itself, unless it names a file. */
bool function_walk_is_call(const gsym_image *image, const gsym_inline_node *node);

#endif
