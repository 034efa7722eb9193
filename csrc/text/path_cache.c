/* path_cache.c - a table of slots by image and file index, each with the last path that came by. */
#include "text/path_cache.h"

#include "text/text_class.h"

enum {
    SLOTS = 1 << 12,
    MOST_BYTES = 1 << 20 /* of all paths; then they are forgotten */
};

typedef struct cached_path {
    const gsym_image *image;
    uint32_t file;
    uint32_t generation;
    uint32_t at, size;
    bool is_printable;
    bool is_quotable;
} cached_path;

char path_separator(const char *directory, size_t size) {
    return memchr(directory, '/', size) == NULL && memchr(directory, '\\', size) != NULL
               ? '\\'
               : '/';
}

static void forget(path_cache *cache) {
    cache->bytes.size = 0;
    cache->bytes.failed = false;
    if (++cache->generation == 0) {
        memset(cache->slots, 0, SLOTS * sizeof *cache->slots);
        cache->generation = 1;
    }
}

bool path_cache_begin(path_cache *cache, path_form form) {
    if (cache->slots == NULL) cache->slots = calloc(SLOTS, sizeof *cache->slots);
    if (cache->slots == NULL) return false;
    cache->form = form;
    forget(cache);
    return buffer_reserve(&cache->bytes, 1);
}

typedef struct path_part {
    const char *bytes;
    size_t size;
} path_part;

/* Both are empty where there is no file; file 0 is none, whatever the table says of it. */
static void find_parts(const gsym_image *image, uint32_t file, path_form form,
                       path_part *directory_ret, path_part *basename_ret) {
    uint64_t directory = 0, basename = 0;
    if (file != 0 && !image_file(image, file, &directory, &basename))
        directory = basename = 0;
    if (form == PATH_BASENAME) directory = 0;
    directory_ret->bytes = gsym_image_string(image, directory, &directory_ret->size);
    basename_ret->bytes = gsym_image_string(image, basename, &basename_ret->size);
}

static void put_part(path_cache *cache, path_part part) {
    if (cache->escapes)
        buffer_put_escaped(&cache->bytes, part.bytes, part.size);
    else
        buffer_put(&cache->bytes, part.bytes, part.size);
}

static void join(path_cache *cache, path_part directory, path_part basename) {
    static const char invalid[] = "<invalid-file>";
    buffer *bytes = &cache->bytes;
    put_part(cache, directory);
    if (cache->form == PATH_FIELDS)
        buffer_put(bytes, PATH_BETWEEN_FIELDS, sizeof PATH_BETWEEN_FIELDS - 1);
    else if (directory.size > 0)
        buffer_put_u8(bytes, (uint8_t)path_separator(directory.bytes, directory.size));
    if (cache->form == PATH_LLVM && basename.size == 0 && directory.size > 0)
        basename = (path_part){invalid, sizeof invalid - 1};
    put_part(cache, basename);
}

static bool fill(path_cache *cache, cached_path *slot, const gsym_image *image,
                 uint32_t file) {
    bool is_classed = cache->form != PATH_LLVM;
    path_part directory, basename;
    size_t at;
    if (cache->bytes.size >= MOST_BYTES) forget(cache);
    at = cache->bytes.size;
    find_parts(image, file, cache->form, &directory, &basename);
    join(cache, directory, basename);
    if (cache->bytes.failed || cache->bytes.size > UINT32_MAX) return false;
    *slot = (cached_path){
        .image = image,
        .file = file,
        .generation = cache->generation,
        .at = (uint32_t)at,
        .size = (uint32_t)(cache->bytes.size - at),
        .is_printable = is_classed &&
                        is_printable_text(directory.bytes, directory.size) &&
                        is_printable_text(basename.bytes, basename.size),
        .is_quotable = is_classed && is_quotable_text(directory.bytes, directory.size) &&
                       is_quotable_text(basename.bytes, basename.size),
    };
    return true;
}

/* Files of several images have the same numbers. */
static size_t slot_of(const gsym_image *image, uint32_t file) {
    return (file + (size_t)((uintptr_t)image / sizeof *image)) % SLOTS;
}

bool path_cache_get(path_cache *cache, const gsym_image *image, uint32_t file,
                    joined_path *path_ret) {
    cached_path *slot = &cache->slots[slot_of(image, file)];
    bool is_fit = slot->generation == cache->generation && slot->image == image &&
                  slot->file == file;
    if (GSYM_UNLIKELY(!is_fit) && !fill(cache, slot, image, file)) return false;
    *path_ret = (joined_path){(const char *)cache->bytes.bytes + slot->at, slot->size,
                              slot->is_printable, slot->is_quotable};
    return true;
}

void path_cache_deinit(path_cache *cache) {
    free(cache->slots);
    buffer_deinit(&cache->bytes);
}
