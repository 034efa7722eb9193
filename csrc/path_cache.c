/* path_cache.c - a table of slots by file index, each with the last path that came by. */
#include "path_cache.h"

enum {
    SLOTS = 1 << 12,
    MOST_BYTES = 1 << 20 /* of all paths; then they are forgotten */
};

typedef struct cached_path {
    uint32_t file;
    uint32_t generation;
    uint32_t at, size;
    bool is_printable;
    bool is_quotable;
} cached_path;

joined_path classify_text(const char *bytes, size_t size) {
    bool is_printable = true, is_quotable = true;
    for (size_t i = 0; i < size; ++i) {
        unsigned char byte = (unsigned char)bytes[i];
        is_printable &= byte >= ' ' && byte <= '~';
        is_quotable &= byte != '"' && byte != '\\';
    }
    return (joined_path){bytes, size, is_printable, is_printable && is_quotable};
}

char path_separator(const char *directory, size_t size) {
    return memchr(directory, '/', size) == NULL && memchr(directory, '\\', size) != NULL
               ? '\\'
               : '/';
}

static void forget(path_cache *cache) {
    cache->bytes.size = 0;
    if (++cache->generation == 0) {
        memset(cache->slots, 0, SLOTS * sizeof *cache->slots);
        cache->generation = 1;
    }
}

bool path_cache_begin(path_cache *cache, path_form form) {
    if (cache->slots == NULL) cache->slots = calloc(SLOTS, sizeof *cache->slots);
    if (cache->slots == NULL || !buffer_reserve(&cache->bytes, 1)) return false;
    cache->form = form;
    forget(cache);
    return true;
}

static void join(path_cache *cache, const gsym_image *image, uint32_t file) {
    static const char invalid[] = "<invalid-file>";
    uint64_t directory, basename;
    size_t directory_size, basename_size;
    const char *directory_bytes, *basename_bytes;
    /* File 0 is none, whatever the table says of it. */
    if (file == 0 || !image_file(image, file, &directory, &basename)) return;
    directory_bytes = gsym_image_string(image, directory, &directory_size);
    basename_bytes = gsym_image_string(image, basename, &basename_size);
    if (cache->form == PATH_LLVM && basename_size == 0 && directory_size > 0) {
        basename_bytes = invalid;
        basename_size = sizeof invalid - 1;
    }
    if (cache->form != PATH_BASENAME && directory_size > 0) {
        buffer_put(&cache->bytes, directory_bytes, directory_size);
        buffer_put_u8(&cache->bytes,
                      (uint8_t)path_separator(directory_bytes, directory_size));
    }
    buffer_put(&cache->bytes, basename_bytes, basename_size);
}

static bool fill(path_cache *cache, cached_path *slot, const gsym_image *image,
                 uint32_t file) {
    joined_path path;
    size_t at;
    if (cache->bytes.size >= MOST_BYTES) forget(cache);
    at = cache->bytes.size;
    join(cache, image, file);
    if (cache->bytes.failed || cache->bytes.size > UINT32_MAX) return false;
    path = classify_text((const char *)cache->bytes.bytes + at, cache->bytes.size - at);
    *slot = (cached_path){file,
                          cache->generation,
                          (uint32_t)at,
                          (uint32_t)path.size,
                          path.is_printable,
                          path.is_quotable};
    return true;
}

bool path_cache_get(path_cache *cache, const gsym_image *image, uint32_t file,
                    joined_path *path_ret) {
    cached_path *slot = &cache->slots[file % SLOTS];
    if (GSYM_UNLIKELY(slot->generation != cache->generation || slot->file != file) &&
        !fill(cache, slot, image, file))
        return false;
    *path_ret = (joined_path){(const char *)cache->bytes.bytes + slot->at, slot->size,
                              slot->is_printable, slot->is_quotable};
    return true;
}

void path_cache_deinit(path_cache *cache) {
    free(cache->slots);
    buffer_deinit(&cache->bytes);
}
