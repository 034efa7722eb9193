/* symbols.c - add the symbols, code ranges and live code of an object file, whatever its
 * format. */
#include "sources/symbols.h"
#include "containers/elf.h"
#include "containers/pe.h"
#include "sources/conversion.h"
#include "sources/debug_files.h"

gsym_status gsym_conversion_add_object_text(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error) {
    conversion_files(conversion)->common.isa_bit = object_isa_bit(&object->header);
    for (uint32_t i = 0; i < object->header.section_count; ++i) {
        gsym_object_section section;
        if (object_code_section(object, i, &section))
            GSYM_TRY(gsym_conversion_add_text_range(conversion, section.address,
                                                    section.address + section.memory_size,
                                                    error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_object_spans(gsym_conversion *conversion, uint32_t file,
                                             const gsym_object *object,
                                             gsym_error *error) {
    uint64_t bias = object->header.bias;
    for (uint32_t i = 0; bias != 0 && i < object->header.section_count; ++i) {
        gsym_object_section section;
        if (object_code_section(object, i, &section))
            GSYM_TRY(gsym_conversion_add_address_span(conversion, file,
                                                      section.address - bias,
                                                      section.memory_size, section.address,
                                                      error));
    }
    return GSYM_OK;
}

gsym_status conversion_read_symbols(gsym_conversion *conversion, const gsym_object *object,
                                    const gsym_object *image, gsym_error *error) {
    creator_await_symbols(conversion_creator(conversion));
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: return elf_add_symbols(conversion, object, error);
        case GSYM_OBJECT_MACHO: return macho_add_symbols(conversion, object, error);
        case GSYM_OBJECT_WASM: return wasm_add_symbols(conversion, object, error);
        default: return pe_add_symbols(conversion, object, image, error);
    }
}

gsym_status gsym_conversion_add_object_symbols(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               const gsym_object *image,
                                               gsym_error *error) {
    creator_raise_string_limit(conversion_creator(conversion), object->size);
    return conversion_read_symbols(conversion, object, image, error);
}

gsym_status gsym_conversion_add_live_code(gsym_conversion *conversion,
                                          const gsym_object *object, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    bool is_wanted = files->is_scanned && files->skeletons.count > 0 &&
                     !files->common.knows_live;
    live_list list = {.conversion = conversion,
                      .name_bytes_left = live_name_bytes(object->size)};
    bool may_wrap = object->header.format == GSYM_OBJECT_ELF &&
                    object->header.machine == EM_AVR;
    for (size_t i = 0; i < files->text.count && !files->is_scanned; ++i)
        is_wanted |= files->text.items[i].start == 0 ||
                     (may_wrap && files->text.items[i].end > UINT64_C(1) << 16);
    if (!is_wanted) return GSYM_OK;
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: GSYM_TRY(elf_add_live(&list, elf_of(object), error)); break;
        case GSYM_OBJECT_PE: GSYM_TRY(pe_add_live(&list, pe_of(object), error)); break;
        default: return GSYM_OK;
    }
    if (files->is_scanned)
        debug_files_take_live(files);
    else
        files->common.knows_live = list.has_table;
    return GSYM_OK;
}
