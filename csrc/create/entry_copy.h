/* entry_copy.h - functions of another GSYM file on their way into this one.
 *
 * What is known of one image lives for one call of the API only: nothing tells
 * when an image makes room for another at the same address. */
#ifndef GSYM_CREATE_ENTRY_COPY_H
#define GSYM_CREATE_ENTRY_COPY_H

#include "create/creator_state.h"
#include "gsym/image.h"
#include "base/number_map.h"

typedef struct entry_copy {
    gsym_creator *creator;
    const gsym_image *image;
    const gsym_selection *selection; /* NULL: all functions */
    gsym_record *record;
    number_map strings; /* strp there -> strp here */
    uint32_t *files;    /* number there -> number here, 0: not yet known */
    struct { gsym_line_row *items; size_t capacity; } rows;
    struct { gsym_inline_node *items; size_t capacity; } nodes;
    struct { uint64_t *items; size_t capacity; } regexes;
    struct { gsym_function *items; size_t capacity; } functions;
    size_t row_count, node_count, regex_count; /* in use for the present entry */
    uint64_t last_offset;  /* of the entry before, from base_address */
    uint64_t next_offset;  /* of the first entry that starts behind it; known if above */
    bool is_bounded;       /* no function copied last waits for its end to be known */
    uint64_t records_size; /* of the records read so far */
    uint64_t strings_size; /* of the strings read so far */
} entry_copy;

/* To be ended in any case. */
gsym_status entry_copy_begin(entry_copy *copy, gsym_creator *creator,
                             const gsym_image *image, gsym_error *error);
void entry_copy_end(entry_copy *copy);
/* Copy entry `index` < num_addresses, which must not lie below the one before, or
 * what is selected of it. */
gsym_status entry_copy_add(entry_copy *copy, uint32_t index, gsym_error *error);

#endif
