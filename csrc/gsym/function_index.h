/* function_index.h - a large record, laid out so that a lookup reads next to nothing of it.
 *
 * The line program gets a checkpoint every few opcodes, and the tree of inlined calls is
 * flattened: from one boundary to the next all addresses have the same innermost call.
 * An index answers exactly as decoding the record would. */
#ifndef GSYM_GSYM_FUNCTION_INDEX_H
#define GSYM_GSYM_FUNCTION_INDEX_H

#include "gsym/call_boundaries.h"

/* One InfoType of the record; a size of 0: the record has none. */
typedef struct index_part {
    uint32_t at; /* of the payload, from the start of the record */
    uint32_t size;
} index_part;

/* Addresses side by side; what stands before them. */
typedef struct index_slice {
    uint32_t checkpoints;
    uint32_t boundaries;
} index_slice;

/* What a frame says of an inlined call. */
typedef struct index_call {
    uint64_t name;
    uint32_t parent; /* 0: it is the root */
    uint32_t start;  /* of its first range, from the start of the function */
    uint32_t call_file;
    uint32_t call_line;
} index_call;

typedef struct function_index {
    uint64_t name;
    uint64_t size;                                /* of the function */
    index_part parts[GSYM_INFO_CALL_SITES + 1];   /* by InfoType */
    size_t bytes;                                 /* of this index */
    uint32_t checkpoint_count;
    uint32_t boundary_count;
    uint32_t last_slice; /* takes in what lies behind it */
    uint32_t slice_bits; /* of the size of a slice */
    /* In one block with this structure. */
    const index_slice *slices; /* one more than there are */
    const line_checkpoint *checkpoints;
    const index_call *calls; /* number n is calls[n - 1] */
    const call_boundary *boundaries;
} function_index;

/* Index the record at the cursor, to be freed with free(). NULL where neither its lines nor
 * its calls take `least` bytes, it is damaged or there is no memory: then the record has to
 * be decoded. */
function_index *function_index_create(const cursor *record, unsigned strp_size,
                                      uint32_t least);

/* The payload of one InfoType of the record at the cursor. */
static inline cursor function_index_payload(const function_index *index,
                                            const cursor *record, uint32_t type) {
    cursor payload = *record;
    payload.at += index->parts[type].at;
    payload.end = payload.at + index->parts[type].size;
    return payload;
}

/* Whether the record has more than lines and calls. */
static inline bool function_index_has_more(const function_index *index) {
    return index->parts[GSYM_INFO_MERGED_FUNCTIONS].size > 0 ||
           index->parts[GSYM_INFO_CALL_SITES].size > 0;
}

/* The call that another was inlined into, or NULL. */
static inline const index_call *function_index_caller(const function_index *index,
                                                      const index_call *call) {
    return call->parent == 0 ? NULL : &index->calls[call->parent - 1];
}

/* The last checkpoint at or below `offset` from the start of the function, or NULL. */
const line_checkpoint *function_index_checkpoint(const function_index *index,
                                                 uint64_t offset);
/* The innermost call at `offset`, or NULL. */
const index_call *function_index_innermost(const function_index *index, uint64_t offset);

#endif
