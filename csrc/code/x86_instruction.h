/* x86_instruction.h - how long an instruction of x86-64 is, and whether it is a call. */
#ifndef GSYM_CODE_X86_INSTRUCTION_H
#define GSYM_CODE_X86_INSTRUCTION_H

#include "base/cursor.h"

/* Bytes of the instruction at the cursor, which stays where it is; 0 where none is
 * defined or it is cut off. Calls are CALL, near and far, direct and indirect, SYSCALL
 * and INT n: what code comes back from. */
unsigned x86_instruction_size(const cursor *code, bool *is_call_ret);

#endif
