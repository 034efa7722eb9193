/* go_pclntab.c - read the header, functions, names and files of a pclntab. */
#include <inttypes.h>

#include "containers/elf.h"
#include "sources/go.h"

enum {
    PCDATA_CALLS = 2,  /* PCDATA_InlTreeIndex */
    FUNCDATA_TREE = 3, /* FUNCDATA_InlTree */
    SECTION_WORDS = 8  /* work to examine a section */
};

#define MAGIC_1_2 0xfffffffb
#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

/* ---- the header -------------------------------------------------------------------- */

bool go_pclntab_starts(cursor c, const gsym_object *object, uint32_t *magic_ret) {
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

gsym_status go_pclntab_read_header(go_pclntab *table, uint32_t magic,
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
    /* The start of the code, which the linker writes into the module data and, before some
     * version, also here. */
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
    /* The table of functions has one more entry, with the end of the code of the last
     * function. */
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

/* Read the offsets after the fixed part of a function's record: first those of pc-value
 * tables, then those of other data. */
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
    cursor_skip(&record, size); /* address of the function, as in the table */
    ret->name = cursor_u32(&record);
    cursor_skip(&record, 3 * 4); /* arguments, deferreturn, stack */
    ret->files = cursor_u32(&record);
    ret->lines = cursor_u32(&record);
    value_count = cursor_u32(&record);
    ret->unit = cursor_u32(&record);
    if (table->layout == GO_LAYOUT_1_20) cursor_skip(&record, 4); /* start line */
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

/* ---- loaded data ------------------------------------------------------------------- */

bool go_holds_data(const gsym_object *object, uint32_t index,
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
