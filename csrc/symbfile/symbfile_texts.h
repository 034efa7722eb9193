/* symbfile_texts.h - the strings of ranges on their way into a GSYM file.
 *
 * A reader gives all of its numbers up now and then, while a function still waits for
 * calls that are inlined into it. Here a string keeps its index until that function is
 * finished. It goes into the file when the file needs it, and not before. */
#ifndef GSYM_SYMBFILE_SYMBFILE_TEXTS_H
#define GSYM_SYMBFILE_SYMBFILE_TEXTS_H

#include "create/creator.h"

typedef struct symbfile_text {
    uint64_t at; /* in the bytes */
    uint32_t size;
    uint32_t file; /* number in the output, SYMBFILE_TEXT_UNUSED: it has none yet */
    uint64_t name; /* strp, 0: it has none yet */
} symbfile_text;

#define SYMBFILE_TEXT_UNUSED UINT32_MAX

typedef struct symbfile_texts {
    gsym_creator *creator;
    buffer bytes;
    struct { symbfile_text *items; size_t count, capacity; } list; /* text 0: no string */
    size_t first;  /* the text that is number 1 of the reader */
    buffer spelled; /* scratch */
} symbfile_texts;

gsym_status symbfile_texts_init(symbfile_texts *texts, gsym_creator *creator,
                                gsym_error *error);
void symbfile_texts_deinit(symbfile_texts *texts);

/* Add the new strings of a read, each read in its turn. */
gsym_status symbfile_texts_take(symbfile_texts *texts, const gsym_symbfile_columns *columns,
                                gsym_error *error);
/* No function is waiting: forget the strings that the reader has given up. */
void symbfile_texts_forget(symbfile_texts *texts);

/* The text of a number of the reader. */
static inline uint32_t symbfile_texts_index(const symbfile_texts *texts, uint32_t number) {
    return number == 0 ? 0 : (uint32_t)(texts->first + number - 1);
}

/* Byte by byte; text 0 equals no other, also no empty one. */
bool symbfile_texts_equal(const symbfile_texts *texts, uint32_t left, uint32_t right);
/* As the name of a function, which a GSYM file wants to have one. */
gsym_status symbfile_texts_name(symbfile_texts *texts, uint32_t index, uint64_t *strp_ret,
                                gsym_error *error);
/* As a path; 0 where it is empty. */
gsym_status symbfile_texts_file(symbfile_texts *texts, uint32_t index, uint32_t *file_ret,
                                gsym_error *error);

#endif
