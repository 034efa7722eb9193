/* breakpad.h - define the state of writing a GSYM file as Breakpad text. */
#ifndef GSYM_EXPORT_BREAKPAD_H
#define GSYM_EXPORT_BREAKPAD_H

#include "export/function_walk.h"
#include "text/text.h"

/* The state of an inlined call while its function is written. */
typedef struct inline_verdict {
    uint64_t claimed; /* end of the last range of its children that was visited */
    uint32_t parent;
    bool may_overlap; /* the ranges of its children are not in order */
    bool is_kept;
} inline_verdict;

typedef LIST(inline_verdict) inline_verdict_list;

/* A range of an inlined call, to be sorted among those of its siblings. */
typedef struct sibling_range {
    gsym_range range;
    uint32_t parent;
    uint32_t node;
} sibling_range;

typedef LIST(sibling_range) sibling_range_list;

/* Memory for one function, used again for the next one. */
typedef struct export_inlines {
    inline_verdict_list verdicts;
    sibling_range_list siblings;
} export_inlines;

enum export_part {
    EXPORT_NAMES = 0, /* the names of inlined calls are collected, and nothing is written */
    EXPORT_FILES,
    EXPORT_ORIGINS,
    EXPORT_FUNCTIONS,
    EXPORT_DONE
};

struct gsym_breakpad_export {
    const gsym_image *image;
    function_walk walk;
    name_numbers origins;
    export_inlines inlines;
    gsym_breakpad_export_counts counts;
    enum export_part part;
    uint64_t next; /* entry, file or string offset that comes next in the part */
};

/* Return the number of a file in a record. A file that the table lacks gets 0, which no
 * FILE record has: readers treat that as no file. */
static inline uint32_t export_file(const gsym_image *image, uint32_t file) {
    return file < image->header.num_files ? file : 0;
}

/* ---- breakpad_inlines.c ------------------------------------------------------------- */

void export_inlines_deinit(export_inlines *inlines);
/* Append an INLINE record for each call inlined into `function` that has code inside of
 * `extent`. The names of all these calls have been collected. */
gsym_status export_inlines_put(gsym_breakpad_export *export, gsym_text *text,
                               const gsym_function *function, answer_extent extent,
                               gsym_error *error);

#endif
