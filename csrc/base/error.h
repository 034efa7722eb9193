/* error.h - report errors; include the headers that nearly every file needs. */
#ifndef GSYM_BASE_ERROR_H
#define GSYM_BASE_ERROR_H

#include <gsym/gsym.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Fill *error and return its status, so that a failure is one statement. */
gsym_status gsym_fail(gsym_error *error, gsym_status status, uint64_t offset,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Tell compilers and analyzers, which see one file at a time, that gsym_fail() never
 * returns GSYM_OK. */
static inline gsym_status gsym_failed(gsym_status status) {
    if (status == GSYM_OK) __builtin_unreachable();
    return status;
}
#define gsym_fail(...) gsym_failed(gsym_fail(__VA_ARGS__))

static inline gsym_status gsym_fail_memory(gsym_error *error) {
    return gsym_fail(error, GSYM_E_NO_MEMORY, 0, "out of memory");
}

/* Call a function and, if it fails, return its status from the present one. */
#define GSYM_TRY(call)                                                                   \
    do {                                                                                 \
        gsym_status try_status = (call);                                                 \
        if (try_status != GSYM_OK) return try_status;                                    \
    } while (0)

#define GSYM_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define GSYM_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#endif
