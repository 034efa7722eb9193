/* go_pclntab.h - the table of functions that a Go binary carries for its own run time.
 *
 * Stripping leaves the table alone. It has names, files, lines and inlined calls, laid out
 * as Go's runtime/symtab.go and cmd/link/internal/ld/pcln.go tell: a header with the
 * places of its parts, names, the files of each unit, paths, pc-value tables (go_values.h)
 * and the functions, in order of address. go_search.c finds the table, go_module.c what it
 * leaves to the module data. */
#ifndef GSYM_SOURCES_GO_PCLNTAB_H
#define GSYM_SOURCES_GO_PCLNTAB_H

#include "containers/object.h"

/* Of the magic number and what stands behind it: two zeros, quantum, size of pointers. */
#define GO_MAGIC_SIZE 8

/* The first Go of each layout. */
typedef enum go_layout {
    GO_LAYOUT_1_16, /* addresses are absolute */
    GO_LAYOUT_1_18, /* they count from the start of the code */
    GO_LAYOUT_1_20  /* functions and inlined calls tell where they start */
} go_layout;

typedef struct go_pclntab {
    const gsym_object *object;
    go_layout layout;
    uint64_t address; /* of its header */
    uint64_t offset;  /* of its header in the file */
    uint64_t end;     /* of its bytes in the file */
    unsigned quantum; /* bytes: code grows by no fewer */
    unsigned pointer_size;
    uint32_t function_count;
    uint64_t names_address; /* which the module data repeats */
    uint64_t text;  /* what addresses count from; GO_LAYOUT_1_16: 0 */
    uint64_t trees; /* likewise those of inlined calls; 0: not known */
    uint64_t work_left; /* words that may still be read to find these two, and sections */
    gsym_object_section tree_section; /* that had the last inlined calls */
    /* Each from its start to the end of the table. */
    cursor names;
    cursor units; /* for each file of each unit: where its path is */
    cursor paths;
    cursor values;
    cursor functions;
} go_pclntab;

/* A function as the table has it; the last four are places of pc-value tables, 0: it has
 * none. */
typedef struct go_function {
    uint64_t address;
    uint64_t size;   /* up to where the next one starts */
    uint64_t offset; /* of its record in the file */
    uint64_t tree;   /* address of its inlined calls; 0: none, or not known */
    uint32_t name;   /* place of its name */
    uint32_t unit;   /* place of its files; UINT32_MAX: none */
    uint32_t files;
    uint32_t lines;
    uint32_t calls;
    bool is_gap; /* between code of one section and another: no function */
} go_function;

/* Take words from the work that is left. Sections may lie over each other, and what stands
 * in a file once may be tried for many things: none of it takes more than a time that the
 * size of the file sets. */
static inline bool go_pclntab_spend(go_pclntab *table, uint64_t words) {
    bool is_enough = words <= table->work_left;
    table->work_left = is_enough ? table->work_left - words : 0;
    return is_enough;
}

/* Find and open the table of an object. *is_found_ret false: this is no Go binary. Fails
 * where the table is damaged as a whole or of an older Go. */
gsym_status go_pclntab_open(const gsym_object *object, go_pclntab *table_ret,
                            bool *is_found_ret, gsym_error *error);
/* Whether a table may start at `c`; *magic_ret is what go_pclntab_read_header asks for. */
bool go_pclntab_starts(cursor c, const gsym_object *object, uint32_t *magic_ret);
/* Read the header of a table of which object, pointer_size, address, offset and end are
 * set. */
gsym_status go_pclntab_read_header(go_pclntab *table, uint32_t magic, gsym_error *error);
/* Where function `index` < function_count starts. */
uint64_t go_pclntab_address(const go_pclntab *table, uint32_t index);
/* False where its record is damaged; `offset` is set all the same. */
bool go_pclntab_function(const go_pclntab *table, uint32_t index, go_function *ret);
/* NULL where there is none at this place, or it is longer than any language makes. */
const char *go_pclntab_name(const go_pclntab *table, uint32_t place, size_t *size_ret);
/* Where the path of file `number` of a unit is; false where that is not known. */
bool go_pclntab_path_place(const go_pclntab *table, uint32_t unit, int32_t number,
                           uint32_t *place_ret);
/* The path at a place, likewise NULL. */
const char *go_pclntab_path(const go_pclntab *table, uint32_t place, size_t *size_ret);

/* The bytes at an address, to the end of the section that holds it; none, and failed, where
 * too much work went into such searches. */
cursor go_bytes_at(go_pclntab *table, uint64_t address);
static inline cursor go_section_bytes(const gsym_object *object,
                                      const gsym_object_section *section) {
    return cursor_at(object->data, section->offset + section->size, section->offset,
                     object->header.big_endian != 0);
}

/* Sections of data that are loaded, and that the file has as they are. */
bool go_holds_data(const gsym_object *object, uint32_t index,
                   gsym_object_section *section_ret);
/* Set `text` and `trees`. False where there is no module data of this table. */
bool go_read_module(go_pclntab *table);

#endif
