/* elf_relocations.c - place the sections of relocatable ELF files, and apply relocations.
 *
 * A relocatable file needs the part of linking that concerns debug information: each
 * section with code gets an address, and relocations write the addresses into the debug
 * sections. */
#include "base/system.h"
#include "containers/elf.h"
#include "containers/relocations.h"

/* ---- placing ------------------------------------------------------------------------- */

static bool holds_relocations(const elf_section *section) {
    return section->type == SHT_RELA || section->type == SHT_REL ||
           section->type == SHT_CREL;
}

static bool lies_in_file(const elf_object *elf, const elf_section *section) {
    uint64_t end;
    return !__builtin_add_overflow(section->offset, section->size, &end) &&
           end <= elf->object.size;
}

/* List the relocation sections of each section. The loop runs from the last section to the
 * first, so that each list is in the order of the file. */
static void find_relocations(elf_object *elf, elf_placement *placements) {
    uint32_t count = elf->object.header.section_count;
    for (uint32_t i = count; i-- > 1;) {
        elf_section section = elf_section_at(elf, i);
        if (section.type == SHT_SYMTAB_SHNDX) elf->extended_section = i;
        if (!holds_relocations(&section) || section.info == 0 || section.info >= count)
            continue;
        if (lies_in_file(elf, &section)) elf->relocations_size += section.size;
        placements[i].next = placements[section.info].relocations;
        placements[section.info].relocations = i;
    }
}

static gsym_status choose_addresses(const elf_object *elf, elf_placement *placements,
                                    gsym_error *error) {
    uint32_t count = elf->object.header.section_count, culprit;
    placed_section *sections = calloc((size_t)count + 1, sizeof *sections);
    bool fits;
    if (sections == NULL) return gsym_fail_memory(error);
    for (uint32_t i = 1; i < count; ++i) {
        elf_section section = elf_section_at(elf, i);
        sections[i] = (placed_section){
            .address = section.address,
            .size = section.size,
            .alignment = section.alignment,
            .is_loaded = (section.flags & SHF_ALLOC) != 0,
            .is_code = (section.flags & SHF_EXECINSTR) != 0,
        };
    }
    fits = place_sections(sections, count, elf->object.header.is_64, &culprit);
    for (uint32_t i = 1; i < count; ++i) placements[i].address = sections[i].address;
    free(sections);
    if (!fits) {
        elf_section section = elf_section_at(elf, culprit);
        return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                         "section %s does not fit the address space",
                         elf_section_name(elf, &section));
    }
    return GSYM_OK;
}

gsym_status elf_place_sections(elf_object *elf, gsym_error *error) {
    size_t count = elf->object.header.section_count;
    elf_placement *placements = calloc(count + 1, sizeof *placements);
    gsym_status status;
    if (placements == NULL) return gsym_fail_memory(error);
    status = choose_addresses(elf, placements, error);
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
    cursor extended; /* indexes of sections that are too large for a symbol's entry */
    size_t count;
} symbol_values;

static symbol_values open_symbols(const elf_object *elf, uint32_t index) {
    symbol_values symbols = {.elf = elf};
    elf_section section;
    if (index == 0 || index >= elf->object.header.section_count) return symbols;
    section = elf_section_at(elf, index);
    if (section.type != SHT_SYMTAB) return symbols;
    symbols.entries = elf_section_bytes(elf, &section);
    symbols.count = cursor_left(&symbols.entries) / (elf->object.header.is_64 ? 24 : 16);
    if (elf->extended_section != 0) {
        section = elf_section_at(elf, elf->extended_section);
        if (section.link == index) symbols.extended = elf_section_bytes(elf, &section);
    }
    return symbols;
}

/* Find the value of a symbol; false if it does not exist. Undefined ones have the value
 * 0. */
static inline bool symbol_value(const symbol_values *symbols, size_t index,
                                uint64_t *value_ret) {
    const elf_object *elf = symbols->elf;
    bool swap = symbols->entries.swap;
    const uint8_t *at;
    uint32_t section;
    *value_ret = 0;
    if (index == 0) return true;
    if (index >= symbols->count) return false;
    if (elf->object.header.is_64) {
        at = symbols->entries.at + index * 24;
        section = cursor_load16(at + 6, swap);
        *value_ret = cursor_load64(at + 8, swap);
    } else {
        at = symbols->entries.at + index * 16;
        *value_ret = cursor_load32(at + 4, swap);
        section = cursor_load16(at + 14, swap);
    }
    if (section == SHN_XINDEX) {
        cursor c = symbols->extended;
        cursor_skip(&c, index * 4);
        section = cursor_u32(&c);
    } else if (section >= SHN_LORESERVE) {
        if (section != SHN_ABS) *value_ret = 0;
        return true;
    }
    if (section >= elf->object.header.section_count) return false;
    *value_ret = section == 0 ? 0 : *value_ret + elf->placements[section].address;
    return true;
}

/* ---- applying ---------------------------------------------------------------------- */

/* The number at the start of a SHT_CREL section: the count of entries times
 * CREL_COUNT_UNIT, plus CREL_HAS_ADDEND, plus the number of bits by which offsets are
 * shifted. */
enum { CREL_COUNT_UNIT = 8, CREL_HAS_ADDEND = 4 };

/* Whether an entry has four bytes in place of one number for the type: 64-bit MIPS stores
 * three types and a special symbol, always in the order of a big-endian number. */
static inline bool has_bytes_for_type(const elf_object *elf) {
    return elf->object.header.machine == EM_MIPS && elf->object.header.is_64;
}

/* Read the next entry of a table; the caller has checked that it is complete. */
static inline relocation next_relocation(cursor *c, const elf_object *elf,
                                         bool has_addend) {
    relocation r = {.has_addend = has_addend};
    if (elf->object.header.is_64) {
        r.offset = cursor_u64_unchecked(c);
        if (has_bytes_for_type(elf)) {
            r.symbol = cursor_u32_unchecked(c);
            r.number = cursor_load32(c->at, !CURSOR_HOST_BIG_ENDIAN);
            c->at += 4;
        } else {
            uint64_t info = cursor_u64_unchecked(c);
            r.symbol = (uint32_t)(info >> 32);
            r.number = (uint32_t)info;
            if (elf->object.header.machine == EM_SPARCV9) r.number &= 0xff;
        }
        if (has_addend) r.addend = cursor_u64_unchecked(c);
    } else {
        uint32_t info;
        r.offset = cursor_u32_unchecked(c);
        info = cursor_u32_unchecked(c);
        r.symbol = info >> 8;
        r.number = info & 0xff;
        if (has_addend) r.addend = (uint64_t)(int64_t)(int32_t)cursor_u32_unchecked(c);
    }
    return r;
}

/* Apply a relocation. False if its type is unknown, or if its symbol or place is
 * invalid. */
static inline bool apply(const relocation_target *target, const symbol_values *symbols,
                         const relocation *r) {
    uint64_t value;
    unsigned operation = relocation_operation_of(target, r);
    return operation == RELOCATION_NONE ||
           (operation != RELOCATION_UNKNOWN && symbol_value(symbols, r->symbol, &value) &&
            relocation_apply(target, r, value));
}

/* Read a compact relocation (CREL, in LLVM 19 and later), which is stored as differences
 * from the relocation before; `header` says which differences are stored. */
static void read_crel(cursor *c, uint64_t header, relocation *r) {
    unsigned flags = header & CREL_HAS_ADDEND ? 3 : 2;
    uint8_t first = cursor_u8(c);
    r->offset += first >> flags;
    if (first >= 0x80) r->offset += (cursor_uleb(c) << (7 - flags)) - (0x80u >> flags);
    if (first & 1) r->symbol += (uint32_t)cursor_sleb(c);
    if (first & 2) r->number += (uint32_t)cursor_sleb(c);
    if (first & header & CREL_HAS_ADDEND) r->addend += (uint64_t)cursor_sleb(c);
}

static void apply_crel(const relocation_target *target, const symbol_values *symbols,
                       cursor c, gsym_unapplied *unapplied) {
    uint64_t header = cursor_uleb(&c), count = header / CREL_COUNT_UNIT;
    relocation r = {.has_addend = (header & CREL_HAS_ADDEND) != 0};
    for (uint64_t i = 0; i < count; ++i) {
        relocation shifted;
        read_crel(&c, header, &r);
        if (c.failed) { /* the remaining relocations are lost */
            object_count_unapplied(unapplied, 0, r.number);
            unapplied->end = target->size;
            return;
        }
        shifted = r;
        shifted.offset <<= header % CREL_HAS_ADDEND;
        if (!apply(target, symbols, &shifted))
            object_count_unapplied(unapplied, shifted.offset, shifted.number);
    }
}

/* Apply the relocations of one section. */
static void apply_section(const relocation_target *target, const elf_object *elf,
                          const elf_section *section, gsym_unapplied *unapplied) {
    bool has_addend = section->type == SHT_RELA;
    size_t entry_size = (elf->object.header.is_64 ? 8u : 4u) * (has_addend ? 3u : 2u);
    symbol_values symbols = open_symbols(elf, section->link);
    cursor c = elf_section_bytes(elf, section);
    const uint8_t *released = c.at;
    if (section->type == SHT_CREL) {
        apply_crel(target, &symbols, c, unapplied);
        return;
    }
    while (cursor_left(&c) >= entry_size) {
        relocation r = next_relocation(&c, elf, has_addend);
        if (!apply(target, &symbols, &r))
            object_count_unapplied(unapplied, r.offset, r.number);
        if (GSYM_UNLIKELY((size_t)(c.at - released) >= PAGES_DROP_SIZE)) {
            if (elf->object.is_file_mapping) pages_release(released, PAGES_DROP_SIZE);
            released = c.at;
        }
    }
}

gsym_status elf_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                         size_t size, gsym_unapplied *unapplied_ret,
                         gsym_error *error) {
    const elf_object *elf = elf_of(object);
    relocation_target target = {
        .bytes = bytes, .size = size, .address = elf_section_at(elf, index).address};
    uint32_t i = elf->placements == NULL ? 0 : elf->placements[index].relocations;
    relocation_target_init(&target, &object->header);
    for (; i != 0; i = elf->placements[i].next) {
        elf_section section = elf_section_at(elf, i);
        if (!lies_in_file(elf, &section))
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "section %s reaches past the end of the file",
                             elf_section_name(elf, &section));
        /* Sections of relocations may share bytes; without this limit, a small file could
         * cause any amount of work. */
        if (elf->relocations_size > object->size)
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "section %s shares its bytes with other relocations",
                             elf_section_name(elf, &section));
        apply_section(&target, elf, &section, unapplied_ret);
    }
    return GSYM_OK;
}
