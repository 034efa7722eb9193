/* pe_relocations.c - place the sections of COFF object files, and apply relocations.
 *
 * Source: Microsoft PE and COFF specification. */
#include "containers/pe.h"
#include "containers/relocations.h"

#define SECTION_REMOVED 0xa00u         /* LNK_INFO, LNK_REMOVE */
#define SECTION_DISCARDABLE 0x2000000u /* as debug sections are */
#define SECTION_MORE_RELOCATIONS 0x1000000u

enum {
    ENTRY_SIZE = 10,
    MAX_RELOCATIONS = 0xffff, /* if there are more, the first entry has their number */
    DEFAULT_ALIGNMENT = 16
};

/* Return a cursor over the relocations of a section. */
static gsym_status find_entries(const pe_object *pe, const pe_section *section,
                                cursor *entries_ret, gsym_error *error) {
    uint64_t count = section->relocation_count, offset = section->relocations;
    if (count == MAX_RELOCATIONS && (section->flags & SECTION_MORE_RELOCATIONS)) {
        cursor c = pe_bytes(pe, offset, ENTRY_SIZE);
        count = cursor_u32(&c);
        count -= count > 0; /* the number includes this first entry */
        offset += ENTRY_SIZE;
    }
    *entries_ret = pe_bytes(pe, offset, count * ENTRY_SIZE);
    if (cursor_left(entries_ret) < count * ENTRY_SIZE)
        return gsym_fail(error, GSYM_E_FORMAT, section->relocations,
                         "the relocations of section %.*s reach past the end of the file",
                         (int)section->name_size, section->name);
    return GSYM_OK;
}

/* ---- placing ---------------------------------------------------------------------- */

static gsym_status choose_addresses(pe_object *pe, placed_section *sections,
                                    gsym_error *error) {
    uint32_t count = pe->object.header.section_count, culprit;
    for (uint32_t i = 0; i < count; ++i) {
        pe_section section = pe_section_at(pe, i);
        uint32_t power = section.flags >> 20 & 0xf; /* exponent of the alignment, plus 1 */
        gsym_error ignored;
        cursor entries;
        sections[i] = (placed_section){
            .address = section.address,
            .size = section.memory_size,
            .alignment = power == 0 ? DEFAULT_ALIGNMENT : UINT64_C(1) << (power - 1),
            .is_loaded = !(section.flags & (SECTION_REMOVED | SECTION_DISCARDABLE)),
            .is_code = section.holds_code,
        };
        if (find_entries(pe, &section, &entries, &ignored) == GSYM_OK)
            pe->relocations_size += cursor_left(&entries);
    }
    if (!place_sections(sections, count, pe->object.header.is_64, &culprit)) {
        pe_section section = pe_section_at(pe, culprit);
        return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                         "section %.*s does not fit the address space",
                         (int)section.name_size, section.name);
    }
    return GSYM_OK;
}

gsym_status pe_place_sections(pe_object *pe, gsym_error *error) {
    gsym_object_header *header = &pe->object.header;
    size_t count = header->section_count;
    placed_section *sections = calloc(count + 1, sizeof *sections);
    uint64_t *addresses = calloc(count + 1, sizeof *addresses);
    gsym_status status = sections == NULL || addresses == NULL
                             ? gsym_fail_memory(error)
                             : choose_addresses(pe, sections, error);
    for (size_t i = 0; status == GSYM_OK && i < count; ++i)
        addresses[i] = sections[i].address;
    free(sections);
    pe->addresses = addresses;
    header->is_relocatable = header->has_base_address = 1;
    return status;
}

/* ---- applying --------------------------------------------------------------------- */

/* Find the value of a symbol; false if it does not exist. Undefined ones have the value
 * 0. */
static bool symbol_value(const pe_object *pe, uint32_t index, bool is_section_offset,
                         uint64_t *value_ret) {
    uint64_t offset = pe->symbol_table + (uint64_t)index * pe->symbol_size;
    cursor c = pe_bytes(pe, offset, pe->symbol_size);
    pe_symbol symbol;
    if (index >= pe->symbol_count || cursor_left(&c) < pe->symbol_size) return false;
    symbol = pe_read_symbol(pe, &c);
    *value_ret = symbol.value;
    if (symbol.section > 0) {
        if ((uint32_t)symbol.section > pe->object.header.section_count) return false;
        if (!is_section_offset) *value_ret += pe->addresses[symbol.section - 1];
    } else if (symbol.section != PE_SECTION_ABSOLUTE) {
        *value_ret = 0;
    }
    return true;
}

gsym_status pe_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                        size_t size, gsym_unapplied *unapplied_ret,
                        gsym_error *error) {
    const pe_object *pe = pe_of(object);
    pe_section section = pe_section_at(pe, index);
    relocation_target target = {.bytes = bytes, .size = size, .address = section.address};
    cursor entries;
    if (pe->addresses == NULL) return GSYM_OK;
    GSYM_TRY(find_entries(pe, &section, &entries, error));
    /* Sections may share relocations; without this limit, a small file could cause any
     * amount of work. */
    if (pe->relocations_size > object->size)
        return gsym_fail(error, GSYM_E_FORMAT, section.relocations,
                         "section %.*s shares its relocations with others",
                         (int)section.name_size, section.name);
    relocation_target_init(&target, &object->header);
    while (cursor_left(&entries) >= ENTRY_SIZE) {
        relocation r = {.offset = cursor_u32_unchecked(&entries)};
        uint32_t symbol = cursor_u32_unchecked(&entries);
        unsigned operation;
        uint64_t value;
        r.number = cursor_u16_unchecked(&entries);
        operation = relocation_operation_of(&target, &r);
        if (operation == RELOCATION_NONE) continue;
        if (operation == RELOCATION_UNKNOWN ||
            !symbol_value(pe, symbol, operation == RELOCATION_SECTION_OFFSET, &value) ||
            !relocation_apply(&target, &r, value))
            object_count_unapplied(unapplied_ret, r.offset, r.number);
    }
    return GSYM_OK;
}
