/* race.c - libgsym used by many threads at once, for ThreadSanitizer: tools/race.sh.
 *
 *     race BINARY OUTPUT
 *
 * Converts BINARY with eight workers, and lets 32 threads ask all that there is to ask of
 * the one open file, each starting elsewhere: the answers must be the same. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsym/libgsym.h>

enum { READERS = 32, WORKERS = 8, FRAMES = 64, MANY = 4096 };

typedef struct reader {
    const gsym_file *file;
    uint32_t first; /* of the entries asked */
    uint64_t sum;
    pthread_t thread;
} reader;

static pthread_barrier_t start; /* so that all ask first */

static void must(gsym_status status, const gsym_error *error) {
    if (status == GSYM_OK) return;
    fprintf(stderr, "race: %s\n", error->what);
    exit(1);
}

/* The sum of what is said of an entry, whose address is returned. */
static uint64_t ask(const gsym_file *file, uint32_t entry, uint64_t *sum) {
    gsym_symbol symbol, found;
    gsym_location frames[FRAMES];
    gsym_error error;
    size_t count = 0;
    must(gsym_file_symbols(file, entry, &symbol, 1, &count, &error), &error);
    must(gsym_file_lookup(file, symbol.address + symbol.size / 2, frames, FRAMES, &count,
                          &found, &error),
         &error);
    for (size_t i = 0; i < count && i < FRAMES; ++i)
        *sum += frames[i].line + frames[i].offset + (unsigned char)frames[i].function[0];
    *sum += found.address + found.size;
    return symbol.address;
}

static void *read_all(void *own) {
    reader *this = own;
    uint32_t count = gsym_file_entry_count(this->file);
    uint64_t *addresses = calloc(MANY, sizeof *addresses);
    gsym_answers *answers;
    gsym_error error;
    if (addresses == NULL) exit(1);
    pthread_barrier_wait(&start);
    for (uint32_t i = 0; i < count; ++i)
        addresses[i % MANY] = ask(this->file, (this->first + i) % count, &this->sum);
    must(gsym_file_lookup_many(this->file, addresses, MANY, &answers, &error), &error);
    gsym_answers_destroy(answers);
    free(addresses);
    return NULL;
}

static int ask_together(const gsym_file *file) {
    static reader readers[READERS];
    pthread_barrier_init(&start, NULL, READERS);
    for (uint32_t i = 0; i < READERS; ++i) {
        readers[i].file = file;
        readers[i].first = i * (gsym_file_entry_count(file) / READERS);
        if (pthread_create(&readers[i].thread, NULL, read_all, &readers[i]) != 0) exit(1);
    }
    for (uint32_t i = 0; i < READERS; ++i) pthread_join(readers[i].thread, NULL);
    for (uint32_t i = 1; i < READERS; ++i)
        if (readers[i].sum != readers[0].sum) return 1;
    printf("%u threads agree on %u entries\n", READERS, gsym_file_entry_count(file));
    return 0;
}

/* With the index of the file, and with those that the first who asks makes. */
static int try_file(char *input, char *output, uint32_t flags) {
    gsym_convert_options options = {.thread_count = WORKERS, .flags = flags};
    gsym_convert_report report;
    gsym_file *file;
    gsym_error error;
    int status;
    must(gsym_convert(input, output, &options, &report, &error), &error);
    must(gsym_file_open(output, &file, &error), &error);
    status = ask_together(file);
    gsym_file_close(file);
    return status;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    return try_file(words[1], words[2], 0) ||
           try_file(words[1], words[2], GSYM_WITHOUT_INDEX);
}
