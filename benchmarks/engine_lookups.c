/* engine_lookups.c - lookups from C: by libgsym, symbolic, LLVM and readers of DWARF.
 *
 *   engine_lookups gsym FILE.gsym ROUNDS ADDRESSES SAMPLE...
 *   engine_lookups reader FILE ROUNDS LIBRARY ADDRESSES SAMPLE...
 *   engine_lookups symbolic FILE.symcache ROUNDS LIBRARY ADDRESSES SAMPLE...
 *
 * ADDRESSES and each SAMPLE are files of unsigned 64-bit integers. All of ADDRESSES are
 * looked up once, then ROUNDS times more; those of a sample twice on each of ROUNDS fresh
 * opens, one by one with text, and on as many others in one call. Prints nanoseconds of
 * processor time for an address, medians over the rounds, and a number that must not change
 * from round to round:
 *
 *   warm, warm with the text of names and files, open, frames
 *   for each sample: first, again, first in one call, again in one call
 *
 * "With the text" reads each string to its end. The others give its size always, so their
 * first two are the same. LIBRARY is one of *_reader.c* as a shared library, or that in the
 * wheel of symbolic; the structs below are those of its C interface. */
#define _GNU_SOURCE
#include <gsym/libgsym.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAMES 256

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

typedef struct address_array {
    const uint64_t *items;
    size_t count;
} address_array;

/* What is measured: opened, asked, closed. */
typedef struct subject {
    void *(*open)(const char *path);
    size_t (*look_up)(void *opened, uint64_t address, bool text); /* -> frames */
    void (*look_up_many)(void *opened, const uint64_t *addresses, size_t count);
    void (*close)(void *opened);
    const char *path;
} subject;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "engine_lookups: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static bytes map_file(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) fail(path);
    size_t size = (size_t)status.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (data == MAP_FAILED) fail(path);
    return (bytes){data, size};
}

static address_array read_addresses(const char *path) {
    bytes file = map_file(path);
    return (address_array){(const uint64_t *)(const void *)file.data,
                       file.size / sizeof(uint64_t)};
}

/* ---- gsym ------------------------------------------------------------------------- */

static void *open_gsym(const char *path) {
    gsym_error error;
    gsym_file *file;
    if (gsym_file_open(path, &file, &error) != GSYM_OK) fail(error.what);
    return file;
}

static void close_gsym(void *file) {
    gsym_file_close(file);
}

static size_t look_up_gsym(void *file, uint64_t address, bool text) {
    volatile size_t seen = 0; /* what is computed must be of use */
    gsym_location frames[MAX_FRAMES];
    gsym_error error;
    size_t count, size = 0;
    if (gsym_file_lookup(file, address, frames, MAX_FRAMES, &count, NULL, &error) !=
        GSYM_OK)
        fail(error.what);
    if (text) {
        for (size_t n = 0; n < count && n < MAX_FRAMES; n++)
            size += strlen(frames[n].function) + strlen(frames[n].directory) +
                    strlen(frames[n].filename);
        seen += size;
    }
    return count;
}

static void look_up_many_gsym(void *file, const uint64_t *addresses, size_t count) {
    gsym_answers *answers;
    gsym_error error;
    if (gsym_file_lookup_many(file, addresses, count, &answers, &error) != GSYM_OK)
        fail(error.what);
    gsym_answers_destroy(answers);
}

/* ---- the others ------------------------------------------------------------------- */

typedef struct symbolic_result {
    void *items;
    uintptr_t count;
} symbolic_result;

static void *(*open_theirs)(const char *);
static void (*close_theirs)(void *);
static symbolic_result (*symbolic_lookup)(void *, uint64_t);
static void (*symbolic_result_free)(symbolic_result *);
static size_t (*reader_lookup)(void *, uint64_t);

static void *open_other(const char *path) {
    void *opened = open_theirs(path);
    if (opened == NULL) fail(path);
    return opened;
}

static void close_other(void *opened) {
    close_theirs(opened);
}

static size_t look_up_reader(void *reader, uint64_t address, bool text) {
    (void)text;
    return reader_lookup(reader, address);
}

static size_t look_up_symbolic(void *cache, uint64_t address, bool text) {
    (void)text;
    symbolic_result result = symbolic_lookup(cache, address);
    size_t count = result.count;
    symbolic_result_free(&result);
    return count;
}

static void look_up_many_reader(void *reader, const uint64_t *addresses, size_t count) {
    for (size_t n = 0; n < count; n++) (void)reader_lookup(reader, addresses[n]);
}

static void look_up_many_symbolic(void *cache, const uint64_t *addresses, size_t count) {
    for (size_t n = 0; n < count; n++) (void)look_up_symbolic(cache, addresses[n], true);
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) fail(name);
    return found;
}

static subject load(const char *kind, const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) fail(dlerror());
    if (strcmp(kind, "reader") == 0) {
        *(void **)&open_theirs = symbol(library, "reader_open");
        *(void **)&reader_lookup = symbol(library, "reader_lookup");
        *(void **)&close_theirs = symbol(library, "reader_close");
        return (subject){open_other, look_up_reader, look_up_many_reader, close_other,
                         NULL};
    }
    *(void **)&open_theirs = symbol(library, "symbolic_symcache_open");
    *(void **)&symbolic_lookup = symbol(library, "symbolic_symcache_lookup");
    *(void **)&symbolic_result_free = symbol(library, "symbolic_lookup_result_free");
    *(void **)&close_theirs = symbol(library, "symbolic_symcache_free");
    return (subject){open_other, look_up_symbolic, look_up_many_symbolic, close_other,
                     NULL};
}

/* ---- measurements ----------------------------------------------------------------- */

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* Nanoseconds for one of *asked*. */
static double time_all(const subject *of, void *opened, address_array asked, bool text,
                       size_t *frames_ret) {
    size_t frames = 0;
    double start = now();
    for (size_t n = 0; n < asked.count; n++)
        frames += of->look_up(opened, asked.items[n], text);
    *frames_ret = frames;
    return (now() - start) / (double)asked.count;
}

static void measure_warm(const subject *of, address_array asked, size_t rounds,
                         double *times) {
    size_t frames, again;
    double warm[2];
    void *opened = of->open(of->path);
    (void)time_all(of, opened, asked, false, &frames);
    for (int text = 0; text < 2; text++) {
        for (size_t n = 0; n < rounds; n++) {
            times[n] = time_all(of, opened, asked, text != 0, &again);
            if (again != frames) fail("answers change");
        }
        warm[text] = median(times, rounds);
    }
    of->close(opened);
    for (size_t n = 0; n < rounds; n++) {
        double start = now();
        opened = of->open(of->path);
        times[n] = now() - start;
        of->close(opened);
    }
    printf("%.1f %.1f %.1f %zu\n", warm[0], warm[1], median(times, rounds), frames);
}

/* Nanoseconds for one address: in one call, or one by one with text as the others give. */
static double time_sample(const subject *of, void *opened, address_array sample,
                          bool at_once) {
    size_t ignored;
    double start = now();
    if (!at_once) return time_all(of, opened, sample, true, &ignored);
    of->look_up_many(opened, sample.items, sample.count);
    return (now() - start) / (double)sample.count;
}

static void measure_sample(const subject *of, address_array sample, size_t rounds,
                           double *first, double *again) {
    for (int at_once = 0; at_once < 2; at_once++) {
        for (size_t n = 0; n < rounds; n++) {
            void *opened = of->open(of->path);
            first[n] = time_sample(of, opened, sample, at_once != 0);
            again[n] = time_sample(of, opened, sample, at_once != 0);
            of->close(opened);
        }
        printf("%.1f %.1f%c", median(first, rounds), median(again, rounds),
               at_once ? '\n' : ' ');
    }
}

int main(int count, char **words) {
    subject of = {open_gsym, look_up_gsym, look_up_many_gsym, close_gsym, NULL};
    int next = 4;
    if (count < 5) fail("see the head of the source");
    size_t rounds = (size_t)strtoul(words[3], NULL, 10);
    double *first = calloc(rounds, sizeof *first), *again = calloc(rounds, sizeof *again);
    if (first == NULL || again == NULL) fail("no memory");
    if (strcmp(words[1], "gsym") != 0) {
        if (count < 6) fail("the library is missing");
        of = load(words[1], words[next++]);
    }
    of.path = words[2];
    measure_warm(&of, read_addresses(words[next++]), rounds, first);
    while (next < count)
        measure_sample(&of, read_addresses(words[next++]), rounds, first, again);
    free(first);
    free(again);
    return 0;
}
