/* creator.h - the creator, for sources inside the engine. */
#ifndef GSYM_CREATE_CREATOR_H
#define GSYM_CREATE_CREATOR_H

#include "base/buffer.h"
#include "base/hash.h"

/* What is known of a record: creator_record.flags. */
enum {
    RECORD_SYMBOL = GSYM_ORIGIN_SYMBOL_TABLE, /* else it is of the debug information */
    /* No address of it was asked for: only where it is matters, and it has no name. */
    RECORD_NOT_ASKED = 2,
    /* `pending_name` is its name, which is not interned yet. */
    RECORD_NAME_PENDING = 4,
    /* It gets the name of a symbol of its range; without one it is omitted. */
    RECORD_NAMELESS = 8,
    /* A symbol of its range has a better name, unless its own is a linkage name. */
    RECORD_NAMED_BY_SYMBOL = 16,
    /* It is not a function, but lines for the symbols of its addresses. */
    RECORD_LINES = 32,
    /* It is of one of the units that describe a function, of which the linker kept the
     * first copy. */
    RECORD_COPY = 64,
    RECORD_BINDING_SHIFT = 8 /* the symbol_binding is in the highest bits */
};

/* A function that is encoded already.
 *
 * The encoders of units and of Breakpad batches fill a record, with `blob_offset` until
 * their memory has its final place, then with `blob`. A symbol comes with `pending_name`;
 * creator_prune interns the names of those that stay and sets `blob` to NULL: such a record
 * is size and name alone. finish.c lists the steps that replace a blob by a longer one. */
typedef struct creator_record {
    uint64_t address;
    uint64_t size;
    uint64_t name; /* strp; 0 with RECORD_NAME_PENDING or RECORD_NOT_ASKED */
    union {
        const uint8_t *blob; /* encoded FunctionInfo, which lives as long as the creator */
        size_t blob_offset;  /* of the same in the memory of the encoder */
        const char *pending_name;
    };
    uint32_t blob_size;  /* of what is in the union */
    uint32_t index_size; /* of its index, which follows the blob; 0: it is not made yet */
    uint32_t row_count;
    uint32_t node_count; /* inline nodes below the root */
    uint32_t flags;
} creator_record;

unsigned creator_strp_size(const gsym_creator *creator);
bool creator_big_endian(const gsym_creator *creator);
bool creator_has_index(const gsym_creator *creator);

/* Like gsym_creator_add_string, for a caller that has hashed the bytes with
 * string_hash() outside an ordered step. */
gsym_status creator_intern(gsym_creator *creator, const char *bytes, size_t size,
                           uint64_t hash, uint64_t *strp_ret, gsym_error *error);
/* Like gsym_creator_add_path, with string_hash() of the complete path. */
gsym_status creator_intern_path(gsym_creator *creator, const char *bytes, size_t size,
                                uint64_t hash, uint32_t *file_ret, gsym_error *error);

/* Free `bytes` (from malloc) together with the creator: memory of blobs. */
gsym_status creator_adopt(gsym_creator *creator, void *bytes, gsym_error *error);
/* Copy bytes to where they live as long as the creator. */
gsym_status creator_store(gsym_creator *creator, const uint8_t *bytes, size_t size,
                          const uint8_t **stored_ret, gsym_error *error);
/* Make stored bytes the blob of a record. */
gsym_status creator_store_blob(gsym_creator *creator, const buffer *bytes,
                               creator_record *record, gsym_error *error);
/* Keep encoded functions; among equals the order of these calls decides. */
gsym_status creator_keep(gsym_creator *creator, const creator_record *records,
                         size_t count, gsym_error *error);
/* Whether a function of the debug information starts at one of `addresses`, which
 * ascend. */
bool creator_describes(const gsym_creator *creator, const uint64_t *addresses,
                       size_t count);
/* Whether the file has to answer for an address in [start, end); see gsym_creator_ask. */
bool creator_answers_in(const gsym_creator *creator, uint64_t start, uint64_t end);
/* Symbols will come, after the functions of the debug information; which of them may matter
 * where only some addresses are asked for. */
void creator_await_symbols(gsym_creator *creator);
bool creator_needs_symbol(const gsym_creator *creator, uint64_t start, uint64_t size);
/* Strings will come from input of so many bytes: see string_table_supply. */
void creator_supply_strings(gsym_creator *creator, uint64_t size);
/* The same input as another creator has. */
void creator_share_supply(gsym_creator *creator, const gsym_creator *from);
/* The limit on bytes of strings, for all input so far. */
uint64_t creator_string_supply(const gsym_creator *creator);
/* Report that this limit is exceeded. */
gsym_status creator_fail_supply(gsym_error *error);
/* Report functions that were not kept since they repeat one that was. */
void creator_count_repeated(gsym_creator *creator, uint64_t count);
/* Report symbols that were dropped since a function is more complete. */
void creator_count_symbols(gsym_creator *creator, uint64_t count);
/* Allow the base address to be lowered to the start of the first function. */
void creator_allow_lower_base(gsym_creator *creator);
/* The binding of a symbol: of those of one range, the lowest gives the name. */
typedef enum symbol_binding {
    SYMBOL_GLOBAL,
    SYMBOL_WEAK,
    SYMBOL_LOCAL,
    /* In addition: without a type or size of its own, so that it yields to any function
     * that covers its address. */
    SYMBOL_LABEL = 4,
    SYMBOL_UNTYPED = 8 /* in a table where most functions have a type */
} symbol_binding;

/* Keep a function of a symbol table. Its name is interned only if it survives
 * pruning, so `name` must live until gsym_creator_finish. */
gsym_status creator_keep_symbol(gsym_creator *creator, uint64_t address, uint64_t size,
                                const char *name, size_t name_size,
                                uint32_t binding, gsym_error *error);
/* Whether no function was added or kept. */
bool creator_is_empty(const gsym_creator *creator);
/* Functions without a size extend to the next one, at most to the end of their text range
 * and to where symbols end; else only the last one is bounded by its text range. */
void creator_bound_symbols(gsym_creator *creator);
gsym_status creator_end_symbols_at(gsym_creator *creator, uint64_t address,
                                   gsym_error *error);
/* Ranges may be in any order. */
gsym_status creator_add_text_range(gsym_creator *creator, uint64_t start, uint64_t end,
                                   gsym_error *error);

#endif
