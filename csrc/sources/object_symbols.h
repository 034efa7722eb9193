/* object_symbols.h - the functions that a symbol table names, whatever the container. */
#ifndef GSYM_SOURCES_OBJECT_SYMBOLS_H
#define GSYM_SOURCES_OBJECT_SYMBOLS_H

#include "containers/object.h"

/* Sizes for the symbols of a table that gives none: a function is taken to end where the
 * next known start of its section is. */
typedef struct symbol_starts {
    uint64_t *items;
    size_t count, capacity;
} symbol_starts;

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error);
/* Call it after the last addition and before the first query. */
void symbol_starts_sort(symbol_starts *starts);
/* The first one above `address`, at the most `end`. */
uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end);

/* The symbols of a container. */
gsym_status elf_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                            gsym_error *error);
gsym_status macho_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                              gsym_error *error);
gsym_status pe_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                           gsym_error *error);

#endif
