/* shared_ids.c - find the ids that modules share.
 *
 * If a program is optimized as a whole, the linker generates the code of its modules. A
 * module may then refer to an id of another module: by the name of that module and a local
 * id. The other module exports pairs of local ids and ids of the IPI stream. */
#include "pdb/pdb.h"

#include "base/hash.h"

enum { MAX_NAME = 1024, MODULE_SHIFT = 20, MODULE_MASK = 0x7ff, ID_MASK = 0xfffff };

uint64_t pdb_module_name_hash(const char *name, size_t size) {
    char lower[MAX_NAME];
    if (size > MAX_NAME) size = MAX_NAME;
    for (size_t i = 0; i < size; ++i)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + ('a' - 'A'))
                                                    : name[i];
    return string_hash(lower, size);
}

static bool read_exports(gsym_pdb *pdb, size_t index, cursor c) {
    if (!number_map_set(&pdb->exporters, pdb->modules.items[index].name_hash, index))
        return false;
    while (cursor_left(&c) >= 8) {
        uint64_t key = (uint64_t)index << 32 | cursor_u32_unchecked(&c);
        if (!number_map_set(&pdb->exports, key, cursor_u32_unchecked(&c))) return false;
    }
    return true;
}

gsym_status pdb_exports_read(gsym_pdb *pdb, gsym_error *error) {
    buffer copy = {0};
    bool has_memory = true;
    for (size_t i = 0; i < pdb->modules.count && has_memory && pdb->is_ltcg; ++i) {
        const pdb_module *module = &pdb->modules.items[i];
        cursor c = msf_read(&pdb->file, module->stream,
                            (uint64_t)module->symbol_size + module->c11_size,
                            module->c13_size, &copy), content;
        uint32_t kind;
        while (has_memory && pdb_next_subsection(&c, &kind, &content))
            if (kind == DEBUG_S_CROSSSCOPEEXPORTS)
                has_memory = read_exports(pdb, i, content);
        has_memory &= !copy.failed;
    }
    buffer_deinit(&copy);
    return has_memory ? GSYM_OK : gsym_fail_memory(error);
}

bool pdb_import(const gsym_pdb *pdb, cursor imports, uint32_t reference, uint32_t *id_ret) {
    uint32_t module = reference >> MODULE_SHIFT & MODULE_MASK, name, count, id;
    uint64_t exporter, exported;
    size_t size;
    const char *text;
    for (;; --module) {
        name = cursor_u32(&imports);
        count = cursor_u32(&imports);
        if (module == 0 || imports.failed) break;
        cursor_skip(&imports, (uint64_t)count * 4);
    }
    if ((reference & ID_MASK) >= count) return false;
    cursor_skip(&imports, (uint64_t)(reference & ID_MASK) * 4);
    id = cursor_u32(&imports);
    text = pdb_name_at(pdb, name, &size);
    if (imports.failed ||
        !number_map_find(&pdb->exporters, pdb_module_name_hash(text, size), &exporter) ||
        !number_map_find(&pdb->exports, exporter << 32 | id, &exported))
        return false;
    *id_ret = (uint32_t)exported;
    return true;
}
