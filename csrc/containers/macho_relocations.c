/* macho_relocations.c - apply relocations in the debug sections of Mach-O object files.
 *
 * The sections of an object file have addresses that do not overlap. Where a relocation is
 * relative to a section, the file has the final value already, so only relocations that
 * name a symbol change a value. */
#include "containers/macho.h"

#define CPU_TYPE_X86 7
#define CPU_ARCH_ABI64 0x01000000
#define CPU_ARCH_ABI64_32 0x02000000

#define R_SCATTERED 0x80000000u /* flag of a relocation relative to an address, whose value
                                   the file has already */

#define N_TYPE 0x0e
#define N_UNDF 0x00

enum { RELOCATION_SIZE = 8, VALUE_UNSIGNED = 0 };

typedef struct macho_relocation {
    uint32_t entry; /* offset in the section of the value to be changed */
    uint32_t symbol;
    uint8_t type;
    uint8_t size; /* of the value, in bytes */
    bool names_symbol;
    bool is_relative; /* the value is relative to its own address */
} macho_relocation;

/* Decode a relocation from its two numbers, whose bit fields depend on the byte order. */
static macho_relocation decode(const macho_object *macho, uint32_t first,
                               uint32_t second) {
    macho_relocation relocation = {.entry = first};
    if (first & R_SCATTERED) return relocation;
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
    first = cursor_u32_unchecked(c);
    second = cursor_u32_unchecked(c);
    *relocation = decode(macho, first, second);
    return true;
}

static cursor relocations_of(const macho_object *macho, const macho_section *section) {
    macho_table table = {section->relocation_offset, section->relocation_count};
    return macho_table_bytes(macho, table, RELOCATION_SIZE);
}

bool macho_needs_relocation(const macho_object *macho,
                            const macho_section *section) {
    cursor c = relocations_of(macho, section);
    macho_relocation relocation;
    while (next_relocation(macho, &c, &relocation))
        if (relocation.names_symbol) return true;
    return false;
}

/* Return the type of relocation that subtracts the address of a symbol, while the next
 * relocation adds one to the same value; UINT8_MAX: this CPU has none. */
static uint8_t subtractor(const macho_object *macho) {
    switch (macho->object.header.machine) {
        case CPU_TYPE_X86 | CPU_ARCH_ABI64: return 5;
        case CPU_TYPE_ARM | CPU_ARCH_ABI64:
        case CPU_TYPE_ARM | CPU_ARCH_ABI64_32: return 1;
        default: return UINT8_MAX;
    }
}

/* Find the address of a symbol; false if it does not exist. Undefined and common symbols
 * have the address 0. */
static bool symbol_address(const macho_object *macho, uint32_t index,
                           uint64_t *address_ret) {
    uint32_t entry_size = macho_symbol_size(macho);
    cursor c = macho_table_bytes(macho, macho->symbols, entry_size);
    uint8_t type;
    cursor_skip(&c, (uint64_t)index * entry_size + 4);
    type = cursor_u8(&c);
    cursor_skip(&c, 3); /* n_sect, n_desc */
    *address_ret = entry_size == 16 ? cursor_u64(&c) : cursor_u32(&c);
    if ((type & N_TYPE) == N_UNDF) *address_ret = 0;
    return !c.failed;
}

/* Apply a relocation; false if its symbol or place is invalid. */
static bool apply(const macho_object *macho, const macho_relocation *relocation,
                  uint8_t *bytes, size_t size) {
    bool big_endian = macho->object.header.big_endian != 0;
    bool swap = big_endian != CURSOR_HOST_BIG_ENDIAN;
    bool subtracts = relocation->type == subtractor(macho);
    uint64_t value, address;
    uint8_t *entry;
    if (relocation->is_relative || (relocation->type != VALUE_UNSIGNED && !subtracts) ||
        relocation->size > size || relocation->entry > size - relocation->size ||
        !symbol_address(macho, relocation->symbol, &address))
        return false;
    entry = bytes + relocation->entry;
    value = cursor_load(entry, relocation->size, swap);
    value = subtracts ? value - address : value + address;
    for (unsigned i = 0; i < relocation->size; ++i) {
        unsigned at = big_endian ? relocation->size - 1 - i : i;
        entry[at] = (uint8_t)(value >> (8 * i));
    }
    return true;
}

gsym_status macho_relocate(const gsym_object *object, uint32_t index,
                           uint8_t *bytes, size_t size,
                           gsym_unapplied *unapplied_ret, gsym_error *error) {
    const macho_object *macho = macho_of(object);
    macho_section section = macho_section_at(macho, index);
    cursor c = relocations_of(macho, &section);
    macho_relocation relocation;
    (void)error;
    while (next_relocation(macho, &c, &relocation))
        if (relocation.names_symbol && !apply(macho, &relocation, bytes, size))
            object_count_unapplied(unapplied_ret, relocation.entry, relocation.type);
    return GSYM_OK;
}
