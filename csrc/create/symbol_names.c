/* symbol_names.c - name functions without a linkage name after a symbol of their start.
 *
 * If DWARF has no linkage name for a function, it takes the name of a symbol of its range.
 * Of several symbols, those that contain its own name come first, then global before weak
 * before local ones; of equal ones the last is taken. */
#include <stdio.h>

#include "create/state.h"

enum {
    /* Longer names are not compared with symbols: a hostile file can have many that differ
     * only in their last bytes. Long names are mostly those of templates, which are not
     * spelled out in mangled names. */
    SPELLED_SIZE_LIMIT = 256,
    MANGLED_SIZE_LIMIT = 8192,
    UNSPELLED = 16, /* added to the rank of a symbol that does not spell the name; greater
                       than any binding */
    NO_RANK = 32
};

typedef struct text {
    const char *bytes;
    size_t size;
} text;

static text record_name(const gsym_creator *creator, const creator_record *record) {
    const char *bytes;
    if (record->flags & RECORD_NAME_PENDING)
        return (text){record->pending_name, record->blob_size};
    bytes = string_table_at(&creator->strings, record->name);
    return (text){bytes, strlen(bytes)};
}

/* Whether a name is mangled as C++, Rust, D or Swift do. */
static bool is_mangled(text name) {
    static const char prefixes[][3] = {"_Z", "_R", "_D", "$s", "$S"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i)
        if (name.size > 2 && memcmp(name.bytes, prefixes[i], 2) == 0) return true;
    return false;
}

static bool is_same(text left, text right) {
    return left.size == right.size && memcmp(left.bytes, right.bytes, left.size) == 0;
}

/* Return the identifier in a name: `f` in `a::f<int>`. */
static text identifier(text name) {
    const char *end = memchr(name.bytes, '<', name.size);
    const char *start = end == NULL ? name.bytes + name.size : end;
    size_t size;
    while (start > name.bytes && start[-1] != ':') --start;
    size = (size_t)((end == NULL ? name.bytes + name.size : end) - start);
    return (text){start, size};
}

/* Whether a symbol contains a name, as `_ZN1a1fEv`, `f.cold` or Fortran's `f_` does `f`. */
static bool spells(text symbol, text name) {
    char digits[24];
    size_t prefix;
    if (symbol.size > name.size && memcmp(symbol.bytes, name.bytes, name.size) == 0 &&
        (symbol.bytes[name.size] == '.' ||
         (symbol.bytes[name.size] == '_' && symbol.size == name.size + 1)))
        return true;
    name = identifier(name);
    if (name.size > SPELLED_SIZE_LIMIT || symbol.size > MANGLED_SIZE_LIMIT) return false;
    prefix = (size_t)snprintf(digits, sizeof digits, "%zu", name.size);
    for (size_t at = 0; at + prefix + name.size <= symbol.size; ++at)
        if (memcmp(symbol.bytes + at, digits, prefix) == 0 &&
            memcmp(symbol.bytes + at + prefix, name.bytes, name.size) == 0)
            return true;
    return false;
}

static bool is_of_identifier(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Whether mangled names contain this name as it is. They do not contain `~box`,
 * `operator<` or `+`. */
static bool is_spelled_out(text name) {
    static const char operator[] = "operator";
    size_t size = sizeof operator - 1;
    name = identifier(name);
    for (size_t i = 0; i < name.size; ++i)
        if (!is_of_identifier(name.bytes[i])) return false;
    return name.size != size || memcmp(name.bytes, operator, size) != 0;
}

gsym_status creator_intern_name(gsym_creator *creator, const creator_record *record,
                                  uint64_t *strp_ret, gsym_error *error) {
    text name = record_name(creator, record);
    if (!(record->flags & RECORD_NAME_PENDING)) {
        *strp_ret = record->name;
        return GSYM_OK;
    }
    return creator_intern(creator, name.bytes, name.size,
                          string_hash(name.bytes, name.size), strp_ret, error);
}

/* Whether the record of a key is a symbol that may name `winner`. */
static bool may_name(const gsym_creator *creator, const record_key *key,
                     const creator_record *winner) {
    const creator_record *other = &creator->records.items[key->index];
    return record_is_symbol(other) && !record_is_rich(creator, other) &&
           (record_is_label(other) || key->size >= winner->size);
}

/* Return how well a symbol names a function; the lowest is best. One of another range,
 * such as one that includes the padding on Alpha, has to be the name as it is mangled. */
static unsigned name_rank(const creator_record *symbol, text symbol_name, text name,
                          bool has_its_range) {
    bool is_spelled = spells(symbol_name, name);
    if (!is_spelled && !is_spelled_out(name)) {
        /* Some symbols encode the name in another way, as those of Dart do. The name is
         * used then. */
        if (!is_mangled(symbol_name)) return NO_RANK;
        is_spelled = true;
    }
    if (!has_its_range && !(is_spelled && is_mangled(symbol_name))) return NO_RANK;
    return (is_spelled ? 0 : UNSPELLED) + creator_record_binding(symbol);
}

void creator_take_symbol_name(const gsym_creator *creator, const record_key *keys,
                              size_t count, creator_record *winner) {
    text name = record_name(creator, winner);
    const creator_record *best = NULL;
    unsigned best_rank = NO_RANK - 1;
    if (is_mangled(name)) return;
    for (size_t i = 0; i < count; ++i) {
        const creator_record *symbol = &creator->records.items[keys[i].index];
        text symbol_name;
        unsigned rank;
        if (!may_name(creator, &keys[i], winner)) continue;
        symbol_name = record_name(creator, symbol);
        if (is_same(symbol_name, name)) return;
        rank = name_rank(symbol, symbol_name, name,
                         !record_is_label(symbol) && keys[i].size == winner->size);
        if (rank > best_rank) continue;
        best_rank = rank;
        best = symbol;
    }
    if (best == NULL) return;
    winner->flags |= RECORD_NAME_TAKEN;
    winner->name = (uint64_t)(best - creator->records.items);
}
