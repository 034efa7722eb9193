/* go_module.c - read `text` and `trees` of a pclntab from the module data of a Go binary.
 *
 * The module data is a structure of the run time, which has no symbol in a stripped file.
 * It begins with the address of the pclntab and the address of its names, by which it is
 * found. Its words up to the start of the code have had the same position since Go 1.16.
 * Later words differ between versions, and the data does not name its version. So each
 * later word is tried as the address to which offsets of inlined calls are added: the data
 * there must be plausible.
 *
 * In a position-independent ELF file, the addresses may be in the relocations only. */
#include "containers/elf.h"
#include "sources/go.h"

enum {
    WORD_NAMES = 1,
    WORD_FIRST_CODE = 20, /* minpc */
    WORD_TEXT = 22,
    FIRST_TREE_WORD = 32, /* gofunc is 38 in Go 1.18, 40 in Go 1.20, 43 in Go 1.27 */
    WORD_COUNT = 48,
    PLACES_TRIED = 16, /* words with the address of the table that are tried as start of
                          the module data */
    TREES_TRIED = 16,
    VALUES_TRIED = 256, /* values of a function that are read to find its inlined calls */
    FUNCTION_WORDS = 8, /* work to read a function or an inlined call */
    CALL_WORDS = 4,
    MACHO_TARGET_BITS = 36
};

/* Return the address that a word of the file stands for. In Mach-O files with chained
 * fixups, a word is relative to the image base and has other data in the upper bits. */
static uint64_t address_of(const go_pclntab *table, uint64_t word) {
    const gsym_object_header *header = &table->object->header;
    if (header->format != GSYM_OBJECT_MACHO || !header->is_64) return word;
    word &= (UINT64_C(1) << MACHO_TARGET_BITS) - 1;
    return word < header->base_address ? word + header->base_address : word;
}

/* Read the words at `c`; false if they are not the module data of the table. */
static bool read_words(const go_pclntab *table, cursor c, uint64_t *words) {
    for (unsigned i = 0; i < WORD_COUNT; ++i)
        words[i] = address_of(table, cursor_uint(&c, table->pointer_size));
    return !c.failed && words[WORD_NAMES] == table->names_address;
}

static bool find_words(go_pclntab *table, uint64_t *words) {
    const gsym_object *object = table->object;
    unsigned size = table->pointer_size;
    /* Search from the last section on: the module data is writable, and writable data comes
     * after read-only data and is smaller. */
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
    uint64_t offset;
    uint64_t addend;
} relocation;

/* Read the next relocation without a symbol, whose addend is the address. */
static bool next_relative(cursor *c, unsigned size, relocation *ret) {
    while (cursor_left(c) >= 3 * size) {
        uint64_t info;
        ret->offset = cursor_uint(c, size);
        info = cursor_uint(c, size);
        ret->addend = cursor_uint(c, size);
        if (info >> (size == 8 ? 32 : 8) == 0) return true;
    }
    return false;
}

/* Read the words at `offset`, and replace those to which one of the relocations from `c` on
 * applies. */
static bool relocate_words(go_pclntab *table, cursor c, uint64_t offset, uint64_t *words) {
    unsigned size = table->pointer_size;
    cursor bytes = go_bytes_at(table, offset);
    relocation found;
    if (!go_pclntab_spend(table, cursor_left(&c) / size)) return false;
    for (unsigned i = 0; i < WORD_COUNT; ++i) words[i] = cursor_uint(&bytes, size);
    while (next_relative(&c, size, &found)) {
        uint64_t word = (found.offset - offset) / size;
        if (found.offset >= offset && word < WORD_COUNT) words[word] = found.addend;
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
        if (section.type != SHT_RELA || !(section.flags & SHF_ALLOC)) continue;
        all = c = elf_section_bytes(elf, &section);
        if (!go_pclntab_spend(table, cursor_left(&c) / table->pointer_size)) return false;
        while (tried < PLACES_TRIED && next_relative(&c, table->pointer_size, &found)) {
            if (found.addend != table->address) continue;
            tried++;
            if (relocate_words(table, all, found.offset, words)) return true;
        }
    }
    return false;
}

/* ---- where inlined calls are ------------------------------------------------------- */

/* Whether the data at the address of a function's inlined calls is a plausible list. */
static bool has_sound_tree(go_pclntab *table, const go_function *function) {
    go_values values = go_values_at(table, function->calls);
    int32_t max_call = -1;
    cursor c = go_bytes_at(table, function->tree);
    for (unsigned i = 0; i < VALUES_TRIED && go_values_next(&values); ++i)
        if (values.value > max_call) max_call = values.value;
    for (int32_t i = 0; i <= max_call; ++i) {
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
        if (name == 0) continue; /* no name ends before the first one */
        cursor_skip(&names, name - 1); /* the byte before a name is the NUL of another
                                          name */
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
