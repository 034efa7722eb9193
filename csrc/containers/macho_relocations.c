/* macho_relocations.c - relocations in the debug sections of Mach-O object files.
 *
 * The sections of an object file have addresses that do not overlap, and a relocation
 * that is relative to a section left its value in place. So only those that name a
 * symbol have something to add or to subtract. */
#include "containers/macho.h"

#define CPU_X86 7
#define CPU_64 0x01000000
#define CPU_64_32 0x02000000

#define SCATTERED 0x80000000u /* relative to an address: its value is in place */

#define SYMBOL_TYPE 0x0e
#define SYMBOL_UNDEFINED 0x00

enum { RELOCATION_SIZE = 8, VALUE_UNSIGNED = 0 };

typedef struct macho_relocation {
    uint32_t place; /* in its section */
    uint32_t symbol;
    uint8_t type;
    uint8_t size; /* of the value, in bytes */
    bool names_symbol;
    bool is_relative; /* to its own place */
} macho_relocation;

/* Of the relocation that reads `first` and `second` as numbers of the file's order. */
static macho_relocation decode(const macho_object *macho, uint32_t first,
                               uint32_t second) {
    macho_relocation relocation = {.place = first};
    if (first & SCATTERED) return relocation;
    if (macho->object.header.big_endian) {
        relocation.symbol = second >> 8;
        relocation.is_relative = second >> 7 & 1;
        relocation.size = (uint8_t)(1u << (second >> 5 & 3));
        relocation.names_symbol = second >> 4 & 1;
        relocation.type = second & 0xf;
    } else {
        relocation.symbol = second & 0xffffff;
        relocation.is_relative = second >> 24 & 1;
        relocation.size = (uint8_t)(1u << (second >> 25 & 3));
        relocation.names_symbol = second >> 27 & 1;
        relocation.type = (uint8_t)(second >> 28);
    }
    return relocation;
}

static bool next_relocation(const macho_object *macho, cursor *c,
                            macho_relocation *relocation) {
    uint32_t first, second;
    if (cursor_left(c) < RELOCATION_SIZE) return false;
    first = cursor_u32_covered(c);
    second = cursor_u32_covered(c);
    *relocation = decode(macho, first, second);
    return true;
}

static cursor relocations_of(const macho_object *macho, const macho_section *section) {
    macho_table table = {section->relocation_offset, section->relocation_count};
    return macho_table_bytes(macho, table, RELOCATION_SIZE);
}

bool macho_needs_relocation(const macho_object *macho, const macho_section *section) {
    cursor c = relocations_of(macho, section);
    macho_relocation relocation;
    while (next_relocation(macho, &c, &relocation))
        if (relocation.names_symbol) return true;
    return false;
}

/* The type that subtracts a symbol, from the value that the next relocation adds to;
 * UINT8_MAX: this CPU has none. */
static uint8_t subtractor(const macho_object *macho) {
    switch (macho->object.header.machine) {
        case CPU_X86 | CPU_64: return 5;
        case MACHO_CPU_ARM | CPU_64:
        case MACHO_CPU_ARM | CPU_64_32: return 1;
        default: return UINT8_MAX;
    }
}

static bool symbol_address(const macho_object *macho, uint32_t index,
                           uint64_t *address_ret) {
    uint32_t entry_size = macho_symbol_size(macho);
    cursor c = macho_table_bytes(macho, macho->symbols, entry_size);
    uint8_t type;
    cursor_skip(&c, (uint64_t)index * entry_size + 4);
    type = cursor_u8(&c);
    cursor_skip(&c, 3); /* n_sect, n_desc */
    *address_ret = entry_size == 16 ? cursor_u64(&c) : cursor_u32(&c);
    return !c.failed && (type & SYMBOL_TYPE) != SYMBOL_UNDEFINED;
}

/* Whether it could be applied. */
static bool apply(const macho_object *macho, const macho_relocation *relocation,
                  uint8_t *bytes, size_t size) {
    bool big_endian = macho->object.header.big_endian != 0;
    bool swap = big_endian != CURSOR_HOST_BIG_ENDIAN;
    bool subtracts = relocation->type == subtractor(macho);
    uint64_t value, address;
    uint8_t *place;
    if (relocation->is_relative || (relocation->type != VALUE_UNSIGNED && !subtracts) ||
        relocation->size > size || relocation->place > size - relocation->size ||
        !symbol_address(macho, relocation->symbol, &address))
        return false;
    place = bytes + relocation->place;
    value = cursor_load(place, relocation->size, swap);
    value = subtracts ? value - address : value + address;
    for (unsigned i = 0; i < relocation->size; ++i) {
        unsigned at = big_endian ? relocation->size - 1 - i : i;
        place[at] = (uint8_t)(value >> (8 * i));
    }
    return true;
}

gsym_status macho_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                           size_t size, uint64_t *failed_ret, gsym_error *error) {
    const macho_object *macho = macho_of(object);
    macho_section section = macho_section_at(macho, index);
    cursor c = relocations_of(macho, &section);
    macho_relocation relocation;
    (void)error;
    while (next_relocation(macho, &c, &relocation))
        if (relocation.names_symbol && !apply(macho, &relocation, bytes, size))
            ++*failed_ret;
    return GSYM_OK;
}
