/* samples.h - what is known of the samples of perf.data. */
#ifndef GSYM_PERF_SAMPLES_H
#define GSYM_PERF_SAMPLES_H

#include "base/cursor.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/tables.h"

/* Kinds of records; those from OF_SIMPLEPERF on have sizes of 32 bits. */
enum {
    PERF_MMAP = 1,
    PERF_COMM = 3,
    PERF_FORK = 7,
    PERF_SAMPLE = 9,
    PERF_MMAP2 = 10,
    PERF_DEFERRED = 22,
    PERF_TRACING_DATA = 66,
    PERF_FINISHED_ROUND = 68,
    PERF_AUXTRACE = 71,
    PERF_OF_SIMPLEPERF = 32768
};

enum { PERF_HEADER_SIZE = 8 };

/* Bits of the type of a sample. */
enum {
    SAMPLE_IP = 1,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_BRANCHES = 1 << 11,
    SAMPLE_STACK_USER = 1 << 13,
    SAMPLE_IDENTIFIER = 1 << 16
};

enum { NO_FIELD = -1 };

/* The layout of an event: where fields are, in bytes after the header of a sample, and from
 * the end of other records, negative; NO_FIELD in a sample and 0 at an end: nowhere. */
typedef struct perf_event {
    gsym_perf_event of;
    int ip_at, thread_at, time_at, id_at, cpu_at, period_at;
    unsigned fixed_size; /* of all fields before those of any size */
    int time_from_end, thread_from_end;
} perf_event;

typedef struct perf_piece {
    const uint8_t *bytes;
    size_t size;
    uint64_t start; /* place of its first byte */
} perf_piece;

/* Begins with what it is sorted by. */
typedef struct perf_place {
    uint64_t time;
    uint64_t place;
} perf_place;

/* A stack as it is recorded: words in the byte order of the file. */
typedef struct perf_chain {
    const uint8_t *words;
    uint32_t count;
    uint32_t exact_from; /* from this word on, none is a return address */
    int32_t process;
    uint32_t mode; /* of the processor at the sample */
} perf_chain;

typedef struct perf_stack {
    perf_chain chain;
    size_t first; /* of its locations */
    uint32_t count;
} perf_stack;

/* A stack of user space that is recorded after its sample. */
typedef struct perf_deferred {
    uint64_t cookie;
    const uint8_t *words;
    uint32_t count;
    int32_t thread;
} perf_deferred;

struct gsym_perf_samples {
    bool is_big_endian, swap, is_exact;
    bool has_begun; /* a record has been read */
    LIST(perf_event) events;
    number_map events_by_id;
    LIST(perf_piece) pieces;
    LIST(perf_place) places;
    size_t next;      /* of the places */
    uint64_t touched; /* bytes of pages since the caller could give them back */
    LIST(perf_deferred) deferred;
    slot_table deferred_numbers;
    uint64_t completed_words; /* that samples took from these stacks */
    /* What samples have, each once, and its numbers by hashes. */
    LIST(perf_stack) stacks;
    LIST(uint32_t) stack_locations;
    LIST(gsym_perf_location) locations;
    LIST(gsym_perf_thread) threads;
    LIST(gsym_perf_count) counts;
    slot_table stack_numbers, location_numbers, count_numbers;
    number_map thread_numbers;
    LIST(uint8_t *) made_chains; /* those that are put together from parts */
    number_map group_counts; /* of the members of groups at their last samples, by id */
    /* The samples that are returned next. */
    LIST(uint64_t) times;
    LIST(uint32_t) sample_stacks;
    LIST(uint32_t) sample_threads;
    LIST(uint32_t) sample_counts;
    gsym_perf_losses losses;
};

/* Return the record at an offset of a piece; the size is 0 if its header is cut. */
gsym_perf_record perf_record_at(const gsym_perf_samples *samples, uint32_t piece,
                                uint64_t offset);
/* Return the event of a sample. */
uint32_t perf_event_of(const gsym_perf_samples *samples, const uint8_t *record,
                       uint32_t size);

/* Return the number, from 1, of the stack that comes later for a cookie; 0: none. */
uint64_t perf_deferred_number(const gsym_perf_samples *samples, int32_t thread,
                              uint64_t cookie);
static inline uint64_t perf_deferred_hash(int32_t thread, uint64_t cookie) {
    return hash_fold(cookie ^ HASH_KEY_A, (uint32_t)thread ^ HASH_KEY_B);
}

/* Return the number of a stack, of the locations of a chain; false where memory ran out. */
bool perf_stack_number(gsym_perf_samples *samples, const perf_chain *chain,
                       uint32_t *number_ret);
bool perf_thread_number(gsym_perf_samples *samples, gsym_perf_thread thread,
                        uint32_t *number_ret);
bool perf_count_number(gsym_perf_samples *samples, gsym_perf_count count,
                       uint32_t *number_ret);

/* Whether a word of a call chain is a marker: what the addresses after it are in. */
static inline bool perf_is_mark(uint64_t word) { return word >= UINT64_MAX - 4094; }
#define PERF_IN_KERNEL (UINT64_MAX - 127)
#define PERF_IN_USER (UINT64_MAX - 511)
#define PERF_IS_DEFERRED (UINT64_MAX - 639)

#endif
