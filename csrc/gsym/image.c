/* image.c - open a GSYM file of either version and either byte order.
 *
 * Opening checks the header and that every table lies inside the file, in constant
 * time. Version 2 lists its tables in a directory; in version 1 their offsets follow
 * from the header.
 *
 * The string table of a file inside a binary may continue in the string table of the
 * binary, after the section. Other tools may change that table, so its checksum is
 * compared. */
#include "gsym/image.h"

#include <inttypes.h>

#include "base/checksum.h"

enum {
    MIN_FILE_SIZE = 6, /* magic and version */
    MIN_INDEX_LIMIT = 1 << 20,
    MAX_INDEX_LIMIT = 256 << 20,
    KNOWN_SECTIONS = GSYM_SECTION_UUID + 1,
    INDEX_SECTION = KNOWN_SECTIONS, /* its index in the array of extents */
    KEPT_SECTIONS
};

typedef struct extent {
    uint64_t offset;
    uint64_t size;
    bool present;
} extent;

static const char *section_name(uint32_t type) {
    static const char *const names[KNOWN_SECTIONS] = {
        "EndOfList", "AddrOffsets",  "AddrInfoOffsets", "StringTable",
        "FileTable", "FunctionInfo", "UUID"};
    return names[type];
}

static bool is_inside(uint64_t offset, uint64_t size, uint64_t file_size) {
    return offset <= file_size && size <= file_size - offset;
}

/* ---- headers ----------------------------------------------------------------- */

static gsym_status read_magic(gsym_image *image, gsym_error *error) {
    uint32_t magic;
    if (image->size < MIN_FILE_SIZE)
        return gsym_fail(error, GSYM_E_FORMAT, 0, "data too small to be a GSYM file");
    magic = cursor_load32(image->data, false);
    image->swap = magic == __builtin_bswap32(GSYM_MAGIC);
    if (magic != GSYM_MAGIC && !image->swap)
        return gsym_fail(error, GSYM_E_FORMAT, 0, "not a GSYM file (bad magic)");
    image->header.big_endian = image->swap != CURSOR_HOST_BIG_ENDIAN;
    image->header.version = cursor_load16(image->data + 4, image->swap);
    if (image->header.version != GSYM_VERSION_1 && image->header.version != GSYM_VERSION_2)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, 4, "unsupported GSYM version %" PRIu32,
                         image->header.version);
    return GSYM_OK;
}

static gsym_status check_addr_off_size(uint32_t size, gsym_error *error) {
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return gsym_fail(error, GSYM_E_FORMAT, 6, "invalid address offset size %" PRIu32,
                         size);
    return GSYM_OK;
}

/* Read the fields with which both versions begin; `c` is after magic and version.
 * *kind_ret is uuid_size in version 1 and the string table's encoding in 2. */
static gsym_status read_header(gsym_image *image, cursor *c, uint64_t header_size,
                               uint8_t *kind_ret, gsym_error *error) {
    if (image->size < header_size)
        return gsym_fail(error, GSYM_E_FORMAT, image->size,
                         "not enough data for a GSYM header");
    image->header.addr_off_size = cursor_u8(c);
    *kind_ret = cursor_u8(c);
    image->header.base_address = cursor_u64(c);
    image->header.num_addresses = cursor_u32(c);
    return check_addr_off_size(image->header.addr_off_size, error);
}

static gsym_status read_v1(gsym_image *image, cursor *c, extent *sections,
                           gsym_error *error) {
    gsym_header *header = &image->header;
    uint64_t offset = GSYM_V1_HEADER_SIZE, count;
    uint8_t uuid_size;
    cursor files;
    GSYM_TRY(read_header(image, c, GSYM_V1_HEADER_SIZE, &uuid_size, error));
    if (uuid_size > GSYM_V1_MAX_UUID_SIZE)
        return gsym_fail(error, GSYM_E_FORMAT, 7, "invalid UUID size %u", uuid_size);
    sections[GSYM_SECTION_STRING_TABLE].offset = cursor_u32(c);
    sections[GSYM_SECTION_STRING_TABLE].size = cursor_u32(c);
    sections[GSYM_SECTION_UUID] = (extent){cursor_offset(c), uuid_size, true};
    count = header->num_addresses;
    sections[GSYM_SECTION_ADDR_OFFSETS] =
        (extent){offset, count * header->addr_off_size, true};
    offset = (offset + count * header->addr_off_size + 3) & ~UINT64_C(3);
    sections[GSYM_SECTION_ADDR_INFO_OFFSETS] = (extent){offset, count * 4, true};
    offset += count * 4;
    files = cursor_at(image->data, image->size, offset, header->big_endian);
    sections[GSYM_SECTION_FILE_TABLE] =
        (extent){offset, 4 + (uint64_t)cursor_u32(&files) * 8, true};
    offset = sections[GSYM_SECTION_STRING_TABLE].offset +
             sections[GSYM_SECTION_STRING_TABLE].size;
    sections[GSYM_SECTION_STRING_TABLE].present = true;
    /* Records are addressed by file offset; the section gives only the size. */
    sections[GSYM_SECTION_FUNCTION_INFO] =
        (extent){offset, offset < image->size ? image->size - offset : 0, true};
    image->strp_size = 4;
    image->record_base = 0;
    image->record_end = image->size;
    return GSYM_OK;
}

/* Whether a section of this type may end after the file, in the binary that contains it. */
static bool may_be_shared(const gsym_image *image, uint32_t type) {
    return type == GSYM_SECTION_STRING_TABLE && image->header.file_offset != 0;
}

static gsym_status read_directory(gsym_image *image, cursor *c, extent *sections,
                                  gsym_error *error) {
    for (;;) {
        uint64_t at = cursor_offset(c);
        uint32_t type = cursor_u32(c);
        extent section = {cursor_u64(c), 0, true};
        section.size = cursor_u64(c);
        if (c->failed)
            return gsym_fail(error, GSYM_E_FORMAT, at,
                             "GlobalData array not terminated by EndOfList");
        if (type == GSYM_SECTION_END_OF_LIST) return GSYM_OK;
        if (section.size == 0)
            return gsym_fail(error, GSYM_E_FORMAT, at,
                             "GlobalData section type %" PRIu32 " has zero size", type);
        if (!is_inside(section.offset, section.size, image->size) &&
            !may_be_shared(image, type))
            return gsym_fail(error, GSYM_E_FORMAT, at,
                             "GlobalData section type %" PRIu32
                             " extends beyond buffer (offset=%" PRIu64 ", size=%" PRIu64
                             ", bufsize=%zu)",
                             type, section.offset, section.size, image->size);
        if (type < KNOWN_SECTIONS) sections[type] = section; /* of several, the last one
                                                                is used */
        if (type == GSYM_SECTION_INDEX) sections[INDEX_SECTION] = section;
        image->header.section_count++;
    }
}

static gsym_status read_v2(gsym_image *image, cursor *c, extent *sections,
                           gsym_error *error) {
    gsym_header *header = &image->header;
    const extent *records = &sections[GSYM_SECTION_FUNCTION_INFO];
    uint8_t encoding;
    GSYM_TRY(read_header(image, c, GSYM_V2_HEADER_SIZE, &encoding, error));
    if (encoding != 0)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, 7,
                         "unsupported string table encoding %u", encoding);
    GSYM_TRY(read_directory(image, c, sections, error));
    for (uint32_t type = GSYM_SECTION_ADDR_OFFSETS; type < GSYM_SECTION_UUID; ++type)
        if (!sections[type].present)
            return gsym_fail(error, GSYM_E_FORMAT, GSYM_V2_HEADER_SIZE,
                             "missing required section type %s (%" PRIu32 ")",
                             section_name(type), type);
    if (sections[GSYM_SECTION_ADDR_OFFSETS].size !=
        (uint64_t)header->num_addresses * header->addr_off_size)
        return gsym_fail(error, GSYM_E_FORMAT, sections[GSYM_SECTION_ADDR_OFFSETS].offset,
                         "AddrOffsets section size mismatch");
    if (sections[GSYM_SECTION_ADDR_INFO_OFFSETS].size !=
        (uint64_t)header->num_addresses * 8)
        return gsym_fail(error, GSYM_E_FORMAT,
                         sections[GSYM_SECTION_ADDR_INFO_OFFSETS].offset,
                         "AddrInfoOffsets section size mismatch");
    image->strp_size = 8;
    image->record_base = records->offset;
    image->record_end = records->offset + records->size;
    return GSYM_OK;
}

/* ---- strings shared with a binary ------------------------------------------------ */

/* Check a string table that extends beyond the file: it ends with the string table of the
 * binary. The record before it gives the offset from which on strings are shared. */
static gsym_status open_shared_strings(gsym_image *image, const extent *strings,
                                       gsym_error *error) {
    gsym_header *header = &image->header;
    uint64_t checksum, shared_offset;
    uint32_t kind;
    cursor c;
    if (header->file_offset == 0 || strings->offset < GSYM_SHARING_SIZE ||
        is_inside(strings->offset, strings->size, image->size))
        return GSYM_OK;
    c = cursor_at(image->data, image->size, strings->offset - GSYM_SHARING_SIZE,
                  header->big_endian);
    if (cursor_u32(&c) != GSYM_SHARING_MAGIC) return GSYM_OK;
    kind = cursor_u32(&c);
    checksum = cursor_u64(&c);
    header->shared_strp = cursor_u64(&c);
    header->shared_size = cursor_u64(&c);
    shared_offset = strings->offset + header->shared_strp;
    if (c.failed || header->shared_size == 0 || header->shared_size > strings->size ||
        header->shared_strp != strings->size - header->shared_size ||
        shared_offset < image->size)
        return gsym_fail(error, GSYM_E_FORMAT, strings->offset - GSYM_SHARING_SIZE,
                         "the record of shared strings is damaged");
    if (kind != GSYM_SHARING_XXH64)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, strings->offset - GSYM_SHARING_SIZE,
                         "unknown checksum %" PRIu32 " of shared strings", kind);
    if (!is_inside(shared_offset, header->shared_size, image->available) ||
        xxh64(image->data + shared_offset, (size_t)header->shared_size) != checksum)
        return gsym_fail(error, GSYM_E_FORMAT, shared_offset,
                         "string table changed, embed again");
    return GSYM_OK;
}

/* ---- open ---------------------------------------------------------------------- */

static gsym_status check_extents(const gsym_image *image, const extent *sections,
                                 gsym_error *error) {
    static const uint32_t order[] = {
        GSYM_SECTION_ADDR_OFFSETS, GSYM_SECTION_ADDR_INFO_OFFSETS,
        GSYM_SECTION_STRING_TABLE, GSYM_SECTION_FILE_TABLE};
    for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
        const extent *section = &sections[order[i]];
        bool is_shared =
            order[i] == GSYM_SECTION_STRING_TABLE && image->header.shared_size != 0;
        if (!is_inside(section->offset, section->size,
                       is_shared ? image->available : image->size))
            return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                             "missing bytes for %s, GSYM file might be truncated",
                             section_name(order[i]));
    }
    return GSYM_OK;
}

/* Return the extent of the records in version 1, which does not store it; shared strings
 * come after them. */
static extent records_before_strings(const extent *sections) {
    const extent *files = &sections[GSYM_SECTION_FILE_TABLE];
    const extent *strings = &sections[GSYM_SECTION_STRING_TABLE];
    uint64_t start = files->offset + files->size;
    uint64_t end = strings->offset - GSYM_SHARING_SIZE;
    return (extent){start, start < end ? end - start : 0, true};
}

static gsym_status open_files(gsym_image *image, const extent *section,
                              gsym_error *error) {
    cursor c = cursor_at(image->data, section->offset + section->size, section->offset,
                         image->header.big_endian);
    uint32_t count = cursor_u32(&c);
    if (c.failed || cursor_left(&c) / (2 * image->strp_size) < count)
        return gsym_fail(error, GSYM_E_FORMAT, section->offset,
                         "FileTable section too small for %" PRIu32 " files", count);
    image->files = c.at;
    image->header.num_files = count;
    image->header.file_table_offset = section->offset;
    return GSYM_OK;
}

size_t image_head_size(const gsym_image *image) {
    if (image->header.version == GSYM_VERSION_1) return GSYM_V1_HEADER_SIZE;
    return GSYM_V2_HEADER_SIZE +
           ((size_t)image->header.section_count + 1) * GSYM_V2_SECTION_ENTRY_SIZE;
}

/* Return the start of the part with a magic number that ends at `end`; `end` if another
 * part does. Only the package reads these parts: any bytes, then 16 bytes with the magic
 * number and how many bytes were before. */
static uint64_t end_before(const gsym_image *image, uint64_t end, const char magic[8]) {
    enum { FOOTER_SIZE = 16 };
    uint64_t first = image->header.function_info_offset, size;
    cursor c;
    if (end < FOOTER_SIZE || end - FOOTER_SIZE < first) return end;
    c = cursor_at(image->data, (size_t)end, (size_t)end - FOOTER_SIZE, false);
    if (memcmp(c.at, magic, 8) != 0) return end;
    cursor_skip(&c, 8);
    size = cursor_u64(&c);
    return size <= end - FOOTER_SIZE - first ? end - FOOTER_SIZE - size : end;
}

/* Return the end of a version-1 file without the parts that name the module and that have
 * its sources. A file with one is padded to 512 bytes, as one with an index is. */
static uint64_t end_of_records(const gsym_image *image) {
    uint64_t end = image->size;
    if (end % INDEX_FILE_MULTIPLE != 0 || image->header.shared_size != 0) return end;
    end = end_before(image, end, "GSYMIDEN");
    return end_before(image, end, "GSYMSRCS");
}

/* Open the part with indexes; if it does not match the file, it is ignored. In version 1 it
 * is at the end of the file or before these parts. */
static void open_index(gsym_image *image, const extent *section) {
    gsym_header *header = &image->header;
    bool is_v1 = header->version == GSYM_VERSION_1;
    uint64_t end = is_v1 ? end_of_records(image) : section->offset + section->size;
    if (is_v1 && end < image->size)
        header->function_info_size = end - header->function_info_offset;
    if ((is_v1 ? end % INDEX_FILE_MULTIPLE != 0 : !section->present) ||
        !index_section_open(image->data, end, image_head_size(image), header,
                            &image->index))
        return;
    header->index_offset = end - image->index.size;
    header->index_size = image->index.size;
    header->indexed_functions = image->index.function_count;
    if (is_v1 && header->index_offset >= header->function_info_offset)
        header->function_info_size = header->index_offset - header->function_info_offset;
}

static gsym_status open_image(gsym_image *image, gsym_error *error) {
    extent sections[KEPT_SECTIONS] = {0};
    gsym_header *header = &image->header;
    cursor c;
    GSYM_TRY(read_magic(image, error));
    c = cursor_at(image->data, image->size, MIN_FILE_SIZE, header->big_endian);
    if (header->version == GSYM_VERSION_1)
        GSYM_TRY(read_v1(image, &c, sections, error));
    else
        GSYM_TRY(read_v2(image, &c, sections, error));
    GSYM_TRY(open_shared_strings(image, &sections[GSYM_SECTION_STRING_TABLE], error));
    GSYM_TRY(check_extents(image, sections, error));
    if (header->version == GSYM_VERSION_1 && header->shared_size != 0)
        sections[GSYM_SECTION_FUNCTION_INFO] = records_before_strings(sections);
    GSYM_TRY(open_files(image, &sections[GSYM_SECTION_FILE_TABLE], error));
    header->addr_offsets_offset = sections[GSYM_SECTION_ADDR_OFFSETS].offset;
    header->addr_info_offsets_offset = sections[GSYM_SECTION_ADDR_INFO_OFFSETS].offset;
    header->strtab_offset = sections[GSYM_SECTION_STRING_TABLE].offset;
    header->strtab_size = sections[GSYM_SECTION_STRING_TABLE].size;
    header->function_info_offset = sections[GSYM_SECTION_FUNCTION_INFO].offset;
    header->function_info_size = sections[GSYM_SECTION_FUNCTION_INFO].size;
    header->uuid_offset = sections[GSYM_SECTION_UUID].offset;
    if (sections[GSYM_SECTION_UUID].size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_FORMAT, header->uuid_offset,
                         "invalid UUID size %" PRIu64, sections[GSYM_SECTION_UUID].size);
    header->uuid_size = (uint32_t)sections[GSYM_SECTION_UUID].size;
    image->addr_offsets = image->data + header->addr_offsets_offset;
    image->addr_info_offsets = image->data + header->addr_info_offsets_offset;
    image->strings = (const char *)image->data + header->strtab_offset;
    open_index(image, &sections[INDEX_SECTION]);
    return GSYM_OK;
}

/* Return the limit on bytes of indexes in memory. The indexes of all functions of a C++
 * file take about an eighth of this limit. */
static uint64_t index_limit(uint64_t file_size) {
    uint64_t limit = file_size / 2;
    return limit < MIN_INDEX_LIMIT   ? MIN_INDEX_LIMIT
           : limit > MAX_INDEX_LIMIT ? MAX_INDEX_LIMIT
                                     : limit;
}

/* An image and its cache are one allocation. */
typedef struct image_memory {
    gsym_image image;
    index_cache indexes;
} image_memory;

gsym_status gsym_image_open(const uint8_t *data, size_t size, gsym_image **image_ret,
                            gsym_error *error) {
    gsym_status status;
    uint64_t file_offset, file_size;
    image_memory *memory;
    gsym_image *image;
    GSYM_TRY(gsym_embedded_find(data, size, &file_offset, &file_size, error));
    memory = calloc(1, sizeof *memory);
    if (memory == NULL) return gsym_fail_memory(error);
    image = &memory->image;
    image->data = data + file_offset;
    image->size = (size_t)file_size;
    image->available = size - (size_t)file_offset;
    image->header.file_offset = file_offset;
    image->header.file_size = file_size;
    image->indexes = &memory->indexes;
    status = open_image(image, error);
    if (status == GSYM_OK &&
        !index_cache_init(image->indexes, image->header.num_addresses,
                          index_limit(file_size)))
        status = gsym_fail_memory(error);
    if (status != GSYM_OK) {
        gsym_image_close(image);
        return status;
    }
    *image_ret = image;
    return GSYM_OK;
}

void gsym_image_limit_indexes(gsym_image *image, uint64_t limit) {
    atomic_store_explicit(&image->indexes->limit, limit, memory_order_relaxed);
}

uint64_t gsym_image_indexes_size(const gsym_image *image) {
    return atomic_load_explicit(&image->indexes->used, memory_order_relaxed);
}

void gsym_image_close(gsym_image *image) {
    index_cache_deinit(image->indexes);
    free(image);
}

void gsym_image_header(const gsym_image *image, gsym_header *header_ret) {
    *header_ret = image->header;
}

gsym_status gsym_image_section(const gsym_image *image, uint32_t index,
                               gsym_section *section_ret, gsym_error *error) {
    cursor c;
    if (index >= image->header.section_count)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "invalid section index %" PRIu32,
                         index);
    c = cursor_at(image->data, image->size,
                  GSYM_V2_HEADER_SIZE + (uint64_t)index * GSYM_V2_SECTION_ENTRY_SIZE,
                  image->header.big_endian);
    section_ret->type = cursor_u32(&c);
    section_ret->reserved = 0;
    section_ret->offset = cursor_u64(&c);
    section_ret->size = cursor_u64(&c);
    return GSYM_OK;
}
