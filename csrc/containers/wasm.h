/* wasm.h - declare what other files use of WebAssembly modules besides object.h. */
#ifndef GSYM_CONTAINERS_WASM_H
#define GSYM_CONTAINERS_WASM_H

#include "base/list.h"
#include "containers/object.h"

typedef enum wasm_section_kind {
    WASM_CUSTOM = 0,
    WASM_IMPORT = 2,
    WASM_EXPORT = 7,
    WASM_CODE = 10,
    WASM_MAX_SECTION = 13
} wasm_section_kind;

/* A section; `name` is that of a custom section, or of the kind. */
typedef struct wasm_section {
    uint32_t kind;
    const char *name;
    size_t name_size;
    uint64_t offset; /* of the contents; in a custom section, they follow its name */
    uint64_t size;
} wasm_section;

typedef struct wasm_object {
    gsym_object object;
    LIST(wasm_section) sections;
    uint64_t code; /* offset of the contents of the code section, where address 0 is;
                      0: the module has no code */
} wasm_object;

static inline const wasm_object *wasm_of(const gsym_object *object) {
    return (const wasm_object *)object;
}

/* Return the bytes of the first section of a kind; of a custom section with `name`, which
 * may be NULL for others. */
cursor wasm_section_bytes(const wasm_object *wasm, wasm_section_kind kind,
                          const char *name);
/* Read a name: its size, then its bytes. */
static inline const char *wasm_name(cursor *c, size_t *size_ret) {
    const uint8_t *at;
    uint64_t size = cursor_uleb(c);
    at = c->at;
    cursor_skip(c, size);
    *size_ret = c->failed ? 0 : (size_t)size;
    return (const char *)at;
}

#endif
