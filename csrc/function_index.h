/* function_index.h - a large record, laid out so that a lookup reads next to nothing of it.
 *
 * The line program gets a checkpoint every few opcodes, and the tree of inlined calls is
 * flattened: from one boundary to the next all addresses have the same innermost call.
 * An index answers exactly as decoding the record would. */
#ifndef GSYM_FUNCTION_INDEX_H
#define GSYM_FUNCTION_INDEX_H

#include "function_info.h"

/* One InfoType of the record; a size of 0: the record has none. */
typedef struct index_part {
    uint32_t at; /* of the payload, from the start of the record */
    uint32_t size;
} index_part;

typedef struct function_index {
    uint64_t name;
    uint64_t size;                                /* of the function */
    index_part parts[GSYM_INFO_CALL_SITES + 1];   /* by InfoType */
    size_t bytes;                                 /* of this index */
    uint32_t checkpoint_count;
    uint32_t boundary_count;
    /* In one block with this structure. */
    const line_checkpoint *checkpoints;
    const call_node *nodes;     /* call number n is nodes[n - 1] */
    const uint32_t *boundaries; /* offsets from the start of the function, ascending */
    const uint32_t *innermost;  /* number of the call from each boundary on, 0: none */
} function_index;

#define INDEX_LEAST_PAYLOAD 128 /* smaller ones are decoded as fast */

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
static inline const call_node *function_index_caller(const function_index *index,
                                                     const call_node *node) {
    return node->parent == 0 ? NULL : &index->nodes[node->parent - 1];
}

/* The last checkpoint at or below `offset` from the start of the function, or NULL. */
const line_checkpoint *function_index_checkpoint(const function_index *index,
                                                 uint64_t offset);
/* The innermost call at `offset`, or NULL. */
const call_node *function_index_innermost(const function_index *index, uint64_t offset);

#endif
