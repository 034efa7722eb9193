/* state.h - define the state of a creator, which the files of this folder share.
 *
 * creator.c takes functions in, copy.c copies them from another file, shared_strings.c
 * omits strings that the binary around the file has, merged_functions.c folds functions of
 * one range. finish.c calls the rest in this order: prune.c leaves one function for each
 * range (record_order.c compares them, symbol_names.c names them); asked.c leaves those
 * that affect requested addresses; symbol_lines.c gives lines to symbols; call_sites.c adds
 * call sites to the remaining functions; continuations.c adds entries for the rest of a
 * function after one nested in it; string_order.c decides the order of the strings;
 * layout.c produces the bytes. */
#ifndef GSYM_CREATE_STATE_H
#define GSYM_CREATE_STATE_H

#include <stdint.h>

#include "base/limit.h"
#include "create/creator.h"
#include "create/intern.h"
#include "gsym/function_info.h"

typedef LIST(creator_record) record_list;
typedef LIST(uint64_t) address_list;

/* A version-2 section that is copied unchanged. */
typedef struct foreign_section {
    uint32_t type;
    const uint8_t *data;
    size_t size;
    uint64_t offset; /* in the file; set when the file is laid out */
} foreign_section;

typedef LIST(foreign_section) foreign_section_list;
typedef LIST(void *) owned_list;

/* Call sites that were given with the name of their function. gsym_creator_add_call_sites()
 * sets all members but is_placed. creator_place_call_sites() sets `record` again, unless
 * all functions are kept, makes return offsets relative to that record, and sets
 * is_placed. */
typedef struct named_call_sites {
    uint64_t name;
    uint64_t address; /* range of the function that was found, which may be pruned later */
    uint64_t size;
    size_t record; /* index in creator->records */
    gsym_call_site *sites;
    uint32_t site_count;
    bool is_placed; /* they are written into a record */
    const uint64_t *regexes;
} named_call_sites;

typedef LIST(named_call_sites) named_call_sites_list;

/* A string that comes earlier in the file than in the table of the creator. */
typedef struct moved_string {
    uint64_t from; /* its strp in the creator */
    uint64_t to;   /* in the file */
} moved_string;

/* The strings at the start of the file's table; the others follow in their order. */
typedef struct string_order {
    LIST(moved_string) moved; /* ascending; empty, or the first is the empty string, and the
                                 last stands for the end: of the table, and of those that
                                 move */
    uint32_t *starts; /* for each block of the table the first item, but the empty string,
                         at its start or later */
} string_order;

typedef enum output_part {
    OUTPUT_HEAD, /* up to the file table */
    OUTPUT_STRINGS,
    OUTPUT_RECORDS,
    OUTPUT_SECTIONS,
    OUTPUT_SHARING, /* the record before a shared string table */
    OUTPUT_END
} output_part;

/* How far the finished file has been handed out. */
typedef struct creator_output {
    buffer head;
    buffer small; /* padding, the start of a record, the record of shared strings */
    output_part part;
    size_t index;         /* run of strings, record or section that comes next */
    bool is_inside;       /* the start of record or section `index` was handed out, its
                             body was not */
    const uint8_t *piece; /* bytes that come next */
    size_t piece_left;
    uint64_t offset; /* offset in the file of the end of the piece */
    uint8_t *room;   /* where the caller wants the next piece */
    size_t room_size;
} creator_output;

struct gsym_creator {
    gsym_creator_options options;
    unsigned strp_size;
    bool is_finished;
    bool has_thread; /* another thread may do a part of finishing */
    bool may_lower_base; /* the base address may be lowered to the first function */
    bool is_segment;    /* the file is one of the segments of a larger one */
    uint8_t *uuid;
    size_t uuid_size;
    string_table strings;
    string_order order; /* of the finished file */
    file_table files;
    record_list records;
    record_list lines; /* line tables for symbols; see RECORD_LINES */
    address_list asked; /* ascending; empty: all addresses */
    range_list around;  /* the nearest function starts on both sides of asked[i] */
    range_list text_ranges;
    bool bounds_symbols;
    address_list symbol_ends; /* functions without a size end at the first of these at
                                 the latest */
    foreign_section_list sections;
    named_call_sites_list call_sites;
    owned_list owned;
    uint8_t *chunk; /* memory for small blobs; in `owned` */
    size_t chunk_left;
    buffer encoded; /* the record that is being made */
    buffer index;   /* of the finished file */
    gsym_creator_report report;
    uint64_t cut_functions; /* number that lack lines or a name because of a limit */
    creator_output output;
};

enum { MANY_FUNCTIONS = 1 << 13 }; /* for which a second thread saves time */

/* Whether another thread may do a part of finishing. */
static inline bool creator_uses_thread(const gsym_creator *creator) {
    return creator->has_thread && creator->records.count >= MANY_FUNCTIONS;
}

gsym_status creator_check_open(const gsym_creator *creator, gsym_error *error);

/* Return the size of the start of a record: its size and name. */
static inline uint32_t creator_record_head_size(const gsym_creator *creator) {
    return 4 + creator->strp_size;
}

/* Return the size of a bare record, which has only size and name. */
static inline uint32_t creator_minimum_record_size(const gsym_creator *creator) {
    return creator_record_head_size(creator) + 8;
}

/* Return the size of a record in the file. */
static inline uint32_t creator_record_size(const gsym_creator *creator,
                                           const creator_record *record) {
    return record->blob == NULL ? creator_minimum_record_size(creator) : record->blob_size;
}

static inline gsym_origin creator_record_origin(const creator_record *record) {
    return (gsym_origin)(record->flags & RECORD_SYMBOL);
}

static inline uint32_t creator_record_binding(const creator_record *record) {
    return record->flags >> RECORD_BINDING_SHIFT;
}

static inline bool record_is_symbol(const creator_record *record) {
    return (record->flags & RECORD_SYMBOL) != 0;
}

static inline bool record_is_label(const creator_record *record) {
    return (creator_record_binding(record) & SYMBOL_LABEL) != 0;
}

/* Return the last address of a record; without a size, this is its first one. */
static inline uint64_t record_last(const creator_record *record) {
    return record->size == 0 ? record->address : record->address + (record->size - 1);
}

/* Whether a record has more than a range and a name. */
static inline bool record_is_rich(const gsym_creator *creator,
                                  const creator_record *record) {
    return !(record->flags & RECORD_NAME_PENDING) &&
           record->blob_size > creator_minimum_record_size(creator);
}

/* ---- record_order.c -------------------------------------------------------------- */

/* Sorted by address, then size, then the order in which they were kept. */
typedef struct record_key {
    uint64_t address;
    uint32_t size;
    uint32_t index; /* in creator->records */
} record_key;

/* Sort the keys of at least one record; the caller frees them. */
gsym_status record_order_sort(const record_list *records, record_key **keys_ret,
                              gsym_error *error);

/* Return the first of keys[from .. count) that differs from keys[from] in its range. */
static inline size_t record_order_run_end(const record_key *keys, size_t count,
                                          size_t from) {
    size_t end = from + 1;
    while (end < count && keys[end].address == keys[from].address &&
           keys[end].size == keys[from].size)
        end++;
    return end;
}

/* A record, divided into the bytes before the information of one type, this information,
 * and the bytes after it. */
typedef struct record_parts {
    bool is_found; /* if false, `before` and `after` are where the information would be */
    cursor payload;
    size_t before; /* size of the bytes before it */
    size_t after;  /* offset of the bytes after it */
} record_parts;

record_parts record_order_cut(const gsym_creator *creator, const creator_record *record,
                              gsym_info_type type);
bool record_order_same_bytes(const creator_record *left, const creator_record *right);
/* Whether `left` is less complete than `right`, a function of the same range. */
bool record_order_is_poorer(const gsym_creator *creator, const creator_record *left,
                            const creator_record *right);

/* ---- symbol_names.c -------------------------------------------------------------- */

/* Intern the name of a record, if it is pending. */
gsym_status creator_intern_name(gsym_creator *creator, const creator_record *record,
                                uint64_t *strp_ret, gsym_error *error);
/* Let a function without a linkage name take the name of a symbol of its range. `keys` are
 * those of all records with its start. */
void creator_take_symbol_name(const gsym_creator *creator, const record_key *keys,
                              size_t count, creator_record *winner);

/* ---- asked.c, continuations.c ---------------------------------------------------- */

/* Leave out records that affect no requested address; part of creator_prune. */
void creator_keep_asked(gsym_creator *creator);
/* Append the rows of the addresses from `start` to `last`. The last row before `start` is
 * repeated there, unless file and line are unknown. False: out of memory. */
bool creator_cut_rows(row_list *rows, const gsym_function *function, uint64_t start,
                      uint64_t last);

/* ---- the steps of gsym_creator_finish, in this order ----------------------------- */

/* Sort the records and leave one for each range. */
gsym_status creator_prune(gsym_creator *creator, gsym_error *error);
/* Give symbols without lines the rows at their addresses. */
gsym_status creator_assign_lines(gsym_creator *creator, gsym_error *error);
/* Write the call sites that were given by name into the records. */
gsym_status creator_place_call_sites(gsym_creator *creator, gsym_error *error);
/* Add an entry for the rest of a function after each function nested in it. */
gsym_status creator_continue(gsym_creator *creator, gsym_error *error);
/* Make the indexes of the functions, if the file may have them. The strings of the file
 * need no order yet. */
void *creator_make_indexes(void *creator);
/* Decide in which order the strings are in the file. */
gsym_status creator_order_strings(gsym_creator *creator, gsym_error *error);
/* Decide the offset of each part of the file, and make its header and tables. */
gsym_status creator_lay_out(gsym_creator *creator, gsym_error *error);

/* ---- string_order.c, for layout.c ------------------------------------------------ */

/* Return the number in the file of a string of the creator. */
uint64_t creator_final_strp(const gsym_creator *creator, uint64_t strp);
/* Find run `index` of the strings in the order of the file: `size` bytes of the creator's
 * table. False at the end. */
bool creator_next_strings(const gsym_creator *creator, size_t index, size_t *start_ret,
                          size_t *size_ret);
/* Put the blob of a record at `to`, without its size and name, with the numbers of strings
 * in the file. False if memory ran out. */
bool creator_put_body(const gsym_creator *creator, const creator_record *record,
                      uint8_t *to);

/* Sizes in a file. */

enum { FUNCTION_INFO_ALIGNMENT = 4 };

static inline uint64_t align_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* Return the size of an address offset in a table whose greatest one is `greatest`. */
static inline unsigned addr_off_size(uint64_t greatest) {
    if (greatest <= UINT8_MAX) return 1;
    if (greatest <= UINT16_MAX) return 2;
    return greatest <= UINT32_MAX ? 4 : 8;
}

#endif
