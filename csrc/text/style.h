/* style.h - templates of answers as operations, for the formatter. */
#ifndef GSYM_STYLE_H
#define GSYM_STYLE_H

#include "base/error.h"

/* An operation writes its text, then does what its kind is. */
enum { STYLE_TEXT_SIZE = 16 };

typedef enum style_kind {
    STYLE_END, /* of the template, or of what a loop repeats */
    STYLE_TEXT,
    STYLE_GOTO,
    /* Conditions: where they do not hold, it goes on after `next` operations. */
    STYLE_IF_FOUND,
    STYLE_IF_PATTERNS,
    STYLE_IF_SEVERAL,
    STYLE_IF_LATER,
    STYLE_IF_NAME,
    STYLE_IF_PATH,
    STYLE_IF_LINE,
    STYLE_IF_OFFSET,
    STYLE_IF_INLINED,
    /* Loops: what they repeat follows; then it goes on after `next` operations. */
    STYLE_FRAMES,
    STYLE_INNERMOST,
    STYLE_COMBINED,
    /* Fields. */
    STYLE_ADDRESS,
    STYLE_ADDRESS_16,
    STYLE_ADDRESS_DECIMAL,
    STYLE_COUNT,
    STYLE_START,
    STYLE_SIZE,
    STYLE_NAME,
    STYLE_PATH,
    STYLE_DIRECTORY,
    STYLE_FILENAME,
    STYLE_LINE,
    STYLE_OFFSET,
    STYLE_FRAME_START,
    /* What is left to a function of its own: `rare` says which of those that follow. */
    STYLE_RARE,
    STYLE_IF_OUTSIDE,
    STYLE_IF_DAMAGED,
    STYLE_IF_MERGED,
    STYLE_IF_MORE,
    STYLE_IF_FILENAME,
    STYLE_FUNCTIONS,
    STYLE_MERGED,
    STYLE_PATTERNS,
    STYLE_ADDRESS_8,
    STYLE_FUNCTION,
    STYLE_INDENT,
    STYLE_ERROR,
    STYLE_PATTERN,
    STYLE_SOURCE
} style_kind;

typedef struct style_op {
    uint8_t kind; /* style_kind, up to STYLE_RARE */
    uint8_t rare; /* style_kind, after it */
    uint8_t size; /* of the text */
    uint8_t reserved;
    uint32_t next;              /* operations in between */
    char text[STYLE_TEXT_SIZE]; /* written first; zeros after its end */
} style_op;

enum { STYLE_NUMBER_SIZE = 24 }; /* of a field that is a number, at the most */

struct gsym_style {
    size_t room; /* for all texts and numbers, each once */
    struct {
        style_op *items;
        size_t count, capacity;
    } ops;
};

#endif
