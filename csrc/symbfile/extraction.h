/* extraction.h - share names and return pads between the files that write the functions of
 * a GSYM file to symbfiles. */
#ifndef GSYM_SYMBFILE_EXTRACTION_H
#define GSYM_SYMBFILE_EXTRACTION_H

#include "code/calls.h"
#include "export/function_walk.h"
#include "symbfile/levels.h"

/* ---- extraction_names.c ------------------------------------------------------------- */

struct gsym_symbfile_names {
    const gsym_image *image;
    function_walk walk;
    name_numbers names;
    bool is_counted;
    uint32_t *strings;     /* number in the writer of each collected name */
    uint64_t string_count; /* number of names added to the writer */
    uint32_t *files;       /* number of the path of each file, 0: not known yet */
    uint64_t text_left;    /* remaining bytes of names and paths */
    buffer text;           /* memory for one name or path */
};

/* Return the string of a name; 0 if the name was not collected. */
uint32_t symbfile_names_function(const gsym_symbfile_names *names, uint64_t strp);
/* Find the string of the path of a file; 0 for no file. */
gsym_status symbfile_names_file(gsym_symbfile_names *names,
                                gsym_symbfile_writer *writer, uint32_t file,
                                uint32_t *string_ret, gsym_error *error);

/* ---- return_pads.c ------------------------------------------------------------------ */

/* The state of writing return pads: each is the chain of functions at a call. Functions
 * come in ascending order. */
typedef struct return_pads {
    gsym_symbfile_writer *writer;
    gsym_symbfile_names *names;
    const gsym_calls *calls;
    size_t next;     /* index of the next call */
    index_list open; /* ranges that cover the call, the outermost first */
    LIST(gsym_symbfile_entry) entries; /* the entries of one return pad */
} return_pads;

void return_pads_deinit(return_pads *pads);
/* Whether there are calls from `start` to `end` (exclusive); earlier calls are skipped. */
bool return_pads_seek(return_pads *pads, uint64_t start, uint64_t end);
/* Write the return pads of the calls in a function, which ends at `end`, and add their
 * number to *count. */
gsym_status return_pads_add(return_pads *pads, const gsym_function *function,
                            const function_levels *levels, uint64_t end,
                            uint64_t *count, gsym_error *error);

#endif
