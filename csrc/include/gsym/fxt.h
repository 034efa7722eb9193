/* fxt.h - read FXT files, which are traces of Fuchsia, as columns. */
#ifndef GSYM_FXT_H
#define GSYM_FXT_H

#include <gsym/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- FXT: Fuchsia traces ------------------------------------------------------- */

#define GSYM_FXT_MAGIC 0x16547846
#define GSYM_FXT_MAX_RECORD_SIZE 32760 /* bytes, unless it is a large record */

/* The type in the header of a record. */
typedef enum gsym_fxt_record_type {
    GSYM_FXT_TYPE_METADATA = 0,
    GSYM_FXT_TYPE_INITIALIZATION = 1,
    GSYM_FXT_TYPE_STRING = 2,
    GSYM_FXT_TYPE_THREAD = 3,
    GSYM_FXT_TYPE_EVENT = 4,
    GSYM_FXT_TYPE_BLOB = 5,
    GSYM_FXT_TYPE_USERSPACE_OBJECT = 6,
    GSYM_FXT_TYPE_KERNEL_OBJECT = 7,
    GSYM_FXT_TYPE_SCHEDULING = 8,
    GSYM_FXT_TYPE_LOG = 9,
    GSYM_FXT_TYPE_PROFILER = 10,
    GSYM_FXT_TYPE_LARGE = 15
} gsym_fxt_record_type;

/* The kind of a record. The kind of an event is its event type. */
typedef enum gsym_fxt_kind {
    GSYM_FXT_INSTANT = 0,
    GSYM_FXT_COUNTER = 1,
    GSYM_FXT_DURATION_COMPLETE = 4,
    GSYM_FXT_FLOW_END = 10, /* the last event */
    GSYM_FXT_PROVIDER_INFO = 11,
    GSYM_FXT_PROVIDER_SECTION = 12,
    GSYM_FXT_PROVIDER_EVENT = 13,
    GSYM_FXT_TRACE_INFO = 14,
    GSYM_FXT_INITIALIZATION = 15,
    GSYM_FXT_STRING = 16,
    GSYM_FXT_THREAD = 17,
    GSYM_FXT_BLOB = 18,
    GSYM_FXT_USERSPACE_OBJECT = 19,
    GSYM_FXT_KERNEL_OBJECT = 20,
    GSYM_FXT_LEGACY_CONTEXT_SWITCH = 21,
    GSYM_FXT_CONTEXT_SWITCH = 22,
    GSYM_FXT_THREAD_WAKEUP = 23,
    GSYM_FXT_LOG = 24,
    GSYM_FXT_MODULE = 25,
    GSYM_FXT_MMAP = 26,
    GSYM_FXT_BACKTRACE = 27,
    GSYM_FXT_LARGE_BLOB_WITH_METADATA = 28,
    GSYM_FXT_LARGE_BLOB = 29,
    GSYM_FXT_UNKNOWN = 30,
    GSYM_FXT_KIND_COUNT = 31
} gsym_fxt_kind;

typedef enum gsym_fxt_argument_type {
    GSYM_FXT_ARGUMENT_NULL = 0,
    GSYM_FXT_ARGUMENT_INT32 = 1,
    GSYM_FXT_ARGUMENT_UINT32 = 2,
    GSYM_FXT_ARGUMENT_INT64 = 3,
    GSYM_FXT_ARGUMENT_UINT64 = 4,
    GSYM_FXT_ARGUMENT_DOUBLE = 5,
    GSYM_FXT_ARGUMENT_STRING = 6,
    GSYM_FXT_ARGUMENT_POINTER = 7,
    GSYM_FXT_ARGUMENT_KOID = 8,
    GSYM_FXT_ARGUMENT_BOOL = 9,
    GSYM_FXT_ARGUMENT_BLOB = 10
} gsym_fxt_argument_type;

/* Faults of a trace, each with the meaning of gsym_fxt_problem.detail. */
typedef enum gsym_fxt_fault {
    GSYM_FXT_EMPTY_RECORDS,      /* records of size 0; detail: bytes skipped */
    GSYM_FXT_TRUNCATED,          /* the trace ends in the record; detail: bytes present */
    GSYM_FXT_SHORT_RECORD,       /* too short for its fields; detail: its size in bytes */
    GSYM_FXT_LARGE_RECORD,       /* above the limit; detail: its size in bytes */
    GSYM_FXT_UNDEFINED_STRING,   /* detail: the index of the string */
    GSYM_FXT_UNDEFINED_THREAD,   /* detail: the index of the thread */
    GSYM_FXT_NO_TICK_RATE,       /* the trace says 0 ticks a second */
    GSYM_FXT_WRONG_MAGIC,        /* detail: the number found */
    GSYM_FXT_FRAME_COUNT,        /* more frames than fit the record; detail: how many fit */
    GSYM_FXT_FAULT_COUNT
} gsym_fxt_fault;

typedef struct gsym_fxt_problem {
    uint64_t offset; /* of the record, from the start of the trace */
    uint64_t detail;
    uint32_t fault; /* gsym_fxt_fault */
    uint32_t reserved;
} gsym_fxt_problem;

#define GSYM_FXT_NO_SUBTYPE 0xff
#define GSYM_FXT_NO_PROVIDER 0x100000000 /* ids have 32 bits */

/* A range of the bytes that were read. */
typedef struct gsym_fxt_data {
    uint64_t start; /* offset from the start of the trace */
    uint64_t size;  /* in bytes */
} gsym_fxt_data;

/* Records as columns. Events have a column for each field; the fields of other records are
 * words. Strings are numbered from 0, which is the empty one. Providers are numbered from
 * 0, too, separately for each trace in a file. The columns are valid until the next call on
 * the reader; the numbers of strings until a call reports that all strings are new. */
typedef struct gsym_fxt_columns {
    size_t count;         /* of records */
    const uint8_t *kinds; /* gsym_fxt_kind */
    /* Events */
    size_t event_count;
    const uint64_t *event_offset;
    const uint32_t *event_size; /* bytes */
    const uint64_t *event_ticks;
    const uint64_t *event_ns; /* time in nanoseconds; UINT64_MAX: overflow */
    const uint64_t *event_process; /* koid */
    const uint64_t *event_thread;  /* koid */
    const uint64_t *event_value; /* an id, or the ticks at the end; 0: none */
    const uint64_t *event_end_ns;
    const uint32_t *event_category;
    const uint32_t *event_name;
    const uint32_t *event_provider;
    const uint32_t *event_argument_first; /* index of its first argument */
    const uint32_t *event_argument_end;
    /* Other records: their fields in the order of the specification, without time and
     * arguments; data and texts are two words, start and size. */
    size_t other_count;
    const uint64_t *other_offset;
    const uint64_t *other_ticks;
    const uint64_t *other_ns;
    const uint32_t *other_provider;
    const uint64_t *other_word_end; /* end of its words, which begin where the previous
                                     * record's end */
    const uint32_t *other_argument_first;
    const uint32_t *other_argument_end;
    size_t word_count;
    const uint64_t *words;
    /* Arguments of all records in file order, and their values by type. */
    size_t argument_count;
    const uint32_t *argument_names;
    const uint8_t *argument_types; /* gsym_fxt_argument_type */
    size_t signed_count;           /* int32 and int64 */
    const int64_t *signed_values;
    size_t unsigned_count; /* uint32, uint64, pointer and koid */
    const uint64_t *unsigned_values;
    size_t double_count;
    const double *double_values;
    size_t string_count;
    const uint32_t *string_values;
    size_t bool_count;
    const uint8_t *bool_values;
    size_t blob_count;
    const gsym_fxt_data *blob_values;
    /* Strings from number string_first up to string_end are new. If string_first is 1, the
     * strings that were numbered earlier are gone. */
    uint32_t string_first;
    uint32_t string_end;
    const char *string_bytes; /* all strings from number 1 on, concatenated */
    const uint64_t *string_ends; /* where each of them ends in string_bytes */
    /* Providers by number. */
    size_t provider_count;
    const uint64_t *provider_ids;   /* or GSYM_FXT_NO_PROVIDER */
    const uint64_t *provider_rates; /* ticks per second; 0: the rate of the next provider,
                                     * or else 1e9 */
    uint32_t provider_implicit;     /* number of the provider of records before the first
                                     * record that names one */
    /* Faults in what was read, up to a limit. */
    size_t problem_count;
    const gsym_fxt_problem *problems;
    uint32_t has_wide_times; /* 1: some time in ns overflows */
} gsym_fxt_columns;

typedef struct gsym_fxt_counts {
    uint64_t records[GSYM_FXT_KIND_COUNT]; /* by kind, including malformed ones */
    uint64_t bytes[GSYM_FXT_KIND_COUNT];   /* size of these records */
    uint64_t arguments;         /* of returned records */
    uint64_t unknown_arguments; /* of unknown types, skipped */
    uint64_t appended_words;    /* 64-bit words, skipped after the fields of records and
                                 * arguments */
    uint64_t faults[GSYM_FXT_FAULT_COUNT];
    uint64_t providers; /* named by records */
    uint64_t traces;    /* started by a magic number within the file */
    uint64_t left_out;  /* records rejected by the filter */
} gsym_fxt_counts;

/* Conditions for the records to return. Records that are needed to read others, and those
 * that describe objects and modules, are always returned. A record that lacks a field that
 * the filter compares is rejected. */
typedef struct gsym_fxt_filter {
    uint64_t from_ns; /* the record ends at this time or later ... */
    uint64_t to_ns;   /* ... and begins at this time or earlier */
    const uint64_t *processes; /* koids; without any, all processes pass */
    size_t process_count;
    const uint64_t *threads;
    size_t thread_count;
    const char *categories; /* patterns with `*` and `?`, each followed by a NUL; without
                               any, all categories pass */
    size_t categories_size;
    const char *names;
    size_t names_size;
} gsym_fxt_filter;

typedef struct gsym_fxt_reader gsym_fxt_reader;
/* Create a reader. `kinds` has bit 1 << k for each gsym_fxt_kind k to return; records of
 * other kinds are counted, and read where others need them. A record of more than
 * `max_size` bytes is not returned, but reported as a problem. `is_strict` 1: the first
 * problem is an error. */
gsym_status gsym_fxt_reader_create(uint32_t kinds, uint64_t max_size, uint32_t is_strict,
                                   gsym_fxt_reader **reader_ret, gsym_error *error);
void gsym_fxt_reader_destroy(gsym_fxt_reader *reader);
gsym_status gsym_fxt_reader_set_filter(gsym_fxt_reader *reader,
                                       const gsym_fxt_filter *filter, gsym_error *error);
/* Set the byte order from here on; the magic number sets it as well. */
void gsym_fxt_reader_set_big_endian(gsym_fxt_reader *reader, uint32_t is_big_endian);
uint32_t gsym_fxt_reader_is_big_endian(const gsym_fxt_reader *reader);
/* Read records from the next bytes of a trace, up to a number that limits the size of the
 * columns. *used_ret is the number of bytes that were read. If *wanted_ret is 0, call again
 * with the remaining bytes; else it is the size of the next record, as far as known, and
 * all of its bytes are needed to read it. `is_last` 1: the trace ends with these bytes.
 * Offsets count from the start of the trace. */
gsym_status gsym_fxt_reader_read(gsym_fxt_reader *reader, const uint8_t *bytes,
                                 size_t size, uint32_t is_last, size_t *used_ret,
                                 size_t *wanted_ret, gsym_error *error);
/* Return the records of the last read. */
void gsym_fxt_reader_columns(const gsym_fxt_reader *reader,
                             gsym_fxt_columns *columns_ret);
/* Return the totals of everything read. */
void gsym_fxt_reader_count(const gsym_fxt_reader *reader, gsym_fxt_counts *counts_ret);
/* Number and size of the events of one provider, category, name and kind. */
typedef struct gsym_fxt_group {
    uint64_t events;
    uint64_t bytes;
    uint32_t provider; /* numbers as in columns */
    uint32_t category;
    uint32_t name;
    uint32_t kind; /* gsym_fxt_kind */
} gsym_fxt_group;

typedef struct gsym_fxt_tally gsym_fxt_tally;
gsym_status gsym_fxt_tally_create(gsym_fxt_tally **tally_ret, gsym_error *error);
void gsym_fxt_tally_destroy(gsym_fxt_tally *tally);
/* Add the events of columns to a tally. The caller clears the tally when all strings are
 * new. */
gsym_status gsym_fxt_tally_add(gsym_fxt_tally *tally, const gsym_fxt_columns *columns,
                               gsym_error *error);
/* Return all groups in order of first occurrence; they are valid until the next call. */
void gsym_fxt_tally_view(const gsym_fxt_tally *tally, const gsym_fxt_group **groups_ret,
                         size_t *count_ret);
void gsym_fxt_tally_clear(gsym_fxt_tally *tally);
/* Describe a problem in `text`, NUL-terminated, at most `size` bytes. */
void gsym_fxt_problem_text(const gsym_fxt_problem *problem, char *text, size_t size);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
