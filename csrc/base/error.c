/* error.c - fill a gsym_error. */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

gsym_status(gsym_fail)(gsym_error *error, gsym_status status, uint64_t offset,
                       const char *format, ...) {
    va_list arguments;
    error->status = status;
    error->offset = offset;
    error->path = NULL;
    va_start(arguments, format);
    vsnprintf(error->what, sizeof error->what, format, arguments);
    va_end(arguments);
    return status;
}
