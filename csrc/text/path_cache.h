/* path_cache.h - paths of files, joined once for many frames. */
#ifndef GSYM_TEXT_PATH_CACHE_H
#define GSYM_TEXT_PATH_CACHE_H

#include "base/buffer.h"
#include "gsym/image.h"

typedef enum path_form {
    PATH_WHOLE,
    PATH_BASENAME,
    PATH_LLVM,  /* `<invalid-file>` stands for a base name that is not known; not classed */
    PATH_FIELDS /* what is between the quotes of "DIRECTORY", "filename": "BASENAME" */
} path_form;

#define PATH_BETWEEN_FIELDS "\", \"filename\": \""

typedef struct joined_path {
    const char *bytes; /* until the next one is asked for */
    size_t size;       /* 0: it is not known */
    bool is_printable; /* its parts are, see text_class.h; false if it is not classed */
    bool is_quotable;  /* likewise */
} joined_path;

struct cached_path;

typedef struct path_cache {
    struct cached_path *slots;
    buffer bytes;
    path_form form;
    uint32_t generation; /* slots of an earlier one are empty */
    bool escapes;        /* ASCII control characters are written as \xNN */
} path_cache;

/* The separator between a directory, which has one of its own if it is from Windows, and
 * what is in it. */
char path_separator(const char *directory, size_t size);

/* Forget all paths; those that follow are of one form. False where there is no memory. */
bool path_cache_begin(path_cache *cache, path_form form);
/* The path of a file of the table. False where there is no memory. */
bool path_cache_get(path_cache *cache, const gsym_image *image, uint32_t file,
                    joined_path *path_ret);
void path_cache_deinit(path_cache *cache);

#endif
