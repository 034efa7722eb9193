/* return_pads.h - the chains of functions at calls as return pads of a symbfile. */
#ifndef GSYM_SYMBFILE_RETURN_PADS_H
#define GSYM_SYMBFILE_RETURN_PADS_H

#include "code/calls.h"
#include "gsym/function_levels.h"
#include "symbfile/symbfile_names.h"

/* Pads under way; functions come in ascending order. */
typedef struct return_pads {
    gsym_symbfile_writer *writer;
    gsym_symbfile_names *names;
    const gsym_calls *calls;
    size_t next;     /* call */
    index_list open; /* ranges that cover the call, the outermost first */
    struct { gsym_symbfile_entry *items; size_t count, capacity; } entries; /* of one pad */
} return_pads;

void return_pads_deinit(return_pads *pads);
/* Whether there are calls at addresses from `start` on and below `end`; those in front of
 * them are passed over. */
bool return_pads_seek(return_pads *pads, uint64_t start, uint64_t end);
/* Write the pads of the calls in a function, which ends at `end`; add how many they are
 * to *count. */
gsym_status return_pads_add(return_pads *pads, const gsym_function *function,
                            const function_levels *levels, uint64_t end, uint64_t *count,
                            gsym_error *error);

#endif
