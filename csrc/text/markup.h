/* markup.h - the elements of symbolizer markup that stand for an address of code. */
#ifndef GSYM_TEXT_MARKUP_H
#define GSYM_TEXT_MARKUP_H

#include "base/buffer.h"
#include "base/error.h"

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

/* What elements of a log became, for those that come again.
 *
 * Stacks of one program repeat a few thousand addresses. What stands in place of an
 * element is kept when it comes for the second time, up to a number of bytes, in parts:
 * one for each frame, without the number in front of it, which differs. */

/* The parts of a text, one behind the other. */
typedef struct element_text {
    const uint8_t *bytes;
    const uint32_t *sizes;
    uint32_t count; /* 0: there is none */
} element_text;

enum { MOST_ELEMENT_PARTS = 64 };

/* Where parts stand among other text. */
typedef struct element_parts {
    size_t begins[MOST_ELEMENT_PARTS];
    uint32_t sizes[MOST_ELEMENT_PARTS];
    uint32_t count; /* also of those that there is no room for */
} element_parts;

struct element_bucket;

typedef struct element_texts {
    struct element_bucket *buckets;
    uint8_t *bytes;   /* a ring */
    uint64_t begin;   /* texts in front of it are forgotten; counted as `end` is */
    uint64_t end;     /* bytes that were ever kept */
    uint64_t version; /* of what is loaded where, that the texts are for */
} element_texts;

void element_texts_deinit(element_texts *texts);
/* The texts that follow are of one version of what is loaded where. False where there is
 * no memory. */
bool element_texts_begin(element_texts *texts, uint64_t version);
/* Where the text of an element is kept that is looked up at an address; 0: nowhere. It
 * takes many that are met later to have it forgotten. */
uint32_t element_texts_place(element_texts *texts, uint64_t looked_up);
/* Have the memory fetched that is needed to find that; that tells where the text at a
 * place is; that text. */
void element_texts_fetch_bucket(const element_texts *texts, uint64_t looked_up);
void element_texts_fetch_place(const element_texts *texts, uint32_t place);
void element_texts_fetch_text(const element_texts *texts, uint32_t place);
/* The text of an element, until the next one is met. */
void element_texts_get(const element_texts *texts, const code_element *element,
                       element_text *text_ret);
/* Take note of an element without a text, whose parts stand in `out`; from the second time
 * on they are kept. */
void element_texts_meet(element_texts *texts, const code_element *element,
                        const buffer *out, const element_parts *parts);

#endif
