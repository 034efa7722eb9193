/* elf_relocations.c - relocatable ELF files: sections placed, relocations applied.
 *
 * What a linker would do, as far as it matters to debug information: code sections get
 * addresses, and the debug sections get to know them. */
#include "containers/elf.h"
#include "containers/placement.h"
#include "containers/relocations.h"

#define SYMBOL_FUNC 2

/* ---- placing ------------------------------------------------------------------------- */

static bool holds_relocations(const elf_section *section) {
    return section->type == ELF_SECTION_RELA || section->type == ELF_SECTION_REL;
}

static bool lies_in_file(const elf_object *elf, const elf_section *section) {
    uint64_t end;
    return !__builtin_add_overflow(section->offset, section->size, &end) &&
           end <= elf->object.size;
}

/* From the last to the first, so that each list is in the order of the file. */
static void find_relocations(elf_object *elf, elf_placement *placements) {
    uint32_t count = elf->object.header.section_count;
    for (uint32_t i = count; i-- > 1;) {
        elf_section section = elf_section_at(elf, i);
        if (section.type == ELF_SECTION_SYMTAB_SHNDX) elf->extended_section = i;
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
            .is_loaded = (section.flags & ELF_FLAG_ALLOC) != 0,
            .is_code = (section.flags & ELF_FLAG_EXECINSTR) != 0,
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
            r.number = cursor_load32(c->at, !CURSOR_HOST_BIG_ENDIAN);
            c->at += 4;
        } else {
            uint64_t info = cursor_u64_covered(c);
            r.symbol = (uint32_t)(info >> 32);
            r.number = (uint32_t)info;
            if (elf->object.header.machine == ELF_MACHINE_SPARCV9) r.number &= 0xff;
        }
        if (has_addend) r.addend = cursor_u64_covered(c);
    } else {
        uint32_t info;
        r.offset = cursor_u32_covered(c);
        info = cursor_u32_covered(c);
        r.symbol = info >> 8;
        r.number = info & 0xff;
        if (has_addend) r.addend = (uint64_t)(int64_t)(int32_t)cursor_u32_covered(c);
    }
    return r;
}

/* How many of the relocations of one section could not be applied. */
static uint64_t apply_section(const relocation_target *target, const elf_object *elf,
                              const elf_section *section) {
    bool has_addend = section->type == ELF_SECTION_RELA;
    size_t entry_size = (elf->object.header.is_64 ? 8u : 4u) * (has_addend ? 3u : 2u);
    symbol_values symbols = open_symbols(elf, section->link);
    cursor c = elf_section_bytes(elf, section);
    uint64_t failed = 0;
    while (cursor_left(&c) >= entry_size) {
        relocation r = next_relocation(&c, elf, has_addend);
        uint64_t value;
        unsigned operation = relocation_operation_of(target, &r);
        if (operation == RELOCATION_NONE) continue;
        failed += operation == RELOCATION_UNKNOWN ||
                  !symbol_value(&symbols, r.symbol, &value) ||
                  !relocation_apply(target, &r, value);
    }
    return failed;
}

gsym_status elf_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                         size_t size, uint64_t *failed_ret, gsym_error *error) {
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
        /* Or a small file could ask for any amount of work. */
        if (elf->relocations_size > object->size)
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "section %s shares its bytes with other relocations",
                             elf_section_name(elf, &section));
        *failed_ret += apply_section(&target, elf, &section);
    }
    return GSYM_OK;
}
