/* reader.h - define the state of a trace reader, and declare the readers of parts of a
 * record.
 *
 * The fields of records become columns. If a record is too short for its fields, the cursor
 * of its body fails, and the record is dropped. */
#ifndef GSYM_FXT_READER_H
#define GSYM_FXT_READER_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/list.h"
#include "base/tables.h"

/* The format of Fuchsia traces: records of 64-bit words, in the byte order of the machine
 * that wrote them. docs/fxt.md has what the specification leaves open. */

enum {
    FXT_WORD_SIZE = 8,
    FXT_INLINE_STRING = 0x8000 /* set in a string ref whose other bits are a length */
};

/* Return the bits of a word from `first` on, `count` of them, below 64. */
static inline uint64_t fxt_bits(uint64_t word, unsigned first, unsigned count) {
    return word >> first & ((UINT64_C(1) << count) - 1);
}

static inline uint64_t fxt_padded(uint64_t size) { return (size + 7) & ~UINT64_C(7); }

/* The header 0x0016547846040010 in the other byte order. */
#define FXT_MAGIC_HEADER UINT64_C(0x0016547846040010)

typedef struct fxt_record {
    uint64_t header;
    uint64_t size; /* bytes; 0 if it is not a record */
    gsym_fxt_kind kind;
} fxt_record;

/* The strings of a trace, numbered so that equal strings have the same number.
 *
 * The caller decodes a string once, when its number is new. */

typedef struct fxt_strings {
    buffer bytes; /* of all numbered strings */
    LIST(uint64_t) ends;
    slot_table slots;
    uint32_t first; /* number of the first new string */
    uint32_t age;   /* number of times that all numbers were discarded */
} fxt_strings;

void fxt_strings_deinit(fxt_strings *strings);
/* End the set of new strings; discard all numbers if the strings take much memory. */
void fxt_strings_begin(fxt_strings *strings);
/* Return the bytes of the new strings. */
uint64_t fxt_strings_new_size(const fxt_strings *strings);
/* Return the string with a number. */
const uint8_t *fxt_strings_text(const fxt_strings *strings, uint32_t number,
                                size_t *size_ret);

/* The strings and threads that records refer to, numbered by each provider, and the unit of
 * its ticks. */

#define FXT_DEFAULT_RATE UINT64_C(1000000000) /* ticks a second */

typedef struct fxt_thread {
    uint64_t process;
    uint64_t thread;
} fxt_thread;

typedef struct fxt_table_string {
    uint8_t *bytes;
    uint32_t size;
    uint32_t number; /* number in fxt_strings, valid while their age is `age` */
    uint32_t age;
    bool has_number;
} fxt_table_string;

/* Entries that a provider lacks are taken from the implicit provider, which has the records
 * before the first named provider: some writers put their tables there. */
typedef struct fxt_tables {
    LIST(uint64_t) ids; /* id of each provider, by its number */
    LIST(uint64_t) rates; /* 0: none */
    LIST(fxt_table_string) strings;
    LIST(fxt_thread) threads;
    number_map providers; /* id -> number */
    number_map entries;   /* provider, kind and index -> string or thread */
    uint32_t provider;    /* number of the current provider */
    uint32_t implicit;
    uint64_t named;    /* providers that are not implicit */
    uint64_t restarts; /* number of times another trace began */
} fxt_tables;

bool fxt_tables_init(fxt_tables *tables);
void fxt_tables_deinit(fxt_tables *tables);
/* Begin another trace: drop all definitions. Numbers of providers are not reused. */
bool fxt_tables_restart(fxt_tables *tables);
/* Find or add the provider with an id. False if out of memory. */
bool fxt_tables_provider(fxt_tables *tables, uint32_t id, uint32_t *number_ret);
/* Define a string or thread; an index of 0 is ignored. False if out of memory. */
bool fxt_tables_set_string(fxt_tables *tables, uint64_t index, const uint8_t *bytes,
                           size_t size);
bool fxt_tables_set_thread(fxt_tables *tables, uint64_t index, fxt_thread thread);

/* Patterns for strings, and a cache of the results by string number. */
typedef struct fxt_patterns {
    char *bytes; /* the patterns, each followed by a NUL; NULL: any string matches */
    size_t size;
    LIST(uint8_t) verdicts; /* 0: unknown */
    uint32_t age; /* fxt_strings.age when the verdicts were computed */
} fxt_patterns;

typedef struct fxt_koids {
    uint64_t *items; /* NULL: any */
    size_t count;
} fxt_koids;

typedef struct fxt_filter {
    bool is_set;
    uint64_t from_ns;
    uint64_t to_ns;
    fxt_koids processes;
    fxt_koids threads;
    fxt_patterns categories;
    fxt_patterns names;
} fxt_filter;

/* The fields of a record that a filter compares. */
typedef struct fxt_subject {
    const uint64_t *processes; /* any of them may match */
    const uint64_t *threads;
    unsigned process_count;
    unsigned thread_count;
    bool has_time, has_category, has_name;
    uint64_t ns;
    uint64_t end_ns;
    uint32_t category;
    uint32_t name;
} fxt_subject;

bool fxt_filter_set(fxt_filter *filter, const gsym_fxt_filter *wanted);
void fxt_filter_deinit(fxt_filter *filter);

/* Greatest number of records of one read. It is small, so that the objects that callers
 * make of records do not live long. */
enum { FXT_MAX_RECORDS = 1 << 11 };

/* Sizes of the columns before a record, by which the record can be removed. */
typedef struct fxt_mark {
    size_t words, names, types, signeds, unsigneds, doubles, strings, bools, blobs;
} fxt_mark;

#define FXT_EACH_ARGUMENT_LIST(DO)                                                       \
    DO(names, uint32_t) DO(types, uint8_t) DO(signeds, int64_t) DO(unsigneds, uint64_t)  \
    DO(doubles, double) DO(strings, uint32_t) DO(bools, uint8_t) DO(blobs, gsym_fxt_data)

typedef struct fxt_argument_lists {
#define DO(name, type) LIST(type) name;
    FXT_EACH_ARGUMENT_LIST(DO)
#undef DO
} fxt_argument_lists;

typedef struct fxt_event_columns {
    size_t count;
    uint32_t size[FXT_MAX_RECORDS];
    uint64_t offset[FXT_MAX_RECORDS];
    uint64_t ticks[FXT_MAX_RECORDS];
    uint64_t ns[FXT_MAX_RECORDS];
    uint64_t process[FXT_MAX_RECORDS];
    uint64_t thread[FXT_MAX_RECORDS];
    uint64_t value[FXT_MAX_RECORDS];
    uint64_t end_ns[FXT_MAX_RECORDS];
    uint32_t category[FXT_MAX_RECORDS];
    uint32_t name[FXT_MAX_RECORDS];
    uint32_t provider[FXT_MAX_RECORDS];
    uint32_t argument_first[FXT_MAX_RECORDS];
    uint32_t argument_end[FXT_MAX_RECORDS];
} fxt_event_columns;

typedef struct fxt_other_columns {
    size_t count;
    uint64_t offset[FXT_MAX_RECORDS];
    uint64_t ticks[FXT_MAX_RECORDS];
    uint64_t ns[FXT_MAX_RECORDS];
    uint64_t word_end[FXT_MAX_RECORDS];
    uint32_t provider[FXT_MAX_RECORDS];
    uint32_t argument_first[FXT_MAX_RECORDS];
    uint32_t argument_end[FXT_MAX_RECORDS];
} fxt_other_columns;

struct gsym_fxt_reader {
    uint64_t consumed; /* bytes of the trace before the current block */
    uint64_t max_size;
    uint64_t to_pass_over; /* bytes that are left of a record that is too large and
                              skipped */
    uint64_t passed_start; /* offset of this record */
    uint64_t gap_start;    /* offset of a gap: words with size 0 */
    uint64_t gap_size;     /* bytes of the gap */
    uint32_t kinds;
    bool is_strict;
    bool is_big_endian;
    bool has_wide_times; /* some time in nanoseconds does not fit into 64 bits */
    bool is_full; /* the columns take no more records */
    fxt_tables tables;
    fxt_strings strings;
    fxt_filter filter;
    gsym_fxt_counts counts;
    LIST(gsym_fxt_problem) problems;
    uint64_t problems_kept;
    size_t count;
    uint8_t record_kinds[FXT_MAX_RECORDS];
    fxt_event_columns events;
    fxt_other_columns others;
    LIST(uint64_t) words;
    fxt_argument_lists arguments;
};

/* A record after its header. */
typedef struct fxt_body {
    cursor fields; /* ends with the record */
    fxt_record record;
    uint64_t offset; /* of the record in the trace */
} fxt_body;

/* Report a problem; fails if the reader is strict. */
gsym_status fxt_report(gsym_fxt_reader *reader, gsym_fxt_fault fault, uint64_t offset,
                       uint64_t detail, gsym_error *error);

/* Find the number of the string of a reference. */
gsym_status fxt_read_string(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                            uint32_t *number_ret, gsym_error *error);
/* Find the thread of a reference. */
gsym_status fxt_read_thread(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                            fxt_thread *thread_ret, gsym_error *error);
/* Read the extent of data of `size` bytes, and skip it with its padding. */
gsym_fxt_data fxt_read_data(fxt_body *body, uint64_t size);
/* Convert ticks to nanoseconds; UINT64_MAX on overflow. */
uint64_t fxt_ns(gsym_fxt_reader *reader, uint64_t ticks);

gsym_status fxt_read_event(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error);
/* Read a record that is not an event. */
gsym_status fxt_read_other(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error);

/* Find out whether the last record passes the filter. The words of a record that is not an
 * event begin at `first_word`. */
gsym_status fxt_judge(gsym_fxt_reader *reader, gsym_fxt_kind kind, size_t first_word,
                      bool *passes_ret, gsym_error *error);

static inline bool fxt_is_wanted(const gsym_fxt_reader *reader, gsym_fxt_kind kind) {
    return reader->kinds >> kind & 1;
}

#endif
