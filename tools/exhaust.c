/* exhaust.c - runs a fuzz target out of memory.
 *
 *     exhaust FILE...
 *
 * Gives each FILE to the target as often as the engine allocates memory for it, and once
 * more: in run N, allocation N fails. An error is a fine answer; the sanitizers with which
 * tools/fuzz.sh builds this see what is lost or used wrongly. The linker hands the engine's
 * calls of malloc, calloc and realloc to those below; the target calls the real ones. */
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

static unsigned long left; /* allocations up to the one that fails */

static int fails(void) {
    return left != 0 && --left == 0;
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

/* How many allocations the target makes, each of which has failed once. */
static unsigned long exhaust(const unsigned char *data, size_t size) {
    for (unsigned long number = 1;; ++number) {
        left = number;
        (void)LLVMFuzzerTestOneInput(data, size);
        if (left != 0) return number - 1;
    }
}

int main(int count, char **words) {
    unsigned long total = 0;
    for (int i = 1; i < count; ++i) {
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
        total += exhaust(data, (size_t)size);
        free(data);
    }
    left = 0; /* what runs at exit may allocate */
    printf("%lu failed allocations of %d files\n", total, count - 1);
    return 0;
}
