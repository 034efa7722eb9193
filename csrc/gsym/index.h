/* index.h - make, store and search indexes of large functions, in memory or in the file. */
#ifndef GSYM_GSYM_INDEX_H
#define GSYM_GSYM_INDEX_H

#include <stdatomic.h>

#include "gsym/function_info.h"

/* An offset at which the innermost inlined call changes. */
typedef struct call_boundary {
    uint32_t offset;    /* from the start of the function */
    uint32_t innermost; /* number of the call from there on, 0: none */
} call_boundary;

/* Empty when zeroed; its memory is kept from tree to tree. */
typedef struct call_boundaries {
    call_boundary *items; /* ascending */
    size_t count, capacity;
    /* Item 2 * n is the start of range n, item 2 * n + 1 its end. As many free items
     * follow, for sorting. */
    LIST(struct numbered_address) edges;
    LIST(uint32_t) ranks;   /* index of the boundary at each edge */
    LIST(uint16_t) rank_at; /* by offset: index of the boundary */
    bool failed;            /* memory ran out */
} call_boundaries;

/* List the boundaries of a tree. False if the tree needs too much work, or if memory ran
 * out, which sets boundaries->failed. */
bool call_boundaries_list(const call_tree *tree, call_boundaries *boundaries);
void call_boundaries_deinit(call_boundaries *boundaries);

enum {
    INDEX_MIN_PAYLOAD = 128,  /* a function is large if its line table or its tree of
                                 calls has so many bytes */
    INDEX_CALLS_SPACING = 72,   /* a walk that begins at a checkpoint reads calls that
                                   begin within so many bytes */
    INDEX_STEPS_PER_RANGE = 256 /* limit of work for a tree of calls */
};

/* The index of one function has checkpoints, at which a lookup can begin instead of at the
 * start of the payload. With an index a lookup finds what it would find without one.
 *
 * A checkpoint of the line table is the state of the line program after a row. A checkpoint
 * of the calls is for the addresses from its offset to that of the next checkpoint: it
 * names a call that contains all of them, and the first call inside of that which may
 * contain some of them.
 *
 * An index may come from a file. Its numbers are checked as those of a record are, and an
 * index that does not fit the record is ignored. */

/* The kinds of numbers in an index. All numbers of one kind have the same width. */
typedef enum index_number {
    INDEX_OFFSET,   /* an offset from the start of the function */
    INDEX_LINE,     /* a file or a line */
    INDEX_NODE,     /* a call of the index, from 1 on */
    INDEX_LOCATION, /* an offset in the tree of calls */
    INDEX_NUMBERS
} index_number;

typedef struct function_index {
    uint64_t line_table_size; /* sizes of the payloads that the index was made for */
    uint64_t inline_info_size;
    const uint8_t *checkpoints; /* the tables of the index, each of which has rows of
                                   numbers */
    const uint8_t *call_checkpoints;
    const uint8_t *nodes;
    uint32_t checkpoint_count, call_checkpoint_count, node_count;
    unsigned widths; /* of the numbers, 2 bits for each kind */
    bool swap;
} function_index;

/* Whether a function is large, by the sizes of its payloads. */
static inline bool function_index_is_worth(uint64_t lines_size, uint64_t calls_size) {
    return lines_size >= INDEX_MIN_PAYLOAD || calls_size >= INDEX_MIN_PAYLOAD;
}

/* Adjacent boundaries whose calls are found by one walk; it becomes a call checkpoint. */
typedef struct call_group {
    uint32_t offset;
    uint32_t node; /* the call that contains all of them; 0: the root */
    uint32_t at;   /* location of the first call below it that a walk needs; 0: none */
    uint32_t last; /* location of the last such call */
} call_group;

/* Empty when zeroed; its memory is kept from one function to the next. */
typedef struct index_encoder {
    index_source source;
    call_boundaries boundaries;
    LIST(call_group) groups;
    LIST(uint32_t) numbers; /* for each node of the tree its number in the index; 0 if it
                               is not stored */
    uint32_t node_count;
    uint64_t steps; /* remaining */
    bool failed;    /* memory ran out; stays set */
} index_encoder;

void index_encoder_deinit(index_encoder *encoder);
/* Append the index of the function that encoder->source describes. False if nothing is
 * appended: the function is not large, it has too many calls, or memory ran out, which sets
 * out->failed. */
bool function_index_put(index_encoder *encoder, buffer *out);
/* Append the index of the function whose record is at the cursor, as function_index_put()
 * does. Bytes may follow the record, and its name may be 0. Also false if the record is
 * damaged. */
bool function_index_encode(index_encoder *encoder, buffer *out, const cursor *record,
                           unsigned strp_size);
/* Open the index at the cursor; false if it is damaged. */
bool function_index_open(const cursor *at, function_index *index_ret);

/* Find the last checkpoint at or below `offset` from the start of the function; `payload`
 * is its line table. False if there is none, if the index is NULL or if it was made for
 * another table. */
bool function_index_line(const function_index *index, const cursor *payload,
                         uint64_t offset, line_checkpoint *checkpoint_ret);

/* Where a walk over the tree of calls begins. */
typedef struct calls_checkpoint {
    uint32_t node; /* number of the call that it begins below; 0: at the root */
    uint32_t at;   /* location of the first call to look at; 0: none, unless at the root */
    uint64_t end;  /* offset of the next checkpoint */
} calls_checkpoint;

typedef struct function_calls {
    cursor payload;              /* the tree of calls; all zero: the function has none */
    const function_index *index; /* NULL: walk from the root */
    calls_checkpoint from;
} function_calls;

/* Find where the walk to the calls at `offset` of a function begins. The index may be NULL,
 * and one that was made for another tree is ignored. */
function_calls function_index_calls(const function_index *index, const cursor *payload,
                                    uint64_t offset);
/* Read call `number` of the index, from 1 on; calls that contain it have lower numbers. */
bool function_index_node(const function_index *index, uint32_t number, call_node *node_ret);

/* The indexes of all functions as one part of a file. */

/* The part of a file that holds the indexes; a size of 0: there is none. */
typedef struct index_section {
    const uint8_t *bytes;
    size_t size;
    uint32_t num_addresses; /* entries of its table, one for each of the address table */
    uint32_t function_count; /* number of functions that have an index */
    uint32_t starts_count;   /* 0: it has no starts */
    const uint8_t *starts;
    bool swap;
} index_section;

/* Version 1 has no directory. A file with an index is padded to a multiple of 512 bytes, so
 * for most files the size alone shows that there is none. */
enum { INDEX_FILE_MULTIPLE = 512, INDEX_ALIGNMENT = 8 };

/* The part repeats entries of the address table that are so many bytes apart, a page. */
enum { INDEX_STARTS_SPACING = 4096 };

/* Return the bytes of the starts, which are as wide as the entries of the address table; 0
 * if the table is so small that the part has none. */
size_t index_starts_size(uint32_t num_addresses, unsigned width);

/* Open the part of a file that ends at offset `end`. The header, in version 2 with the
 * directory, takes the first `head_size` bytes. False if no such part is there, if it has
 * another version, or if it was made for another header. */
bool index_section_open(const uint8_t *data, uint64_t end, size_t head_size,
                        const gsym_header *header, index_section *section_ret);
/* Find the index of entry `entry`; false if it has none. */
bool index_section_find(const index_section *section, uint32_t entry,
                        function_index *index_ret);

/* To make the part in an empty buffer, call index_section_begin(); append the index of each
 * entry in order and call index_section_add(); then, if the result is worth it, call
 * index_section_fill_up() in version 1, append the starts, and call index_section_end() and
 * index_section_identify().
 * Equal records give equal bytes, so that two parts can be compared. */
void index_section_begin(buffer *out, uint32_t num_addresses);
/* Let the bytes from `offset` on, which were appended, be the index of an entry. */
void index_section_add(buffer *out, uint32_t entry, size_t offset);
/* Whether any function has an index. */
bool index_section_is_worth(const buffer *out, uint32_t num_addresses);
/* Append zeros so that the file, in which the part begins at `start` minus the size of the
 * starts, will have a multiple of INDEX_FILE_MULTIPLE bytes. */
void index_section_fill_up(buffer *out, uint64_t start);
void index_section_end(buffer *out, uint32_t num_addresses, bool has_starts);
/* Store the checksum of the header that the part was made for. */
void index_section_identify(buffer *out, const uint8_t *head, size_t head_size);

/* Indexes in memory, made by lookups in a file that has none. */

typedef struct index_cache {
    /* One for each entry of the address table: an index is published whole and stays until
     * the image is closed. */
    _Atomic(uintptr_t) *slots;
    size_t count;
    _Atomic size_t made; /* number of slots that hold an index */
    _Atomic uint64_t used; /* bytes of all indexes */
    _Atomic uint64_t limit; /* no index is made once they take this many bytes */
} index_cache;

bool index_cache_init(index_cache *cache, size_t count, uint64_t limit);
void index_cache_deinit(index_cache *cache);

/* Find the index of entry `entry`, whose record is at the cursor; the first call makes it.
 * False if the entry has none. Safe from many threads. */
bool index_cache_find(index_cache *cache, size_t entry, const cursor *record,
                      unsigned strp_size, function_index *index_ret);

#endif
