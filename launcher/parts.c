/* parts.c - convert the units of a program that have code at a few addresses, in memory, as
 * gsym/conversion/partial.py does. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../libgsym/internal.h"
#include "base/list.h"
#include "launcher.h"

/* Limits of the units that are converted: their number, and their bytes in .debug_info.
 * Above them the command in Python, which has a cache of whole conversions, is as fast. */
enum { MAX_UNITS = 64, MAX_SIZE = 4 << 20 };

typedef struct parts {
    object_file binary;
    gsym_unit_index *index;
    const uint64_t *addresses; /* asked for, in ascending order */
    size_t count;
    LIST(uint64_t) places; /* these, and the starts of the functions there */
    uint32_t units[MAX_UNITS];
    size_t unit_count;
} parts;

/* Whether a file may be there that is used in place of a conversion: `PATH.gsym`, that of
 * an architecture, or one of the store of the user. */
static bool has_other(const char *path) {
    static const char *const beside[] = {".gsym", ".gsym.x86_64", ".gsym.arm64"};
    static const char *const stores[][2] = {{"GSYM_STORE", ""},
                                            {"XDG_DATA_HOME", "/gsym/store"},
                                            {"HOME", "/.local/share/gsym/store"}};
    char other[PATH_MAX];
    for (size_t i = 0; i < sizeof beside / sizeof *beside; ++i)
        if (snprintf(other, sizeof other, "%s%s", path, beside[i]) >= PATH_MAX ||
            access(other, F_OK) == 0)
            return true;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; ++i) {
        const char *folder = getenv(stores[i][0]);
        if (folder == NULL || *folder == '\0') continue;
        return snprintf(other, sizeof other, "%s%s", folder, stores[i][1]) >= PATH_MAX ||
               access(other, F_OK) == 0;
    }
    return true;
}

static int compare_places(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* ---- conversions --------------------------------------------------------------------- */

static gsym_status create(const parts *job, gsym_creator **creator_ret,
                          gsym_conversion **conversion_ret, gsym_error *error) {
    const gsym_object_header *header = &job->binary.header;
    gsym_creator_options output = {.version = GSYM_VERSION_2, /* which has no limits */
                                   .has_base_address = header->has_base_address,
                                   .base_address = header->base_address};
    gsym_conversion_options options = {.thread_count = 1};
    GSYM_TRY(gsym_creator_create(&output, creator_ret, error));
    GSYM_TRY(gsym_conversion_create(*creator_ret, &options, conversion_ret, error));
    return gsym_conversion_add_object_text(*conversion_ret, job->binary.object, error);
}

static gsym_status make_index(parts *job, gsym_error *error) {
    const gsym_object *object = job->binary.object;
    gsym_creator *creator;
    gsym_conversion *conversion;
    GSYM_TRY(create(job, &creator, &conversion, error));
    GSYM_TRY(object_file_set_sections(&job->binary, conversion, 0, false, error));
    GSYM_TRY(gsym_conversion_add_object_spans(conversion, 0, object, error));
    GSYM_TRY(gsym_conversion_add_live_code(conversion, object, error));
    GSYM_TRY(gsym_unit_index_create(conversion, &job->index, error));
    return gsym_conversion_skeleton_count(conversion) > 0 ? leave(error) : GSYM_OK;
}

/* Find the units of the places. */
static gsym_status find_units(parts *job, gsym_error *error) {
    uint64_t size, total;
    GSYM_TRY(gsym_unit_index_find(job->index, job->places.items, job->places.count,
                                  job->units, MAX_UNITS, &job->unit_count, &size, &total,
                                  error));
    return job->unit_count > MAX_UNITS || size > MAX_SIZE ? leave(error) : GSYM_OK;
}

static gsym_status add_symbols(gsym_conversion *conversion, const gsym_object *object,
                               gsym_error *error) {
    GSYM_TRY(gsym_conversion_add_object_symbols(conversion, object, object, error));
    GSYM_TRY(gsym_conversion_add_object_code(conversion, object, error));
    return gsym_conversion_add_object_stubs(conversion, object, error);
}

/* Convert the units to a file in memory. */
static gsym_status convert(const parts *job, gsym_image **image_ret, gsym_error *error) {
    gsym_creator *creator;
    gsym_conversion *conversion;
    gsym_creator_report counts;
    uint8_t *bytes;
    size_t size;
    GSYM_TRY(create(job, &creator, &conversion, error));
    GSYM_TRY(gsym_conversion_select(conversion, job->index, job->units, job->unit_count,
                                    error));
    GSYM_TRY(gsym_creator_ask(creator, job->addresses, job->count, error));
    GSYM_TRY(gsym_conversion_work(conversion, error));
    GSYM_TRY(gsym_conversion_collect(conversion, error));
    GSYM_TRY(add_symbols(conversion, job->binary.object, error));
    GSYM_TRY(gsym_creator_finish(creator, &counts, error));
    bytes = malloc(counts.file_size);
    if (bytes == NULL) return gsym_fail_memory(error);
    GSYM_TRY(gsym_creator_read(creator, bytes, counts.file_size, &size, error));
    return gsym_image_open(bytes, size, image_ret, error);
}

/* ---- all units that an answer needs -------------------------------------------------- */

/* Add the starts of the functions of an entry to the places. */
static gsym_status add_starts(parts *job, const gsym_image *image, uint32_t entry,
                              gsym_error *error) {
    gsym_function_range *ranges = NULL;
    size_t capacity = 0, count;
    GSYM_TRY(gsym_image_functions(image, entry, NULL, 0, &count, error));
    if (!array_reserve(&ranges, &capacity, count, sizeof *ranges) ||
        !LIST_RESERVE(job->places, count))
        return gsym_fail_memory(error);
    GSYM_TRY(gsym_image_functions(image, entry, ranges, count, &count, error));
    for (size_t i = 0; i < count; ++i)
        job->places.items[job->places.count++] = ranges[i].address;
    free(ranges);
    return GSYM_OK;
}

/* Add the functions at the addresses to the places, and find the units of these: a symbol
 * in the middle of a function does not answer what follows it, and the unit of the function
 * may have no code at the addresses. *is_wider_ret: there are others. */
static gsym_status widen(parts *job, const gsym_image *image, bool *is_wider_ret,
                         gsym_error *error) {
    parts before = *job;
    gsym_batch *batch;
    gsym_columns columns;
    GSYM_TRY(gsym_image_lookup_many(image, job->addresses, job->count, 0, &batch, error));
    gsym_batch_columns(batch, &columns);
    for (size_t i = 0; i < columns.count; ++i)
        GSYM_TRY(add_starts(job, image, columns.function[i], error));
    gsym_batch_destroy(batch);
    qsort(job->places.items, job->places.count, sizeof *job->places.items, compare_places);
    GSYM_TRY(find_units(job, error));
    *is_wider_ret = job->unit_count != before.unit_count ||
                    memcmp(job->units, before.units,
                           before.unit_count * sizeof *before.units) != 0;
    return GSYM_OK;
}

static gsym_status make(parts *job, const char *path, gsym_image **image_ret,
                        gsym_error *error) {
    bool is_wider = true;
    GSYM_TRY(object_file_open(path, &job->binary, error));
    if (!is_complete(&job->binary)) return leave(error);
    GSYM_TRY(make_index(job, error));
    for (size_t i = 0; i < job->count; ++i)
        if (!LIST_ADD(job->places, job->addresses[i])) return gsym_fail_memory(error);
    GSYM_TRY(find_units(job, error));
    while (is_wider) {
        GSYM_TRY(convert(job, image_ret, error));
        GSYM_TRY(widen(job, *image_ret, &is_wider, error));
    }
    return GSYM_OK;
}

gsym_image *convert_parts(const char *path, uint64_t *addresses, size_t count) {
    parts job = {.addresses = addresses, .count = count};
    struct stat status;
    gsym_image *image = NULL;
    gsym_error error;
    qsort(addresses, count, sizeof *addresses, compare_places);
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) || has_other(path) ||
        make(&job, path, &image, &error) != GSYM_OK)
        return NULL;
    return image;
}
