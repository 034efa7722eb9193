/* dwarf_by_libbacktrace.c - frames from the DWARF of a binary, as `addr2line -fi` prints.
 *
 *   dwarf_by_libbacktrace BINARY < ADDRESSES
 *
 * An address is hexadecimal. The program is linked without PIE, so that libbacktrace, which
 * adds the load address of the process to that of the binary, adds 0. */
#include <backtrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(void *context, const char *what, int number) {
    (void)context;
    fprintf(stderr, "dwarf_by_libbacktrace: %s (%d)\n", what, number);
    exit(1);
}

static void ignore(void *context, const char *what, int number) {
    (void)context, (void)what, (void)number;
}

static void print_symbol(void *context, uintptr_t pc, const char *name, uintptr_t value,
                         uintptr_t size) {
    (void)context, (void)pc, (void)value, (void)size;
    printf("%s\n??:0\n", name != NULL ? name : "??");
}

static int print_frame(void *context, uintptr_t pc, const char *path, int line,
                       const char *name) {
    if (name == NULL && path == NULL)
        backtrace_syminfo(context, pc, print_symbol, ignore, NULL);
    else
        printf("%s\n%s:%d\n", name != NULL ? name : "??", path != NULL ? path : "??", line);
    return 0;
}

int main(int count, char **words) {
    if (count != 2) fail(NULL, "see the head of the source", 0);
    struct backtrace_state *state = backtrace_create_state(words[1], 0, fail, NULL);
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL)
        backtrace_pcinfo(state, (uintptr_t)strtoull(line, NULL, 16), print_frame, ignore,
                         state);
    return 0;
}
