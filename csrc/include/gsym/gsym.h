/* gsym.h - the complete interface of the engine; it includes all other headers.
 *
 * The headers are valid C11 and C++17. csrc/build_core.py takes the text between the cffi
 * markers of each, in the order of the list below, as the cdef of gsym.engine._core. That
 * text must not have preprocessor conditionals, attributes or inline functions.
 *
 * For every function:
 *   - Memory comes in as (pointer, size); the engine opens, reads and writes no
 *     file, starts no thread and keeps no global state. The only functions that it
 *     calls back are those of a gsym_cxx_demangler.
 *   - A function that can fail returns a gsym_status and, unless that is GSYM_OK,
 *     fills *error. Results are the last parameters but for the error.
 *   - Addresses are link-time virtual addresses in bytes. An `offset` in an
 *     error counts from the start of the buffer that was being read.
 *   - Strings are identified by their byte offset in a string table (`strp`, 0: the
 *     empty string), files by their index in a file table (0: no file).
 */
#ifndef GSYM_H
#define GSYM_H

#include <gsym/status.h>
#include <gsym/file.h>
#include <gsym/lookup.h>
#include <gsym/create.h>
#include <gsym/convert.h>
#include <gsym/text.h>
#include <gsym/bulk.h>
#include <gsym/symbfile.h>
#include <gsym/fxt.h>
#include <gsym/perf.h>

#endif
