/* symbols.h - read symbol tables of ELF, Mach-O and PE files, and list live code. */
#ifndef GSYM_SOURCES_SYMBOLS_H
#define GSYM_SOURCES_SYMBOLS_H

#include "base/list.h"
#include "containers/elf.h"
#include "containers/macho.h"
#include "containers/pe.h"
#include "containers/object.h"
#include "create/creator.h"
#include "sources/debug_files.h"

/* Starts of functions, for a symbol table without sizes: a function is assumed to end at
 * the next known start in its section. */
typedef LIST(uint64_t) symbol_starts;

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error);
/* Sort the starts, after the last addition and before the first query. */
void symbol_starts_sort(symbol_starts *starts);
/* Return the first start above `address`, or `end` if that is lower. */
uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end);

/* As gsym_conversion_add_object_symbols(), but with the limit on strings as it is. */
gsym_status conversion_read_symbols(gsym_conversion *conversion, const gsym_object *object,
                                    const gsym_object *image, gsym_error *error);
gsym_status elf_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                            gsym_error *error);
/* Add the functions of the table of a kernel of Linux, if there is one. */
gsym_status elf_add_kernel_symbols(gsym_conversion *conversion, const elf_object *elf,
                                   gsym_error *error);

/* A function that a symbol names. */
typedef struct symbol_function {
    uint64_t address;
    uint64_t size; /* 0: not known */
    const char *name;
    size_t name_size;
} symbol_function;

typedef LIST(symbol_function) symbol_function_list;

/* Append a row, unless file and line are those of the row before. False where memory ran
 * out. */
static inline bool add_changed_row(row_list *rows, gsym_line_row row) {
    const gsym_line_row *last = rows->count == 0 ? NULL : &rows->items[rows->count - 1];
    return (last != NULL && last->file == row.file && last->line == row.line) ||
           LIST_ADD(*rows, row);
}

void symbol_functions_sort(symbol_function_list *list);
/* List the functions of the symbol table of an ELF file, sorted by address; those without a
 * size extend to the next one. */
gsym_status elf_list_functions(gsym_conversion *conversion, const gsym_object *object,
                               symbol_function_list *list, gsym_error *error);
gsym_status macho_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                              gsym_error *error);
gsym_status wasm_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                             gsym_error *error);
/* Add the symbols of `object`. `image` has the unwind table, which says where functions
 * start; it may be NULL. */
gsym_status pe_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                           const gsym_object *image, gsym_error *error);

/* The state of listing the addresses of symbols and of the entry point, at which there is
 * code. */
typedef struct live_list {
    gsym_conversion *conversion;
    uint64_t name_bytes_left;
    bool has_table; /* the object has a table of all its symbols */
} live_list;

/* Return the limit on the bytes of names of symbols, for an object of this size. */
uint64_t live_name_bytes(uint64_t object_size);
gsym_status live_list_add(live_list *list, live_code code, gsym_error *error);
/* Add an address with code, and the name of a symbol there. */
gsym_status live_list_add_named(live_list *list, uint64_t address, uint64_t size,
                                const char *name, size_t name_size, gsym_error *error);
gsym_status elf_add_live(live_list *list, const elf_object *elf, gsym_error *error);
gsym_status pe_add_live(live_list *list, const pe_object *pe, gsym_error *error);

/* Reading the functions of PE files. */

typedef struct pe_function {
    const char *name; /* NULL: unreadable */
    size_t name_size;
    uint64_t address;
    uint32_t binding; /* symbol_binding */
} pe_function;

static inline uint64_t pe_code_address(const pe_object *pe, uint64_t address) {
    return address & ~object_isa_bit(&pe->object.header);
}

/* The exports of an image. Names, ordinals and addresses are read from the section of the
 * directory, where linkers put them. */
typedef struct pe_exports {
    const pe_object *pe;
    pe_section section;
    cursor names;    /* addresses of names, 32 bits each */
    cursor ordinals; /* index of the address that belongs to each name, 16 bits each */
    cursor addresses;
    gsym_range extent; /* an export with an address in it is forwarded to another image */
} pe_exports;

/* Open the exports of an image; false if it has none, or if they are cut off. */
bool pe_exports_open(const pe_object *pe, pe_exports *exports);
/* Read the next export that is code of this image; false at the end. */
bool pe_exports_next(pe_exports *exports, const dwarf_input *input, uint64_t *long_names,
                     pe_function *ret);

/* Reading the functions of a Mach-O symbol table. */

#define MACHO_SYMBOL_STAB 0xe0 /* a symbol with any of these bits is for debuggers */

enum { MACHO_SECTION_NUMBERS = 256 }; /* a symbol has 8 bits for its section; 0: none */

typedef struct macho_symbol {
    uint32_t name; /* its offset in the names; 0: none */
    uint8_t type;
    uint8_t section;
    symbol_binding binding;
    uint64_t address; /* without the Thumb bit */
} macho_symbol;

typedef struct macho_symbols {
    const macho_object *macho;
    cursor entries;
    cursor names;
    uint64_t long_names; /* see object_long_names() */
    gsym_range code[MACHO_SECTION_NUMBERS]; /* empty for sections without code */
    symbol_starts starts; /* of functions */
} macho_symbols;

/* Open a symbol table; `starts` is empty. */
macho_symbols macho_symbols_open(const macho_object *macho);
void macho_symbols_close(macho_symbols *symbols);
/* Read the next symbol of any kind. */
bool macho_next_symbol(macho_symbols *symbols, macho_symbol *symbol);
/* Read the next symbol that may name a function. */
bool macho_next_function(macho_symbols *symbols, macho_symbol *symbol);
/* List the starts, from symbols and LC_FUNCTION_STARTS; afterwards, the next symbol to be
 * read is the first one. */
gsym_status macho_list_starts(macho_symbols *symbols, gsym_error *error);
/* Return the size of a function, which extends to the next start or to the end of its
 * section. */
uint64_t macho_function_size(const macho_symbols *symbols, const macho_symbol *symbol);

#endif
