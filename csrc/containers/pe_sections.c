/* pe_sections.c - read the sections and symbols of a PE or COFF file.
 *
 * Sources: Microsoft PE and COFF specification; for long section names in images, which
 * that does not allow and MinGW writes, the GNU linker. */
#include "containers/pe.h"

#define SECTION_CODE 0x20u
#define SECTION_UNINITIALIZED 0x80u
#define SECTION_EXECUTE 0x20000000u

enum { SECTION_NAME_LIMIT = 256 }; /* all names that are searched for are shorter */

cursor pe_bytes(const pe_object *pe, uint64_t offset, uint64_t size) {
    uint64_t start = offset < pe->object.size ? offset : pe->object.size;
    uint64_t left = pe->object.size - start;
    return cursor_at(pe->object.data + start, size < left ? size : left, 0, false);
}

/* Read the offset of a long name: decimal after one slash, in base 64 after two. */
static bool read_name_offset(const char *digits, size_t size, uint64_t *offset_ret) {
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool is_decimal = size > 0 && digits[0] != '/';
    size_t at = is_decimal ? 0 : 1;
    *offset_ret = 0;
    if (at >= size) return false;
    for (; at < size; ++at) {
        const char *found = digits[at] != 0 ? strchr(alphabet, digits[at]) : NULL;
        uint64_t value;
        if (found == NULL) return false;
        value = (uint64_t)(found - alphabet);
        if (is_decimal && (value < 52 || value > 61)) return false;
        if (is_decimal) value -= 52;
        *offset_ret = *offset_ret * (is_decimal ? 10 : 64) + value;
    }
    return true;
}

static void read_name(const pe_object *pe, pe_section *section, const char *name) {
    const char *nul = memchr(name, 0, PE_SHORT_NAME_SIZE);
    uint64_t offset;
    section->name = name;
    section->name_size = nul == NULL ? PE_SHORT_NAME_SIZE : (size_t)(nul - name);
    if (section->name_size > 1 && name[0] == '/' &&
        read_name_offset(name + 1, section->name_size - 1, &offset)) {
        cursor c = pe->strings;
        size_t size;
        const char *long_name;
        cursor_skip(&c, offset);
        /* Many sections may share a long name, so only the start of it is read. */
        if (cursor_left(&c) > SECTION_NAME_LIMIT) c.end = c.at + SECTION_NAME_LIMIT;
        long_name = cursor_cstring(&c, &size);
        if (!c.failed) section->name = long_name, section->name_size = size;
    }
}

pe_section pe_section_at(const pe_object *pe, uint32_t index) {
    cursor c = pe_cursor(pe, pe->section_table + (uint64_t)index * PE_SECTION_SIZE);
    const char *name = (const char *)c.at;
    pe_section section;
    uint64_t virtual_size;
    cursor_skip(&c, PE_SHORT_NAME_SIZE);
    virtual_size = cursor_u32(&c);
    section.address = pe->object.header.base_address + cursor_u32(&c);
    section.size = cursor_u32(&c);
    section.offset = cursor_u32(&c);
    section.relocations = cursor_u32(&c);
    (void)cursor_u32(&c); /* PointerToLinenumbers */
    section.relocation_count = cursor_u16(&c);
    (void)cursor_u16(&c); /* NumberOfLinenumbers */
    section.flags = cursor_u32(&c);
    section.memory_size = virtual_size == 0 ? section.size : virtual_size;
    if (pe->is_image && section.size > section.memory_size)
        section.size = section.memory_size; /* the rest in the file is padding */
    if (section.offset == 0 || (section.flags & SECTION_UNINITIALIZED)) section.size = 0;
    if (pe->addresses != NULL) section.address = pe->addresses[index];
    section.holds_code = (section.flags & (SECTION_CODE | SECTION_EXECUTE)) != 0 &&
                         section.memory_size > 0;
    read_name(pe, &section, name);
    return section;
}

pe_symbol pe_read_symbol(const pe_object *pe, cursor *c) {
    pe_symbol symbol = {.name = c->at};
    cursor_skip(c, PE_SHORT_NAME_SIZE);
    symbol.value = cursor_u32(c);
    symbol.section =
        pe->symbol_size == 18 ? (int16_t)cursor_u16(c) : (int32_t)cursor_u32(c);
    symbol.type = cursor_u16(c);
    symbol.class = cursor_u8(c);
    symbol.auxiliary_count = cursor_u8(c);
    return symbol;
}
