/* object.c - pass the debug sections of an object file to a conversion.
 *
 * Sections that have to be joined, inflated or relocated are copied; others are read where
 * they are mapped. */
#include <inttypes.h>

#include "base/system.h"
#include "internal.h"

/* Debug information is compressed by a factor of 5, rarely 50. zlib can reach a factor of
 * 1000, zstd 30000, so that a small file could use up all memory. */
#define MAX_INFLATED (UINT64_C(16) << 30)
enum { MAX_RATIO = 100, FREE_SIZE = 16 << 20 };

gsym_status object_file_open(const char *path, object_file *file, gsym_error *error) {
    file->path = path;
    if (file->mapping.bytes == NULL)
        GSYM_TRY(file_map(path, &file->mapping, error));
    GSYM_TRY(in_file(path,
                     gsym_object_open(file->mapping.bytes, file->mapping.size,
                                      &file->object, error),
                     error));
    gsym_object_mark_mapped(file->object);
    gsym_object_header_get(file->object, &file->header);
    return GSYM_OK;
}

void object_file_close(object_file *file) {
    for (size_t i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i) free(file->copies[i]);
    if (file->object != NULL) gsym_object_close(file->object);
    file_unmap(&file->mapping);
}

/* Whether a linker would join several sections of this name, such as those of type
 * units. */
static bool are_joined(const object_file *file, gsym_debug_section which, bool is_split) {
    if (is_split) return which == GSYM_DEBUG_INFO || which == GSYM_DEBUG_TYPES;
    return file->header.is_relocatable != 0;
}

/* Replace `section` by the next section of the same name. */
static gsym_status next_section(const object_file *file, gsym_object_section *section,
                                gsym_error *error) {
    return gsym_object_find_section(file->object, section->index + 1, section->name,
                                    section->name_size, section, error);
}

/* Compute the size and number of `first` and the following sections of the same name. */
static gsym_status joined_size(const object_file *file, gsym_object_section first,
                               uint64_t *size_ret, size_t *count_ret, gsym_error *error) {
    uint64_t stored = 0;
    *size_ret = *count_ret = 0;
    while (first.present) {
        stored += first.size;
        if (stored > file->mapping.size) /* sections that share bytes: a small file could
                                            use up all memory */
            return gsym_fail(error, GSYM_E_FORMAT, first.offset,
                             "sections of one name share their bytes");
        if (first.uncompressed_size > MAX_INFLATED)
            return gsym_fail(error, GSYM_E_LIMIT, first.offset, "a section is too large");
        *size_ret += first.uncompressed_size;
        ++*count_ret;
        GSYM_TRY(next_section(file, &first, error));
    }
    return GSYM_OK;
}

/* Copy bytes of the mapped file, whose pages are released on the way. */
static void copy_mapped(const uint8_t *bytes, size_t size, uint8_t *out) {
    while (size > 0) {
        size_t step = size < PAGES_DROP_SIZE ? size : PAGES_DROP_SIZE;
        memcpy(out, bytes, step);
        pages_release(bytes, step);
        out += step;
        bytes += step;
        size -= step;
    }
}

/* Copy a section to `out`, in the form that the conversion reads. */
static gsym_status copy_section(object_file *file, const gsym_object_section *section,
                                uint8_t *out, gsym_unapplied *unapplied,
                                gsym_error *error) {
    const uint8_t *bytes = file->mapping.bytes + section->offset;
    size_t size = (size_t)section->uncompressed_size;
    if (section->compression == GSYM_COMPRESSION_NONE)
        copy_mapped(bytes, size, out);
    else
        GSYM_TRY(inflate_section(section->compression, bytes, (size_t)section->size, out,
                                 size, section->offset, error));
    if (section->has_relocations)
        GSYM_TRY(gsym_object_relocate(file->object, section->index, out, size, unapplied,
                                      error));
    /* Relocations may take more pages than all that is read later. */
    pages_release(file->mapping.bytes, file->mapping.size);
    file->failed += unapplied->count;
    return GSYM_OK;
}

static gsym_status copy_sections(object_file *file, gsym_object_section section,
                                 uint64_t size, size_t count, uint8_t **copy_ret,
                                 gsym_range *distrusted_ret, gsym_error *error) {
    uint64_t max_copied = FREE_SIZE + (uint64_t)file->mapping.size * MAX_RATIO;
    uint8_t *out;
    if (max_copied > MAX_INFLATED) max_copied = MAX_INFLATED;
    if (size > max_copied - file->copied) /* the sum could overflow */
        return gsym_fail(error, GSYM_E_LIMIT, section.offset,
                         "its compressed sections declare more than %" PRIu64 " bytes",
                         max_copied);
    file->copied += size;
    out = *copy_ret = malloc((size_t)size + 1);
    if (out == NULL) return gsym_fail_memory(error);
    while (count-- > 0) {
        gsym_unapplied unapplied = {0};
        uint64_t before = (uint64_t)(out - *copy_ret);
        GSYM_TRY(copy_section(file, &section, out, &unapplied, error));
        if (unapplied.count > 0) {
            if (distrusted_ret->end == 0) distrusted_ret->start = before + unapplied.start;
            distrusted_ret->end = before + unapplied.end;
        }
        out += section.uncompressed_size;
        GSYM_TRY(next_section(file, &section, error));
    }
    return GSYM_OK;
}

static gsym_status set_section(object_file *file, gsym_conversion *conversion,
                               uint32_t number, gsym_debug_section which, bool is_split,
                               gsym_error *error) {
    gsym_object_section section = {0};
    const uint8_t *bytes;
    uint64_t size;
    size_t count = 1;
    bool is_mapped;
    gsym_range distrusted = {0};
    GSYM_TRY(gsym_object_debug_section(file->object, which, is_split, &section, error));
    if (!section.present) return GSYM_OK;
    size = section.uncompressed_size;
    if (are_joined(file, which, is_split))
        GSYM_TRY(joined_size(file, section, &size, &count, error));
    is_mapped = count == 1 && section.compression == GSYM_COMPRESSION_NONE &&
                !section.has_relocations;
    if (!is_mapped)
        GSYM_TRY(copy_sections(file, section, size, count, &file->copies[which],
                               &distrusted, error));
    bytes = is_mapped ? file->mapping.bytes + section.offset : file->copies[which];
    GSYM_TRY(gsym_conversion_set_section(conversion, number, which, bytes, (size_t)size,
                                         is_mapped, error));
    return gsym_conversion_distrust(conversion, number, which, distrusted.start,
                                    distrusted.end, error);
}

gsym_status object_file_set_sections(object_file *file, gsym_conversion *conversion,
                                     uint32_t number, bool is_split, gsym_error *error) {
    for (uint32_t which = 0; which < GSYM_DEBUG_SECTION_COUNT; ++which)
        GSYM_TRY(in_file(file->path,
                         set_section(file, conversion, number, (gsym_debug_section)which,
                                     is_split, error),
                         error));
    return GSYM_OK;
}

uint64_t object_file_info_size(object_file *file, bool is_split) {
    gsym_object_section section = {0};
    gsym_error ignored;
    if (gsym_object_debug_section(file->object, GSYM_DEBUG_INFO, is_split, &section,
                                  &ignored) != GSYM_OK)
        return 0;
    return section.uncompressed_size;
}
