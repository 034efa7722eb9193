/* fuzz_convert.c - libFuzzer target: bytes that claim to be a binary with DWARF.
 *
 * Converts them as gsym/conversion/job.py does, compressed sections left out, and then
 * demands that the file written can be decoded whole: what the engine writes, it
 * reads. Most mutations stay inside one debug section, so that they get past the
 * container. The one file plays all roles: its NAME.dwo sections and indices are the split
 * file or package, and by its size it is its own supplementary file, or an object file
 * that was linked elsewhere; the size also says how many threads work, and whether only the
 * units are converted that have code at some addresses. tools/fuzz.sh builds and runs this
 * under sanitizers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    gsym_debug_section which = (gsym_debug_section)(seed / 8 % GSYM_DEBUG_SECTION_COUNT);
    uint32_t is_split = seed / 8 / GSYM_DEBUG_SECTION_COUNT % 2;
    gsym_object_section section = {0};
    gsym_error error;
    gsym_object *object;
    if (seed % 8 == 0 || gsym_object_open(data, size, &object, &error) != GSYM_OK)
        return LLVMFuzzerMutate(data, size, max_size);
    (void)gsym_object_debug_section(object, which, is_split, &section, &error);
    gsym_object_close(object);
    if (!section.present || section.size == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    (void)LLVMFuzzerMutate(data + section.offset, (size_t)section.size,
                           (size_t)section.size);
    return size;
}

/* The file, what is made of it, and what is copied of it, which lives as long as the
 * conversion. */
typedef struct fuzz_input {
    const gsym_object *object;
    const uint8_t *data;
    size_t size;
    gsym_creator_options output;
    gsym_conversion_options options;
    uint8_t *copies[3][GSYM_DEBUG_SECTION_COUNT]; /* by role */
} fuzz_input;

/* A relocated copy of a section's payload. */
static uint8_t *relocate(const fuzz_input *input, const gsym_object_section *section,
                         gsym_unapplied *unapplied_ret) {
    uint8_t *copy = malloc((size_t)section->size + 1);
    gsym_error error;
    if (copy == NULL) abort();
    memcpy(copy, input->data + section->offset, (size_t)section->size);
    (void)gsym_object_relocate(input->object, section->index, copy, (size_t)section->size,
                               unapplied_ret, &error);
    return copy;
}

/* Hand the sections over as those of a file in some role. */
static uint32_t add_file(gsym_conversion *conversion, fuzz_input *input,
                         gsym_dwarf_role role) {
    gsym_error error;
    uint32_t file = 0;
    if (role != GSYM_DWARF_MAIN &&
        !succeeds(gsym_conversion_add_file(conversion, role, &file, &error)))
        return 0;
    for (uint32_t which = 0; which < GSYM_DEBUG_SECTION_COUNT; which++) {
        gsym_object_section section = {0};
        gsym_debug_section kind = (gsym_debug_section)which;
        uint32_t is_split = role == GSYM_DWARF_SPLIT && kind != GSYM_DEBUG_CU_INDEX &&
                            kind != GSYM_DEBUG_TU_INDEX;
        gsym_unapplied unapplied = {0};
        const uint8_t *bytes;
        if (gsym_object_debug_section(input->object, kind, is_split, &section, &error) !=
            GSYM_OK)
            continue;
        if (!section.present || section.compression != GSYM_COMPRESSION_NONE) continue;
        bytes = input->data + section.offset;
        if (section.has_relocations)
            bytes = input->copies[role][which] = relocate(input, &section, &unapplied);
        (void)gsym_conversion_set_section(conversion, file, kind, bytes,
                                          (size_t)section.size, 0, &error);
        (void)gsym_conversion_distrust(conversion, file, kind, unapplied.start,
                                       unapplied.end, &error);
    }
    return file;
}

static void link_split(gsym_conversion *conversion, fuzz_input *input) {
    gsym_error error;
    gsym_skeleton skeleton;
    uint64_t matched;
    uint32_t file;
    if (gsym_conversion_skeleton_count(conversion) == 0) return;
    (void)gsym_conversion_skeleton(conversion, 0, &skeleton, &error);
    file = add_file(conversion, input, GSYM_DWARF_SPLIT);
    (void)gsym_conversion_link_split(conversion, file, &matched, &error);
}

/* The file stands for the object files that its debug map names, too. */
static void add_debug_map(gsym_conversion *conversion, const gsym_object *object) {
    gsym_debug_map *map;
    gsym_debug_map_entry entry;
    uint64_t missing;
    gsym_error error;
    if (!succeeds(gsym_debug_map_create(object, &map, &error))) return;
    for (size_t i = 0; i < gsym_debug_map_count(map) && i < 4; i++) {
        gsym_debug_map_entry_at(map, i, &entry);
        (void)gsym_conversion_add_debug_map(conversion, 0, map, i, object, &missing,
                                            &error);
        if (missing > entry.function_count) abort();
    }
    gsym_debug_map_destroy(map);
}

static gsym_status add_symbols(gsym_conversion *conversion, const gsym_object *object) {
    gsym_error error;
    gsym_status status =
        gsym_conversion_add_object_symbols(conversion, object, object, &error);
    if (status == GSYM_OK)
        status = gsym_conversion_add_object_code(conversion, object, &error);
    if (status == GSYM_OK)
        status = gsym_conversion_add_object_stubs(conversion, object, &error);
    return status;
}

/* A file for a few addresses, as gsym/conversion/partial.py makes it. */
static void convert_parts(gsym_conversion *scanned, const fuzz_input *input) {
    static const uint64_t addresses[] = {0x1000, 0x1008, 0x1018};
    enum { COUNT = sizeof addresses / sizeof *addresses, UNITS = 4 };
    uint32_t units[UNITS];
    size_t count;
    uint64_t size, total;
    gsym_unit_index *index = NULL;
    gsym_creator *creator = NULL;
    gsym_conversion *conversion = NULL;
    gsym_creator_report report;
    gsym_error error;
    if (gsym_unit_index_create(scanned, &index, &error) == GSYM_OK &&
        gsym_conversion_skeleton_count(scanned) == 0 &&
        succeeds(gsym_unit_index_find(index, addresses, COUNT, units, UNITS, &count, &size,
                                      &total, &error)) &&
        succeeds(gsym_creator_create(&input->output, &creator, &error)) &&
        succeeds(gsym_conversion_create(creator, &input->options, &conversion, &error)) &&
        gsym_conversion_add_object_text(conversion, input->object, &error) == GSYM_OK &&
        gsym_conversion_select(conversion, index, units, count < UNITS ? count : UNITS,
                               &error) == GSYM_OK &&
        succeeds(gsym_creator_ask(creator, addresses, COUNT, &error)) &&
        work_together(conversion, input->options.thread_count) == GSYM_OK &&
        gsym_conversion_collect(conversion, &error) == GSYM_OK &&
        add_symbols(conversion, input->object) == GSYM_OK)
        (void)gsym_creator_finish(creator, &report, &error);
    gsym_conversion_destroy(conversion);
    gsym_creator_destroy(creator);
    gsym_unit_index_destroy(index);
}

/* Read every byte of the embedded source files. */
static void read_sources(gsym_conversion *conversion) {
    gsym_embedded_sources *sources = NULL;
    gsym_embedded_source source;
    volatile unsigned sum = 0; /* so that no read is left out */
    gsym_error error = {0};
    if (gsym_embedded_sources_create(conversion, &sources, &error) != GSYM_OK) return;
    for (size_t i = 0; i < gsym_embedded_sources_count(sources); ++i) {
        gsym_embedded_source_at(sources, i, &source);
        for (size_t at = 0; at < source.path_size; ++at) sum = (uint8_t)source.path[at];
        for (size_t at = 0; at < source.text_size; ++at) sum = (uint8_t)source.text[at];
    }
    (void)sum;
    gsym_embedded_sources_destroy(sources);
}

static gsym_status convert(gsym_conversion *conversion, gsym_creator *creator,
                           fuzz_input *input) {
    const gsym_object *object = input->object;
    gsym_error error;
    gsym_creator_report report;
    gsym_status status = gsym_conversion_add_object_text(conversion, object, &error);
    (void)add_file(conversion, input, GSYM_DWARF_MAIN);
    if (input->size & 2) (void)add_file(conversion, input, GSYM_DWARF_SUPPLEMENTARY);
    if (input->size & 4)
        (void)gsym_conversion_add_address_span(conversion, 0, 0x1000, 0x100000,
                                               input->size, &error);
    if (input->size & 8) add_debug_map(conversion, object);
    if (status == GSYM_OK && input->size & 128) {
        convert_parts(conversion, input);
        return GSYM_E_EMPTY;
    }
    if (status == GSYM_OK) status = gsym_conversion_scan(conversion, &error);
    if (status == GSYM_OK) read_sources(conversion);
    if (status == GSYM_OK) link_split(conversion, input);
    if (status == GSYM_OK) {
        uint64_t count;
        status = gsym_conversion_add_line_functions(conversion, object, &count, &error);
    }
    if (status == GSYM_OK) status = work_together(conversion, input->options.thread_count);
    if (status == GSYM_OK) status = gsym_conversion_collect(conversion, &error);
    if (status == GSYM_OK) {
        uint64_t count;
        uint32_t only_undescribed = input->size >> 4 & 1;
        (void)gsym_conversion_add_go_functions(conversion, object, only_undescribed,
                                               &count, &error);
    }
    if (status == GSYM_OK && (input->size & 64))
        status = gsym_creator_merge_functions(creator, &error);
    if (status == GSYM_OK)
        status = add_symbols(conversion, object);
    if (status == GSYM_OK) status = gsym_creator_finish(creator, &report, &error);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsym_error error;
    gsym_object *object;
    gsym_object_header header;
    if (gsym_object_open(data, size, &object, &error) != GSYM_OK) return 0;
    (void)gsym_object_align(object, object, &error);
    gsym_object_header_get(object, &header);
    fuzz_input input = {
        .object = object,
        .data = data,
        .size = size,
        .output = {.version = 1 + (uint32_t)(size & 1),
                   .big_endian = header.big_endian,
                   .has_base_address = header.has_base_address,
                   .base_address = header.base_address},
        .options = {.flags = GSYM_CONVERT_CALL_SITES | GSYM_CONVERT_KEEP_WARNINGS,
                    .thread_count = size & 32 ? FUZZ_THREADS : 1,
                    .big_endian = header.big_endian}};
    gsym_creator *creator = NULL;
    gsym_conversion *conversion = NULL;
    if (succeeds(gsym_creator_create(&input.output, &creator, &error)) &&
        succeeds(gsym_conversion_create(creator, &input.options, &conversion, &error)) &&
        convert(conversion, creator, &input) == GSYM_OK) {
        size_t file_size;
        uint8_t *file = read_finished(creator, &file_size);
        decode_whole(file, file_size);
        free(file);
    }
    gsym_conversion_destroy(conversion);
    for (uint32_t role = 0; role < 3; role++)
        for (uint32_t which = 0; which < GSYM_DEBUG_SECTION_COUNT; which++)
            free(input.copies[role][which]);
    gsym_creator_destroy(creator);
    gsym_object_close(object);
    return 0;
}
