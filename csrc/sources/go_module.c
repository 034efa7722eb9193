/* go_module.c - what the module data of a Go binary adds to its pclntab.
 *
 * The module data is a structure of the run time, without a symbol in a stripped file. It
 * begins with the address of the pclntab and that of its names, so it is found by these.
 * Up to the start of the code its words have stayed where they are since Go 1.16. Further
 * on versions differ, and no version is written there: which word says where inlined calls
 * count from is told by trying, for what stands there has to make sense.
 *
 * Where an ELF file can be loaded anywhere, its linker may have written the addresses into
 * the relocations only. */
#include "containers/elf.h"
#include "sources/go_values.h"

enum {
    WORD_NAMES = 1,
    WORD_FIRST_CODE = 20, /* minpc */
    WORD_TEXT = 22,
    FIRST_TREE_WORD = 32, /* gofunc is 38 in Go 1.18, 40 in Go 1.20, 43 in Go 1.27 */
    WORD_COUNT = 48,
    PLACES_TRIED = 16, /* that name the table */
    TREES_TRIED = 16,
    VALUES_TRIED = 256, /* of a function */
    FUNCTION_WORDS = 8, /* what it takes to read a function, and an inlined call */
    CALL_WORDS = 4,
    MACHO_TARGET_BITS = 36
};

/* An address as the file has it. Chained fixups of Mach-O files count from the image and
 * carry other things in the upper bits. */
static uint64_t address_of(const go_pclntab *table, uint64_t word) {
    const gsym_object_header *header = &table->object->header;
    if (header->format != GSYM_OBJECT_MACHO || !header->is_64) return word;
    word &= (UINT64_C(1) << MACHO_TARGET_BITS) - 1;
    return word < header->base_address ? word + header->base_address : word;
}

/* The words at `c` if they are the module data of the table. */
static bool read_words(const go_pclntab *table, cursor c, uint64_t *words) {
    for (unsigned i = 0; i < WORD_COUNT; ++i)
        words[i] = address_of(table, cursor_uint(&c, table->pointer_size));
    return !c.failed && words[WORD_NAMES] == table->names_address;
}

static bool find_words(go_pclntab *table, uint64_t *words) {
    const gsym_object *object = table->object;
    unsigned size = table->pointer_size;
    /* What is written to stands behind what is only read, and is less. */
    for (uint32_t i = object->header.section_count; i-- > 0;) {
        gsym_object_section section;
        cursor c;
        if (!go_holds_data(object, i, &section)) continue;
        if (!go_pclntab_spend(table, section.size / size)) return false;
        for (c = go_section_bytes(object, &section); cursor_left(&c) >= size;) {
            cursor start = c;
            if (address_of(table, cursor_uint(&c, size)) != table->address)
                continue;
            if (!go_pclntab_spend(table, WORD_COUNT)) return false;
            if (read_words(table, start, words)) return true;
        }
    }
    return false;
}

/* ---- addresses in relocations ------------------------------------------------------ */

typedef struct relocation {
    uint64_t place;
    uint64_t addend;
} relocation;

/* The next relocation that names no symbol, so that the addend is the address. */
static bool next_relative(cursor *c, unsigned size, relocation *ret) {
    while (cursor_left(c) >= 3 * size) {
        uint64_t info;
        ret->place = cursor_uint(c, size);
        info = cursor_uint(c, size);
        ret->addend = cursor_uint(c, size);
        if (info >> (size == 8 ? 32 : 8) == 0) return true;
    }
    return false;
}

/* The words at `place`, as the relocations from `c` on complete them. */
static bool relocate_words(go_pclntab *table, cursor c, uint64_t place, uint64_t *words) {
    unsigned size = table->pointer_size;
    cursor bytes = go_bytes_at(table, place);
    relocation found;
    if (!go_pclntab_spend(table, cursor_left(&c) / size)) return false;
    for (unsigned i = 0; i < WORD_COUNT; ++i) words[i] = cursor_uint(&bytes, size);
    while (next_relative(&c, size, &found)) {
        uint64_t word = (found.place - place) / size;
        if (found.place >= place && word < WORD_COUNT) words[word] = found.addend;
    }
    return !bytes.failed && words[WORD_NAMES] == table->names_address;
}

static bool find_relocated_words(go_pclntab *table, uint64_t *words) {
    const elf_object *elf = elf_of(table->object);
    unsigned tried = 0;
    if (table->object->header.format != GSYM_OBJECT_ELF) return false;
    for (uint32_t i = 1; i < table->object->header.section_count; ++i) {
        elf_section section = elf_section_at(elf, i);
        cursor all, c;
        relocation found;
        if (section.type != ELF_SECTION_RELA || !(section.flags & ELF_FLAG_ALLOC)) continue;
        all = c = elf_section_bytes(elf, &section);
        if (!go_pclntab_spend(table, cursor_left(&c) / table->pointer_size)) return false;
        while (tried < PLACES_TRIED && next_relative(&c, table->pointer_size, &found)) {
            if (found.addend != table->address) continue;
            tried++;
            if (relocate_words(table, all, found.place, words)) return true;
        }
    }
    return false;
}

/* ---- where inlined calls are ------------------------------------------------------- */

/* Whether what stands at the address of a function's inlined calls may be that. */
static bool has_sound_tree(go_pclntab *table, const go_function *function) {
    go_values values = go_values_at(table, function->calls);
    int32_t most = -1;
    cursor c = go_bytes_at(table, function->tree);
    for (unsigned i = 0; i < VALUES_TRIED && go_values_next(&values); ++i)
        if (values.value > most) most = values.value;
    for (int32_t i = 0; i <= most; ++i) {
        cursor names = table->names;
        uint32_t name, caller;
        bool is_padded = true;
        if (!go_pclntab_spend(table, CALL_WORDS)) return false;
        if (table->layout == GO_LAYOUT_1_20) {
            (void)cursor_u8(&c); /* which kind of function it is */
            is_padded = cursor_uint(&c, 3) == 0;
            name = cursor_u32(&c);
            caller = cursor_u32(&c);
            cursor_skip(&c, 4);
        } else {
            cursor_skip(&c, 12);
            name = cursor_u32(&c);
            caller = cursor_u32(&c);
        }
        if (c.failed || !is_padded || caller >= function->size) return false;
        if (name == 0) continue; /* the first of all */
        cursor_skip(&names, name - 1); /* to the end of the name in front of it */
        if (cursor_u8(&names) != 0 || cursor_u8(&names) == 0) return false;
    }
    return true;
}

static bool has_sound_trees(go_pclntab *table) {
    unsigned sound = 0;
    for (uint32_t i = 0; i < table->function_count && sound < TREES_TRIED; ++i) {
        go_function function;
        if (!go_pclntab_spend(table, FUNCTION_WORDS)) return false;
        if (!go_pclntab_function(table, i, &function) || function.is_gap ||
            function.calls == 0 || function.tree == 0)
            continue;
        if (!has_sound_tree(table, &function)) return false;
        sound++;
    }
    return sound > 0;
}

bool go_read_module(go_pclntab *table) {
    uint64_t words[WORD_COUNT], text = table->text;
    if (table->layout == GO_LAYOUT_1_16) return true; /* all its addresses are absolute */
    if (!find_words(table, words) && !find_relocated_words(table, words)) return false;
    table->text = words[WORD_TEXT];
    if (table->function_count == 0 ||
        go_pclntab_address(table, 0) != words[WORD_FIRST_CODE]) {
        table->text = text;
        return false;
    }
    for (unsigned i = FIRST_TREE_WORD; i < WORD_COUNT; ++i) {
        table->trees = words[i];
        if (table->trees != 0 && has_sound_trees(table)) return true;
    }
    table->trees = 0;
    return true;
}
