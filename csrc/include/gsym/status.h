/* status.h - status codes and errors. */
#ifndef GSYM_STATUS_H
#define GSYM_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- status and errors ------------------------------------------------- */

typedef enum gsym_status {
    GSYM_OK = 0,
    GSYM_E_NO_MEMORY,   /* an allocation failed */
    GSYM_E_FORMAT,      /* the bytes are damaged or of another format */
    GSYM_E_UNSUPPORTED, /* the bytes have an unknown version or encoding */
    GSYM_E_LIMIT,       /* the result does not fit the chosen output version */
    GSYM_E_ARGUMENT,    /* the caller's values contradict each other */
    GSYM_E_EMPTY,       /* no function to write */
    GSYM_E_CANCELLED,   /* a conversion was cancelled */
    GSYM_E_SYSTEM       /* a system call failed; only libgsym, which opens files, has it */
} gsym_status;

#define GSYM_ERROR_TEXT_SIZE 240 /* bytes, with the NUL */

typedef struct gsym_error {
    gsym_status status;
    uint64_t offset;  /* position in what was being read, in bytes; errno for
                         GSYM_E_SYSTEM */
    const char *path; /* of the file, by libgsym: an argument, or that of an open file;
                       * NULL: it is not about a file */
    char what[GSYM_ERROR_TEXT_SIZE]; /* reason, NUL-terminated, no newline */
} gsym_error;

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
