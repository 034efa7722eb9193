/* fuzz_image.c - libFuzzer target: bytes that claim to be a GSYM file.
 *
 * Opens them and asks everything there is to ask, at the edges of each function, and
 * writes them again.
 * An error is a fine answer; tools/fuzz.sh builds and runs this under sanitizers. */
#include <stddef.h>
#include <stdint.h>

#include <gsym/gsym.h>

#define ENTRY_LIMIT 64
#define FRAME_LIMIT 8
#define REGEX_LIMIT 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const gsym_image *image, uint64_t address) {
    gsym_frame frames[FRAME_LIMIT];
    uint64_t regexes[REGEX_LIMIT];
    const gsym_lookup_room room = {frames, FRAME_LIMIT, regexes, REGEX_LIMIT};
    gsym_error error;
    for (uint32_t flags = 0; flags <= GSYM_LOOKUP_LLVM; flags++) {
        gsym_answer answer = {0};
        for (uint32_t child = 0; child <= answer.merged_count && child < 4; child++) {
            gsym_status status = gsym_image_lookup(image, address, child, flags, &room,
                                                   &answer, &error);
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
    if (gsym_image_lookup_many(image, addresses, count, 1, &batch, &error) != GSYM_OK)
        return;
    gsym_columns columns;
    gsym_batch_columns(batch, &columns);
    gsym_batch_destroy(batch);
}

/* Call sites for the function of each name. */
static void add_call_sites(gsym_creator *creator, const gsym_image *image,
                           const uint64_t *names, size_t count) {
    gsym_function functions[ENTRY_LIMIT] = {{0}};
    gsym_call_site site = {.return_offset = 1, .regex_count = 1};
    gsym_error error;
    size_t missing;
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *name = gsym_image_string(image, names[i], &size);
        (void)gsym_creator_add_string(creator, name, size, &functions[i].name, &error);
        functions[i].call_sites = &site;
        functions[i].call_site_count = 1;
        functions[i].regexes = &functions[i].name;
        functions[i].regex_count = 1;
    }
    (void)gsym_creator_add_call_sites(creator, functions, count, &missing, &error);
}

static void finish(gsym_creator *creator) {
    static uint8_t chunk[4096];
    gsym_creator_report report;
    gsym_error error;
    size_t size = 1;
    gsym_status status = gsym_creator_finish(creator, &report, &error);
    while (status == GSYM_OK && size != 0)
        status = gsym_creator_read(creator, chunk, sizeof chunk, &size, &error);
}

/* All of it, a segment of it, or the functions called as the first one is. */
static void write_again(const gsym_image *image, uint32_t kind) {
    gsym_creator_options options = {
        .version = 1 + kind % 2, .big_endian = kind / 2 % 2, .keep_all = kind / 4 % 2};
    gsym_function_range functions[ENTRY_LIMIT];
    uint64_t names[ENTRY_LIMIT];
    gsym_range range = {0, UINT64_MAX / 2};
    gsym_selection selection = {1, kind / 4 % 2, names, 0, &range, 1};
    gsym_creator *creator;
    gsym_error error;
    size_t count = 0;
    uint32_t end;
    if (gsym_image_all_functions(image, functions, ENTRY_LIMIT, &count, &error) != GSYM_OK)
        return;
    if (count > ENTRY_LIMIT) count = ENTRY_LIMIT;
    for (size_t i = 0; i < count; i++) names[i] = functions[i].name;
    selection.name_count = count == 0 ? 0 : 1;
    if (gsym_creator_create(&options, &creator, &error) != GSYM_OK) return;
    (void)gsym_creator_add_sections(creator, image, &error);
    if (kind % 3 == 0) (void)gsym_creator_add_tables(creator, image, &error);
    if (kind % 3 == 1)
        (void)gsym_creator_add_segment(creator, image, 0, 500, &end, &error);
    else
        (void)gsym_creator_add_entries(creator, image, kind % 3 ? &selection : NULL,
                                       &error);
    if (kind >= 12) add_call_sites(creator, image, names, count);
    finish(creator);
    gsym_creator_destroy(creator);
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
    if (gsym_record_create(&record, &error) != GSYM_OK) {
        gsym_image_close(image);
        return 0;
    }
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
    for (uint32_t kind = 0; kind < 24; kind++) write_again(image, kind);
    gsym_record_destroy(record);
    gsym_image_close(image);
    return 0;
}
