/* pages.h - pages of files that are mapped. */
#ifndef GSYM_BASE_PAGES_H
#define GSYM_BASE_PAGES_H

#include <stddef.h>

/* Have the system take the whole pages of these bytes, a part of a file that is mapped, out
 * of the memory of the process; they come back when they are read. */
void pages_give_back(const void *bytes, size_t size);

#endif
