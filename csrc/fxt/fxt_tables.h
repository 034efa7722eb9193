/* fxt_tables.h - what the records of a trace refer to: strings and threads, which each
 * provider numbers for itself, and how long its ticks are. */
#ifndef GSYM_FXT_FXT_TABLES_H
#define GSYM_FXT_FXT_TABLES_H

#include "fxt/fxt_strings.h"
#include "base/number_map.h"

#define FXT_DEFAULT_RATE UINT64_C(1000000000) /* ticks a second */

typedef struct fxt_thread {
    uint64_t process;
    uint64_t thread;
} fxt_thread;

typedef struct fxt_table_string {
    uint8_t *bytes;
    uint32_t size;
    uint32_t number; /* in fxt_strings, of that age */
    uint32_t age;
    bool has_number;
} fxt_table_string;

/* Entries that a provider lacks are taken from the implicit provider. It has the records
 * before the first one that names a provider: some writers put their tables there. */
typedef struct fxt_tables {
    struct { uint64_t *items; size_t count, capacity; } ids; /* of providers by number */
    struct { uint64_t *items; size_t count, capacity; } rates; /* 0: it has none */
    struct { fxt_table_string *items; size_t count, capacity; } strings;
    struct { fxt_thread *items; size_t count, capacity; } threads;
    number_map providers; /* id -> number */
    number_map entries;   /* provider, kind and index -> string or thread */
    uint32_t provider;    /* number of the one whose records are read */
    uint32_t implicit;
    uint64_t named;    /* providers that are not implicit */
    uint64_t restarts; /* number of times another trace began */
} fxt_tables;

bool fxt_tables_init(fxt_tables *tables);
void fxt_tables_deinit(fxt_tables *tables);
/* Begin another trace: drop all definitions. Numbers of providers are not reused. */
bool fxt_tables_restart(fxt_tables *tables);
/* The number of the provider with an id, a new one if need be. */
bool fxt_tables_provider(fxt_tables *tables, uint32_t id, uint32_t *number_ret);
uint64_t fxt_tables_rate(const fxt_tables *tables);
/* An index of 0 is ignored. False where memory ran out. */
bool fxt_tables_set_string(fxt_tables *tables, uint64_t index, const uint8_t *bytes,
                           size_t size);
bool fxt_tables_set_thread(fxt_tables *tables, uint64_t index, fxt_thread thread);
/* NULL where there is none of the index. */
fxt_table_string *fxt_tables_string(const fxt_tables *tables, uint64_t index);
const fxt_thread *fxt_tables_thread(const fxt_tables *tables, uint64_t index);

#endif
