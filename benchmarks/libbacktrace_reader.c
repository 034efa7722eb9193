/* libbacktrace_reader.c - libbacktrace behind the interface of gsym_reader.cc.
 *
 * It adds the load address of the process, which is 0 if that is linked without PIE, and
 * has no function to close what it has read. */
#include <backtrace.h>
#include <stddef.h>

static void ignore(void *context, const char *what, int number) {
    (void)context, (void)what, (void)number;
}

static int count_frame(void *context, uintptr_t pc, const char *path, int line,
                       const char *name) {
    (void)pc, (void)path, (void)line, (void)name;
    ++*(size_t *)context;
    return 0;
}

void *reader_open(const char *path) {
    return backtrace_create_state(path, 0, ignore, NULL);
}

size_t reader_lookup(void *reader, uint64_t address) {
    size_t frames = 0;
    backtrace_pcinfo(reader, (uintptr_t)address, count_frame, ignore, &frames);
    return frames;
}

void reader_close(void *reader) {
    (void)reader;
}
