/* path_cache.c - keep joined paths in a direct-mapped cache, by image and file index. */
#include "text/text.h"

enum {
    SLOTS = 1 << 12,
    MAX_BYTES = 1 << 20 /* bytes of all paths at which the cache is cleared */
};

typedef struct cached_path {
    const gsym_image *image;
    uint32_t file;
    uint32_t generation;
    uint32_t at;
    joined_path path; /* joined_path.bytes is not set, because the bytes may move */
} cached_path;

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

/* Find the path of a file; empty for file 0, which means no file whatever its entry is. */
static image_path find_path(const gsym_image *image, uint32_t file, path_form form) {
    image_path path = {.directory = "", .basename = ""};
    if (file != 0) (void)image_path_get(image, file, &path);
    if (form == PATH_BASENAME) {
        path.directory_size = 0;
        path.separator = '\0';
    }
    return path;
}

static void put_part(path_cache *cache, const char *bytes, size_t size) {
    if (cache->escapes)
        buffer_put_escaped(&cache->bytes, bytes, size);
    else
        buffer_put(&cache->bytes, bytes, size);
}

/* Join the parts of a path; offsets in it count from its start. */
static void join(path_cache *cache, const image_path *parts, joined_path *path) {
    static const char invalid[] = "<invalid-file>";
    buffer *bytes = &cache->bytes;
    size_t begin = bytes->size;
    put_part(cache, parts->directory, parts->directory_size);
    path->directory_size = (uint32_t)(bytes->size - begin);
    if (parts->separator != 0) buffer_put_u8(bytes, (uint8_t)parts->separator);
    path->filename_at = (uint32_t)(bytes->size - begin);
    if (cache->form == PATH_LLVM && parts->basename_size == 0 && parts->directory_size > 0)
        put_part(cache, invalid, sizeof invalid - 1);
    put_part(cache, parts->basename, parts->basename_size);
}

static bool fill(path_cache *cache, cached_path *slot, const gsym_image *image,
                 uint32_t file) {
    bool is_classed = cache->form != PATH_LLVM;
    const image_path parts = find_path(image, file, cache->form);
    joined_path path = {0};
    size_t at;
    if (cache->bytes.size >= MAX_BYTES) forget(cache);
    at = cache->bytes.size;
    join(cache, &parts, &path);
    if (cache->bytes.failed || cache->bytes.size > UINT32_MAX) return false;
    path.size = (uint32_t)(cache->bytes.size - at);
    path.is_printable = is_classed &&
                        is_printable_text(parts.directory, parts.directory_size) &&
                        is_printable_text(parts.basename, parts.basename_size);
    path.is_quotable = is_classed &&
                       is_quotable_text(parts.directory, parts.directory_size) &&
                       is_quotable_text(parts.basename, parts.basename_size);
    *slot = (cached_path){image, file, cache->generation, (uint32_t)at, path};
    return true;
}

/* Return the slot of a file. It depends on the address of the image, too, because all
 * images use the same file numbers. */
static size_t slot_of(const gsym_image *image, uint32_t file) {
    return (file + (size_t)((uintptr_t)image / sizeof *image)) % SLOTS;
}

bool path_cache_get(path_cache *cache, const gsym_image *image, uint32_t file,
                    joined_path *path_ret) {
    cached_path *slot = &cache->slots[slot_of(image, file)];
    bool is_fit = slot->generation == cache->generation && slot->image == image &&
                  slot->file == file;
    if (GSYM_UNLIKELY(!is_fit) && !fill(cache, slot, image, file)) return false;
    *path_ret = slot->path;
    path_ret->bytes = (const char *)cache->bytes.bytes + slot->at;
    return true;
}

void path_cache_deinit(path_cache *cache) {
    free(cache->slots);
    buffer_deinit(&cache->bytes);
}
