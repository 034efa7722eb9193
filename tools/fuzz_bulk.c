/* fuzz_bulk.c - libFuzzer target: bytes that claim to be a GSYM file, asked in bulk.
 *
 * Looks up rows of two modules, the file twice, in two bulks that share what is known, with
 * and without its frames, and demands that a row of the second has the same stack as in the
 * first, as its views show; the second asks without the file if the first knows all.
 * tools/fuzz.sh builds and runs this under sanitizers. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_output.h"

enum { ENTRIES = 24, ROWS = 4 * ENTRIES, MODULES = 2, NUMBERS = 4, FLAGS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds up the frames that a bulk writes, in memory that is as large as its header says. */
static void read_frames(const gsym_bulk *bulk, const int32_t *offsets, size_t count,
                        uint64_t *sum_ret) {
    uint64_t *numbers = malloc((count + 1) * NUMBERS * sizeof *numbers);
    uint8_t *flags = malloc((count / 8 + 1) * FLAGS);
    if (numbers != NULL && flags != NULL) {
        const size_t bytes = (count + 7) / 8;
        const gsym_frame_columns columns = {
            (uint32_t *)(numbers + count), (uint32_t *)(numbers + 2 * count),
            (uint32_t *)(numbers + 3 * count), numbers, flags, flags + bytes,
            flags + 2 * bytes, flags + 3 * bytes, flags + 4 * bytes};
        gsym_bulk_frames(bulk, 0, ROWS, offsets, &columns);
        for (size_t i = 0; i < count; ++i)
            *sum_ret += columns.names[i] + columns.files[i] + columns.lines[i] + numbers[i];
        for (size_t i = 0; i < FLAGS * bytes; ++i)
            *sum_ret += flags[i];
    }
    free(numbers);
    free(flags);
}

/* What a bulk made; *sum_ret adds up what its views show, so that all of it is read. */
static gsym_status answer(const gsym_image *image, const gsym_rows *rows, gsym_known *known,
                          bool has_frames, uint32_t *stacks_ret, uint64_t *sum_ret) {
    gsym_bulk *bulk = NULL;
    gsym_bulk_columns columns;
    gsym_error error;
    int32_t offsets[ROWS + 1];
    gsym_status status = gsym_bulk_create(rows, known, &bulk, &error);
    if (!succeeds(status)) return status;
    for (uint32_t module = 0; module < MODULES && status == GSYM_OK; ++module)
        status = gsym_bulk_look_up(bulk, module, module, image, &error);
    if (status == GSYM_OK) status = gsym_bulk_end(bulk, &error);
    if (status == GSYM_OK)
        status = gsym_bulk_offsets(bulk, 0, rows->count, 1, offsets, &error);
    if (status == GSYM_OK) {
        gsym_bulk_view(bulk, &columns);
        memcpy(stacks_ret, columns.stacks, rows->count * sizeof *stacks_ret);
        read_frames(bulk, NULL, columns.frame_count, sum_ret);
        if (has_frames)
            read_frames(bulk, offsets, (size_t)offsets[rows->count], sum_ret);
        for (int32_t i = 0; i < columns.name_texts.offsets[columns.name_texts.count]; ++i)
            *sum_ret += (uint8_t)columns.name_texts.bytes[i];
    }
    gsym_bulk_destroy(bulk);
    return status;
}

static void ask(const gsym_image *image, bool keeps_frames) {
    uint64_t addresses[ROWS] = {0}, bases[ROWS] = {0}, record_offset, sum = 0;
    uint32_t modules[ROWS], stacks[2][ROWS];
    uint8_t returns[ROWS], has_address[ROWS];
    gsym_known *known = NULL;
    gsym_status first, second;
    gsym_error error;
    for (uint32_t i = 0; i < ROWS; ++i) {
        (void)gsym_image_entry(image, i % ENTRIES, &addresses[i], &record_offset, &error);
        addresses[i] += i / ENTRIES;
        modules[i] = i % 7 == 6 ? UINT32_MAX : i % MODULES;
        returns[i] = i % 5 == 0;
        has_address[i] = i % 11 != 10;
    }
    const gsym_rows rows = {ROWS, addresses, has_address, modules, bases, returns, MODULES};
    if (!succeeds(gsym_known_create(keeps_frames, &known, &error))) return;
    first = answer(image, &rows, known, true, stacks[0], &sum);
    if (first == GSYM_OK) {
        second = answer(NULL, &rows, known, keeps_frames, stacks[1], &sum);
        if (second == GSYM_OK && memcmp(stacks[0], stacks[1], sizeof stacks[0]) != 0)
            abort();
    }
    gsym_known_destroy(known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsym_image *image;
    gsym_error error;
    if (gsym_image_open(data, size, &image, &error) != GSYM_OK) return 0;
    ask(image, false);
    ask(image, true);
    gsym_image_close(image);
    return 0;
}
