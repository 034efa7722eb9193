/* text_table.h - collect distinct texts as an array of Arrow's type utf8. */
#ifndef GSYM_TEXT_TEXT_TABLE_H
#define GSYM_TEXT_TEXT_TABLE_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/tables.h"

/* Empty when zeroed. */
typedef struct text_table {
    buffer bytes;            /* of all texts, and of the one that is being written */
    LIST(int32_t) offsets;   /* start of each text, and the end of the last one */
    slot_table slots;
} text_table;

bool text_table_begin(text_table *table);
void text_table_deinit(text_table *table);
/* Append to the text that is being written; bytes that are not UTF-8 become U+FFFD. */
void text_table_put(text_table *table, const char *bytes, size_t size);
/* End the text that is being written, and return its number. */
gsym_status text_table_end(text_table *table, uint32_t *number_ret, gsym_error *error);

#endif
