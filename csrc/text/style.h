/* style.h - define compiled templates, which the formatter runs. */
#ifndef GSYM_TEXT_STYLE_H
#define GSYM_TEXT_STYLE_H

#include "base/error.h"

/* An operation writes its text, then acts by its kind. */
enum { STYLE_TEXT_SIZE = 16 };

typedef enum style_kind {
    STYLE_END, /* end of the template or of a loop */
    STYLE_TEXT,
    STYLE_GOTO,
    /* Conditions: if false, skip `next` operations. */
    STYLE_IF_FOUND,
    STYLE_IF_PATTERNS,
    STYLE_IF_SEVERAL,
    STYLE_IF_LATER,
    STYLE_IF_NAME,
    STYLE_IF_PATH,
    STYLE_IF_LINE,
    STYLE_IF_OFFSET,
    STYLE_IF_INLINED,
    /* Loops: the body follows; at its end, skip `next` operations. */
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
    /* A condition and its field, <?name><name><:>...</>: put the field and skip `next`
     * operations, or run these if it is unknown. */
    STYLE_NAME_OR,
    STYLE_PATH_OR,
    STYLE_LINE_OR,
    /* `rare` is one of the following kinds, which are run by a separate function. */
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
    uint8_t kind; /* a style_kind up to STYLE_RARE */
    uint8_t rare; /* a style_kind after STYLE_RARE */
    uint8_t size; /* of the text, in bytes */
    uint8_t reserved;
    uint32_t next;              /* number of operations to skip */
    char text[STYLE_TEXT_SIZE]; /* written first; zeros after its end */
} style_op;

enum { STYLE_NUMBER_SIZE = 24 }; /* maximum bytes of a number */

struct gsym_style {
    size_t room; /* bytes that all texts and numbers take, each written once */
    struct {
        style_op *items;
        size_t count, capacity;
    } ops;
};

#endif
