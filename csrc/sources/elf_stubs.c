/* elf_stubs.c - name the stubs by which an ELF image calls functions of other images.
 *
 * A stub jumps to the address in a slot of the global offset table or of the procedure
 * linkage table. The code of the stub gives the slot, a relocation of the slot gives the
 * function: `printf@plt`. Code of an unknown layout gets no name. */
#include "base/sort.h"
#include "sources/stubs.h"

enum { LONGEST_STUB = 64 };

/* A slot: its address, and the number of the symbol of its relocation. */
typedef numbered_address got_slot;

typedef struct stub_reader {
    const elf_object *elf;
    const struct stub_code *code;
    bool has_base; /* `base` is known */
    uint64_t base; /* address to which position-independent code adds the offset of a
                      slot */
    LIST(got_slot) slots;
    cursor symbols;
    cursor names;
    stub_writer writer;
    uint64_t code_left; /* bytes that may still be searched; limited because sections may
                           overlap */
} stub_reader;

/* ---- code ------------------------------------------------------------------------- */

static uint64_t signed_32(uint32_t value) { return (uint64_t)(int64_t)(int32_t)value; }

static bool skip_bytes(cursor *c, const char *bytes, size_t size) {
    if (cursor_left(c) < size || memcmp(c->at, bytes, size) != 0) return false;
    c->at += size;
    return true;
}

/* Each function below reads the stub at the cursor, which is loaded at `address`, and finds
 * the address of its slot. False if other code is there. */

static bool x86_slot(const stub_reader *reader, cursor *c, uint64_t address,
                     uint64_t *slot_ret) {
    bool is_64 = reader->elf->object.header.machine == EM_X86_64;
    const uint8_t *start = c->at;
    (void)(skip_bytes(c, "\xf3\x0f\x1e\xfa", 4) || skip_bytes(c, "\xf3\x0f\x1e\xfb", 4));
    if (is_64 && skip_bytes(c, "\x41\xbb", 2)) cursor_skip(c, 4); /* mov, of mold */
    (void)skip_bytes(c, "\xf2", 1); /* bnd */
    if (skip_bytes(c, "\xff\x25", 2)) {
        uint32_t operand = cursor_u32(c);
        *slot_ret = is_64 ? address + (uint64_t)(c->at - start) + signed_32(operand)
                          : operand;
    } else if (!is_64 && skip_bytes(c, "\xff\xa3", 2)) {
        *slot_ret = (uint32_t)(reader->base + cursor_u32(c));
    } else {
        return false;
    }
    return !c->failed;
}

static bool aarch64_slot(const stub_reader *reader, cursor *c, uint64_t address,
                         uint64_t *slot_ret) {
    uint32_t adrp = cursor_u32(c);
    (void)reader;
    if (adrp == 0xd503245f) { /* bti c */
        adrp = cursor_u32(c);
        address += 4;
    }
    return aarch64_slot_address(adrp, cursor_u32(c), 17, address, slot_ret);
}

/* Return the constant of an instruction of ARM: 8 bits, rotated to the right. */
static uint32_t arm_constant(uint32_t instruction) {
    unsigned rotation = (instruction >> 8 & 15) * 2;
    uint32_t value = instruction & 0xff;
    return rotation == 0 ? value : value >> rotation | value << (32 - rotation);
}

static bool arm_slot(const stub_reader *reader, cursor *c, uint64_t address,
                     uint64_t *slot_ret) {
    uint32_t instruction = cursor_u32(c), slot;
    (void)reader;
    if ((instruction & 0xfffff000) != 0xe28fc000) return false; /* add ip, pc, # */
    slot = (uint32_t)address + 8 + arm_constant(instruction);
    while (((instruction = cursor_u32(c)) & 0xfffff000) == 0xe28cc000 && !c->failed)
        slot += arm_constant(instruction);
    *slot_ret = slot + (instruction & 0xfff);
    return !c->failed && (instruction & 0xfffff000) == 0xe5bcf000; /* ldr pc, [ip, #]! */
}

static bool riscv_slot(const stub_reader *reader, cursor *c, uint64_t address,
                       uint64_t *slot_ret) {
    bool is_64 = reader->elf->object.header.is_64 != 0;
    uint32_t auipc = cursor_u32(c), load = cursor_u32(c);
    *slot_ret = address + signed_32(auipc & 0xfffff000) +
                (uint64_t)(int64_t)((int32_t)load >> 20);
    if (!is_64) *slot_ret = (uint32_t)*slot_ret;
    return !c->failed && (auipc & 0xfff) == 0xe17 &&
           (load & 0xfffff) == (is_64 ? 0xe3e03u : 0xe2e03u);
}

static bool s390x_slot(const stub_reader *reader, cursor *c, uint64_t address,
                       uint64_t *slot_ret) {
    (void)reader;
    if (!skip_bytes(c, "\xc0\x10", 2)) return false; /* larl %r1 */
    *slot_ret = address + 2 * signed_32(cursor_u32(c));
    return skip_bytes(c, "\xe3\x10\x10\x00\x00\x04", 6); /* lg %r1,0(%r1) */
}

/* Instructions of PowerPC: opcode, operands, and a constant in the lower half. */
#define PPC_MTCTR_R11 0x7d6903a6
#define PPC_MTCTR_R12 0x7d8903a6
#define PPC_BCTR 0x4e800420

static bool ppc_is(uint32_t instruction, uint32_t opcode, unsigned target, unsigned base) {
    return instruction >> 16 == (opcode << 10 | target << 5 | base);
}

static uint64_t ppc_constant(uint32_t instruction) {
    return (uint64_t)(int64_t)(int16_t)instruction;
}

enum { PPC_ADDI = 14, PPC_ADDIS = 15, PPC_LWZ = 32, PPC_LD = 58 };

static bool ppc_slot(const stub_reader *reader, cursor *c, uint64_t address,
                     uint64_t *slot_ret) {
    uint32_t code = cursor_u32(c);
    uint64_t slot = reader->base;
    unsigned base = 30;
    (void)address;
    if (ppc_is(code, PPC_ADDIS, 11, 0) || ppc_is(code, PPC_ADDIS, 11, 30)) {
        if (ppc_is(code, PPC_ADDIS, 11, 0)) base = 0, slot = 0;
        slot += ppc_constant(code) << 16;
        code = cursor_u32(c);
        if (!ppc_is(code, PPC_LWZ, 11, 11)) return false;
    } else if (!ppc_is(code, PPC_LWZ, 11, 30)) {
        return false;
    }
    *slot_ret = (uint32_t)(slot + ppc_constant(code));
    return (base == 0 || reader->has_base) && cursor_u32(c) == PPC_MTCTR_R11 &&
           cursor_u32(c) == PPC_BCTR;
}

/* Whether an instruction sets r2 or r11 for the called function: a stub of ELFv1 loads them
 * from the descriptor of the function, after the address of its code. */
static bool ppc64_prepares(uint32_t code) {
    static const uint32_t orders[] = {
        0x7d826278, 0x7d6b1214, /* xor r2,r12,r12; add r11,r11,r2 */
        0x7d8b6278, 0x7c425a14, /* xor r11,r12,r12; add r2,r2,r11 */
        0x28220000,             /* cmpldi r2,0 */
    };
    unsigned base = code >> 16 & 31, target = code >> 21 & 31;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i)
        if (code == orders[i]) return true;
    return (code >> 26 == PPC_ADDI || code >> 26 == PPC_LD) &&
           (base == 2 || base == 11) && (target == 2 || target == 11);
}

/* Whether the rest of a stub that has loaded r12 jumps to the address in r12. */
static bool ppc64_jumps(cursor *c) {
    bool is_set = false;
    for (unsigned i = 0; i < 8; ++i) {
        uint32_t code = cursor_u32(c);
        if (code == PPC_BCTR) return is_set;
        if (code == 0x4ce20420) { /* bnectr+, before a branch to the lazy stub */
            (void)cursor_u32(c);
            return is_set;
        }
        if (code == PPC_MTCTR_R12)
            is_set = true;
        else if (!ppc64_prepares(code))
            return false;
    }
    return false;
}

static bool ppc64_slot(const stub_reader *reader, cursor *c, uint64_t address,
                       uint64_t *slot_ret) {
    uint32_t code = cursor_u32(c);
    uint64_t slot = reader->base;
    unsigned base = 2;
    bool is_known = reader->has_base;
    if (code == 0xf8410018 || code == 0xf8410028) { /* std r2, of ELFv2 and ELFv1 */
        code = cursor_u32(c);
        address += 4;
    }
    if ((code & 0xfffc0000) == 0x04100000) { /* pld r12, relative to itself */
        uint64_t high = (uint64_t)(int64_t)(int32_t)(code << 14) << 2;
        code = cursor_u32(c);
        *slot_ret = address + (high | (code & 0xffff));
        return ppc_is(code, 57, 12, 0) && ppc64_jumps(c);
    }
    if (code == 0x7d8802a6) { /* mflr r12; bcl; mflr r11: here; mtlr r12 */
        if (cursor_u32(c) != 0x429f0005 || cursor_u32(c) != 0x7d6802a6 ||
            cursor_u32(c) != 0x7d8803a6)
            return false;
        code = cursor_u32(c);
        slot = address + 8;
        base = 11;
        is_known = true;
    }
    if (ppc_is(code, PPC_ADDIS, 11, base) || ppc_is(code, PPC_ADDIS, 12, base)) {
        slot += ppc_constant(code) << 16;
        base = code >> 21 & 31;
        code = cursor_u32(c);
    }
    *slot_ret = slot + ppc_constant(code & ~3u);
    return is_known && ppc_is(code, PPC_LD, 12, base) && (code & 3) == 0 && ppc64_jumps(c);
}

/* Where a section may have stubs. */
typedef enum stub_location {
    IN_SECTIONS, /* in sections of their own, one after another */
    IN_CODE /* among functions */
} stub_location;

typedef struct stub_code {
    uint32_t machine;
    bool is_little; /* code is little-endian, also where data is big-endian */
    uint32_t alignment; /* of stubs */
    stub_location location;
    bool (*slot)(const stub_reader *reader, cursor *c, uint64_t address,
                 uint64_t *slot_ret);
} stub_code;

static const stub_code machines[] = {
    {EM_X86_64, true, 8, IN_SECTIONS, x86_slot},
    {EM_386, true, 8, IN_SECTIONS, x86_slot},
    {EM_AARCH64, true, 4, IN_SECTIONS, aarch64_slot},
    {EM_ARM, true, 4, IN_SECTIONS, arm_slot},
    {EM_RISCV, true, 4, IN_SECTIONS, riscv_slot},
    {EM_S390, false, 2, IN_SECTIONS, s390x_slot},
    {EM_PPC, false, 4, IN_CODE, ppc_slot},
    {EM_PPC64, false, 4, IN_CODE, ppc64_slot},
};

static const stub_code *code_of(const elf_object *elf) {
    for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i)
        if (machines[i].machine == elf->object.header.machine) return &machines[i];
    return NULL;
}

/* ---- slots ------------------------------------------------------------------------ */

#define PPC_JMP_SLOT 21 /* of the procedure linkage table, 32-bit and 64-bit */

static bool add_slots(stub_reader *reader, const elf_section *relocations) {
    const elf_object *elf = reader->elf;
    bool is_64 = elf->object.header.is_64 != 0;
    size_t size = (is_64 ? 8u : 4u) * (relocations->type == SHT_RELA ? 3u : 2u);
    cursor c = elf_section_bytes(elf, relocations);
    while (cursor_left(&c) >= size) {
        cursor entry = c;
        got_slot slot = {.address = elf_read_word(&entry, elf)};
        uint64_t info = elf_read_word(&entry, elf);
        slot.number = (uint32_t)(info >> (is_64 ? 32 : 8));
        c.at += size;
        /* Other code among functions may also jump through a variable that has a
         * relocation. */
        if (slot.number == 0 ||
            (reader->code->location == IN_CODE && (info & 0xff) != PPC_JMP_SLOT))
            continue;
        if (!LIST_ADD(reader->slots, slot)) return false;
    }
    return true;
}

static bool sort_slots(stub_reader *reader) {
    got_slot *sorted;
    size_t count = reader->slots.count;
    if (count < 2) return true;
    if (count > UINT32_MAX || !LIST_RESERVE(reader->slots, count)) return false;
    sorted = address_order(reader->slots.items, (uint32_t)count);
    if (sorted != reader->slots.items)
        memcpy(reader->slots.items, sorted, count * sizeof *sorted);
    return true;
}

/* List the slots that the loader fills by relocations with dynamic symbols. */
static gsym_status find_slots(stub_reader *reader, gsym_error *error) {
    const elf_object *elf = reader->elf;
    uint32_t count = elf->object.header.section_count;
    uint64_t left = elf->object.size; /* sections of relocations may share their bytes */
    for (uint32_t i = 1; i < count; ++i) {
        elf_section section = elf_section_at(elf, i), symbols, names;
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
    return sort_slots(reader) ? GSYM_OK : gsym_fail_memory(error);
}

static bool find_section(const elf_object *elf, const char *name, elf_section *ret) {
    for (uint32_t i = 1; i < elf->object.header.section_count; ++i) {
        *ret = elf_section_at(elf, i);
        if (strcmp(elf_section_name(elf, ret), name) == 0) return true;
    }
    return false;
}

#define DT_PPC_GOT 0x70000000   /* content of r30 in code for a small table */
#define DT_PPC64_GLINK 0x70000000 /* the stubs of lazy binding are 32 bytes after this
                                     address */

enum { GLINK_BIAS = 32 };
#define TOC_BIAS 0x8000 /* 64-bit PowerPC: offset of the address in r2 from the start of
                           the table of contents */

static void find_base(stub_reader *reader) {
    const elf_object *elf = reader->elf;
    elf_section section = {0};
    switch (reader->code->machine) {
        case EM_386:
            reader->has_base = find_section(elf, ".got.plt", &section);
            reader->base = section.address;
            return;
        case EM_PPC64: /* a large table has several bases, of which this is one */
            reader->has_base = find_section(elf, ".got", &section) &&
                               section.size <= 2 * TOC_BIAS;
            reader->base = section.address + TOC_BIAS;
            return;
        case EM_PPC: /* objects with a part of .got2 use another base */
            reader->has_base = (!find_section(elf, ".got2", &section) ||
                                section.size == 0) &&
                               elf_dynamic_value(elf, DT_PPC_GOT, &reader->base);
            return;
        default: return;
    }
}

/* Return the name of the function in a slot; NULL: it is too long, or damaged. */
static const char *name_in(stub_reader *reader, const got_slot *slot, size_t *size_ret) {
    cursor symbol = reader->symbols;
    if (reader->writer.name_bytes_left == 0) return NULL;
    cursor_skip(&symbol, (uint64_t)slot->number *
                             (reader->elf->object.header.is_64 ? 24u : 16u));
    return object_symbol_name(reader->names, &reader->writer.name_bytes_left,
                              cursor_u32(&symbol), size_ret);
}

static const got_slot *slot_at(const stub_reader *reader, uint64_t address) {
    const got_slot *slots = reader->slots.items;
    size_t low = 0;
    SEARCH_SORTED(low, reader->slots.count, slots[middle].address < address);
    return low < reader->slots.count && slots[low].address == address ? &slots[low] : NULL;
}

/* ---- stubs ------------------------------------------------------------------------ */

static gsym_status add_stub(stub_reader *reader, const got_slot *slot, uint64_t start,
                            uint64_t end, gsym_error *error) {
    size_t size = 0;
    const char *name = name_in(reader, slot, &size);
    if (name == NULL) stub_writer_cut(&reader->writer, start);
    if (size == 0) return GSYM_OK;
    if (end - start > LONGEST_STUB) end = start + LONGEST_STUB;
    return stub_writer_add(&reader->writer, (gsym_range){start, end}, name, size, error);
}

/* Add the stubs of a section. In a section of stubs only, each extends to the next one. */
static gsym_status add_section(stub_reader *reader, const elf_section *section,
                               gsym_error *error) {
    const stub_code *code = reader->code;
    bool is_own = code->location == IN_SECTIONS;
    bool is_big = !code->is_little && reader->elf->object.header.big_endian;
    cursor c = elf_section_bytes(reader->elf, section);
    uint64_t size = cursor_left(&c), start = 0;
    const got_slot *before = NULL;
    if (size > reader->code_left) {
        stub_writer_cut(&reader->writer, section->address);
        return GSYM_OK;
    }
    reader->code_left -= size;
    c = cursor_at(c.start, size, 0, is_big);
    for (uint64_t at = 0; at + 4 <= size; at += code->alignment) {
        cursor from = c;
        uint64_t address = section->address + at, slot;
        const got_slot *found;
        from.at += at;
        if (!code->slot(reader, &from, address, &slot) || from.failed) continue;
        found = slot_at(reader, slot);
        /* A stub without its first instruction may look like a stub, too; it is not
         * counted. */
        if (found == NULL || found == before) continue;
        if (!is_own) {
            uint64_t length = (uint64_t)(from.at - c.at) - at;
            GSYM_TRY(add_stub(reader, found, address, address + length, error));
            at += length - code->alignment;
            continue;
        }
        if (before != NULL) GSYM_TRY(add_stub(reader, before, start, address, error));
        before = found;
        start = address;
    }
    if (before == NULL) return GSYM_OK;
    return add_stub(reader, before, start, section->address + size, error);
}

static bool holds_stubs(const stub_reader *reader, const elf_section *section) {
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};
    const char *name = elf_section_name(reader->elf, section);
    if (section->type == SHT_NOBITS || !elf_section_holds_code(section)) return false;
    if (reader->code->location == IN_CODE) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* Add stubs of 32-bit PowerPC that the loader writes into the slots themselves. */
static gsym_status add_loaded_stubs(stub_reader *reader, gsym_error *error) {
    const got_slot *slots = reader->slots.items;
    elf_section plt;
    if (!find_section(reader->elf, ".plt", &plt) || !elf_section_holds_code(&plt))
        return GSYM_OK;
    for (size_t i = 0; i < reader->slots.count; ++i) {
        uint64_t start = slots[i].address;
        if (start < plt.address || start - plt.address >= plt.size) continue;
        GSYM_TRY(add_stub(reader, &slots[i], start, start + 8, error));
    }
    return GSYM_OK;
}

/* Add the stubs of 64-bit PowerPC to which slots point before the loader has bound them. A
 * stub is a branch; in ELFv1, one or two instructions before it load the number of the
 * slot. */
static gsym_status add_lazy_stubs(stub_reader *reader, gsym_error *error) {
    const got_slot *slots = reader->slots.items;
    uint64_t address;
    cursor c;
    if (!elf_dynamic_value(reader->elf, DT_PPC64_GLINK, &address)) return GSYM_OK;
    address += GLINK_BIAS;
    c = elf_loaded_bytes(reader->elf, address);
    for (size_t i = 0; i < reader->slots.count; ++i) {
        uint64_t start = address;
        uint32_t code;
        do {
            code = cursor_u32(&c);
            address += 4;
        } while (address - start < 12 && !c.failed && /* li, lis, ori: to r0 */
                 (ppc_is(code, PPC_ADDI, 0, 0) || ppc_is(code, PPC_ADDIS, 0, 0) ||
                  ppc_is(code, 24, 0, 0)));
        if (c.failed || (code & 0xfc000003) != 0x48000000) return GSYM_OK; /* b */
        GSYM_TRY(add_stub(reader, &slots[i], start, address, error));
    }
    return GSYM_OK;
}

static gsym_status add_stubs(stub_reader *reader, gsym_error *error) {
    const elf_object *elf = reader->elf;
    for (uint32_t i = 1; i < elf->object.header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        if (holds_stubs(reader, &section)) GSYM_TRY(add_section(reader, &section, error));
    }
    switch (reader->code->machine) {
        case EM_PPC: return add_loaded_stubs(reader, error);
        case EM_PPC64: return add_lazy_stubs(reader, error);
        default: return GSYM_OK;
    }
}

gsym_status elf_add_stubs(gsym_conversion *conversion, const elf_object *elf,
                          gsym_error *error) {
    stub_reader reader = {.elf = elf, .code = code_of(elf), .code_left = elf->object.size};
    gsym_status status;
    /* A stripped program gets no stubs: with them alone it would seem to have symbols. */
    if (reader.code == NULL || elf->placements != NULL ||
        creator_is_empty(conversion_creator(conversion)))
        return GSYM_OK;
    find_base(&reader);
    status = find_slots(&reader, error);
    stub_writer_init(&reader.writer, conversion, cursor_left(&reader.names));
    reader.writer.suffix = "@plt";
    if (status == GSYM_OK && reader.slots.count > 0) status = add_stubs(&reader, error);
    stub_writer_deinit(&reader.writer);
    free(reader.slots.items);
    return status;
}
