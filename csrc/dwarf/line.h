/* line.h - read line tables of DWARF. */
#ifndef GSYM_DWARF_LINE_H
#define GSYM_DWARF_LINE_H

#include "base/buffer.h"
#include "dwarf/unit.h"

/* A string of a line table. It is read only when it is needed, because few strings are. */
typedef struct line_string {
    const char *bytes; /* NULL: `raw` and `form` say where it is */
    uint64_t raw;      /* the value of the form, or the size of `bytes` */
    uint16_t form;
} line_string;

typedef struct line_file {
    line_string name;
    uint64_t directory;
} line_file;

/* The text of a file that is embedded in the line table. */
typedef struct line_source {
    uint32_t file; /* index in the files of the table */
    line_string text;
} line_source;

typedef struct line_sequence {
    uint64_t low;  /* address of the first row */
    uint64_t high; /* first address after the sequence */
    uint32_t row_first;
    uint32_t row_count;
    uint64_t program_offset; /* in .debug_line, where its opcodes start */
    bool is_dropped; /* for the user of the table: the linker dropped a function in it */
} line_sequence;

/* An entry for a sequence in a list that is sorted by first address. */
typedef struct sequence_entry {
    uint64_t low;
    uint64_t reach; /* the greatest `high` of it and of those before */
    uint32_t sequence;
} sequence_entry;

/* The advance of a special opcode. */
typedef struct special_step {
    uint32_t line; /* modulo 2^32 */
    uint16_t advance; /* of the address, where an instruction has one operation */
    uint8_t operations;
} special_step;

/* The advances of all special opcodes, which four numbers of a header decide. */
typedef struct special_steps {
    uint8_t opcode_base;
    uint8_t line_range;
    int8_t line_base;
    uint8_t min_inst_length;
    special_step steps[256];
} special_steps;

/* An inlined call in a line program of CUDA, which has no DIEs. */
typedef struct line_call {
    uint32_t caller; /* number of the row that calls, from 1 in its sequence */
    uint64_t name;   /* of the function that is called: offset in .debug_str */
} line_call;

/* The inlined calls of a line program, and for each row the index in `calls` plus 1 of the
 * innermost one that it is in; 0: it is in none. */
typedef struct line_calls {
    LIST(line_call) calls;
    LIST(uint32_t) of_rows;
} line_calls;

typedef struct dwarf_line_table {
    bool reads_sources; /* set by the caller: list `sources` */
    uint16_t version; /* 0: the unit has none */
    uint64_t end;     /* its end in .debug_line */
    LIST(line_file) files;
    LIST(line_string) directories;
    LIST(line_source) sources; /* of files that have a text, in their order */
    LIST(line_sequence) sequences; /* in program order */
    LIST(sequence_entry) by_low; /* sorted by `low`, then in program order; sequences may
                                   overlap */
    special_steps special; /* those of the program that was run last */
} dwarf_line_table;

void dwarf_line_table_deinit(dwarf_line_table *table);
/* Run the unit's line program. A row that repeats file and line of the row before is left
 * out, unless rows of the table must be sorted. False where memory ran out or the budget is
 * spent; damage is a warning. */
bool dwarf_run_line_program(dwarf_line_table *table, row_list *rows, const dwarf_unit *unit,
                            dwarf_budget *budget, warning_list *warnings);
/* Run a line program of CUDA: all rows are kept, and inlined calls are listed. A call is
 * listed after those that it is in. */
bool dwarf_run_line_program_with_calls(dwarf_line_table *table, row_list *rows,
                                       line_calls *calls, const dwarf_unit *unit,
                                       dwarf_budget *budget, warning_list *warnings);
/* Read only the directories, files and sources of the unit's line table. False where memory
 * ran out; of a damaged table, what was read before the damage is kept. */
bool dwarf_read_line_files(dwarf_line_table *table, const dwarf_unit *unit);
/* Return the text of a file; its bytes are NULL if it is too long, see cursor_name(). */
dwarf_string dwarf_line_text(const dwarf_unit *unit, const line_string *string,
                             uint64_t *left);
/* Return the file at a DWARF file index, or NULL. *is_none is set for index 0 before
 * version 5, which means no file. */
const line_file *dwarf_line_table_file(const dwarf_line_table *table, uint64_t index,
                                       bool *is_none);
/* Append the path of a file: comp_dir of the unit, directory, name. If one of these is
 * absolute, those before it are left out. */
void dwarf_line_table_path(const dwarf_line_table *table, const line_file *file,
                           const dwarf_unit *unit, buffer *out);

#endif
