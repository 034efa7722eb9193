/* wasm.c - open WebAssembly modules: sections and the build id.
 *
 * An address is the offset of an instruction in the contents of the code section, as in
 * DWARF and in LLVM's tools. Object files are read as they are: their DWARF has the values
 * of a program that is linked from them alone.
 *
 * Source: the WebAssembly core specification, 5.5; tool-conventions/Debugging.md. */
#include "containers/wasm.h"

enum { HEADER_SIZE = 8, CORE_VERSION = 1 };

static const uint8_t magic[] = {0, 'a', 's', 'm'};

static const char *const kind_names[WASM_MAX_SECTION + 1] = {
    "", "type", "import", "function", "table", "memory", "global",
    "export", "start", "element", "code", "data", "datacount", "tag"};

static cursor wasm_cursor(const wasm_object *wasm, uint64_t offset) {
    return cursor_at(wasm->object.data, wasm->object.size, offset, false);
}

static bool is_magic(const uint8_t *data, size_t size) {
    return size >= HEADER_SIZE && memcmp(data, magic, sizeof magic) == 0;
}

static gsym_status read_sections(wasm_object *wasm, gsym_error *error) {
    cursor c = wasm_cursor(wasm, HEADER_SIZE);
    while (cursor_left(&c) > 0) {
        uint64_t start = cursor_offset(&c);
        wasm_section section = {.kind = cursor_u8(&c)};
        uint64_t size = cursor_uleb(&c), end;
        cursor contents = c;
        cursor_skip(&c, size);
        if (c.failed)
            return gsym_fail(error, GSYM_E_FORMAT, start,
                             "a WebAssembly section reaches past the end of the file");
        end = cursor_offset(&c);
        contents.end = c.at;
        if (section.kind > WASM_MAX_SECTION) continue;
        section.name = kind_names[section.kind];
        section.name_size = strlen(section.name);
        if (section.kind == WASM_CUSTOM)
            section.name = wasm_name(&contents, &section.name_size);
        if (contents.failed) continue;
        section.offset = cursor_offset(&contents);
        section.size = end - section.offset;
        if (section.kind == WASM_CODE && wasm->code == 0) wasm->code = section.offset;
        if (wasm->sections.count >= OBJECT_NO_SECTION || !LIST_ADD(wasm->sections, section))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

static void find_debug_sections(wasm_object *wasm) {
    for (uint32_t i = 0; i < wasm->sections.count; ++i) {
        const wasm_section *section = &wasm->sections.items[i];
        bool is_split = false;
        gsym_debug_section which;
        if (section->kind != WASM_CUSTOM || section->size == 0) continue;
        which = object_debug_section_named(section->name, section->name_size, &is_split);
        if (which != GSYM_DEBUG_SECTION_COUNT &&
            wasm->object.debug_sections[is_split][which] == OBJECT_NO_SECTION)
            wasm->object.debug_sections[is_split][which] = i;
    }
}

cursor wasm_section_bytes(const wasm_object *wasm, wasm_section_kind kind,
                          const char *name) {
    for (uint32_t i = 0; i < wasm->sections.count; ++i) {
        const wasm_section *section = &wasm->sections.items[i];
        if (section->kind != kind ||
            (name != NULL && (section->name_size != strlen(name) ||
                              memcmp(section->name, name, section->name_size) != 0)))
            continue;
        return cursor_at(wasm->object.data, section->offset + section->size,
                         section->offset, false);
    }
    return cursor_at(wasm->object.data, 0, 0, false);
}

static gsym_status section_at(const gsym_object *object, uint32_t index,
                              gsym_object_section *ret, gsym_error *error) {
    const wasm_section *section = &wasm_of(object)->sections.items[index];
    ret->present = 1;
    ret->index = index;
    ret->name = section->name;
    ret->name_size = section->name_size;
    ret->offset = section->offset;
    ret->type = section->kind;
    ret->holds_code = section->kind == WASM_CODE;
    if (ret->holds_code) {
        /* Before the functions stands their number. Address 0 is that of functions that
         * the linker dropped. */
        cursor c = wasm_cursor(wasm_of(object), section->offset);
        (void)cursor_uleb(&c);
        if (c.failed || cursor_offset(&c) > section->offset + section->size)
            return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                             "a WebAssembly code section that is cut off");
        ret->offset = cursor_offset(&c);
        ret->address = ret->offset - section->offset;
        ret->memory_size = section->size - ret->address;
        return object_set_payload(object, ret, ret->memory_size, NULL, error);
    }
    return object_set_payload(object, ret, section->size, NULL, error);
}

static void identifier(const gsym_object *object, const uint8_t **bytes_ret,
                       size_t *size_ret) {
    cursor c = wasm_section_bytes(wasm_of(object), WASM_CUSTOM, "build_id");
    const char *bytes = wasm_name(&c, size_ret);
    *bytes_ret = (const uint8_t *)bytes;
}

static gsym_status open_wasm(gsym_object *object, gsym_error *error) {
    wasm_object *wasm = (wasm_object *)object;
    cursor c = cursor_at(object->data, object->size, sizeof magic, false);
    cursor names;
    uint8_t version = cursor_u8(&c);
    cursor_skip(&c, 1);
    if (cursor_u8(&c) != 0)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, sizeof magic,
                         "a WebAssembly component: take its core modules out first, with "
                         "wasm-tools component unbundle");
    if (version != CORE_VERSION)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, sizeof magic,
                         "version %u of WebAssembly", version);
    GSYM_TRY(read_sections(wasm, error));
    object->header.section_count = (uint32_t)wasm->sections.count;
    object->header.has_base_address = 1;
    object->header.code_offset = wasm->code;
    names = wasm_section_bytes(wasm, WASM_CUSTOM, "name");
    object->header.symbol_table_size = cursor_left(&names);
    find_debug_sections(wasm);
    return GSYM_OK;
}

static void release(gsym_object *object) {
    free(((wasm_object *)object)->sections.items);
}

const object_format wasm_format = {
    .number = GSYM_OBJECT_WASM,
    .object_size = sizeof(wasm_object),
    .is_magic = is_magic,
    .open = open_wasm,
    .release = release,
    .section_at = section_at,
    .identifier = identifier,
};
