/* macho_debug_map.c - read which object files have the DWARF of a linked Mach-O file.
 *
 * The linker leaves the DWARF in the object files. Symbols for debuggers name the object
 * files, and the final address of each of their functions. A function is found in its
 * object file by its name. */
#include "base/sort.h"
#include "sources/conversion.h"
#include "sources/symbols.h"

#define N_FUN 0x24 /* start of a function; without a name: end of a function */
#define N_SO 0x64  /* start of an object file; without a name: end of an object file */
#define N_OSO 0x66

/* A function and its name. For a function of the map, address and size are the final ones,
 * and a size may be 0; for a function of an object file they are its address there and the
 * distance to the next function. */
typedef struct named_function {
    uint64_t hash; /* of the name */
    uint64_t address;
    uint64_t size;
    uint32_t name; /* its offset in the names */
    uint32_t name_size;
} named_function;

typedef LIST(named_function) function_list;

typedef struct map_entry {
    uint32_t path; /* its offset in the names */
    uint64_t mtime;
    size_t function_first;
    size_t function_count;
} map_entry;

struct gsym_debug_map {
    cursor names;
    uint64_t long_names; /* see object_long_names() */
    LIST(map_entry) entries;
    function_list functions;
};

static gsym_status add_function(function_list *functions, cursor names,
                                uint64_t *long_names, const macho_symbol *symbol,
                                uint64_t size, gsym_error *error) {
    size_t name_size;
    const char *name = object_symbol_name(names, long_names, symbol->name, &name_size);
    if (name == NULL || name_size == 0 || name_size > UINT32_MAX) return GSYM_OK;
    if (!LIST_RESERVE(*functions, 1)) return gsym_fail_memory(error);
    functions->items[functions->count++] = (named_function){
        string_hash(name, name_size), symbol->address, size, symbol->name,
        (uint32_t)name_size};
    return GSYM_OK;
}

static int compare_functions(const void *left, const void *right) {
    const named_function *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_hashes(const void *left, const void *right) {
    const named_function *a = left, *b = right;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Sort the functions from `first` on by name. */
static void sort_functions(function_list *functions, size_t first) {
    if (functions->count > first)
        qsort(functions->items + first, functions->count - first,
              sizeof *functions->items, compare_functions);
}

/* List the functions of a file, sorted by name. */
static gsym_status list_functions(macho_symbols *symbols, function_list *functions,
                                  gsym_error *error) {
    macho_symbol symbol;
    GSYM_TRY(macho_list_starts(symbols, error));
    while (macho_next_function(symbols, &symbol))
        GSYM_TRY(add_function(functions, symbols->names, &symbols->long_names, &symbol,
                              macho_function_size(symbols, &symbol), error));
    sort_functions(functions, 0);
    return GSYM_OK;
}

static bool same_name(const named_function *function, cursor names,
                      const named_function *other, cursor other_names) {
    size_t size = function->name_size;
    cursor_skip(&names, function->name);
    cursor_skip(&other_names, other->name);
    return size == other->name_size && cursor_need(&names, size) &&
           cursor_need(&other_names, size) &&
           memcmp(names.at, other_names.at, size) == 0;
}

/* ---- reading ---------------------------------------------------------------------- */

/* Whether a symbol has a name of at least one byte. */
static bool is_named(const gsym_debug_map *map, const macho_symbol *symbol) {
    cursor c = map->names;
    cursor_skip(&c, symbol->name);
    return symbol->name != 0 && cursor_u8(&c) != 0;
}

static gsym_status add_entry(gsym_debug_map *map, const macho_symbol *symbol,
                             bool *is_added_ret, gsym_error *error) {
    size_t size;
    *is_added_ret =
        object_symbol_name(map->names, NULL, symbol->name, &size) != NULL && size > 0;
    if (!*is_added_ret) return GSYM_OK;
    if (!LIST_RESERVE(map->entries, 1)) return gsym_fail_memory(error);
    map->entries.items[map->entries.count++] =
        (map_entry){symbol->name, symbol->address, map->functions.count, 0};
    return GSYM_OK;
}

static void close_entry(gsym_debug_map *map) {
    map_entry *entry;
    if (map->entries.count == 0) return;
    entry = &map->entries.items[map->entries.count - 1];
    if (entry->function_count != 0) return;
    entry->function_count = map->functions.count - entry->function_first;
    sort_functions(&map->functions, entry->function_first);
}

/* Add a function, or set the size of the function before, which is the value of a symbol
 * without a name. */
static gsym_status add_function_stab(gsym_debug_map *map, const macho_symbol *symbol,
                                     gsym_error *error) {
    const map_entry *entry = &map->entries.items[map->entries.count - 1];
    if (is_named(map, symbol))
        return add_function(&map->functions, map->names, &map->long_names, symbol, 0,
                            error);
    if (map->functions.count > entry->function_first)
        map->functions.items[map->functions.count - 1].size = symbol->address;
    return GSYM_OK;
}

/* Return the range from the first stub to the end of the last one. */
static gsym_range find_stubs(const macho_object *macho) {
    gsym_range stubs = {UINT64_MAX, 0};
    for (uint32_t i = 0; i < macho->object.header.section_count; ++i) {
        macho_section section = macho_section_at(macho, i);
        if ((section.flags & SECTION_TYPE) != S_SYMBOL_STUBS) continue;
        if (section.address < stubs.start) stubs.start = section.address;
        if (section.address + section.size > stubs.end)
            stubs.end = section.address + section.size;
    }
    return stubs;
}

/* Correct functions that have the address of a stub in the map, where no function can be;
 * the linker of zig writes that for weak functions. The symbol of the function has the
 * address of its code. */
static gsym_status move_out_of_stubs(gsym_debug_map *map, const macho_object *macho,
                                     gsym_error *error) {
    gsym_range stubs = find_stubs(macho);
    macho_symbols symbols = macho_symbols_open(macho);
    function_list known = {0};
    gsym_status status = GSYM_OK;
    for (size_t i = 0; i < map->functions.count && status == GSYM_OK; ++i) {
        named_function *function = &map->functions.items[i];
        const named_function *own;
        if (function->address < stubs.start || function->address >= stubs.end) continue;
        if (known.count == 0) status = list_functions(&symbols, &known, error);
        if (known.count == 0) break;
        own = bsearch(function, known.items, known.count, sizeof *known.items,
                      compare_hashes);
        if (own != NULL && same_name(function, map->names, own, map->names))
            function->address = own->address;
    }
    macho_symbols_close(&symbols);
    free(known.items);
    return status;
}

static gsym_status read_map(gsym_debug_map *map, const macho_object *macho,
                            gsym_error *error) {
    macho_symbols symbols = macho_symbols_open(macho);
    macho_symbol symbol;
    bool is_inside = false; /* of an object file */
    map->names = symbols.names;
    map->long_names = symbols.long_names;
    while (macho_next_symbol(&symbols, &symbol)) {
        switch (symbol.type) {
            case N_OSO:
                close_entry(map);
                GSYM_TRY(add_entry(map, &symbol, &is_inside, error));
                break;
            case N_SO:
                if (is_named(map, &symbol)) break;
                close_entry(map);
                is_inside = false;
                break;
            case N_FUN:
                if (is_inside) GSYM_TRY(add_function_stab(map, &symbol, error));
                break;
            default: break;
        }
    }
    close_entry(map);
    return move_out_of_stubs(map, macho, error);
}

gsym_status gsym_debug_map_create(const gsym_object *object, gsym_debug_map **map_ret,
                                  gsym_error *error) {
    gsym_debug_map *map = calloc(1, sizeof *map);
    gsym_status status = GSYM_OK;
    if (map == NULL) return gsym_fail_memory(error);
    if (object->header.format == GSYM_OBJECT_MACHO)
        status = read_map(map, macho_of(object), error);
    if (status != GSYM_OK) {
        gsym_debug_map_destroy(map);
        return status;
    }
    *map_ret = map;
    return GSYM_OK;
}

void gsym_debug_map_destroy(gsym_debug_map *map) {
    if (map == NULL) return;
    free(map->entries.items);
    free(map->functions.items);
    free(map);
}

size_t gsym_debug_map_count(const gsym_debug_map *map) { return map->entries.count; }

void gsym_debug_map_entry_at(const gsym_debug_map *map, size_t index,
                             gsym_debug_map_entry *entry_ret) {
    const map_entry *entry = &map->entries.items[index];
    entry_ret->path =
        object_symbol_name(map->names, NULL, entry->path, &entry_ret->path_size);
    entry_ret->mtime = entry->mtime;
    entry_ret->function_count = entry->function_count;
}

/* ---- finding functions in object files ----------------------------------------------- */

/* A function that the linker moved from `start` to `address`. */
typedef struct function_move {
    uint64_t start;
    uint64_t size;
    uint64_t address;
} function_move;

typedef LIST(function_move) move_list;

/* Pair the functions of the map with those of an object file by name; several with one name
 * are paired in the order of their addresses. */
static gsym_status pair_functions(const gsym_debug_map *map, const map_entry *entry,
                                  const macho_symbols *symbols,
                                  const function_list *functions, move_list *moves,
                                  gsym_error *error) {
    const named_function *final, *end, *own, *own_end;
    if (entry->function_count == 0 || functions->count == 0) return GSYM_OK;
    if (!LIST_RESERVE(*moves, functions->count)) return gsym_fail_memory(error);
    final = map->functions.items + entry->function_first;
    end = final + entry->function_count;
    own = functions->items;
    own_end = own + functions->count;
    while (final < end && own < own_end) {
        if (final->hash != own->hash) {
            if (final->hash < own->hash)
                ++final;
            else
                ++own;
            continue;
        }
        if (same_name(final, map->names, own, symbols->names)) {
            bool is_known = final->size != 0 && final->size < own->size;
            moves->items[moves->count++] = (function_move){
                own->address, is_known ? final->size : own->size, final->address};
        }
        ++final, ++own;
    }
    sort_by_u64(moves->items, moves->count, sizeof *moves->items);
    return GSYM_OK;
}

/* Find the functions of entry `index` in `object`. */
static gsym_status find_moves(const gsym_debug_map *map, size_t index,
                              const gsym_object *object, move_list *moves,
                              uint64_t *missing_ret, gsym_error *error) {
    const map_entry *entry;
    function_list functions = {0};
    macho_symbols symbols;
    gsym_status status;
    if (object->header.format != GSYM_OBJECT_MACHO || index >= map->entries.count)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no object file of this debug map");
    entry = &map->entries.items[index];
    symbols = macho_symbols_open(macho_of(object));
    status = list_functions(&symbols, &functions, error);
    if (status == GSYM_OK)
        status = pair_functions(map, entry, &symbols, &functions, moves, error);
    *missing_ret = entry->function_count - moves->count;
    macho_symbols_close(&symbols);
    free(functions.items);
    return status;
}

gsym_status gsym_debug_map_compare(const gsym_debug_map *map, size_t index,
                                   const gsym_object *object, uint64_t *missing_ret,
                                   gsym_error *error) {
    move_list moves = {0};
    gsym_status status = find_moves(map, index, object, &moves, missing_ret, error);
    free(moves.items);
    return status;
}

/* Add the moves as spans; several names of one function give one span. */
static gsym_status add_spans(gsym_conversion *conversion, uint32_t file,
                             const move_list *moves, gsym_error *error) {
    /* Add an empty span if no function was found: without spans, the addresses of the
     * object file would be taken for final ones. */
    if (moves->count == 0)
        return gsym_conversion_add_address_span(conversion, file, 0, 0, 0, error);
    for (size_t i = 0; i < moves->count; ++i) {
        const function_move *move = &moves->items[i];
        uint64_t end;
        if ((i > 0 && move->start == move[-1].start) ||
            __builtin_add_overflow(move->address, move->size, &end))
            continue;
        GSYM_TRY(gsym_conversion_add_address_span(conversion, file, move->start, move->size,
                                                  move->address, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_debug_map(gsym_conversion *conversion, uint32_t file,
                                          const gsym_debug_map *map, size_t index,
                                          const gsym_object *object, uint64_t *missing_ret,
                                          gsym_error *error) {
    move_list moves = {0};
    gsym_status status = find_moves(map, index, object, &moves, missing_ret, error);
    if (status == GSYM_OK) status = add_spans(conversion, file, &moves, error);
    free(moves.items);
    return status;
}
