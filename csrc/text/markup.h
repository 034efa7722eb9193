/* markup.h - elements of symbolizer markup that stand for an address of code. */
#ifndef GSYM_TEXT_MARKUP_H
#define GSYM_TEXT_MARKUP_H

#include "text/text.h"

typedef struct code_element {
    bool is_frame;         /* of a backtrace; else a code location */
    const char *kind;      /* "ra", "pc", or "" */
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

/* Whether any of some flags is set. */
static inline bool markup_wants(const gsym_markup_job *job, uint32_t flags) {
    return (job->flags & flags) != 0;
}

/* ---- what stands in place of one ---------------------------------------------------- */

typedef struct markup_work {
    gsym_text *text;
    gsym_name_texts *texts;
    gsym_markup_job *job;
    uint64_t number; /* of the module that is written about */
    gsym_markup_module *module;
    bool is_coloured;
} markup_work;

/* The frames at the address of an element, innermost first. */
typedef struct code_answer {
    const code_element *element;
    const gsym_frame *frames;
    uint32_t count;
    bool is_merged; /* one frame: the name of the outermost, the line of the innermost */
} code_answer;

/* The name of a frame as it is shown, and how many frames are. */
uint64_t code_name(const code_answer *answer, uint32_t frame);
uint32_t code_frame_count(const code_answer *answer);
/* Put the name of a function, the path of a file; false where it is not known. */
bool put_code_name(const markup_work *work, uint64_t name);
bool put_code_path(const markup_work *work, uint32_t file);
bool has_code_path(const markup_work *work, uint32_t file);

/* Put what stands in place of the element at `begin` of a line or piece. */
void put_code_element(markup_work *work, const code_answer *answer, const char *line,
                      size_t begin, size_t size);

/* ---- a code location as an object of JSON, and as a detail of HTML ------------------ */

/* Append text of a log as HTML: with escapes, pictures of control characters, and U+FFFD
 * for what is not UTF-8. */
void put_html(buffer *out, const char *bytes, size_t size);
/* Text of the log as the output has it, which is nowhere in JSON. */
void put_log_text(const markup_work *work, const char *bytes, size_t size);

/* The beginning of an object, for an element at an offset of the lines. */
void put_json_begin(const markup_work *work, const code_element *element, size_t at);
/* The rest of it, and what is known of an address, below the element itself. */
void put_json_answer(const markup_work *work, const code_answer *answer);
void put_html_detail(const markup_work *work, const code_answer *answer);

#endif
