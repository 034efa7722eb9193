/* calls.h - declare what the files of this folder share: the list of calls (call_list.c),
 * the code at an address (machine_code.c), sizes of instructions (instructions.c). */
#ifndef GSYM_CODE_CALLS_H
#define GSYM_CODE_CALLS_H

#include "base/list.h"
#include "base/cursor.h"

struct gsym_calls {
    LIST(uint64_t) addresses;
    struct {
        uint8_t *items;
        size_t count, capacity;
    } sizes, lines; /* each has as many items as `addresses` */
    gsym_call_columns counts;
};

/* Append a call; false where memory ran out. */
bool calls_add(gsym_calls *calls, uint64_t address, unsigned size, bool has_line);

/* Return the range of code that contains `address`, or NULL. */
const gsym_code *code_piece_at(const gsym_machine_code *code, uint64_t address);

enum { MAX_INSTRUCTION_SIZE = 15 };

/* Return the size of the instruction at the cursor, which does not move; 0 if it is
 * undefined or cut off. Calls are instructions after which execution continues later: CALL,
 * near and far, direct and indirect, SYSCALL and INT n. */
unsigned x86_instruction_size(const cursor *code, bool *is_call_ret);

/* Whether an instruction of x86 that begins with a byte may be a call. */
bool x86_may_begin_call(uint8_t byte);

/* Return the size of the instruction at the cursor, which does not move: 4, or 0 if it is
 * cut off. Calls are BL, BLR and SVC, and BLR with pointer authentication. */
unsigned aarch64_instruction_size(const cursor *code, bool *is_call_ret);

#endif
