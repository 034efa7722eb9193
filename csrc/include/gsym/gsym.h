/* gsym.h - THE contract between the engine and everything above it.
 *
 * The region between the two cffi markers is read by csrc/build_core.py as the
 * cdef of gsym.engine._core, so header and binding cannot drift apart. It may hold no
 * preprocessor conditionals, attributes or inline functions.
 *
 * Rules that hold for every function here:
 *   - Memory comes in as (pointer, size); the engine opens, reads and writes no
 *     file, starts no thread, keeps no global state and calls nothing back.
 *   - A function that can fail returns a gsym_status and, when that is not
 *     GSYM_OK, has filled *error. Results come last.
 *   - Addresses are link-time virtual addresses in bytes. An `offset` in an
 *     error counts from the start of the buffer that was being read.
 *   - Strings are named by their byte offset in a string table (`strp`, 0 = the
 *     empty string), files by their index in a file table (0 = no file).
 */
#ifndef GSYM_H
#define GSYM_H

#include <stddef.h>
#include <stdint.h>

/* cffi: begin */

/* ---- status and errors ------------------------------------------------- */

typedef enum gsym_status {
    GSYM_OK = 0,
    GSYM_E_NO_MEMORY,   /* an allocation failed */
    GSYM_E_FORMAT,      /* the bytes are damaged or of another format */
    GSYM_E_UNSUPPORTED, /* valid, but a version or encoding that is unknown */
    GSYM_E_LIMIT,       /* the result does not fit the chosen output version */
    GSYM_E_ARGUMENT,    /* the caller's values contradict each other */
    GSYM_E_EMPTY,       /* there is no function to write */
    GSYM_E_CANCELLED    /* gsym_conversion_cancel was called */
} gsym_status;

#define GSYM_ERROR_TEXT_SIZE 240

typedef struct gsym_error {
    gsym_status status;
    uint64_t offset;
    char what[GSYM_ERROR_TEXT_SIZE]; /* reason, NUL-terminated, no newline */
} gsym_error;

/* ---- the GSYM file format (docs/format.md) ------------------------------ */

#define GSYM_MAGIC 0x4753594d
#define GSYM_VERSION_1 1
#define GSYM_VERSION_2 2
#define GSYM_V1_HEADER_SIZE 48
#define GSYM_V2_HEADER_SIZE 20
#define GSYM_V2_SECTION_ENTRY_SIZE 20 /* u32 type, u64 offset, u64 size */
#define GSYM_V1_MAX_UUID_SIZE 20
#define GSYM_SHARING_MAGIC 0x47535348
#define GSYM_SHARING_XXH64 1 /* the kind of checksum */
#define GSYM_SHARING_SIZE 32 /* of the record in front of a shared string table */
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
    GSYM_SECTION_INDEX = GSYM_INDEX_MAGIC /* of this package; unknown to others */
} gsym_section_type;

typedef enum gsym_call_site_flags {
    GSYM_CALL_SITE_INTERNAL = 1,
    GSYM_CALL_SITE_EXTERNAL = 2
} gsym_call_site_flags;

/* ---- one function, decoded ---------------------------------------------- *
 * The same records leave the decoder and enter the creator; what differs is
 * whose string and file table the numbers belong to. */

typedef struct gsym_range {
    uint64_t start;
    uint64_t end; /* first address behind the range */
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

/* An InfoType this version gives no meaning to, kept as it is. */
typedef struct gsym_extra {
    uint32_t type;
    uint32_t size;
    const uint8_t *data;
} gsym_extra;

typedef struct gsym_function {
    uint64_t address;
    uint64_t size; /* 0: a symbol without a size */
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
    const struct gsym_function *merged; /* one level deep */
    size_t merged_count;
} gsym_function;

/* ---- image: a finished GSYM file in memory ------------------------------- */

typedef struct gsym_image gsym_image;

typedef struct gsym_header {
    uint32_t version;
    uint32_t big_endian;
    uint32_t addr_off_size;
    uint32_t uuid_size;
    uint64_t base_address;
    uint32_t num_addresses;
    uint32_t num_files; /* with entry 0 */
    uint64_t strtab_offset;
    uint64_t strtab_size;
    uint64_t uuid_offset;
    uint64_t addr_offsets_offset;
    uint64_t addr_info_offsets_offset;
    uint64_t file_table_offset;
    uint64_t function_info_offset; /* version 1: end of the string table */
    uint64_t function_info_size;
    uint32_t section_count; /* version 2: directory entries, terminator left out */
    uint32_t reserved;
    /* Where the file is in the bytes that were opened; all other offsets count from
     * file_offset. */
    uint64_t file_offset;
    uint64_t file_size;   /* what it shares with the binary left out */
    uint64_t shared_strp; /* string offset of the first byte of a shared table */
    uint64_t shared_size; /* 0: all strings are the file's own */
    uint64_t index_offset;
    uint64_t index_size; /* 0: it has none that fits it */
    uint32_t indexed_functions;
    uint32_t reserved_2;
} gsym_header;

typedef struct gsym_section {
    uint32_t type;
    uint32_t reserved;
    uint64_t offset;
    uint64_t size;
} gsym_section;

/* Where a binary holds a GSYM file: the section .gsym of an ELF file, __GSYM,__gsym of
 * a Mach-O file. Bytes that are a GSYM file themselves hold it at 0. */
gsym_status gsym_embedded_find(const uint8_t *data, size_t size, uint64_t *offset_ret,
                               uint64_t *size_ret, gsym_error *error);
/* Check the header and the extent of the tables, in constant time; records are
 * checked when they are used. `data` is a GSYM file or a binary that holds one, and
 * must outlive the image. Strings shared with a binary are read once, to see that
 * they are what they were; if not, the failure says "string table changed". */
gsym_status gsym_image_open(const uint8_t *data, size_t size, gsym_image **image_ret,
                            gsym_error *error);
void gsym_image_close(gsym_image *image);
/* Lookups index large functions that they meet again, as long as all indexes take less
 * than so many bytes of memory. 0: never. Without this call it is twice the size of the
 * file, but 1 MiB at least and 256 MiB at most. */
void gsym_image_limit_indexes(gsym_image *image, uint64_t limit);
/* Bytes of memory that indexes take. */
uint64_t gsym_image_indexes_size(const gsym_image *image);

/* The index that a file should have, byte by byte, whether or not it has one. */
typedef struct gsym_index gsym_index;
gsym_status gsym_index_create(const gsym_image *image, gsym_index **index_ret,
                              gsym_error *error);
void gsym_index_destroy(gsym_index *index);
const uint8_t *gsym_index_bytes(const gsym_index *index, size_t *size_ret);

void gsym_image_header(const gsym_image *image, gsym_header *header_ret);
/* Version 2 directory entry `index` < header.section_count. */
gsym_status gsym_image_section(const gsym_image *image, uint32_t index,
                               gsym_section *section_ret, gsym_error *error);
/* Bytes of the string at `strp`, NUL left out. Past the table: the empty string. */
const char *gsym_image_string(const gsym_image *image, uint64_t strp, size_t *size_ret);
gsym_status gsym_image_file(const gsym_image *image, uint32_t index,
                            uint64_t *directory_ret, uint64_t *basename_ret,
                            gsym_error *error);
/* Start address of entry `index` and the file offset of its record. */
gsym_status gsym_image_entry(const gsym_image *image, uint32_t index,
                             uint64_t *address_ret, uint64_t *record_offset_ret,
                             gsym_error *error);

typedef struct gsym_function_range {
    uint64_t address;
    uint64_t size;
    uint64_t name;
} gsym_function_range;

/* Range and name of entry `index`, and behind it those of the functions merged into
 * it: the first `capacity` are written, *count_ret tells how many there are. */
gsym_status gsym_image_functions(const gsym_image *image, uint32_t index,
                                 gsym_function_range *ranges, size_t capacity,
                                 size_t *count_ret, gsym_error *error);

/* The same of all entries, one behind the other. */
gsym_status gsym_image_all_functions(const gsym_image *image, gsym_function_range *ranges,
                                     size_t capacity, size_t *count_ret,
                                     gsym_error *error);

/* Storage for one decoded record; reused from record to record. */
typedef struct gsym_record gsym_record;
gsym_status gsym_record_create(gsym_record **record_ret, gsym_error *error);
void gsym_record_destroy(gsym_record *record);
/* Decode entry `index` whole. *function_ret lives until the next decode. */
gsym_status gsym_record_decode(gsym_record *record, const gsym_image *image,
                               uint32_t index, const gsym_function **function_ret,
                               gsym_error *error);
/* Decode `count` entries from `first` on, which are there, and see that they ascend, that
 * rows ascend in their function and that names and files exist. */
gsym_status gsym_image_check_records(const gsym_image *image, gsym_record *record,
                                     uint32_t first, uint32_t count, gsym_error *error);

/* ---- lookup --------------------------------------------------------------- */

typedef enum gsym_lookup_flags {
    /* LLVM's GsymReader rules, its faults included: a missing row or file
     * fails the whole lookup, inlines without a line table are dropped, offsets
     * have 32 bits. Errors say what LLVM says, with its offsets in the text. */
    GSYM_LOOKUP_LLVM = 1
} gsym_lookup_flags;

typedef struct gsym_frame {
    uint64_t name;
    uint64_t offset; /* address - start of the function or of its first inline range */
    uint32_t file;
    uint32_t line;
    uint32_t inlined; /* 1 on all frames but the last */
    uint32_t reserved;
} gsym_frame;

typedef struct gsym_answer {
    uint64_t function_address;
    uint64_t function_size;
    uint64_t function_name;
    uint32_t found;        /* 0: no function covers the address */
    uint32_t entry;        /* index in the address table */
    uint32_t frame_count;  /* frames that exist; may exceed the capacity given */
    uint32_t regex_count;  /* call-site patterns at exactly this address */
    uint32_t merged_count; /* identical functions folded into this one */
    uint32_t reserved;
} gsym_answer;

/* Room for what a lookup finds besides the answer. */
typedef struct gsym_lookup_room {
    gsym_frame *frames;
    size_t frame_capacity;
    uint64_t *regexes;
    size_t regex_capacity;
} gsym_lookup_room;

/* Find the function that covers `address` and write its frames, innermost first, and
 * the patterns of the call site that returns to exactly this address, as many as there is
 * room for; NULL: no room. `child` 0 asks for the function itself, 1 .. merged_count for
 * the functions merged into it. Safe from many threads on one image; allocates indexes
 * only. */
gsym_status gsym_image_lookup(const gsym_image *image, uint64_t address, uint32_t child,
                              uint32_t flags, const gsym_lookup_room *room,
                              gsym_answer *answer_ret, gsym_error *error);

/* Answers to many addresses as columns. An address without an answer has no
 * frame. Damaged records count as no answer and are counted in `damaged`. */
typedef struct gsym_batch gsym_batch;
typedef struct gsym_columns {
    size_t count;                  /* frames in all */
    const uint32_t *address_index; /* which of the addresses asked */
    const uint32_t *function;      /* entry in the address table */
    const uint64_t *name;
    const uint32_t *file;
    const uint32_t *line;
    const uint64_t *offset;
    const uint8_t *inlined;
    uint64_t found;
    uint64_t damaged;
} gsym_columns;
gsym_status gsym_image_lookup_many(const gsym_image *image, const uint64_t *addresses,
                                   size_t count, gsym_batch **batch_ret,
                                   gsym_error *error);
/* Room for the frames of several batches, part after part; gsym_batch_join fills it. */
gsym_status gsym_batch_create_joined(gsym_batch *const *parts, size_t part_count,
                                     gsym_batch **batch_ret, gsym_error *error);
/* Copy the frames of parts[index] to their place; its addresses count on from
 * `first_address`. Parts may be copied by several threads. */
void gsym_batch_join(gsym_batch *batch, gsym_batch *const *parts, size_t index,
                     uint32_t first_address);
void gsym_batch_columns(const gsym_batch *batch, gsym_columns *columns_ret);
void gsym_batch_destroy(gsym_batch *batch);

/* The distinct values of a column of integers of `width` 4 or 8 bytes, in the order in
 * which they come, and for each row which of them it holds. */
typedef struct gsym_distinct gsym_distinct;
gsym_status gsym_distinct_create(const void *column, size_t count, unsigned width,
                                 gsym_distinct **distinct_ret, gsym_error *error);
void gsym_distinct_destroy(gsym_distinct *distinct);
const uint32_t *gsym_distinct_codes(const gsym_distinct *distinct);
const uint64_t *gsym_distinct_values(const gsym_distinct *distinct, size_t *count_ret);

/* ---- names ---------------------------------------------------------------------- */

/* Bytes of a C++ name: the limit of GNU's runtime, beyond which others use up the stack. */
#define GSYM_MAX_CXX_NAME_SIZE 1024

/* For how many bytes of text, at about the most, a mangled C++ name stands. */
uint64_t gsym_cxx_name_work(const char *name, size_t size);

/* ---- text, as llvm-gsymutil prints it -------------------------------------- */

/* Growing text; take it with gsym_text_bytes, empty it with gsym_text_clear. */
typedef struct gsym_text gsym_text;
gsym_status gsym_text_create(gsym_text **text_ret, gsym_error *error);
void gsym_text_destroy(gsym_text *text);
void gsym_text_clear(gsym_text *text);
const char *gsym_text_bytes(const gsym_text *text, size_t *size_ret);
/* Append bytes as they are. */
gsym_status gsym_text_put(gsym_text *text, const char *bytes, size_t size,
                          gsym_error *error);
/* From now on write ASCII control characters in names and paths as \xNN, except in names
 * that have texts, which are written unchanged. */
void gsym_text_escape(gsym_text *text);
/* Make room for `size` bytes more at once. */
gsym_status gsym_text_reserve(gsym_text *text, size_t size, gsym_error *error);

typedef enum gsym_text_flags {
    GSYM_TEXT_MERGED = 1,    /* also the functions merged at the address */
    GSYM_TEXT_BLANK_LINE = 2 /* an empty line behind each answer */
} gsym_text_flags;

/* Append the answers to many addresses, by LLVM's lookup rules. An address that
 * has none gets a line that says why; only a lack of memory is a failure. */
gsym_status gsym_text_lookup_many(gsym_text *text, const gsym_image *image,
                                  const uint64_t *addresses, size_t count, uint32_t flags,
                                  gsym_error *error);
/* Like gsym_text_lookup_many with GSYM_TEXT_MERGED, but shows of the functions at
 * `address` only those whose keep[] is not 0: keep[0] is the function itself,
 * keep[i] its child `i`. NULL shows all. */
gsym_status gsym_text_lookup_merged(gsym_text *text, const gsym_image *image,
                                    uint64_t address, const uint8_t *keep,
                                    size_t keep_count, gsym_error *error);
/* What all functions share that answer lines: many lines are looked up together, and
 * answered until the text holds `limit` bytes. *used_ret counts the bytes of the lines
 * that were answered; 0 with lines left says that the next one is not of the form, or has
 * no end. With NULL for the lines the answers go on with those that were handed in last,
 * which may be gone by then; all else has to stay as it was. */

/* Answer lines "ADDRESS PATH\n", each PATH being `path`, to a line of any other form. */
gsym_status gsym_text_lookup_lines(gsym_text *text, const gsym_image *image,
                                   const char *path, size_t path_size, uint32_t flags,
                                   const char *lines, size_t size, size_t limit,
                                   size_t *used_ret, gsym_error *error);
/* Append what entry `index` says of its function, or nothing where its record is
 * damaged or holds an InfoType that LLVM does not know. */
gsym_status gsym_text_dump_entry(gsym_text *text, const gsym_image *image,
                                 gsym_record *record, uint32_t index, gsym_error *error);

/* Texts that are printed in place of names, which are known by their string offsets:
 * where a name has none yet, the text that is being written gets a gap. */
#define GSYM_PLAIN_STRING 0x8000000000000000 /* with the offset of what is no name */
typedef struct gsym_name_texts gsym_name_texts;
gsym_status gsym_name_texts_create(gsym_name_texts **texts_ret, gsym_error *error);
void gsym_name_texts_destroy(gsym_name_texts *texts);
/* The names that are waited for, each once. */
const uint64_t *gsym_name_texts_missing(const gsym_name_texts *texts, size_t *count_ret);
/* Give each of them its text: one behind the other, a NUL behind each. */
gsym_status gsym_name_texts_add(gsym_name_texts *texts, const char *bytes, size_t size,
                                gsym_error *error);
/* Bytes that the table takes. */
size_t gsym_name_texts_size(const gsym_name_texts *texts);
/* Put into each gap what is now known. */
gsym_status gsym_text_fill(gsym_text *text, const gsym_name_texts *texts,
                           gsym_error *error);

/* ---- text, as GNU addr2line prints it ----------------------------------------- */

typedef enum gsym_addr2line_flags {
    GSYM_ADDR2LINE_ADDRESSES = 1,
    GSYM_ADDR2LINE_FUNCTIONS = 2,
    GSYM_ADDR2LINE_INLINES = 4,
    GSYM_ADDR2LINE_PRETTY = 8,
    GSYM_ADDR2LINE_BASENAMES = 16,
    GSYM_ADDR2LINE_32_BITS = 32 /* so many do addresses have, and 8 digits */
} gsym_addr2line_flags;

typedef struct gsym_addr2line_style {
    uint32_t flags;
    uint32_t reserved;
    uint64_t line_size; /* a longer line counts as several; one less than a buffer */
    /* Sections that addresses count from the start of; the first that has an answer
     * gives it. None: they are link-time addresses. */
    const gsym_range *sections;
    size_t section_count;
} gsym_addr2line_style;

/* Answer lines that begin with a hexadecimal number, to one that names a symbol; many gaps
 * stop it as a full text does. Without `texts` names are printed as they are; without an
 * image nothing has an answer. Only a lack of memory is a failure. */
gsym_status gsym_text_addr2line(gsym_text *text, const gsym_image *image,
                                gsym_name_texts *texts, const gsym_addr2line_style *style,
                                const char *lines, size_t size, size_t limit,
                                size_t *used_ret, gsym_error *error);

/* ---- text, as llvm-symbolizer prints it ---------------------------------------- */

typedef enum gsym_symbolizer_flags {
    GSYM_SYMBOLIZER_ADDRESSES = 1,
    GSYM_SYMBOLIZER_FUNCTIONS = 2,
    GSYM_SYMBOLIZER_INLINES = 4,
    GSYM_SYMBOLIZER_OUTER_NAME = 8, /* without INLINES: that of the outermost frame */
    GSYM_SYMBOLIZER_PRETTY = 16,
    GSYM_SYMBOLIZER_BASENAMES = 32,
    GSYM_SYMBOLIZER_GNU = 64,
    GSYM_SYMBOLIZER_JSON = 128
} gsym_symbolizer_flags;

typedef struct gsym_symbolizer_style {
    uint32_t flags;
    uint32_t reserved;
    uint64_t shift; /* added to an address before it is looked up */
    const char *module; /* its name, as it stands in a string of JSON */
    size_t module_size;
} gsym_symbolizer_style;

/* Answer lines "PREFIX NUMBER\n" with `prefix` being all in front of the number, to a line
 * of any other form; many gaps stop it as a full text does. Without `texts` names are
 * printed as they are. As JSON, texts have to be there, fit for its strings. Only a lack
 * of memory is a failure. */
gsym_status gsym_text_symbolize(gsym_text *text, const gsym_image *image,
                                gsym_name_texts *texts,
                                const gsym_symbolizer_style *style, const char *prefix,
                                size_t prefix_size, const char *lines, size_t size,
                                size_t limit, size_t *used_ret, gsym_error *error);

/* ---- text, as filters of symbolizer markup print it ----------------------------- */

typedef enum gsym_markup_flags {
    GSYM_MARKUP_INLINES = 1,
    GSYM_MARKUP_BASENAMES = 2,
    GSYM_MARKUP_ADJUSTED = 4, /* show the address that is looked up, not the logged one */
    GSYM_MARKUP_COLUMNS = 8,  /* columns, all 0, and <invalid> for what is not known */
    GSYM_MARKUP_INDENTS = 16, /* blanks in front of a frame are in front of all */
    GSYM_MARKUP_STOPS_AT_ESCAPE = 32,
    GSYM_MARKUP_COLOURED = 64,
    /* In its form, with the text round a frame round each of its calls; they may have
     * messages. */
    GSYM_MARKUP_FUCHSIA_FRAMES = 128,
    GSYM_MARKUP_PLAIN_PC_RETURNS = 256, /* a `pc` of no kind is a return address */
    GSYM_MARKUP_OUTERMOST_PC = 512      /* a `pc` has the name of the outermost function */
} gsym_markup_flags;

/* Bytes of that text; where it is longer, it stands there once. */
#define GSYM_MARKUP_MOST_REPEATED 4096

typedef struct gsym_markup_module {
    const gsym_image *image; /* NULL: nothing is known of it */
    const char *name;
    size_t name_size;
    uint64_t unknown; /* counts the addresses without a frame */
    uint64_t is_map;  /* the image is a map of a file; nobody writes to that */
} gsym_markup_module;

typedef struct gsym_markup_segment {
    uint64_t start; /* in memory */
    uint64_t size;
    uint64_t address; /* where it was linked */
    uint64_t module;  /* its index */
} gsym_markup_segment;

typedef struct gsym_markup_job {
    uint32_t flags;
    uint32_t version; /* of what is where; texts are kept while it is the same */
    gsym_markup_module *modules; /* fewer than 32768 */
    size_t module_count;
    const gsym_markup_segment *segments; /* sorted, without overlap */
    size_t segment_count;
    size_t line_limit;  /* bytes of a line with an element */
    size_t prefix_size; /* bytes of a line that are repeated before each of its frames */
    const char *lines;  /* of the engine, from one call to the next */
    size_t at;
} gsym_markup_job;

/* In front of the offset of a name in `texts`: the index of its module. */
#define GSYM_MARKUP_MODULE_SHIFT 48

/* Answer lines of a log without markup, those with one `bt` element and those with `pc`
 * elements, to a line of any other form, an address in no segment, a line without an end;
 * many gaps stop it as a full text does. The lines have to stay where they are while it
 * goes on. Without `texts` names are printed as they are. Only a lack of memory is a
 * failure. */
gsym_status gsym_text_markup(gsym_text *text, gsym_name_texts *texts, gsym_markup_job *job,
                             const char *lines, size_t size, size_t limit,
                             size_t *used_ret, gsym_error *error);

/* ---- text, as `gsym lookup` prints it --------------------------------------------- */

typedef enum gsym_lookup_text_flags {
    GSYM_LOOKUP_TEXT_JSON = 1,
    GSYM_LOOKUP_TEXT_DEMANGLED = 2 /* names of functions are those in `texts` */
} gsym_lookup_text_flags;

typedef struct gsym_lookup_style {
    uint32_t flags;
    uint32_t reserved;
    uint64_t shift; /* added to an address before it is looked up */
    uint64_t first; /* addresses in front of it, and behind `last`, are of no module */
    uint64_t last;
    uint64_t missed;  /* counted on: addresses without an answer */
    uint64_t damaged; /* likewise: those of them whose records are damaged */
} gsym_lookup_style;

/* Answer lines that are a number, decimal or with 0x, with blanks around; blank lines
 * between them are passed over. `texts` are asked for what is no printable ASCII, and have
 * to be fit for JSON where that is asked for. */
gsym_status gsym_text_lookup(gsym_text *text, const gsym_image *image,
                             gsym_name_texts *texts, gsym_lookup_style *style,
                             const char *lines, size_t size, size_t limit,
                             size_t *used_ret, gsym_error *error);

/* Where a dump goes on; all zero at its begin. */
typedef struct gsym_dump_place {
    uint32_t part; /* of the dump; GSYM_DUMP_DONE at the end */
    uint32_t reserved;
    uint64_t next; /* entry, file or string offset within the part */
} gsym_dump_place;

#define GSYM_DUMP_DONE 6

/* Append the next part of the dump of a whole file, a little more than `size`
 * bytes of it. A damaged record gets an error line and the dump goes on. */
gsym_status gsym_text_dump(gsym_text *text, const gsym_image *image, gsym_record *record,
                           gsym_dump_place *place, size_t size, gsym_error *error);

/* ---- text, as servers of Mozilla's symbolication API send it ------------------- */

/* Texts for the values of a column of a batch, one behind the other. */
typedef struct gsym_column_texts {
    const uint32_t *codes; /* of each row: which text is its own */
    const char *bytes;
    const uint64_t *ends; /* of each text; it begins where the one before ends */
    size_t count;         /* of texts */
} gsym_column_texts;

/* The answers to some offsets of a module, from where the part before ends. */
typedef struct gsym_frame_part {
    gsym_columns columns;    /* of a batch of these offsets */
    gsym_column_texts names; /* "NAME", quotes and all */
    gsym_column_texts files; /* ,"file":"PATH" or nothing */
    size_t end;              /* of the offsets of the module */
} gsym_frame_part;

/* The frames of a module that are to be placed, one after the other. */
typedef struct gsym_frame_queue {
    const gsym_image *image; /* may be NULL where there are no parts */
    const char *head;        /* of each frame, up to its offset */
    size_t head_size;
    const uint64_t *offsets;
    size_t count;
    const gsym_frame_part *parts; /* offsets behind them have no answer */
    size_t part_count;
    const uint64_t *unknown; /* which offsets are not known, ascending: they are -0x1 */
    size_t unknown_count;
    size_t next; /* frame; these tell where what belongs to it begins */
    size_t next_part, next_row, next_unknown;
} gsym_frame_queue;

/* Bytes of text of all frames of a queue, at the most: without what its parts tell, and of
 * one of these. */
uint64_t gsym_frame_queue_size(const gsym_frame_queue *queue);
uint64_t gsym_frame_part_size(const gsym_frame_part *part);

/* Append stacks, each an array of JSON, with commas between: for each of modules[] the
 * next frame of that queue; -1 is the last queue. ends[i] tells where in modules[] the
 * i-th stack ends. */
gsym_status gsym_text_stacks(gsym_text *text, gsym_frame_queue *const *queues,
                             size_t queue_count, const int64_t *modules,
                             const uint64_t *ends, size_t stack_count, gsym_error *error);

/* What is lost where the functions of a file are written elsewhere without overlaps. */
typedef struct gsym_walk_losses {
    uint64_t damaged;            /* entries whose record cannot be read */
    uint64_t functions_cut;      /* where another one starts */
    uint64_t functions_left_out; /* hidden behind another one with the same start */
    uint64_t merged_left_out;    /* functions merged into another one */
} gsym_walk_losses;

/* ---- text, as Breakpad's symbol files have it --------------------------------- */

typedef struct gsym_breakpad_export_counts {
    uint64_t functions;      /* FUNC records */
    uint64_t public_symbols; /* PUBLIC records: functions without a size */
    uint64_t lines;
    uint64_t inlined_calls;
    uint64_t files;
    uint64_t inline_origins;
    /* What the text cannot say: */
    gsym_walk_losses losses;
    uint64_t details_left_out;       /* symbols without a size that have lines or calls */
    uint64_t inlined_calls_left_out; /* they leave their caller or overlap a sibling */
    uint64_t call_sites_left_out;
    uint64_t unknown_left_out; /* InfoTypes that have no meaning here */
    uint64_t names_changed; /* blank, of several lines or not UTF-8 */
    uint64_t visited;       /* entries; in the end each has been visited twice */
} gsym_breakpad_export_counts;

/* The records FILE, INLINE_ORIGIN, FUNC, INLINE, line and PUBLIC for all functions of
 * a file. Addresses count from base_address. */
typedef struct gsym_breakpad_export gsym_breakpad_export;
gsym_status gsym_breakpad_export_create(const gsym_image *image,
                                        gsym_breakpad_export **export_ret,
                                        gsym_error *error);
void gsym_breakpad_export_destroy(gsym_breakpad_export *export);
/* Append the next records, a little more than `size` bytes of them or, while names are
 * collected, none. *is_done_ret 1: they were the last. */
gsym_status gsym_breakpad_export_next(gsym_breakpad_export *export, gsym_text *text,
                                      size_t size, uint32_t *is_done_ret,
                                      gsym_error *error);
void gsym_breakpad_export_count(const gsym_breakpad_export *export,
                                gsym_breakpad_export_counts *counts_ret);

/* ---- statistics: what the bytes of the records are spent on ------------------ */

/* Bytes of one kind of record. An InfoType counts with its 8 bytes of head. */
typedef struct gsym_info_bytes {
    uint64_t size_and_name;
    uint64_t line_table;
    uint64_t inline_info;
    uint64_t merged_functions;
    uint64_t call_sites;
    uint64_t unknown; /* InfoTypes that have no meaning here */
    uint64_t end_of_list;
} gsym_info_bytes;

typedef struct gsym_statistics {
    gsym_info_bytes own;      /* of the records in the address table */
    gsym_info_bytes merged;   /* of the records inside own.merged_functions */
    uint64_t merged_envelope; /* what holds those records together */
    uint64_t merged_count;    /* of those records */
    uint64_t damaged_count;   /* records that could be measured in part only */
} gsym_statistics;

typedef struct gsym_footprint {
    uint64_t address;
    uint64_t size; /* of the function */
    uint64_t name;
    uint64_t record_size; /* 0: damaged */
    uint32_t file;        /* of the first row */
    uint32_t reserved;
} gsym_footprint;

/* Add up the records of the entries first .. first + count - 1 in *statistics,
 * and describe each in footprints[0 .. count) unless that is NULL. */
gsym_status gsym_image_measure(const gsym_image *image, uint32_t first, uint32_t count,
                               gsym_statistics *statistics, gsym_footprint *footprints,
                               gsym_error *error);

/* ---- creator: functions -> a GSYM file -------------------------------------- */

typedef struct gsym_creator gsym_creator;

typedef struct gsym_creator_options {
    uint32_t version;    /* GSYM_VERSION_1 or GSYM_VERSION_2 */
    uint32_t big_endian; /* 1: the file is big-endian */
    uint32_t has_base_address;
    uint32_t keep_all; /* 1: no function is pruned; they come in ascending order */
    uint64_t base_address; /* else: the first function's start */
    uint32_t has_index;    /* 1: the file gets an index of its large functions */
    uint32_t reserved;
} gsym_creator_options;

typedef enum gsym_origin {
    GSYM_ORIGIN_DEBUG_INFO = 0, /* what the source describes itself */
    GSYM_ORIGIN_SYMBOL_TABLE = 1
} gsym_origin;

gsym_status gsym_creator_create(const gsym_creator_options *options,
                                gsym_creator **creator_ret, gsym_error *error);
void gsym_creator_destroy(gsym_creator *creator);
gsym_status gsym_creator_set_uuid(gsym_creator *creator, const uint8_t *uuid, size_t size,
                                  gsym_error *error);
/* Intern a string (no NUL inside). */
gsym_status gsym_creator_add_string(gsym_creator *creator, const char *bytes, size_t size,
                                    uint64_t *strp_ret, gsym_error *error);
/* Intern a path, split so that joining directory and base name restores it. */
gsym_status gsym_creator_add_path(gsym_creator *creator, const char *bytes, size_t size,
                                  uint32_t *file_ret, gsym_error *error);
/* Intern a file whose directory and base name are known apart. */
gsym_status gsym_creator_add_file(gsym_creator *creator, uint64_t directory,
                                  uint64_t basename, uint32_t *file_ret,
                                  gsym_error *error);
/* Leave strings out of the file that the string table of a binary has: bytes[0 .. size),
 * which will stand `distance` bytes behind the end of the file. Call first; the strings
 * of `all`, a creator that holds what will be added, are the only ones that can be
 * interned then. `bytes` must live as long as the creator. */
gsym_status gsym_creator_share_strings(gsym_creator *creator, const gsym_creator *all,
                                       const uint8_t *bytes, size_t size,
                                       uint64_t distance, gsym_error *error);
/* Encode and keep a function; strings and files must be interned before. */
gsym_status gsym_creator_add_function(gsym_creator *creator, const gsym_function *function,
                                      gsym_origin origin, gsym_error *error);

/* Which functions of a file are wanted: those with a wanted name, if by_name is
 * not 0, that answer for a wanted address, if by_address is not 0. */
typedef struct gsym_selection {
    uint32_t by_name;
    uint32_t by_address;
    const uint64_t *names; /* strp in the file, ascending */
    size_t name_count;
    const gsym_range *ranges;
    size_t range_count;
} gsym_selection;

/* Copy the functions of another file, or of these the wanted ones, interning their
 * strings and files. Where a function that others are merged into is not wanted, the
 * first of those that are takes its place. */
gsym_status gsym_creator_add_entries(gsym_creator *creator, const gsym_image *image,
                                     const gsym_selection *selection, gsym_error *error);
/* Intern all strings and files of another file in their order. */
gsym_status gsym_creator_add_tables(gsym_creator *creator, const gsym_image *image,
                                    gsym_error *error);
/* Copy entries from `first` on while what they take in the file is below `size`
 * bytes; the last one may exceed it, and so do those that start where it does.
 * *end_ret is the entry that comes next. */
gsym_status gsym_creator_add_segment(gsym_creator *creator, const gsym_image *image,
                                     uint32_t first, uint64_t size, uint32_t *end_ret,
                                     gsym_error *error);
/* Copy a version-2 section of an unknown type into a version-2 output. */
gsym_status gsym_creator_add_section(gsym_creator *creator, uint32_t type,
                                     const uint8_t *data, size_t size, gsym_error *error);
/* The same for every such section of `image`, but for those of a type that the output
 * has already. Nothing is copied where either file is of version 1. */
gsym_status gsym_creator_add_sections(gsym_creator *creator, const gsym_image *image,
                                      gsym_error *error);
/* Fold functions of equal range into the first of them. Call before symbols of
 * the symbol table are added. */
gsym_status gsym_creator_merge_functions(gsym_creator *creator, gsym_error *error);

/* Add the call sites of each of `functions`, of which only name and call sites count,
 * to those that the first function of its name has; if that one is pruned, to those of
 * the function that takes its place. Call when all functions are added.
 * *missing_ret is the index of the first of a name that no function has, and nothing
 * is added then; else it is `count`. */
gsym_status gsym_creator_add_call_sites(gsym_creator *creator,
                                        const gsym_function *functions, size_t count,
                                        size_t *missing_ret, gsym_error *error);

typedef struct gsym_creator_report {
    uint64_t functions_debug_info;   /* added, before pruning */
    uint64_t functions_symbol_table; /* added, before pruning */
    uint64_t functions_merged;       /* folded as children, or left out as repeats */
    uint64_t functions_pruned;
    uint64_t functions_continued;    /* entries for the rest of an outer function */
    uint64_t functions;              /* in the file */
    uint64_t functions_with_lines;
    uint64_t functions_with_inlines;
    uint64_t duplicates_different; /* equal ranges, different debug info */
    uint64_t overlapping;
    uint64_t strings;
    uint64_t files;
    uint64_t file_size;
    uint64_t index_size; /* of the index in it */
} gsym_creator_report;

/* Sort, choose between duplicates, lay out. Nothing can be added afterwards. */
gsym_status gsym_creator_finish(gsym_creator *creator, gsym_creator_report *report_ret,
                                gsym_error *error);
/* Next bytes of the finished file; *size_ret 0 at its end. */
gsym_status gsym_creator_read(gsym_creator *creator, uint8_t *bytes, size_t capacity,
                              size_t *size_ret, gsym_error *error);

/* ---- containers: ELF, Mach-O, PE/COFF ----------------------------------------- */

/* A binary or object file; told by its content. */
typedef struct gsym_object gsym_object;

typedef enum gsym_object_format {
    GSYM_OBJECT_ELF = 1,
    GSYM_OBJECT_MACHO = 2,
    GSYM_OBJECT_PE = 3
} gsym_object_format;

typedef enum gsym_compression {
    GSYM_COMPRESSION_NONE = 0,
    GSYM_COMPRESSION_ZLIB = 1,
    GSYM_COMPRESSION_ZSTD = 2,
    GSYM_COMPRESSION_UNKNOWN = 3
} gsym_compression;

typedef enum gsym_debug_section {
    GSYM_DEBUG_INFO = 0,
    GSYM_DEBUG_ABBREV,
    GSYM_DEBUG_LINE,
    GSYM_DEBUG_STR,
    GSYM_DEBUG_LINE_STR,
    GSYM_DEBUG_RANGES,
    GSYM_DEBUG_RNGLISTS,
    GSYM_DEBUG_ADDR,
    GSYM_DEBUG_STR_OFFSETS,
    GSYM_DEBUG_TYPES,
    GSYM_DEBUG_CU_INDEX,
    GSYM_DEBUG_TU_INDEX,
    GSYM_DEBUG_SECTION_COUNT
} gsym_debug_section;

typedef struct gsym_object_header {
    uint32_t format; /* gsym_object_format */
    uint32_t is_64;
    uint32_t big_endian;
    uint32_t machine;        /* e_machine, cputype, Machine */
    uint32_t machine_kind;   /* cpusubtype; else 0 */
    uint32_t type;           /* e_type, filetype, Characteristics */
    uint32_t is_relocatable; /* its sections have no addresses of their own yet */
    uint32_t section_count;
    uint32_t has_base_address;
    uint32_t reserved;
    uint64_t base_address; /* ELF: p_vaddr of the first PT_LOAD; Mach-O: of __TEXT; PE:
                            * ImageBase */
} gsym_object_header;

typedef struct gsym_object_section {
    uint32_t present;
    uint32_t index;
    const char *name; /* in the file's bytes; ended by name_size, not by a NUL */
    size_t name_size;
    uint64_t address; /* in a relocatable file: where it is placed */
    uint64_t offset;  /* of the payload in the file */
    uint64_t size;    /* of the payload in the file; 0: it has none there */
    uint64_t uncompressed_size; /* equals size where nothing is compressed */
    uint64_t memory_size;       /* of what is loaded at `address` */
    uint64_t flags;
    uint32_t type;
    uint32_t compression; /* gsym_compression */
    uint32_t holds_code;
    uint32_t has_relocations; /* gsym_object_relocate has something to do */
} gsym_object_section;

gsym_status gsym_object_open(const uint8_t *data, size_t size, gsym_object **object_ret,
                             gsym_error *error);
void gsym_object_close(gsym_object *object);
void gsym_object_header_get(const gsym_object *object, gsym_object_header *header_ret);
/* Section `index` < header.section_count; `present` 0 where that number names none. */
gsym_status gsym_object_section_at(const gsym_object *object, uint32_t index,
                                   gsym_object_section *section_ret, gsym_error *error);
/* The first section of a name, from number `first` on; `present` 0 where the file has
 * none. */
gsym_status gsym_object_find_section(const gsym_object *object, uint32_t first,
                                     const char *name, size_t name_size,
                                     gsym_object_section *section_ret, gsym_error *error);
/* A section of DWARF under any of the names that the format gives it; with `is_split`
 * that of split units (NAME.dwo). `present` 0 where the file has none. */
gsym_status gsym_object_debug_section(const gsym_object *object, gsym_debug_section which,
                                      uint32_t is_split, gsym_object_section *section_ret,
                                      gsym_error *error);
/* What names this build: GNU build id, LC_UUID, CodeView GUID; size 0 where there is
 * none. */
gsym_status gsym_object_identifier(const gsym_object *object, const uint8_t **bytes_ret,
                                   size_t *size_ret, gsym_error *error);
/* Apply the relocations of section `index` to `bytes`, its inflated payload. Those that
 * cannot be applied are counted in *failed_ret and leave their place as it is. */
gsym_status gsym_object_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                                 size_t size, uint64_t *failed_ret, gsym_error *error);

/* ---- calls: what machine code comes back from ------------------------------------ */

/* Machine code, and where it is loaded. */
typedef struct gsym_code {
    const uint8_t *bytes; /* NULL: none */
    uint64_t size;
    uint64_t address;
} gsym_code;

/* The code of a binary, piece by piece: *next is 0 at first, and `bytes` NULL behind the
 * last piece. Pieces are sections or, in an ELF file without any, segments. */
gsym_status gsym_object_next_code(const gsym_object *object, uint32_t *next,
                                  gsym_code *code_ret, gsym_error *error);

typedef enum gsym_instruction_set {
    GSYM_INSTRUCTIONS_X86_64 = 1,
    GSYM_INSTRUCTIONS_AARCH64 = 2
} gsym_instruction_set;

typedef struct gsym_call_columns {
    size_t count;
    const uint64_t *address; /* of a call, ascending in sound files */
    const uint8_t *size;     /* of its instruction, behind which it returns */
    const uint8_t *has_line; /* 0: no call, but code returns there from what it never
                              * called, as the first function of a goroutine does */
    uint64_t ranges;         /* of functions that were gone through */
    uint64_t ended_early;    /* of these: at an instruction that is undefined or cut off */
    uint64_t instructions;
    uint64_t without_code; /* ranges that are in no piece */
    uint64_t damaged;      /* entries whose record cannot be read */
} gsym_call_columns;

/* The calls in the functions of a file, each of which is gone through from its start on.
 * Pieces of code ascend and do not overlap; they may go when this is done. */
typedef struct gsym_calls gsym_calls;
gsym_status gsym_calls_find(const gsym_image *image, gsym_instruction_set set,
                            const gsym_code *code, size_t code_count,
                            gsym_calls **calls_ret, gsym_error *error);
/* The same from the call sites in the file, without any code: what they return to is known,
 * and a call counts as the byte in front of it. Jumps to other functions are among them. */
gsym_status gsym_calls_recall(const gsym_image *image, gsym_calls **calls_ret,
                              gsym_error *error);
void gsym_calls_columns(const gsym_calls *calls, gsym_call_columns *columns_ret);
void gsym_calls_destroy(gsym_calls *calls);

/* ---- debug maps: where a linked Mach-O file says that its DWARF is ------------- */

typedef struct gsym_debug_map gsym_debug_map;

typedef struct gsym_debug_map_entry {
    const char *path; /* of an object file, or ARCHIVE(MEMBER) */
    size_t path_size;
    uint64_t mtime; /* of the object file when it was linked, seconds since 1970 */
    uint64_t function_count;
} gsym_debug_map_entry;

/* The debug map of an object, which has to outlive it; empty where it has none. */
gsym_status gsym_debug_map_create(const gsym_object *object, gsym_debug_map **map_ret,
                                  gsym_error *error);
void gsym_debug_map_destroy(gsym_debug_map *map);
size_t gsym_debug_map_count(const gsym_debug_map *map);
/* Entry `index` < gsym_debug_map_count. */
void gsym_debug_map_entry_at(const gsym_debug_map *map, size_t index,
                             gsym_debug_map_entry *entry_ret);

/* ---- conversion: DWARF and symbols -> creator ---------------------------------- */

typedef struct gsym_conversion gsym_conversion;

typedef enum gsym_conversion_flags {
    GSYM_CONVERT_CALL_SITES = 1,
    GSYM_CONVERT_KEEP_WARNINGS = 2, /* keep each warning, not only its count */
    GSYM_CONVERT_FULL_WALK = 4,     /* visit every DIE: the oracle of the skips */
    GSYM_CONVERT_KEEP_REPEATED = 8  /* identical functions go to the creator, which
                                     * merges them */
} gsym_conversion_flags;

typedef struct gsym_conversion_options {
    uint32_t flags;
    uint32_t thread_count; /* workers that will call gsym_conversion_work */
    uint32_t big_endian;
    uint32_t reserved;
} gsym_conversion_options;

typedef enum gsym_warning_category {
    GSYM_WARN_UNIT_SKIPPED = 0,
    GSYM_WARN_ABBREVIATIONS,
    GSYM_WARN_DIE_DAMAGED,
    GSYM_WARN_REFERENCE,
    GSYM_WARN_NO_NAME,
    GSYM_WARN_RANGE_INVALID,
    GSYM_WARN_RANGE_OUTSIDE_TEXT,
    GSYM_WARN_RANGE_LIST,
    GSYM_WARN_LINE_PROGRAM,
    GSYM_WARN_LINE_FILE_INDEX,
    GSYM_WARN_LINE_ORDER,
    GSYM_WARN_DECL_FILE_INDEX,
    GSYM_WARN_CALL_FILE_INDEX,
    GSYM_WARN_INLINE_UNCONTAINED,
    GSYM_WARN_INLINE_EMPTY,
    GSYM_WARN_DEPTH,
    GSYM_WARN_SYMBOL,
    GSYM_WARN_LIMIT,
    GSYM_WARN_SPLIT_MISSING,         /* value: the dwo_id */
    GSYM_WARN_SUPPLEMENTARY_MISSING, /* value: the offset in the file that is missing */
    /* Of a pclntab. Offset: of the function in the file; value: its address. */
    GSYM_WARN_GO_FUNCTION,
    GSYM_WARN_GO_VALUES,
    GSYM_WARN_GO_CALLS,
    GSYM_WARN_COUNT
} gsym_warning_category;

typedef struct gsym_warning {
    uint32_t category; /* gsym_warning_category */
    uint32_t file;     /* that `offset` counts in, of gsym_conversion_add_file */
    uint64_t offset; /* of the DIE in .debug_info, or of the place named by the category */
    uint64_t value;  /* the address, index or offset at fault */
} gsym_warning;

gsym_status gsym_conversion_create(gsym_creator *creator,
                                   const gsym_conversion_options *options,
                                   gsym_conversion **conversion_ret, gsym_error *error);
void gsym_conversion_destroy(gsym_conversion *conversion);
/* Addresses that may hold code, in main files without address spans; without any,
 * every address may. */
gsym_status gsym_conversion_add_text_range(gsym_conversion *conversion, uint64_t start,
                                           uint64_t end, gsym_error *error);
/* The sections of an object that hold code as text ranges. */
gsym_status gsym_conversion_add_object_text(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error);

/* What a set of debug sections is to the others. */
typedef enum gsym_dwarf_role {
    GSYM_DWARF_MAIN = 0, /* its units are converted; file 0 is one from the start */
    GSYM_DWARF_SUPPLEMENTARY = 1, /* what main files share: .gnu_debugaltlink, .debug_sup */
    GSYM_DWARF_SPLIT = 2 /* a .dwo or .dwp: its units complete skeleton units */
} gsym_dwarf_role;

/* Another set of debug sections; *file_ret numbers it for the calls below. Main files
 * and the one supplementary file come before gsym_conversion_scan. */
gsym_status gsym_conversion_add_file(gsym_conversion *conversion, gsym_dwarf_role role,
                                     uint32_t *file_ret, gsym_error *error);
/* `data` must live until gsym_conversion_collect. `is_file_mapping` 1 allows to give
 * finished pages back (MADV_DONTNEED). */
gsym_status gsym_conversion_set_section(gsym_conversion *conversion, uint32_t file,
                                        gsym_debug_section which, const uint8_t *data,
                                        size_t size, uint32_t is_file_mapping,
                                        gsym_error *error);
/* Functions of main file `file` that start in [start, start + size) move to `address`
 * on: what a linker made of an object file. Spans do not overlap; once one is given, be
 * it empty, functions outside of all are left out. */
gsym_status gsym_conversion_add_address_span(gsym_conversion *conversion, uint32_t file,
                                             uint64_t start, uint64_t size,
                                             uint64_t address, gsym_error *error);
/* Functions of main file `file`, whose sections are those of `object`, move to where
 * entry `index` of a debug map has functions of their names; *missing_ret counts those
 * that `object` does not have. */
gsym_status gsym_conversion_add_debug_map(gsym_conversion *conversion, uint32_t file,
                                          const gsym_debug_map *map, size_t index,
                                          const gsym_object *object, uint64_t *missing_ret,
                                          gsym_error *error);
/* Rewrite file paths that start with `old`; the first rule that fits is taken. */
gsym_status gsym_conversion_add_path_map(gsym_conversion *conversion, const char *old_bytes,
                                         size_t old_size, const char *new_bytes,
                                         size_t new_size, gsym_error *error);
/* Find the units of the main files; call once, before the workers. */
gsym_status gsym_conversion_scan(gsym_conversion *conversion, gsym_error *error);

/* A unit of a main file that only says where the rest of it is. */
typedef struct gsym_skeleton {
    uint64_t unit_offset; /* in .debug_info */
    uint64_t dwo_id;
    const char *dwo_name; /* path, relative to comp_dir; bytes of a section */
    size_t dwo_name_size;
    const char *comp_dir;
    size_t comp_dir_size;
    uint32_t file;        /* the main file */
    uint32_t is_complete; /* gsym_conversion_link_split found the rest */
} gsym_skeleton;

/* After gsym_conversion_scan. */
size_t gsym_conversion_skeleton_count(gsym_conversion *conversion);
gsym_status gsym_conversion_skeleton(gsym_conversion *conversion, size_t index,
                                     gsym_skeleton *skeleton_ret, gsym_error *error);
/* Once the sections of a split file are set, between scan and workers: complete the
 * skeletons whose dwo_id its units have. *matched_ret counts those. */
gsym_status gsym_conversion_link_split(gsym_conversion *conversion, uint32_t file,
                                       uint64_t *matched_ret, gsym_error *error);

/* Convert units until none is left; called by each worker thread once. */
gsym_status gsym_conversion_work(gsym_conversion *conversion, gsym_error *error);
/* Bytes of .debug_info done and in all files; readable while workers run. */
void gsym_conversion_progress(gsym_conversion *conversion, uint64_t *done_ret,
                              uint64_t *total_ret);
void gsym_conversion_cancel(gsym_conversion *conversion);
/* After the workers: hand the functions to the creator. */
gsym_status gsym_conversion_collect(gsym_conversion *conversion, gsym_error *error);
/* Functions of the symbol table; of .dynsym where an ELF file has no .symtab. The bytes
 * of the object must live until gsym_creator_finish: only names that survive are
 * copied. */
gsym_status gsym_conversion_add_object_symbols(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               gsym_error *error);
/* Functions of the pclntab of a Go binary, after gsym_conversion_collect; with
 * `only_undescribed` none if a function that is there already starts where one of them
 * does. *count_ret counts those that are added: 0 where there is no pclntab. Fails where
 * it is damaged as a whole or of a Go before 1.16. */
gsym_status gsym_conversion_add_go_functions(gsym_conversion *conversion,
                                             const gsym_object *object,
                                             uint32_t only_undescribed,
                                             uint64_t *count_ret, gsym_error *error);
uint64_t gsym_conversion_warning_count(const gsym_conversion *conversion,
                                       gsym_warning_category category);
/* Kept warnings, ordered by file and offset. */
const gsym_warning *gsym_conversion_warnings(gsym_conversion *conversion,
                                             size_t *count_ret);

/* ---- Breakpad: the text of a .sym file -> creator -------------------------------- */

typedef struct gsym_breakpad gsym_breakpad;

/* A line of more bytes is no record. */
#define GSYM_BREAKPAD_LINE_SIZE_LIMIT 1048576
/* More findings are counted only. */
#define GSYM_BREAKPAD_FINDING_LIMIT 10000

typedef enum gsym_breakpad_fault {
    /* A record is lost. */
    GSYM_BREAKPAD_UNKNOWN_RECORD = 0,
    GSYM_BREAKPAD_LONG_LINE,
    GSYM_BREAKPAD_NUMBER,      /* missing, damaged or too large */
    GSYM_BREAKPAD_MODULE,      /* incomplete, or the second one */
    GSYM_BREAKPAD_RANGE,       /* FUNC of no byte, of over 4 GiB or past the last address */
    GSYM_BREAKPAD_NO_FUNCTION, /* line record or INLINE without a FUNC */
    /* A part of what it says is lost. */
    GSYM_BREAKPAD_NAME,      /* missing, or cut at a NUL */
    GSYM_BREAKPAD_OUTSIDE,   /* line record or INLINE that leaves its FUNC */
    GSYM_BREAKPAD_OVERLAP,   /* line records or INLINE of one level that overlap */
    GSYM_BREAKPAD_UNCOVERED, /* INLINE that leaves the one that it is inlined into */
    GSYM_BREAKPAD_NO_FILE,   /* number that no FILE gives */
    GSYM_BREAKPAD_NO_ORIGIN, /* number that no INLINE_ORIGIN gives */
    GSYM_BREAKPAD_REDEFINED, /* number that is given again, to something else */
    GSYM_BREAKPAD_LIMIT,     /* INLINE nested too deeply or cut into too many pieces */
    GSYM_BREAKPAD_FAULT_COUNT
} gsym_breakpad_fault;

typedef struct gsym_breakpad_finding {
    uint32_t fault; /* gsym_breakpad_fault */
    uint32_t reserved;
    uint64_t line;   /* of the record in the text, from 1; some faults name the FUNC */
    uint64_t offset; /* of that line, in bytes */
    uint64_t value;  /* the address or number at fault */
} gsym_breakpad_finding;

typedef struct gsym_breakpad_counts {
    uint64_t functions; /* FUNC and so on: records that were read */
    uint64_t publics;
    uint64_t lines;
    uint64_t inlines;
    uint64_t files;
    uint64_t inline_origins;
    uint64_t stack_records; /* skipped unread */
    uint64_t bad_records;   /* lost as a whole */
} gsym_breakpad_counts;

/* `keep_findings` 1: keep each finding, not only their counts. */
gsym_status gsym_breakpad_create(gsym_creator *creator, uint32_t keep_findings,
                                 gsym_breakpad **breakpad_ret, gsym_error *error);
void gsym_breakpad_destroy(gsym_breakpad *breakpad);
/* As gsym_conversion_add_path_map; before the first FILE. */
gsym_status gsym_breakpad_add_path_map(gsym_breakpad *breakpad, const char *old_bytes,
                                       size_t old_size, const char *new_bytes,
                                       size_t new_size, gsym_error *error);
/* Read the next bytes of the text, which may end anywhere. What is wrong with a record
 * is a finding; only a lack of memory and a limit of the output are failures. */
gsym_status gsym_breakpad_feed(gsym_breakpad *breakpad, const uint8_t *bytes, size_t size,
                               gsym_error *error);
/* The text ends here: functions need not wait any longer for numbers to be given. */
gsym_status gsym_breakpad_finish(gsym_breakpad *breakpad, gsym_error *error);

/* Functions on their way from the reader to the creator. */
typedef struct gsym_breakpad_batch gsym_breakpad_batch;

/* The functions that have been read, when they are many or the text has ended; NULL for
 * none. Each is to be encoded and kept; the reader owns it and must outlive both. */
gsym_status gsym_breakpad_next_batch(gsym_breakpad *breakpad,
                                     gsym_breakpad_batch **batch_ret, gsym_error *error);
/* Long work of its own, which may run in another thread than the reader. */
gsym_status gsym_breakpad_batch_encode(gsym_breakpad_batch *batch, gsym_error *error);
/* The creator gets the functions, and the reader the batch; in the order in which
 * they were handed out. */
gsym_status gsym_breakpad_keep_batch(gsym_breakpad *breakpad, gsym_breakpad_batch *batch,
                                     gsym_error *error);
/* When all is kept, and after gsym_creator_merge_functions: the PUBLIC records that lie
 * in no function, each up to the next address that has a record. */
gsym_status gsym_breakpad_add_publics(gsym_breakpad *breakpad, gsym_error *error);
/* The text of the MODULE and of the first INFO records, in file order; NULL behind the
 * last. Valid until the next call of gsym_breakpad_feed. */
const char *gsym_breakpad_head(const gsym_breakpad *breakpad, size_t index,
                               size_t *size_ret);
void gsym_breakpad_count(const gsym_breakpad *breakpad, gsym_breakpad_counts *counts_ret);
uint64_t gsym_breakpad_fault_count(const gsym_breakpad *breakpad,
                                   gsym_breakpad_fault fault);
/* Kept findings, ordered by line. */
const gsym_breakpad_finding *gsym_breakpad_findings(gsym_breakpad *breakpad,
                                                    size_t *count_ret);

/* ---- symbfile: what profilers know of an executable (docs/symbfile.md) ----------- */

#define GSYM_SYMBFILE_MAX_MESSAGE_SIZE 16777216 /* bytes of a body */

typedef enum gsym_symbfile_message {
    GSYM_SYMBFILE_INVALID = 0,
    GSYM_SYMBFILE_HEADER = 1,
    GSYM_SYMBFILE_RANGE_V1 = 2,
    GSYM_SYMBFILE_RETURN_PAD_V1 = 3,
    GSYM_SYMBFILE_STRING_TABLE_V1 = 4
} gsym_symbfile_message;

/* From `offset`, counted from the start of the range, on code comes from `line`. */
typedef struct gsym_symbfile_row {
    uint64_t offset;
    uint32_t line;
    uint32_t reserved;
} gsym_symbfile_row;

/* One level of a return pad. */
typedef struct gsym_symbfile_entry {
    uint32_t func; /* numbers of strings */
    uint32_t file;
    uint32_t line; /* 0: it is not known */
} gsym_symbfile_entry;

/* Records as columns. Strings are numbered from 1 on, 0 is none. All lives until the next
 * call on the reader, and strings until one tells that all are new. */
typedef struct gsym_symbfile_columns {
    size_t count;            /* of records */
    const uint8_t *kinds;    /* gsym_symbfile_message */
    const uint64_t *offsets; /* of their messages, from the start of the file */
    /* RangeV1 */
    size_t range_count;
    const uint64_t *range_elf_va;
    const uint64_t *length;
    const uint32_t *func;
    const uint32_t *file;
    const uint32_t *call_file;
    const uint32_t *call_line; /* 0: it is not known */
    const uint32_t *depth;
    const uint64_t *row_ends; /* of its line table among all rows, which it begins
                               * where the one before ends */
    size_t row_count;
    const gsym_symbfile_row *rows;
    /* ReturnPadV1 */
    size_t pad_count;
    const uint64_t *pad_elf_va;
    const uint64_t *entry_ends;
    size_t entry_count;
    const gsym_symbfile_entry *entries;
    /* Strings from number string_first on are new; 1: those before are gone. */
    uint32_t string_first;
    uint32_t string_end;
    const char *string_bytes;    /* UTF-8, of the new ones, one behind the other */
    const uint64_t *string_ends; /* of each new one in these bytes */
} gsym_symbfile_columns;

typedef struct gsym_symbfile_counts {
    uint64_t ranges;
    uint64_t return_pads;
    uint64_t string_tables;
    uint64_t unknown_messages;
    uint64_t range_bytes; /* of messages, with length and type in front of them */
    uint64_t return_pad_bytes;
    uint64_t string_table_bytes;
    uint64_t unknown_bytes;
    uint64_t table_strings;  /* in all string tables */
    uint64_t inline_strings; /* in ranges */
    uint64_t references;     /* to strings of tables */
    uint64_t line_rows;
    uint64_t entries; /* of return pads */
} gsym_symbfile_counts;

typedef struct gsym_symbfile_reader gsym_symbfile_reader;
gsym_status gsym_symbfile_reader_create(gsym_symbfile_reader **reader_ret,
                                        gsym_error *error);
void gsym_symbfile_reader_destroy(gsym_symbfile_reader *reader);
/* Read the next bytes of a file up to so many messages as columns hold well. *used_ret
 * bytes were read; the next message takes *wanted_ret bytes from there on, or is not
 * known to take more, and is read once they are all there; 0: there is more to read in
 * these bytes. `is_last` 1: the file ends with them. Offsets count from its start. */
gsym_status gsym_symbfile_reader_read(gsym_symbfile_reader *reader, const uint8_t *bytes,
                                      size_t size, uint32_t is_last, size_t *used_ret,
                                      size_t *wanted_ret, gsym_error *error);
/* The records of the last read. */
void gsym_symbfile_reader_columns(const gsym_symbfile_reader *reader,
                                  gsym_symbfile_columns *columns_ret);
/* Of all that was read. */
void gsym_symbfile_reader_count(const gsym_symbfile_reader *reader,
                                gsym_symbfile_counts *counts_ret);

/* Converts the ranges of symbfiles to functions of a creator. At each address these
 * answer like all ranges together, in any order. Ranges in depth-first order are
 * converted function by function, others once all are read. A function that was split
 * where the file of its lines changes is joined again. Return pads are ignored. */
typedef struct gsym_symbfile_functions gsym_symbfile_functions;
/* With waits_for_all 1 all ranges are kept until the end. */
gsym_status gsym_symbfile_functions_create(gsym_creator *creator, uint32_t waits_for_all,
                                           gsym_symbfile_functions **functions_ret,
                                           gsym_error *error);
void gsym_symbfile_functions_destroy(gsym_symbfile_functions *functions);
/* Take the ranges of the last read, after each read of a file, one file after the other.
 * *is_disordered_ret 1: some are not in depth-first order; start over with another
 * creator and waits_for_all. Fails with GSYM_E_FORMAT if a range ends beyond the address
 * space, with GSYM_E_LIMIT if calls are nested more than 256 deep or a range has 4 GiB or
 * more. */
gsym_status gsym_symbfile_functions_take(gsym_symbfile_functions *functions,
                                         const gsym_symbfile_reader *reader,
                                         uint32_t *is_disordered_ret, gsym_error *error);
/* Call after the last file. *count_ret: the functions given to the creator;
 * *is_disordered_ret as above, also if functions overlap. Fails with GSYM_E_LIMIT if
 * crossing ranges would be split into too many calls. */
gsym_status gsym_symbfile_functions_finish(gsym_symbfile_functions *functions,
                                           uint64_t *count_ret,
                                           uint32_t *is_disordered_ret,
                                           gsym_error *error);

/* A range that is to be written. */
typedef struct gsym_symbfile_range {
    uint64_t elf_va;
    uint64_t length;
    uint32_t func; /* numbers of strings, 0: none; `func` has to be there */
    uint32_t file;
    uint32_t call_file;
    uint32_t call_line;
    uint32_t depth;
    uint32_t reserved;
    const gsym_symbfile_row *rows; /* ascending */
    size_t row_count;
} gsym_symbfile_range;

typedef struct gsym_symbfile_writer gsym_symbfile_writer;

/* Records become messages in the order in which they come; same records, same bytes. With
 * `part_size` the output is several files of about so many bytes; 0: one file. A part
 * begins with a return pad or a range of depth 0. */
gsym_status gsym_symbfile_writer_create(uint64_t part_size,
                                        gsym_symbfile_writer **writer_ret,
                                        gsym_error *error);
void gsym_symbfile_writer_destroy(gsym_symbfile_writer *writer);
/* The number of a string, which is UTF-8, for records to come; from 1 on, and equal
 * strings have one number. */
gsym_status gsym_symbfile_writer_add_string(gsym_symbfile_writer *writer,
                                            const char *bytes, size_t size,
                                            uint32_t *string_ret, gsym_error *error);
gsym_status gsym_symbfile_writer_add_range(gsym_symbfile_writer *writer,
                                           const gsym_symbfile_range *range,
                                           gsym_error *error);
/* Entries come outermost function first. A file that is not known is the number of the
 * empty string, or 0. */
gsym_status gsym_symbfile_writer_add_return_pad(gsym_symbfile_writer *writer,
                                                uint64_t elf_va,
                                                const gsym_symbfile_entry *entries,
                                                size_t count, gsym_error *error);
/* All records are there. */
gsym_status gsym_symbfile_writer_finish(gsym_symbfile_writer *writer, gsym_error *error);
/* Finished bytes that were not taken yet, of one part; they live until the next call on
 * the writer. *ends_part_ret 1: the part ends behind them. */
void gsym_symbfile_writer_take(gsym_symbfile_writer *writer, const uint8_t **bytes_ret,
                               size_t *size_ret, uint32_t *ends_part_ret);

/* The names and paths of a GSYM file as strings of a symbfile. Names are what whoever
 * writes it makes of them: those that functions and calls use are collected, get their
 * texts, and can be named then. */
typedef struct gsym_symbfile_names gsym_symbfile_names;
gsym_status gsym_symbfile_names_create(const gsym_image *image,
                                       gsym_symbfile_names **names_ret,
                                       gsym_error *error);
void gsym_symbfile_names_destroy(gsym_symbfile_names *names);
/* Collect the names that entries first .. first + count - 1 use. */
gsym_status gsym_symbfile_names_collect(gsym_symbfile_names *names, uint32_t first,
                                        uint32_t count, gsym_error *error);
/* Collect the names that were collected for another symbfile of the same image. */
gsym_status gsym_symbfile_names_share(gsym_symbfile_names *names,
                                      const gsym_symbfile_names *other,
                                      gsym_error *error);
/* Write the string offsets of names[first] and those behind it, as many as there is room
 * for; *count_ret tells how many there are in all. Nothing can be collected any more.
 * Fails where they are far larger than the file, as names that lie in each other may be. */
gsym_status gsym_symbfile_names_list(gsym_symbfile_names *names, uint64_t first,
                                     uint64_t *strps, size_t capacity,
                                     uint64_t *count_ret, gsym_error *error);
/* Make the next names known to a writer, which has to outlive this: their texts, in the
 * order of the list, with a NUL behind each. */
gsym_status gsym_symbfile_names_add(gsym_symbfile_names *names,
                                    gsym_symbfile_writer *writer, const char *texts,
                                    size_t size, gsym_error *error);

typedef struct gsym_symbfile_extraction_counts {
    uint64_t functions; /* written */
    uint64_t ranges;
    uint64_t inlined_calls; /* ranges of them */
    uint64_t line_rows;
    uint64_t return_pads;
    /* What the output does not say: */
    gsym_walk_losses losses;
    uint64_t endless_left_out; /* the last one, where it has no size */
    uint64_t without_calls;    /* their inlined calls would be too many */
} gsym_symbfile_extraction_counts;

/* The functions of a GSYM file as ranges, and the chains at calls in them as return pads:
 * either or both, each into a writer of its own. */
typedef struct gsym_symbfile_extraction gsym_symbfile_extraction;
gsym_status gsym_symbfile_extraction_create(const gsym_image *image,
                                            gsym_symbfile_extraction **extraction_ret,
                                            gsym_error *error);
void gsym_symbfile_extraction_destroy(gsym_symbfile_extraction *extraction);
/* What is to be written, before the first entry: all names are known to the writer, and it
 * outlives this as the calls do. */
void gsym_symbfile_extraction_want_ranges(gsym_symbfile_extraction *extraction,
                                          gsym_symbfile_names *names,
                                          gsym_symbfile_writer *writer);
void gsym_symbfile_extraction_want_return_pads(gsym_symbfile_extraction *extraction,
                                               gsym_symbfile_names *names,
                                               gsym_symbfile_writer *writer,
                                               const gsym_calls *calls);
/* Add what the next `count` entries have; *is_done_ret 1: they were the last. */
gsym_status gsym_symbfile_extraction_next(gsym_symbfile_extraction *extraction,
                                          uint32_t count, uint32_t *is_done_ret,
                                          gsym_error *error);
void gsym_symbfile_extraction_count(const gsym_symbfile_extraction *extraction,
                                    gsym_symbfile_extraction_counts *counts_ret);

/* A demangled C++ name without its template arguments, written to `out`, which has room
 * for `size` bytes; the whole name where its brackets make no sense. Returns the size. */
size_t gsym_name_without_template_arguments(const char *name, size_t size, char *out);

/* What reads a mangled C++ name: functions of the C++ runtime, and the limits for them. */
typedef struct gsym_cxx_demangler {
    char *(*demangle)(const char *name, char *text, size_t *size, int *status);
    void (*release)(char *text);
    uint64_t most_work; /* see gsym_cxx_name_work() */
    uint64_t most_text_size;
} gsym_cxx_demangler;

/* The texts of names at once, as many as are not mangled or plain C++; names that are
 * longer than GSYM_MAX_CXX_NAME_SIZE or cannot be read stay as they are. The texts of others are left
 * out: of Rust, Swift and D, with a dot, a version or more work than the limit. */
typedef struct gsym_cxx_texts gsym_cxx_texts;
gsym_status gsym_cxx_texts_create(const gsym_image *image, const uint64_t *strps,
                                  size_t count, const gsym_cxx_demangler *demangler,
                                  uint32_t without_arguments, gsym_cxx_texts **texts_ret,
                                  gsym_error *error);
void gsym_cxx_texts_destroy(gsym_cxx_texts *texts);
/* All texts with a NUL behind each, empty ones for those that are left out, whose numbers
 * `left_ret` lists. */
void gsym_cxx_texts_view(const gsym_cxx_texts *texts, const char **bytes_ret,
                         size_t *size_ret, const uint32_t **left_ret,
                         size_t *left_count_ret);

/* ---- FXT: Fuchsia traces ---------------------------------------------------------- */

#define GSYM_FXT_MAGIC 0x16547846
#define GSYM_FXT_MAX_RECORD_SIZE 32760 /* bytes, of a record that is not large */

/* The type in the header of a record. */
typedef enum gsym_fxt_record_type {
    GSYM_FXT_TYPE_METADATA = 0,
    GSYM_FXT_TYPE_INITIALIZATION = 1,
    GSYM_FXT_TYPE_STRING = 2,
    GSYM_FXT_TYPE_THREAD = 3,
    GSYM_FXT_TYPE_EVENT = 4,
    GSYM_FXT_TYPE_BLOB = 5,
    GSYM_FXT_TYPE_USERSPACE_OBJECT = 6,
    GSYM_FXT_TYPE_KERNEL_OBJECT = 7,
    GSYM_FXT_TYPE_SCHEDULING = 8,
    GSYM_FXT_TYPE_LOG = 9,
    GSYM_FXT_TYPE_PROFILER = 10,
    GSYM_FXT_TYPE_LARGE = 15
} gsym_fxt_record_type;

/* What a record is; an event has the number of its event type. */
typedef enum gsym_fxt_kind {
    GSYM_FXT_INSTANT = 0,
    GSYM_FXT_COUNTER = 1,
    GSYM_FXT_DURATION_COMPLETE = 4,
    GSYM_FXT_FLOW_END = 10, /* the last event */
    GSYM_FXT_PROVIDER_INFO = 11,
    GSYM_FXT_PROVIDER_SECTION = 12,
    GSYM_FXT_PROVIDER_EVENT = 13,
    GSYM_FXT_TRACE_INFO = 14,
    GSYM_FXT_INITIALIZATION = 15,
    GSYM_FXT_STRING = 16,
    GSYM_FXT_THREAD = 17,
    GSYM_FXT_BLOB = 18,
    GSYM_FXT_USERSPACE_OBJECT = 19,
    GSYM_FXT_KERNEL_OBJECT = 20,
    GSYM_FXT_LEGACY_CONTEXT_SWITCH = 21,
    GSYM_FXT_CONTEXT_SWITCH = 22,
    GSYM_FXT_THREAD_WAKEUP = 23,
    GSYM_FXT_LOG = 24,
    GSYM_FXT_MODULE = 25,
    GSYM_FXT_MMAP = 26,
    GSYM_FXT_BACKTRACE = 27,
    GSYM_FXT_LARGE_BLOB_WITH_METADATA = 28,
    GSYM_FXT_LARGE_BLOB = 29,
    GSYM_FXT_UNKNOWN = 30,
    GSYM_FXT_KIND_COUNT = 31
} gsym_fxt_kind;

typedef enum gsym_fxt_argument_type {
    GSYM_FXT_ARGUMENT_NULL = 0,
    GSYM_FXT_ARGUMENT_INT32 = 1,
    GSYM_FXT_ARGUMENT_UINT32 = 2,
    GSYM_FXT_ARGUMENT_INT64 = 3,
    GSYM_FXT_ARGUMENT_UINT64 = 4,
    GSYM_FXT_ARGUMENT_DOUBLE = 5,
    GSYM_FXT_ARGUMENT_STRING = 6,
    GSYM_FXT_ARGUMENT_POINTER = 7,
    GSYM_FXT_ARGUMENT_KOID = 8,
    GSYM_FXT_ARGUMENT_BOOL = 9,
    GSYM_FXT_ARGUMENT_BLOB = 10
} gsym_fxt_argument_type;

/* What is wrong with a trace, and what `detail` is. */
typedef enum gsym_fxt_fault {
    GSYM_FXT_EMPTY_RECORDS,      /* of size 0; bytes passed over */
    GSYM_FXT_TRUNCATED,          /* by the end of the trace; bytes that are there */
    GSYM_FXT_SHORT_RECORD,       /* for its fields; its size in bytes */
    GSYM_FXT_LARGE_RECORD,       /* larger than is read; its size in bytes */
    GSYM_FXT_UNDEFINED_STRING,   /* its index */
    GSYM_FXT_UNDEFINED_THREAD,   /* its index */
    GSYM_FXT_NO_TICK_RATE,       /* 0 ticks a second */
    GSYM_FXT_WRONG_MAGIC,        /* the number in its place */
    GSYM_FXT_FRAME_COUNT,        /* more than the record holds; frames that it holds */
    GSYM_FXT_FAULT_COUNT
} gsym_fxt_fault;

typedef struct gsym_fxt_problem {
    uint64_t offset; /* of the record, from the start of the trace */
    uint64_t detail;
    uint32_t fault; /* gsym_fxt_fault */
    uint32_t reserved;
} gsym_fxt_problem;

#define GSYM_FXT_NO_SUBTYPE 0xff
#define GSYM_FXT_NO_PROVIDER 0x100000000 /* ids have 32 bits */

/* A part of the bytes that were read. */
typedef struct gsym_fxt_data {
    uint64_t start;
    uint64_t size;
} gsym_fxt_data;

/* Records as columns: events have their own, other records are words. Strings are numbers
 * from 0, which is the empty one; so are providers, of which each trace in a file has its
 * own. All lives until the next call on the reader, and strings until one reports that
 * all are new. */
typedef struct gsym_fxt_columns {
    size_t count;         /* of records */
    const uint8_t *kinds; /* gsym_fxt_kind */
    /* Events */
    size_t event_count;
    const uint64_t *event_offset;
    const uint32_t *event_size; /* bytes */
    const uint64_t *event_ticks;
    const uint64_t *event_ns; /* UINT64_MAX: more than fits */
    const uint64_t *event_process;
    const uint64_t *event_thread;
    const uint64_t *event_value; /* an id, or ticks of the end; 0: it has none */
    const uint64_t *event_end_ns;
    const uint32_t *event_category;
    const uint32_t *event_name;
    const uint32_t *event_provider;
    const uint32_t *event_argument_first; /* of its arguments among all */
    const uint32_t *event_argument_end;
    /* Other records: their fields in the order of the specification, without time and
     * arguments; data and texts as two words, start and size */
    size_t other_count;
    const uint64_t *other_offset;
    const uint64_t *other_ticks;
    const uint64_t *other_ns;
    const uint32_t *other_provider;
    const uint64_t *other_word_end; /* they begin where those of the one before end */
    const uint32_t *other_argument_first;
    const uint32_t *other_argument_end;
    size_t word_count;
    const uint64_t *words;
    /* Arguments of all records in file order, and their values by type */
    size_t argument_count;
    const uint32_t *argument_names;
    const uint8_t *argument_types; /* gsym_fxt_argument_type */
    size_t signed_count;           /* int32 and int64 */
    const int64_t *signed_values;
    size_t unsigned_count; /* uint32, uint64, pointer and koid */
    const uint64_t *unsigned_values;
    size_t double_count;
    const double *double_values;
    size_t string_count;
    const uint32_t *string_values;
    size_t bool_count;
    const uint8_t *bool_values;
    size_t blob_count;
    const gsym_fxt_data *blob_values;
    /* Strings from number string_first on are new; 1: those before are gone. */
    uint32_t string_first;
    uint32_t string_end;
    const char *string_bytes; /* of the new ones, one behind the other */
    const uint64_t *string_ends;
    /* Providers by number */
    size_t provider_count;
    const uint64_t *provider_ids;   /* or GSYM_FXT_NO_PROVIDER */
    const uint64_t *provider_rates; /* ticks a second; 0: that of the next, or 1e9 */
    uint32_t provider_implicit;     /* of records before any that names a provider */
    /* What is wrong with what was read; at most as many as are kept. */
    size_t problem_count;
    const gsym_fxt_problem *problems;
    uint32_t has_wide_times; /* 1: some time in ns is more than fits */
} gsym_fxt_columns;

typedef struct gsym_fxt_counts {
    uint64_t records[GSYM_FXT_KIND_COUNT]; /* by kind, malformed ones too */
    uint64_t bytes[GSYM_FXT_KIND_COUNT];
    uint64_t arguments;         /* of records that were handed out */
    uint64_t unknown_arguments; /* of a type without a meaning, left out */
    uint64_t appended_words;    /* after the fields of records and arguments, left out */
    uint64_t faults[GSYM_FXT_FAULT_COUNT];
    uint64_t providers; /* named by records */
    uint64_t traces;    /* begun by a magic number in the middle of the file */
    uint64_t left_out;  /* records that do not pass the filter */
} gsym_fxt_counts;

/* Which records are to be handed out, beside those by which others are read and those that
 * describe objects and modules. A record without what is asked for does not pass. */
typedef struct gsym_fxt_filter {
    uint64_t from_ns; /* those that end there or later, ... */
    uint64_t to_ns;   /* ... and begin there or earlier */
    const uint64_t *processes; /* none: any */
    size_t process_count;
    const uint64_t *threads;
    size_t thread_count;
    const char *categories; /* patterns with `*` and `?`, a NUL behind each; none: any */
    size_t categories_size;
    const char *names;
    size_t names_size;
} gsym_fxt_filter;

typedef struct gsym_fxt_reader gsym_fxt_reader;
/* `kinds` has bit 1 << k for each gsym_fxt_kind k that is to be handed out; others are
 * counted, and used internally where needed. A record of more than `most_size` bytes that
 * is to be handed out is skipped, which is a problem. `is_strict` 1: the first problem is
 * an error. */
gsym_status gsym_fxt_reader_create(uint32_t kinds, uint64_t most_size, uint32_t is_strict,
                                   gsym_fxt_reader **reader_ret, gsym_error *error);
void gsym_fxt_reader_destroy(gsym_fxt_reader *reader);
gsym_status gsym_fxt_reader_set_filter(gsym_fxt_reader *reader,
                                       const gsym_fxt_filter *filter, gsym_error *error);
/* Words are big-endian from now on, or not; the magic number tells it as well. */
void gsym_fxt_reader_set_big_endian(gsym_fxt_reader *reader, uint32_t is_big_endian);
uint32_t gsym_fxt_reader_is_big_endian(const gsym_fxt_reader *reader);
/* Read the next bytes of a trace up to so many records as columns hold well. *used_ret
 * bytes were read; the next record takes *wanted_ret bytes from there on, or is not known
 * to take more, and is read once they are all there; 0: there is more to read in these
 * bytes. `is_last` 1: the trace ends with them. Offsets count from its start. */
gsym_status gsym_fxt_reader_read(gsym_fxt_reader *reader, const uint8_t *bytes,
                                 size_t size, uint32_t is_last, size_t *used_ret,
                                 size_t *wanted_ret, gsym_error *error);
/* The records of the last read. */
void gsym_fxt_reader_columns(const gsym_fxt_reader *reader,
                             gsym_fxt_columns *columns_ret);
/* Of all that was read. */
void gsym_fxt_reader_count(const gsym_fxt_reader *reader, gsym_fxt_counts *counts_ret);
/* Events of one provider, category, name and kind: how many, and what they take. */
typedef struct gsym_fxt_group {
    uint64_t events;
    uint64_t bytes;
    uint32_t provider; /* numbers, as columns have them */
    uint32_t category;
    uint32_t name;
    uint32_t kind; /* gsym_fxt_kind */
} gsym_fxt_group;

typedef struct gsym_fxt_tally gsym_fxt_tally;
gsym_status gsym_fxt_tally_create(gsym_fxt_tally **tally_ret, gsym_error *error);
void gsym_fxt_tally_destroy(gsym_fxt_tally *tally);
/* Count the events of columns. Whoever does clears the tally when strings are all new. */
gsym_status gsym_fxt_tally_add(gsym_fxt_tally *tally, const gsym_fxt_columns *columns,
                               gsym_error *error);
/* All groups in the order of their first events; good until the next call. */
void gsym_fxt_tally_view(const gsym_fxt_tally *tally, const gsym_fxt_group **groups_ret,
                         size_t *count_ret);
void gsym_fxt_tally_clear(gsym_fxt_tally *tally);
/* What is wrong, NUL-terminated in `text`, which has room for `size` bytes. */
void gsym_fxt_problem_text(const gsym_fxt_problem *problem, char *text, size_t size);

/* cffi: end */

#endif
