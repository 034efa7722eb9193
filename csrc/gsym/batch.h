/* batch.h - append the frames of many addresses to columns, one image after another. */
#ifndef GSYM_GSYM_BATCH_H
#define GSYM_GSYM_BATCH_H

#include "gsym/image.h"

struct gsym_batch {
    size_t count, capacity;
    uint32_t *address_index;
    uint32_t *function;
    uint64_t *name;
    uint32_t *file;
    uint32_t *line;
    uint64_t *offset;
    uint8_t *inlined;
    uint8_t *miss; /* gsym_miss */
    uint64_t found;
    uint64_t damaged;
};

/* Look up addresses of an image; they are numbered from `first`. */
gsym_status batch_look_up(gsym_batch *batch, const gsym_image *image,
                          const uint64_t *addresses, size_t count, uint32_t first,
                          bool misses, gsym_error *error);
/* Free the columns. */
void batch_deinit(gsym_batch *batch);

#endif
