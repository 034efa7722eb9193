/* text.h - appending to a gsym_text: what format_text.c and dump_text.c share. */
#ifndef GSYM_TEXT_H
#define GSYM_TEXT_H

#include "buffer.h"

struct gsym_text {
    buffer out;
    gsym_frame *frames; /* scratch of lookups, kept from answer to answer */
    size_t frame_capacity;
    uint64_t *regexes;
    size_t regex_capacity;
};

/* Lower-case hexadecimal with 0x, padded with zeros to `digits`. */
void text_put_hex(gsym_text *text, uint64_t value, unsigned digits);
void text_put_decimal(gsym_text *text, uint64_t value);
void text_put_string(gsym_text *text, const gsym_image *image, uint64_t strp);
/* Directory and the separator behind it, nothing where there is none. */
void text_put_directory(gsym_text *text, const char *directory, size_t size);

#define text_put_literal(text, literal)                                                  \
    buffer_put(&(text)->out, literal, sizeof(literal) - 1)

static inline void text_put_char(gsym_text *text, char character) {
    buffer_put_u8(&text->out, (uint8_t)character);
}

static inline void text_put_spaces(gsym_text *text, unsigned count) {
    while (count-- > 0) text_put_char(text, ' ');
}

static inline gsym_status text_status(const gsym_text *text, gsym_error *error) {
    return text->out.failed ? gsym_fail_memory(error) : GSYM_OK;
}

#endif
