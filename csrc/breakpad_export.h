/* breakpad_export.h - an export under way: what its two files share. */
#ifndef GSYM_BREAKPAD_EXPORT_H
#define GSYM_BREAKPAD_EXPORT_H

#include "function_info.h"
#include "image.h"
#include "name_numbers.h"
#include "text.h"

/* Addresses in Breakpad text count from where the module is loaded. */
typedef struct export_extent {
    uint64_t start;
    uint64_t end;
} export_extent;

/* What is known of an inlined call while its function is written. */
typedef struct inline_place {
    uint64_t claimed; /* end of its children's ranges so far */
    uint32_t parent;
    bool may_overlap; /* its children's ranges do not come in order */
    bool is_kept;
} inline_place;

typedef struct inline_place_list {
    inline_place *items;
    size_t count, capacity;
} inline_place_list;

/* A range of an inlined call, to be sorted among those of its siblings. */
typedef struct sibling_range {
    gsym_range range;
    uint32_t parent;
    uint32_t node;
} sibling_range;

typedef struct sibling_range_list {
    sibling_range *items;
    size_t count, capacity;
} sibling_range_list;

/* Scratch, kept from function to function. */
typedef struct export_inlines {
    inline_place_list places;
    sibling_range_list siblings;
} export_inlines;

enum export_part {
    EXPORT_NAMES = 0, /* nothing is written yet: which names do calls use? */
    EXPORT_FILES,
    EXPORT_ORIGINS,
    EXPORT_FUNCTIONS,
    EXPORT_DONE
};

struct gsym_breakpad_export {
    const gsym_image *image;
    gsym_record *record;
    node_list nodes; /* scratch */
    range_list ranges;
    name_numbers origins;
    export_inlines inlines;
    gsym_breakpad_export_counts counts;
    enum export_part part;
    uint64_t next; /* entry, file or string offset within the part */
    /* Of the entries that start together: */
    uint64_t limit;    /* where the next one starts */
    uint64_t answered; /* end of the addresses that those so far answer for */
    bool are_several;
    uint64_t visited_bytes; /* of records */
};

void export_inlines_deinit(export_inlines *inlines);

/* Append an INLINE record for each call inlined into `function` that has code inside
 * `extent`; the names of all have been collected. */
gsym_status export_inlines_put(gsym_breakpad_export *export, gsym_text *text,
                               const gsym_function *function, export_extent extent,
                               gsym_error *error);

/* Whether a lookup takes the node for an inlined call: the root stands for the function
 * itself, unless it names a file. */
static inline bool export_is_call(const gsym_image *image, const gsym_inline_node *node) {
    uint64_t directory, basename;
    return node->depth > 0 ||
           (image_file(image, node->call_file, &directory, &basename) &&
            (directory != 0 || basename != 0));
}

/* Number of a file in a record. A file that the table lacks gets 0, which no FILE
 * record has: readers take that for no file. */
static inline uint32_t export_file(const gsym_image *image, uint32_t file) {
    return file < image->header.num_files ? file : 0;
}

#endif
