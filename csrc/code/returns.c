/* returns.c - tell whether a call ends at an address, and what it calls.
 *
 * Sources: Arm Architecture Reference Manual for A-profile architecture, F5.1 (A32, T32);
 * RISC-V Unprivileged ISA Specification, 2.5 and 16.4; z/Architecture Principles of
 * Operation, chapter 7; Power ISA, book I, 2.4; MIPS Architecture for Programmers,
 * volume II; LoongArch Reference Manual, volume 1. */
#include "code/calls.h"

/* A call instruction: the `width` bytes that begin `back` bytes before the return address
 * equal `value` in the bits of `mask`. On MIPS, a delay slot follows the instruction. */
typedef struct call_pattern {
    gsym_instruction_set set;
    uint8_t back, width;
    uint32_t mask, value;
} call_pattern;

#define RISCV_CALLS(set)                                  \
    {set, 4, 4, 0x00000dff, 0x000000ef},     /* jal ra, jal t0 */   \
        {set, 4, 4, 0x00007dff, 0x000000e7}, /* jalr ra, jalr t0 */ \
        {set, 4, 4, 0xffffffff, 0x00000073}, /* ecall */            \
        {set, 2, 2, 0xf07f, 0x9002}          /* c.jalr */

#define POWERPC_CALLS(set)                                   \
    {set, 4, 4, 0xfc000001, 0x48000001},     /* bl, bla */   \
        {set, 4, 4, 0xfc000001, 0x40000001}, /* bcl, bcla */ \
        {set, 4, 4, 0xfc0007ff, 0x4c000021}, /* bclrl */     \
        {set, 4, 4, 0xfc0007ff, 0x4c000421}, /* bcctrl */    \
        {set, 4, 4, 0xfffff01d, 0x44000000}  /* sc, scv */

#define MIPS_CALLS(set)                                        \
    {set, 8, 4, 0xfc000000, 0x0c000000},     /* jal */         \
        {set, 8, 4, 0xfc1f003f, 0x00000009}, /* jalr */        \
        {set, 8, 4, 0xfc1e0000, 0x04100000}, /* bltzal, bal */ \
        {set, 4, 4, 0xfc000000, 0xe8000000}, /* balc */        \
        {set, 4, 4, 0xfc00003f, 0x0000000c}  /* syscall */

static const call_pattern patterns[] = {
    {GSYM_INSTRUCTIONS_ARM, 4, 4, 0x0f000000, 0x0b000000},   /* BL, BLX */
    {GSYM_INSTRUCTIONS_ARM, 4, 4, 0xff000000, 0xfa000000},   /* BLX */
    {GSYM_INSTRUCTIONS_ARM, 4, 4, 0x0ffffff0, 0x012fff30},   /* BLX (register) */
    {GSYM_INSTRUCTIONS_ARM, 4, 4, 0x0f000000, 0x0f000000},   /* SVC */
    {GSYM_INSTRUCTIONS_ARM, 8, 4, 0x0fffffff, 0x01a0e00f},   /* MOV lr, pc; jump */
    {GSYM_INSTRUCTIONS_ARM, 4, 4, 0xd000f800, 0xd000f000},   /* Thumb: BL */
    {GSYM_INSTRUCTIONS_ARM, 4, 4, 0xd001f800, 0xc000f000},   /* Thumb: BLX */
    {GSYM_INSTRUCTIONS_ARM, 2, 2, 0xff87, 0x4780},           /* Thumb: BLX (register) */
    {GSYM_INSTRUCTIONS_ARM, 2, 2, 0xff00, 0xdf00},           /* Thumb: SVC */
    RISCV_CALLS(GSYM_INSTRUCTIONS_RISCV),
    RISCV_CALLS(GSYM_INSTRUCTIONS_RISCV32),
    {GSYM_INSTRUCTIONS_RISCV32, 2, 2, 0xe003, 0x2001},           /* c.jal */
    {GSYM_INSTRUCTIONS_LOONGARCH, 4, 4, 0xfc000000, 0x54000000}, /* bl */
    {GSYM_INSTRUCTIONS_LOONGARCH, 4, 4, 0xfc00001f, 0x4c000001}, /* jirl $ra */
    {GSYM_INSTRUCTIONS_LOONGARCH, 4, 4, 0xffff8000, 0x002b0000}, /* syscall */
    {GSYM_INSTRUCTIONS_S390, 6, 2, 0xff0f, 0xc005},          /* BRASL */
    {GSYM_INSTRUCTIONS_S390, 4, 2, 0xff0f, 0xa705},          /* BRAS */
    {GSYM_INSTRUCTIONS_S390, 4, 2, 0xff00, 0x4d00},          /* BAS */
    {GSYM_INSTRUCTIONS_S390, 2, 2, 0xff00, 0x0d00},          /* BASR */
    {GSYM_INSTRUCTIONS_S390, 2, 2, 0xff00, 0x0a00},          /* SVC */
    POWERPC_CALLS(GSYM_INSTRUCTIONS_POWERPC),
    POWERPC_CALLS(GSYM_INSTRUCTIONS_POWERPC_LE),
    MIPS_CALLS(GSYM_INSTRUCTIONS_MIPS),
    MIPS_CALLS(GSYM_INSTRUCTIONS_MIPS_LE),
};

static bool is_big_endian(gsym_instruction_set set) {
    return set == GSYM_INSTRUCTIONS_S390 || set == GSYM_INSTRUCTIONS_POWERPC ||
           set == GSYM_INSTRUCTIONS_MIPS;
}

/* Whether the code of `size` bytes ends with a call, by the patterns of its set. */
static bool ends_with_pattern(const uint8_t *bytes, size_t size, gsym_instruction_set set) {
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
        const call_pattern *call = &patterns[i];
        cursor at;
        uint32_t word;
        if (call->set != set || call->back > size) continue;
        at = cursor_at(bytes + size - call->back, call->width, 0, is_big_endian(set));
        word = call->width == 2 ? cursor_u16(&at) : cursor_u32(&at);
        if ((word & call->mask) == call->value) return true;
    }
    return false;
}

/* It is unknown where instructions begin, so each size of an instruction is tried. */
static bool ends_with_x86_call(const uint8_t *bytes, size_t size) {
    for (size_t own = 1; own <= size && own <= MAX_INSTRUCTION_SIZE; ++own) {
        const cursor at = cursor_at(bytes + size - own, own, 0, false);
        bool is_call = false;
        if (!x86_may_begin_call(cursor_peek_unchecked(&at, 0))) continue;
        if (x86_instruction_size(&at, &is_call) == own && is_call) return true;
    }
    return false;
}

static bool ends_with_aarch64_call(const uint8_t *bytes, size_t size) {
    enum { WORD = 4 };
    const cursor at = cursor_at(bytes + size - WORD, WORD, 0, false);
    bool is_call = false;
    return aarch64_instruction_size(&at, &is_call) == WORD && is_call;
}

/* The code before an address, or NULL. The lowest bit of an address of ARM says Thumb. */
static const gsym_code *piece_before(const gsym_machine_code *code, uint64_t *address) {
    if (code->set == GSYM_INSTRUCTIONS_ARM) *address &= ~(uint64_t)1;
    return code_piece_at(code, *address - 1);
}

uint32_t gsym_code_is_known(const gsym_machine_code *code, uint64_t address) {
    return code->set != GSYM_INSTRUCTIONS_OTHER && piece_before(code, &address) != NULL;
}

uint32_t gsym_code_may_return(const gsym_machine_code *code, uint64_t address) {
    const gsym_code *piece = piece_before(code, &address);
    size_t before;
    if (code->set == GSYM_INSTRUCTIONS_OTHER || piece == NULL) return true;
    before = (size_t)(address - piece->address);
    switch (code->set) {
        case GSYM_INSTRUCTIONS_X86_64:
        case GSYM_INSTRUCTIONS_X86: return ends_with_x86_call(piece->bytes, before);
        case GSYM_INSTRUCTIONS_AARCH64:
            return before >= 4 && ends_with_aarch64_call(piece->bytes, before);
        default: return ends_with_pattern(piece->bytes, before, code->set);
    }
}

/* An E8 ends five bytes before the return address, with the distance from there. */
static bool x86_target(const uint8_t *bytes, size_t size, int64_t *distance_ret) {
    enum { CALL_SIZE = 5, CALL = 0xe8 };
    cursor at;
    if (size < CALL_SIZE) return false;
    at = cursor_at(bytes + size - CALL_SIZE, CALL_SIZE, 0, false);
    if (cursor_u8(&at) != CALL) return false;
    *distance_ret = (int32_t)cursor_u32(&at);
    return true;
}

/* BL has a signed distance of 26 bits, in words from its own address. */
static bool aarch64_target(const uint8_t *bytes, size_t size, int64_t *distance_ret) {
    enum { WORD = 4, DISTANCE_BITS = 26 };
    cursor at;
    uint32_t word;
    if (size < WORD) return false;
    at = cursor_at(bytes + size - WORD, WORD, 0, false);
    word = cursor_u32(&at);
    if (word >> DISTANCE_BITS != 0x25) return false;
    word <<= 32 - DISTANCE_BITS;
    *distance_ret = (int64_t)(int32_t)word / (1 << (32 - DISTANCE_BITS)) * WORD - WORD;
    return true;
}

uint32_t gsym_code_call_target(const gsym_machine_code *code, uint64_t address,
                               uint64_t *target_ret) {
    const gsym_code *piece = code_piece_at(code, address - 1);
    int64_t distance = 0;
    bool is_direct = false;
    size_t before;
    if (piece == NULL) return false;
    before = (size_t)(address - piece->address);
    if (code->set == GSYM_INSTRUCTIONS_X86_64 || code->set == GSYM_INSTRUCTIONS_X86)
        is_direct = x86_target(piece->bytes, before, &distance);
    else if (code->set == GSYM_INSTRUCTIONS_AARCH64)
        is_direct = aarch64_target(piece->bytes, before, &distance);
    *target_ret = address + (uint64_t)distance;
    return is_direct;
}
