/* fxt_reader.h - the state of a reader of traces, and what reads the parts of a record.
 *
 * What is read comes out as columns. A record whose fields do not fit into it leaves the
 * cursor of its body failed, and none of it is kept. */
#ifndef GSYM_FXT_FXT_READER_H
#define GSYM_FXT_FXT_READER_H

#include "fxt/fxt.h"
#include "fxt/fxt_filter.h"
#include "fxt/fxt_tables.h"

/* Of one read; few enough that objects made of them die young. */
enum { FXT_MOST_RECORDS = 1 << 11 };

/* Counts of what columns hold, to go back to. */
typedef struct fxt_mark {
    size_t words, arguments, signeds, unsigneds, doubles, strings, bools, blobs;
} fxt_mark;

typedef struct fxt_argument_lists {
    struct { uint32_t *items; size_t count, capacity; } names;
    struct { uint8_t *items; size_t count, capacity; } types;
    struct { int64_t *items; size_t count, capacity; } signeds;
    struct { uint64_t *items; size_t count, capacity; } unsigneds;
    struct { double *items; size_t count, capacity; } doubles;
    struct { uint32_t *items; size_t count, capacity; } strings;
    struct { uint8_t *items; size_t count, capacity; } bools;
    struct { gsym_fxt_data *items; size_t count, capacity; } blobs;
} fxt_argument_lists;

typedef struct fxt_event_columns {
    size_t count;
    uint32_t size[FXT_MOST_RECORDS];
    uint64_t offset[FXT_MOST_RECORDS];
    uint64_t ticks[FXT_MOST_RECORDS];
    uint64_t ns[FXT_MOST_RECORDS];
    uint64_t process[FXT_MOST_RECORDS];
    uint64_t thread[FXT_MOST_RECORDS];
    uint64_t value[FXT_MOST_RECORDS];
    uint64_t end_ns[FXT_MOST_RECORDS];
    uint32_t category[FXT_MOST_RECORDS];
    uint32_t name[FXT_MOST_RECORDS];
    uint32_t provider[FXT_MOST_RECORDS];
    uint32_t argument_first[FXT_MOST_RECORDS];
    uint32_t argument_end[FXT_MOST_RECORDS];
} fxt_event_columns;

typedef struct fxt_other_columns {
    size_t count;
    uint64_t offset[FXT_MOST_RECORDS];
    uint64_t ticks[FXT_MOST_RECORDS];
    uint64_t ns[FXT_MOST_RECORDS];
    uint64_t word_end[FXT_MOST_RECORDS];
    uint32_t provider[FXT_MOST_RECORDS];
    uint32_t argument_first[FXT_MOST_RECORDS];
    uint32_t argument_end[FXT_MOST_RECORDS];
} fxt_other_columns;

struct gsym_fxt_reader {
    uint64_t consumed; /* bytes of the trace in front of those that are read */
    uint64_t most_size;
    uint64_t to_pass_over; /* bytes left of a record that is too large ... */
    uint64_t passed_start; /* ... and its offset */
    uint64_t gap_start;    /* of words that say size 0 ... */
    uint64_t gap_size;     /* ... and how many bytes of them */
    uint32_t kinds;
    bool is_strict;
    bool is_big_endian;
    bool has_wide_times;
    bool is_full; /* nothing more can be read into these columns */
    fxt_tables tables;
    fxt_strings strings;
    fxt_filter filter;
    gsym_fxt_counts counts;
    struct { gsym_fxt_problem *items; size_t count, capacity; } problems;
    uint64_t problems_kept;
    size_t count;
    uint8_t record_kinds[FXT_MOST_RECORDS];
    fxt_event_columns events;
    fxt_other_columns others;
    struct { uint64_t *items; size_t count, capacity; } words;
    fxt_argument_lists arguments;
};

/* A record behind its header. */
typedef struct fxt_body {
    cursor fields; /* ends with the record */
    fxt_record record;
    uint64_t offset; /* of the record in the trace */
} fxt_body;

/* Tell of a problem; fails where the reader is strict. */
gsym_status fxt_report(gsym_fxt_reader *reader, gsym_fxt_fault fault, uint64_t offset,
                       uint64_t detail, gsym_error *error);

/* Number of the string that a ref names. */
gsym_status fxt_read_string(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                            uint32_t *number_ret, gsym_error *error);
/* The thread that a ref names. */
gsym_status fxt_read_thread(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                            fxt_thread *thread_ret, gsym_error *error);
gsym_status fxt_read_arguments(gsym_fxt_reader *reader, fxt_body *body, uint64_t count,
                               gsym_error *error);
/* Bytes of a stream, without those that fill it up. */
gsym_fxt_data fxt_read_data(fxt_body *body, uint64_t size);
/* Nanoseconds; UINT64_MAX where they do not fit. */
uint64_t fxt_ns(gsym_fxt_reader *reader, uint64_t ticks);

gsym_status fxt_read_event(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error);
/* Any other kind. */
gsym_status fxt_read_other(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error);

/* Whether the record that was read last is to be handed out; its words, if it is no
 * event, begin with number `first_word`. */
gsym_status fxt_judge(gsym_fxt_reader *reader, gsym_fxt_kind kind, size_t first_word,
                      bool *passes_ret, gsym_error *error);

static inline bool fxt_is_wanted(const gsym_fxt_reader *reader, gsym_fxt_kind kind) {
    return reader->kinds >> kind & 1;
}

#endif
