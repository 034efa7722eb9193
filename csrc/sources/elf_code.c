/* elf_code.c - end symbols where functions of an ELF image start.
 *
 * A symbol without a size ends where a function with unwind information starts. */
#include "containers/elf.h"
#include "containers/function_starts.h"
#include "sources/conversion.h"

gsym_status gsym_conversion_add_object_code(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error) {
    const elf_object *elf = elf_of(object);
    function_starts starts;
    uint64_t start, end;
    if (object->header.format != GSYM_OBJECT_ELF || elf->placements != NULL) return GSYM_OK;
    creator_bound_symbols(conversion_creator(conversion));
    starts = function_starts_open(object);
    while (function_starts_next(&starts, &start, &end))
        GSYM_TRY(creator_end_symbols_at(conversion_creator(conversion), start, error));
    return GSYM_OK;
}
