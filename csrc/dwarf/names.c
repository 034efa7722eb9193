/* names.c - find DIEs by their offset, and the names of functions and inlined calls.
 *
 * A function has its linkage name. Without one, it has its DW_AT_name with the names of the
 * scopes around its declaration in front (A::B::name). Scopes are found on demand: among
 * those that the walk visited or, in classes that it skipped and in other units, by a scan,
 * which is done once. */
#include "dwarf/names.h"
#include "dwarf/package.h"
#include "dwarf/unit.h"
#include "dwarf/values.h"

/* Limit: Namespaces and classes in a composed name */
#define MAX_SCOPES 64

/* The DIEs that describe one function or scope: the first refers to the second
 * by specification or abstract_origin, and so on. */
typedef struct die_chain {
    uint64_t offsets[DWARF_MAX_REFERENCE_CHAIN];
    unsigned count;
    dwarf_string linkage_name;
    dwarf_string name;
    uint64_t key;            /* known_name.key of the name */
    const known_name *known; /* the name, if it is known; then its bytes are not read */
    bool is_call; /* the last DIE is an inlined call, so it is not declared in a scope */
} die_chain;

bool dwarf_language_has_scopes(uint64_t language) {
    switch (language) {
        case DW_LANG_C89:
        case DW_LANG_C99:
        case DW_LANG_C11:
        case DW_LANG_C17:
        case DW_LANG_C23:
        case DW_LANG_Assembly:
        case DW_LANG_Mips_Assembler: return false;
        default: return true;
    }
}

/* ---- known names --------------------------------------------------------------------- */

bool known_names_init(known_names *names, uint64_t input_size) {
    /* A larger table would not fit the cache; small inputs have few names, and clearing
     * the table would take longer than reading them. */
    enum { MIN_BITS = 8, MAX_BITS = 15, BYTES_PER_SLOT = 1024 };
    unsigned bits = MIN_BITS;
    while (bits < MAX_BITS && input_size / BYTES_PER_SLOT >> bits > 0) ++bits;
    names->mask = ((size_t)1 << bits) - 1;
    names->slots = zeroed_table((size_t)1 << bits, sizeof *names->slots);
    return names->slots != NULL;
}

/* ---- DIEs by their offset ------------------------------------------------------------ */

static void chain_init(die_chain *chain) {
    chain->count = 0;
    chain->linkage_name = chain->name = (dwarf_string){"", 0};
    chain->key = 0;
    chain->known = NULL;
    chain->is_call = false;
}

static bool unit_holds(const dwarf_unit *unit, uint64_t offset) {
    const dwarf_unit_header *header = unit->header;
    if (header == NULL || header->is_in_types) return false;
    offset ^= unit->file_bit;
    return offset >= header->offset + header->header_size && offset < header->end;
}

static bool open_foreign(name_resolver *resolver, const dwarf_input *input,
                         const dwarf_unit_header *header) {
    warning_list *warnings = resolver->warnings;
    uint32_t file = warnings->file;
    bool is_open;
    warnings->file = input->number;
    is_open = dwarf_unit_open(&resolver->foreign, input, header, NULL,
                              &resolver->foreign_abbrevs, warnings);
    warnings->file = file;
    return is_open;
}

/* Return the unit that contains a DIE, or NULL; valid until the next call. */
static const dwarf_unit *unit_of(name_resolver *resolver, uint64_t offset) {
    const dwarf_input *input = resolver->unit->input;
    const dwarf_unit_header *header;
    if (unit_holds(resolver->unit, offset)) return resolver->unit;
    if (unit_holds(&resolver->foreign, offset)) return &resolver->foreign;
    if (offset & DWARF_SUPPLEMENTARY) input = input->supplementary;
    header = input == NULL ? NULL
                           : dwarf_unit_holding(input, offset & ~DWARF_SUPPLEMENTARY);
    if (header == NULL || !open_foreign(resolver, input, header)) {
        resolver->foreign.header = NULL;
        return NULL;
    }
    resolver->foreign.file_bit = offset & DWARF_SUPPLEMENTARY;
    resolver->foreign.long_names = resolver->unit->long_names;
    return &resolver->foreign;
}

/* Warn of a reference that leads nowhere. */
static void warn_of_reference(const name_resolver *resolver, uint64_t offset) {
    const dwarf_unit *unit = resolver->unit;
    warning_list *warnings = resolver->warnings;
    uint32_t file = warnings->file;
    if (!(offset & DWARF_SUPPLEMENTARY)) {
        dwarf_warn(warnings, GSYM_WARN_REFERENCE, offset, unit->header->offset);
        return;
    }
    offset &= ~DWARF_SUPPLEMENTARY;
    if (unit->input->supplementary == NULL) {
        dwarf_warn(warnings, GSYM_WARN_SUPPLEMENTARY_MISSING, unit->header->offset, offset);
        return;
    }
    warnings->file = unit->input->supplementary->number;
    dwarf_warn(warnings, GSYM_WARN_REFERENCE, offset, unit->header->offset);
    warnings->file = file;
}

static const abbrev *read_die(const dwarf_unit *unit, uint64_t offset,
                              dwarf_fields *fields) {
    cursor c = dwarf_unit_cursor(unit, offset ^ unit->file_bit);
    const abbrev *a = abbrev_find(unit->abbrevs, cursor_uleb(&c));
    return a != NULL && abbrev_read(unit->abbrevs, a, &c, fields) ? a : NULL;
}

/* Return the offset of the DIE to which this one refers, or 0. */
static uint64_t next_of(const dwarf_unit *unit, const dwarf_fields *fields) {
    uint64_t offset;
    enum dwarf_field field = dwarf_has(fields, FIELD_SPECIFICATION)
                                 ? FIELD_SPECIFICATION
                                 : FIELD_ABSTRACT_ORIGIN;
    if (!dwarf_has(fields, field) ||
        !dwarf_reference_value(unit, fields->form[field], fields->raw[field], &offset))
        return 0;
    return offset;
}

/* Return the name of a type that is declared by its signature, from its type unit. */
static dwarf_string name_by_signature(name_resolver *resolver, const dwarf_input *input,
                                      uint64_t signature) {
    dwarf_string none = {"", 0};
    dwarf_unit_header header;
    dwarf_unit unit;
    dwarf_fields fields;
    uint64_t offset;
    if (!dwarf_type_unit(input, signature, &header) ||
        !dwarf_unit_open(&unit, input, &header, NULL, &resolver->foreign_abbrevs,
                         resolver->warnings))
        return none;
    offset = header.offset + header.type_offset;
    if (header.type_offset < header.header_size || offset >= header.end ||
        read_die(&unit, offset, &fields) == NULL || !dwarf_has(&fields, FIELD_NAME))
        return none;
    unit.long_names = resolver->unit->long_names;
    return dwarf_name_value(&unit, &fields, FIELD_NAME, offset, resolver->warnings);
}

/* Take a field as the name of a chain, by its bytes or as a known name. False if it is
 * empty. */
static bool take_name(const name_resolver *resolver, const dwarf_unit *unit,
                      const dwarf_fields *fields, enum dwarf_field field,
                      dwarf_string *name, die_chain *chain) {
    const dwarf_input *file = dwarf_string_file(unit, fields->form[field]);
    uint64_t raw = fields->raw[field];
    if (file != NULL && raw >> DWARF_OFFSET_BITS == 0) {
        uint64_t key = dwarf_key(file, raw);
        const known_name *known = known_names_slot(&resolver->known, key);
        bool is_known =
            known->key == key && cursor_spend_name(unit->long_names, known->size);
        chain->known = is_known ? known : NULL;
        if (is_known) return true;
        chain->key = key;
    }
    *name = dwarf_name_value(unit, fields, field, unit->header->offset, resolver->warnings);
    if (name->size == 0) chain->key = 0;
    return name->size > 0;
}

/* Warn of a chain of DIEs or of scopes that is too long. */
static void warn_of_limit(const name_resolver *resolver, const die_chain *chain) {
    dwarf_warn(resolver->warnings, GSYM_WARN_LIMIT, resolver->unit->header->offset,
               chain->offsets[0] & ~DWARF_SUPPLEMENTARY);
}

/* Read the DIE at `offset` and those to which it refers, one after the other, and keep the
 * first name. With `linkage_names_count`, a linkage name is better than other names and
 * ends the search. */
static void follow(name_resolver *resolver, uint64_t offset, bool linkage_names_count,
                   die_chain *chain) {
    bool is_plain =
        linkage_names_count && !dwarf_language_has_scopes(resolver->unit->language);
    while (offset != 0 && chain->count < DWARF_MAX_REFERENCE_CHAIN) {
        const dwarf_unit *unit = unit_of(resolver, offset);
        dwarf_fields fields;
        const abbrev *a = unit == NULL ? NULL : read_die(unit, offset, &fields);
        if (a == NULL) {
            warn_of_reference(resolver, offset);
            return;
        }
        chain->is_call = a->action == ACTION_INLINED;
        chain->offsets[chain->count++] = offset;
        offset = next_of(unit, &fields);
        if (linkage_names_count && dwarf_has(&fields, FIELD_LINKAGE_NAME) &&
            take_name(resolver, unit, &fields, FIELD_LINKAGE_NAME, &chain->linkage_name,
                      chain))
            return;
        if (dwarf_has(&fields, FIELD_NAME) && chain->name.size == 0) {
            if (is_plain && offset == 0) {
                (void)take_name(resolver, unit, &fields, FIELD_NAME, &chain->name, chain);
                return;
            }
            chain->name = dwarf_name_value(unit, &fields, FIELD_NAME,
                                           unit->header->offset, resolver->warnings);
        }
        if (chain->name.size == 0 && dwarf_has(&fields, FIELD_SIGNATURE) &&
            fields.form[FIELD_SIGNATURE] == DW_FORM_ref_sig8)
            chain->name = name_by_signature(resolver, unit->input,
                                            fields.raw[FIELD_SIGNATURE]);
    }
    if (offset != 0) warn_of_limit(resolver, chain);
}

/* ---- scopes -------------------------------------------------------------------------- */

static bool is_scope(const abbrev *a) {
    return a->action == ACTION_CLASS || a->action == ACTION_SCOPE ||
           a->action == ACTION_FUNCTION;
}

/* List the scopes among the DIEs from offset `from` on, up to the end of the list of
 * siblings there or to `end`. False where memory ran out. A DIE that cannot be read ends
 * the list. */
static bool scan_scopes(const dwarf_unit *unit, uint64_t from, uint64_t end,
                        scope_list *scopes) {
    uint32_t outer[DWARF_MAX_DEPTH];
    uint32_t current = NO_INDEX;
    unsigned depth = 0;
    cursor c = dwarf_unit_cursor(unit, from);
    while (cursor_left(&c) > 0 && cursor_offset(&c) < end) {
        uint64_t offset = cursor_offset(&c);
        uint64_t code = cursor_uleb(&c);
        const abbrev *a;
        if (code == 0) {
            if (c.failed || depth == 0) break;
            if (current != outer[--depth] && current != NO_INDEX)
                scopes->items[current].end = offset;
            current = outer[depth];
            continue;
        }
        a = abbrev_find(unit->abbrevs, code);
        if (a == NULL || !abbrev_skip(unit->abbrevs, a, &c)) break;
        if (!a->has_children) continue;
        if (depth == DWARF_MAX_DEPTH || scopes->count >= NO_INDEX) break;
        outer[depth++] = current;
        if (a->action == ACTION_INLINED) current = NO_INDEX;
        if (!is_scope(a)) continue;
        if (!LIST_RESERVE(*scopes, 1)) return false;
        scopes->items[scopes->count] = (walk_scope){
            offset, cursor_offset(&c), unit->header->end, current, a->tag, false};
        current = (uint32_t)scopes->count++;
    }
    return true;
}

/* Return the scopes between two offsets that the walk skipped; NULL: out of memory. */
static const scope_list *scanned_from(name_resolver *resolver, const dwarf_unit *unit,
                                      uint64_t from, uint64_t end) {
    uint64_t key = dwarf_key(unit->input, from), index;
    if (!number_map_find(&resolver->scanned_from, key, &index)) {
        index = resolver->scanned.count;
        if (!LIST_ADD(resolver->scanned, (scope_list){0}) ||
            !scan_scopes(unit, from, end, &resolver->scanned.items[index]) ||
            !number_map_set(&resolver->scanned_from, key, index)) {
            resolver->foreign_abbrevs.failed = true; /* which fails the conversion */
            return NULL;
        }
    }
    return &resolver->scanned.items[index];
}

void name_resolver_deinit(name_resolver *resolver) {
    for (size_t i = 0; i < resolver->scanned.count; ++i)
        free(resolver->scanned.items[i].items);
    free(resolver->scanned.items);
    number_map_deinit(&resolver->scanned_from);
    abbrev_cache_deinit(&resolver->foreign_abbrevs);
}

/* Return the innermost of `count` scopes around `target`, or NULL. */
static const walk_scope *innermost(const walk_scope *scopes, size_t count,
                                   uint64_t target) {
    size_t low = 0;
    const walk_scope *scope;
    SEARCH_SORTED(low, count, scopes[middle].offset < target);
    if (low < count && scopes[low].offset == target) /* the target is a scope itself */
        return scopes[low].parent == NO_INDEX ? NULL : &scopes[scopes[low].parent];
    if (low == 0) return NULL;
    scope = &scopes[low - 1];
    while (scope->end <= target) {
        if (scope->parent == NO_INDEX) return NULL;
        scope = &scopes[scope->parent];
    }
    return scope;
}

/* Find a part of a unit that contains all scopes around a DIE outside of the walk. In
 * a giant unit, this is the piece with the DIE or, after the piece of the walk, where the
 * cuts are not known yet, the rest of the unit. */
static void part_around(const name_resolver *resolver, const dwarf_unit *unit,
                        uint64_t offset, uint64_t *from_ret, uint64_t *end_ret) {
    size_t low = 0;
    *from_ret = unit->first_child;
    *end_ret = unit->header->end;
    if (unit != resolver->unit || resolver->cut_count == 0) return;
    SEARCH_SORTED(low, resolver->cut_count, resolver->cuts[middle] <= offset);
    if (low > 1) *from_ret = resolver->cuts[low - 1];
    if (low < resolver->cut_count)
        *end_ret = resolver->cuts[low];
    else if (offset >= resolver->walk->end)
        *from_ret = resolver->walk->end;
}

/* Return the offset of the scope around the DIE at `offset`, or 0. */
static uint64_t scope_around(name_resolver *resolver, uint64_t offset) {
    const dwarf_unit *unit = unit_of(resolver, offset);
    const scope_list *scanned;
    const walk_scope *scope, *inner;
    if (unit == NULL) return 0;
    offset ^= unit->file_bit;
    if (unit == resolver->unit && offset >= resolver->walk->start &&
        offset < resolver->walk->reached) {
        scope = innermost(resolver->walk->scopes.items, resolver->walk->scopes.count,
                          offset);
        if (scope == NULL || !scope->is_skipped) return scope == NULL ? 0 : scope->offset;
        scanned = scanned_from(resolver, unit, scope->children, scope->end);
    } else {
        uint64_t from, end;
        scope = NULL;
        part_around(resolver, unit, offset, &from, &end);
        scanned = scanned_from(resolver, unit, from, end);
    }
    inner = scanned == NULL ? NULL : innermost(scanned->items, scanned->count, offset);
    if (inner != NULL) return inner->offset | unit->file_bit;
    return scope == NULL ? 0 : scope->offset;
}

/* Return the offset of the scope around the last DIE of a chain that has one, or 0. */
static uint64_t scope_of_chain(name_resolver *resolver, const die_chain *chain) {
    for (unsigned i = chain->count; i > 0; --i) {
        uint64_t scope = scope_around(resolver, chain->offsets[i - 1]);
        if (scope != 0) return scope;
    }
    return 0;
}

/* ---- composing ----------------------------------------------------------------------- */

static bool is_anonymous_class(const dwarf_string *name) {
    return name->size > 1 && name->bytes[0] == '<' && name->bytes[name->size - 1] == '>';
}

/* Whether a DW_AT_name is a linkage name with a suffix, as GCC names a part of a method:
 * `_ZN1A1fEv.part.0`. */
static bool is_made_of_linkage_name(const dwarf_string *name) {
    if (name->size < 2 || memcmp(name->bytes, "_Z", 2) != 0) return false;
    return strstr(name->bytes, ".isra.") != NULL || strstr(name->bytes, ".part.") != NULL;
}

/* Whether a name contains its scopes already: names of Ada (`pack__part__name`), and those
 * of methods of Objective-C (`-[Class name:]`). */
static bool has_its_scopes(uint64_t language, const dwarf_string *name) {
    switch (language) {
        case DW_LANG_Ada83:
        case DW_LANG_Ada95:
        case DW_LANG_Ada2005:
        case DW_LANG_Ada2012: return true;
        default:
            return name->size > 1 && (name->bytes[0] == '-' || name->bytes[0] == '+') &&
                   name->bytes[1] == '[';
    }
}

static void put_scope(buffer *arena, const dwarf_string *name) {
    if (is_anonymous_class(name)) {
        buffer_put_u8(arena, '{');
        buffer_put(arena, name->bytes + 1, name->size - 2);
        buffer_put_u8(arena, '}');
    } else {
        buffer_put(arena, name->bytes, name->size);
    }
    buffer_put(arena, "::", 2);
}

/* Compose the name of a chain and its scopes in the arena, if it has scopes. */
static bool compose(name_resolver *resolver, const die_chain *chain, resolved_name *ret) {
    dwarf_string scopes[MAX_SCOPES];
    unsigned count = 0;
    uint64_t offset = scope_of_chain(resolver, chain);
    buffer *arena = resolver->arena;
    for (unsigned step = 0; offset != 0 && step < MAX_SCOPES; ++step) {
        die_chain scope;
        chain_init(&scope);
        follow(resolver, offset, false, &scope);
        if (scope.name.size > 0) scopes[count++] = scope.name;
        offset = scope_of_chain(resolver, &scope);
    }
    if (offset != 0) warn_of_limit(resolver, chain);
    if (count == 0) return true;
    ret->arena_offset = arena->size;
    while (count > 0) put_scope(arena, &scopes[--count]);
    buffer_put(arena, chain->name.bytes, chain->name.size);
    ret->bytes = NULL;
    ret->size = arena->size - ret->arena_offset;
    return !arena->failed && dwarf_spend(&resolver->budget->text, ret->size);
}

static bool name_of_chain(name_resolver *resolver, const die_chain *chain,
                          resolved_name *ret) {
    bool has_linkage_name = chain->linkage_name.size > 0;
    const dwarf_string *name = has_linkage_name ? &chain->linkage_name : &chain->name;
    const known_name *known = chain->known;
    *ret = (resolved_name){.bytes = name->bytes, .size = name->size, .key = chain->key};
    if (known != NULL) {
        *ret = (resolved_name){.size = known->size, .strp = known->strp,
                               .hash = known->hash};
        return true;
    }
    if (has_linkage_name || name->size == 0 || chain->is_call ||
        is_made_of_linkage_name(name) ||
        has_its_scopes(resolver->unit->language, name) ||
        !dwarf_language_has_scopes(resolver->unit->language))
        return true;
    return compose(resolver, chain, ret);
}

bool dwarf_resolve_name(name_resolver *resolver, uint64_t offset, resolved_name *ret) {
    die_chain chain;
    chain_init(&chain);
    follow(resolver, offset, true, &chain);
    return name_of_chain(resolver, &chain, ret);
}

/* The search for a name in a DIE of the unit or in the one to which that refers, as most
 * are. */
typedef struct name_search {
    uint64_t offset; /* of the DIE that is read next; 0: none */
    uint64_t key;    /* as in known_name; 0: the name is in no .debug_str */
    uint64_t raw;    /* the attribute with the name */
    uint16_t form;   /* 0: the name was not found in this way */
} name_search;

/* Read the next DIE of a search as follow() does. */
static void search_die(const name_resolver *resolver, bool is_plain, name_search *search) {
    const dwarf_unit *unit = resolver->unit;
    uint64_t offset = search->offset;
    const dwarf_input *file;
    enum dwarf_field field = FIELD_LINKAGE_NAME;
    dwarf_fields fields;
    search->offset = 0;
    if (!unit_holds(unit, offset) || read_die(unit, offset, &fields) == NULL) return;
    offset = next_of(unit, &fields);
    if (!dwarf_has(&fields, FIELD_LINKAGE_NAME)) {
        field = FIELD_NAME;
        if (!dwarf_has(&fields, FIELD_NAME)) {
            search->offset = offset;
            if (offset != 0) dwarf_unit_fetch(unit, offset);
            return;
        }
        if (!is_plain || offset != 0) return;
    }
    search->form = fields.form[field];
    search->raw = fields.raw[field];
    file = dwarf_string_file(unit, search->form);
    if (file == NULL || search->raw >> DWARF_OFFSET_BITS != 0) return;
    search->key = dwarf_key(file, search->raw);
    __builtin_prefetch(known_names_slot(&resolver->known, search->key));
}

/* Take a name that is known, or prefetch its bytes. Long names are left to
 * dwarf_resolve_name(), which spends their limit in the order of the calls, whichever of
 * them are known to this worker. */
static void search_known(const name_resolver *resolver, const name_search *search,
                         resolved_name *ret) {
    const dwarf_input *file = dwarf_string_file(resolver->unit, search->form);
    const known_name *known = known_names_slot(&resolver->known, search->key);
    if (known->key == search->key && known->size <= NAME_SIZE)
        *ret = (resolved_name){.size = known->size, .strp = known->strp,
                               .hash = known->hash};
    else if (search->raw < file->sections[GSYM_DEBUG_STR].size)
        __builtin_prefetch(file->sections[GSYM_DEBUG_STR].data + search->raw);
}

bool dwarf_resolve_names(name_resolver *resolver, const uint64_t *offsets, size_t count,
                         resolved_name *ret) {
    bool is_plain = !dwarf_language_has_scopes(resolver->unit->language);
    name_search searches[NAMES_AT_ONCE];
    for (size_t i = 0; i < count; ++i) {
        searches[i] = (name_search){.offset = offsets[i]};
        ret[i] = (resolved_name){.size = 0};
        search_die(resolver, is_plain, &searches[i]);
    }
    for (size_t i = 0; i < count; ++i)
        if (searches[i].offset != 0) search_die(resolver, is_plain, &searches[i]);
    for (size_t i = 0; i < count; ++i)
        if (searches[i].key != 0) search_known(resolver, &searches[i], &ret[i]);
    for (size_t i = 0; i < count; ++i) {
        dwarf_string name;
        if (ret[i].size > 0) continue;
        name = dwarf_string_value(resolver->unit, searches[i].form, searches[i].raw);
        if (name.size > 0)
            ret[i] = (resolved_name){.bytes = name.bytes, .size = name.size,
                                     .key = searches[i].key};
        else if (!dwarf_resolve_name(resolver, offsets[i], &ret[i]))
            return false;
    }
    return true;
}

void dwarf_fetch_function(const name_resolver *resolver, const walk_function *function) {
    bool is_linked = function->linkage_name_form != 0;
    uint16_t form = is_linked ? function->linkage_name_form : function->name_form;
    uint64_t raw = is_linked ? function->linkage_name : function->name;
    const dwarf_input *file = dwarf_string_file(resolver->unit, form);
    if (form == 0)
        dwarf_unit_fetch(resolver->unit, function->origin);
    else if (file != NULL && raw < file->sections[GSYM_DEBUG_STR].size)
        __builtin_prefetch(file->sections[GSYM_DEBUG_STR].data + raw);
}

bool dwarf_function_name(name_resolver *resolver, const walk_function *function,
                         resolved_name *ret) {
    const dwarf_unit *unit = resolver->unit;
    die_chain chain;
    chain_init(&chain);
    chain.count = 1;
    chain.offsets[0] = function->offset;
    if (function->linkage_name_form != 0)
        chain.linkage_name =
            dwarf_name_at(unit, function->linkage_name_form, function->linkage_name,
                          function->offset, resolver->warnings);
    if (chain.linkage_name.size == 0 && function->name_form != 0)
        chain.name = dwarf_name_at(unit, function->name_form, function->name,
                                   function->offset, resolver->warnings);
    if (chain.linkage_name.size == 0) follow(resolver, function->origin, true, &chain);
    return name_of_chain(resolver, &chain, ret);
}

void dwarf_declaration(name_resolver *resolver, uint64_t offset, uint64_t *file_ret,
                       uint64_t *line_ret, uint64_t *cost) {
    /* The file numbers of a split unit are those of another line table. */
    bool has_file = resolver->unit->code != resolver->unit->input;
    *file_ret = UINT32_MAX;
    *line_ret = 0;
    for (unsigned i = 0; offset != 0 && i < DWARF_MAX_REFERENCE_CHAIN; ++i) {
        const dwarf_unit *unit = unit_of(resolver, offset);
        cursor c;
        const abbrev *a;
        dwarf_fields fields;
        if (unit == NULL) return;
        c = dwarf_unit_cursor(unit, offset ^ unit->file_bit);
        a = abbrev_find(unit->abbrevs, cursor_uleb(&c));
        if (a == NULL) return;
        if (!has_file && unit == resolver->unit)
            has_file =
                abbrev_read_attribute(unit->abbrevs, a, c, DW_AT_decl_file, file_ret, cost);
        if (*line_ret == 0)
            (void)abbrev_read_attribute(unit->abbrevs, a, c, DW_AT_decl_line, line_ret,
                                        cost);
        if ((has_file && *line_ret != 0) ||
            !abbrev_read(unit->abbrevs, a, &c, &fields))
            return;
        offset = next_of(unit, &fields);
    }
}
