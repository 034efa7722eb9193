/* markup_element.h - the elements of symbolizer markup that stand for an address of code. */
#ifndef GSYM_TEXT_MARKUP_ELEMENT_H
#define GSYM_TEXT_MARKUP_ELEMENT_H

#include "base/internal.h"

typedef struct code_element {
    bool is_frame;         /* of a backtrace; else a code location */
    uint64_t number;       /* of the frame */
    uint64_t logged;       /* the address */
    uint64_t looked_up;    /* one less for a return address */
    uint64_t linked;       /* the link-time address of that */
    const gsym_markup_segment *segment; /* that it is in */
    const char *fields;    /* all that is between the braces */
    size_t fields_size;
    const char *message;   /* what stands behind the frame */
    size_t message_size;
    size_t end; /* offset in the line behind it */
} code_element;

/* The offset of the first `{{{` at `at` or behind it, `size` where there is none. */
size_t markup_find_element(const char *bytes, size_t at, size_t size);
/* The segment that an address in memory is in; NULL: none. */
const gsym_markup_segment *markup_find_segment(const gsym_markup_job *job,
                                               uint64_t address);
/* The element of a line at `at`; false where it is none that can be answered here. */
bool markup_read_element(const gsym_markup_job *job, const char *line, size_t size,
                         size_t at, code_element *element);

static inline uint64_t markup_linked(const gsym_markup_segment *segment, uint64_t address) {
    return address - segment->start + segment->address;
}

static inline bool markup_wants(const gsym_markup_job *job, gsym_markup_flags flag) {
    return (job->flags & flag) != 0;
}

#endif
