/* text.h - appending to a gsym_text: what all that writes text shares. */
#ifndef GSYM_TEXT_TEXT_H
#define GSYM_TEXT_TEXT_H

#include "base/buffer.h"
#include "base/digits.h"
#include "base/error.h"
#include "gsym/answer_queue.h"
#include "gsym/image.h"

/* Whether bytes can be printed as they are. */

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A number with the highest bit set of the first byte of `word` that is 0, and perhaps of
 * bytes behind it; 0 where none is. */
static inline uint64_t bytes_that_are_0(uint64_t word) {
    return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

/* Not 0 where one of eight bytes is no printable character of ASCII. */
static inline uint64_t unprintable_bytes(uint64_t word) {
    return ((word - EACH_BYTE(' ')) | (word + EACH_BYTE(1)) | word) & EACH_BYTE(0x80);
}

static inline uint64_t unquotable_bytes(uint64_t word) {
    return unprintable_bytes(word) | bytes_that_are_0(word ^ EACH_BYTE('"')) |
           bytes_that_are_0(word ^ EACH_BYTE('\\'));
}

/* The bytes [at, size) of a text, eight at the most, with blanks behind them. */
static inline uint64_t load_text(const char *bytes, size_t at, size_t size) {
    uint64_t word = EACH_BYTE(' ');
    if (GSYM_LIKELY(size - at >= sizeof word))
        memcpy(&word, bytes + at, sizeof word); /* of a size that is known: no call */
    else
        memcpy(&word, bytes + at, size - at);
    return word;
}

/* Whether all are printable characters of ASCII. */
static inline bool is_printable_text(const char *bytes, size_t size) {
    uint64_t found = 0;
    for (size_t at = 0; at < size; at += sizeof found)
        found |= unprintable_bytes(load_text(bytes, at, size));
    return found == 0;
}

/* Whether all can stand between the quotes of JSON as well. */
static inline bool is_quotable_text(const char *bytes, size_t size) {
    uint64_t found = 0;
    for (size_t at = 0; at < size; at += sizeof found)
        found |= unquotable_bytes(load_text(bytes, at, size));
    return found == 0;
}

/* Paths of files, joined once for many frames. */

typedef enum path_form {
    PATH_WHOLE,
    PATH_BASENAME,
    PATH_LLVM /* `<invalid-file>` stands for a base name that is not known; not classed */
} path_form;

typedef struct joined_path {
    const char *bytes; /* until the next one is asked for */
    uint32_t size;     /* 0: it is not known */
    uint32_t directory_size; /* of the directory without the separator after it */
    uint32_t filename_at;
    bool is_printable; /* its parts are; false if it is not classed */
    bool is_quotable;  /* likewise */
} joined_path;

struct cached_path;

typedef struct path_cache {
    struct cached_path *slots;
    buffer bytes;
    path_form form;
    uint32_t generation; /* slots of an earlier one are empty */
    bool escapes;        /* ASCII control characters are written as \xNN */
} path_cache;

/* The separator between a directory, which has one of its own if it is from Windows, and
 * what is in it. */
char path_separator(const char *directory, size_t size);

/* Forget all paths; those that follow are of one form. False where there is no memory. */
bool path_cache_begin(path_cache *cache, path_form form);
/* The path of a file of the table. False where there is no memory. */
bool path_cache_get(path_cache *cache, const gsym_image *image, uint32_t file,
                    joined_path *path_ret);

/* Where a name is left out whose text is not known yet. */
typedef struct text_gap {
    size_t at;
    size_t number; /* of the name, in the table of texts */
} text_gap;

/* Names that a block may wait for: what they stand for is not counted before. */
enum { TEXT_MAX_GAPS = 256 };

struct gsym_text {
    buffer out;
    buffer spare; /* for the same text with its gaps filled */
    gsym_frame *frames; /* of one lookup; kept from answer to answer */
    size_t frame_capacity;
    uint64_t *regexes;
    size_t regex_capacity;
    answer_queue queue;
    path_cache paths;
    LIST(text_gap) gaps;
};

/* Lower-case hexadecimal with 0x, padded with zeros to `digits`. */
void text_put_hex(gsym_text *text, uint64_t value, unsigned digits);
void text_put_decimal(gsym_text *text, uint64_t value);
/* Bytes of a name or path. */
void text_put_bytes(gsym_text *text, const char *bytes, size_t size);
void text_put_string(gsym_text *text, const gsym_image *image, uint64_t strp);
/* As queue_look_ahead(), where names have texts; `prefix` is in front of their offsets. */
void name_texts_look_ahead(const gsym_name_texts *texts, const answer_queue *queue,
                           uint64_t prefix);
/* The text of a name if it is known; else false. */
bool text_put_known_name(gsym_text *text, const gsym_name_texts *texts, uint64_t strp);
/* The text of a name, or a gap for it. */
void text_put_name(gsym_text *text, gsym_name_texts *texts, uint64_t strp);
/* Directory and the separator behind it, nothing where there is none. */
void text_put_directory(gsym_text *text, const char *directory, size_t size);
/* The path of a file, in the form that the paths were begun with. False, and no text any
 * more, where there is no memory. */
bool text_get_path(gsym_text *text, const gsym_image *image, uint32_t file,
                   joined_path *path_ret);
/* Look `address` up into text->frames, which grow until all fit, and the patterns of its
 * call site into text->regexes; `flags` are gsym_lookup_flags. */
gsym_status text_look_up(gsym_text *text, const gsym_image *image, uint64_t address,
                         uint32_t child, uint32_t flags, gsym_answer *answer,
                         gsym_error *error);
/* The frames at an address, none where there are none, where the record is damaged and
 * without an image. */
gsym_status text_find(gsym_text *text, const gsym_image *image, uint64_t address,
                      const gsym_frame **frames_ret, uint32_t *count_ret,
                      gsym_error *error);

/* The frames of the line that is next in the queue, which are looked up only if they are
 * not there yet. */
gsym_status text_next_frames(gsym_text *text, const gsym_image *image, uint64_t address,
                             const gsym_frame **frames_ret, uint32_t *count_ret,
                             gsym_error *error);

/* Puts the answer to the line of the queue that is next. */
typedef gsym_status (*text_put_answer)(const void *job, uint64_t address,
                                       gsym_error *error);
/* Answer lines of the queue until the text holds `limit` bytes or many gaps; *used_ret
 * counts the bytes of these lines. Where they are about several images, `image` is NULL. */
gsym_status text_answer_lines(gsym_text *text, const gsym_image *image, size_t limit,
                              text_put_answer put, const void *job, size_t *used_ret,
                              gsym_error *error);

/* As isspace() in the C locale. */
static inline bool is_space(char character) {
    return character == ' ' || (character >= '\t' && character <= '\r');
}

#define text_put_literal(text, literal)                                                  \
    buffer_put(&(text)->out, literal, sizeof(literal) - 1)

static inline void text_put_char(gsym_text *text, char character) {
    buffer_put_u8(&text->out, (uint8_t)character);
}

static inline void text_put_spaces(gsym_text *text, unsigned count) {
    while (count-- > 0) text_put_char(text, ' ');
}

/* Room for `size` bytes behind the text: where they go, or NULL. text_end() tells where
 * they end. */
static inline uint8_t *text_begin(gsym_text *text, size_t size) {
    return buffer_reserve(&text->out, size) ? text->out.bytes + text->out.size : NULL;
}

static inline void text_end(gsym_text *text, const uint8_t *end) {
    text->out.size = (size_t)(end - text->out.bytes);
}

static inline uint8_t *put_bytes_covered(uint8_t *at, const void *bytes, size_t size) {
    if (size > 0) memcpy(at, bytes, size);
    return at + size;
}

#define put_literal_covered(at, literal)                                                 \
    put_bytes_covered(at, literal, sizeof(literal) - 1)

static inline gsym_status text_status(const gsym_text *text, gsym_error *error) {
    return text->out.failed ? gsym_fail_memory(error) : GSYM_OK;
}

#endif
