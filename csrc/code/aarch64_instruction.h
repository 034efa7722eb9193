/* aarch64_instruction.h - calls among the instructions of AArch64. */
#ifndef GSYM_CODE_AARCH64_INSTRUCTION_H
#define GSYM_CODE_AARCH64_INSTRUCTION_H

#include "base/cursor.h"

/* Bytes of the instruction at the cursor, which stays where it is: 4, or 0 where it is cut
 * off. Calls are BL, BLR and SVC, and BLR with pointer authentication. */
unsigned aarch64_instruction_size(const cursor *code, bool *is_call_ret);

#endif
