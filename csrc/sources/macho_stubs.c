/* macho_stubs.c - functions of a Mach-O file that do nothing but call one of another
 * image. All stubs of a section have one size; the indirect symbols say, in the same
 * order, whom they call. */
#include "sources/conversion.h"
#include "containers/macho.h"

#define INDIRECT_LOCAL 0x80000000u
#define INDIRECT_ABSOLUTE 0x40000000u

enum { SHORT_NAME = 256 }; /* a name that any number of stubs may have */

static const char PREFIX[] = "symbol stub for: "; /* as debuggers and LLVM say */

typedef struct stub_reader {
    const macho_object *macho;
    gsym_conversion *conversion;
    cursor entries; /* indirect symbols */
    cursor symbols;
    cursor names;
    buffer name; /* of the present stub */
    /* What is left of work that the tables of the file justify: sections may claim the
     * same indirect symbols, and these the same long name. */
    size_t stubs_left;
    size_t name_bytes_left;
} stub_reader;

/* The name of the symbol that the next entry of the indirect symbols gives; NULL: none. */
static const char *next_target(stub_reader *reader, size_t *size_ret) {
    uint32_t entry_size = macho_symbol_size(reader->macho);
    uint32_t index = cursor_u32(&reader->entries);
    cursor symbol = reader->symbols;
    uint32_t offset;
    if (index & (INDIRECT_LOCAL | INDIRECT_ABSOLUTE)) return NULL;
    cursor_skip(&symbol, (uint64_t)index * entry_size);
    offset = cursor_u32(&symbol);
    if (offset == 0) return NULL;
    return object_symbol_name(reader->names, offset, size_ret);
}

static gsym_status add_stub(stub_reader *reader, uint64_t address, uint32_t size,
                            const char *target, size_t target_size, gsym_error *error) {
    gsym_creator *creator = conversion_creator(reader->conversion);
    buffer *name = &reader->name;
    const uint8_t *stored;
    if (target[0] == '_') ++target, --target_size;
    name->size = 0;
    buffer_put(name, PREFIX, sizeof PREFIX - 1);
    buffer_put(name, target, target_size);
    if (name->failed) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(creator, name->bytes, name->size, &stored, error));
    return creator_keep_symbol(creator, address, size, (const char *)stored, name->size,
                               true, error);
}

static gsym_status add_section(stub_reader *reader, const macho_section *section,
                               gsym_error *error) {
    uint64_t count = section->stub_size == 0 ? 0 : section->size / section->stub_size;
    reader->entries = macho_table_bytes(reader->macho, reader->macho->indirect_symbols, 4);
    cursor_skip(&reader->entries, (uint64_t)section->indirect_first * 4);
    for (uint64_t i = 0; i < count && cursor_left(&reader->entries) >= 4; ++i) {
        uint64_t address;
        size_t size;
        const char *target = next_target(reader, &size);
        if (reader->stubs_left == 0) return GSYM_OK;
        --reader->stubs_left;
        if (target == NULL ||
            __builtin_add_overflow(section->address, i * section->stub_size, &address))
            continue;
        if (size > reader->name_bytes_left) {
            dwarf_warn(conversion_warnings(reader->conversion), GSYM_WARN_LIMIT, 0, address);
            return GSYM_OK;
        }
        reader->name_bytes_left -= size;
        GSYM_TRY(add_stub(reader, address, section->stub_size, target, size, error));
    }
    return GSYM_OK;
}

gsym_status macho_add_stubs(gsym_conversion *conversion, const macho_object *macho,
                            gsym_error *error) {
    stub_reader reader = {
        .macho = macho,
        .conversion = conversion,
        .entries = macho_table_bytes(macho, macho->indirect_symbols, 4),
        .symbols = macho_table_bytes(macho, macho->symbols, macho_symbol_size(macho)),
        .names = macho_table_bytes(macho, macho->strings, 1),
    };
    gsym_status status = GSYM_OK;
    reader.stubs_left = cursor_left(&reader.entries) / 4;
    reader.name_bytes_left = cursor_left(&reader.names) + reader.stubs_left * SHORT_NAME;
    for (uint32_t i = 0; i < macho->object.header.section_count && status == GSYM_OK; ++i) {
        macho_section section = macho_section_at(macho, i);
        if ((section.flags & MACHO_SECTION_TYPE) == MACHO_SECTION_SYMBOL_STUBS)
            status = add_section(&reader, &section, error);
    }
    buffer_deinit(&reader.name);
    return status;
}
