/* calls.h - a list of calls as the engine's own sources see it. */
#ifndef GSYM_CODE_CALLS_H
#define GSYM_CODE_CALLS_H

#include "base/buffer.h"
#include "base/cursor.h"

struct gsym_calls {
    LIST(uint64_t) addresses;
    struct {
        uint8_t *items;
        size_t count, capacity;
    } sizes, lines; /* as long as `addresses` */
    gsym_call_columns counts;
};

/* Bytes of the instruction at the cursor, which does not move; 0 where none is
 * defined or it is cut off. Calls are CALL, near and far, direct and indirect, SYSCALL
 * and INT n: what code comes back from. */
unsigned x86_instruction_size(const cursor *code, bool *is_call_ret);

/* Bytes of the instruction at the cursor, which stays where it is: 4, or 0 where it is cut
 * off. Calls are BL, BLR and SVC, and BLR with pointer authentication. */
unsigned aarch64_instruction_size(const cursor *code, bool *is_call_ret);

#endif
