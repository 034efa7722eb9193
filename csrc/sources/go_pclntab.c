/* go_pclntab.c - find the pclntab of a Go binary; read its header, functions, names and
 * files. */
#include <inttypes.h>

#include "containers/elf.h"
#include "sources/go.h"

enum {
    PCDATA_CALLS = 2,  /* PCDATA_InlTreeIndex */
    FUNCDATA_TREE = 3  /* FUNCDATA_InlTree */
};

#define MAGIC_1_2 0xfffffffb
#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

/* ---- the header -------------------------------------------------------------------- */

static bool go_pclntab_starts(cursor c, const gsym_object *object, uint32_t *magic_ret) {
    unsigned quantum, pointer_size = object->header.is_64 ? 8 : 4;
    if (!cursor_need(&c, GO_MAGIC_SIZE)) return false;
    *magic_ret = cursor_u32_unchecked(&c);
    if (*magic_ret != MAGIC_1_2 && *magic_ret != MAGIC_1_16 && *magic_ret != MAGIC_1_18 &&
        *magic_ret != MAGIC_1_20)
        return false;
    if (cursor_u16_unchecked(&c) != 0) return false;
    quantum = cursor_u8_unchecked(&c);
    return (quantum == 1 || quantum == 2 || quantum == 4) &&
           cursor_u8_unchecked(&c) == pointer_size;
}

static unsigned entry_size(const go_pclntab *table) {
    return table->layout == GO_LAYOUT_1_16 ? table->pointer_size : 4;
}

static cursor part_of(const go_pclntab *table, uint64_t offset) {
    uint64_t size = table->end - table->offset;
    return cursor_at(table->object->data, table->end,
                     offset < size ? table->offset + offset : UINT64_MAX,
                     table->object->header.big_endian != 0);
}

/* Read the header of a table of which object, pointer_size, address, offset and end are
 * set. */
static gsym_status go_pclntab_read_header(go_pclntab *table, uint32_t magic,
                                          gsym_error *error) {
    cursor c = part_of(table, 0);
    uint64_t count, names, units, paths, values, functions;
    unsigned size = table->pointer_size;
    if (magic == MAGIC_1_2)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, table->offset,
                         "the pclntab is of a Go before 1.16");
    table->layout = magic == MAGIC_1_16   ? GO_LAYOUT_1_16
                    : magic == MAGIC_1_18 ? GO_LAYOUT_1_18
                                          : GO_LAYOUT_1_20;
    cursor_skip(&c, GO_MAGIC_SIZE - 2);
    table->quantum = cursor_u8(&c);
    cursor_skip(&c, 1);
    count = cursor_uint(&c, size);
    (void)cursor_uint(&c, size); /* how many files there are */
    /* The linker writes it into the module data and, up to some version, here. */
    if (table->layout != GO_LAYOUT_1_16) table->text = cursor_uint(&c, size);
    names = cursor_uint(&c, size);
    units = cursor_uint(&c, size);
    paths = cursor_uint(&c, size);
    values = cursor_uint(&c, size);
    functions = cursor_uint(&c, size);
    if (c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, table->offset,
                         "the header of the pclntab is cut off");
    table->names_address = table->address + names;
    table->names = part_of(table, names);
    table->units = part_of(table, units);
    table->paths = part_of(table, paths);
    table->values = part_of(table, values);
    table->functions = part_of(table, functions);
    /* One more entry has the end of the code of the last function. */
    if (count >= UINT32_MAX ||
        cursor_left(&table->functions) < (2 * count + 1) * entry_size(table))
        return gsym_fail(error, GSYM_E_FORMAT, table->offset,
                         "the pclntab has no room for its %" PRIu64 " functions", count);
    table->function_count = (uint32_t)count;
    return GSYM_OK;
}

/* ---- functions --------------------------------------------------------------------- */

static cursor entry_of(const go_pclntab *table, uint32_t index) {
    cursor c = table->functions;
    cursor_skip(&c, (uint64_t)index * 2 * entry_size(table));
    return c;
}

uint64_t go_pclntab_address(const go_pclntab *table, uint32_t index) {
    cursor c = entry_of(table, index);
    return table->text + cursor_uint(&c, entry_size(table));
}

/* Read the offsets after the fixed part of a record: of pc-value tables, then of other
 * data. */
static void read_variable_part(const go_pclntab *table, cursor *c, uint32_t value_count,
                               unsigned data_count, go_function *ret) {
    bool is_absolute = table->layout == GO_LAYOUT_1_16;
    cursor values = *c, data = *c;
    uint64_t tree, none = is_absolute ? 0 : UINT32_MAX;
    if (value_count > PCDATA_CALLS) {
        cursor_skip(&values, 4 * PCDATA_CALLS);
        ret->calls = cursor_u32(&values);
    }
    cursor_skip(&data, (uint64_t)value_count * 4);
    if (is_absolute) {
        uint64_t before = (uint64_t)(data.at - table->functions.at);
        cursor_skip(&data, (0 - before) % table->pointer_size);
    }
    if (data_count > FUNCDATA_TREE) {
        cursor_skip(&data, (uint64_t)FUNCDATA_TREE * entry_size(table));
        tree = cursor_uint(&data, entry_size(table));
        if (tree != none && (is_absolute || table->trees != 0))
            ret->tree = table->trees + tree;
    }
    c->failed |= values.failed | data.failed;
}

bool go_pclntab_function(const go_pclntab *table, uint32_t index, go_function *ret) {
    unsigned size = entry_size(table), data_count;
    cursor c = entry_of(table, index), record = table->functions;
    uint64_t offset, next, no_offset = size == 8 ? UINT64_MAX : UINT32_MAX;
    uint32_t value_count;
    *ret = (go_function){.offset = cursor_offset(&c)};
    ret->address = table->text + cursor_uint(&c, size);
    offset = cursor_uint(&c, size);
    next = table->text + cursor_uint(&c, size);
    ret->size = next - ret->address;
    ret->is_gap = offset == no_offset;
    if (ret->is_gap) return true;
    cursor_skip(&record, offset);
    ret->offset = cursor_offset(&record);
    cursor_skip(&record, size); /* the address once more */
    ret->name = cursor_u32(&record);
    cursor_skip(&record, 3 * 4); /* arguments, deferreturn, stack */
    ret->files = cursor_u32(&record);
    ret->lines = cursor_u32(&record);
    value_count = cursor_u32(&record);
    ret->unit = cursor_u32(&record);
    if (table->layout == GO_LAYOUT_1_20) cursor_skip(&record, 4); /* line of its start */
    cursor_skip(&record, 3); /* kind, flags */
    data_count = cursor_u8(&record);
    read_variable_part(table, &record, value_count, data_count, ret);
    return !record.failed && next > ret->address && ret->size <= UINT32_MAX;
}

/* ---- names and files --------------------------------------------------------------- */

const char *go_pclntab_name(const go_pclntab *table, uint32_t offset, size_t *size_ret) {
    return object_symbol_name(table->names, NULL, offset, size_ret);
}

bool go_pclntab_path_offset(const go_pclntab *table, uint32_t unit, int32_t number,
                            uint32_t *offset_ret) {
    cursor c = table->units;
    if (unit == UINT32_MAX || number < 0) return false;
    cursor_skip(&c, 4 * ((uint64_t)unit + (uint32_t)number));
    *offset_ret = cursor_u32(&c);
    return !c.failed && *offset_ret != UINT32_MAX;
}

const char *go_pclntab_path(const go_pclntab *table, uint32_t offset, size_t *size_ret) {
    return object_symbol_name(table->paths, NULL, offset, size_ret);
}

/* Finding the pclntab of a Go binary. */

enum {
    SCAN_STEP = 4,
    BUILD_INFO_STEP = 16,
    BUILD_INFO_REACH = 1 << 16,
    SECTION_WORDS = 8, /* work to examine a section */
    /* Limit: Candidates for a pclntab without a section of its own */
    MAX_CANDIDATES = 16
};

/* Limit: Words of a file that are searched for a pclntab and its module data */
LIMIT(SEARCH_STEPS, 1 << 16, 4);

/* ---- loaded data ------------------------------------------------------------------- */

static bool go_holds_data(const gsym_object *object, uint32_t index,
                          gsym_object_section *section_ret) {
    gsym_error ignored;
    memset(section_ret, 0, sizeof *section_ret);
    return gsym_object_section_at(object, index, section_ret, &ignored) == GSYM_OK &&
           section_ret->present && !section_ret->holds_code && section_ret->address != 0 &&
           section_ret->compression == GSYM_COMPRESSION_NONE && section_ret->size > 0;
}

cursor go_bytes_at(go_pclntab *table, uint64_t address) {
    gsym_object_section *section = &table->tree_section;
    cursor c;
    for (uint32_t i = 0; address < section->address ||
                         address - section->address >= section->size;
         ++i) {
        if (i == table->object->header.section_count ||
            !go_pclntab_spend(table, SECTION_WORDS)) {
            memset(section, 0, sizeof *section);
            return cursor_at(NULL, 0, 1, false);
        }
        if (!go_holds_data(table->object, i, section)) section->size = 0;
    }
    c = go_section_bytes(table->object, section);
    cursor_skip(&c, address - section->address);
    return c;
}

/* ---- the table --------------------------------------------------------------------- */

/* Whether a section has Go's build information: at its start or, in a PE image, in its
 * first BUILD_INFO_REACH bytes. */
static bool has_build_info(const gsym_object *object, const gsym_object_section *section) {
    static const char mark[BUILD_INFO_STEP] = "\xff Go buildinf:";
    uint64_t reach = object->header.format == GSYM_OBJECT_PE ? BUILD_INFO_REACH : 1;
    cursor c = go_section_bytes(object, section);
    for (uint64_t at = 0; at < reach && cursor_left(&c) >= sizeof mark; at += sizeof mark) {
        if (memcmp(c.at, mark, strlen(mark)) == 0) return true;
        cursor_skip(&c, sizeof mark);
    }
    return false;
}

/* Whether to search all data for the table: linkers may put it into another section, PE
 * files do, and some tools damage the names of sections. Only Go binaries are searched. */
static bool may_hide_table(const gsym_object *object) {
    for (uint32_t i = 0; i < object->header.section_count; ++i) {
        gsym_object_section section;
        if (go_holds_data(object, i, &section) && has_build_info(object, &section))
            return true;
    }
    return false;
}

static gsym_status open_at(go_pclntab *table, const gsym_object *object,
                           const gsym_object_section *section, uint64_t offset,
                           uint32_t magic, gsym_error *error) {
    *table = (go_pclntab){.object = object,
                          .work_left = table->work_left,
                          .pointer_size = object->header.is_64 ? 8 : 4,
                          .address = section->address + (offset - section->offset),
                          .offset = offset,
                          .end = section->offset + section->size};
    return go_pclntab_read_header(table, magic, error);
}

/* Open the table in a section of its own. */
static gsym_status open_named(const gsym_object *object, go_pclntab *table,
                              bool *is_found_ret, gsym_error *error) {
    static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab",
                                        "__gopclntab"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        gsym_object_section section;
        uint32_t magic;
        GSYM_TRY(gsym_object_find_section(object, 0, names[i], strlen(names[i]), &section,
                                          error));
        if (!section.present || section.size == 0 ||
            section.compression != GSYM_COMPRESSION_NONE)
            continue;
        if (!go_pclntab_starts(go_section_bytes(object, &section), object, &magic))
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "the pclntab does not start as one");
        *is_found_ret = true;
        return open_at(table, object, &section, section.offset, magic, error);
    }
    return GSYM_OK;
}

/* Reading `text` and `trees` from the module data of a Go binary.
 *
 * The module data is a structure of the run time, without a symbol in a stripped file. It
 * begins with the address of the pclntab and that of its names, so it is found by these.
 * Words up to the start of the code have the same position since Go 1.16. Later words
 * differ between versions, and the data does not name its version. So the word to which
 * offsets of inlined calls are added is found by trying: the data there must be plausible.
 *
 * In a position-independent ELF file, the addresses may be in the relocations only. */

enum {
    WORD_NAMES = 1,
    WORD_FIRST_CODE = 20, /* minpc */
    WORD_TEXT = 22,
    FIRST_TREE_WORD = 32, /* gofunc is 38 in Go 1.18, 40 in Go 1.20, 43 in Go 1.27 */
    WORD_COUNT = 48,
    PLACES_TRIED = 16, /* that name the table */
    TREES_TRIED = 16,
    VALUES_TRIED = 256, /* of a function */
    FUNCTION_WORDS = 8, /* work to read a function or an inlined call */
    CALL_WORDS = 4,
    MACHO_TARGET_BITS = 36
};

/* Return the address that a word of the file means. Chained fixups of Mach-O files are
 * relative to the image base and have other data in the upper bits. */
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
    /* Writable data comes after read-only data, and is smaller. */
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
        if (name == 0) continue; /* the first name has none before it */
        cursor_skip(&names, name - 1); /* to the end of the name before it */
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

/* Set `text` and `trees`. False if no module data refers to this table. */
static bool go_read_module(go_pclntab *table) {
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

/* Open the first table in a section; false if there is none. */
static bool open_within(const gsym_object *object, const gsym_object_section *section,
                        unsigned *candidates_left, go_pclntab *table) {
    cursor c = go_section_bytes(object, section);
    if (!go_pclntab_spend(table, section->size / SCAN_STEP)) return false;
    for (; cursor_left(&c) >= GO_MAGIC_SIZE; cursor_skip(&c, SCAN_STEP)) {
        uint32_t magic;
        gsym_error ignored;
        if (!go_pclntab_starts(c, object, &magic) ||
            open_at(table, object, section, cursor_offset(&c), magic, &ignored) != GSYM_OK)
            continue;
        if (*candidates_left == 0) {
            table->work_left = 0;
            return false;
        }
        --*candidates_left;
        if (go_read_module(table)) return true;
    }
    return false;
}

gsym_status go_pclntab_open(const gsym_object *object, go_pclntab *table_ret,
                            bool *is_found_ret, gsym_error *error) {
    unsigned candidates_left = MAX_CANDIDATES;
    *is_found_ret = false;
    *table_ret = (go_pclntab){.work_left = LIMIT_OF(SEARCH_STEPS, object->size)};
    if (object->header.is_relocatable) return GSYM_OK;
    GSYM_TRY(open_named(object, table_ret, is_found_ret, error));
    if (*is_found_ret) {
        if (go_read_module(table_ret) || table_ret->text != 0) return GSYM_OK;
        return gsym_fail(error, GSYM_E_FORMAT, table_ret->offset,
                         "no module data with the start of the code of the pclntab");
    }
    if (!may_hide_table(object)) return GSYM_OK;
    for (uint32_t i = 0; i < object->header.section_count && !*is_found_ret; ++i) {
        gsym_object_section section;
        if (go_holds_data(object, i, &section))
            *is_found_ret = open_within(object, &section, &candidates_left, table_ret);
    }
    return GSYM_OK;
}
