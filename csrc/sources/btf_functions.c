/* btf_functions.c - add the functions and lines of .BTF and .BTF.ext.
 *
 * Programs of BPF that were linked by bpftool, or stripped, have no DWARF. .BTF.ext has the
 * starts of functions and the lines of instructions, by section; the names are in .BTF.
 *
 * Source: Documentation/bpf/btf.rst of Linux. */
#include "base/sort.h"
#include "sources/conversion.h"
#include "sources/symbols.h"

/* Limit: Sections that are compared to find those that .BTF.ext names */
LIMIT(SEARCH_STEPS, 1 << 20, 16);

enum {
    BTF_MAGIC = 0xeb9f,
    KIND_INT = 1,
    KIND_ARRAY = 3,
    KIND_STRUCT = 4,
    KIND_UNION = 5,
    KIND_ENUM = 6,
    KIND_FUNC = 12,
    KIND_FUNC_PROTO = 13,
    KIND_VAR = 14,
    KIND_DATASEC = 15,
    KIND_DECL_TAG = 17,
    KIND_ENUM64 = 19,
    MAX_KIND = KIND_ENUM64,
    FUNCTION_SIZE = 8, /* fewest bytes of an entry in .BTF.ext: offset, type */
    LINE_SIZE = 16,    /* offset, file, text, line and column */
    LINE_SHIFT = 10    /* of the line, above the column */
};

typedef struct btf_row {
    uint64_t address;
    uint32_t path; /* offset in the strings */
    uint32_t line;
} btf_row;

typedef struct btf_reader {
    gsym_conversion *conversion;
    const elf_object *elf;
    cursor types, strings, extension; /* the last one from the end of its header on */
    LIST(uint32_t) names; /* for each type, the offset of its name; 0: not a function */
    symbol_function_list functions;
    LIST(btf_row) rows; /* sorted by address */
    number_map files; /* offset of a path -> file of the output */
    uint64_t searches_left;
    row_list own;     /* scratch for one function */
    buffer path;
} btf_reader;

static void deinit(btf_reader *reader) {
    free(reader->names.items);
    free(reader->functions.items);
    free(reader->rows.items);
    number_map_deinit(&reader->files);
    free(reader->own.items);
    buffer_deinit(&reader->path);
}

static gsym_status fail(const char *reason, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, 0, "%s", reason);
}

static const char *string_at(const btf_reader *reader, uint32_t offset, size_t *size_ret) {
    cursor c = reader->strings;
    cursor_skip(&c, offset);
    return cursor_cstring(&c, size_ret);
}

/* ---- .BTF ---------------------------------------------------------------------------- */

/* Find a section and read the start of its header: magic number, version, flags and size.
 * False if the file has no such section, or if it is another format. */
static bool open_section(const elf_object *elf, const char *name, cursor *section_ret,
                         uint32_t *header_ret) {
    gsym_object_section found;
    gsym_error ignored;
    if (gsym_object_find_section(&elf->object, 0, name, strlen(name), &found, &ignored) !=
            GSYM_OK ||
        found.size == 0 || found.compression != GSYM_COMPRESSION_NONE)
        return false;
    *section_ret = cursor_at(elf->object.data + found.offset, found.size, 0,
                             elf->object.header.big_endian != 0);
    if (cursor_u16(section_ret) != BTF_MAGIC) return false;
    cursor_skip(section_ret, 2);
    *header_ret = cursor_u32(section_ret);
    return !section_ret->failed;
}

/* Return `size` bytes from `offset` after a header. */
static cursor part_of(const cursor *section, uint32_t header, uint32_t offset,
                      uint32_t size) {
    cursor c = *section;
    c.at = c.start;
    cursor_skip(&c, (uint64_t)header + offset);
    if (size < cursor_left(&c)) c.end = c.at + size;
    return c;
}

/* Return the bytes of a type after its first three words. */
static uint64_t rest_of_type(uint32_t kind, uint32_t count) {
    switch (kind) {
        case KIND_INT:
        case KIND_VAR:
        case KIND_DECL_TAG: return 4;
        case KIND_ARRAY: return 12;
        case KIND_STRUCT:
        case KIND_UNION:
        case KIND_DATASEC:
        case KIND_ENUM64: return UINT64_C(12) * count;
        case KIND_ENUM:
        case KIND_FUNC_PROTO: return UINT64_C(8) * count;
        default: return 0;
    }
}

/* List the names of functions by the numbers of their types, which count from 1. */
static gsym_status list_names(btf_reader *reader, gsym_error *error) {
    cursor c = reader->types;
    if (!LIST_ADD(reader->names, 0)) return gsym_fail_memory(error);
    while (cursor_left(&c) >= 12) {
        uint32_t name = cursor_u32(&c), info = cursor_u32(&c);
        uint32_t kind = info >> 24 & 0x1f;
        cursor_skip(&c, 4);
        if (kind > MAX_KIND) return fail("an unknown kind of type in .BTF", error);
        cursor_skip(&c, rest_of_type(kind, info & 0xffff));
        if (!LIST_ADD(reader->names, kind == KIND_FUNC ? name : 0))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

/* ---- .BTF.ext ------------------------------------------------------------------------ */

/* Find the addresses of a section with code by its name; return false if there is none. */
static bool find_code(btf_reader *reader, uint32_t name, gsym_range *range_ret) {
    size_t size;
    const char *text = string_at(reader, name, &size);
    uint32_t count = reader->elf->object.header.section_count;
    gsym_object_section section;
    gsym_error ignored;
    *range_ret = (gsym_range){0, 0};
    if (reader->searches_left < count) return false;
    reader->searches_left -= count;
    if (size == 0 || gsym_object_find_section(&reader->elf->object, 0, text, size, &section,
                                              &ignored) != GSYM_OK ||
        !section.present || !section.holds_code)
        return false;
    *range_ret =
        (gsym_range){section.address, section.address + section.memory_size};
    return true;
}

static gsym_status add_entry(btf_reader *reader, cursor c, const gsym_range *code,
                             bool is_line, gsym_error *error) {
    uint32_t offset = cursor_u32(&c), value = cursor_u32(&c);
    uint64_t address = code->start + offset;
    if (offset >= code->end - code->start) return GSYM_OK;
    if (is_line) {
        cursor_skip(&c, 4); /* the text of the line */
        return LIST_ADD(reader->rows,
                        (btf_row){address, value, cursor_u32(&c) >> LINE_SHIFT})
                   ? GSYM_OK
                   : gsym_fail_memory(error);
    }
    if (value < reader->names.count && reader->names.items[value] != 0) {
        size_t size;
        const char *name = string_at(reader, reader->names.items[value], &size);
        if (size > 0 &&
            !LIST_ADD(reader->functions,
                      (symbol_function){address, code->end - address, name, size}))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

/* Read the entries of all sections, of functions or of lines. */
static gsym_status read_entries(btf_reader *reader, cursor c, bool is_line,
                                gsym_error *error) {
    uint32_t size = cursor_left(&c) >= 4 ? cursor_u32(&c) : 0;
    if (size < (uint32_t)(is_line ? LINE_SIZE : FUNCTION_SIZE)) return GSYM_OK;
    while (cursor_left(&c) >= 8) {
        uint32_t name = cursor_u32(&c), count = cursor_u32(&c);
        gsym_range code;
        bool is_code = find_code(reader, name, &code);
        for (uint32_t i = 0; i < count; ++i) {
            cursor entry = c;
            cursor_skip(&c, size);
            if (c.failed)
                return fail("the entries of .BTF.ext reach past its end", error);
            if (is_code) GSYM_TRY(add_entry(reader, entry, &code, is_line, error));
        }
    }
    return GSYM_OK;
}

static bool is_row_before(const void *left, const void *right, const void *context) {
    const btf_row *a = left, *b = right;
    (void)context;
    return a->address < b->address;
}

/* Leave one function at each address, of which the first ones are of symbols. Those without
 * a symbol end at the next one. */
static void join_functions(btf_reader *reader, size_t symbol_count) {
    symbol_function *functions = reader->functions.items;
    size_t kept = symbol_count;
    for (size_t i = symbol_count; i < reader->functions.count; ++i) {
        size_t low = 0;
        SEARCH_SORTED(low, symbol_count, functions[middle].address < functions[i].address);
        if (low == symbol_count || functions[low].address != functions[i].address)
            functions[kept++] = functions[i];
    }
    reader->functions.count = kept;
    symbol_functions_sort(&reader->functions);
}

/* ---- functions ----------------------------------------------------------------------- */

static gsym_status file_number(btf_reader *reader, uint32_t offset, uint32_t *file_ret,
                               gsym_error *error) {
    buffer *path = &reader->path;
    uint64_t known;
    size_t size;
    const char *text;
    *file_ret = 0;
    if (number_map_find(&reader->files, offset, &known)) {
        *file_ret = (uint32_t)known;
        return GSYM_OK;
    }
    text = string_at(reader, offset, &size);
    path->size = 0;
    buffer_put(path, text, size);
    path_rules_apply(conversion_input(reader->conversion)->path_rules, path, 0);
    if (path->failed) return gsym_fail_memory(error);
    if (size > 0)
        GSYM_TRY(creator_intern_path(conversion_creator(reader->conversion),
                                     (const char *)path->bytes, path->size,
                                     string_hash((const char *)path->bytes, path->size),
                                     file_ret, error));
    return number_map_set(&reader->files, offset, *file_ret) ? GSYM_OK
                                                             : gsym_fail_memory(error);
}

static gsym_status add_function(btf_reader *reader, const symbol_function *symbol,
                                gsym_error *error) {
    gsym_creator *creator = conversion_creator(reader->conversion);
    gsym_function function = {.address = symbol->address, .size = symbol->size};
    size_t at = 0;
    reader->own.count = 0;
    SEARCH_SORTED(at, reader->rows.count,
                  reader->rows.items[middle].address < function.address);
    for (; at < reader->rows.count; ++at) {
        const btf_row *row = &reader->rows.items[at];
        uint32_t file;
        if (row->address - function.address >= function.size) break;
        GSYM_TRY(file_number(reader, row->path, &file, error));
        if (!add_changed_row(&reader->own, (gsym_line_row){row->address, file, row->line}))
            return gsym_fail_memory(error);
    }
    function.rows = reader->own.items;
    function.row_count = reader->own.count;
    GSYM_TRY(creator_intern(creator, symbol->name, symbol->name_size,
                            string_hash(symbol->name, symbol->name_size), &function.name,
                            error));
    return gsym_creator_add_function(creator, &function, GSYM_ORIGIN_DEBUG_INFO, error);
}

static gsym_status read_all(btf_reader *reader, uint64_t *count_ret, gsym_error *error) {
    uint32_t header, types, types_size, strings, strings_size, parts[4];
    cursor section;
    size_t symbol_count;
    uint64_t end = 0;
    if (!open_section(reader->elf, ".BTF", &section, &header)) return GSYM_OK;
    types = cursor_u32(&section);
    types_size = cursor_u32(&section);
    strings = cursor_u32(&section);
    strings_size = cursor_u32(&section);
    reader->types = part_of(&section, header, types, types_size);
    reader->strings = part_of(&section, header, strings, strings_size);
    creator_raise_string_limit(conversion_creator(reader->conversion), strings_size);
    GSYM_TRY(list_names(reader, error));
    if (!open_section(reader->elf, ".BTF.ext", &section, &header)) return GSYM_OK;
    for (size_t i = 0; i < 4; ++i) parts[i] = cursor_u32(&section);
    GSYM_TRY(elf_list_functions(reader->conversion, &reader->elf->object,
                                &reader->functions, error));
    symbol_count = reader->functions.count;
    reader->searches_left = LIMIT_OF(SEARCH_STEPS, reader->elf->object.size);
    GSYM_TRY(read_entries(reader, part_of(&section, header, parts[0], parts[1]), false,
                          error));
    GSYM_TRY(read_entries(reader, part_of(&section, header, parts[2], parts[3]), true,
                          error));
    join_functions(reader, symbol_count);
    if (reader->rows.count > 1 &&
        !sort_stable(reader->rows.items, reader->rows.count, sizeof *reader->rows.items,
                     is_row_before, NULL))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < reader->functions.count; ++i) {
        symbol_function function = reader->functions.items[i];
        uint64_t next = i + 1 < reader->functions.count
                            ? reader->functions.items[i + 1].address
                            : UINT64_MAX;
        if (function.address < end) continue; /* in a function of a symbol */
        if (function.size > next - function.address)
            function.size = next - function.address;
        if (function.size == 0 || function.size > UINT32_MAX) continue;
        GSYM_TRY(add_function(reader, &function, error));
        end = function.address + function.size;
        ++*count_ret;
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_btf_functions(gsym_conversion *conversion,
                                              const gsym_object *object,
                                              uint64_t *count_ret, gsym_error *error) {
    btf_reader reader = {.conversion = conversion, .elf = elf_of(object)};
    gsym_status status;
    *count_ret = 0;
    if (object->header.format != GSYM_OBJECT_ELF || object->header.machine != EM_BPF)
        return GSYM_OK;
    status = read_all(&reader, count_ret, error);
    deinit(&reader);
    return status;
}
