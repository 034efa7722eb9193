/* image.h - define an open GSYM file, which lookups and decoders read. */
#ifndef GSYM_GSYM_IMAGE_H
#define GSYM_GSYM_IMAGE_H

#include "gsym/index.h"

struct gsym_image {
    const uint8_t *data; /* start of the GSYM file, which may be a part of a binary */
    size_t size;
    size_t available; /* bytes from `data` to the end of the binary */
    gsym_header header;
    const uint8_t *addr_offsets;
    const uint8_t *addr_info_offsets;
    const uint8_t *files; /* the first entry of the file table, which follows the count */
    const char *strings;
    uint64_t record_base; /* info offsets count from here */
    uint64_t record_end;  /* end of the bytes that may contain records */
    unsigned strp_size; /* bytes of a string offset, and of a record offset */
    bool swap;
    index_cache *indexes;
    index_section index; /* in the file */
};

/* Return the bytes of the header, in version 2 with the directory after it. */
size_t image_head_size(const gsym_image *image);

/* Return the start of entry `index` < num_addresses, counted from base_address. */
uint64_t image_addr_offset(const gsym_image *image, uint32_t index);

/* Return the file offset of the record of entry `index` < num_addresses, unchecked. */
uint64_t image_record_offset(const gsym_image *image, uint32_t index);

/* Return the bytes from the record of entry `index` to the end of all records. Offsets of
 * the cursor count from the start of the file. */
gsym_status image_record(const gsym_image *image, uint32_t index, cursor *record_ret,
                         gsym_error *error);

/* Find the greatest start at or below the address, and the first entry with this start that
 * covers the address. Functions with a lower start are ignored, even if they cover it. */
gsym_status image_find(const gsym_image *image, uint64_t address, uint32_t *entry_ret,
                       cursor *record_ret, bool *found_ret, gsym_error *error);

/* Find the index of the function of entry `entry`, whose record is at the cursor: in the
 * file or, if the file has no indexes at all, in memory. False if the function has none. */
static inline bool image_index(const gsym_image *image, uint32_t entry,
                               const cursor *record, function_index *index_ret) {
    if (image->index.size != 0) return index_section_find(&image->index, entry, index_ret);
    return index_cache_find(image->indexes, entry, record, image->strp_size, index_ret);
}

/* Whether a function covers an address. One without a size extends to the next function. */
static inline bool image_covers(uint64_t start, uint64_t size, uint64_t address) {
    return size == 0 || address - start < size;
}

/* Check a function of the image, decoded from the record at `offset`, and the functions
 * merged into it. */
gsym_status image_check_function(const gsym_image *image, const gsym_function *function,
                                 uint64_t offset, gsym_error *error);

/* Return entry `index` of the file table; false if it is out of range. */
bool image_file(const gsym_image *image, uint32_t index, uint64_t *directory_ret,
                uint64_t *basename_ret);

/* A source path in the string table. */
typedef struct image_path {
    uint64_t directory_strp, basename_strp;
    const char *directory, *basename;
    size_t directory_size, basename_size;
    char separator; /* after the directory: `\` for Windows paths; 0: no directory */
} image_path;

/* Return the path of a file; if the table does not have it, the path is empty, and the
 * result false. */
bool image_path_get(const gsym_image *image, uint32_t file, image_path *ret);
void image_path_put(const image_path *path, buffer *out);

/* Whether the string at `strp` is not empty. */
static inline bool image_has_string(const gsym_image *image, uint64_t strp) {
    return strp < image->header.strtab_size && image->strings[strp] != 0;
}

static inline uint64_t image_strp(const gsym_image *image, const uint8_t *at) {
    return image->strp_size == 4 ? cursor_load32(at, image->swap)
                                 : cursor_load64(at, image->swap);
}

#endif
