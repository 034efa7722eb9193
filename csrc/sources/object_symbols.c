/* object_symbols.c - the functions that a symbol table names, whatever the container. */
#include "sources/object_symbols.h"

#include "base/buffer.h"
#include "sources/conversion.h"

/* ---- sizes for the symbols of a table that gives none --------------------------------- */

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error) {
    if (!ARRAY_RESERVE(*starts, 1)) return gsym_fail_memory(error);
    starts->items[starts->count++] = address;
    return GSYM_OK;
}

static int compare_addresses(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

void symbol_starts_sort(symbol_starts *starts) {
    if (starts->count > 1)
        qsort(starts->items, starts->count, sizeof *starts->items, compare_addresses);
}

uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end) {
    size_t low = 0, high = starts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->items[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < starts->count && starts->items[low] < end ? starts->items[low] : end;
}

/* ---- what a conversion takes from an object ------------------------------------------- */

gsym_status gsym_conversion_add_object_text(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error) {
    for (uint32_t i = 0; i < object->header.section_count; ++i) {
        gsym_object_section section = {0};
        gsym_error ignored;
        uint64_t end;
        /* Where a section has its bytes does not matter here, nor that it has any. */
        (void)object->format->section_at(object, i, &section, &ignored);
        if (!section.holds_code ||
            __builtin_add_overflow(section.address, section.memory_size, &end))
            continue;
        GSYM_TRY(gsym_conversion_add_text_range(conversion, section.address, end, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_object_symbols(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               gsym_error *error) {
    creator_supply_strings(conversion_creator(conversion), object->size);
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: return elf_add_symbols(conversion, object, error);
        case GSYM_OBJECT_MACHO: return macho_add_symbols(conversion, object, error);
        default: return pe_add_symbols(conversion, object, error);
    }
}
