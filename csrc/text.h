/* text.h - appending to a gsym_text: what all that writes text shares. */
#ifndef GSYM_TEXT_H
#define GSYM_TEXT_H

#include "buffer.h"

/* Where a name is left out whose text is not known yet. */
typedef struct text_gap {
    size_t at;
    size_t number; /* of the name, in the table of texts */
} text_gap;

/* Names that a block may wait for: what they stand for is not counted before. */
enum { TEXT_MAX_GAPS = 256 };

struct gsym_text {
    buffer out;
    gsym_frame *frames; /* scratch of lookups, kept from answer to answer */
    size_t frame_capacity;
    uint64_t *regexes;
    size_t regex_capacity;
    struct {
        text_gap *items;
        size_t count, capacity;
    } gaps;
};

/* Lower-case hexadecimal with 0x, padded with zeros to `digits`. */
void text_put_hex(gsym_text *text, uint64_t value, unsigned digits);
void text_put_decimal(gsym_text *text, uint64_t value);
void text_put_string(gsym_text *text, const gsym_image *image, uint64_t strp);
/* The text of a name, or a gap for it. */
void text_put_name(gsym_text *text, gsym_name_texts *texts, uint64_t strp);
/* Look `address` up into text->frames, which grow until all fit; without an image, or on
 * a damaged record, nothing is found. */
gsym_status text_find(gsym_text *text, const gsym_image *image, uint64_t address,
                      gsym_answer *answer, gsym_error *error);
/* Directory and the separator behind it, nothing where there is none. */
void text_put_directory(gsym_text *text, const char *directory, size_t size);

/* The path of a file of the table, or only its base name; nothing where none is known. */
void text_put_path(gsym_text *text, const gsym_image *image, uint32_t file,
                   bool is_short);

/* A number as LLVM reads it, in the base that its prefix tells; false where `bytes` are
 * more than that, or it does not fit. */
bool text_parse_number(const char *bytes, size_t size, uint64_t *value_ret);

#define text_put_literal(text, literal)                                                  \
    buffer_put(&(text)->out, literal, sizeof(literal) - 1)

static inline void text_put_char(gsym_text *text, char character) {
    buffer_put_u8(&text->out, (uint8_t)character);
}

static inline void text_put_spaces(gsym_text *text, unsigned count) {
    while (count-- > 0) text_put_char(text, ' ');
}

/* Write at `at`, behind a buffer_reserve() that covers it, and give back the place
 * behind: for loops that write many numbers. */
enum { MAX_HEX_SIZE = 16, MAX_DECIMAL_SIZE = 20 };

static inline uint8_t *put_hex_covered(uint8_t *at, uint64_t value) {
    unsigned digits = (67 - (unsigned)__builtin_clzll(value | 1)) / 4;
    for (unsigned i = digits; i-- > 0; value >>= 4)
        at[i] = (uint8_t)"0123456789abcdef"[value & 15];
    return at + digits;
}

static inline uint8_t *put_decimal_covered(uint8_t *at, uint64_t value) {
    unsigned digits = 1;
    for (uint64_t rest = value; rest > 9; rest /= 10) digits++;
    for (unsigned i = digits; i-- > 0; value /= 10) at[i] = (uint8_t)('0' + value % 10);
    return at + digits;
}

static inline gsym_status text_status(const gsym_text *text, gsym_error *error) {
    return text->out.failed ? gsym_fail_memory(error) : GSYM_OK;
}

#endif
