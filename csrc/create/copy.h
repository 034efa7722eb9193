/* copy.h - copy entries of another GSYM file one by one. */
#ifndef GSYM_CREATE_COPY_H
#define GSYM_CREATE_COPY_H

#include "base/tables.h"
#include "create/state.h"
#include "gsym/image.h"

/* The state of copying from one image. It is kept only for one call of the API, because
 * later another image may be at the same address. */
typedef struct entry_copy {
    gsym_creator *creator;
    const gsym_image *image;
    const gsym_selection *selection; /* NULL: all functions */
    gsym_record *record;
    number_map strings; /* string offset in the image -> string offset in the creator */
    uint32_t *files;    /* number in the image -> number in the creator, 0: not yet known */
    struct { gsym_line_row *items; size_t capacity; } rows;
    struct { gsym_inline_node *items; size_t capacity; } nodes;
    struct { uint64_t *items; size_t capacity; } regexes;
    struct { gsym_function *items; size_t capacity; } functions;
    size_t row_count, node_count, regex_count; /* in use for the present entry */
    uint64_t last_offset;  /* start of the entry that was added last, minus base_address */
    uint64_t next_offset;  /* start of the next entry; valid if greater than last_offset */
    bool is_bounded;       /* false: functions copied last may need a size; see
                              bound_sizeless() */
    uint64_t records_size; /* of the records read so far */
    uint64_t strings_size; /* of the strings read so far */
} entry_copy;

/* Begin a copy; call entry_copy_end() even if this fails. */
gsym_status entry_copy_begin(entry_copy *copy, gsym_creator *creator,
                             const gsym_image *image, gsym_error *error);
void entry_copy_end(entry_copy *copy);
/* Copy entry `index` < num_addresses, or what is selected of it. It must not start below
 * the entry that was added last. */
gsym_status entry_copy_add(entry_copy *copy, uint32_t index, gsym_error *error);

#endif
