/* markup.h - parse and format elements of symbolizer markup for code addresses. */
#ifndef GSYM_TEXT_MARKUP_H
#define GSYM_TEXT_MARKUP_H

#include "text/text.h"

typedef struct code_element {
    bool is_frame;         /* `bt`; else `pc` */
    const char *kind;      /* "ra", "pc", or "" */
    uint64_t number;       /* number of the frame, of `bt` */
    uint64_t logged;       /* the address */
    uint64_t looked_up;    /* one less for a return address */
    uint64_t linked;       /* the link-time address of `looked_up` */
    const gsym_markup_segment *segment; /* contains `looked_up` */
    const char *fields;    /* the text between the braces */
    size_t fields_size;
    const char *message;   /* the text after the frame */
    size_t message_size;
    size_t end; /* offset in the line after the element */
} code_element;

/* Find the offset of the first `{{{` at or after `at`; `size` if there is none. */
size_t markup_find_element(const char *bytes, size_t at, size_t size);
/* Find the segment that contains an address in memory, or NULL. */
const gsym_markup_segment *markup_find_segment(const gsym_markup_job *job,
                                               uint64_t address);
/* Read the element of a line at `at`; false if it is not one for code, or malformed. */
bool markup_read_element(const gsym_markup_job *job, const char *line, size_t size,
                         size_t at, code_element *element);

static inline uint64_t markup_linked(const gsym_markup_segment *segment, uint64_t address) {
    return address - segment->start + segment->address;
}

/* Whether any of `flags` is set. */
static inline bool markup_wants(const gsym_markup_job *job, uint32_t flags) {
    return (job->flags & flags) != 0;
}

/* ---- formatting --------------------------------------------------------------------- */

typedef struct markup_work {
    gsym_text *text;
    gsym_name_texts *texts;
    gsym_markup_job *job;
    uint64_t number; /* of the current module */
    gsym_markup_module *module;
    bool is_coloured;
} markup_work;

/* The frames at the address of an element, innermost first. */
typedef struct code_answer {
    const code_element *element;
    const gsym_frame *frames;
    uint32_t count;
    bool is_merged; /* all frames become one, with the name of the outermost and the line
                       of the innermost */
    bool is_damaged; /* the record is damaged, so there are no frames */
} code_answer;

/* These two return the name of a frame, and the number of frames, after merging. */
uint64_t code_name(const code_answer *answer, uint32_t frame);
uint32_t code_frame_count(const code_answer *answer);
bool is_code_name_known(const markup_work *work, uint64_t name);
/* Put the name of a function, or the path of a file; false if it is unknown. */
bool put_code_name(const markup_work *work, uint64_t name);
bool put_code_path(const markup_work *work, uint32_t file);
bool has_code_path(const markup_work *work, uint32_t file);

/* Put the text that replaces the element at `begin` of a line or piece. */
void put_code_element(markup_work *work, const code_answer *answer, const char *line,
                      size_t begin, size_t size);

/* ---- a code location as an object of JSON, and as a detail of HTML ------------------ */

/* Append text of a log as HTML: escaped, with control pictures, and U+FFFD for invalid
 * UTF-8. */
void put_html(buffer *out, const char *bytes, size_t size);
/* Put text of the log, except in JSON. */
void put_log_text(const markup_work *work, const char *bytes, size_t size);

/* Put the beginning of a JSON object for an element; `at` is its offset in the lines. */
void put_json_begin(const markup_work *work, const code_element *element, size_t at);
/* Put the rest of the JSON object; the second function puts the result of the lookup as an
 * HTML detail. */
void put_json_answer(const markup_work *work, const code_answer *answer);
void put_html_detail(const markup_work *work, const code_answer *answer);

#endif
