/* perf.h - read the records of perf.data, the file of Linux perf. */
#ifndef GSYM_PERF_H
#define GSYM_PERF_H

#include <gsym/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- perf.data: samples of Linux perf -------------------------------------------- */

#define GSYM_PERF_UNKNOWN 0xffffffffffffffff /* a time or a period */

/* The layout of the samples of an event, with the bits of the kernel's header. */
typedef struct gsym_perf_event {
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t branch_type;
    uint64_t period;     /* what a sample without one counts, or GSYM_PERF_UNKNOWN */
    uint32_t has_ending; /* 1: other records end with time and thread */
    uint32_t reserved;
} gsym_perf_event;

/* A record; `size` is 0 for none. */
typedef struct gsym_perf_record {
    uint64_t offset; /* in its piece */
    uint64_t place;  /* in all pieces, one after another */
    uint32_t piece;
    uint32_t kind;
    uint32_t misc;
    uint32_t size; /* in bytes, with its header */
} gsym_perf_record;

/* Samples in the order of their times, as columns. Equal stacks of a process, threads, and
 * counts have one number each. */
typedef struct gsym_perf_columns {
    size_t count;
    const uint64_t *times;   /* nanoseconds, or GSYM_PERF_UNKNOWN */
    const uint32_t *stacks;  /* of gsym_perf_samples_stack() */
    const uint32_t *threads; /* of gsym_perf_samples_threads() */
    const uint32_t *counts;  /* of gsym_perf_samples_counts() */
    gsym_perf_record next;   /* the first record after them; not a sample */
    uint32_t is_end;         /* 1: no record is left */
    uint32_t is_pause;       /* 1: many pages of the pieces have been read */
} gsym_perf_columns;

typedef struct gsym_perf_thread {
    int32_t process; /* -1: not known */
    int32_t thread;
} gsym_perf_thread;

/* What a sample counts, and where. */
typedef struct gsym_perf_count {
    uint64_t period; /* or GSYM_PERF_UNKNOWN */
    uint32_t event;  /* in the order in which they were added */
    int32_t cpu;     /* -1: not known */
} gsym_perf_count;

typedef struct gsym_perf_location {
    uint64_t address;
    int32_t process;    /* 0 in the kernel */
    uint16_t is_kernel; /* 1: it is in the kernel */
    uint16_t is_exact;  /* 0: it is a return address */
} gsym_perf_location;

/* Data that is missing. */
typedef struct gsym_perf_losses {
    uint64_t guests;   /* samples of virtual machines */
    uint64_t shorts;   /* records that are too short */
    uint64_t branches; /* samples with branches that are not the calls of a stack */
    uint64_t copies;   /* samples with a copy of a stack, which is not unwound */
    uint64_t deferred; /* samples whose stack of user space was to come later */
} gsym_perf_losses;

typedef struct gsym_perf_samples gsym_perf_samples;
/* Create an empty file. Its pieces are bytes that the caller keeps. */
gsym_status gsym_perf_samples_create(uint32_t is_big_endian,
                                     gsym_perf_samples **samples_ret, gsym_error *error);
void gsym_perf_samples_destroy(gsym_perf_samples *samples);
/* Add an event, and the ids that stand for one in samples. */
gsym_status gsym_perf_samples_add_event(gsym_perf_samples *samples,
                                        const gsym_perf_event *event, gsym_error *error);
gsym_status gsym_perf_samples_add_id(gsym_perf_samples *samples, uint64_t id,
                                     uint32_t event, gsym_error *error);
/* No address is a return address, as where simpleperf unwinds. */
void gsym_perf_samples_set_exact(gsym_perf_samples *samples);
/* Add the bytes of the next piece. */
gsym_status gsym_perf_samples_add_piece(gsym_perf_samples *samples, const uint8_t *bytes,
                                        size_t size, gsym_error *error);
/* Keep the places of the records of the last piece from *offset to `end` that have a time,
 * up to one without, for the caller, or a number of bytes; *offset is then after that.
 * GSYM_E_FORMAT: the bytes at the offset of the error are damaged. */
gsym_status gsym_perf_samples_survey(gsym_perf_samples *samples, uint64_t *offset,
                                     uint64_t end, uint64_t most_bytes,
                                     gsym_perf_record *record_ret, gsym_error *error);
/* Return how many records have been kept. */
size_t gsym_perf_samples_record_count(const gsym_perf_samples *samples);
/* Sort them by time, after the survey of all pieces. */
gsym_status gsym_perf_samples_sort(gsym_perf_samples *samples, gsym_error *error);
/* Decode the next samples, up to a record of another kind or the number of bytes that the
 * survey was told. The columns are valid until the next call. GSYM_E_FORMAT: the first
 * record is too short. */
gsym_status gsym_perf_samples_next(gsym_perf_samples *samples, uint64_t most_bytes,
                                   gsym_perf_columns *columns_ret, gsym_error *error);
/* Return the numbers of the locations of a stack, innermost first, and its process. */
const uint32_t *gsym_perf_samples_stack(const gsym_perf_samples *samples, uint32_t stack,
                                        int32_t *process_ret, size_t *count_ret);
const gsym_perf_location *gsym_perf_samples_locations(const gsym_perf_samples *samples,
                                                      size_t *count_ret);
const gsym_perf_thread *gsym_perf_samples_threads(const gsym_perf_samples *samples,
                                                  size_t *count_ret);
const gsym_perf_count *gsym_perf_samples_counts(const gsym_perf_samples *samples,
                                                size_t *count_ret);
void gsym_perf_samples_losses(const gsym_perf_samples *samples,
                              gsym_perf_losses *losses_ret);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
