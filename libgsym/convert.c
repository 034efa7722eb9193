/* convert.c - convert an input, and the files that belong to it, to a GSYM file. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <unistd.h>

#include "internal.h"

enum {
    BYTES_PER_THREAD = 4 << 20, /* bytes of .debug_info; with fewer, a thread costs more
                                 * time than it saves */
    MAX_THREADS = 256
};

/* A conversion of an object file and all objects that it needs. */
typedef struct job {
    const gsym_convert_options *options;
    gsym_convert_report *report;
    gsym_creator *creator;
    gsym_conversion *conversion;
    object_file binary;
    object_file debug; /* if it is not open, the binary has the DWARF itself */
    object_file supplementary;
    object_file *split;
    uint32_t split_count;
    uint32_t thread_count;
    gsym_error *error;
} job;

static object_file *dwarf_of(job *of) {
    return of->debug.object != NULL ? &of->debug : &of->binary;
}

/* ---- threads ------------------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    gsym_conversion *conversion;
    bool is_started;
    gsym_status status;
    gsym_error error;
} worker;

static void *work(void *context) {
    worker *own = context;
    own->status = gsym_conversion_work(own->conversion, &own->error);
    return NULL;
}

/* Convert units in of->thread_count threads, one of which is the caller's. If the system
 * refuses to create threads, the others convert their units. */
static gsym_status convert_units(job *of) {
    uint32_t extra = of->thread_count - 1;
    worker *workers = calloc(extra + 1, sizeof *workers);
    gsym_status status;
    if (workers == NULL) return gsym_fail_memory(of->error);
    for (uint32_t i = 0; i < extra; ++i) {
        workers[i].conversion = of->conversion;
        workers[i].is_started =
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    status = gsym_conversion_work(of->conversion, of->error);
    for (uint32_t i = 0; i < extra; ++i) {
        if (!workers[i].is_started) continue;
        pthread_join(workers[i].thread, NULL);
        if (status == GSYM_OK && workers[i].status != GSYM_OK) {
            *of->error = workers[i].error;
            status = workers[i].status;
        }
    }
    free(workers);
    return status;
}

static uint32_t thread_count(job *of) {
    uint64_t useful = object_file_info_size(dwarf_of(of), false) / BYTES_PER_THREAD;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t count = of->options->thread_count;
    if (count == 0)
        count = cores > 0 && (uint64_t)cores < useful ? (uint64_t)cores : useful;
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
}

/* ---- the files that belong together -------------------------------------------------- */

/* Fail if the debug file is of another build than the binary, so that its addresses are
 * wrong. */
static gsym_status check_identifier(job *of) {
    const uint8_t *own, *other;
    size_t own_size, other_size;
    GSYM_TRY(gsym_object_identifier(of->binary.object, &own, &own_size, of->error));
    GSYM_TRY(gsym_object_identifier(of->debug.object, &other, &other_size, of->error));
    if (own_size == 0 || other_size == 0 ||
        (own_size == other_size && memcmp(own, other, own_size) == 0))
        return GSYM_OK;
    return gsym_fail(of->error, GSYM_E_ARGUMENT, 0,
                     "not the debug information of the input: their build ids differ");
}

static gsym_status open_split(job *of, const char *path) {
    return object_file_open(path, &of->split[of->split_count++], of->error);
}

/* If the binary or its debug file has split units, open it a second time as a split
 * file. */
static gsym_status open_own_split(job *of, object_file *file) {
    if (object_file_info_size(file, true) == 0) return GSYM_OK;
    return open_split(of, file->path);
}

static gsym_status open_files(job *of) {
    const gsym_convert_options *options = of->options;
    if (options->debug_file != NULL) {
        GSYM_TRY(object_file_open(options->debug_file, &of->debug, of->error));
        GSYM_TRY(in_file(options->debug_file, check_identifier(of), of->error));
        GSYM_TRY(in_file(
            options->debug_file,
            gsym_object_align(of->debug.object, of->binary.object, of->error), of->error));
    }
    if (options->supplementary_file != NULL)
        GSYM_TRY(
            object_file_open(options->supplementary_file, &of->supplementary, of->error));
    of->split = calloc((size_t)options->split_file_count + 2, sizeof *of->split);
    if (of->split == NULL) return gsym_fail_memory(of->error);
    for (uint32_t i = 0; i < options->split_file_count; ++i)
        GSYM_TRY(open_split(of, options->split_files[i]));
    GSYM_TRY(open_own_split(of, &of->binary));
    return of->debug.object == NULL ? GSYM_OK : open_own_split(of, &of->debug);
}

static uint64_t symbol_table_size(const object_file *file) {
    return file->object == NULL ? 0 : file->header.symbol_table_size;
}

/* Return the binary or its debug file, whichever has the larger symbol table. */
static object_file *symbols_of(job *of) {
    object_file *file = dwarf_of(of);
    return symbol_table_size(file) > symbol_table_size(&of->binary) ? file : &of->binary;
}

static gsym_status add_split_files(job *of) {
    for (uint32_t i = 0; i < of->split_count; ++i) {
        uint32_t number;
        uint64_t matched;
        GSYM_TRY(gsym_conversion_add_file(of->conversion, GSYM_DWARF_SPLIT, &number,
                                          of->error));
        GSYM_TRY(object_file_give(&of->split[i], of->conversion, number, true, of->error));
        GSYM_TRY(gsym_conversion_link_split(of->conversion, number, &matched, of->error));
    }
    for (size_t i = 0; i < gsym_conversion_skeleton_count(of->conversion); ++i) {
        gsym_skeleton skeleton;
        GSYM_TRY(gsym_conversion_skeleton(of->conversion, i, &skeleton, of->error));
        of->report->missing_split_units += !skeleton.is_complete;
    }
    return gsym_conversion_add_live_code(of->conversion, symbols_of(of)->object, of->error);
}

static gsym_status add_path_map(job *of) {
    for (size_t i = 0; i + 1 < of->options->path_map_count; i += 2) {
        const char *old = of->options->path_map[i], *new = of->options->path_map[i + 1];
        GSYM_TRY(gsym_conversion_add_path_map(of->conversion, old, strlen(old), new,
                                              strlen(new), of->error));
    }
    return GSYM_OK;
}

/* ---- steps --------------------------------------------------------------------------- */

static gsym_status create_conversion(job *of) {
    uint32_t flags = of->options->flags;
    gsym_conversion_options options = {
        .flags = (flags & GSYM_WITH_CALL_SITES ? GSYM_CONVERT_CALL_SITES : 0u) |
                 (flags & GSYM_WITH_MERGED_FUNCTIONS ? GSYM_CONVERT_KEEP_REPEATED : 0u),
        .thread_count = of->thread_count,
        .big_endian = dwarf_of(of)->header.big_endian};
    return gsym_conversion_create(of->creator, &options, &of->conversion, of->error);
}

static gsym_status scan(job *of) {
    GSYM_TRY(object_file_give(dwarf_of(of), of->conversion, 0, false, of->error));
    GSYM_TRY(gsym_conversion_add_object_spans(of->conversion, 0, dwarf_of(of)->object,
                                              of->error));
    if (of->supplementary.object != NULL) {
        uint32_t number;
        GSYM_TRY(gsym_conversion_add_file(of->conversion, GSYM_DWARF_SUPPLEMENTARY, &number,
                                          of->error));
        GSYM_TRY(object_file_give(&of->supplementary, of->conversion, number, false,
                                  of->error));
    }
    GSYM_TRY(gsym_conversion_add_object_text(of->conversion, of->binary.object, of->error));
    GSYM_TRY(gsym_conversion_add_live_code(of->conversion, symbols_of(of)->object,
                                           of->error));
    GSYM_TRY(add_path_map(of));
    GSYM_TRY(gsym_conversion_scan(of->conversion, of->error));
    return add_split_files(of);
}

/* Add the functions of pclntab. If it is damaged or unknown, count a warning and go on. */
static gsym_status add_go_functions(job *of) {
    uint64_t count;
    gsym_status status = gsym_conversion_add_go_functions(
        of->conversion, of->binary.object, 1, &count, of->error);
    if (status != GSYM_E_FORMAT && status != GSYM_E_UNSUPPORTED) return status;
    ++of->report->warnings;
    return GSYM_OK;
}

static gsym_status add_symbols(job *of) {
    object_file *file = symbols_of(of);
    if (of->options->flags & GSYM_WITHOUT_SYMBOLS) return GSYM_OK;
    GSYM_TRY(in_file(file->path,
                     gsym_conversion_add_object_symbols(of->conversion, file->object,
                                                        of->binary.object, of->error),
                     of->error));
    GSYM_TRY(in_file(of->binary.path,
                     gsym_conversion_add_object_code(of->conversion, of->binary.object,
                                                     of->error),
                     of->error));
    return in_file(of->binary.path,
                   gsym_conversion_add_object_stubs(of->conversion, of->binary.object,
                                                    of->error),
                   of->error);
}

static void count_warnings(job *of) {
    for (uint32_t i = 0; i < GSYM_WARN_COUNT; ++i)
        of->report->warnings +=
            gsym_conversion_warning_count(of->conversion, (gsym_warning_category)i);
    of->report->warnings +=
        of->binary.failed + of->debug.failed + of->supplementary.failed;
    for (uint32_t i = 0; i < of->split_count; ++i)
        of->report->warnings += of->split[i].failed;
}

static gsym_status convert_object(job *of) {
    GSYM_TRY(open_files(of));
    of->thread_count = thread_count(of);
    GSYM_TRY(create_conversion(of));
    GSYM_TRY(scan(of));
    GSYM_TRY(convert_units(of));
    GSYM_TRY(gsym_conversion_collect(of->conversion, of->error));
    GSYM_TRY(add_go_functions(of));
    if (of->options->flags & GSYM_WITH_MERGED_FUNCTIONS)
        GSYM_TRY(gsym_creator_merge_functions(of->creator, of->error));
    GSYM_TRY(add_symbols(of));
    count_warnings(of);
    return GSYM_OK;
}

/* ---- one input ----------------------------------------------------------------------- */

static gsym_status create_creator(const gsym_convert_options *options,
                                  const gsym_object_header *header,
                                  gsym_creator **creator_ret, gsym_error *error) {
    gsym_creator_options created = {
        .version = options->version == 0 ? GSYM_VERSION_1 : options->version,
        .big_endian = header->big_endian,
        .has_base_address = header->has_base_address,
        .base_address = header->base_address,
        .has_index = (options->flags & GSYM_WITHOUT_INDEX) == 0};
    return gsym_creator_create(&created, creator_ret, error);
}

static gsym_status finish(gsym_creator *creator, const char *input, const char *output,
                          gsym_convert_report *report, gsym_error *error) {
    gsym_creator_report counts;
    GSYM_TRY(in_file(input, gsym_creator_finish(creator, &counts, error), error));
    GSYM_TRY(file_write(creator, output, error));
    report->functions = counts.functions;
    report->functions_debug_info = counts.functions_debug_info;
    report->functions_symbol_table = counts.functions_symbol_table;
    report->file_size = counts.file_size;
    report->warnings += gsym_creator_cut_functions(creator);
    return GSYM_OK;
}

static gsym_status set_uuid(job *of) {
    const uint8_t *uuid;
    size_t size;
    GSYM_TRY(gsym_object_identifier(of->binary.object, &uuid, &size, of->error));
    return gsym_creator_set_uuid(of->creator, uuid, size, of->error);
}

/* The creator refers to names in the input files, so they are closed after this. */
static gsym_status convert_binary(job *of, const char *input, const char *output) {
    GSYM_TRY(create_creator(of->options, &of->binary.header, &of->creator, of->error));
    GSYM_TRY(in_file(input, set_uuid(of), of->error));
    GSYM_TRY(convert_object(of));
    return finish(of->creator, input, output, of->report, of->error);
}

static void close_job(job *of) {
    if (of->conversion != NULL) gsym_conversion_destroy(of->conversion);
    if (of->creator != NULL) gsym_creator_destroy(of->creator);
    for (uint32_t i = 0; i < of->split_count; ++i) object_file_close(&of->split[i]);
    free(of->split);
    object_file_close(&of->supplementary);
    object_file_close(&of->debug);
    object_file_close(&of->binary);
}

static gsym_status convert_text(job *of, const char *input, const char *output) {
    const gsym_object_header header = {.has_base_address = 1};
    GSYM_TRY(create_creator(of->options, &header, &of->creator, of->error));
    GSYM_TRY(in_file(input,
                     breakpad_convert(&of->binary.mapping, of->creator, of->options,
                                      of->report, of->error),
                     of->error));
    return finish(of->creator, input, output, of->report, of->error);
}

/* Fail if the input is of a format that only the program `gsym` can read, or that needs no
 * conversion. */
static gsym_status refuse(const mapped_file *file, gsym_error *error) {
    static const struct {
        const char *magic, *reason;
    } kinds[] = {
        {"GSYM", "already a GSYM file"},
        {"MYSG", "already a GSYM file"},
        {"!<arch>\n", "a static archive: extract its object files"},
        {"!<thin>\n", "a thin archive: convert its object files"},
        {"\xca\xfe\xba\xbe", "a universal binary: extract an architecture with lipo"},
        {"\xca\xfe\xba\xbf", "a universal binary: extract an architecture with lipo"},
        {"Microsoft C/C++ ", "a PDB file: make a .sym file of it with dump_syms"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        size_t size = strlen(kinds[i].magic);
        if (file->size >= size && memcmp(file->bytes, kinds[i].magic, size) == 0)
            return gsym_fail(error, GSYM_E_UNSUPPORTED, 0, "%s", kinds[i].reason);
    }
    return GSYM_OK;
}

static gsym_status convert_input(job *of, const char *input, const char *output) {
    const mapped_file *file = &of->binary.mapping;
    GSYM_TRY(file_map(input, &of->binary.mapping, of->error));
    GSYM_TRY(in_file(input, refuse(file, of->error), of->error));
    if (is_breakpad(file)) return convert_text(of, input, output);
    GSYM_TRY(object_file_open(input, &of->binary, of->error));
    return convert_binary(of, input, output);
}

static gsym_status check_arguments(const char *input, const char *output,
                                   const gsym_convert_options *options, gsym_error *error) {
    bool is_same = files_are_same(output, input);
    for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; ++i)
        if (options->reserved[i] != 0)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "reserved options are not 0");
    if (options->path_map_count % 2 != 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "path_map has a prefix without a new one");
    if (options->debug_file != NULL) is_same |= files_are_same(output, options->debug_file);
    if (options->supplementary_file != NULL)
        is_same |= files_are_same(output, options->supplementary_file);
    for (uint32_t i = 0; i < options->split_file_count; ++i)
        is_same |= files_are_same(output, options->split_files[i]);
    if (!is_same) return GSYM_OK;
    return in_file(output,
                   gsym_fail(error, GSYM_E_ARGUMENT, 0, "the output is an input"), error);
}

gsym_status gsym_convert(const char *input, const char *output,
                         const gsym_convert_options *options,
                         gsym_convert_report *report_ret, gsym_error *error) {
    static const gsym_convert_options defaults = {0};
    gsym_convert_report report = {0};
    job of = {.options = options == NULL ? &defaults : options,
              .report = &report,
              .error = error};
    gsym_status status;
    GSYM_TRY(check_arguments(input, output, of.options, error));
    status = convert_input(&of, input, output);
    if (status == GSYM_OK && report_ret != NULL) *report_ret = report;
    close_job(&of);
    return status;
}
