/* walk.h - visit the DIEs of a unit once, and list its functions, inlined calls, call sites
 * and scopes. */
#ifndef GSYM_DWARF_WALK_H
#define GSYM_DWARF_WALK_H

#include "dwarf/ranges.h"

/* Limit: Nested DIEs */
#define DWARF_MAX_DEPTH 4096

typedef struct walk_function {
    uint64_t offset; /* of the DIE */
    uint64_t origin; /* specification or abstract_origin, 0: none */
    /* The attributes with its names, which are read only when they are needed; form 0: it
     * has none. */
    uint64_t linkage_name;
    uint64_t name;
    uint16_t linkage_name_form;
    uint16_t name_form;
    uint32_t range_first;
    uint32_t range_count;
    uint32_t node_first; /* the range of nodes includes those of functions nested in this
                            one */
    uint32_t node_end;
    uint32_t site_first;
    uint32_t site_end;
    uint64_t stmt_sequence; /* UINT64_MAX: none */
} walk_function;

typedef struct walk_node {
    uint64_t offset;
    uint64_t origin;
    uint32_t function; /* index of the function it was inlined into */
    uint32_t depth;    /* 1: called by the function itself */
    uint32_t outer;    /* index of the call that it was inlined into, or NO_INDEX */
    uint32_t range_first;
    uint32_t range_count;
    uint64_t call_file;
    uint32_t call_line;
    bool has_call_file;
} walk_node;

typedef struct walk_call_site {
    uint64_t return_address;
    uint64_t origin; /* DIE of the callee, 0: none */
    uint32_t function;
} walk_call_site;

/* A scope: a DIE whose name begins the full names of what is declared in it. */
typedef struct walk_scope {
    uint64_t offset;
    uint64_t children; /* offset of the first DIE inside */
    uint64_t end;
    uint32_t parent; /* index, or NO_INDEX */
    uint16_t tag;
    bool is_skipped; /* the walk jumped over its children */
} walk_scope;

/* A walk over the DIEs of a unit, or of a piece of it: some of the children of its root.
 * The caller sets max_functions; the walk sets the rest. */
typedef struct unit_walk {
    size_t max_functions; /* number of functions at which the walk pauses; 0: never */
    uint64_t start, end; /* offsets of the first DIE of the walk, and after the last one */
    uint64_t reached; /* offset of the DIE where it goes on, or `end` */
    uint64_t outside; /* number of ranges of functions that are not in the text */
    LIST(walk_function) functions;
    LIST(walk_node) nodes;
    LIST(walk_call_site) call_sites;
    LIST(walk_scope) scopes; /* in order of their offset */
    range_list ranges;
    lists_read lists;
    LIST(struct walk_level) levels;
} unit_walk;

/* Visit those DIEs of a unit that are from offset `from` to `to`, which must be the ends of
 * children of its root or be outside of all. False where memory ran out. */
bool dwarf_walk_unit(unit_walk *walk, const dwarf_unit *unit, uint64_t from, uint64_t to,
                     warning_list *warnings);
/* Return the offset of the first child of the root at or after `least`. The search begins
 * at the child at `from`. DW_AT_sibling leads from a child to the next one; without it, and
 * in a full walk, all DIEs of a child are stepped over. If a DIE cannot be read, return the
 * end of the unit. */
uint64_t dwarf_child_from(const dwarf_unit *unit, uint64_t from, uint64_t least);
/* Whether the walk of a unit has paused. Then the lists have complete functions, and
 * dwarf_walk_on() empties all lists but the scopes and reads the next functions. */
static inline bool dwarf_walk_pauses(const unit_walk *walk) {
    return walk->reached < walk->end;
}
bool dwarf_walk_on(unit_walk *walk, const dwarf_unit *unit, warning_list *warnings);
void unit_walk_deinit(unit_walk *walk);

#endif
