/* fuzz_image.c - libFuzzer target: bytes that claim to be a GSYM file.
 *
 * Opens them and asks everything there is to ask, at the edges of each function.
 * An error is a fine answer; tools/fuzz.sh builds and runs this under sanitizers. */
#include <stddef.h>
#include <stdint.h>

#include "gsym.h"

#define ENTRY_LIMIT 64
#define FRAME_LIMIT 8
#define REGEX_LIMIT 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const gsym_image *image, uint64_t address) {
    gsym_frame frames[FRAME_LIMIT];
    uint64_t regexes[REGEX_LIMIT];
    gsym_error error;
    for (uint32_t flags = 0; flags <= GSYM_LOOKUP_LLVM; flags++) {
        gsym_answer answer = {0};
        for (uint32_t child = 0; child <= answer.merged_count && child < 4; child++) {
            gsym_status status =
                gsym_image_lookup(image, address, child, flags, frames, FRAME_LIMIT,
                                  regexes, REGEX_LIMIT, &answer, &error);
            if (status != GSYM_OK || !answer.found) break;
            for (uint32_t i = 0; i < answer.frame_count && i < FRAME_LIMIT; i++) {
                size_t name_size;
                uint64_t directory, basename;
                (void)gsym_image_string(image, frames[i].name, &name_size);
                (void)gsym_image_file(image, frames[i].file, &directory, &basename, &error);
            }
        }
    }
}

static void look_up_many(const gsym_image *image, const uint64_t *addresses,
                         size_t count) {
    gsym_batch *batch;
    gsym_error error;
    if (gsym_image_lookup_many(image, addresses, count, &batch, &error) != GSYM_OK) return;
    gsym_columns columns;
    gsym_batch_columns(batch, &columns);
    gsym_batch_destroy(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsym_image *image;
    gsym_record *record;
    gsym_error error;
    gsym_header header;
    gsym_section section;
    uint64_t addresses[ENTRY_LIMIT], record_offset;
    size_t known = 0;
    if (gsym_image_open(data, size, &image, &error) != GSYM_OK) return 0;
    gsym_image_header(image, &header);
    for (uint32_t i = 0; i < header.section_count; i++)
        (void)gsym_image_section(image, i, &section, &error);
    if (gsym_record_create(&record, &error) != GSYM_OK) return 0;
    for (uint32_t i = 0; i < header.num_addresses && i < ENTRY_LIMIT; i++) {
        const gsym_function *function;
        uint64_t address;
        if (gsym_image_entry(image, i, &address, &record_offset, &error) != GSYM_OK)
            continue;
        addresses[known++] = address;
        look_up(image, address);
        if (gsym_record_decode(record, image, i, &function, &error) != GSYM_OK) continue;
        look_up(image, function->address + function->size / 2);
        look_up(image, function->address + function->size - 1);
    }
    look_up_many(image, addresses, known);
    gsym_record_destroy(record);
    gsym_image_close(image);
    return 0;
}
