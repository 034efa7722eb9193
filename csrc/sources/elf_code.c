/* elf_code.c - what an ELF image says of its code beside its symbols.
 *
 * Names of the stubs by which it calls functions of others: a stub jumps to the address in
 * a slot of the global offset table. Its code says which slot, a relocation of the slot
 * says which function: `printf@plt`. Code of an unknown layout gets no name.
 *
 * A symbol without a size ends where a function with unwind information starts. */
#include "containers/elf.h"
#include "sources/conversion.h"

enum { LONGEST_STUB = 64 };

static const char SUFFIX[] = "@plt";

/* A relocation of a slot. */
typedef struct got_slot {
    uint64_t address;
    uint32_t symbol;
} got_slot;

typedef struct stub {
    uint64_t start;
    uint64_t slot;
    const char *target;
    size_t target_size;
} stub;

typedef struct stub_reader {
    const elf_object *elf;
    gsym_conversion *conversion;
    uint64_t got; /* what slots count from in position-independent code of i386 */
    LIST(got_slot) slots;
    cursor symbols;
    cursor names;
    buffer name; /* of the present stub */
    uint64_t code_left; /* bytes of the file, as sections may overlap */
    uint64_t name_bytes_left;
} stub_reader;

/* ---- code ------------------------------------------------------------------------- */

static uint64_t signed_32(uint32_t value) { return (uint64_t)(int64_t)(int32_t)value; }

static bool skip_bytes(cursor *c, const char *bytes, size_t size) {
    if (cursor_left(c) < size || memcmp(c->at, bytes, size) != 0) return false;
    c->at += size;
    return true;
}

/* Each function below reads the stub at the cursor, whose code is at `address`; false for
 * other code. */

static bool x86_slot(const stub_reader *reader, cursor c, uint64_t address,
                     uint64_t *slot_ret) {
    bool is_64 = reader->elf->object.header.machine == EM_X86_64;
    const uint8_t *start = c.at;
    (void)(skip_bytes(&c, "\xf3\x0f\x1e\xfa", 4) || skip_bytes(&c, "\xf3\x0f\x1e\xfb", 4));
    if (is_64 && skip_bytes(&c, "\x41\xbb", 2)) cursor_skip(&c, 4); /* mov, as of mold */
    (void)skip_bytes(&c, "\xf2", 1); /* bnd */
    if (skip_bytes(&c, "\xff\x25", 2)) {
        uint32_t operand = cursor_u32(&c);
        *slot_ret = is_64 ? address + (uint64_t)(c.at - start) + signed_32(operand)
                          : operand;
    } else if (!is_64 && skip_bytes(&c, "\xff\xa3", 2)) {
        *slot_ret = (uint32_t)(reader->got + cursor_u32(&c));
    } else {
        return false;
    }
    return !c.failed;
}

static bool aarch64_slot(const stub_reader *reader, cursor c, uint64_t address,
                         uint64_t *slot_ret) {
    uint32_t adrp = cursor_u32(&c), load, page;
    (void)reader;
    if (adrp == 0xd503245f) { /* bti c */
        adrp = cursor_u32(&c);
        address += 4;
    }
    load = cursor_u32(&c);
    if (c.failed || (adrp & 0x9f00001f) != 0x90000010) return false;
    page = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);
    *slot_ret = (address & ~UINT64_C(0xfff)) + (signed_32(page << 11) << 1);
    if ((load & 0xffc003ff) == 0xf9400211)
        *slot_ret += (load >> 10 & 0xfff) * 8;
    else if ((load & 0xffc003ff) == 0xb9400211)
        *slot_ret += (load >> 10 & 0xfff) * 4;
    else
        return false;
    return true;
}

/* The constant of an instruction of ARM: 8 bits, turned to the right. */
static uint32_t arm_constant(uint32_t instruction) {
    unsigned turn = (instruction >> 8 & 15) * 2;
    uint32_t value = instruction & 0xff;
    return turn == 0 ? value : value >> turn | value << (32 - turn);
}

static bool arm_slot(const stub_reader *reader, cursor c, uint64_t address,
                     uint64_t *slot_ret) {
    uint32_t instruction = cursor_u32(&c), slot;
    (void)reader;
    if ((instruction & 0xfffff000) != 0xe28fc000) return false; /* add ip, pc, # */
    slot = (uint32_t)address + 8 + arm_constant(instruction);
    while (((instruction = cursor_u32(&c)) & 0xfffff000) == 0xe28cc000 && !c.failed)
        slot += arm_constant(instruction);
    *slot_ret = slot + (instruction & 0xfff);
    return !c.failed && (instruction & 0xfffff000) == 0xe5bcf000; /* ldr pc, [ip, #]! */
}

static bool riscv_slot(const stub_reader *reader, cursor c, uint64_t address,
                       uint64_t *slot_ret) {
    bool is_64 = reader->elf->object.header.is_64 != 0;
    uint32_t auipc = cursor_u32(&c), load = cursor_u32(&c);
    *slot_ret = address + signed_32(auipc & 0xfffff000) +
                (uint64_t)(int64_t)((int32_t)load >> 20);
    if (!is_64) *slot_ret = (uint32_t)*slot_ret;
    return !c.failed && (auipc & 0xfff) == 0xe17 &&
           (load & 0xfffff) == (is_64 ? 0xe3e03u : 0xe2e03u);
}

static bool s390x_slot(const stub_reader *reader, cursor c, uint64_t address,
                       uint64_t *slot_ret) {
    (void)reader;
    if (!skip_bytes(&c, "\xc0\x10", 2)) return false; /* larl %r1 */
    *slot_ret = address + 2 * signed_32(cursor_u32(&c));
    return skip_bytes(&c, "\xe3\x10\x10\x00\x00\x04", 6); /* lg %r1,0(%r1) */
}

typedef struct stub_code {
    uint32_t machine;
    bool is_little; /* though data may be big-endian */
    uint32_t alignment; /* of stubs */
    bool (*slot)(const stub_reader *reader, cursor c, uint64_t address,
                 uint64_t *slot_ret);
} stub_code;

static const stub_code machines[] = {
    {EM_X86_64, true, 8, x86_slot},      {EM_386, true, 8, x86_slot},
    {EM_AARCH64, true, 4, aarch64_slot}, {EM_ARM, true, 4, arm_slot},
    {EM_RISCV, true, 4, riscv_slot},     {EM_S390, false, 2, s390x_slot},
};

static const stub_code *code_of(const elf_object *elf) {
    for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i)
        if (machines[i].machine == elf->object.header.machine) return &machines[i];
    return NULL;
}

/* ---- slots ------------------------------------------------------------------------ */

static bool add_slots(stub_reader *reader, const elf_section *relocations) {
    const elf_object *elf = reader->elf;
    bool is_64 = elf->object.header.is_64 != 0;
    size_t size = (is_64 ? 8u : 4u) * (relocations->type == SHT_RELA ? 3u : 2u);
    cursor c = elf_section_bytes(elf, relocations);
    while (cursor_left(&c) >= size) {
        cursor entry = c;
        got_slot slot = {.address = is_64 ? cursor_u64(&entry) : cursor_u32(&entry)};
        slot.symbol =
            is_64 ? (uint32_t)(cursor_u64(&entry) >> 32) : cursor_u32(&entry) >> 8;
        if (slot.symbol != 0 && !LIST_ADD(reader->slots, slot)) return false;
        c.at += size;
    }
    return true;
}

/* List the slots that relocations by the dynamic symbols fill. */
static gsym_status find_slots(stub_reader *reader, gsym_error *error) {
    const elf_object *elf = reader->elf;
    uint32_t count = elf->object.header.section_count;
    uint64_t left = elf->object.size; /* sections of relocations may share their bytes */
    for (uint32_t i = 1; i < count; ++i) {
        elf_section section = elf_section_at(elf, i), symbols, names;
        if (strcmp(elf_section_name(elf, &section), ".got.plt") == 0)
            reader->got = section.address;
        if ((section.type != SHT_RELA && section.type != SHT_REL) || section.link == 0 ||
            section.link >= count || section.size > left)
            continue;
        symbols = elf_section_at(elf, section.link);
        if (symbols.type != SHT_DYNSYM || symbols.link >= count) continue;
        names = elf_section_at(elf, symbols.link);
        reader->symbols = elf_section_bytes(elf, &symbols);
        reader->names = elf_section_bytes(elf, &names);
        left -= section.size;
        if (!add_slots(reader, &section)) return gsym_fail_memory(error);
    }
    if (reader->slots.count > 1)
        qsort(reader->slots.items, reader->slots.count, sizeof *reader->slots.items,
              compare_first_u64);
    return GSYM_OK;
}

/* The name of the function in a slot, or NULL. */
static const char *name_in_slot(const stub_reader *reader, uint64_t address,
                                size_t *size_ret) {
    const got_slot *slots = reader->slots.items;
    cursor symbol = reader->symbols;
    size_t low = 0;
    SEARCH_SORTED(low, reader->slots.count, slots[middle].address < address);
    if (low == reader->slots.count || slots[low].address != address) return NULL;
    cursor_skip(&symbol, (uint64_t)slots[low].symbol *
                             (reader->elf->object.header.is_64 ? 24u : 16u));
    return object_symbol_name(reader->names, cursor_u32(&symbol), size_ret);
}

/* ---- stubs ------------------------------------------------------------------------ */

static gsym_status add_stub(stub_reader *reader, const stub *found, uint64_t end,
                            gsym_error *error) {
    gsym_creator *creator = conversion_creator(reader->conversion);
    uint64_t size = end - found->start;
    buffer *name = &reader->name;
    const uint8_t *stored;
    name->size = 0;
    buffer_put(name, found->target, found->target_size);
    buffer_put(name, SUFFIX, sizeof SUFFIX - 1);
    if (name->failed) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(creator, name->bytes, name->size, &stored, error));
    return creator_keep_symbol(creator, found->start,
                               size < LONGEST_STUB ? size : LONGEST_STUB,
                               (const char *)stored, name->size,
                               SYMBOL_LOCAL | SYMBOL_LABEL, error);
}

/* The stubs of a section; each extends to the next one. */
static gsym_status add_section(stub_reader *reader, const stub_code *code,
                               const elf_section *section, gsym_error *error) {
    cursor c = elf_section_bytes(reader->elf, section);
    uint64_t size = cursor_left(&c);
    stub before = {.target = NULL};
    if (size > reader->code_left) {
        dwarf_warn(conversion_warnings(reader->conversion), GSYM_WARN_LIMIT, 0,
                   section->address);
        return GSYM_OK;
    }
    reader->code_left -= size;
    c = cursor_at(c.start, size, 0, !code->is_little);
    for (uint64_t at = 0; at + 4 <= size; at += code->alignment) {
        cursor from = c;
        stub found = {.start = section->address + at};
        from.at += at;
        /* After the first instruction of a stub the rest may look like one, too. */
        if (!code->slot(reader, from, found.start, &found.slot) ||
            (before.target != NULL && before.slot == found.slot))
            continue;
        found.target = name_in_slot(reader, found.slot, &found.target_size);
        if (found.target == NULL || found.target_size == 0) continue;
        if (found.target_size > reader->name_bytes_left) {
            dwarf_warn(conversion_warnings(reader->conversion), GSYM_WARN_LIMIT, 0,
                       found.start);
            break;
        }
        reader->name_bytes_left -= found.target_size;
        if (before.target != NULL)
            GSYM_TRY(add_stub(reader, &before, found.start, error));
        before = found;
    }
    if (before.target == NULL) return GSYM_OK;
    return add_stub(reader, &before, section->address + size, error);
}

static bool holds_stubs(const elf_object *elf, const elf_section *section) {
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};
    const char *name = elf_section_name(elf, section);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(name, names[i]) == 0)
            return section->type != SHT_NOBITS && elf_section_holds_code(section);
    return false;
}

static gsym_status add_stubs(gsym_conversion *conversion, const elf_object *elf,
                             gsym_error *error) {
    stub_reader reader = {.elf = elf, .conversion = conversion};
    const stub_code *code = code_of(elf);
    gsym_status status;
    /* A stripped program has stubs, too: they are no reason to take it for one that has
     * symbols. */
    if (code == NULL || creator_is_empty(conversion_creator(conversion))) return GSYM_OK;
    status = find_slots(&reader, error);
    reader.code_left = elf->object.size;
    reader.name_bytes_left = LIMIT_OF(STUB_NAMES, cursor_left(&reader.names));
    for (uint32_t i = 1; i < elf->object.header.section_count && status == GSYM_OK; ++i) {
        elf_section section = elf_section_at(elf, i);
        if (reader.slots.count > 0 && holds_stubs(elf, &section))
            status = add_section(&reader, code, &section, error);
    }
    buffer_deinit(&reader.name);
    free(reader.slots.items);
    return status;
}

/* ---- functions with unwind information -------------------------------------------- */

enum {
    PE_SDATA4_DATAREL = 0x3b, /* DW_EH_PE: 4 bytes, signed, from the section's start */
    PE_UDATA4 = 0x03
};

/* The table of .eh_frame_hdr, in the encodings that linkers write. */
static gsym_status add_unwind_starts(gsym_conversion *conversion, const elf_object *elf,
                                     const elf_section *section, gsym_error *error) {
    cursor c = elf_section_bytes(elf, section);
    uint8_t version = cursor_u8(&c), frame = cursor_u8(&c), count = cursor_u8(&c);
    uint8_t table = cursor_u8(&c);
    if (version != 1 || (frame & 0x07) != PE_UDATA4 ||
        count != PE_UDATA4 || table != PE_SDATA4_DATAREL)
        return GSYM_OK;
    cursor_skip(&c, 8); /* where .eh_frame is, and the count */
    while (cursor_left(&c) >= 8) {
        uint64_t start = section->address + signed_32(cursor_u32_covered(&c));
        (void)cursor_u32_covered(&c);
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
    return add_stubs(conversion, elf, error);
}
