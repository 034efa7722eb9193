/* format_code_element.h - what stands in place of one element with an address of code. */
#ifndef GSYM_TEXT_FORMAT_CODE_ELEMENT_H
#define GSYM_TEXT_FORMAT_CODE_ELEMENT_H

#include "text/markup_element.h"
#include "text/text.h"

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
    element_text kept; /* what stands for it, if that is known */
    const gsym_frame *frames;
    uint32_t count;
    bool is_merged; /* one frame: the name of the outermost, the line of the innermost */
    element_parts *parts; /* which are told where they are not kept */
} code_answer;

/* Put what stands in place of the element at `begin` of a line or piece. */
void put_code_element(markup_work *work, code_answer *answer, const char *line,
                      size_t begin, size_t size);

#endif
