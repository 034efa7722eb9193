/* function_walk.h - visit the functions of a file, each with the addresses at which a
 * lookup answers with it.
 *
 * These addresses do not overlap, so exporters can write them to formats without overlaps.
 * A walk visits each record twice: first for its names, then completely. */
#ifndef GSYM_EXPORT_FUNCTION_WALK_H
#define GSYM_EXPORT_FUNCTION_WALK_H

#include "base/error.h"
#include "export/name_numbers.h"
#include "gsym/function_info.h"
#include "gsym/image.h"

/* A range of addresses, relative to base_address. */
typedef struct answer_extent {
    uint64_t start;
    uint64_t end; /* UINT64_MAX: the function has no size, and none follows it */
} answer_extent;

typedef struct function_walk {
    const gsym_image *image;
    gsym_record *record;
    uint64_t visited_bytes; /* bytes of the records that were visited */
    /* About the present entry and those with the same start: */
    uint64_t limit;    /* start of the next entry */
    uint64_t answered; /* end of the addresses for which lookups return the visited ones */
    bool are_several;
} function_walk;

typedef struct walked_function {
    const gsym_function *function; /* NULL: the record is damaged, or lookups return
                                      other functions for all its addresses */
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
