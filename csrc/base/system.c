/* system.c - return memory to the system. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/system.h"

static void advise(const void *bytes, size_t size, int advice) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = ((uintptr_t)bytes + page - 1) & ~(page - 1);
    const uintptr_t end = ((uintptr_t)bytes + size) & ~(page - 1);
    if (start < end) (void)madvise((void *)start, end - start, advice);
}

void pages_release(const void *bytes, size_t size) { advise(bytes, size, MADV_DONTNEED); }

void pages_enlarge(const void *bytes, size_t size) {
#ifdef MADV_HUGEPAGE
    advise(bytes, size, MADV_HUGEPAGE);
#else
    (void)bytes, (void)size;
#endif
}

void memory_release(void) {
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
