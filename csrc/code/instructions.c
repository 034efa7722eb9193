/* instructions.c - find the sizes of instructions of x86-64 and AArch64, and which of them
 * are calls.
 *
 * Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
 * chapter 2 and appendix A; AMD64 Architecture Programmer's Manual, volume 3, appendix A
 * (XOP, 3DNow!); Intel APX Architecture Specification (REX2, map 4 of EVEX).
 *
 * Operands are not decoded. All opcodes of the maps 0F38 and 0F3A and of the maps of VEX,
 * EVEX and XOP are taken as defined, because all opcodes of one map have the same form. */
#include "code/calls.h"

enum {
    /* The longest read: MAX_INSTRUCTION_SIZE prefixes, then opcode, ModRM and SIB after
     * EVEX. */
    MAX_READ = MAX_INSTRUCTION_SIZE + 6
};

/* ---- what follows an opcode ------------------------------------------------------ */

enum shape {
    /* The immediate operand, in bytes. */
    NONE = 0,
    BYTE = 1,
    WORD = 2,
    WORD_AND_BYTE = 3,
    LONG = 4,
    OPERAND = 5,      /* 4, or 2 with the operand-size prefix */
    OPERAND_WIDE = 6, /* 4, 2 with the operand-size prefix, or 8 with REX.W */
    ADDRESS = 7,      /* 8, or 4 with the address-size prefix */
    IMMEDIATE_MASK = 7,

    MODRM = 8,
    CALL = 16,
    GROUP = 32, /* ModRM or a prefix determines the opcode */
    PREFIX = 64,
    UNDEFINED = 128 /* or the start of a longer opcode */
};

#define o NONE
#define b BYTE
#define w WORD
#define e WORD_AND_BYTE
#define l LONG
#define z OPERAND
#define v OPERAND_WIDE
#define a ADDRESS
#define M MODRM
#define Mb (MODRM | BYTE)
#define Mz (MODRM | OPERAND)
#define Cb (CALL | BYTE)
#define Cl (CALL | LONG)
#define Co (CALL | NONE)
#define G (MODRM | GROUP)
#define Gb (MODRM | BYTE | GROUP)
#define Gz (MODRM | OPERAND | GROUP)
#define P PREFIX
#define X UNDEFINED

/* What follows an opcode of one byte. A line has 16 opcodes; its comment gives the first
 * one, in hexadecimal, and explains some others. */
static const uint8_t one_byte_shapes[256] = {
    M, M, M,  M,  b, z, X, X, M, M, M, M,  b,  z, X, X, /* 00 */
    M, M, M,  M,  b, z, X, X, M, M, M, M,  b,  z, X, X, /* 10 */
    M, M, M,  M,  b, z, P, X, M, M, M, M,  b,  z, P, X, /* 20 */
    M, M, M,  M,  b, z, P, X, M, M, M, M,  b,  z, P, X, /* 30 */
    P, P, P,  P,  P, P, P, P, P, P, P, P,  P,  P, P, P, /* 40: REX */
    o, o, o,  o,  o, o, o, o, o, o, o, o,  o,  o, o, o, /* 50 */
    X, X, X,  M,  P, P, P, P, z, Mz, b, Mb, o, o, o, o, /* 60: 62 begins EVEX */
    b, b, b,  b,  b, b, b, b, b, b, b, b,  b,  b, b, b, /* 70 */
    Mb, Mz, X, Mb, M, M, M, M, M, M, M, M, M,  M, M, X, /* 80: 8F is POP or XOP */
    o, o, o,  o,  o, o, o, o, o, o, X, o,  o,  o, o, o, /* 90 */
    a, a, a,  a,  o, o, o, o, b, z, o, o,  o,  o, o, o, /* A0 */
    b, b, b,  b,  b, b, b, b, v, v, v, v,  v,  v, v, v, /* B0 */
    Mb, Mb, w, o, X, X, Gb, Gz, e, o, w, o, o, Cb, X, o, /* C0: C4, C5 begin VEX */
    M, M, M,  M,  X, X, X, o, M, M, M, M,  M,  M, M, M, /* D0: D5 begins REX2 */
    b, b, b,  b,  b, b, b, b, Cl, l, X, b, o,  o, o, o, /* E0 */
    P, o, P,  P,  o, o, G, G, o, o, o, o,  o,  o, G, G, /* F0 */
};

/* What follows an opcode after 0F. In 20 to 23, ModRM never refers to memory: it is like an
 * immediate. 38 and 3A begin opcodes of three bytes. */
static const uint8_t two_byte_shapes[256] = {
    M, M, M,  M,  X, Co, o, o, o, o, X, o, X,  M, o, Mb, /* 00: 0F is 3DNow! */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* 10 */
    b, b, b,  b,  X, X, X, X, M, M, M, M,  M,  M, M, M, /* 20 */
    o, o, o,  o,  o, o, X, o, X, X, X, X,  X,  X, X, X, /* 30 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* 40 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* 50 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* 60 */
    Mb, Mb, Mb, Mb, M, M, M, o, G, M, X, X, M, M, M, M, /* 70 */
    l, l, l,  l,  l, l, l, l, l, l, l, l,  l,  l, l, l, /* 80 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* 90 */
    o, o, o,  M,  Mb, M, M, M, o, o, o, M, Mb, M, M, M, /* A0: A6, A7 of VIA */
    M, M, M,  M,  M, M, M, M, G, M, Gb, M, M,  M, M, M, /* B0 */
    M, M, Mb, M,  Mb, Mb, Mb, M, o, o, o, o, o, o, o, o, /* C0 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* D0 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* E0 */
    M, M, M,  M,  M, M, M, M, M, M, M, M,  M,  M, M, M, /* F0 */
};

#undef o
#undef b
#undef w
#undef e
#undef l
#undef z
#undef v
#undef a
#undef M
#undef Mb
#undef Mz
#undef Cb
#undef Cl
#undef Co
#undef G
#undef Gb
#undef Gz
#undef P
#undef X

/* ---- prefixes -------------------------------------------------------------------- */

enum prefix {
    OPERAND_SIZE = 1,
    ADDRESS_SIZE = 2,
    REPNE = 4,
    REP = 8,
    LOCK = 16,
    REX = 32,
    REX_W = 64,
    /* Conditions for which an opcode of VEX, EVEX, XOP or REX2 is undefined. */
    NOT_BEFORE_VECTORS = OPERAND_SIZE | REPNE | REP | LOCK | REX
};

/* Add the prefix `byte` to those before it. REX has an effect only right before the
 * opcode. */
static unsigned add_prefix(unsigned prefixes, uint8_t byte) {
    unsigned legacy = prefixes & ~(unsigned)(REX | REX_W);
    if ((byte & 0xf0) == 0x40) return legacy | REX | (byte & 8 ? REX_W : 0u);
    switch (byte) {
        case 0x66: return legacy | OPERAND_SIZE;
        case 0x67: return legacy | ADDRESS_SIZE;
        case 0xf0: return legacy | LOCK;
        case 0xf2: return legacy | REPNE;
        case 0xf3: return legacy | REP;
        default: return legacy; /* a prefix that names a segment changes nothing here */
    }
}

/* ---- groups: opcodes that ModRM distinguishes ------------------------------------ */

static uint8_t peek(cursor code) { return cursor_u8_unchecked(&code); }

static unsigned one_byte_group(uint8_t opcode, uint8_t modrm) {
    unsigned operation = modrm >> 3 & 7;
    bool is_register = modrm >= 0xc0;
    switch (opcode) {
        case 0x8f: return operation == 0 ? MODRM : UNDEFINED;
        case 0xc6: /* MOV, XABORT */
            return operation == 0 || modrm == 0xf8 ? MODRM | BYTE : UNDEFINED;
        case 0xc7: /* MOV, XBEGIN */
            return operation == 0 || modrm == 0xf8 ? MODRM | OPERAND : UNDEFINED;
        /* Of F6 and F7, only TEST has an immediate operand. */
        case 0xf6: return operation < 2 ? MODRM | BYTE : MODRM;
        case 0xf7: return operation < 2 ? MODRM | OPERAND : MODRM;
        case 0xfe: return operation < 2 ? MODRM : UNDEFINED;
        default: break; /* it is FF */
    }
    switch (operation) {
        case 2: return MODRM | CALL;
        case 3: return is_register ? UNDEFINED : MODRM | CALL;
        case 5: return is_register ? UNDEFINED : MODRM;
        case 7: return UNDEFINED;
        default: return MODRM;
    }
}

static unsigned two_byte_group(uint8_t opcode, uint8_t modrm, unsigned prefixes) {
    switch (opcode) {
        case 0x78: /* EXTRQ and INSERTQ of AMD, VMREAD */
            return modrm >= 0xc0 && prefixes & (OPERAND_SIZE | REPNE) ? MODRM | WORD
                                                                      : MODRM;
        case 0xb8: return prefixes & REP ? MODRM : UNDEFINED; /* POPCNT */
        default: return (modrm >> 3 & 7) >= 4 ? MODRM | BYTE : UNDEFINED; /* 0F BA */
    }
}

/* ---- opcodes of several bytes ---------------------------------------------------- */

static unsigned read_two_byte_opcode(cursor *c, unsigned prefixes) {
    uint8_t opcode = cursor_u8_unchecked(c);
    unsigned shape = two_byte_shapes[opcode];
    if (shape & GROUP) return two_byte_group(opcode, peek(*c), prefixes);
    if (opcode != 0x38 && opcode != 0x3a) return shape;
    (void)cursor_u8_unchecked(c);
    return opcode == 0x38 ? MODRM : MODRM | BYTE;
}

/* Shapes of older instructions in the form of APX, map 4 of EVEX. */
static unsigned promoted_shape(uint8_t opcode, uint8_t modrm) {
    switch (opcode) {
        case 0x69:
        case 0x81: return MODRM | OPERAND;
        case 0x24:
        case 0x2c:
        case 0x6b:
        case 0x80:
        case 0x83:
        case 0xc0:
        case 0xc1: return MODRM | BYTE;
        case 0xf6:
        case 0xf7: return one_byte_group(opcode, modrm);
        default: return MODRM;
    }
}

static unsigned vector_shape(unsigned map, uint8_t opcode, uint8_t modrm, bool is_evex) {
    switch (map) {
        case 1:
            if (opcode == 0x77) return NONE; /* VZEROUPPER */
            return (opcode & 0xfc) == 0x70 || opcode == 0xc2 ||
                           (opcode >= 0xc4 && opcode <= 0xc6)
                       ? MODRM | BYTE
                       : MODRM;
        case 3: return MODRM | BYTE;
        case 4: return is_evex ? promoted_shape(opcode, modrm) : UNDEFINED;
        case 2:
        case 5: return MODRM;
        case 6: return is_evex ? MODRM : UNDEFINED;
        case 7: return MODRM | LONG; /* RDMSR, WRMSR, URDMSR, UWRMSR of an immediate */
        default: return UNDEFINED;
    }
}

static unsigned read_vex_opcode(cursor *c) {
    unsigned map = cursor_u8_unchecked(c) & 0x1f;
    uint8_t opcode;
    (void)cursor_u8_unchecked(c);
    opcode = cursor_u8_unchecked(c);
    return vector_shape(map, opcode, 0, false);
}

static unsigned read_short_vex_opcode(cursor *c) {
    (void)cursor_u8_unchecked(c);
    return vector_shape(1, cursor_u8_unchecked(c), 0, false);
}

static unsigned read_evex_opcode(cursor *c, unsigned *prefixes) {
    unsigned map = cursor_u8_unchecked(c) & 7;
    uint8_t second = cursor_u8_unchecked(c), opcode;
    (void)cursor_u8_unchecked(c);
    opcode = cursor_u8_unchecked(c);
    if (map == 4 && (second & 3) == 1) *prefixes |= OPERAND_SIZE;
    if (second & 0x80) *prefixes |= REX_W;
    return vector_shape(map, opcode, peek(*c), true);
}

/* Read after 8F: it is POP if the map of XOP would be below 8. */
static unsigned read_pop_or_xop(cursor *c, unsigned prefixes) {
    unsigned map = peek(*c) & 0x1f;
    if (map < 8) return one_byte_group(0x8f, peek(*c));
    cursor_skip(c, 3);
    if (prefixes & NOT_BEFORE_VECTORS) return UNDEFINED;
    switch (map) {
        case 8: return MODRM | BYTE;
        case 9: return MODRM;
        case 10: return MODRM | LONG;
        default: return UNDEFINED;
    }
}

/* Read the byte after REX2, which has bits for registers and bit 7: whether the opcode is
 * one of those after 0F. Then read the opcode. */
static unsigned read_rex2_opcode(cursor *c, unsigned *prefixes) {
    uint8_t payload = cursor_u8_unchecked(c), opcode, row;
    if (payload & 8) *prefixes |= REX_W;
    opcode = peek(*c);
    row = opcode >> 4;
    if (payload & 0x80) {
        if (row == 3 || row == 8 || opcode == 0x38 || opcode == 0x3a) return UNDEFINED;
        return read_two_byte_opcode(c, *prefixes);
    }
    (void)cursor_u8_unchecked(c);
    if (opcode == 0xa1) return ADDRESS; /* JMPABS */
    if (row == 4 || row == 7 || row == 0xa || row == 0xe) return UNDEFINED;
    if (opcode == 0x8f || one_byte_shapes[opcode] & GROUP)
        return one_byte_group(opcode, peek(*c));
    return one_byte_shapes[opcode] & PREFIX ? UNDEFINED : one_byte_shapes[opcode];
}

static unsigned read_long_opcode(cursor *c, uint8_t first, unsigned *prefixes) {
    if (first == 0x0f) return read_two_byte_opcode(c, *prefixes);
    if (first == 0x8f) return read_pop_or_xop(c, *prefixes);
    if (*prefixes & NOT_BEFORE_VECTORS && first != 0xd5) return UNDEFINED;
    switch (first) {
        case 0x62: return read_evex_opcode(c, prefixes);
        case 0xc4: return read_vex_opcode(c);
        case 0xc5: return read_short_vex_opcode(c);
        case 0xd5: return *prefixes & REX ? UNDEFINED : read_rex2_opcode(c, prefixes);
        default: return UNDEFINED;
    }
}

/* ---- sizes ----------------------------------------------------------------------- */

/* Return the size of ModRM, SIB and displacement. */
static unsigned address_size(cursor code) {
    static const uint8_t displacements[4] = {0, 1, 4, 0};
    uint8_t modrm = cursor_u8_unchecked(&code);
    unsigned mode = modrm >> 6, base = modrm & 7, size = 1 + displacements[mode];
    if (mode == 3) return size;
    if (base == 4) {
        base = cursor_u8_unchecked(&code) & 7;
        ++size;
    }
    return mode == 0 && base == 5 ? size + 4 : size;
}

static unsigned immediate_size(unsigned shape, unsigned prefixes) {
    unsigned kind = shape & IMMEDIATE_MASK;
    if (GSYM_LIKELY(kind < OPERAND)) return kind;
    if (kind == ADDRESS) return prefixes & ADDRESS_SIZE ? 4 : 8;
    if (prefixes & REX_W) return kind == OPERAND_WIDE ? 8 : 4;
    return prefixes & OPERAND_SIZE ? 2 : 4;
}

/* Return the size of an instruction; MAX_READ bytes can be read. */
static unsigned measure(cursor c, bool *is_call_ret) {
    const uint8_t *start = c.at;
    uint8_t opcode = cursor_u8_unchecked(&c);
    unsigned shape = one_byte_shapes[opcode], prefixes = 0, size;
    *is_call_ret = false;
    for (unsigned count = 1; shape & PREFIX; ++count) {
        if (count == MAX_INSTRUCTION_SIZE) return 0;
        prefixes = add_prefix(prefixes, opcode);
        opcode = cursor_u8_unchecked(&c);
        shape = one_byte_shapes[opcode];
    }
    if (GSYM_UNLIKELY(shape & UNDEFINED))
        shape = read_long_opcode(&c, opcode, &prefixes);
    else if (shape & GROUP)
        shape = one_byte_group(opcode, peek(c));
    if (shape & UNDEFINED) return 0;
    size = (unsigned)(c.at - start) + immediate_size(shape, prefixes);
    if (shape & MODRM) size += address_size(c);
    *is_call_ret = shape & CALL;
    return size <= MAX_INSTRUCTION_SIZE ? size : 0;
}

unsigned x86_instruction_size(const cursor *code, bool *is_call_ret) {
    size_t left = cursor_left(code);
    uint8_t last[MAX_READ] = {0};
    unsigned size;
    if (GSYM_LIKELY(left >= MAX_READ)) return measure(*code, is_call_ret);
    memcpy(last, code->at, left);
    size = measure(cursor_at(last, MAX_READ, 0, false), is_call_ret);
    return size <= left ? size : 0;
}

bool x86_may_begin_call(uint8_t byte) {
    return one_byte_shapes[byte] & (CALL | GROUP | PREFIX | UNDEFINED);
}

/* In code of 32 bits, 40 to 4F are instructions, not REX, and A0 to A3 have an address of 4
 * bytes. The other instructions that compilers make have the sizes of x86-64. */
uint32_t gsym_x86_instruction_size(const uint8_t *bytes, size_t size, uint32_t is_64) {
    const cursor code = cursor_at(bytes, size, 0, false);
    size_t at = size > 0 && bytes[0] == 0x66;
    bool is_call;
    if (!is_64 && at < size) {
        if ((bytes[at] & 0xf0) == 0x40) return (uint32_t)at + 1; /* INC, DEC */
        if ((bytes[at] & 0xfc) == 0xa0) return at + 5 <= size ? (uint32_t)at + 5 : 0;
    }
    return x86_instruction_size(&code, &is_call);
}

/* AArch64: all instructions are words in little-endian order, also with big-endian data.
 *
 * Source: Arm Architecture Reference Manual for A-profile architecture, C4.1.65. */

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
