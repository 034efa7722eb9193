/* text.h - append to a gsym_text, and keep what its answers are made of: paths, names,
 * frames. */
#ifndef GSYM_TEXT_TEXT_H
#define GSYM_TEXT_TEXT_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/digits.h"
#include "base/error.h"
#include "text/answer_queue.h"
#include "gsym/image.h"

/* ---- bytes that can be printed as they are ------------------------------------------- */

/* Return a mask of the highest bit of the first zero byte of `word`, and possibly of bytes
 * after it; 0 if no byte is zero. */
static inline uint64_t bytes_that_are_0(uint64_t word) {
    return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

/* Return a number that is not 0 if any of eight bytes is not printable ASCII. */
static inline uint64_t unprintable_bytes(uint64_t word) {
    return ((word - EACH_BYTE(' ')) | (word + EACH_BYTE(1)) | word) & EACH_BYTE(0x80);
}

static inline uint64_t unquotable_bytes(uint64_t word) {
    return unprintable_bytes(word) | bytes_that_are_0(word ^ EACH_BYTE('"')) |
           bytes_that_are_0(word ^ EACH_BYTE('\\'));
}

/* Return up to eight bytes of a text from `at` on, padded with blanks. */
static inline uint64_t load_text(const char *bytes, size_t at, size_t size) {
    uint64_t word = EACH_BYTE(' ');
    if (GSYM_LIKELY(size - at >= sizeof word))
        memcpy(&word, bytes + at, sizeof word); /* a constant size, so the compiler calls
                                                   no function */
    else
        memcpy(&word, bytes + at, size - at);
    return word;
}

/* Whether all bytes are printable ASCII. */
static inline bool is_printable_text(const char *bytes, size_t size) {
    uint64_t found = 0;
    for (size_t at = 0; at < size; at += sizeof found)
        found |= unprintable_bytes(load_text(bytes, at, size));
    return found == 0;
}

/* Whether all bytes also need no escape in JSON. */
static inline bool is_quotable_text(const char *bytes, size_t size) {
    uint64_t found = 0;
    for (size_t at = 0; at < size; at += sizeof found)
        found |= unquotable_bytes(load_text(bytes, at, size));
    return found == 0;
}

/* ---- paths of files, joined once for many frames ------------------------------------- */

typedef enum path_form {
    PATH_WHOLE,
    PATH_BASENAME,
    PATH_LLVM /* `<invalid-file>` for an unknown base name; is_printable is not set */
} path_form;

typedef struct joined_path {
    const char *bytes; /* valid until the next request */
    uint32_t size;     /* 0: unknown */
    uint32_t directory_size; /* of the directory without the separator after it */
    uint32_t filename_at;
    bool is_printable; /* all bytes are printable ASCII; not set for PATH_LLVM */
    bool is_quotable;  /* also, JSON needs no escapes; not set for PATH_LLVM */
} joined_path;

struct cached_path;

typedef struct path_cache {
    struct cached_path *slots;
    buffer bytes;
    path_form form;
    uint32_t generation; /* slots of an earlier generation are empty */
    bool escapes;        /* ASCII control characters are written as \xNN */
} path_cache;

void path_cache_deinit(path_cache *cache);
/* Clear the cache; set the form of all paths. False if out of memory. */
bool path_cache_begin(path_cache *cache, path_form form);
/* Get the path of a file of the file table. False if out of memory. */
bool path_cache_get(path_cache *cache, const gsym_image *image, uint32_t file,
                    joined_path *path_ret);

/* The position of a name whose text is not known yet. */
typedef struct text_gap {
    size_t at;
    size_t number; /* of the name, in the table of texts */
} text_gap;

/* Greatest number of names without text in a block; it is limited because the size of their
 * texts is not known. */
enum { TEXT_MAX_GAPS = 256 };

struct gsym_text {
    buffer out;
    buffer spare; /* memory in which the text is written again with its gaps filled */
    gsym_frame *frames; /* of one lookup; kept from answer to answer */
    size_t frame_capacity;
    uint64_t *regexes;
    size_t regex_capacity;
    answer_queue queue;
    path_cache paths;
    LIST(text_gap) gaps;
};

/* Put lower-case hexadecimal with 0x, padded with zeros to `digits`. */
void text_put_hex(gsym_text *text, uint64_t value, unsigned digits);
void text_put_decimal(gsym_text *text, uint64_t value);
/* Put bytes of a name or path, which may need escapes. */
void text_put_bytes(gsym_text *text, const char *bytes, size_t size);
void text_put_string(gsym_text *text, const gsym_image *image, uint64_t strp);
/* Prefetch texts of names for lines after the next one; `prefix` is combined with the
 * offsets of names. */
void name_texts_look_ahead(const gsym_name_texts *texts, const answer_queue *queue,
                           uint64_t prefix);
/* Put the text of a name; false if unknown. */
bool text_put_known_name(gsym_text *text, const gsym_name_texts *texts, uint64_t strp);
/* Put the text of a name, or a gap for it. */
void text_put_name(gsym_text *text, gsym_name_texts *texts, uint64_t strp);
/* Get the path of a file, in the form of the cache. False, and text->out has failed, if out
 * of memory. */
bool text_get_path(gsym_text *text, const gsym_image *image, uint32_t file,
                   joined_path *path_ret);
/* Read the address in the line that ends at `end`; the job says how it is written. Return
 * false if the line has no address. */
bool text_read_address(const gsym_format_job *job, const char *line, const char *end,
                       uint64_t *address_ret);
/* Look up `address`: frames go to text->frames, which grows, and patterns of its call site
 * to text->regexes; `flags` are gsym_lookup_flags. */
gsym_status text_look_up(gsym_text *text, const gsym_image *image, uint64_t address,
                         uint32_t child, uint32_t flags, gsym_answer *answer,
                         gsym_error *error);
/* Find the frames at an address. There are none without a function, without an image, or if
 * the record is damaged. */
gsym_status text_find(gsym_text *text, const gsym_image *image, uint64_t address,
                      const gsym_frame **frames_ret, uint32_t *count_ret,
                      gsym_error *error);

/* Find the frames of the next line in the queue; look them up if necessary. */
gsym_status text_next_frames(gsym_text *text, const gsym_image *image, uint64_t address,
                             const gsym_frame **frames_ret, uint32_t *count_ret,
                             gsym_error *error);

/* A function that puts the answer to the next line of the queue. */
typedef gsym_status (*text_put_answer)(const void *job, uint64_t address,
                                       gsym_error *error);
/* Answer lines of the queue until the text has `limit` bytes or many gaps; *used_ret counts
 * the bytes of these lines. `image` is NULL if they are from several images. */
gsym_status text_answer_lines(gsym_text *text, const gsym_image *image, size_t limit,
                              text_put_answer put, const void *job, size_t *used_ret,
                              gsym_error *error);

/* Whether a character is white space, as isspace() in the C locale. */
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

/* Reserve `size` bytes after the text and return their position, or NULL. The caller writes
 * them and calls text_end() with their end. */
static inline uint8_t *text_begin(gsym_text *text, size_t size) {
    return buffer_reserve(&text->out, size) ? text->out.bytes + text->out.size : NULL;
}

static inline void text_end(gsym_text *text, const uint8_t *end) {
    text->out.size = (size_t)(end - text->out.bytes);
}

static inline uint8_t *put_bytes_unchecked(uint8_t *at, const void *bytes, size_t size) {
    if (size > 0) memcpy(at, bytes, size);
    return at + size;
}

#define put_literal_unchecked(at, literal)                                                 \
    put_bytes_unchecked(at, literal, sizeof(literal) - 1)

static inline gsym_status text_status(const gsym_text *text, gsym_error *error) {
    return text->out.failed ? gsym_fail_memory(error) : GSYM_OK;
}

#endif
