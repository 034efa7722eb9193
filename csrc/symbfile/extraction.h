/* extraction.h - the names, ranges and return pads that a symbfile gets from a GSYM file. */
#ifndef GSYM_SYMBFILE_EXTRACTION_H
#define GSYM_SYMBFILE_EXTRACTION_H

#include "code/calls.h"
#include "export/function_walk.h"
#include "symbfile/levels.h"

struct gsym_symbfile_names {
    const gsym_image *image;
    function_walk walk;
    name_numbers names;
    bool is_counted;
    uint32_t *strings;     /* of each name: its number in the writer */
    uint64_t string_count; /* of those that are known */
    uint32_t *files;       /* of each file: number of its path, 0: not asked for yet */
    uint64_t text_left;    /* bytes of names and paths that may still come */
    buffer text;           /* scratch */
};

/* The string of a name, 0 where it was not collected; "<name omitted>" for the empty one. */
uint32_t symbfile_names_function(const gsym_symbfile_names *names, uint64_t strp);
/* The string of the path of a file; 0 for no file. */
gsym_status symbfile_names_file(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                                uint32_t file, uint32_t *string_ret, gsym_error *error);

/* The chains of functions at calls as return pads of a symbfile. */

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
