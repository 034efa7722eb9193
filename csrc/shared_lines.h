/* shared_lines.h - line tables that several units name, run once for all of them. */
#ifndef GSYM_SHARED_LINES_H
#define GSYM_SHARED_LINES_H

#include "dwarf.h"

typedef struct shared_table {
    line_table table;
    row_list rows;
} shared_table;

typedef struct shared_lines shared_lines;

/* NULL: out of memory. */
shared_lines *shared_lines_create(void);
void shared_lines_destroy(shared_lines *lines);
/* The line table of a unit, if another unit has asked for it before. It is the same for
 * all that follow, and does not change. *table_ret is NULL where the unit has to run the
 * line program itself. False where memory ran out or the budget is spent. */
bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, dwarf_budget *budget,
                       const shared_table **table_ret);

#endif
