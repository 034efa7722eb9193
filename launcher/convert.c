/* convert.c - convert one program that has its DWARF and a build id inside. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../libgsym/internal.h"
#include "launcher.h"

enum {
    MACHINE_X86_64 = 62, /* e_machine */
    MACHINE_AARCH64 = 183,
    GUID_SIZE = 16,
    MAX_ID_SIZE = 20,
    FILE_MULTIPLE = 512 /* bytes; the file with its last part has a multiple of this */
};
/* Size of .debug_info. For more, a terminal gets a bar, and process 1 needs a handler to be
 * ended by a signal. */
#define MAX_ALONE (UINT64_C(16) << 20)

typedef struct conversion {
    const program_conversion *wanted;
    struct timespec begin;
    gsym_text *module; /* scratch: the names of the module, then the part with them */
    const object_file *binary;
    side_work naming;
    gsym_status module_status; /* of name_module() */
    gsym_error module_error;
} conversion;

gsym_status leave(gsym_error *error) {
    return gsym_fail(error, GSYM_E_UNSUPPORTED, 0, "left to Python");
}

static bool has_section(const gsym_object *object, const char *name) {
    gsym_object_section section = {0};
    gsym_error ignored;
    return gsym_object_find_section(object, 0, name, strlen(name), &section, &ignored) !=
               GSYM_OK ||
           section.present;
}

/* Whether all debug sections are stored as they are read. */
static bool are_stored(const gsym_object *object) {
    for (uint32_t which = 0; which < GSYM_DEBUG_SECTION_COUNT; ++which) {
        gsym_object_section section = {0};
        gsym_error ignored;
        if (gsym_object_debug_section(object, (gsym_debug_section)which, 0, &section,
                                      &ignored) != GSYM_OK ||
            (section.present && section.compression != GSYM_COMPRESSION_NONE))
            return false;
    }
    return true;
}

/* Whether there is a build id that a GSYM file holds, and that is no GUID. */
static bool has_build_id(const gsym_object *object) {
    const uint8_t *id;
    size_t size, zeros = 0;
    gsym_error ignored;
    if (gsym_object_identifier(object, &id, &size, &ignored) != GSYM_OK) return false;
    while (zeros < size && id[zeros] == 0) ++zeros;
    return size > GUID_SIZE && size <= MAX_ID_SIZE && zeros < size;
}

bool is_complete(object_file *binary) {
    static const char *const others[] = {".gnu_debugaltlink", ".debug_sup",
                                         ".note.go.buildid",  ".gopclntab",
                                         ".nv_fatbin",        "__nv_relfatbin",
                                         ".hip_fatbin",       ".gsym"};
    const gsym_object_header *header = &binary->header;
    if (header->format != GSYM_OBJECT_ELF || !header->is_64 || header->big_endian ||
        header->is_relocatable || header->unread_debug_info != 0 ||
        header->symbol_table_size == 0 || object_file_info_size(binary, false) == 0 ||
        (header->machine != MACHINE_X86_64 && header->machine != MACHINE_AARCH64) ||
        object_file_info_size(binary, true) > 0 || !are_stored(binary->object))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (has_section(binary->object, others[i])) return false;
    return true;
}

/* Go on only with a program of which the command would not say more. */
static gsym_status begin(void *context, const object_file *binary, gsym_error *error) {
    object_file file = *binary;
    conversion *job = context;
    bool is_attended =
        getpid() == 1 || (!job->wanted->is_quiet && isatty(STDERR_FILENO));
    if (!is_complete(&file) || !has_build_id(binary->object) ||
        (is_attended && object_file_info_size(&file, false) > MAX_ALONE))
        return leave(error);
    job->binary = binary;
    return GSYM_OK;
}

/* Name the module, and hash its code. */
static void *name_module(void *context) {
    conversion *job = context;
    const char *slash = strrchr(job->wanted->input, '/');
    const char *name = slash == NULL ? job->wanted->input : slash + 1;
    job->module_status = gsym_text_elf_module(
        job->module, job->binary->object, name, strlen(name),
        job->binary->header.machine == MACHINE_X86_64 ? "x86_64" : "arm64",
        &job->module_error);
    return NULL;
}

/* Make the part of the file that names its module, after `size` bytes. */
static gsym_status make_part(conversion *job, uint64_t size, gsym_error *error) {
    size_t fields_size;
    const char *fields = gsym_text_bytes(job->module, &fields_size);
    gsym_text *part;
    GSYM_TRY(gsym_text_create(&part, error));
    GSYM_TRY(gsym_text_module_part(part, fields, fields_size, size, FILE_MULTIPLE, error));
    job->module = part;
    return GSYM_OK;
}

static void print_string(gsym_text *text, const char *string) {
    gsym_error ignored;
    gsym_text_put(text, string, strlen(string), &ignored);
}

static gsym_status print_report(conversion *job, const object_file *binary,
                                const gsym_creator_report *counts, uint64_t size,
                                gsym_error *error) {
    gsym_conversion_numbers numbers = {
        .functions = counts->functions,
        .functions_continued = counts->functions_continued,
        .functions_with_lines = counts->functions_with_lines,
        .functions_with_inlines = counts->functions_with_inlines,
        .file_size = size,
        .index_size = counts->index_size,
        .version = GSYM_VERSION_1,
        .functions_debug_info = counts->functions_debug_info,
        .functions_symbol_table = counts->functions_symbol_table,
        .functions_pruned = counts->functions_pruned,
        .functions_merged = counts->functions_merged,
        .line_rows_unused = counts->line_rows_unused};
    struct timespec now;
    const uint8_t *id;
    size_t id_size;
    char digits[2 * MAX_ID_SIZE + 1], lines[GSYM_NUMBERS_MAX_SIZE];
    size_t lines_size;
    GSYM_TRY(gsym_object_identifier(binary->object, &id, &id_size, error));
    for (size_t i = 0; i < id_size; ++i) snprintf(digits + 2 * i, 3, "%02x", id[i]);
    clock_gettime(CLOCK_MONOTONIC, &now);
    numbers.centiseconds = (uint64_t)((now.tv_sec - job->begin.tv_sec) * 1000 +
                                      (now.tv_nsec - job->begin.tv_nsec) / 1000000 + 5) /
                           10;
    print_string(job->wanted->texts->output, job->wanted->input);
    print_string(job->wanted->texts->output, " -> ");
    print_string(job->wanted->texts->output, job->wanted->output);
    print_string(job->wanted->texts->output, "\n");
    lines_size = gsym_numbers_text(&numbers, lines);
    GSYM_TRY(gsym_text_put(job->wanted->texts->output, lines, lines_size, error));
    print_string(job->wanted->texts->output,
                 binary->header.machine == MACHINE_X86_64 ? "  x86_64" : "  aarch64");
    print_string(job->wanted->texts->output, ", build id ");
    print_string(job->wanted->texts->output, digits);
    print_string(job->wanted->texts->output, "\n");
    return GSYM_OK;
}

/* Print the warnings of each category. False if there are others. */
static bool print_warnings(const conversion *job, const uint64_t *warnings, uint64_t all) {
    gsym_text *text = job->wanted->texts->errors;
    for (uint32_t i = 0; i < GSYM_WARN_COUNT; ++i) {
        char number[32];
        if (warnings[i] == 0) continue;
        snprintf(number, sizeof number, " (%llu time%s)\n", (unsigned long long)warnings[i],
                 warnings[i] == 1 ? "" : "s");
        print_string(text, job->wanted->input);
        print_string(text, ": warning: ");
        print_string(text, gsym_warning_text(i));
        print_string(text, number);
        all -= warnings[i];
    }
    return all == 0;
}

/* Write the output. A signal that ends the process waits, so that no temporary file is left
 * behind. */
static gsym_status write_output(const conversion *job, gsym_creator *creator,
                                const char *part, size_t size, gsym_error *error) {
    sigset_t signals, before;
    gsym_status status;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before);
    status = file_write(creator, part, size, job->wanted->options.thread_count != 1,
                        job->wanted->output, error);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static gsym_status end(void *context, const object_file *binary, gsym_creator *creator,
                       const gsym_convert_report *report, const uint64_t *warnings,
                       uint64_t go_functions, gsym_error *error) {
    conversion *job = context;
    gsym_creator_report counts;
    const char *part;
    size_t size;
    struct stat status;
    if (!print_warnings(job, warnings, report->warnings) ||
        report->missing_split_units > 0 || go_functions > 0)
        return leave(error);
    GSYM_TRY(gsym_creator_finish(creator, &counts, error));
    side_work_end(&job->naming);
    if (job->module_status != GSYM_OK) *error = job->module_error;
    GSYM_TRY(job->module_status);
    /* A file that has more detail than the new one is kept. */
    if (gsym_creator_cut_functions(creator) > 0 || counts.functions_debug_info == 0 ||
        (counts.functions_with_inlines == 0 && stat(job->wanted->output, &status) == 0))
        return leave(error);
    GSYM_TRY(make_part(job, counts.file_size, error));
    part = gsym_text_bytes(job->module, &size);
    GSYM_TRY(write_output(job, creator, part, size, error));
    if (job->wanted->is_quiet) return GSYM_OK;
    return print_report(job, binary, &counts, counts.file_size + size, error);
}

bool convert_program(const program_conversion *wanted) {
    conversion job = {.wanted = wanted};
    conversion_steps steps = {&job, begin, &job.naming, end};
    struct stat from, to;
    gsym_error error;
    job.naming = (side_work){.run = name_module, .context = &job};
    clock_gettime(CLOCK_MONOTONIC, &job.begin);
    if (stat(wanted->input, &from) != 0 || !S_ISREG(from.st_mode)) return false;
    if (stat(wanted->output, &to) != 0) {
        if (lstat(wanted->output, &to) == 0) return false; /* a link to no file */
    } else if (!S_ISREG(to.st_mode) ||
               (from.st_dev == to.st_dev && from.st_ino == to.st_ino)) {
        return false;
    }
    return gsym_text_create(&job.module, &error) == GSYM_OK &&
           convert_by_steps(wanted->input, &wanted->options, &steps, &error) == GSYM_OK;
}
