/* lookup.h - look up the frames of addresses, one at a time or many as columns. */
#ifndef GSYM_LOOKUP_H
#define GSYM_LOOKUP_H

#include <gsym/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- lookup --------------------------------------------------------------- */

typedef enum gsym_lookup_flags {
    /* Use the rules of LLVM's GsymReader, with its bugs: a missing row or file is an error,
     * inlined calls without a line table are dropped, offsets have 32 bits. Errors have the
     * texts of LLVM. */
    GSYM_LOOKUP_LLVM = 1
} gsym_lookup_flags;

typedef struct gsym_frame {
    uint64_t name;   /* string offset */
    uint64_t offset; /* in bytes, from the start of the function or of its first
                      * inline range */
    uint32_t file;
    uint32_t line;    /* 0: unknown */
    uint32_t inlined; /* 1 on all frames but the last */
    uint32_t reserved;
} gsym_frame;

typedef struct gsym_answer {
    uint64_t function_address; /* start of the function */
    uint64_t function_size;    /* in bytes */
    uint64_t function_name;    /* string offset */
    uint32_t found;        /* 0: no function covers the address */
    uint32_t entry;        /* index in the address table */
    uint32_t frame_count;  /* may exceed the capacity given */
    uint32_t regex_count;  /* number of patterns of the call site at exactly this address,
                            * which may exceed the capacity */
    uint32_t merged_count; /* number of functions merged into this one */
    uint32_t reserved;
} gsym_answer;

/* Buffers of the caller for the results of a lookup besides the answer. */
typedef struct gsym_lookup_room {
    gsym_frame *frames;
    size_t frame_capacity;
    uint64_t *regexes; /* string offsets of patterns */
    size_t regex_capacity;
} gsym_lookup_room;

/* Find the function that covers `address`. Write its frames, innermost first, and the
 * patterns of the call site that returns to exactly this address, as many as `room` has
 * capacity for; `room` may be NULL. `child` is 0 for the function itself, and 1 to
 * merged_count for a function merged into it. Threads may use one image at the same time.
 * Memory is allocated only for indexes that the file lacks. */
gsym_status gsym_image_lookup(const gsym_image *image, uint64_t address, uint32_t child,
                              uint32_t flags, const gsym_lookup_room *room,
                              gsym_answer *answer_ret, gsym_error *error);

/* Why an address has no answer. */
typedef enum gsym_miss {
    GSYM_MISS_NONE = 0, /* it has an answer */
    GSYM_MISS_NO_FUNCTION = 1,
    GSYM_MISS_DAMAGED = 2,    /* the record cannot be decoded */
    GSYM_MISS_NO_ADDRESS = 3, /* the row has no address */
    GSYM_MISS_NO_MODULE = 4,  /* the row has no module */
    GSYM_MISS_OTHERS = 5      /* this and greater numbers are reasons of the caller */
} gsym_miss;

typedef struct gsym_batch gsym_batch;
/* Frames of many addresses as columns, which the batch owns. A row is a frame; the frames
 * of an address are adjacent, innermost first. */
typedef struct gsym_columns {
    size_t count;                  /* number of rows */
    const uint32_t *address_index; /* index in addresses[] of gsym_image_lookup_many */
    const uint32_t *function;      /* entry in the address table */
    const uint64_t *name; /* string offset */
    const uint32_t *file;
    const uint32_t *line;
    const uint64_t *offset; /* as in gsym_frame */
    const uint8_t *inlined;
    const uint8_t *miss; /* gsym_miss */
    uint64_t found;   /* addresses with an answer */
    uint64_t damaged; /* addresses at damaged records */
} gsym_columns;
/* Look up addresses[0 .. count). With `misses`, an address without an answer has a row:
 * function UINT32_MAX, the other columns 0. */
gsym_status gsym_image_lookup_many(const gsym_image *image, const uint64_t *addresses,
                                   size_t count, int misses, gsym_batch **batch_ret,
                                   gsym_error *error);
/* Allocate a batch for the frames of several batches; gsym_batch_join fills it. */
gsym_status gsym_batch_create_joined(gsym_batch *const *parts, size_t part_count,
                                     gsym_batch **batch_ret, gsym_error *error);
/* Copy the frames of parts[index] to their position; their addresses are numbered from
 * `first_address`. Threads may copy different parts at the same time. */
void gsym_batch_join(gsym_batch *batch, gsym_batch *const *parts, size_t index,
                     uint32_t first_address);
void gsym_batch_columns(const gsym_batch *batch, gsym_columns *columns_ret);
void gsym_batch_destroy(gsym_batch *batch);

/* The distinct values of a column of integers of `width` 4 or 8 bytes, in order of first
 * occurrence, and for each row the index of its value: the code. It owns both arrays. */
typedef struct gsym_distinct gsym_distinct;
gsym_status gsym_distinct_create(const void *column, size_t count, unsigned width,
                                 gsym_distinct **distinct_ret, gsym_error *error);
void gsym_distinct_destroy(gsym_distinct *distinct);
const uint32_t *gsym_distinct_codes(const gsym_distinct *distinct);
const uint64_t *gsym_distinct_values(const gsym_distinct *distinct, size_t *count_ret);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
