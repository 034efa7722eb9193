/* elf_code.c - find starts of functions in the unwind information of an ELF image.
 *
 * A symbol without a size ends where a function with unwind information starts. */
#include "containers/elf.h"
#include "sources/conversion.h"

enum {
    PE_SDATA4_DATAREL = 0x3b, /* DW_EH_PE: 4 bytes, signed, from the section's start */
    PE_UDATA4 = 0x03
};

/* Add the starts in the table of .eh_frame_hdr, if it has the encodings that linkers
 * write. */
static gsym_status add_unwind_starts(gsym_conversion *conversion, const elf_object *elf,
                                     const elf_section *section, gsym_error *error) {
    cursor c = elf_section_bytes(elf, section);
    uint8_t version = cursor_u8(&c), frame = cursor_u8(&c), count = cursor_u8(&c);
    uint8_t table = cursor_u8(&c);
    if (version != 1 || (frame & 0x07) != PE_UDATA4 ||
        count != PE_UDATA4 || table != PE_SDATA4_DATAREL)
        return GSYM_OK;
    cursor_skip(&c, 8); /* address of .eh_frame, and the number of entries */
    while (cursor_left(&c) >= 8) {
        int32_t distance = (int32_t)cursor_u32_unchecked(&c);
        uint64_t start = section->address + (uint64_t)(int64_t)distance;
        (void)cursor_u32_unchecked(&c);
        if (!elf->object.header.is_64) start = (uint32_t)start;
        GSYM_TRY(creator_end_symbols_at(conversion_creator(conversion), start, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_object_code(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error) {
    const elf_object *elf = elf_of(object);
    if (object->header.format != GSYM_OBJECT_ELF || elf->placements != NULL) return GSYM_OK;
    creator_bound_symbols(conversion_creator(conversion));
    for (uint32_t i = 1; i < object->header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        if (strcmp(elf_section_name(elf, &section), ".eh_frame_hdr") != 0) continue;
        GSYM_TRY(add_unwind_starts(conversion, elf, &section, error));
        break;
    }
    return GSYM_OK;
}
