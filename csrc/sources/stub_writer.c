/* stub_writer.c - add named stubs to a conversion, up to a limit on their names. */
#include "sources/stubs.h"

/* Limit: Names of stubs */
LIMIT(STUB_NAMES, 1 << 20, 16);

void stub_writer_init(stub_writer *writer, gsym_conversion *conversion,
                      uint64_t name_bytes) {
    *writer = (stub_writer){
        .conversion = conversion,
        .prefix = "",
        .suffix = "",
        .name_bytes_left = LIMIT_OF(STUB_NAMES, name_bytes),
    };
}

void stub_writer_deinit(stub_writer *writer) { buffer_deinit(&writer->name); }

void stub_writer_cut(stub_writer *writer, uint64_t address) {
    dwarf_warn(conversion_warnings(writer->conversion), GSYM_WARN_LIMIT, 0, address);
}

gsym_status stub_writer_add(stub_writer *writer, gsym_range stub, const char *target,
                            size_t target_size, gsym_error *error) {
    gsym_creator *creator = conversion_creator(writer->conversion);
    buffer *name = &writer->name;
    const uint8_t *stored;
    if (target_size > writer->name_bytes_left) {
        writer->name_bytes_left = 0;
        stub_writer_cut(writer, stub.start);
        return GSYM_OK;
    }
    writer->name_bytes_left -= target_size;
    name->size = 0;
    buffer_put(name, writer->prefix, strlen(writer->prefix));
    buffer_put(name, target, target_size);
    buffer_put(name, writer->suffix, strlen(writer->suffix));
    if (name->failed) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(creator, name->bytes, name->size, &stored, error));
    return creator_keep_symbol(creator, stub.start, stub.end - stub.start,
                               (const char *)stored, name->size,
                               SYMBOL_LOCAL | SYMBOL_LABEL, error);
}
