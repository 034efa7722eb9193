/* bulk.h - addresses of many modules to frames, in the columns of Apache Arrow. */
#ifndef GSYM_BULK_H
#define GSYM_BULK_H

#include <gsym/lookup.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- addresses of many modules ------------------------------------------------------ */

/* Columns of `count` rows, which must exist as long as what is made of them. */
typedef struct gsym_rows {
    size_t count;
    const uint64_t *addresses;
    const uint8_t *has_address; /* 0: the row has none; NULL: all rows have one */
    const uint32_t *modules;    /* its number; `module_count` or more: the row has none */
    const uint64_t *bases;      /* where the module is loaded; NULL: link-time addresses */
    const uint8_t *returns;     /* 1: where a call returns to, so that the byte before it
                                 * is looked up; NULL: no row */
    uint32_t module_count;
} gsym_rows;

/* The addresses that were looked up, by module, and their stacks: numbers of frames, which
 * are not kept. It serves one bulk at a time, and exists as long as the last of them. After
 * an error both can only be destroyed. */
typedef struct gsym_known gsym_known;
gsym_status gsym_known_create(gsym_known **known_ret, gsym_error *error);
void gsym_known_destroy(gsym_known *known);
size_t gsym_known_size(const gsym_known *known); /* in bytes */

/* Rows by module; each address of a module that is not known is looked up once, and its
 * answer is a stack. For one thread at a time. */
typedef struct gsym_bulk gsym_bulk;
gsym_status gsym_bulk_create(const gsym_rows *rows, gsym_known *known,
                             gsym_bulk **bulk_ret, gsym_error *error);
void gsym_bulk_destroy(gsym_bulk *bulk);
/* Number of rows with an address of this module. */
uint32_t gsym_bulk_rows_of(const gsym_bulk *bulk, uint32_t module);
/* Answer the rows of a module, once, in any order of modules. `number` is that of the
 * module among the known ones, which is the same in all bulks; these numbers are dense. */
gsym_status gsym_bulk_look_up(gsym_bulk *bulk, uint32_t module, uint32_t number,
                              const gsym_image *image, gsym_error *error);
/* Give them `reason` in place of an answer. */
gsym_status gsym_bulk_miss(gsym_bulk *bulk, uint32_t module, uint32_t reason,
                           gsym_error *error);

/* Distinct texts as an array of Arrow's type utf8; bytes that are not UTF-8 are replaced by
 * U+FFFD. */
typedef struct gsym_texts {
    size_t count;
    const int32_t *offsets; /* count + 1 of them */
    const char *bytes;
} gsym_texts;

/* The answers. A stack without an answer has one frame, of which only `misses` counts.
 * `reasons` are valid until the next bulk of the same known addresses is answered. */
typedef struct gsym_bulk_columns {
    const uint32_t *stacks; /* of each row */
    size_t stack_count;
    const uint32_t *reasons; /* of each stack: a gsym_miss or a number of the caller */
    uint32_t first_frame;    /* number of the first of these frames, the others are older */
    size_t frame_count;      /* frames of a stack are side by side, innermost first */
    const uint32_t *names;   /* index in name_texts */
    const uint32_t *files;   /* index in file_texts */
    const uint32_t *lines;
    const uint64_t *offsets;
    const uint8_t *inlined;
    const uint8_t *misses; /* not 0: the row has no answer */
    gsym_texts name_texts;
    gsym_texts file_texts;
} gsym_bulk_columns;
void gsym_bulk_view(const gsym_bulk *bulk, gsym_bulk_columns *columns_ret);

/* The rows as lists of frames: list i is [offsets_ret[i], offsets_ret[i + 1]); there is
 * room for one offset more than rows. With `misses`, a row without an answer has
 * one frame. */
gsym_status gsym_bulk_offsets(const gsym_bulk *bulk, int misses, int32_t *offsets_ret,
                              gsym_error *error);
/* The number of the frame of each item of these lists. */
void gsym_bulk_items(const gsym_bulk *bulk, const int32_t *offsets, uint32_t *items_ret);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
