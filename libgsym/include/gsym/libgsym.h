/* libgsym.h - read, write and make GSYM files.
 *
 * A GSYM file has the functions of one binary, with their source lines and inlined calls,
 * laid out so that a lookup reads a few pages of the mapped file. libgsym opens these
 * files, looks addresses up in them, writes them, and converts debug information to them.
 *
 *     gsym_error error;
 *     gsym_file *file;
 *     gsym_location frames[32];
 *     size_t count;
 *     if (gsym_file_open("app.gsym", &file, &error) != GSYM_OK) ...
 *     if (gsym_file_lookup(file, 0x1139, frames, 32, &count, NULL, &error) != GSYM_OK) ...
 *     gsym_file_close(file);
 *
 * Compile and link with `pkg-config --cflags --libs libgsym`. libgsym(3) is the manual.
 *
 * For every function:
 *   - It returns a gsym_status if it can fail. Unless that is GSYM_OK, *error is filled and
 *     the other results are not valid. `error` is never NULL.
 *   - Results are the last parameters but for `error`, and have names that end in _ret.
 *   - Addresses are link-time virtual addresses in bytes: those that `nm` and `objdump`
 *     print. For a runtime address, subtract the address where the module was loaded, and
 *     add gsym_file_base_address(). For a return address, look up the address minus 1,
 *     which is a byte of the call instruction.
 *   - Strings are bytes as the compiler wrote them, mostly UTF-8, and end in NUL. A string
 *     that is unknown is "", never NULL. Names of functions are linkage names:
 *     __cxa_demangle() of the C++ runtime makes them readable.
 *   - Strings that a gsym_file gives stay valid until it is closed, and cost no memory.
 *   - Objects may be used by other threads than the one that created them: a gsym_file by
 *     any number at the same time, other objects by one at a time.
 *   - Damaged files, also malicious ones, are errors. But a file that is truncated while
 *     it is mapped ends a process with SIGBUS: replace files by renaming, as libgsym does.
 *
 * Valid C99 and C++11. For C++, <gsym/libgsym.hpp> has classes. */
#ifndef GSYM_LIBGSYM_H
#define GSYM_LIBGSYM_H

#include <gsym/status.h>

#define LIBGSYM_VERSION "0.1.0"

#if defined(__GNUC__)
#define GSYM_API __attribute__((visibility("default")))
#else
#define GSYM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return the version of the library that runs; LIBGSYM_VERSION is the version that the
 * caller was compiled with. */
GSYM_API const char *gsym_version(void);

/* ---- open --------------------------------------------------------------------------- */

/* An open GSYM file. */
typedef struct gsym_file gsym_file;

/* Map the file at `path`: a GSYM file of version 1 or 2 and of either byte order, or an ELF
 * or Mach-O file that contains one. Takes constant time; records are checked when they are
 * read. Errors: GSYM_E_SYSTEM, GSYM_E_FORMAT, GSYM_E_UNSUPPORTED, GSYM_E_NO_MEMORY. */
GSYM_API gsym_status gsym_file_open(const char *path, gsym_file **file_ret,
                                    gsym_error *error);
/* Open a file of `size` bytes in memory, which the caller keeps unchanged until the file is
 * closed. */
GSYM_API gsym_status gsym_file_open_memory(const void *bytes, size_t size,
                                           gsym_file **file_ret, gsym_error *error);
/* Close a file and free its strings. Does nothing if `file` is NULL. */
GSYM_API void gsym_file_close(gsym_file *file);

/* Return the link-time address of the first byte of the binary: p_vaddr of the first
 * PT_LOAD, the address of __TEXT, or ImageBase. */
GSYM_API uint64_t gsym_file_base_address(const gsym_file *file);
/* Return the build id, LC_UUID or GUID of the binary; *size_ret 0: it is unknown. Compare
 * it with that of the module whose addresses you look up. */
GSYM_API const uint8_t *gsym_file_uuid(const gsym_file *file, size_t *size_ret);
/* Return the number of entries, which ascend by address. Functions that the linker folded
 * into one share an entry. */
GSYM_API uint32_t gsym_file_entry_count(const gsym_file *file);

/* ---- address to source --------------------------------------------------------------- */

/* Name and address range of a function, and its entry. */
typedef struct gsym_symbol {
    const char *name;
    uint64_t address;
    uint64_t size;  /* in bytes; 0: unknown, it ends at the next function */
    uint32_t entry; /* less than gsym_file_entry_count() */
    uint32_t reserved;
} gsym_symbol;

/* A frame: a function or an inlined call, and the source line of the address in it. */
typedef struct gsym_location {
    const char *function;
    const char *directory; /* of the source; may be relative */
    const char *filename;
    uint64_t offset; /* address - start of the function or inlined code */
    uint32_t line;   /* from 1; 0: unknown */
    uint32_t inlined; /* 1: the next frame is its caller; 0: the function, the last frame */
} gsym_location;

/* Find the frames at `address`, innermost first. *count_ret is their number; 0 if no
 * function covers the address, which is not an error. At most `capacity` are written.
 * *symbol_ret, unless `symbol_ret` is NULL, is the function; its name is "" if there is
 * none. Allocates memory only for more than 256 frames, and once for a large function of a
 * file without an index. Errors: GSYM_E_FORMAT with the offset in the file,
 * GSYM_E_NO_MEMORY. */
GSYM_API gsym_status gsym_file_lookup(const gsym_file *file, uint64_t address,
                                      gsym_location *locations, size_t capacity,
                                      size_t *count_ret, gsym_symbol *symbol_ret,
                                      gsym_error *error);

/* The frames of many addresses. */
typedef struct gsym_answers gsym_answers;

/* Look up `count` addresses, at most 2^32 - 1, in any order. This is faster than one lookup
 * after the other, because each function is decoded once. An address at a damaged record
 * has no frames, and is counted; gsym_file_lookup() returns its error. The strings of the
 * answers are those of the file. */
GSYM_API gsym_status gsym_file_lookup_many(const gsym_file *file,
                                           const uint64_t *addresses, size_t count,
                                           gsym_answers **answers_ret,
                                           gsym_error *error);
/* Return the frames of addresses[index], innermost first. *count_ret is 0 if there are
 * none. They are valid until the answers are destroyed. */
GSYM_API const gsym_location *gsym_answers_at(const gsym_answers *answers, size_t index,
                                              size_t *count_ret);
/* Return the number of addresses at damaged records. */
GSYM_API uint64_t gsym_answers_damaged(const gsym_answers *answers);
GSYM_API void gsym_answers_destroy(gsym_answers *answers);

/* ---- functions ----------------------------------------------------------------------- */

/* List the functions of entry `entry`: first its own, then those folded into it. At most
 * `capacity` are written; *count_ret is the number that exist. Errors: GSYM_E_ARGUMENT,
 * there is no such entry; GSYM_E_FORMAT. */
GSYM_API gsym_status gsym_file_symbols(const gsym_file *file, uint32_t entry,
                                       gsym_symbol *symbols, size_t capacity,
                                       size_t *count_ret, gsym_error *error);
/* Find the functions whose linkage name is `name`, by ascending address. At most `capacity`
 * are written; *count_ret is the number that exist. This reads the names of the whole file:
 * to find many names, make a table with gsym_file_symbols(). */
GSYM_API gsym_status gsym_file_find(const gsym_file *file, const char *name,
                                    gsym_symbol *symbols, size_t capacity,
                                    size_t *count_ret, gsym_error *error);

typedef struct gsym_address_range {
    uint64_t start;
    uint64_t end; /* exclusive */
} gsym_address_range;

/* A row of a line table. It applies up to the next row or the end of the function. */
typedef struct gsym_line {
    uint64_t address;
    const char *directory;
    const char *filename;
    uint32_t line;
    uint32_t reserved;
} gsym_line;

/* A node of the tree of inlined calls, which is stored in pre-order: a node's children
 * follow it and are one deeper. The first node is the function itself, of depth 0. */
typedef struct gsym_inlined_call {
    const char *function;       /* the one that was inlined */
    const char *call_directory; /* of the call's source line; "" for the first node */
    const char *call_filename;
    uint32_t call_line;
    uint32_t depth;
    const gsym_address_range *ranges; /* inside those of the caller */
    size_t range_count;
} gsym_inlined_call;

/* A call site: a call in a function. */
typedef struct gsym_call {
    uint64_t return_offset; /* return address - start of the function */
    uint32_t flags;         /* 1: calls the same module, 2: calls others */
    uint32_t pattern_count;
    const char *const *patterns; /* regular expressions for the names of functions that
                                    may be called */
} gsym_call;

/* Everything that a GSYM file has about a function, for reading and writing. */
typedef struct gsym_function_info {
    const char *name;
    uint64_t address;
    uint64_t size;
    const gsym_line *lines; /* ascending */
    size_t line_count;      /* 0: no line table */
    const gsym_inlined_call *inlined_calls;
    size_t inlined_call_count; /* 0: inlined calls are unknown */
    const gsym_call *calls;
    size_t call_count;
    const struct gsym_function_info *merged; /* the functions folded into this one; these
                                                have none */
    size_t merged_count;
} gsym_function_info;

/* Memory for a decoded function, which is used again for the next one. */
typedef struct gsym_decoder gsym_decoder;

GSYM_API gsym_status gsym_decoder_create(gsym_decoder **decoder_ret, gsym_error *error);
GSYM_API void gsym_decoder_destroy(gsym_decoder *decoder);
/* Decode entry `entry` of a file. The result stays valid until the decoder is used again;
 * its strings are those of the file. InfoTypes that are unknown here are left out. Errors:
 * GSYM_E_ARGUMENT, there is no such entry; GSYM_E_FORMAT, GSYM_E_NO_MEMORY. */
GSYM_API gsym_status gsym_decoder_read(gsym_decoder *decoder, const gsym_file *file,
                                       uint32_t entry, const gsym_function_info **info_ret,
                                       gsym_error *error);

/* ---- write --------------------------------------------------------------------------- */

/* The state of making a GSYM file in memory. */
typedef struct gsym_writer gsym_writer;

enum {
    GSYM_WRITE_BIG_ENDIAN = 1,  /* default: little-endian */
    GSYM_WRITE_NO_INDEX = 2,    /* write no index of large functions; LLVM ignores it */
    GSYM_WRITE_BASE_ADDRESS = 4 /* use base_address; default: that of the first function */
};

/* Zeros are the defaults. The bytes of the UUID are copied. */
typedef struct gsym_writer_options {
    uint32_t flags;        /* GSYM_WRITE_... */
    uint32_t version;      /* of the format, 1 or 2; 0: 1 */
    uint64_t base_address; /* address of the binary; no function may be below it */
    const uint8_t *uuid;
    size_t uuid_size; /* in bytes; version 1 has room for 20 */
    uint64_t reserved[4];
} gsym_writer_options;

/* Create a writer; `options` may be NULL. Errors: GSYM_E_ARGUMENT, GSYM_E_LIMIT,
 * GSYM_E_NO_MEMORY. */
GSYM_API gsym_status gsym_writer_create(const gsym_writer_options *options,
                                        gsym_writer **writer_ret, gsym_error *error);
GSYM_API void gsym_writer_destroy(gsym_writer *writer);
/* Add a function. Functions may come in any order, and everything is copied. Strings may be
 * NULL for "". If `directory` is "", `filename` is a path, and is split. Of functions with
 * the same range the most detailed one is written. Errors: GSYM_E_ARGUMENT, for example if
 * lines do not ascend or an inlined call is outside of its caller; GSYM_E_LIMIT,
 * GSYM_E_NO_MEMORY. */
GSYM_API gsym_status gsym_writer_add(gsym_writer *writer, const gsym_function_info *info,
                                     gsym_error *error);
/* Add all functions of a file, unchanged. */
GSYM_API gsym_status gsym_writer_add_file(gsym_writer *writer, const gsym_file *file,
                                          gsym_error *error);
/* Sort the functions and write the file to `path`, completely or not at all. Afterwards,
 * even if this fails, the writer can only be destroyed. Errors: GSYM_E_EMPTY, nothing was
 * added; GSYM_E_LIMIT, it does not fit version 1; GSYM_E_SYSTEM, GSYM_E_NO_MEMORY. */
GSYM_API gsym_status gsym_writer_save(gsym_writer *writer, const char *path,
                                      gsym_error *error);
/* Make the file as gsym_writer_save() does, but in memory: *bytes_ret is valid until the
 * writer is destroyed. */
GSYM_API gsym_status gsym_writer_bytes(gsym_writer *writer, const uint8_t **bytes_ret,
                                       size_t *size_ret, gsym_error *error);

/* ---- convert ------------------------------------------------------------------------- */

enum {
    GSYM_WITH_CALL_SITES = 1,       /* keep DW_TAG_call_site */
    GSYM_WITH_MERGED_FUNCTIONS = 2, /* keep all functions of an address, not only one */
    GSYM_WITHOUT_SYMBOLS = 4,       /* leave out functions that only symbol tables have */
    GSYM_WITHOUT_INDEX = 8          /* write no index, as with GSYM_WRITE_NO_INDEX */
};

/* Zeros are the defaults. All pointers must be valid until gsym_convert() returns. */
typedef struct gsym_convert_options {
    uint32_t flags;        /* GSYM_WITH_... */
    uint32_t version;      /* of the format, 1 or 2; 0: 1 */
    uint32_t thread_count; /* 0: one for each processor, fewer for small inputs */
    uint32_t split_file_count;
    const char *debug_file; /* the file with the DWARF of an input that was stripped */
    const char *supplementary_file; /* file that dwz made, which .gnu_debugaltlink or
                                       .debug_sup names */
    const char *const *split_files; /* .dwo or .dwp files of the input */
    const char *const *path_map; /* pairs of an old and a new prefix of source paths */
    size_t path_map_count;       /* number of these strings, which is even */
    uint64_t reserved[4];
} gsym_convert_options;

typedef struct gsym_convert_report {
    uint64_t functions; /* in the file */
    uint64_t functions_debug_info;
    uint64_t functions_symbol_table;
    uint64_t file_size;           /* in bytes */
    uint64_t warnings;            /* faults of the input; what they affect is left out */
    uint64_t missing_split_units; /* units whose .dwo or .dwp file was not given */
    uint64_t reserved[4];
} gsym_convert_report;

/* Convert `input` to a GSYM file at `output`, which is written completely or not at all.
 * The bytes do not depend on the number of threads. Inputs are:
 *   - ELF, Mach-O and PE files: DWARF 2 to 5, then the table of functions of Go, then
 *     symbols. Sections may be compressed, if the machine has libz.so.1 or libzstd.so.1;
 *   - Breakpad's text symbol files.
 * It reads `input` and the files in `options`, and does not look for others:
 * .gnu_debuglink, build ids, debuginfod, .gnu_debugdata, dSYM bundles, object files of a
 * Mach-O debug map and split units are the work of the caller, or of the program `gsym
 * convert`. Nor does it read archives, universal binaries or PDB. `options` and
 * `report_ret` may be NULL. Errors: GSYM_E_SYSTEM, GSYM_E_FORMAT, GSYM_E_UNSUPPORTED,
 * GSYM_E_LIMIT, GSYM_E_NO_MEMORY; GSYM_E_EMPTY, the input has no functions;
 * GSYM_E_ARGUMENT, `output` is one of the files that are read, or a debug file is of
 * another build. */
GSYM_API gsym_status gsym_convert(const char *input, const char *output,
                                  const gsym_convert_options *options,
                                  gsym_convert_report *report_ret, gsym_error *error);

#ifdef __cplusplus
}
#endif

#endif
