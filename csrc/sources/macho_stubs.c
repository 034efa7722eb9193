/* macho_stubs.c - name the stubs by which a Mach-O file calls functions of other images. */
#include "sources/stubs.h"

/* All stubs of a section have one size; the indirect symbols name the functions that they
 * call, in the same order. */

#define INDIRECT_SYMBOL_LOCAL 0x80000000u
#define INDIRECT_SYMBOL_ABS 0x40000000u

typedef struct macho_stubs {
    const macho_object *macho;
    cursor symbols;
    cursor names;
    stub_writer writer;
    uint64_t stubs_left; /* stubs that may still be added: one for each indirect symbol,
                            because sections may share these */
} macho_stubs;

static cursor indirect_symbols(const macho_object *macho) {
    return macho_table_bytes(macho, macho->indirect_symbols, 4);
}

/* Return the name of an indirect symbol, "" without one; NULL: it is too long, or
 * damaged. */
static const char *indirect_name(macho_stubs *reader, uint32_t index, size_t *size_ret) {
    cursor symbol = reader->symbols;
    const char *name;
    uint32_t offset;
    *size_ret = 0;
    if (index & (INDIRECT_SYMBOL_LOCAL | INDIRECT_SYMBOL_ABS)) return "";
    cursor_skip(&symbol, (uint64_t)index * macho_symbol_size(reader->macho));
    offset = cursor_u32(&symbol);
    if (offset == 0) return "";
    if (reader->writer.name_bytes_left == 0) return NULL;
    name = object_symbol_name(reader->names, &reader->writer.name_bytes_left, offset,
                              size_ret);
    if (name != NULL && name[0] == '_') ++name, --*size_ret;
    return name;
}

static gsym_status add_section(macho_stubs *reader, const macho_section *section,
                               gsym_error *error) {
    uint32_t size = section->stub_size;
    uint64_t count = size == 0 ? 0 : section->size / size;
    cursor entries = indirect_symbols(reader->macho);
    cursor_skip(&entries, (uint64_t)section->indirect_first * 4);
    for (uint64_t i = 0; i < count && cursor_left(&entries) >= 4; ++i) {
        gsym_range stub;
        size_t name_size;
        const char *name = indirect_name(reader, cursor_u32(&entries), &name_size);
        if (reader->stubs_left == 0) {
            stub_writer_cut(&reader->writer, section->address);
            return GSYM_OK;
        }
        --reader->stubs_left;
        if (name == NULL)
            stub_writer_cut(&reader->writer, section->address);
        else if (name_size > 0 &&
                 !__builtin_add_overflow(section->address, i * size, &stub.start) &&
                 !__builtin_add_overflow(stub.start, size, &stub.end))
            GSYM_TRY(stub_writer_add(&reader->writer, stub, name, name_size, error));
    }
    return GSYM_OK;
}

gsym_status macho_add_stubs(gsym_conversion *conversion, const macho_object *macho,
                                   gsym_error *error) {
    macho_stubs reader = {
        .macho = macho,
        .symbols = macho_table_bytes(macho, macho->symbols, macho_symbol_size(macho)),
        .names = macho_table_bytes(macho, macho->strings, 1),
    };
    cursor indirect = indirect_symbols(macho);
    gsym_status status = GSYM_OK;
    reader.stubs_left = cursor_left(&indirect) / 4;
    stub_writer_init(&reader.writer, conversion, cursor_left(&reader.names));
    reader.writer.prefix = "symbol stub for: "; /* as in debuggers and LLVM */
    for (uint32_t i = 0; i < macho->object.header.section_count && status == GSYM_OK; ++i) {
        macho_section section = macho_section_at(macho, i);
        if ((section.flags & SECTION_TYPE) == S_SYMBOL_STUBS)
            status = add_section(&reader, &section, error);
    }
    stub_writer_deinit(&reader.writer);
    return status;
}
