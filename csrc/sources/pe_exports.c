/* pe_exports.c - read the functions that a PE image exports. */
#include "sources/symbols.h"

enum { EXPORT_DIRECTORY_SIZE = 40 };

/* Read an address at `c`, and return a cursor over the table at this address. */
static cursor next_table(const pe_exports *exports, cursor *c, uint64_t size) {
    uint64_t address = exports->pe->object.header.base_address + cursor_u32(c);
    return pe_section_bytes(exports->pe, &exports->section, address, size);
}

bool pe_exports_open(const pe_object *pe, pe_exports *exports) {
    uint64_t address_count, name_count;
    cursor c;
    exports->pe = pe;
    if (!pe_find_directory(pe, PE_DIRECTORY_EXPORT, &exports->extent) ||
        !pe_find_section(pe, exports->extent.start, &exports->section))
        return false;
    c = pe_section_bytes(pe, &exports->section, exports->extent.start,
                         EXPORT_DIRECTORY_SIZE);
    cursor_skip(&c, 20);
    address_count = cursor_u32(&c);
    name_count = cursor_u32(&c);
    exports->addresses = next_table(exports, &c, 4 * address_count);
    exports->names = next_table(exports, &c, 4 * name_count);
    exports->ordinals = next_table(exports, &c, 2 * name_count);
    return !c.failed;
}

bool pe_exports_next(pe_exports *exports, const dwarf_input *input, uint64_t *long_names,
                     pe_function *ret) {
    const pe_object *pe = exports->pe;
    while (cursor_left(&exports->names) >= 4 && cursor_left(&exports->ordinals) >= 2) {
        cursor name = next_table(exports, &exports->names, UINT32_MAX);
        cursor addresses = exports->addresses;
        cursor_skip(&addresses, 4u * cursor_u16_unchecked(&exports->ordinals));
        ret->address =
            pe_code_address(pe, pe->object.header.base_address + cursor_u32(&addresses));
        if (addresses.failed || !dwarf_in_text(input, ret->address) ||
            (ret->address >= exports->extent.start && ret->address < exports->extent.end))
            continue;
        ret->name = object_symbol_name(name, long_names, 0, &ret->name_size);
        ret->binding = SYMBOL_GLOBAL;
        return true;
    }
    return false;
}
