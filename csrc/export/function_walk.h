/* function_walk.h - the functions of a file, entry by entry, each with the addresses for
 * which a lookup answers with it: so written elsewhere, none of them overlap.
 *
 * A walk visits each record twice: first for the names that it uses, then as a whole. */
#ifndef GSYM_EXPORT_FUNCTION_WALK_H
#define GSYM_EXPORT_FUNCTION_WALK_H

#include "gsym/function_info.h"
#include "gsym/image.h"
#include "text/name_numbers.h"

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
/* Entries are visited one after the other. What is lost is added to `losses`. */
gsym_status function_walk_visit(function_walk *walk, uint32_t index,
                                walked_function *walked_ret, gsym_walk_losses *losses,
                                gsym_error *error);

/* Whether a lookup takes the node for an inlined call: the root stands for the function
 * itself, unless it names a file. */
bool function_walk_is_call(const gsym_image *image, const gsym_inline_node *node);

#endif
