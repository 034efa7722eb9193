/* exhaust.c - runs a fuzz target out of memory.
 *
 *     exhaust STEP FILE...
 *
 * Gives each FILE to the target as often as the engine allocates memory for it, and once
 * more: in run N, allocation N fails. With a STEP above 1, only every STEP-th does; which
 * is the first differs from file to file. An error is a fine answer; the sanitizers with
 * which tools/fuzz.sh builds this see what is lost or used wrongly. The linker hands the
 * engine's calls of malloc, calloc and realloc to those below; the target calls the real
 * ones. Which of several threads of a target makes allocation N is left to chance. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
size_t LLVMFuzzerMutate(unsigned char *data, size_t size, size_t max_size);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static atomic_ulong left; /* allocations up to the one that fails */

static int fails(void) {
    unsigned long now = atomic_load(&left);
    while (now != 0 && !atomic_compare_exchange_weak(&left, &now, now - 1)) {}
    return now == 1;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails() ? NULL : __real_realloc(old, size);
}

/* For mutators of targets, which nobody calls here. */
size_t LLVMFuzzerMutate(unsigned char *data, size_t size, size_t max_size) {
    (void)data;
    (void)max_size;
    return size;
}

/* How many allocations of the target failed, of which this is the first. */
static unsigned long exhaust(const unsigned char *data, size_t size, unsigned long first,
                             unsigned long step) {
    for (unsigned long count = 0;; ++count) {
        atomic_store(&left, first + count * step);
        (void)LLVMFuzzerTestOneInput(data, size);
        if (atomic_load(&left) != 0) return count;
    }
}

int main(int count, char **words) {
    unsigned long total = 0, step = count < 2 ? 0 : strtoul(words[1], NULL, 10);
    if (step == 0) return 2;
    for (int i = 2; i < count; ++i) {
        FILE *file = fopen(words[i], "rb");
        long size;
        unsigned char *data;
        if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
            perror(words[i]);
            return 1;
        }
        data = __real_malloc((size_t)size + 1);
        rewind(file);
        if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) return 1;
        fclose(file);
        total += exhaust(data, (size_t)size, 1 + (unsigned long)i % step, step);
        free(data);
    }
    left = 0; /* what runs at exit may allocate */
    printf("%lu failed allocations of %d files\n", total, count - 2);
    return 0;
}
