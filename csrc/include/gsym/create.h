/* create.h - write functions to a GSYM file. */
#ifndef GSYM_CREATE_H
#define GSYM_CREATE_H

#include <gsym/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- creator: functions -> a GSYM file -------------------------------------- */

typedef struct gsym_creator gsym_creator;

typedef struct gsym_creator_options {
    uint32_t version;    /* GSYM_VERSION_1 or GSYM_VERSION_2 */
    uint32_t big_endian; /* 1: the file is big-endian */
    uint32_t has_base_address;
    uint32_t keep_all; /* 1: no function is pruned; the caller adds them in ascending
                        * order */
    uint64_t base_address; /* image base, if has_base_address is 1; else the base is the
                            * start of the first function */
    uint32_t has_index;    /* 1: write an index of large functions, if there are any */
    uint32_t reserved;
} gsym_creator_options;

typedef enum gsym_origin {
    GSYM_ORIGIN_DEBUG_INFO = 0, /* debug information */
    GSYM_ORIGIN_SYMBOL_TABLE = 1
} gsym_origin;

gsym_status gsym_creator_create(const gsym_creator_options *options,
                                gsym_creator **creator_ret, gsym_error *error);
void gsym_creator_destroy(gsym_creator *creator);
/* Set the UUID, of which a copy is made. GSYM_E_LIMIT: it is too long for version 1. */
gsym_status gsym_creator_set_uuid(gsym_creator *creator, const uint8_t *uuid, size_t size,
                                  gsym_error *error);
/* Intern a string without a NUL: store it if it is not there, and return its string offset.
 * The file may have another one: strings that many inlined calls use come first there. The
 * bytes are copied. */
gsym_status gsym_creator_add_string(gsym_creator *creator, const char *bytes, size_t size,
                                    uint64_t *strp_ret, gsym_error *error);
/* Intern a path as a directory and a base name; joining them restores the path. *file_ret
 * is the index of the file. */
gsym_status gsym_creator_add_path(gsym_creator *creator, const char *bytes, size_t size,
                                  uint32_t *file_ret, gsym_error *error);
/* Intern a file by the string offsets of its directory and base name. */
gsym_status gsym_creator_add_file(gsym_creator *creator, uint64_t directory,
                                  uint64_t basename, uint32_t *file_ret,
                                  gsym_error *error);
/* Leave out the strings that are in bytes[0 .. size), the string table of a binary, which
 * begins `distance` bytes after the end of the GSYM file. This must be the first call;
 * afterwards, only strings of `all`, a creator with the same content, can be interned.
 * `bytes` must outlive the creator. */
gsym_status gsym_creator_share_strings(gsym_creator *creator, const gsym_creator *all,
                                       const uint8_t *bytes, size_t size,
                                       uint64_t distance, gsym_error *error);
/* The strings and files that a creator has. */
typedef struct gsym_creator_mark {
    uint64_t strings;
    uint64_t files;
} gsym_creator_mark;

void gsym_creator_get_mark(const gsym_creator *creator, gsym_creator_mark *mark);
/* Forget the strings and files that were interned after a mark, for a function that was
 * refused. No function may use them. */
gsym_status gsym_creator_forget(gsym_creator *creator, const gsym_creator_mark *mark,
                                gsym_error *error);
/* Encode and keep a function; its strings and files must be interned. */
gsym_status gsym_creator_add_function(gsym_creator *creator, const gsym_function *function,
                                      gsym_origin origin, gsym_error *error);

/* A selection of functions of a file. If by_name is not 0, they must have one of the names;
 * if by_address is not 0, they must overlap one of the ranges. */
typedef struct gsym_selection {
    uint32_t by_name;
    uint32_t by_address;
    const uint64_t *names; /* strp in the file, ascending */
    size_t name_count;
    const gsym_range *ranges;
    size_t range_count;
} gsym_selection;

/* Copy all or the selected functions of another file with their strings and files. If a
 * function with others merged into it is not selected, the first selected one of these
 * takes its place. */
gsym_status gsym_creator_add_entries(gsym_creator *creator, const gsym_image *image,
                                     const gsym_selection *selection, gsym_error *error);
/* Intern all strings and files of another file, in order. */
gsym_status gsym_creator_add_tables(gsym_creator *creator, const gsym_image *image,
                                    gsym_error *error);
/* Copy entries from `first` on until their records in the file have `size` bytes or more,
 * and then those that start at the same address as the last one. *end_ret is the next
 * entry. */
gsym_status gsym_creator_add_segment(gsym_creator *creator, const gsym_image *image,
                                     uint32_t first, uint64_t size, uint32_t *end_ret,
                                     gsym_error *error);
/* Copy a version-2 section of an unknown type into a version-2 output. */
gsym_status gsym_creator_add_section(gsym_creator *creator, uint32_t type,
                                     const uint8_t *data, size_t size, gsym_error *error);
/* Copy all sections of unknown types, except types that the output already has. Do nothing
 * if either file is of version 1. */
gsym_status gsym_creator_add_sections(gsym_creator *creator, const gsym_image *image,
                                      gsym_error *error);
/* Merge functions of equal range into the first of them. Call before symbols of the symbol
 * table are added. */
gsym_status gsym_creator_merge_functions(gsym_creator *creator, gsym_error *error);

/* Add the call sites of functions[0 .. count), of which only name and call sites are used,
 * to the first function of each name, or to the function that replaces it if it is pruned.
 * Call this when all functions are added. If no function has the name of functions[i],
 * nothing is added, and *missing_ret is the lowest such i; else it is `count`. */
gsym_status gsym_creator_add_call_sites(gsym_creator *creator,
                                        const gsym_function *functions, size_t count,
                                        size_t *missing_ret, gsym_error *error);

typedef struct gsym_creator_report {
    uint64_t functions_debug_info;   /* added, before pruning */
    uint64_t functions_symbol_table; /* added, before pruning */
    uint64_t functions_merged;       /* merged into another one, or dropped as repeats */
    uint64_t functions_pruned; /* left out by pruning, and not merged */
    uint64_t functions_continued;    /* entries for the remainder of an outer function */
    uint64_t functions;              /* in the file */
    uint64_t functions_with_lines;
    uint64_t functions_with_inlines;
    uint64_t line_rows_unused; /* at addresses that no function covers */
    uint64_t duplicates_different; /* pairs of functions with equal ranges and different
                                    * debug information */
    uint64_t overlapping;          /* functions that overlap the one before */
    uint64_t strings;
    uint64_t files;
    uint64_t file_size;  /* in bytes */
    uint64_t index_size; /* bytes of the index in the file */
} gsym_creator_report;

/* Let the file answer only for `addresses`, which ascend: functions and details that none
 * of them needs are left out. */
gsym_status gsym_creator_ask(gsym_creator *creator, const uint64_t *addresses, size_t count,
                             gsym_error *error);

/* Return how many functions of symbol tables were added. */
uint64_t gsym_creator_symbol_count(const gsym_creator *creator);

/* Sort the functions, prune duplicates and lay out the file. Nothing can be added
 * afterwards. */
gsym_status gsym_creator_finish(gsym_creator *creator, gsym_creator_report *report_ret,
                                gsym_error *error);
/* Return how many functions may lack lines, or the linkage name of a symbol, because a
 * limit against hostile input was reached. */
uint64_t gsym_creator_cut_functions(const gsym_creator *creator);
/* Read the next bytes of the finished file; *size_ret 0: its end. */
gsym_status gsym_creator_read(gsym_creator *creator, uint8_t *bytes, size_t capacity,
                              size_t *size_ret, gsym_error *error);
/* Free what a creator holds once its file was read: another thread may do it while the disk
 * is waited for. Nothing but gsym_creator_destroy() follows. */
void gsym_creator_release(gsym_creator *creator);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
