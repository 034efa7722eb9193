/* limit.h - define limits against hostile input, in which items may share bytes or nest.
 *
 * A limit is a floor, allowed for input of any size, plus a factor times the input's size.
 * The comment over each limit names its row in tools/qa/limits.tsv; a test compares them.
 * What a limit cuts is counted as a warning, or the input is refused. */
#ifndef GSYM_BASE_LIMIT_H
#define GSYM_BASE_LIMIT_H

#include <stdint.h>

#define LIMIT(name, floor, factor) enum { name##_FLOOR = (floor), name##_FACTOR = (factor) }
#define LIMIT_OF(name, size) (name##_FLOOR + name##_FACTOR * (uint64_t)(size))

#endif
