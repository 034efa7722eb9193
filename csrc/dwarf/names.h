/* names.h - resolve names of functions and inlined calls, and the DIEs that declare
 * them. */
#ifndef GSYM_DWARF_NAMES_H
#define GSYM_DWARF_NAMES_H

#include "base/buffer.h"
#include "base/tables.h"
#include "dwarf/walk.h"

/* Limit: `abstract_origin` and `specification` from DIE to DIE */
#define DWARF_MAX_REFERENCE_CHAIN 64

typedef LIST(walk_scope) scope_list;

/* A linkage name that has its number in the output already. Units share most of their
 * names, and finding a name by its offset is faster than reading its bytes again. */
typedef struct known_name {
    uint64_t key; /* dwarf_key of its offset in .debug_str */
    uint64_t strp;
    uint64_t hash;
    size_t size;
} known_name;

/* A table of known names, in which a newer name replaces an older one. */
typedef struct known_names {
    known_name *slots;
    size_t mask; /* of the number of a slot */
} known_names;

/* Create the table for an input of `input_size` bytes. False if memory ran out. */
bool known_names_init(known_names *names, uint64_t input_size);

/* Names that are neighbours in .debug_str, as those of one header mostly are, have
 * neighbouring slots, so that several share a cache line. */
static inline known_name *known_names_slot(const known_names *names, uint64_t key) {
    enum { BYTES_OF_SLOT_BITS = 3 };
    return &names->slots[(size_t)(key >> BYTES_OF_SLOT_BITS) & names->mask];
}

/* The state of finding names for one unit; other units are opened for references to
 * them. */
typedef struct name_resolver {
    const dwarf_unit *unit;
    const unit_walk *walk;
    const uint64_t *cuts; /* offsets at which the pieces of the unit begin, up to that of
                             the walk; each is that of a child of the root */
    size_t cut_count;     /* 0: the walk is of the complete unit */
    warning_list *warnings;
    abbrev_cache foreign_abbrevs;
    dwarf_unit foreign; /* the unit that was opened last for such a reference */
    LIST(scope_list) scanned; /* lists of scopes that the walk did not visit */
    number_map scanned_from;  /* dwarf_key of the first DIE of a list -> its index */
    known_names known; /* borrowed */
    buffer *arena; /* for names that are concatenated */
    dwarf_budget *budget;
} name_resolver;

void name_resolver_deinit(name_resolver *resolver);

/* A name in the input or, with `bytes` NULL, at `arena_offset`. */
typedef struct resolved_name {
    const char *bytes;
    size_t size; /* 0: no name */
    size_t arena_offset;
    uint64_t key;  /* as in known_name; 0: the name is not in .debug_str */
    uint64_t strp; /* 0: not known yet */
    uint64_t hash; /* set if strp is known */
} resolved_name;

enum { NAMES_AT_ONCE = 16 };

/* Find the linkage name of the function at `offset`, or else compose its name with those
 * of the scopes around it. False where memory ran out or the budget is spent. */
bool dwarf_resolve_name(name_resolver *resolver, uint64_t offset, resolved_name *ret);
/* Find the names of up to NAMES_AT_ONCE functions or calls as dwarf_resolve_name() does,
 * side by side: what one needs next is prefetched while the others are read. */
bool dwarf_resolve_names(name_resolver *resolver, const uint64_t *offsets, size_t count,
                         resolved_name *ret);
/* Find the name of a function of the walk, whose own DIE has been read. */
bool dwarf_function_name(name_resolver *resolver, const walk_function *function,
                         resolved_name *ret);
/* Prefetch what dwarf_function_name() reads first. */
void dwarf_fetch_function(const name_resolver *resolver, const walk_function *function);
/* Find file and line of the declaration of the function or call at `offset`, in its own DIE
 * or in those to which it refers. An unknown file is UINT32_MAX, an unknown line 0. *cost
 * grows by the number of attributes that are read. */
void dwarf_declaration(name_resolver *resolver, uint64_t offset, uint64_t *file_ret,
                       uint64_t *line_ret, uint64_t *cost);
/* Whether the name of a function without a linkage name begins with the names of the scopes
 * around it, in this language. */
bool dwarf_language_has_scopes(uint64_t language);

#endif
