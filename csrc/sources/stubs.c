/* stubs.c - add the stubs of an object file, whatever its format. */
#include "sources/stubs.h"

gsym_status gsym_conversion_add_object_stubs(gsym_conversion *conversion,
                                             const gsym_object *object,
                                             gsym_error *error) {
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: return elf_add_stubs(conversion, elf_of(object), error);
        case GSYM_OBJECT_MACHO: return macho_add_stubs(conversion, macho_of(object), error);
        case GSYM_OBJECT_WASM: return GSYM_OK;
        default: return pe_add_stubs(conversion, pe_of(object), error);
    }
}
