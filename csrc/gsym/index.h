/* index.h - indexes of large functions, in memory and in files. */
#ifndef GSYM_GSYM_INDEX_H
#define GSYM_GSYM_INDEX_H

#include <stdatomic.h>

#include "gsym/function_info.h"

typedef struct call_boundary {
    uint32_t offset;    /* from the start of the function */
    uint32_t innermost; /* number of the call from there on, 0: none */
} call_boundary;

typedef struct call_boundaries {
    call_boundary *items; /* ascending */
    uint32_t count;
} call_boundaries;

/* The boundaries of a tree, to be freed in any case. False if the tree needs too much work,
 * or out of memory. */
bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries);
void call_boundaries_deinit(call_boundaries *boundaries);

/* Parameters of indexes in memory and in files. */

enum {
    INDEX_LEAST_PAYLOAD = 128,  /* bytes of lines or of calls: decoding fewer is as fast */
    INDEX_LINE_SPACING = 64,    /* bytes of opcodes between two checkpoints */
    INDEX_STEPS_PER_RANGE = 256 /* limit of work for a tree of calls */
};

/* A large record, arranged so that a lookup reads very little of it.
 *
 * The line program gets a checkpoint every few opcodes, and the tree of inlined calls is
 * flattened: from one boundary to the next all addresses have the same innermost call. An
 * index gives exactly the answers of the record. */

/* One InfoType of the record; size 0: none. */
typedef struct index_part {
    uint32_t at; /* of the payload, from the start of the record */
    uint32_t size;
} index_part;

/* Addresses side by side, and the values before them. */
typedef struct index_slice {
    uint32_t checkpoints;
    uint32_t boundaries;
} index_slice;

/* The data of a frame for an inlined call. */
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
    uint32_t last_slice; /* takes in what comes after it */
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

/* The indexes of an image's large records, made as lookups come. */

typedef struct index_cache {
    /* One for each entry of the address table: what is known of its record, or its index.
     * An index is published whole and stays until the image is closed. */
    _Atomic(uintptr_t) *slots;
    size_t count;
    _Atomic size_t made; /* slots that hold an index */
    _Atomic uint64_t used; /* bytes of all indexes */
    _Atomic uint64_t limit; /* no index is begun where they take as much */
} index_cache;

enum { INDEX_CACHE_FIRST = 3 }; /* slots below hold no index */

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit);
void index_cache_deinit(index_cache *cache);

/* The index of entry `entry`, if there is one by now. */
static inline const function_index *index_cache_find(const index_cache *cache,
                                                     size_t entry) {
    uintptr_t found = atomic_load_explicit(&cache->slots[entry], memory_order_acquire);
    return found >= INDEX_CACHE_FIRST ? (const function_index *)found : NULL;
}

/* The index of entry `entry`, whose record is at the cursor; NULL: decode it. Most records
 * that are asked for once are never asked for again, so the second time makes it; with
 * `is_frequent` the first. Safe from many threads. */
const function_index *index_cache_get(index_cache *cache, size_t entry,
                                      const cursor *record, unsigned strp_size,
                                      bool is_frequent);

/* The index of one function as a file holds it.
 *
 * The line program has checkpoints to go on from. So has the tree of calls: from each of
 * its boundaries on, the call that all addresses have in common, and the first one below
 * it that may cover one of them. What is found by either is what decoding the record from
 * its start finds.
 *
 * An index comes from a file: its numbers are no more trusted than those of a record, and
 * one that does not fit the record is passed over. */

/* The columns in their order in the file; the numbers of one are equally wide. */
typedef enum stored_column {
    LINE_OFFSET, /* of a row, from the start of the function */
    LINE_AT,     /* of the next opcode, from the start of the payload */
    LINE_FILE,
    LINE_NUMBER,
    CALLS_OFFSET, /* of a boundary, from the start of the function */
    CALLS_NODE,   /* what is common to all addresses up to the next; 0: nothing is */
    CALLS_AT,     /* of the first call below it, from the start of the payload; 0: none */
    NODE_PARENT,  /* its number, which is lower; 0: it is the root */
    NODE_START,   /* of its first range, from the start of the function */
    NODE_FIELDS,  /* where its name stands, from the start of the payload */
    COLUMN_COUNT
} stored_column;

typedef struct stored_index {
    uint64_t line_table_size; /* of the payloads that it was made for */
    uint64_t inline_info_size;
    uint32_t counts[3]; /* of checkpoints, boundaries, nodes */
    const uint8_t *numbers; /* of all columns, which lie in the file */
    uint64_t columns[COLUMN_COUNT]; /* where each begins among them */
    uint8_t widths[COLUMN_COUNT];
    bool swap;
} stored_index;

/* Where a walk over the tree of calls begins. */
typedef struct calls_checkpoint {
    uint32_t node; /* number of the call that it begins below; 0: at the root */
    uint32_t at;   /* of the first call to look at; 0: there is none below a node */
} calls_checkpoint;

/* The last checkpoint at or below `offset` from the start of the function. */
bool stored_index_line(const stored_index *index, uint64_t offset,
                       line_checkpoint *checkpoint_ret);
bool stored_index_calls(const stored_index *index, uint64_t offset,
                        calls_checkpoint *checkpoint_ret);
/* Call `number`, from 1 on; those around it have lower ones. */
bool stored_index_node(const stored_index *index, uint32_t number, call_node *node_ret);

/* The indexes of all functions as one part of a file. */

/* A part that belongs to the file it was found in; a size of 0: there is none. */
typedef struct index_section {
    const uint8_t *bytes;
    size_t size;
    uint32_t num_addresses; /* entries of its table, one for each of the address table */
    uint32_t function_count; /* that have an index */
    bool swap;
} index_section;

/* In version 1 nothing tells of the part, so a file with one has a multiple of so many bytes:
 * the last page of most others need not be read to see that they have none. */
enum { INDEX_FILE_MULTIPLE = 512, INDEX_ALIGNMENT = 8 };

/* Find the part that ends at `end` of the file, whose header (in version 2 with the
 * directory) takes its first `head_size` bytes. False where there is none, one of another
 * version or one that was made for another header. */
bool index_section_open(const uint8_t *data, uint64_t end, size_t head_size,
                        bool big_endian, index_section *section_ret);
/* The index of entry `entry`, if it has one. */
bool index_section_find(const index_section *section, uint32_t entry,
                        stored_index *index_ret);

/* Make the part in `out`, which is empty: begin, add each entry in its order, in version 1
 * fill up, end. What is made is the same for the same records, so two of them can be compared. */
void index_section_begin(buffer *out, uint32_t num_addresses);
/* `record` may end after its record; its name need not be known yet. */
void index_section_add(buffer *out, uint32_t entry, const cursor *record,
                       unsigned strp_size);
/* The part will begin at `start` of the file. */
void index_section_fill_up(buffer *out, uint64_t start);
void index_section_end(buffer *out, uint32_t num_addresses);
/* Say which header it was made for. */
void index_section_identify(buffer *out, const uint8_t *head, size_t head_size);

#endif
