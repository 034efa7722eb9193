/* launcher.h - what the programs of the launcher share.
 *
 * The programs `gsym`, `gsymutil`, `gsym-addr2line` and `gsym-symbolizer` are small, so
 * that a single question is answered without the start of Python. Each recognizes a few
 * command lines of which it knows everything, has the engine answer them, and prints the
 * answer. For all others, and wherever an answer would not be plain, it becomes the command
 * in Python, which does the same from the start. Nothing is printed before that is
 * decided. */
#ifndef GSYM_LAUNCHER_H
#define GSYM_LAUNCHER_H

#include <gsym/gsym.h>
#include <gsym/libgsym.h>

#include "base/error.h"

/* What is printed: to the standard output, then to the standard error. */
typedef struct printed_texts {
    gsym_text *output, *errors;
} printed_texts;

/* Answer a command line of `count` words without the program, which may be overwritten:
 * append all that is printed. False: the command in Python has to run. */
typedef bool (*answer_words)(char **words, size_t count, const printed_texts *texts);

/* Run a program: answer its command line, or become the command in Python. Returns the exit
 * status. */
int launch(const char *program, answer_words answer, int argc, char **argv);

/* ---- lookups in one file */

/* The addresses that a command takes. */
typedef enum address_form {
    ADDRESS_HEX,  /* digits are hexadecimal, with or without 0x */
    ADDRESS_LLVM, /* hexadecimal with 0x, else decimal */
    ADDRESS_NM    /* the same, and hexadecimal without 0x if it cannot be decimal */
} address_form;

typedef struct question {
    const char *path;      /* of the file; NULL: not known yet */
    char **words;          /* the addresses */
    size_t count;
    address_form form;
    uint32_t style;        /* gsym_command_style */
    uint32_t style_flags;  /* gsym_style_flags */
    uint32_t format_flags; /* gsym_format_flags */
    bool explains_misses;  /* the command says more if an address has no answer */
    bool takes_programs;   /* the path may be that of a program without a GSYM file */
} question;

/* Note an address. It overwrites one of the words that have been read. */
static inline void question_add(question *asked, char *word) {
    asked->words[asked->count++] = word;
}
bool answer_question(const question *asked, gsym_text *text);

/* ---- conversions */

typedef struct program_conversion {
    const char *input, *output;
    gsym_convert_options options;
    bool is_quiet;
    const printed_texts *texts; /* get the report, unless it is quiet, and warnings */
} program_conversion;

/* Convert a program that has all that belongs to it inside. False for any other, and after
 * an error: the output is as before. */
bool convert_program(const program_conversion *wanted);

struct object_file;
/* Whether a program has all that belongs to it inside. */
bool is_complete(struct object_file *binary);
/* Fail, so that the command in Python runs. */
gsym_status leave(gsym_error *error);
/* Make a file in memory that answers `addresses`, which are sorted, of a program without a
 * GSYM file of its own. NULL for any other, and if much of it would be converted. */
gsym_image *convert_parts(const char *path, uint64_t *addresses, size_t count);

/* Whether a terminal shows a text as it is. */
bool is_plain(const char *bytes, size_t size);

static inline bool is_word(const char *word, const char *wanted) {
    return strcmp(word, wanted) == 0;
}

/* What follows `name` in a word that begins with it, else NULL. */
static inline const char *value_after(const char *word, const char *name) {
    size_t size = strlen(name);
    return strncmp(word, name, size) == 0 ? word + size : NULL;
}

#endif
