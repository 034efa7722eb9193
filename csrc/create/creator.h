/* creator.h - declare the functions by which sources/ passes functions to a creator. */
#ifndef GSYM_CREATE_CREATOR_H
#define GSYM_CREATE_CREATOR_H

#include "base/buffer.h"
#include "base/hash.h"

/* Bits of creator_record.flags. */
enum {
    RECORD_SYMBOL = GSYM_ORIGIN_SYMBOL_TABLE, /* not set: a function of the debug
                                                 information */
    /* No address in it was asked for. Such a record has no name; it only says that a
     * function is there. */
    RECORD_NOT_ASKED = 2,
    /* `pending_name` is its name, which is not interned yet. */
    RECORD_NAME_PENDING = 4,
    /* It has no name and gets that of a symbol of its range; without such a symbol it is
     * omitted. */
    RECORD_NAMELESS = 8,
    /* A symbol of its range has a better name, unless its own is a linkage name. */
    RECORD_NAMED_BY_SYMBOL = 16,
    /* It is not a function: its lines are for symbols at its addresses. */
    RECORD_LINES = 32,
    /* Several units may describe the function, of which the linker kept the first copy. */
    RECORD_COPY = 64,
    /* After the blob stands where the names of inlined calls are in it, as in index_source;
     * it has no other number of a string but its own name. */
    RECORD_HAS_NAMES = 128,
    /* A symbol has rows of these lines. */
    RECORD_USED = 256,
    /* Its `name` is the index of the record that names it, while records are pruned. */
    RECORD_NAME_TAKEN = 512,
    RECORD_BINDING_SHIFT = 10 /* the symbol_binding is in the highest bits */
};

/* A function of the file.
 *
 * Members of the union: the encoders of units and of Breakpad batches set `blob_offset`,
 * and replace it by `blob` when their memory no longer moves. A symbol comes with
 * `pending_name`; creator_prune() gives the names of symbols that stay their numbers and
 * sets `blob` to NULL, which means size and name alone. creator_assign_lines(),
 * creator_place_call_sites() and gsym_creator_merge_functions() replace a blob by a longer
 * one. */
typedef struct creator_record {
    uint64_t address;
    uint64_t size;
    uint64_t name; /* strp; 0 with RECORD_NAME_PENDING or RECORD_NOT_ASKED */
    union {
        const uint8_t *blob; /* encoded FunctionInfo, which lives as long as the creator */
        size_t blob_offset;  /* where the blob is in the memory of the encoder */
        const char *pending_name;
    };
    uint32_t blob_size;  /* bytes of the blob or of the pending name */
    uint32_t names_size; /* bytes after the blob, with RECORD_HAS_NAMES */
    uint32_t index_size; /* bytes of its index after these; 0: not made yet */
    uint32_t row_count;
    uint32_t node_count; /* inline nodes below the root */
    uint32_t flags;
} creator_record;

/* Return the record of a function, without its blob. */
static inline creator_record creator_record_of(const gsym_function *function,
                                               uint32_t flags) {
    return (creator_record){
        .address = function->address,
        .size = function->size,
        .name = function->name,
        .row_count = (uint32_t)function->row_count,
        .node_count = (uint32_t)(function->node_count == 0 ? 0 : function->node_count - 1),
        .flags = flags};
}

unsigned creator_strp_size(const gsym_creator *creator);
bool creator_big_endian(const gsym_creator *creator);
bool creator_has_index(const gsym_creator *creator);

/* Let another thread do a part of finishing, if there are many functions. */
void creator_allow_thread(gsym_creator *creator);
/* Prepare to keep `count` records more. */
gsym_status creator_expect(gsym_creator *creator, size_t count, gsym_error *error);

/* Add a string as gsym_creator_add_string() does. `hash` is string_hash() of the bytes, so
 * that it can be computed before the ordered step. */
gsym_status creator_intern(gsym_creator *creator, const char *bytes, size_t size,
                           uint64_t hash, uint64_t *strp_ret, gsym_error *error);
/* Prefetch what creator_intern() reads first. */
void creator_fetch_string(const gsym_creator *creator, const char *bytes, uint64_t hash);
/* Add a path as gsym_creator_add_path() does; `hash` is string_hash() of the complete
 * path. */
gsym_status creator_intern_path(gsym_creator *creator, const char *bytes, size_t size,
                                uint64_t hash, uint32_t *file_ret, gsym_error *error);

/* Take ownership of `bytes` (from malloc), which hold blobs: the creator frees them. */
gsym_status creator_adopt(gsym_creator *creator, void *bytes, gsym_error *error);
/* Copy bytes to memory that lives as long as the creator. */
gsym_status creator_store(gsym_creator *creator, const uint8_t *bytes, size_t size,
                          const uint8_t **stored_ret, gsym_error *error);
/* Encode a function into creator->encoded, and set the counts of its record. */
gsym_status creator_encode(gsym_creator *creator, const gsym_function *function,
                           creator_record *record, gsym_error *error);
/* Store bytes as the blob of a record, which has no index. */
gsym_status creator_store_blob(gsym_creator *creator, const buffer *bytes,
                               creator_record *record, gsym_error *error);
/* Store a blob of size and name alone for a record that has none. */
gsym_status creator_store_minimum_record(gsym_creator *creator, creator_record *record,
                                         gsym_error *error);
/* Keep encoded functions. Pruning may prefer one of several equal functions by the order in
 * which they were kept. */
gsym_status creator_keep(gsym_creator *creator, const creator_record *records,
                         size_t count, gsym_error *error);
/* Whether a function of the debug information starts at one of `addresses`, which
 * ascend. */
bool creator_describes(const gsym_creator *creator, const uint64_t *addresses,
                       size_t count);
/* Whether the file has to answer for an address in [start, end); see gsym_creator_ask. */
bool creator_answers_in(const gsym_creator *creator, uint64_t start, uint64_t end);
/* Prepare creator_needs_symbol(). The functions of the debug information are complete, and
 * symbols follow. */
void creator_await_symbols(gsym_creator *creator);
/* Whether a symbol may affect a requested address. */
bool creator_needs_symbol(const gsym_creator *creator, uint64_t start, uint64_t size);
/* Raise the limit on bytes of strings for an input of `size` bytes: see
 * string_table_raise_limit(). */
void creator_raise_string_limit(gsym_creator *creator, uint64_t size);
/* Set the limit on bytes of strings to that of another creator, which has the same
 * input. */
void creator_share_string_limit(gsym_creator *creator, const gsym_creator *from);
/* Return the limit on bytes of strings. */
uint64_t creator_string_limit(const gsym_creator *creator);
/* Add functions to the report that were not kept because they repeat one that was. */
void creator_count_repeated(gsym_creator *creator, uint64_t count);
/* Add symbols to the report that were dropped because a function is more complete. */
void creator_count_symbols(gsym_creator *creator, uint64_t count);
/* Allow the base address to be lowered to the start of the first function. */
void creator_allow_lower_base(gsym_creator *creator);
/* The binding of a symbol. Of several symbols of one range, the one with the lowest binding
 * gives the name. */
typedef enum symbol_binding {
    SYMBOL_GLOBAL,
    SYMBOL_WEAK,
    SYMBOL_LOCAL,
    /* Bits that are added to one of these numbers. A label has no type or size of its own;
     * it is dropped if any function covers its address. */
    SYMBOL_LABEL = 4,
    SYMBOL_UNTYPED = 8 /* it has no type, in a table where most functions have one */
} symbol_binding;

/* Keep a function of a symbol table; a size of 4 GiB or more is kept as unknown. Its name
 * is interned only if it survives pruning, so `name` must live until
 * gsym_creator_finish(). */
gsym_status creator_keep_symbol(gsym_creator *creator, uint64_t address, uint64_t size,
                                const char *name, size_t name_size,
                                uint32_t binding, gsym_error *error);
/* Whether no function was added or kept. */
bool creator_is_empty(const gsym_creator *creator);
/* Let every function without a size end at the next function, at the end of its text range
 * or at an address given to creator_end_symbols_at(). Without this call, only the last
 * function ends with its text range. */
void creator_bound_symbols(gsym_creator *creator);
gsym_status creator_end_symbols_at(gsym_creator *creator, uint64_t address,
                                   gsym_error *error);
/* Add a range of addresses with code; ranges may come in any order. */
gsym_status creator_add_text_range(gsym_creator *creator, uint64_t start, uint64_t end,
                                   gsym_error *error);

#endif
