/* symbfile.h - read, convert and write symbfiles, and extract them from GSYM files
 * (docs/symbfile.md). */
#ifndef GSYM_SYMBFILE_H
#define GSYM_SYMBFILE_H

#include <gsym/convert.h>
#include <gsym/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- symbfile records ---------------------------------------------------------- */

#define GSYM_SYMBFILE_MAX_MESSAGE_SIZE 16777216 /* bytes of a body */

typedef enum gsym_symbfile_message {
    GSYM_SYMBFILE_INVALID = 0,
    GSYM_SYMBFILE_HEADER = 1,
    GSYM_SYMBFILE_RANGE_V1 = 2,
    GSYM_SYMBFILE_RETURN_PAD_V1 = 3,
    GSYM_SYMBFILE_STRING_TABLE_V1 = 4
} gsym_symbfile_message;

/* Code belongs to `line` from `offset` on, in bytes from the start of the range. */
typedef struct gsym_symbfile_row {
    uint64_t offset;
    uint32_t line;
    uint32_t reserved;
} gsym_symbfile_row;

/* A frame of a return pad. */
typedef struct gsym_symbfile_entry {
    uint32_t func; /* numbers of strings */
    uint32_t file;
    uint32_t line; /* 0: it is not known */
} gsym_symbfile_entry;

/* Records as columns. Strings are numbered from 1; 0 means no string. The columns are valid
 * until the next call on the reader; the numbers of strings until a call reports that all
 * strings are new. */
typedef struct gsym_symbfile_columns {
    size_t count;            /* of records */
    const uint8_t *kinds;    /* gsym_symbfile_message */
    const uint64_t *offsets; /* of their messages in the file */
    /* RangeV1 */
    size_t range_count;
    const uint64_t *range_elf_va; /* link-time address */
    const uint64_t *length;       /* in bytes */
    const uint32_t *func;
    const uint32_t *file;
    const uint32_t *call_file;
    const uint32_t *call_line; /* 0: it is not known */
    const uint32_t *depth;
    const uint64_t *row_ends; /* end of its rows; they begin where the previous ones end */
    size_t row_count;
    const gsym_symbfile_row *rows;
    /* ReturnPadV1 */
    size_t pad_count;
    const uint64_t *pad_elf_va; /* link-time address */
    const uint64_t *entry_ends; /* end of its entries, as row_ends */
    size_t entry_count;
    const gsym_symbfile_entry *entries;
    /* Strings from number string_first up to string_end are new. If string_first is 1, the
     * strings that were numbered earlier are gone. */
    uint32_t string_first;
    uint32_t string_end;
    const char *string_bytes;    /* the new strings, concatenated; UTF-8 */
    const uint64_t *string_ends; /* where each new one ends in string_bytes */
} gsym_symbfile_columns;

typedef struct gsym_symbfile_counts {
    uint64_t ranges;
    uint64_t return_pads;
    uint64_t string_tables;
    uint64_t unknown_messages;
    uint64_t range_bytes; /* of messages including length and type */
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
/* Read messages from the next bytes of a file, up to a number that limits the size of the
 * columns. *used_ret is the number of bytes that were read. If *wanted_ret is 0, call again
 * with the remaining bytes; else it is the size of the next message, as far as known, and
 * all of its bytes are needed to read it. `is_last` 1: the file ends with these bytes.
 * Offsets count from the start of the file. */
gsym_status gsym_symbfile_reader_read(gsym_symbfile_reader *reader, const uint8_t *bytes,
                                      size_t size, uint32_t is_last, size_t *used_ret,
                                      size_t *wanted_ret, gsym_error *error);
/* Return the records of the last read. */
void gsym_symbfile_reader_columns(const gsym_symbfile_reader *reader,
                                  gsym_symbfile_columns *columns_ret);
/* Return the totals of everything read. */
void gsym_symbfile_reader_count(const gsym_symbfile_reader *reader,
                                gsym_symbfile_counts *counts_ret);

/* The state of converting the ranges of symbfiles, in any order, to functions of a creator:
 * at each address, these have the same answer as all ranges together. Ranges in depth-first
 * order are converted function by function, others when all are read. A function that was
 * split where the file of its lines changes becomes one function again. Return pads are
 * ignored. */
typedef struct gsym_symbfile_functions gsym_symbfile_functions;
/* Create a converter. `waits_for_all` 1: keep all ranges until the end. */
gsym_status gsym_symbfile_functions_create(gsym_creator *creator, uint32_t waits_for_all,
                                           gsym_symbfile_functions **functions_ret,
                                           gsym_error *error);
void gsym_symbfile_functions_destroy(gsym_symbfile_functions *functions);
/* Add the ranges of the last read; call after each read of each file. *is_disordered_ret
 * 1: they are not in depth-first order; start over with another creator and waits_for_all.
 * GSYM_E_FORMAT: a range ends beyond the address space; GSYM_E_LIMIT: calls are nested
 * more than 256 deep or a range has 4 GiB or more. */
gsym_status gsym_symbfile_functions_take(gsym_symbfile_functions *functions,
                                         const gsym_symbfile_reader *reader,
                                         uint32_t *is_disordered_ret, gsym_error *error);
/* Convert the remaining ranges after the last file. *count_ret is the number of functions
 * that the creator got. *is_disordered_ret is as above, also 1 if functions overlap.
 * GSYM_E_LIMIT: crossing ranges would be split into too many calls. */
gsym_status gsym_symbfile_functions_finish(gsym_symbfile_functions *functions,
                                           uint64_t *count_ret,
                                           uint32_t *is_disordered_ret,
                                           gsym_error *error);

/* A range to write. */
typedef struct gsym_symbfile_range {
    uint64_t elf_va; /* link-time address */
    uint64_t length; /* in bytes */
    uint32_t func; /* these are numbers of strings, 0: none; `func` must have one */
    uint32_t file;
    uint32_t call_file;
    uint32_t call_line;
    uint32_t depth;
    uint32_t reserved;
    const gsym_symbfile_row *rows; /* ascending */
    size_t row_count;
} gsym_symbfile_range;

typedef struct gsym_symbfile_writer gsym_symbfile_writer;

/* Create a writer. Records are written in the order in which they are added; equal calls
 * give equal bytes. With a `part_size` other than 0, the output is several files of about
 * that many bytes, each of which begins with a return pad or a range of depth 0. */
gsym_status gsym_symbfile_writer_create(uint64_t part_size,
                                        gsym_symbfile_writer **writer_ret,
                                        gsym_error *error);
void gsym_symbfile_writer_destroy(gsym_symbfile_writer *writer);
/* Give a UTF-8 string a number for later records. Numbers count from 1; equal strings have
 * the same number. */
gsym_status gsym_symbfile_writer_add_string(gsym_symbfile_writer *writer,
                                            const char *bytes, size_t size,
                                            uint32_t *string_ret, gsym_error *error);
gsym_status gsym_symbfile_writer_add_range(gsym_symbfile_writer *writer,
                                           const gsym_symbfile_range *range,
                                           gsym_error *error);
/* Add a return pad, outermost function first. An unknown file is 0 or the number of the
 * empty string. */
gsym_status gsym_symbfile_writer_add_return_pad(gsym_symbfile_writer *writer,
                                                uint64_t elf_va,
                                                const gsym_symbfile_entry *entries,
                                                size_t count, gsym_error *error);
/* End the output after the last record. */
gsym_status gsym_symbfile_writer_finish(gsym_symbfile_writer *writer, gsym_error *error);
/* Take the finished bytes of one part that were not taken yet; they are valid until the
 * next call on the writer. *ends_part_ret 1: the part ends after them. */
void gsym_symbfile_writer_take(gsym_symbfile_writer *writer, const uint8_t **bytes_ret,
                               size_t *size_ret, uint32_t *ends_part_ret);

/* The names and paths of a GSYM file that a symbfile writer gets as strings. The caller may
 * replace names by other texts, such as demangled ones, so there are three steps: collect
 * the names in use, list them, add their texts. */
typedef struct gsym_symbfile_names gsym_symbfile_names;
gsym_status gsym_symbfile_names_create(const gsym_image *image,
                                       gsym_symbfile_names **names_ret,
                                       gsym_error *error);
void gsym_symbfile_names_destroy(gsym_symbfile_names *names);
/* Collect the names that entries first .. first + count - 1 use. */
gsym_status gsym_symbfile_names_collect(gsym_symbfile_names *names, uint32_t first,
                                        uint32_t count, gsym_error *error);
/* Collect the names of another symbfile of the same image. */
gsym_status gsym_symbfile_names_share(gsym_symbfile_names *names,
                                      const gsym_symbfile_names *other,
                                      gsym_error *error);
/* Write the string offsets of at most `capacity` names from number `first` on; *count_ret
 * is the number of all names. Nothing can be collected afterwards. Fails if the names take
 * far more bytes than the file, as names that share bytes can. */
gsym_status gsym_symbfile_names_list(gsym_symbfile_names *names, uint64_t first,
                                     uint64_t *strps, size_t capacity,
                                     uint64_t *count_ret, gsym_error *error);
/* Add the texts of the next names, in the order of the list and each followed by a NUL, to
 * a writer, which must outlive the names. */
gsym_status gsym_symbfile_names_add(gsym_symbfile_names *names,
                                    gsym_symbfile_writer *writer, const char *texts,
                                    size_t size, gsym_error *error);

typedef struct gsym_symbfile_extraction_counts {
    uint64_t functions; /* written */
    uint64_t ranges;
    uint64_t inlined_calls; /* ranges of inlined calls */
    uint64_t line_rows;
    uint64_t return_pads;
    /* Omitted from the output: */
    gsym_walk_losses losses;
    uint64_t endless_left_out; /* the last function if it has no size */
    uint64_t without_calls;    /* functions with too many inlined calls */
} gsym_symbfile_extraction_counts;

/* The state of writing the functions of a GSYM file as ranges, and the frames at their
 * calls as return pads: either or both, each to its own writer. */
typedef struct gsym_symbfile_extraction gsym_symbfile_extraction;
gsym_status gsym_symbfile_extraction_create(const gsym_image *image,
                                            gsym_symbfile_extraction **extraction_ret,
                                            gsym_error *error);
void gsym_symbfile_extraction_destroy(gsym_symbfile_extraction *extraction);
/* Select what is written, before the first entry is written. The names must have been added
 * to the writer. Names, writer and calls must outlive the extraction. */
void gsym_symbfile_extraction_want_ranges(gsym_symbfile_extraction *extraction,
                                          gsym_symbfile_names *names,
                                          gsym_symbfile_writer *writer);
void gsym_symbfile_extraction_want_return_pads(gsym_symbfile_extraction *extraction,
                                               gsym_symbfile_names *names,
                                               gsym_symbfile_writer *writer,
                                               const gsym_calls *calls);
/* Write the next `count` entries; *is_done_ret 1: these were the last. */
gsym_status gsym_symbfile_extraction_next(gsym_symbfile_extraction *extraction,
                                          uint32_t count, uint32_t *is_done_ret,
                                          gsym_error *error);
void gsym_symbfile_extraction_count(const gsym_symbfile_extraction *extraction,
                                    gsym_symbfile_extraction_counts *counts_ret);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
