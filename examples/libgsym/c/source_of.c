/* source_of.c - what libgsym does, from C.
 *
 *   cc source_of.c -o source_of $(pkg-config --cflags --libs libgsym)
 *
 *   source_of convert BINARY FILE.gsym
 *   source_of lookup FILE.gsym ADDRESS...     hexadecimal, as nm prints them
 *   source_of find FILE.gsym NAME...
 *   source_of list FILE.gsym */
#include <gsym/libgsym.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 64, MOST_SYMBOLS = 64 };

static int fail(const gsym_error *error) {
    fprintf(stderr, "source_of: %s%s%s", error->path != NULL ? error->path : "",
            error->path != NULL ? ": " : "", error->what);
    if (error->status == GSYM_E_FORMAT || error->status == GSYM_E_UNSUPPORTED)
        fprintf(stderr, " at offset %" PRIu64, error->offset);
    fputc('\n', stderr);
    return 1;
}

static void print_frame(const gsym_location *frame) {
    printf("  %s+0x%" PRIx64, frame->function, frame->offset);
    if (*frame->filename != '\0')
        printf(" %s%s%s:%" PRIu32, frame->directory, *frame->directory != '\0' ? "/" : "",
               frame->filename, frame->line);
    puts(frame->inlined ? " (inlined)" : "");
}

static int look_up(const gsym_file *file, const char *text) {
    uint64_t address = strtoull(text, NULL, 16);
    gsym_location frames[MOST_FRAMES];
    gsym_error error;
    size_t count;
    if (gsym_file_lookup(file, address, frames, MOST_FRAMES, &count, NULL, &error) !=
        GSYM_OK)
        return fail(&error);
    printf("0x%" PRIx64 "\n", address);
    if (count == 0) puts("  ??");
    for (size_t i = 0; i < count && i < MOST_FRAMES; i++) print_frame(&frames[i]);
    return 0;
}

static void print_symbols(const gsym_symbol *symbols, size_t count) {
    for (size_t i = 0; i < count && i < MOST_SYMBOLS; i++)
        printf("0x%" PRIx64 " %" PRIu64 " %s\n", symbols[i].address, symbols[i].size,
               symbols[i].name);
}

static int find(const gsym_file *file, const char *name) {
    gsym_symbol symbols[MOST_SYMBOLS];
    gsym_error error;
    size_t count;
    if (gsym_file_find(file, name, symbols, MOST_SYMBOLS, &count, &error) != GSYM_OK)
        return fail(&error);
    print_symbols(symbols, count);
    return 0;
}

static int list(const gsym_file *file) {
    gsym_symbol symbols[MOST_SYMBOLS];
    gsym_error error;
    size_t count;
    for (uint32_t entry = 0; entry < gsym_file_entry_count(file); entry++) {
        if (gsym_file_symbols(file, entry, symbols, MOST_SYMBOLS, &count, &error) !=
            GSYM_OK)
            return fail(&error);
        print_symbols(symbols, count);
    }
    return 0;
}

static int convert(const char *binary, const char *output) {
    gsym_convert_report report;
    gsym_error error;
    if (gsym_convert(binary, output, NULL, &report, &error) != GSYM_OK) return fail(&error);
    printf("%" PRIu64 " functions, %" PRIu64 " bytes\n", report.functions,
           report.file_size);
    return 0;
}

int main(int count, char **words) {
    gsym_error error;
    gsym_file *file;
    int result = 0;
    if (count == 4 && strcmp(words[1], "convert") == 0) return convert(words[2], words[3]);
    if (count < 3) {
        fputs("usage: source_of convert|lookup|find|list FILE ...\n", stderr);
        return 2;
    }
    if (gsym_file_open(words[2], &file, &error) != GSYM_OK) return fail(&error);
    if (strcmp(words[1], "list") == 0) result = list(file);
    for (int i = 3; i < count && result == 0; i++)
        result = strcmp(words[1], "find") == 0 ? find(file, words[i])
                                               : look_up(file, words[i]);
    gsym_file_close(file);
    return result;
}
