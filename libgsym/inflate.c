/* inflate.c - inflate compressed sections with the zlib and zstd of the machine.
 *
 * These libraries are opened with dlopen() when a section needs one: only conversions of
 * compressed debug information do, and libgsym works without them. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <inttypes.h>

#include "internal.h"

/* The types of uncompress() in zlib.h and of ZSTD_decompress() in zstd.h. */
typedef int zlib_uncompress(uint8_t *out, unsigned long *out_size, const uint8_t *bytes,
                            unsigned long size);
typedef size_t zstd_decompress(void *out, size_t capacity, const void *bytes, size_t size);

/* Return the number of bytes written, or `size` + 1 if the data is damaged. */
static size_t call_zlib(void *function, const uint8_t *bytes, size_t stored_size,
                        uint8_t *out, size_t size) {
    zlib_uncompress *uncompress;
    unsigned long written = size;
    memcpy(&uncompress, &function, sizeof uncompress);
    return uncompress(out, &written, bytes, stored_size) == 0 ? written : size + 1;
}

/* Return the number of bytes written, or an error code, which is greater than any size. */
static size_t call_zstd(void *function, const uint8_t *bytes, size_t stored_size,
                        uint8_t *out, size_t size) {
    zstd_decompress *decompress;
    memcpy(&decompress, &function, sizeof decompress);
    return decompress(out, size, bytes, stored_size);
}

static const struct inflater {
    uint32_t compression;
    const char *library;
    const char *function;
    size_t (*call)(void *function, const uint8_t *bytes, size_t stored_size, uint8_t *out,
                   size_t size);
} inflaters[] = {
    {GSYM_COMPRESSION_ZLIB, "libz.so.1", "uncompress", call_zlib},
    {GSYM_COMPRESSION_ZSTD, "libzstd.so.1", "ZSTD_decompress", call_zstd},
};

gsym_status inflate_section(uint32_t compression, const uint8_t *bytes, size_t stored_size,
                            uint8_t *out, size_t size, uint64_t offset, gsym_error *error) {
    const struct inflater *by = inflaters;
    void *library, *function;
    size_t written;
    if (compression == GSYM_COMPRESSION_PHANTOM_BYTES) {
        for (size_t i = 0; i < size && 2 * i < stored_size; ++i) out[i] = bytes[2 * i];
        return GSYM_OK;
    }
    while (by->compression != compression)
        if (++by == inflaters + sizeof inflaters / sizeof *inflaters)
            return gsym_fail(error, GSYM_E_UNSUPPORTED, offset,
                             "a section has an unknown compression type");
    library = dlopen(by->library, RTLD_NOW | RTLD_LOCAL);
    function = library == NULL ? NULL : dlsym(library, by->function);
    if (function == NULL) {
        if (library != NULL) dlclose(library);
        return gsym_fail(error, GSYM_E_UNSUPPORTED, offset,
                         "a section is compressed, and %s is not installed", by->library);
    }
    written = by->call(function, bytes, stored_size, out, size);
    dlclose(library);
    if (written == size) return GSYM_OK;
    return gsym_fail(error, GSYM_E_FORMAT, offset,
                     "a compressed section is damaged: it does not have %zu bytes as "
                     "declared",
                     size);
}
