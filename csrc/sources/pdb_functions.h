/* pdb_functions.h - read the modules of a PDB as units of a conversion.
 *
 * pdb_functions.c walks the symbols of a module; pdb_lines.c reads its C11 and C13 parts:
 * files, line records and where inlined functions are declared; pdb_inlines.c makes rows
 * and nodes of the annotations of inline sites; pdb_names.c numbers names; pdb_publics.c
 * adds public symbols. */
#ifndef GSYM_SOURCES_PDB_FUNCTIONS_H
#define GSYM_SOURCES_PDB_FUNCTIONS_H

#include "base/path_rules.h"
#include "base/tables.h"
#include "create/creator.h"
#include "create/inline_builder.h"
#include "pdb/pdb.h"
#include "sources/unit_functions.h"

/* Where an inlined function is declared. */
typedef struct pdb_inlinee {
    uint32_t file; /* offset of the file's checksum */
    uint32_t line;
} pdb_inlinee;

/* An inline site: an S_INLINESITE symbol in the function being read, which stands for one
 * inlined function. Sites are numbered from 1; 0 is the function itself. */
typedef struct pdb_site {
    uint32_t parent; /* the site that contains it */
    uint32_t level;  /* counts from 1 */
    uint32_t inlinee;
    uint32_t newest; /* number of its record that was made last, from 1; 0: none */
} pdb_site;

/* A site with one line of its call, which becomes a node. A site has several records if the
 * line of the call changes. */
typedef struct pdb_site_record {
    uint32_t site;
    uint32_t call_file, call_line;
    uint32_t previous; /* number of the record of the same site that was made before this
                          one, from 1; 0: none */
} pdb_site_record;

/* A range of a function in which a site, or the function itself, has one line. */
typedef struct pdb_span {
    uint64_t key; /* level << 32 | start; the spans of a function are cut and kept in this
                     order */
    uint32_t end; /* offset in the function, as the start */
    uint32_t site; /* 0: the function */
    uint32_t file, line;
} pdb_span;

typedef LIST(pdb_span) pdb_span_list;

typedef struct pdb_scope {
    uint32_t site; /* innermost */
    bool is_function;
} pdb_scope;

/* The function being read: S_GPROC32 or a similar symbol. "Source" is the image before an
 * optimizer moved its code. */
typedef struct pdb_function {
    uint64_t address; /* in the source */
    uint32_t size;
    uint32_t name; /* index in `names` of the module, or NO_INDEX */
    uint64_t offset; /* of the symbol, for warnings */
} pdb_function;

/* What one worker needs to read modules; its memory is used again for the next module. */
typedef struct pdb_reader {
    const gsym_pdb *pdb;
    uint64_t base; /* address of the image, to which offsets in the PDB are added */
    const path_rule_list *path_rules;
    warning_list *warnings;
    dwarf_budget *budget;
    const gsym_creator *creator;
    known_names known; /* borrowed: names that the worker knows */
    unit_functions *result;
    pdb_namer namer;
    uint32_t stream;
    uint32_t language; /* of the module, by S_COMPILE3 */
    uint64_t done;     /* bytes of modules that were read since pages of types were
                          released last */
    /* of the module */
    buffer copy;       /* bytes of its stream */
    cursor checksums, imports;
    number_map files; /* offset of a checksum, or offset of a file in C11 << 32 -> file
                         index */
    /* Addresses are those of the source. */
    number_map lines;    /* address << 32 | size of code that has lines already */
    number_map inlinees; /* id -> index in inlinee_lines */
    LIST(pdb_inlinee) inlinee_lines;
    number_map names; /* id of an inlinee -> name */
    number_map procs; /* address of a function -> name */
    uint64_t row_budget;
    size_t line_count; /* rows of the module, with which result->rows begins */
    range_list covered; /* by functions */
    /* of the function */
    bool is_in_function;
    pdb_function function;
    LIST(pdb_scope) scopes;
    LIST(pdb_site) sites;
    LIST(pdb_site_record) records;
    pdb_span_list spans, placed;
    LIST(size_t) open; /* indexes in `placed` */
    inline_piece_list pieces;
    inline_builder builder;
    /* if an optimizer moved the function: where its bytes are now, and its spans and pieces
     * in the source */
    pdb_moved_list moved;
    pdb_span_list source_placed;
    inline_piece_list source_pieces;
} pdb_reader;

void pdb_reader_deinit(pdb_reader *reader);
/* Read module `index`. False where memory ran out or the budget is spent; damage is a
 * warning. */
bool pdb_module_read(unit_functions *result, pdb_reader *reader, size_t index);
/* Return the size of the symbols and lines of a module. */
uint64_t pdb_module_size(const gsym_pdb *pdb, size_t index);

/* ---- pdb_names.c --------------------------------------------------------------------- */

/* Give a name its number in the module; NO_INDEX if it is empty. The name is a known one,
 * or in the arena. */
bool pdb_add_name(pdb_reader *reader, unit_name *name, uint32_t *name_ret);
/* Whether names of functions in the module's language contain their parameters. */
bool pdb_has_parameters(const pdb_reader *reader);
/* Find the name of an id; NO_INDEX: it has none. */
bool pdb_name_of_id(pdb_reader *reader, uint32_t id, uint32_t *name_ret);

/* ---- pdb_lines.c: these return false where memory ran out or the budget is spent ---- */

/* Read the two parts of a module with lines, C11 and C13. Their rows are appended to the
 * result in ascending order, with line 0 where a gap begins. */
bool pdb_lines_read(pdb_reader *reader, cursor c11, cursor c13);
/* Add the rows that no function has: assemblers write lines and public symbols. */
bool pdb_lines_add_uncovered(pdb_reader *reader);
/* Find the file index of a checksum. */
bool pdb_file_index(pdb_reader *reader, uint32_t checksum, uint32_t *file_ret);
/* Find the rows of the module for the addresses from `start` to `end`, with the row before
 * them if it covers the start. */
void pdb_lines_find(const pdb_reader *reader, uint64_t start, uint64_t end,
                    uint32_t *first_ret, uint32_t *count_ret);

/* ---- pdb_inlines.c ------------------------------------------------------------------- */

/* Add a site and read its annotations. */
bool pdb_inlines_add_site(pdb_reader *reader, uint32_t parent, uint32_t inlinee,
                          cursor annotations);
/* Make the rows and nodes of a function that has sites. */
bool pdb_inlines_join(pdb_reader *reader, unit_function *function);
/* Do the same for a function that an optimizer moved: pdb_inlines_join_source() makes its
 * spans and pieces as in the source; then pdb_inlines_move() makes the rows and nodes of
 * one part of it, which has the `count` ranges from reader->moved.items[first] on. */
bool pdb_inlines_join_source(pdb_reader *reader, const unit_function *source);
bool pdb_inlines_move(pdb_reader *reader, unit_function *part, size_t first, size_t count);

#endif
