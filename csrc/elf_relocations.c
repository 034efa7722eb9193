/* elf_relocations.c - relocatable ELF files: sections placed, relocations applied.
 *
 * What a linker would do, as far as it matters to debug information: code sections get
 * addresses, and the debug sections get to know them. */
#include "elf_relocations.h"

#define SYMBOL_FUNC 2

/* ---- placing ------------------------------------------------------------------------- */

/* The extent of the sections that have addresses already. */
static gsym_range placed_range(const elf_object *elf) {
    gsym_range range = {UINT64_MAX, 0};
    for (uint32_t i = 1; i < elf->object.header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        uint64_t end;
        if (!(section.flags & ELF_FLAG_ALLOC) || section.address == 0) continue;
        if (__builtin_add_overflow(section.address, section.size, &end)) continue;
        if (section.address < range.start) range.start = section.address;
        if (end > range.end) range.end = end;
    }
    return range;
}

/* Place the sections without an address from `start` on: first those that hold code, so
 * that the first of them keeps the addresses which other tools use. */
static gsym_status place_from(const elf_object *elf, elf_placement *placements,
                              uint64_t start, uint64_t *end_ret, gsym_error *error) {
    uint64_t last = elf->object.header.is_64 ? UINT64_MAX : UINT32_MAX, next = start;
    for (int is_code = 1; is_code >= 0; --is_code)
        for (uint32_t i = 1; i < elf->object.header.section_count; ++i) {
            elf_section section = elf_section_at(elf, i);
            uint64_t alignment = section.alignment, end;
            if (!(section.flags & ELF_FLAG_ALLOC) || section.address != 0 ||
                ((section.flags & ELF_FLAG_EXECINSTR) != 0) != is_code)
                continue;
            if (alignment == 0 || (alignment & (alignment - 1)) != 0) alignment = 1;
            if (__builtin_add_overflow(next, alignment - 1, &end) ||
                __builtin_add_overflow(end & ~(alignment - 1), section.size, &end) ||
                end > last)
                return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                                 "section %s of %llu bytes does not fit the address space",
                                 elf_section_name(elf, &section),
                                 (unsigned long long)section.size);
            next = end;
            placements[i].address = end - section.size;
        }
    *end_ret = next;
    return GSYM_OK;
}

static bool holds_relocations(const elf_section *section) {
    return section->type == ELF_SECTION_RELA || section->type == ELF_SECTION_REL;
}

/* From the last to the first, so that each list is in the order of the file. */
static void find_relocations(elf_object *elf, elf_placement *placements) {
    uint32_t count = elf->object.header.section_count;
    for (uint32_t i = count; i-- > 1;) {
        elf_section section = elf_section_at(elf, i);
        if (section.type == ELF_SECTION_SYMTAB_SHNDX) elf->extended_section = i;
        if (!holds_relocations(&section) || section.info == 0 || section.info >= count)
            continue;
        placements[i].next = placements[section.info].relocations;
        placements[section.info].relocations = i;
    }
}

gsym_status elf_place_sections(elf_object *elf, gsym_error *error) {
    size_t count = elf->object.header.section_count;
    gsym_range placed = placed_range(elf);
    elf_placement *placements = calloc(count + 1, sizeof *placements);
    gsym_status status;
    uint64_t end;
    if (placements == NULL) return gsym_fail_memory(error);
    for (uint32_t i = 1; i < count; ++i)
        placements[i].address = elf_section_at(elf, i).address;
    status = place_from(elf, placements, 0, &end, error);
    if (status == GSYM_OK && end > placed.start)
        status = place_from(elf, placements, placed.end, &end, error);
    if (status != GSYM_OK) {
        free(placements);
        return status;
    }
    find_relocations(elf, placements);
    elf->placements = placements;
    return GSYM_OK;
}

/* ---- symbols ----------------------------------------------------------------------- */

typedef struct symbol_values {
    const elf_object *elf;
    cursor entries;
    cursor extended; /* section indexes that do not fit an entry */
    size_t count;
} symbol_values;

static symbol_values open_symbols(const elf_object *elf, uint32_t index) {
    symbol_values symbols = {.elf = elf};
    elf_section section;
    if (index == 0 || index >= elf->object.header.section_count) return symbols;
    section = elf_section_at(elf, index);
    if (section.type != ELF_SECTION_SYMTAB) return symbols;
    symbols.entries = elf_section_bytes(elf, &section);
    symbols.count = cursor_left(&symbols.entries) / (elf->object.header.is_64 ? 24 : 16);
    if (elf->extended_section != 0) {
        section = elf_section_at(elf, elf->extended_section);
        if (section.link == index) symbols.extended = elf_section_bytes(elf, &section);
    }
    return symbols;
}

/* False where the file has no such symbol. What is not defined here has the value 0. */
static inline bool symbol_value(const symbol_values *symbols, size_t index,
                                uint64_t *value_ret) {
    const elf_object *elf = symbols->elf;
    bool swap = symbols->entries.swap;
    const uint8_t *at;
    uint32_t section;
    uint8_t type;
    *value_ret = 0;
    if (index == 0) return true;
    if (index >= symbols->count) return false;
    if (elf->object.header.is_64) {
        at = symbols->entries.at + index * 24;
        type = at[4] & 0xf;
        section = cursor_load16(at + 6, swap);
        *value_ret = cursor_load64(at + 8, swap);
    } else {
        at = symbols->entries.at + index * 16;
        *value_ret = cursor_load32(at + 4, swap);
        type = at[12] & 0xf;
        section = cursor_load16(at + 14, swap);
    }
    if (type == SYMBOL_FUNC && elf->object.header.machine == ELF_MACHINE_ARM)
        *value_ret &= ~UINT64_C(1); /* the bit that says Thumb */
    if (section == ELF_INDEX_EXTENDED) {
        cursor c = symbols->extended;
        cursor_skip(&c, index * 4);
        section = cursor_u32(&c);
    } else if (section >= ELF_INDEX_RESERVED) {
        if (section != ELF_INDEX_ABSOLUTE) *value_ret = 0;
        return true;
    }
    if (section >= elf->object.header.section_count) return false;
    *value_ret = section == 0 ? 0 : *value_ret + elf->placements[section].address;
    return true;
}

/* ---- applying ---------------------------------------------------------------------- */

typedef struct relocation {
    uint64_t offset;
    uint64_t addend;
    uint32_t symbol;
    uint32_t type;
    bool has_addend; /* else it stands at the place */
} relocation;

typedef struct target {
    uint8_t *bytes;
    size_t size;
    uint64_t address;
    bool swap;
    relocation_type types[RELOCATION_NUMBER_LIMIT]; /* by number, unknown ones empty */
} target;

/* MIPS with 64 bits stores three types and a special symbol in place of one type, as
 * bytes in the order of a big-endian number. */
static inline bool has_bytes_for_type(const elf_object *elf) {
    return elf->object.header.machine == ELF_MACHINE_MIPS && elf->object.header.is_64;
}

/* The next entry of a table that covers it. */
static inline relocation next_relocation(cursor *c, const elf_object *elf,
                                         bool has_addend) {
    relocation r = {.has_addend = has_addend};
    if (elf->object.header.is_64) {
        r.offset = cursor_u64_covered(c);
        if (has_bytes_for_type(elf)) {
            r.symbol = cursor_u32_covered(c);
            r.type = cursor_load32(c->at, !CURSOR_HOST_BIG_ENDIAN);
            c->at += 4;
        } else {
            uint64_t info = cursor_u64_covered(c);
            r.symbol = (uint32_t)(info >> 32);
            r.type = (uint32_t)info;
            if (elf->object.header.machine == ELF_MACHINE_SPARCV9) r.type &= 0xff;
        }
        if (has_addend) r.addend = cursor_u64_covered(c);
    } else {
        uint32_t info;
        r.offset = cursor_u32_covered(c);
        info = cursor_u32_covered(c);
        r.symbol = info >> 8;
        r.type = info & 0xff;
        if (has_addend) r.addend = (uint64_t)(int64_t)(int32_t)cursor_u32_covered(c);
    }
    return r;
}

static inline uint64_t load(const uint8_t *at, unsigned size, bool swap) {
    if (size == 4) return cursor_load32(at, swap);
    if (size == 8) return cursor_load64(at, swap);
    return cursor_load(at, size, swap);
}

static inline void store(uint8_t *at, unsigned size, uint64_t value, bool swap) {
    if (swap) value = __builtin_bswap64(value) >> (64 - 8 * size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value <<= 64 - 8 * size;
#endif
    if (size == 4)
        memcpy(at, &value, 4);
    else if (size == 8)
        memcpy(at, &value, 8);
    else
        memcpy(at, &value, size);
}

/* Change the number that stands at a place; its size stays. */
static bool apply_uleb128(const target *to, uint64_t offset, unsigned operation,
                          uint64_t value) {
    cursor c = cursor_at(to->bytes, to->size, offset, false);
    uint64_t present = cursor_uleb(&c);
    if (c.failed) return false;
    if (operation == RELOCATION_ADD_ULEB128) value = present + value;
    if (operation == RELOCATION_SUBTRACT_ULEB128) value = present - value;
    for (uint8_t *at = to->bytes + offset; at < c.at; ++at, value >>= 7)
        *at = (uint8_t)((value & 0x7f) | (at + 1 < c.at ? 0x80 : 0));
    return true;
}

static inline bool apply(const target *to, const relocation *r, uint64_t symbol) {
    relocation_type type = to->types[r->type];
    unsigned size = (type.bits + 7u) / 8;
    uint64_t value = symbol + r->addend, mask, present;
    uint8_t *at;
    if (type.operation >= RELOCATION_SET_ULEB128)
        return apply_uleb128(to, r->offset, type.operation, value);
    mask = UINT64_MAX >> (64 - type.bits);
    if (r->offset > to->size || size > to->size - r->offset) return false;
    at = to->bytes + r->offset;
    present = load(at, size, to->swap);
    switch (type.operation) {
        case RELOCATION_RELATIVE: value -= to->address + r->offset; break;
        case RELOCATION_ADD: value += present; break;
        case RELOCATION_SUBTRACT: value = present - value; break;
        default: break;
    }
    if (!r->has_addend && type.operation <= RELOCATION_RELATIVE) value += present;
    store(at, size, (present & ~mask) | (value & mask), to->swap);
    return true;
}

/* How many of the relocations of one section could not be applied. */
static uint64_t apply_section(const target *to, const elf_object *elf,
                              const elf_section *section) {
    bool has_addend = section->type == ELF_SECTION_RELA;
    size_t entry_size = (elf->object.header.is_64 ? 8u : 4u) * (has_addend ? 3u : 2u);
    symbol_values symbols = open_symbols(elf, section->link);
    cursor c = elf_section_bytes(elf, section);
    uint64_t failed = 0;
    while (cursor_left(&c) >= entry_size) {
        relocation r = next_relocation(&c, elf, has_addend);
        uint64_t value;
        unsigned operation =
            r.type < RELOCATION_NUMBER_LIMIT ? to->types[r.type].operation : 0;
        if (operation == RELOCATION_NONE) continue;
        failed += operation == RELOCATION_UNKNOWN ||
                  !symbol_value(&symbols, r.symbol, &value) || !apply(to, &r, value);
    }
    return failed;
}

static void read_types(target *to, const elf_object *elf) {
    bool is_64 = elf->object.header.is_64 != 0;
    size_t count;
    const relocation_type *types =
        elf_relocation_types(elf->object.header.machine, is_64, &count);
    for (size_t i = 0; i < count; ++i) {
        relocation_type *type = &to->types[types[i].number];
        *type = types[i];
        if (type->bits == RELOCATION_WORD) type->bits = is_64 ? 64 : 32;
    }
}

gsym_status elf_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                         size_t size, uint64_t *failed_ret, gsym_error *error) {
    const elf_object *elf = elf_of(object);
    target to = {bytes, size, elf_section_at(elf, index).address,
                 (object->header.big_endian != 0) != CURSOR_HOST_BIG_ENDIAN, {{0}}};
    uint64_t left = object->size;
    uint32_t i = elf->placements == NULL ? 0 : elf->placements[index].relocations;
    read_types(&to, elf);
    for (; i != 0; i = elf->placements[i].next) {
        elf_section section = elf_section_at(elf, i);
        uint64_t end;
        if (__builtin_add_overflow(section.offset, section.size, &end) ||
            end > object->size)
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "section %s reaches past the end of the file",
                             elf_section_name(elf, &section));
        /* Or a small file could ask for any amount of work. */
        if (section.size > left)
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "section %s shares its bytes with other relocations",
                             elf_section_name(elf, &section));
        left -= section.size;
        *failed_ret += apply_section(&to, elf, &section);
    }
    return GSYM_OK;
}
