/* pe_stubs.c - name the stubs by which a PE image calls imported functions.
 *
 * A stub jumps to the address in a slot that the loader fills in; the import directory
 * names the function of each slot. For images without a symbol table, a stub gets the name
 * of its function, as linkers name it. A function that is imported by its number has no
 * name here.
 *
 * Source: Microsoft, "PE Format", sections "The .idata Section" and "Delay-Load Import
 * Tables". */
#include "base/sort.h"
#include "sources/stubs.h"

enum {
    IMPORT_SIZE = 20,
    DELAY_IMPORT_SIZE = 32,
    DELAY_IMPORT_RELATIVE = 1, /* its addresses are relative to the image base */
    HINT_SIZE = 2              /* bytes of the number before a name */
};

/* ---- slots ------------------------------------------------------------------------- */

/* Add the slots of one library. `names` is the address of a list of addresses of names,
 * which ends with 0. */
static gsym_status add_slots(pe_stubs *stubs, bool is_delayed, uint32_t names,
                             uint32_t slots, uint64_t *left, gsym_error *error) {
    uint64_t base = stubs->pe->object.header.base_address;
    bool is_64 = stubs->pe->object.header.is_64 != 0;
    unsigned size = is_64 ? 8 : 4;
    uint64_t by_number = UINT64_C(1) << (is_64 ? 63 : 31);
    const pe_section *section = &stubs->imports[is_delayed];
    cursor c = pe_section_bytes(stubs->pe, section, base + names, UINT64_MAX);
    for (uint64_t at = base + slots; *left > 0; at += size, --*left) {
        uint64_t entry = is_64 ? cursor_u64(&c) : cursor_u32(&c);
        if (c.failed || entry == 0) return GSYM_OK;
        if ((entry & by_number) != 0 || entry > UINT32_MAX - HINT_SIZE) continue;
        if (!LIST_ADD(stubs->slots,
                      ((pe_slot){at, (uint32_t)entry + HINT_SIZE, is_delayed})))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

static gsym_status find_slots(pe_stubs *stubs, pe_directory which, gsym_error *error) {
    const pe_object *pe = stubs->pe;
    bool is_delayed = which == PE_DIRECTORY_DELAY_IMPORT;
    uint64_t left = pe->object.size; /* limit of slots, as libraries may share them */
    gsym_range range;
    cursor c;
    /* Names and slots are read from the section of the directory, where linkers put
     * them. */
    if (!pe_find_directory(pe, which, &range) ||
        !pe_find_section(pe, range.start, &stubs->imports[is_delayed]))
        return GSYM_OK;
    c = pe_section_bytes(pe, &stubs->imports[is_delayed], range.start, UINT64_MAX);
    while (cursor_left(&c) >= (is_delayed ? DELAY_IMPORT_SIZE : IMPORT_SIZE)) {
        uint32_t flags, names, slots;
        cursor entry = c;
        cursor_skip(&c, is_delayed ? DELAY_IMPORT_SIZE : IMPORT_SIZE);
        flags = is_delayed ? cursor_u32(&entry) : DELAY_IMPORT_RELATIVE;
        if (is_delayed) cursor_skip(&entry, 8); /* name and handle of the library */
        names = cursor_u32(&entry);
        if (is_delayed) {
            slots = names;
            names = cursor_u32(&entry);
        } else {
            cursor_skip(&entry, 12); /* time, forwarders, name of the library */
            slots = cursor_u32(&entry);
            if (names == 0) names = slots;
        }
        if (slots == 0) break;
        if ((flags & DELAY_IMPORT_RELATIVE) != 0)
            GSYM_TRY(add_slots(stubs, is_delayed, names, slots, &left, error));
    }
    return GSYM_OK;
}

/* ---- code -------------------------------------------------------------------------- */

static gsym_status add_stub(pe_stubs *stubs, uint64_t slot, gsym_range code,
                            gsym_error *error) {
    const pe_slot *slots = stubs->slots.items;
    size_t low = 0;
    SEARCH_SORTED(low, stubs->slots.count, slots[middle].address < slot);
    if (low == stubs->slots.count || slots[low].address != slot) return GSYM_OK;
    return LIST_ADD(stubs->found, ((pe_stub){code, slots[low].name, slots[low].is_delayed}))
               ? GSYM_OK
               : gsym_fail_memory(error);
}

/* Find stubs of x86: `jmp *slot`. In x86-64, the operand is relative to the next
 * instruction. */
static gsym_status find_in_x86(pe_stubs *stubs, const pe_section *section, cursor c,
                               gsym_error *error) {
    enum { SIZE = 6 };
    const uint8_t *start = c.at, *end = c.at; /* the stub before */
    while (cursor_left(&c) >= SIZE) {
        const uint8_t *jump = memchr(c.at, 0xff, cursor_left(&c) - (SIZE - 1));
        gsym_range code;
        uint64_t slot;
        if (jump == NULL) break;
        c.at = jump + 2;
        /* A function may also end with such a jump. The jump is a stub only if it follows
         * another stub, or a byte that ends or pads a function: ret, int3 or nop. */
        if (jump[1] != 0x25 || (jump != end && memchr("\x90\xcc\xc3", jump[-1], 3) == NULL))
            continue;
        slot = cursor_u32(&c);
        code.start = section->address + (uint64_t)(jump - start);
        code.end = code.start + SIZE;
        if (stubs->pe->object.header.is_64)
            slot = code.end + (uint64_t)(int64_t)(int32_t)slot;
        end = c.at;
        GSYM_TRY(add_stub(stubs, slot, code, error));
    }
    return GSYM_OK;
}

/* Find stubs of ARM64: `adrp x16; ldr x16; br x16`. */
static gsym_status find_in_arm64(pe_stubs *stubs, const pe_section *section, cursor c,
                                 gsym_error *error) {
    gsym_range code = {.start = section->address};
    for (; cursor_left(&c) >= 12; code.start += 4) {
        uint32_t adrp = cursor_u32_unchecked(&c);
        cursor rest = c;
        uint32_t load = cursor_u32_unchecked(&rest);
        uint64_t slot;
        code.end = code.start + 12;
        if (aarch64_slot_address(adrp, load, 16, code.start, &slot) &&
            cursor_u32_unchecked(&rest) == 0xd61f0200)
            GSYM_TRY(add_stub(stubs, slot, code, error));
    }
    return GSYM_OK;
}

gsym_status pe_find_stubs(pe_stubs *stubs, gsym_error *error) {
    const pe_object *pe = stubs->pe;
    uint64_t left = pe->object.size; /* sections may overlap */
    if (!pe->is_image) return GSYM_OK;
    GSYM_TRY(find_slots(stubs, PE_DIRECTORY_DELAY_IMPORT, error));
    GSYM_TRY(find_slots(stubs, PE_DIRECTORY_IMPORT, error));
    if (stubs->slots.count == 0) return GSYM_OK;
    sort_by_u64(stubs->slots.items, stubs->slots.count, sizeof *stubs->slots.items);
    for (uint32_t i = 0; i < pe->object.header.section_count; ++i) {
        pe_section section = pe_section_at(pe, i);
        cursor c = pe_bytes(pe, section.offset, section.size);
        if (!section.holds_code || cursor_left(&c) > left) continue;
        left -= cursor_left(&c);
        switch (pe->object.header.machine) {
            case IMAGE_FILE_MACHINE_I386:
            case IMAGE_FILE_MACHINE_AMD64:
                GSYM_TRY(find_in_x86(stubs, &section, c, error));
                break;
            case IMAGE_FILE_MACHINE_ARM64:
                GSYM_TRY(find_in_arm64(stubs, &section, c, error));
                break;
            default: break;
        }
    }
    return GSYM_OK;
}

void pe_stubs_close(pe_stubs *stubs) {
    free(stubs->slots.items);
    free(stubs->found.items);
}

static gsym_status add_names(pe_stubs *stubs, stub_writer *writer, gsym_error *error) {
    uint64_t base = stubs->pe->object.header.base_address;
    for (size_t i = 0; i < stubs->found.count; ++i) {
        const pe_stub *stub = &stubs->found.items[i];
        const pe_section *section = &stubs->imports[stub->is_delayed];
        cursor names = pe_section_bytes(stubs->pe, section, base + stub->name, UINT64_MAX);
        size_t size = 0;
        const char *name = NULL;
        if (writer->name_bytes_left > 0)
            name = object_symbol_name(names, &writer->name_bytes_left, 0, &size);
        if (name == NULL)
            stub_writer_cut(writer, stub->code.start);
        else if (size > 0)
            GSYM_TRY(stub_writer_add(writer, stub->code, name, size, error));
    }
    return GSYM_OK;
}

gsym_status pe_add_stubs(gsym_conversion *conversion, const pe_object *pe,
                         gsym_error *error) {
    pe_stubs stubs = {.pe = pe};
    stub_writer writer;
    gsym_status status;
    if (pe->symbol_count > 0 || creator_is_empty(conversion_creator(conversion)))
        return GSYM_OK;
    status = pe_find_stubs(&stubs, error);
    stub_writer_init(&writer, conversion, pe->object.size);
    if (status == GSYM_OK) status = add_names(&stubs, &writer, error);
    stub_writer_deinit(&writer);
    pe_stubs_close(&stubs);
    return status;
}
