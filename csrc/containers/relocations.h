/* relocations.h - apply relocations in debug sections, and choose addresses for the
 * sections of relocatable files. */
#ifndef GSYM_CONTAINERS_RELOCATIONS_H
#define GSYM_CONTAINERS_RELOCATIONS_H

#include "base/cursor.h"
#include "base/error.h"

/* How a relocation changes the number at its place. S is the value of the symbol, A the
 * addend, P the address of the place. */
typedef enum relocation_operation {
    RELOCATION_UNKNOWN = 0,
    RELOCATION_NONE,
    RELOCATION_ABSOLUTE,       /* S + A */
    RELOCATION_SECTION_OFFSET, /* S + A, where S is relative to its section */
    RELOCATION_RELATIVE,       /* S + A - P */
    RELOCATION_ADD,            /* value in place + S + A */
    RELOCATION_SUBTRACT,       /* value in place - (S + A) */
    RELOCATION_SET_ULEB128,
    RELOCATION_ADD_ULEB128,
    RELOCATION_SUBTRACT_ULEB128
} relocation_operation;

typedef struct relocation_type {
    uint16_t number;
    uint8_t operation; /* relocation_operation */
    uint8_t bits;      /* number of low bits at the place that change */
} relocation_type;

enum { RELOCATION_NUMBER_LIMIT = 1040 }; /* greater than every `number` */
enum { RELOCATION_WORD = 0 };            /* value of `bits` that stands for the bits of an
                                            address */

typedef struct relocation {
    uint64_t offset; /* of the place in its section */
    uint64_t addend;
    uint32_t symbol;
    uint32_t number; /* of the type */
    bool has_addend; /* false: the place has the addend */
} relocation;

/* A section that is relocated. */
typedef struct relocation_target {
    uint8_t *bytes;
    size_t size;
    uint64_t address;
    bool swap;
    relocation_type types[RELOCATION_NUMBER_LIMIT]; /* by number; unknown types are zero */
} relocation_target;

/* Set `swap` and `types` for a machine; the caller sets the other members. */
void relocation_target_init(relocation_target *target, const gsym_object_header *header);

static inline unsigned relocation_operation_of(const relocation_target *target,
                                               const relocation *r) {
    return r->number < RELOCATION_NUMBER_LIMIT ? target->types[r->number].operation
                                               : RELOCATION_UNKNOWN;
}

/* Apply a relocation of a known type; false if its place is outside of the section. */
bool relocation_apply(const relocation_target *target, const relocation *r,
                      uint64_t symbol_value);

/* Return the types that occur in debug sections; none for an unknown machine. */
const relocation_type *relocation_types(const gsym_object_header *header,
                                        size_t *count_ret);

typedef struct placed_section {
    uint64_t address; /* 0: it has none yet */
    uint64_t size;
    uint64_t alignment; /* a power of two; other numbers mean no alignment */
    bool is_loaded;
    bool is_code;
} placed_section;

/* Give addresses to the loaded sections that have none: first to those with code, in their
 * order, so that code starts at the address that other tools use. If they would overlap
 * sections that have an address, they are placed after these. False if the address space is
 * too small; *culprit_ret is then the first section that does not fit. */
bool place_sections(placed_section *sections, uint32_t count, bool is_64,
                    uint32_t *culprit_ret);

#endif
