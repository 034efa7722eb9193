/* file.h - open and read GSYM files; constants of the format and decoded functions. */
#ifndef GSYM_FILE_H
#define GSYM_FILE_H

#include <gsym/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- the GSYM file format (docs/format.md) ------------------------------ */

#define GSYM_MAGIC 0x4753594d
#define GSYM_VERSION_1 1
#define GSYM_VERSION_2 2
#define GSYM_V1_HEADER_SIZE 48
#define GSYM_V2_HEADER_SIZE 20
#define GSYM_V2_SECTION_ENTRY_SIZE 20 /* u32 type, u64 offset, u64 size */
#define GSYM_V1_MAX_UUID_SIZE 20
#define GSYM_SHARING_MAGIC 0x47535348
#define GSYM_SHARING_XXH64 1 /* the checksum of the shared strings is an XXH64 */
#define GSYM_SHARING_SIZE 32 /* bytes of the record before a shared string table */
#define GSYM_INDEX_MAGIC 0x47494458

typedef enum gsym_info_type {
    GSYM_INFO_END_OF_LIST = 0,
    GSYM_INFO_LINE_TABLE = 1,
    GSYM_INFO_INLINE_INFO = 2,
    GSYM_INFO_MERGED_FUNCTIONS = 3,
    GSYM_INFO_CALL_SITES = 4
} gsym_info_type;

typedef enum gsym_section_type {
    GSYM_SECTION_END_OF_LIST = 0,
    GSYM_SECTION_ADDR_OFFSETS = 1,
    GSYM_SECTION_ADDR_INFO_OFFSETS = 2,
    GSYM_SECTION_STRING_TABLE = 3,
    GSYM_SECTION_FILE_TABLE = 4,
    GSYM_SECTION_FUNCTION_INFO = 5,
    GSYM_SECTION_UUID = 6,
    GSYM_SECTION_INDEX = GSYM_INDEX_MAGIC /* written by this package only; other readers
                                             skip it */
} gsym_section_type;

typedef enum gsym_call_site_flags {
    GSYM_CALL_SITE_INTERNAL = 1,
    GSYM_CALL_SITE_EXTERNAL = 2
} gsym_call_site_flags;

/* ---- decoded functions -------------------------------------------------
 * Both the decoder and the creator use these records; names and files are numbers
 * of the image or of the creator: string offsets and indexes in the file table. */

typedef struct gsym_range {
    uint64_t start;
    uint64_t end; /* exclusive */
} gsym_range;

typedef struct gsym_line_row {
    uint64_t address;
    uint32_t file;
    uint32_t line;
} gsym_line_row;

/* InlineInfo tree in pre-order. The root has depth 0. */
typedef struct gsym_inline_node {
    uint64_t name;
    uint32_t call_file;
    uint32_t call_line;
    uint32_t depth;
    uint32_t range_first; /* index into gsym_function.ranges */
    uint32_t range_count;
    uint32_t reserved;
} gsym_inline_node;

typedef struct gsym_call_site {
    uint64_t return_offset; /* return address - function start */
    uint32_t flags;         /* gsym_call_site_flags */
    uint32_t regex_first;   /* index into gsym_function.regexes */
    uint32_t regex_count;
    uint32_t reserved;
} gsym_call_site;

/* An InfoType that the engine does not know, whose bytes are kept unchanged. */
typedef struct gsym_extra {
    uint32_t type;
    uint32_t size;
    const uint8_t *data;
} gsym_extra;

typedef struct gsym_function {
    uint64_t address;
    uint64_t size; /* in bytes; 0: a symbol without a size */
    uint64_t name;
    const gsym_line_row *rows; /* ascending; none: no LineTable */
    size_t row_count;
    const gsym_inline_node *nodes; /* none: no InlineInfo */
    size_t node_count;
    const gsym_range *ranges;
    size_t range_count;
    const gsym_call_site *call_sites;
    size_t call_site_count;
    const uint64_t *regexes;
    size_t regex_count;
    const gsym_extra *extras;
    size_t extra_count;
    const struct gsym_function *merged; /* the functions merged into this one; nothing is
                                           merged into these */
    size_t merged_count;
} gsym_function;

/* ---- image: a finished GSYM file in memory ------------------------------- */

typedef struct gsym_image gsym_image;

typedef struct gsym_header {
    uint32_t version;
    uint32_t big_endian;
    uint32_t addr_off_size; /* bytes of an item of the address table */
    uint32_t uuid_size;     /* in bytes */
    uint64_t base_address;  /* the image base */
    uint32_t num_addresses; /* entries of the address table */
    uint32_t num_files; /* including entry 0 */
    uint64_t strtab_offset;
    uint64_t strtab_size;
    uint64_t uuid_offset;
    uint64_t addr_offsets_offset;
    uint64_t addr_info_offsets_offset;
    uint64_t file_table_offset;
    uint64_t function_info_offset; /* in version 1 the end of the string table */
    uint64_t function_info_size;
    uint32_t section_count; /* version 2: directory entries without the terminator */
    uint32_t reserved;
    /* Where the file is in the bytes that were opened; all other offsets count from
     * file_offset. */
    uint64_t file_offset;
    uint64_t file_size;   /* bytes, without the strings that it shares with the binary */
    uint64_t shared_strp; /* string offset of the first byte of a shared string table */
    uint64_t shared_size; /* 0: nothing is shared */
    uint64_t index_offset;
    uint64_t index_size; /* 0: the file has no index, or one that does not fit */
    uint32_t indexed_functions;
    uint32_t reserved_2;
} gsym_header;

typedef struct gsym_section {
    uint32_t type;
    uint32_t reserved;
    uint64_t offset; /* from the start of the GSYM file */
    uint64_t size;   /* in bytes */
} gsym_section;

/* Find the GSYM file in a binary: section .gsym of ELF, __GSYM,__gsym of Mach-O. If `data`
 * is a GSYM file itself, the offset is 0. */
gsym_status gsym_embedded_find(const uint8_t *data, size_t size, uint64_t *offset_ret,
                               uint64_t *size_ret, gsym_error *error);
/* Check the header and the extent of the tables, in constant time; records are checked
 * when they are used. `data` is a GSYM file or a binary that contains one, and must
 * outlive the image. Strings shared with a binary are read once to verify their checksum;
 * if it differs, the error says "string table changed". */
gsym_status gsym_image_open(const uint8_t *data, size_t size, gsym_image **image_ret,
                            gsym_error *error);
void gsym_image_close(gsym_image *image);

/* Return the XXH64 with seed 0 of some bytes: the checksum that shared strings have. */
uint64_t gsym_xxh64(const uint8_t *bytes, size_t size);
/* Set the limit on memory for indexes. If a file has no indexes, a lookup in a large
 * function makes the index of this function, unless all indexes would take more than
 * `limit` bytes; with 0 no index is made. Default: half of the size of the file, but 1 MiB
 * to 256 MiB. */
void gsym_image_limit_indexes(gsym_image *image, uint64_t limit);
/* Return the memory that such indexes use, in bytes. */
uint64_t gsym_image_indexes_size(const gsym_image *image);

/* The part with indexes that is made for a file, whether or not the file has one. It owns
 * its bytes. It is empty if no function is large. */
typedef struct gsym_index gsym_index;
gsym_status gsym_index_create(const gsym_image *image, gsym_index **index_ret,
                              gsym_error *error);
void gsym_index_destroy(gsym_index *index);
const uint8_t *gsym_index_bytes(const gsym_index *index, size_t *size_ret);

void gsym_image_header(const gsym_image *image, gsym_header *header_ret);
/* Return directory entry `index` < header.section_count of a version-2 file. */
gsym_status gsym_image_section(const gsym_image *image, uint32_t index,
                               gsym_section *section_ret, gsym_error *error);
/* Return the string at `strp`, which the image owns, and its size without the NUL; the
 * empty string if `strp` is past the table. */
const char *gsym_image_string(const gsym_image *image, uint64_t strp, size_t *size_ret);
/* Return the string offsets of the directory and base name of file `index`. */
gsym_status gsym_image_file(const gsym_image *image, uint32_t index,
                            uint64_t *directory_ret, uint64_t *basename_ret,
                            gsym_error *error);
/* Return the start address of entry `index` and the file offset of its record. */
gsym_status gsym_image_entry(const gsym_image *image, uint32_t index,
                             uint64_t *address_ret, uint64_t *record_offset_ret,
                             gsym_error *error);
/* Return the number of entries that a lookup of `address` considers, and the first of them:
 * all with the greatest start at or below it. */
uint32_t gsym_image_entries(const gsym_image *image, uint64_t address, uint32_t *first_ret);

typedef struct gsym_function_range {
    uint64_t address;
    uint64_t size; /* in bytes */
    uint64_t name; /* string offset */
} gsym_function_range;

/* Write the ranges and names of entry `index` and of the functions merged into it, at most
 * `capacity`; *count_ret is the number that exist. */
gsym_status gsym_image_functions(const gsym_image *image, uint32_t index,
                                 gsym_function_range *ranges, size_t capacity,
                                 size_t *count_ret, gsym_error *error);

/* Write the ranges and names of all entries, in order, at most `capacity`; *count_ret is
 * the number that exist. */
gsym_status gsym_image_all_functions(const gsym_image *image, gsym_function_range *ranges,
                                     size_t capacity, size_t *count_ret,
                                     gsym_error *error);

/* Memory for a decoded record, which is used again for the next one. */
typedef struct gsym_record gsym_record;
gsym_status gsym_record_create(gsym_record **record_ret, gsym_error *error);
void gsym_record_destroy(gsym_record *record);
/* Decode entry `index` completely. *function_ret is valid until the next decode. */
gsym_status gsym_record_decode(gsym_record *record, const gsym_image *image,
                               uint32_t index, const gsym_function **function_ret,
                               gsym_error *error);
/* Decode entries first .. first + count - 1, which must exist, and check that they ascend,
 * that rows ascend within their function and that names and files exist. */
gsym_status gsym_image_check_records(const gsym_image *image, gsym_record *record,
                                     uint32_t first, uint32_t count, gsym_error *error);

/* ---- statistics: bytes of each kind of record -------------------------------- */

/* Bytes of records, by kind of content. Those of an InfoType include its header of 8
 * bytes. */
typedef struct gsym_info_bytes {
    uint64_t size_and_name;
    uint64_t line_table;
    uint64_t inline_info;
    uint64_t merged_functions;
    uint64_t call_sites;
    uint64_t unknown; /* unknown InfoTypes */
    uint64_t end_of_list;
} gsym_info_bytes;

typedef struct gsym_statistics {
    gsym_info_bytes own;      /* bytes of the records in the address table */
    gsym_info_bytes merged;   /* bytes of the records inside of own.merged_functions */
    uint64_t merged_envelope; /* bytes of own.merged_functions around the records in it */
    uint64_t merged_count;    /* number of the records in own.merged_functions */
    uint64_t damaged_count;   /* records that were measured only in part */
} gsym_statistics;

typedef struct gsym_footprint {
    uint64_t address;
    uint64_t size; /* size of the function, in bytes */
    uint64_t name;
    uint64_t record_size; /* in bytes; 0: damaged */
    uint32_t file;        /* file of the first row; 0 if there are no rows */
    uint32_t reserved;
} gsym_footprint;

/* Add the records of entries first .. first + count - 1 to *statistics, and describe each
 * in footprints[0 .. count) unless that is NULL. */
gsym_status gsym_image_measure(const gsym_image *image, uint32_t first, uint32_t count,
                               gsym_statistics *statistics, gsym_footprint *footprints,
                               gsym_error *error);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
