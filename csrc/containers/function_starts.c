/* function_starts.c - read where functions start, by tables for unwinders and debuggers. */
#include "containers/function_starts.h"

#include "containers/elf.h"
#include "containers/macho.h"
#include "containers/pe.h"

enum {
    EH_PE_SDATA4_DATAREL = 0x3b, /* DW_EH_PE: 4 bytes, signed, from the section's start */
    EH_PE_UDATA4 = 0x03,
    ELF_ENTRY_SIZE = 8,
    X86_64_ENTRY_SIZE = 12,
    ARM64_ENTRY_SIZE = 8
};

/* Open the table of .eh_frame_hdr, if it has the encodings that linkers write. */
static void open_elf(function_starts *starts) {
    const elf_object *elf = elf_of(starts->object);
    if (elf->placements != NULL) return; /* a relocatable file */
    for (uint32_t i = 1; i < starts->object->header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        cursor c;
        uint8_t version, frame, count, table;
        if (strcmp(elf_section_name(elf, &section), ".eh_frame_hdr") != 0) continue;
        c = elf_section_bytes(elf, &section);
        version = cursor_u8(&c);
        frame = cursor_u8(&c);
        count = cursor_u8(&c);
        table = cursor_u8(&c);
        if (version != 1 || (frame & 0x07) != EH_PE_UDATA4 ||
            count != EH_PE_UDATA4 || table != EH_PE_SDATA4_DATAREL)
            return;
        cursor_skip(&c, 8); /* address of .eh_frame, and the number of entries */
        starts->entries = c;
        starts->base = section.address;
        return;
    }
}

static bool next_elf(function_starts *starts, uint64_t *start, uint64_t *end) {
    if (cursor_left(&starts->entries) < ELF_ENTRY_SIZE) return false;
    *start = starts->base +
             (uint64_t)(int64_t)(int32_t)cursor_u32_unchecked(&starts->entries);
    if (!starts->object->header.is_64) *start = (uint32_t)*start;
    *end = *start;
    (void)cursor_u32_unchecked(&starts->entries);
    return true;
}

static size_t pe_entry_size(const gsym_object *object) {
    switch (object->header.machine) {
        case IMAGE_FILE_MACHINE_AMD64: return X86_64_ENTRY_SIZE;
        case IMAGE_FILE_MACHINE_ARM64: return ARM64_ENTRY_SIZE;
        default: return 0;
    }
}

static void open_pe(function_starts *starts) {
    const pe_object *pe = pe_of(starts->object);
    gsym_range range;
    if (pe_entry_size(starts->object) != 0 &&
        pe_find_directory(pe, PE_DIRECTORY_EXCEPTION, &range))
        starts->entries = pe_loaded_bytes(pe, range);
}

static bool next_pe(function_starts *starts, uint64_t *start, uint64_t *end) {
    size_t size = pe_entry_size(starts->object);
    if (size == 0 || cursor_left(&starts->entries) < size) return false;
    *start = starts->base + cursor_u32_unchecked(&starts->entries);
    *end = size == X86_64_ENTRY_SIZE
               ? starts->base + cursor_u32_unchecked(&starts->entries)
               : *start;
    cursor_skip(&starts->entries, 4);
    return true;
}

static bool next_macho(function_starts *starts, uint64_t *start, uint64_t *end) {
    uint64_t delta;
    if (cursor_left(&starts->entries) == 0) return false;
    delta = cursor_uleb(&starts->entries);
    if (delta == 0) return false; /* only padding follows */
    starts->base += delta;
    *start = *end = starts->base & ~object_isa_bit(&starts->object->header);
    return true;
}

function_starts function_starts_open(const gsym_object *object) {
    function_starts starts = {object, {0}, object->header.base_address};
    starts.entries = cursor_at(object->data, 0, 0, object->header.big_endian);
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: open_elf(&starts); break;
        case GSYM_OBJECT_PE: open_pe(&starts); break;
        case GSYM_OBJECT_MACHO:
            starts.entries =
                macho_table_bytes(macho_of(object), macho_of(object)->function_starts, 1);
            break;
        default: break;
    }
    return starts;
}

bool function_starts_next(function_starts *starts, uint64_t *start, uint64_t *end) {
    switch (starts->object->header.format) {
        case GSYM_OBJECT_ELF: return next_elf(starts, start, end);
        case GSYM_OBJECT_PE: return next_pe(starts, start, end);
        case GSYM_OBJECT_MACHO: return next_macho(starts, start, end);
        default: return false;
    }
}

size_t gsym_object_function_starts(const gsym_object *object, uint64_t *starts,
                                   size_t capacity) {
    function_starts each = function_starts_open(object);
    uint64_t start, end;
    size_t count = 0;
    for (; function_starts_next(&each, &start, &end); ++count)
        if (count < capacity) starts[count] = start;
    return count;
}
