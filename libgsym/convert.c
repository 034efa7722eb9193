/* convert.c - convert an input, and the files that belong to it, to a GSYM file. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <unistd.h>

#include "internal.h"
#include "sources/conversion.h"
#include "sources/symbols.h"

enum {
    BYTES_PER_THREAD = 4 << 20, /* with fewer bytes of .debug_info, a thread costs more time
                                 * than it saves */
    MAX_THREADS = 256
};

/* A conversion of an object file and all objects that it needs. */
typedef struct conversion_job {
    const gsym_convert_options *options;
    const conversion_steps *steps; /* or NULL */
    uint64_t go_functions;         /* of the pclntab */
    gsym_convert_report *report;
    gsym_creator *creator;
    gsym_conversion *conversion;
    object_file binary;
    object_file debug; /* if it is not open, the binary has the DWARF itself */
    object_file supplementary;
    object_file *split;
    uint32_t split_count;
    uint32_t thread_count;
    side_work symbols; /* read_symbols() */
    gsym_status symbols_status;
    gsym_error symbols_error;
    gsym_error *error;
} conversion_job;

static object_file *dwarf_of(conversion_job *job) {
    return job->debug.object != NULL ? &job->debug : &job->binary;
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

/* Convert units in job->thread_count threads, one of which is the caller's. If the system
 * refuses to create threads, the others convert their units. */
static gsym_status convert_units(conversion_job *job) {
    uint32_t extra = job->thread_count - 1;
    worker *workers = calloc(extra + 1, sizeof *workers);
    gsym_status status;
    if (workers == NULL) return gsym_fail_memory(job->error);
    for (uint32_t i = 0; i < extra; ++i) {
        workers[i].conversion = job->conversion;
        workers[i].is_started =
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    status = gsym_conversion_work(job->conversion, job->error);
    for (uint32_t i = 0; i < extra; ++i) {
        if (!workers[i].is_started) continue;
        pthread_join(workers[i].thread, NULL);
        if (status == GSYM_OK && workers[i].status != GSYM_OK) {
            *job->error = workers[i].error;
            status = workers[i].status;
        }
    }
    free(workers);
    return status;
}

static uint32_t thread_count(conversion_job *job) {
    uint64_t useful = object_file_info_size(dwarf_of(job), false) / BYTES_PER_THREAD;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t count = job->options->thread_count;
    if (count == 0)
        count = cores > 0 && (uint64_t)cores < useful ? (uint64_t)cores : useful;
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
}

/* ---- the files that belong together -------------------------------------------------- */

/* Fail if the debug file is of another build than the binary, so that its addresses are
 * wrong. */
static gsym_status check_identifier(conversion_job *job) {
    const uint8_t *own, *other;
    size_t own_size, other_size;
    GSYM_TRY(gsym_object_identifier(job->binary.object, &own, &own_size, job->error));
    GSYM_TRY(gsym_object_identifier(job->debug.object, &other, &other_size, job->error));
    if (own_size == 0 || other_size == 0 ||
        (own_size == other_size && memcmp(own, other, own_size) == 0))
        return GSYM_OK;
    return gsym_fail(job->error, GSYM_E_ARGUMENT, 0,
                     "not the debug information of the input: their build ids differ");
}

static gsym_status open_split(conversion_job *job, const char *path) {
    return object_file_open(path, &job->split[job->split_count++], job->error);
}

/* If `file`, the binary or its debug file, has split units, open it a second time as a
 * split file. */
static gsym_status open_own_split(conversion_job *job, object_file *file) {
    if (object_file_info_size(file, true) == 0) return GSYM_OK;
    return open_split(job, file->path);
}

static gsym_status open_files(conversion_job *job) {
    const gsym_convert_options *options = job->options;
    if (options->debug_file != NULL) {
        GSYM_TRY(object_file_open(options->debug_file, &job->debug, job->error));
        GSYM_TRY(in_file(options->debug_file, check_identifier(job), job->error));
        GSYM_TRY(in_file(
            options->debug_file,
            gsym_object_align(job->debug.object, job->binary.object, job->error),
            job->error));
    }
    if (options->supplementary_file != NULL)
        GSYM_TRY(object_file_open(options->supplementary_file, &job->supplementary,
                                  job->error));
    job->split = calloc((size_t)options->split_file_count + 2, sizeof *job->split);
    if (job->split == NULL) return gsym_fail_memory(job->error);
    for (uint32_t i = 0; i < options->split_file_count; ++i)
        GSYM_TRY(open_split(job, options->split_files[i]));
    GSYM_TRY(open_own_split(job, &job->binary));
    return job->debug.object == NULL ? GSYM_OK : open_own_split(job, &job->debug);
}

static uint64_t symbol_table_size(const object_file *file) {
    return file->object == NULL ? 0 : file->header.symbol_table_size;
}

/* Return the binary or its debug file, whichever has the larger symbol table. */
static object_file *symbols_of(conversion_job *job) {
    object_file *file = dwarf_of(job);
    return symbol_table_size(file) > symbol_table_size(&job->binary) ? file : &job->binary;
}

static gsym_status add_split_files(conversion_job *job) {
    for (uint32_t i = 0; i < job->split_count; ++i) {
        uint32_t number;
        uint64_t matched;
        GSYM_TRY(gsym_conversion_add_file(job->conversion, GSYM_DWARF_SPLIT, &number,
                                          job->error));
        GSYM_TRY(object_file_set_sections(&job->split[i], job->conversion, number, true,
                                          job->error));
        GSYM_TRY(gsym_conversion_link_split(job->conversion, number, &matched, job->error));
    }
    for (size_t i = 0; i < gsym_conversion_skeleton_count(job->conversion); ++i) {
        gsym_skeleton skeleton;
        GSYM_TRY(gsym_conversion_skeleton(job->conversion, i, &skeleton, job->error));
        job->report->missing_split_units += !skeleton.is_complete;
    }
    return gsym_conversion_add_live_code(job->conversion, symbols_of(job)->object,
                                         job->error);
}

static gsym_status add_path_map(conversion_job *job) {
    for (size_t i = 0; i + 1 < job->options->path_map_count; i += 2) {
        const char *old = job->options->path_map[i], *new = job->options->path_map[i + 1];
        GSYM_TRY(gsym_conversion_add_path_map(job->conversion, old, strlen(old), new,
                                              strlen(new), job->error));
    }
    return GSYM_OK;
}

/* ---- steps --------------------------------------------------------------------------- */

static gsym_status create_conversion(conversion_job *job) {
    uint32_t flags = job->options->flags;
    gsym_conversion_options options = {
        .flags = (flags & GSYM_WITH_CALL_SITES ? GSYM_CONVERT_CALL_SITES : 0u) |
                 (flags & GSYM_WITH_MERGED_FUNCTIONS ? GSYM_CONVERT_KEEP_REPEATED : 0u),
        .thread_count = job->thread_count,
        .big_endian = dwarf_of(job)->header.big_endian};
    return gsym_conversion_create(job->creator, &options, &job->conversion, job->error);
}

static void *read_symbols(void *context) {
    conversion_job *job = context;
    job->symbols_status =
        conversion_read_symbols(job->conversion, symbols_of(job)->object,
                                job->binary.object, &job->symbols_error);
    return NULL;
}

/* Scan all units, while another thread reads symbols, if there may be several and no step
 * before needs the functions of the debug information alone. Give back the pages of the
 * symbols. */
static gsym_status scan_units(conversion_job *job) {
    const gsym_object *object = symbols_of(job)->object;
    gsym_status status;
    job->symbols = (side_work){.run = read_symbols, .context = job};
    if (job->thread_count == 1 ||
        (job->options->flags & (GSYM_WITHOUT_SYMBOLS | GSYM_WITH_MERGED_FUNCTIONS)))
        return gsym_conversion_scan(job->conversion, job->error);
    status = conversion_scan_beside(job->conversion, &job->symbols, job->error);
    if (object->is_file_mapping) pages_release(object->data, object->size);
    return status;
}

static gsym_status scan(conversion_job *job) {
    uint64_t count;
    GSYM_TRY(object_file_set_sections(dwarf_of(job), job->conversion, 0, false,
                                      job->error));
    GSYM_TRY(gsym_conversion_add_object_spans(job->conversion, 0, dwarf_of(job)->object,
                                              job->error));
    if (job->supplementary.object != NULL) {
        uint32_t number;
        GSYM_TRY(gsym_conversion_add_file(job->conversion, GSYM_DWARF_SUPPLEMENTARY,
                                          &number, job->error));
        GSYM_TRY(object_file_set_sections(&job->supplementary, job->conversion, number,
                                          false, job->error));
    }
    GSYM_TRY(gsym_conversion_add_object_text(job->conversion, job->binary.object,
                                             job->error));
    GSYM_TRY(gsym_conversion_add_live_code(job->conversion, symbols_of(job)->object,
                                           job->error));
    GSYM_TRY(add_path_map(job));
    GSYM_TRY(scan_units(job));
    GSYM_TRY(add_split_files(job));
    GSYM_TRY(gsym_conversion_add_line_functions(job->conversion, dwarf_of(job)->object,
                                                &count, job->error));
    if (object_file_info_size(dwarf_of(job), false) > 0) return GSYM_OK;
    return gsym_conversion_add_btf_functions(job->conversion, job->binary.object, &count,
                                             job->error);
}

/* Add the functions of the pclntab. If it is damaged or has an unknown version, count a
 * warning and continue. */
static gsym_status add_go_functions(conversion_job *job) {
    gsym_status status = gsym_conversion_add_go_functions(
        job->conversion, job->binary.object, 1, &job->go_functions, job->error);
    if (status != GSYM_E_FORMAT && status != GSYM_E_UNSUPPORTED) return status;
    ++job->report->warnings;
    return GSYM_OK;
}

static gsym_status add_symbols(conversion_job *job) {
    object_file *file = symbols_of(job);
    if (job->options->flags & GSYM_WITHOUT_SYMBOLS) return GSYM_OK;
    creator_raise_string_limit(job->creator, file->object->size);
    side_work_end(&job->symbols);
    if (job->symbols_status != GSYM_OK) *job->error = job->symbols_error;
    GSYM_TRY(in_file(file->path, job->symbols_status, job->error));
    GSYM_TRY(in_file(job->binary.path,
                     gsym_conversion_add_object_code(job->conversion, job->binary.object,
                                                     job->error),
                     job->error));
    return in_file(job->binary.path,
                   gsym_conversion_add_object_stubs(job->conversion, job->binary.object,
                                                    job->error),
                   job->error);
}

static void count_warnings(conversion_job *job) {
    const uint64_t *counts = gsym_conversion_warning_counts(job->conversion);
    for (uint32_t i = 0; i < GSYM_WARN_COUNT; ++i) job->report->warnings += counts[i];
    job->report->warnings +=
        job->binary.failed + job->debug.failed + job->supplementary.failed;
    for (uint32_t i = 0; i < job->split_count; ++i)
        job->report->warnings += job->split[i].failed;
}

static gsym_status convert_object(conversion_job *job) {
    GSYM_TRY(open_files(job));
    job->thread_count = thread_count(job);
    GSYM_TRY(create_conversion(job));
    GSYM_TRY(scan(job));
    GSYM_TRY(convert_units(job));
    GSYM_TRY(gsym_conversion_collect(job->conversion, job->error));
    GSYM_TRY(add_go_functions(job));
    if (job->options->flags & GSYM_WITH_MERGED_FUNCTIONS)
        GSYM_TRY(gsym_creator_merge_functions(job->creator, job->error));
    GSYM_TRY(add_symbols(job));
    count_warnings(job);
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

static gsym_status finish(conversion_job *job, const char *input, const char *output) {
    gsym_convert_report *report = job->report;
    gsym_creator_report counts;
    GSYM_TRY(in_file(input, gsym_creator_finish(job->creator, &counts, job->error),
                     job->error));
    report->functions = counts.functions;
    report->functions_debug_info = counts.functions_debug_info;
    report->functions_symbol_table = counts.functions_symbol_table;
    report->file_size = counts.file_size;
    report->warnings += gsym_creator_cut_functions(job->creator);
    return file_write(job->creator, NULL, 0, job->options->thread_count != 1, output,
                      job->error);
}

static gsym_status set_uuid(conversion_job *job) {
    const uint8_t *uuid;
    size_t size;
    GSYM_TRY(gsym_object_identifier(job->binary.object, &uuid, &size, job->error));
    return gsym_creator_set_uuid(job->creator, uuid, size, job->error);
}

/* Convert the input and write the output. The creator refers to names in the input files,
 * so the caller closes them afterwards. */
static gsym_status convert_binary(conversion_job *job, const char *input,
                                  const char *output) {
    const conversion_steps *steps = job->steps;
    if (steps != NULL) {
        GSYM_TRY(steps->begin(steps->context, &job->binary, job->error));
        side_work_begin(steps->beside, job->options->thread_count != 1);
    }
    GSYM_TRY(create_creator(job->options, &job->binary.header, &job->creator, job->error));
    GSYM_TRY(in_file(input, set_uuid(job), job->error));
    GSYM_TRY(convert_object(job));
    if (steps != NULL)
        return steps->end(steps->context, &job->binary, job->creator, job->report,
                          gsym_conversion_warning_counts(job->conversion),
                          job->go_functions, job->error);
    return finish(job, input, output);
}

static void close_job(conversion_job *job) {
    if (job->conversion != NULL) gsym_conversion_destroy(job->conversion);
    if (job->creator != NULL) gsym_creator_destroy(job->creator);
    for (uint32_t i = 0; i < job->split_count; ++i) object_file_close(&job->split[i]);
    free(job->split);
    object_file_close(&job->supplementary);
    object_file_close(&job->debug);
    object_file_close(&job->binary);
}

static gsym_status convert_text(conversion_job *job, const char *input,
                                const char *output) {
    const gsym_object_header header = {.has_base_address = 1};
    GSYM_TRY(create_creator(job->options, &header, &job->creator, job->error));
    GSYM_TRY(in_file(input,
                     breakpad_convert(&job->binary.mapping, job->creator, job->options,
                                      job->report, job->error),
                     job->error));
    return finish(job, input, output);
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

static gsym_status convert_input(conversion_job *job, const char *input,
                                 const char *output) {
    const mapped_file *file = &job->binary.mapping;
    GSYM_TRY(file_map(input, &job->binary.mapping, job->error));
    GSYM_TRY(in_file(input, refuse(file, job->error), job->error));
    if (is_breakpad(file)) return convert_text(job, input, output);
    GSYM_TRY(object_file_open(input, &job->binary, job->error));
    return convert_binary(job, input, output);
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
    conversion_job job = {.options = options == NULL ? &defaults : options,
              .report = &report,
              .error = error};
    gsym_status status;
    GSYM_TRY(check_arguments(input, output, job.options, error));
    status = convert_input(&job, input, output);
    if (status == GSYM_OK && report_ret != NULL) *report_ret = report;
    close_job(&job);
    return status;
}

gsym_status convert_by_steps(const char *input, const gsym_convert_options *options,
                             const conversion_steps *steps, gsym_error *error) {
    gsym_convert_report report = {0};
    conversion_job job = {
        .options = options, .steps = steps, .report = &report, .error = error};
    gsym_status status = file_map(input, &job.binary.mapping, error);
    if (status == GSYM_OK) status = object_file_open(input, &job.binary, error);
    if (status == GSYM_OK) status = convert_binary(&job, input, NULL);
    if (steps->beside->is_started) side_work_end(steps->beside);
    close_job(&job);
    return status;
}
