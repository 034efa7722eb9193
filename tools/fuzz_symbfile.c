/* fuzz_symbfile.c - libFuzzer target: bytes that claim to be a symbfile.
 *
 * Converts them as gsym/symbfile/to_gsym.py does, demands that the file can be decoded
 * whole, extracts its ranges, and the return pads of code that only has calls, and demands
 * that the symbfiles written can be read. tools/fuzz.sh builds and runs this under
 * sanitizers. */
#include <string.h>

#include "fuzz_output.h"

enum { STEP = 3, NAMES = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The ranges of a file to `functions`, unless that is NULL; *is_disordered: start over. */
static gsym_status read_symbfile(const uint8_t *data, size_t size,
                                 gsym_symbfile_functions *functions,
                                 uint32_t *is_disordered, gsym_error *error) {
    gsym_symbfile_reader *reader = NULL;
    size_t at = 0, used, wanted = 0;
    gsym_status status = gsym_symbfile_reader_create(&reader, error);
    while (status == GSYM_OK && wanted == 0 && !*is_disordered) {
        status = gsym_symbfile_reader_read(reader, data + at, size - at, 1, &used, &wanted,
                                           error);
        at += used;
        if (status == GSYM_OK && functions != NULL)
            status = gsym_symbfile_functions_take(functions, reader, is_disordered, error);
    }
    gsym_symbfile_reader_destroy(reader);
    return status;
}

static uint8_t *convert(const uint8_t *data, size_t size, uint32_t waits_for_all,
                        uint32_t *is_disordered, size_t *size_ret) {
    const gsym_creator_options options = {.version = 1 + (uint32_t)(size & 1)};
    gsym_symbfile_functions *functions = NULL;
    gsym_creator *creator = NULL;
    gsym_creator_report report;
    gsym_error error;
    uint64_t count;
    uint8_t *file = NULL;
    if (succeeds(gsym_creator_create(&options, &creator, &error)) &&
        succeeds(gsym_symbfile_functions_create(creator, waits_for_all, &functions,
                                                &error)) &&
        read_symbfile(data, size, functions, is_disordered, &error) == GSYM_OK &&
        !*is_disordered &&
        gsym_symbfile_functions_finish(functions, &count, is_disordered, &error) ==
            GSYM_OK &&
        !*is_disordered && gsym_creator_finish(creator, &report, &error) == GSYM_OK)
        file = read_finished(creator, size_ret);
    gsym_symbfile_functions_destroy(functions);
    gsym_creator_destroy(creator);
    return file;
}

/* All names, each with the text "n". */
static int name(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                const gsym_image *image) {
    static const char texts[2 * NAMES] = {'n', 0, 'n', 0, 'n', 0, 'n', 0, 'n', 0};
    uint64_t strps[NAMES], first = 0, done = 0, count = 0;
    gsym_header header;
    gsym_error error;
    gsym_image_header(image, &header);
    for (uint32_t i = 0; i < header.num_addresses; i += STEP)
        if (!succeeds(gsym_symbfile_names_collect(names, i, STEP, &error))) return 0;
    for (;;) {
        size_t listed;
        if (gsym_symbfile_names_list(names, first, strps, NAMES, &count, &error) != GSYM_OK)
            return 0;
        if (count == done) return 1;
        listed = count - done < NAMES ? (size_t)(count - done) : NAMES;
        if (!succeeds(gsym_symbfile_names_add(names, writer, texts, 2 * listed, &error)))
            return 0;
        first = strps[listed - 1] + 1;
        done += listed;
    }
}

/* A finished symbfile, or its parts, can be read. */
static void read_written(gsym_symbfile_writer *writer) {
    const uint8_t *bytes;
    uint32_t is_disordered = 0, ends_part;
    gsym_error error;
    uint8_t *part = NULL;
    size_t size = 0, more;
    do {
        gsym_symbfile_writer_take(writer, &bytes, &more, &ends_part);
        part = realloc(part, size + more + 1);
        if (part == NULL) abort();
        memcpy(part + size, bytes, more);
        size += more;
        if (!ends_part) continue;
        (void)succeeds(read_symbfile(part, size, NULL, &is_disordered, &error));
        size = 0;
    } while (more != 0 || ends_part);
    free(part);
}

/* Write the ranges, or with calls the return pads. */
static void extract(const gsym_image *image, const gsym_calls *calls, uint64_t part_size) {
    gsym_symbfile_extraction *extraction = NULL;
    gsym_symbfile_names *names = NULL;
    gsym_symbfile_writer *writer = NULL;
    uint32_t is_done = 0;
    gsym_error error;
    if (succeeds(gsym_symbfile_writer_create(part_size, &writer, &error)) &&
        succeeds(gsym_symbfile_names_create(image, &names, &error)) &&
        succeeds(gsym_symbfile_extraction_create(image, &extraction, &error)) &&
        name(names, writer, image)) {
        if (calls == NULL)
            gsym_symbfile_extraction_want_ranges(extraction, names, writer);
        else
            gsym_symbfile_extraction_want_return_pads(extraction, names, writer, calls);
        while (!is_done && gsym_symbfile_extraction_next(extraction, STEP, &is_done,
                                                         &error) == GSYM_OK) {}
        if (is_done && succeeds(gsym_symbfile_writer_finish(writer, &error)))
            read_written(writer);
    }
    gsym_symbfile_extraction_destroy(extraction);
    gsym_symbfile_names_destroy(names);
    gsym_symbfile_writer_destroy(writer);
}

static void write_again(const gsym_image *image, uint64_t part_size) {
    static const uint8_t svc[] = {1, 0, 0, 0xd4, 1, 0, 0, 0xd4, 1, 0, 0, 0xd4};
    gsym_code piece = {.bytes = svc, .size = sizeof svc};
    const gsym_machine_code code = {&piece, 1, GSYM_INSTRUCTIONS_AARCH64};
    gsym_calls *calls;
    uint64_t record_offset;
    gsym_error error;
    (void)gsym_image_entry(image, 0, &piece.address, &record_offset, &error);
    extract(image, NULL, part_size);
    if (gsym_calls_find(image, &code, &calls, &error) != GSYM_OK) return;
    extract(image, calls, part_size);
    gsym_calls_destroy(calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsym_image *image;
    gsym_error error;
    uint8_t *file = NULL;
    size_t file_size;
    uint32_t is_disordered = 1;
    for (uint32_t waits_for_all = 0; waits_for_all < 2 && is_disordered; ++waits_for_all) {
        is_disordered = 0;
        file = convert(data, size, waits_for_all, &is_disordered, &file_size);
    }
    if (file == NULL) return 0;
    decode_whole(file, file_size);
    if (succeeds(gsym_image_open(file, file_size, &image, &error))) {
        write_again(image, size & 2 ? 64 : 0);
        gsym_image_close(image);
    }
    free(file);
    return 0;
}
