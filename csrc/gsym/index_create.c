/* index_create.c - make the index part of a finished file that has none or another one. */
#include "gsym/image.h"
#include "gsym/index.h"

struct gsym_index {
    buffer made;
};

/* Return the offset at which the index part of a version-1 file begins, or would begin. */
static uint64_t part_start(const gsym_image *image) {
    if (image->index.size != 0) return image->header.index_offset;
    return (image->size + INDEX_ALIGNMENT - 1) / INDEX_ALIGNMENT * INDEX_ALIGNMENT;
}

static void add_entries(buffer *made, const gsym_image *image) {
    index_encoder encoder = {.node_count = 0};
    /* Stop when the indexes exceed the file: records may overlap, so that many entries have
     * the same large record. */
    for (uint32_t i = 0; i < image->header.num_addresses && made->size <= image->size;
         ++i) {
        size_t offset = made->size;
        cursor record;
        gsym_error ignored;
        if (image_record(image, i, &record, &ignored) == GSYM_OK)
            (void)function_index_encode(&encoder, made, &record, image->strp_size);
        index_section_add(made, i, offset);
    }
    index_encoder_deinit(&encoder);
}

/* An index that the file has without starts, as earlier versions wrote it, is made so. */
static void end_index(buffer *made, const gsym_image *image) {
    uint32_t count = image->header.num_addresses;
    unsigned width = image->header.addr_off_size;
    bool has_starts = image->index.size == 0 || image->index.starts_count > 0;
    size_t starts = has_starts ? index_starts_size(count, width) : 0;
    if (image->header.version == GSYM_VERSION_1)
        index_section_fill_up(made, part_start(image) + starts);
    for (uint32_t i = 0; starts > 0 && i < count; i += INDEX_STARTS_SPACING / width)
        buffer_put_uint(made, image_addr_offset(image, i), width);
    index_section_end(made, count, starts > 0);
    index_section_identify(made, image->data, image_head_size(image));
}

gsym_status gsym_index_create(const gsym_image *image, gsym_index **index_ret,
                              gsym_error *error) {
    gsym_index *index = calloc(1, sizeof *index);
    if (index == NULL) return gsym_fail_memory(error);
    index->made.swap = image->swap;
    index_section_begin(&index->made, image->header.num_addresses);
    add_entries(&index->made, image);
    if (!index_section_is_worth(&index->made, image->header.num_addresses))
        index->made.size = 0;
    else
        end_index(&index->made, image);
    if (index->made.failed) {
        gsym_index_destroy(index);
        return gsym_fail_memory(error);
    }
    *index_ret = index;
    return GSYM_OK;
}

void gsym_index_destroy(gsym_index *index) {
    if (index == NULL) return;
    buffer_deinit(&index->made);
    free(index);
}

const uint8_t *gsym_index_bytes(const gsym_index *index, size_t *size_ret) {
    *size_ret = index->made.size;
    return index->made.bytes;
}
