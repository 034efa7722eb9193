/* fxt_filter.h - which records of a trace are handed out. */
#ifndef GSYM_FXT_FXT_FILTER_H
#define GSYM_FXT_FXT_FILTER_H

#include "fxt/fxt_strings.h"

/* Patterns for strings, and what is known of strings by their numbers. */
typedef struct fxt_patterns {
    char *bytes; /* with a NUL behind each; NULL: any string */
    size_t size;
    struct { uint8_t *items; size_t count, capacity; } verdicts; /* 0: not looked at */
    uint32_t age;                                                /* of the numbers */
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

/* What a record has to be judged by. */
typedef struct fxt_subject {
    const uint64_t *processes; /* one of them is enough */
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
/* False where memory ran out. A record without what is asked for does not pass. */
bool fxt_filter_judge(fxt_filter *filter, const fxt_strings *strings,
                      const fxt_subject *subject, bool *passes_ret);

#endif
