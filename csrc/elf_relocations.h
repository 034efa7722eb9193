/* elf_relocations.h - what relocation types of the machines do to a debug section. */
#ifndef GSYM_ELF_RELOCATIONS_H
#define GSYM_ELF_RELOCATIONS_H

#include "elf.h"

/* S is the value of the symbol, A the addend, P the place. */
typedef enum relocation_operation {
    RELOCATION_UNKNOWN = 0,
    RELOCATION_NONE,
    RELOCATION_ABSOLUTE, /* S + A */
    RELOCATION_RELATIVE, /* S + A - P */
    RELOCATION_ADD,      /* what stands there + S + A */
    RELOCATION_SUBTRACT, /* what stands there - (S + A) */
    RELOCATION_SET_ULEB128,
    RELOCATION_ADD_ULEB128,
    RELOCATION_SUBTRACT_ULEB128
} relocation_operation;

typedef struct relocation_type {
    uint16_t number;
    uint8_t operation; /* relocation_operation */
    uint8_t bits;      /* the low ones of the place; others stay as they are */
} relocation_type;

enum { RELOCATION_NUMBER_LIMIT = 1040 }; /* above all of `number` */
enum { RELOCATION_WORD = 0 };            /* bits: as many as an address has */

/* The types that occur in debug sections; none for a machine that is not known. */
const relocation_type *elf_relocation_types(uint32_t machine, bool is_64,
                                            size_t *count_ret);

#endif
