/* wasm_symbols.c - add the functions of a WebAssembly module.
 *
 * Their names are in the custom section `name`; without one, exported functions have the
 * names of their exports. The code section has the bodies, in the order of the functions
 * that are not imported. */
#include "containers/wasm.h"
#include "sources/conversion.h"
#include "sources/symbols.h"

enum { FUNCTION_NAMES = 1, EXTERNAL_FUNCTION = 0 };

typedef struct wasm_reader {
    const wasm_object *wasm;
    symbol_function_list functions; /* that are not imported, in order */
    uint64_t imported;               /* number of imported functions */
    uint64_t long_names;
} wasm_reader;

static void skip_limits(cursor *c) {
    uint8_t flags = cursor_u8(c);
    cursor_skip_leb(c);
    if (flags & 1) cursor_skip_leb(c);
    if (flags & 8) cursor_skip_leb(c); /* the size of pages */
}

/* Read a type of a value; references to a type have a number after them. */
static void skip_type(cursor *c) {
    uint8_t type = cursor_u8(c);
    if (type == 0x63 || type == 0x64) cursor_skip_leb(c);
}

/* Count the imported functions. A description of an unknown kind ends the count. */
static void count_imports(wasm_reader *reader) {
    cursor c = wasm_section_bytes(reader->wasm, WASM_IMPORT, NULL);
    uint64_t count = cursor_uleb(&c);
    for (uint64_t i = 0; i < count && !c.failed; ++i) {
        size_t size;
        (void)wasm_name(&c, &size);
        (void)wasm_name(&c, &size);
        switch (cursor_u8(&c)) {
            case 0:
                cursor_skip_leb(&c);
                reader->imported += !c.failed;
                break;
            case 1:
                skip_type(&c);
                skip_limits(&c);
                break;
            case 2: skip_limits(&c); break;
            case 3:
                skip_type(&c);
                cursor_skip(&c, 1);
                break;
            case 4:
                cursor_skip(&c, 1);
                cursor_skip_leb(&c);
                break;
            default: return;
        }
    }
}

static gsym_status list_bodies(wasm_reader *reader, gsym_error *error) {
    cursor c = wasm_section_bytes(reader->wasm, WASM_CODE, NULL);
    uint64_t count = cursor_uleb(&c);
    for (uint64_t i = 0; i < count && cursor_left(&c) > 0; ++i) {
        uint64_t size = cursor_uleb(&c), address = cursor_offset(&c) - reader->wasm->code;
        cursor_skip(&c, size);
        if (c.failed)
            return gsym_fail(error, GSYM_E_FORMAT, reader->wasm->code + address,
                             "a WebAssembly function reaches past the code section");
        if (!LIST_ADD(reader->functions,
                      (symbol_function){.address = address, .size = size}))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

/* Name the function with a number, unless it is imported or has a name. Names with a NUL
 * are left out. */
static void name_function(wasm_reader *reader, uint64_t number, const char *name,
                          size_t size) {
    symbol_function *function;
    if (number < reader->imported ||
        number - reader->imported >= reader->functions.count || size == 0 ||
        memchr(name, 0, size) != NULL)
        return;
    function = &reader->functions.items[number - reader->imported];
    if (function->name != NULL || !cursor_spend_name(&reader->long_names, size)) return;
    function->name = name;
    function->name_size = size;
}

static void take_names(wasm_reader *reader) {
    cursor c = wasm_section_bytes(reader->wasm, WASM_CUSTOM, "name");
    while (cursor_left(&c) > 0) {
        uint8_t kind = cursor_u8(&c);
        uint64_t size = cursor_uleb(&c), count;
        cursor names = c;
        cursor_skip(&c, size);
        if (c.failed) return;
        if (kind != FUNCTION_NAMES) continue;
        names.end = c.at;
        count = cursor_uleb(&names);
        for (uint64_t i = 0; i < count && cursor_left(&names) > 0; ++i) {
            uint64_t number = cursor_uleb(&names);
            size_t name_size;
            const char *name = wasm_name(&names, &name_size);
            name_function(reader, number, name, name_size);
        }
    }
}

static void take_exports(wasm_reader *reader) {
    cursor c = wasm_section_bytes(reader->wasm, WASM_EXPORT, NULL);
    uint64_t count = cursor_uleb(&c);
    for (uint64_t i = 0; i < count && cursor_left(&c) > 0; ++i) {
        size_t size;
        const char *name = wasm_name(&c, &size);
        uint8_t kind = cursor_u8(&c);
        uint64_t number = cursor_uleb(&c);
        if (!c.failed && kind == EXTERNAL_FUNCTION)
            name_function(reader, number, name, size);
    }
}

gsym_status wasm_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                             gsym_error *error) {
    wasm_reader reader = {.wasm = wasm_of(object), .long_names = object->size};
    gsym_status status = list_bodies(&reader, error);
    count_imports(&reader);
    take_names(&reader);
    take_exports(&reader);
    for (size_t i = 0; i < reader.functions.count && status == GSYM_OK; ++i) {
        const symbol_function *function = &reader.functions.items[i];
        if (function->name != NULL && function->size > 0 &&
            creator_needs_symbol(conversion_creator(conversion), function->address,
                                 function->size))
            status = creator_keep_symbol(conversion_creator(conversion), function->address,
                                         function->size, function->name,
                                         function->name_size, SYMBOL_GLOBAL, error);
    }
    free(reader.functions.items);
    return status;
}
