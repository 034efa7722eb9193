/* fuzz_output.h - what fuzz targets demand of a file that they have made: that the
 * engine can decode all of it. */
#ifndef GSYM_FUZZ_OUTPUT_H
#define GSYM_FUZZ_OUTPUT_H

#include <stdint.h>
#include <stdlib.h>

#include <gsym/gsym.h>

/* A finished file in memory of its own, so that a read past its end is seen. */
static uint8_t *read_finished(gsym_creator *creator, size_t *size_ret) {
    uint8_t *file = NULL;
    size_t size = 0, capacity = 0, got;
    gsym_error error;
    do {
        if (capacity - size < 4096) {
            capacity = capacity * 2 + 4096;
            file = realloc(file, capacity);
            if (file == NULL) abort();
        }
        if (gsym_creator_read(creator, file + size, capacity - size, &got, &error)) abort();
        size += got;
    } while (got > 0);
    *size_ret = size;
    return realloc(file, size);
}

static void decode_whole(const uint8_t *file, size_t size) {
    gsym_image *image;
    gsym_record *record;
    gsym_header header;
    gsym_error error;
    if (gsym_image_open(file, size, &image, &error) != GSYM_OK) abort();
    if (gsym_record_create(&record, &error) != GSYM_OK) abort();
    gsym_image_header(image, &header);
    for (uint32_t i = 0; i < header.num_addresses; i++) {
        const gsym_function *function;
        if (gsym_record_decode(record, image, i, &function, &error) != GSYM_OK) abort();
    }
    gsym_record_destroy(record);
    gsym_image_close(image);
}

#endif
