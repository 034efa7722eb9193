/* fuzz_output.h - what fuzz targets demand of the engine: that it can decode all of a file
 * that it has made, and that nothing but a lack of memory (exhaust.c) fails without input;
 * and the threads of a conversion. */
#ifndef GSYM_FUZZ_OUTPUT_H
#define GSYM_FUZZ_OUTPUT_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <gsym/gsym.h>

enum { FUZZ_THREADS = 3 };

/* Whether a call succeeded that only a lack of memory may keep from it. */
static inline int succeeds(gsym_status status) {
    if (status != GSYM_OK && status != GSYM_E_NO_MEMORY) abort();
    return status == GSYM_OK;
}

/* A finished file in memory of its own, so that a read past its end is seen; NULL: out of
 * memory. */
static inline uint8_t *read_finished(gsym_creator *creator, size_t *size_ret) {
    uint8_t *file = NULL;
    size_t size = 0, capacity = 0, got;
    gsym_error error;
    do {
        if (capacity - size < 4096) {
            capacity = capacity * 2 + 4096;
            file = realloc(file, capacity);
            if (file == NULL) abort();
        }
        if (!succeeds(gsym_creator_read(creator, file + size, capacity - size, &got,
                                        &error))) {
            free(file);
            *size_ret = 0;
            return NULL;
        }
        size += got;
    } while (got > 0);
    *size_ret = size;
    return realloc(file, size);
}

typedef struct fuzz_worker {
    gsym_conversion *conversion;
    gsym_status status;
    pthread_t thread;
} fuzz_worker;

static inline void *fuzz_work(void *own) {
    fuzz_worker *this = own;
    gsym_error error;
    this->status = gsym_conversion_work(this->conversion, &error);
    if (this->status != GSYM_OK) gsym_conversion_cancel(this->conversion);
    return NULL;
}

/* Convert units in `count` threads, of which the first to fail stops the others. */
static inline gsym_status work_together(gsym_conversion *conversion, uint32_t count) {
    fuzz_worker workers[FUZZ_THREADS];
    gsym_status status = GSYM_OK;
    for (uint32_t i = 0; i < count; ++i) {
        workers[i].conversion = conversion;
        if (i == 0) continue; /* this thread */
        if (pthread_create(&workers[i].thread, NULL, fuzz_work, &workers[i]) != 0) abort();
    }
    (void)fuzz_work(&workers[0]);
    for (uint32_t i = 1; i < count; ++i) (void)pthread_join(workers[i].thread, NULL);
    for (uint32_t i = 0; i < count && status == GSYM_OK; ++i) status = workers[i].status;
    return status;
}

static inline void decode_whole(const uint8_t *file, size_t size) {
    gsym_image *image;
    gsym_record *record;
    gsym_header header;
    gsym_error error;
    if (file == NULL || !succeeds(gsym_image_open(file, size, &image, &error))) return;
    if (succeeds(gsym_record_create(&record, &error))) {
        const gsym_function *function;
        gsym_image_header(image, &header);
        for (uint32_t i = 0; i < header.num_addresses; i++)
            if (!succeeds(gsym_record_decode(record, image, i, &function, &error))) break;
        gsym_record_destroy(record);
    }
    gsym_image_close(image);
}

#endif
