/* index.h - indexes of large functions, made in memory or stored in the file. */
#ifndef GSYM_GSYM_INDEX_H
#define GSYM_GSYM_INDEX_H

#include <stdatomic.h>

#include "gsym/function_info.h"

typedef struct call_boundary {
    uint32_t offset;    /* from the start of the function */
    uint32_t innermost; /* number of the call from there on, 0: none */
} call_boundary;

/* Empty when zeroed; its memory is kept from tree to tree. */
typedef struct call_boundaries {
    call_boundary *items; /* ascending */
    size_t count, capacity;
    /* of ranges: the start of range n at 2 * n, its end after; then as much free space */
    LIST(struct numbered_address) edges;
    LIST(uint32_t) ranks; /* of each edge among the boundaries */
    bool failed;          /* memory ran out */
} call_boundaries;

/* The boundaries of a tree. False if the tree needs too much work, or `failed`. */
bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries);
void call_boundaries_deinit(call_boundaries *boundaries);

enum {
    INDEX_MIN_PAYLOAD = 128,  /* bytes of lines or of calls: decoding fewer is as fast */
    INDEX_CALLS_SPACING = 72,   /* bytes in which the calls of a walk begin */
    INDEX_STEPS_PER_RANGE = 256 /* limit of work for a tree of calls */
};

/* The index of one function.
 *
 * The line program has checkpoints to go on from. So has the tree of calls: from each of
 * its boundaries on, a call that contains all addresses, and the first one below it that
 * may cover one of them. What is found by either is what decoding the record from its
 * start finds.
 *
 * An index may come from a file: its numbers are no more trusted than those of a record,
 * and one that does not fit the record is passed over. */

/* What a number of an index counts; the numbers of a kind have one width. */
typedef enum index_number {
    INDEX_OFFSET,   /* from the start of the function */
    INDEX_LINE,     /* a file or a line */
    INDEX_NODE,     /* a call of the index, from 1 on */
    INDEX_LOCATION, /* from the start of the tree of calls */
    INDEX_NUMBERS
} index_number;

typedef struct function_index {
    uint64_t line_table_size; /* of the payloads that it was made for */
    uint64_t inline_info_size;
    const uint8_t *checkpoints; /* rows of numbers, one table after another */
    const uint8_t *boundaries;
    const uint8_t *nodes;
    uint32_t checkpoint_count, boundary_count, node_count;
    unsigned widths; /* of the numbers, as in its bytes */
    bool swap;
} function_index;

/* Whether a function is large, by the sizes of its payloads. */
static inline bool function_index_is_worth(uint64_t lines_size, uint64_t calls_size) {
    return lines_size >= INDEX_MIN_PAYLOAD || calls_size >= INDEX_MIN_PAYLOAD;
}

/* Adjacent boundaries whose calls are found by one walk. */
typedef struct call_group {
    uint32_t offset;
    uint32_t node; /* contains all */
    uint32_t at;   /* of the first call below it that a walk needs; 0: none */
    uint32_t last; /* of the last such call */
} call_group;

/* Empty when zeroed; its memory is kept from one function to the next. */
typedef struct index_encoder {
    index_source source;
    call_boundaries boundaries;
    LIST(call_group) groups;
    LIST(uint32_t) numbers; /* of stored nodes, by number in the tree; 0: not stored */
    uint32_t node_count;
    uint64_t steps; /* remaining */
    bool failed;    /* memory ran out; stays set */
} index_encoder;

void index_encoder_deinit(index_encoder *encoder);
/* Append the index that encoder->source is for. False, and nothing is appended, if the
 * function is not large or has too many calls, or if `out` has failed. */
bool function_index_put(index_encoder *encoder, buffer *out);
/* The same for the record at the cursor, which may go on after it; its name need not be
 * known yet. Also false if the record is damaged. */
bool function_index_encode(index_encoder *encoder, buffer *out, const cursor *record,
                           unsigned strp_size);
/* The index at the cursor; false: it is damaged. */
bool function_index_open(const cursor *at, function_index *index_ret);

/* The last checkpoint at or below `offset` from the start of the function, whose line table
 * is `payload`. False: there is none, or no index, which is NULL, or not of this table. */
bool function_index_line(const function_index *index, const cursor *payload,
                         uint64_t offset, line_checkpoint *checkpoint_ret);

/* Where a walk over the tree of calls begins. */
typedef struct calls_checkpoint {
    uint32_t node; /* number of the call that it begins below; 0: at the root */
    uint32_t at;   /* of the first call to look at; 0: there is none below a node */
    uint64_t end;  /* offset of the next checkpoint */
} calls_checkpoint;

typedef struct function_calls {
    cursor payload;              /* all zero: there are none */
    const function_index *index; /* NULL: walk from the root */
    calls_checkpoint from;
} function_calls;

/* The calls at `offset` of a function, whose index may be NULL or of another tree. */
function_calls function_index_calls(const function_index *index, const cursor *payload,
                                    uint64_t offset);
/* Call `number`, from 1 on; those around it have lower ones. */
bool function_index_node(const function_index *index, uint32_t number, call_node *node_ret);

/* The indexes of all functions as one part of a file. */

/* A part that belongs to the file it was found in; a size of 0: there is none. */
typedef struct index_section {
    const uint8_t *bytes;
    size_t size;
    uint32_t num_addresses; /* entries of its table, one for each of the address table */
    uint32_t function_count; /* that have an index */
    bool swap;
} index_section;

/* Version 1 has no directory. A file with an index is padded to a multiple of 512 bytes, so
 * for most files the size alone shows that there is none. */
enum { INDEX_FILE_MULTIPLE = 512, INDEX_ALIGNMENT = 8 };

/* Find the part that ends at `end` of the file, whose header (in version 2 with the
 * directory) takes its first `head_size` bytes. False where there is none, one of another
 * version or one that was made for another header. */
bool index_section_open(const uint8_t *data, uint64_t end, size_t head_size,
                        bool big_endian, index_section *section_ret);
/* The index of entry `entry`, if it has one. */
bool index_section_find(const index_section *section, uint32_t entry,
                        function_index *index_ret);

/* Make the part in `out`, which is empty: begin, append the index of each entry that has
 * one in its order; if that was worth it, in version 1 fill up, and end. What is made is
 * the same for the same records, so two of them can be compared. */
void index_section_begin(buffer *out, uint32_t num_addresses);
/* What was appended from `offset` on is the index of an entry. */
void index_section_add(buffer *out, uint32_t entry, size_t offset);
/* Whether a function has an index. */
bool index_section_is_worth(const buffer *out, uint32_t num_addresses);
/* The part will begin at `start` of the file. */
void index_section_fill_up(buffer *out, uint64_t start);
void index_section_end(buffer *out, uint32_t num_addresses);
/* Say which header it was made for. */
void index_section_identify(buffer *out, const uint8_t *head, size_t head_size);

/* The indexes that a file lacks, made as lookups come. */

typedef struct index_cache {
    /* One for each entry of the address table: an index is published whole and stays until
     * the image is closed. */
    _Atomic(uintptr_t) *slots;
    size_t count;
    _Atomic size_t made; /* slots that hold an index */
    _Atomic uint64_t used; /* bytes of all indexes */
    _Atomic uint64_t limit; /* no index is begun where they take as much */
} index_cache;

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit);
void index_cache_deinit(index_cache *cache);

/* The index of entry `entry`, whose record is at the cursor: made the first time. False:
 * the record has to be decoded. Safe from many threads. */
bool index_cache_find(index_cache *cache, size_t entry, const cursor *record,
                      unsigned strp_size, function_index *index_ret);

#endif
