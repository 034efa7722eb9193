/* live_code.c - list the addresses of symbols and of the entry point, at which there is
 * code. */
#include "sources/conversion.h"
#include "sources/debug_files.h"
#include "sources/symbols.h"

/* Symbols may share the bytes of their names, so the sum of the names is limited.
 * Limit: Names of symbols that tell which code at address 0 is live */
LIMIT(LIVE_NAME_BYTES, 1 << 20, 16);

uint64_t live_name_bytes(uint64_t object_size) {
    return LIMIT_OF(LIVE_NAME_BYTES, object_size);
}

gsym_status live_list_add(live_list *list, live_code code, gsym_error *error) {
    debug_files *files = conversion_files(list->conversion);
    return LIST_ADD(files->live, code) ? GSYM_OK : gsym_fail_memory(error);
}

/* Set the hashes with which names of functions are compared: of the name of the symbol, of
 * the name without the suffix of a part, and of the name without the underscore that some
 * systems put in front of names of C. */
static void hash_name(live_code *code, const char *name, size_t name_size) {
    const char *suffix;
    code->hashes[0] = string_hash(name, name_size);
    suffix = memchr(name + 1, '.', name_size - 1);
    if (suffix != NULL) code->hashes[1] = string_hash(name, (size_t)(suffix - name));
    if (name[0] == '_') code->hashes[2] = string_hash(name + 1, name_size - 1);
}

gsym_status live_list_add_named(live_list *list, uint64_t address, uint64_t size,
                                const char *name, size_t name_size, gsym_error *error) {
    live_code code = {.address = address, .size = size, .has_name = true};
    if (name_size <= list->name_bytes_left) {
        list->name_bytes_left -= name_size;
        hash_name(&code, name, name_size);
    } else {
        dwarf_warn(conversion_warnings(list->conversion), GSYM_WARN_LIMIT, 0, address);
    }
    return live_list_add(list, code, error);
}
