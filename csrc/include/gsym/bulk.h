/* bulk.h - look up addresses of many modules; the frames are columns of Apache Arrow. */
#ifndef GSYM_BULK_H
#define GSYM_BULK_H

#include <gsym/lookup.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- addresses of many modules ------------------------------------------------------ */

/* Columns of `count` rows, which must outlive the bulk that is made of them. */
typedef struct gsym_rows {
    size_t count;
    const uint64_t *addresses;
    const uint8_t *has_address; /* 0: the row has no address; NULL: all rows have one */
    const uint32_t *modules;    /* number of the module; `module_count` or more: none */
    const uint64_t *bases;      /* runtime address of the module's image base; NULL:
                                 * `addresses` are link-time addresses */
    const uint8_t *returns;     /* 1: a return address; the byte before it is looked up;
                                 * NULL: no address is one */
    uint32_t module_count;
} gsym_rows;

/* The addresses of each module that were looked up, and the stack of each. A stack is a
 * list of frame numbers; the frames themselves are in the columns of the bulk that looked
 * them up. With `keep_frames` they are kept, too: each bulk has all frames of its rows, and
 * numbers of its own for stacks and frames. One bulk at a time uses a gsym_known, which
 * must outlive the last of them. After an error, it and the bulk can only be destroyed. */
typedef struct gsym_known gsym_known;
gsym_status gsym_known_create(int keep_frames, gsym_known **known_ret, gsym_error *error);
void gsym_known_destroy(gsym_known *known);
size_t gsym_known_size(const gsym_known *known); /* in bytes */

/* A bulk groups rows by module, looks up each address of a module once unless it is known,
 * and gives each row the number of a stack. One thread at a time may use it. */
typedef struct gsym_bulk gsym_bulk;
gsym_status gsym_bulk_create(const gsym_rows *rows, gsym_known *known,
                             gsym_bulk **bulk_ret, gsym_error *error);
void gsym_bulk_destroy(gsym_bulk *bulk);
/* Return the number of rows with an address of this module. */
uint32_t gsym_bulk_rows_of(const gsym_bulk *bulk, uint32_t module);
/* Look up the rows of a module in `image`. Call this once for each module, in any order of
 * modules. `number` is the number of the module in `known`, which the caller chooses,
 * counting from 0, and keeps for all bulks. `image` may be NULL if earlier bulks had all
 * addresses of these rows. */
gsym_status gsym_bulk_look_up(gsym_bulk *bulk, uint32_t module, uint32_t number,
                              const gsym_image *image, gsym_error *error);
/* Return whether new addresses of the module that was looked up last are at damaged
 * records, and store one of them. */
int gsym_bulk_damaged(const gsym_bulk *bulk, uint64_t *address_ret);
/* Give the rows of a module `reason` in place of an answer. */
gsym_status gsym_bulk_miss(gsym_bulk *bulk, uint32_t module, uint32_t reason,
                           gsym_error *error);

/* Make the columns of the rows, after the last module. A bulk that only makes addresses
 * known for others does not need this. */
gsym_status gsym_bulk_end(gsym_bulk *bulk, gsym_error *error);

/* Distinct texts as an array of Arrow's type utf8; bytes that are not UTF-8 are replaced by
 * U+FFFD. */
typedef struct gsym_texts {
    size_t count;
    const int32_t *offsets; /* where texts begin in `bytes`, then the end of the last */
    const char *bytes;
} gsym_texts;

/* The answers; the bulk owns the arrays. A stack without an answer has one frame.
 * `reasons` are valid until the next bulk of the same known addresses is answered. */
typedef struct gsym_bulk_columns {
    const uint32_t *stacks; /* number of the stack of each row */
    size_t stack_count;
    const uint32_t *reasons; /* for each stack a gsym_miss or a number of the caller */
    uint32_t first_frame;    /* number of the first frame here; frames with lower numbers
                              * are in earlier bulks */
    size_t frame_count;      /* frames of a stack are side by side, innermost first */
    gsym_texts name_texts;
    gsym_texts file_texts;
} gsym_bulk_columns;
void gsym_bulk_view(const gsym_bulk *bulk, gsym_bulk_columns *columns_ret);

/* Write where the list of frames of each of `count` rows begins: row first + i has the
 * items offsets_ret[i] to offsets_ret[i + 1] - 1, so there is one offset more than rows.
 * With `misses`, a row without an answer has one frame. */
gsym_status gsym_bulk_offsets(const gsym_bulk *bulk, size_t first, size_t count, int misses,
                              int32_t *offsets_ret, gsym_error *error);
/* Write the number of the frame of each item of these lists. */
void gsym_bulk_items(const gsym_bulk *bulk, size_t first, size_t count,
                     const int32_t *offsets, uint32_t *items_ret);

/* Memory of the caller for columns of frames; `has_name` to `inlined` are bitmaps as
 * Arrow's, of whole bytes. */
typedef struct gsym_frame_columns {
    uint32_t *names;   /* index in name_texts; 0: none */
    uint32_t *files;   /* index in file_texts; 0: unknown */
    uint32_t *lines;   /* 0: unknown */
    uint64_t *offsets; /* as in gsym_frame */
    uint8_t *has_name, *has_file, *has_line;
    uint8_t *answered; /* 0: the frame of a stack without an answer */
    uint8_t *inlined;
} gsym_frame_columns;
/* Write the frame of each item of these lists, whose addresses no earlier bulk may have
 * had unless frames are kept; of NULL, the frames of this bulk, each once. */
void gsym_bulk_frames(const gsym_bulk *bulk, size_t first, size_t count,
                      const int32_t *offsets, const gsym_frame_columns *columns);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
