/* fxt.h - the format of Fuchsia traces: records of whole words of 64 bits, in the byte
 * order of the machine that wrote them. docs/fxt.md has what the document leaves open. */
#ifndef GSYM_FXT_FXT_H
#define GSYM_FXT_FXT_H

#include "base/cursor.h"

enum {
    FXT_WORD_SIZE = 8,
    FXT_INLINE_STRING = 0x8000 /* in a string ref: the other bits are a length */
};

/* The bits of a word from `first` on, `count` of them, below 64. */
static inline uint64_t fxt_bits(uint64_t word, unsigned first, unsigned count) {
    return word >> first & ((UINT64_C(1) << count) - 1);
}

static inline uint64_t fxt_padded(uint64_t size) { return (size + 7) & ~UINT64_C(7); }

/* The header 0x0016547846040010 as it looks in the other byte order. */
#define FXT_MAGIC_HEADER UINT64_C(0x0016547846040010)

typedef struct fxt_record {
    uint64_t header;
    uint64_t size; /* bytes; 0 in what is no record */
    gsym_fxt_kind kind;
} fxt_record;

/* What the header at the cursor says; 8 bytes have to be there. The cursor goes behind
 * it, and takes the byte order of a magic number. */
fxt_record fxt_read_header(cursor *c);
/* Type of its kind of record, GSYM_FXT_NO_SUBTYPE where the format has none. */
uint64_t fxt_subtype(uint64_t header);

#endif
