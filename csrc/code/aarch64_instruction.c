/* aarch64_instruction.c - all instructions are words, in little-endian order whatever the
 * order of data is.
 *
 * Source: Arm Architecture Reference Manual for A-profile architecture, C4.1.65. */
#include "code/aarch64_instruction.h"

enum { WORD_SIZE = 4 };

typedef struct word_pattern {
    uint32_t mask;
    uint32_t value;
} word_pattern;

static const word_pattern calls[] = {
    {0xfc000000, 0x94000000}, /* BL */
    {0xfffffc1f, 0xd63f0000}, /* BLR */
    {0xffe0001f, 0xd4000001}, /* SVC */
    {0xfffff81f, 0xd63f081f}, /* BLRAAZ, BLRABZ */
    {0xfffff800, 0xd73f0800}, /* BLRAA, BLRAB */
};

unsigned aarch64_instruction_size(const cursor *code, bool *is_call_ret) {
    cursor c = cursor_at(code->at, cursor_left(code), 0, false);
    uint32_t word = cursor_u32(&c);
    *is_call_ret = false;
    if (c.failed) return 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        *is_call_ret |= (word & calls[i].mask) == calls[i].value;
    return WORD_SIZE;
}
