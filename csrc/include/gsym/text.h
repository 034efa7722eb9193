/* text.h - write answers, dumps and exports as text; demangle names. */
#ifndef GSYM_TEXT_H
#define GSYM_TEXT_H

#include <gsym/convert.h>
#include <gsym/lookup.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- names ---------------------------------------------------------------------- */

/* Maximum size of a C++ name to demangle: the C++ runtime may overflow the stack on longer
 * ones. */
#define GSYM_MAX_CXX_NAME_SIZE 1024
/* The usual limits of a gsym_cxx_demangler, in bytes.
 * Limit: Estimated bytes of text of a C++ name */
#define GSYM_MAX_CXX_WORK 16777216
/* Limit: Demangled name */
#define GSYM_MAX_CXX_TEXT_SIZE 1048576

/* Estimate how many bytes a mangled C++ name has when it is demangled. */
uint64_t gsym_cxx_name_work(const char *name, size_t size);

/* Copy a demangled C++ name without its template arguments to `out`, which has room for
 * `size` bytes; copy it unchanged if its brackets do not match. Return the size. */
size_t gsym_name_without_template_arguments(const char *name, size_t size, char *out);

/* The C++ runtime's demangler, and limits for its use. */
typedef struct gsym_cxx_demangler {
    /* As abi::__cxa_demangle; `text`, `size` and `status` are passed as NULL. */
    char *(*demangle)(const char *name, char *text, size_t *size, int *status);
    void (*release)(char *text); /* frees what `demangle` returned */
    uint64_t max_work; /* names for which gsym_cxx_name_work() is greater are not
                           demangled */
    uint64_t max_text_size; /* in bytes; a name with a longer text stays as it is */
} gsym_cxx_demangler;

/* The texts of many names. Names of C++ are demangled. Names that are not mangled, are
 * longer than GSYM_MAX_CXX_NAME_SIZE or cannot be demangled stay unchanged. Names of Rust,
 * Swift and D, and names with a dot, with a version or with more work than the limit, are
 * left to the caller. */
typedef struct gsym_cxx_texts gsym_cxx_texts;
gsym_status gsym_cxx_texts_create(const gsym_image *image, const uint64_t *strps,
                                  size_t count, const gsym_cxx_demangler *demangler,
                                  uint32_t without_arguments, gsym_cxx_texts **texts_ret,
                                  gsym_error *error);
void gsym_cxx_texts_destroy(gsym_cxx_texts *texts);
/* Return all texts, each with a NUL. Those that are left to the caller are empty;
 * `left_ret` lists their indexes. */
void gsym_cxx_texts_view(const gsym_cxx_texts *texts, const char **bytes_ret,
                         size_t *size_ret, const uint32_t **left_ret,
                         size_t *left_count_ret);

/* ---- text, as llvm-gsymutil prints it -------------------------------------- */

/* A text that grows; gsym_text_bytes reads it, gsym_text_clear empties it. */
typedef struct gsym_text gsym_text;
gsym_status gsym_text_create(gsym_text **text_ret, gsym_error *error);
void gsym_text_destroy(gsym_text *text);
void gsym_text_clear(gsym_text *text);
const char *gsym_text_bytes(const gsym_text *text, size_t *size_ret);
/* Append bytes unchanged. */
gsym_status gsym_text_put(gsym_text *text, const char *bytes, size_t size,
                          gsym_error *error);
/* From this call on, write ASCII control characters in names and paths as \xNN, except in
 * texts of a gsym_name_texts, which are written unchanged. */
void gsym_text_escape(gsym_text *text);
/* Reserve memory for `size` more bytes. */
gsym_status gsym_text_reserve(gsym_text *text, size_t size, gsym_error *error);

/* Append the dump of entry `index`; nothing if its record is damaged or has an InfoType
 * that LLVM does not know. */
gsym_status gsym_text_dump_entry(gsym_text *text, const gsym_image *image,
                                 gsym_record *record, uint32_t index, gsym_error *error);

/* The text to print for each name, by string offset. A name without a text is left out of
 * the output, and its position is noted as a gap for gsym_text_fill. */
#define GSYM_PLAIN_STRING 0x8000000000000000 /* set in the offset of a string that is not a
                                              * name */
typedef struct gsym_name_texts gsym_name_texts;
gsym_status gsym_name_texts_create(gsym_name_texts **texts_ret, gsym_error *error);
void gsym_name_texts_destroy(gsym_name_texts *texts);
/* Return the names without a text, each once. */
const uint64_t *gsym_name_texts_missing(const gsym_name_texts *texts, size_t *count_ret);
/* Add the texts of these names, in order, each with a NUL. */
gsym_status gsym_name_texts_add(gsym_name_texts *texts, const char *bytes, size_t size,
                                gsym_error *error);
/* Return the memory that the table uses, in bytes. */
size_t gsym_name_texts_size(const gsym_name_texts *texts);
/* Fill each gap with its text. */
gsym_status gsym_text_fill(gsym_text *text, const gsym_name_texts *texts,
                           gsym_error *error);

/* How far a dump has come; zeroed at the start. */
typedef struct gsym_dump_position {
    uint32_t part; /* of the dump; GSYM_DUMP_DONE at the end */
    uint32_t reserved;
    uint64_t next; /* entry, file or string offset that comes next in the part */
} gsym_dump_position;

#define GSYM_DUMP_DONE 6

/* Append the next bytes of the dump of a file, slightly more than `size`. A damaged record
 * gets a line with its error. */
gsym_status gsym_text_dump(gsym_text *text, const gsym_image *image, gsym_record *record,
                           gsym_dump_position *place, size_t size, gsym_error *error);

/* ---- what a conversion says -------------------------------------------------------- */

/* Numbers of a conversion. */
typedef struct gsym_conversion_numbers {
    uint64_t functions; /* in the file; the next three are of these */
    uint64_t functions_continued;
    uint64_t functions_with_lines;
    uint64_t functions_with_inlines;
    uint64_t file_size;  /* in bytes */
    uint64_t index_size; /* in bytes */
    uint64_t version;
    uint64_t functions_debug_info;
    uint64_t functions_pclntab;
    uint64_t functions_symbol_table;
    uint64_t functions_pruned;
    uint64_t functions_merged;
    uint64_t functions_dropped;
    uint64_t line_rows_unused;
    uint64_t centiseconds; /* of time */
} gsym_conversion_numbers;

/* Write the two lines of a report that have the numbers to a buffer of
 * GSYM_NUMBERS_MAX_SIZE bytes; returns their size. It allocates nothing, for it is called
 * when the output is there. */
#define GSYM_NUMBERS_MAX_SIZE 1024
size_t gsym_numbers_text(const gsym_conversion_numbers *numbers, char *lines);
/* Return what a gsym_warning_category says of the input. */
const char *gsym_warning_text(uint32_t category);
/* Append what an ELF file with a build id says of its module, each field as NAME=VALUE and
 * a NUL. `architecture` is its name in debug ids. */
gsym_status gsym_text_elf_module(gsym_text *text, const gsym_object *object,
                                 const char *name, size_t name_size,
                                 const char *architecture, gsym_error *error);
/* Append the part of a GSYM file that names its module: these fields, and zeros so that the
 * file has a multiple of `multiple` bytes if the part is at offset `start`. */
gsym_status gsym_text_module_part(gsym_text *text, const char *fields, size_t size,
                                  uint64_t start, uint64_t multiple, gsym_error *error);

/* ---- answers in an output style -------------------------------------------------- */

/* The format of an answer: a template in the language that csrc/text/style.c describes. For
 * a wrong template gsym_style_create fails with GSYM_E_ARGUMENT and the offset in it. */
typedef struct gsym_style gsym_style;
gsym_status gsym_style_create(const char *template_text, size_t size,
                              gsym_style **style_ret, gsym_error *error);
void gsym_style_destroy(gsym_style *style);

/* The styles of commands, without those of JSON. */
typedef enum gsym_command_style {
    GSYM_STYLE_LOOKUP,    /* of gsym lookup */
    GSYM_STYLE_ONELINE,   /* of gsym lookup --oneline */
    GSYM_STYLE_REASON,    /* of gsym lookup: the reason why there is no answer */
    GSYM_STYLE_GSYMUTIL,  /* of llvm-gsymutil */
    GSYM_STYLE_ADDR2LINE, /* of GNU addr2line */
    GSYM_STYLE_SYMBOLIZER, /* of llvm-symbolizer */
    GSYM_STYLE_SYMBOLIZER_LOCATION, /* the place of a symbol; empty if it is unknown */
    GSYM_STYLE_SYMBOLIZER_UNKNOWN   /* a frame of which nothing is known */
} gsym_command_style;

/* What an answer has; for the styles of the commands that have such an option. */
typedef enum gsym_style_flags {
    GSYM_STYLE_MERGED = 1,      /* the merged functions, too */
    GSYM_STYLE_ADDRESSES = 2,   /* the address first */
    GSYM_STYLE_NARROW = 4,      /* of 32 bits */
    GSYM_STYLE_FUNCTIONS = 8,   /* names of functions */
    GSYM_STYLE_INLINES = 16,    /* all frames, not only one */
    GSYM_STYLE_OUTER_NAME = 32, /* this one has the name of the outermost function */
    GSYM_STYLE_PRETTY = 64,     /* a frame on one line */
    GSYM_STYLE_BASENAMES = 128, /* files without directories */
    GSYM_STYLE_VERBOSE = 256,   /* a line for each part of a frame */
    GSYM_STYLE_GNU = 512,       /* only what GNU addr2line prints */
    GSYM_STYLE_SOURCE = 1024    /* marks for source lines */
} gsym_style_flags;

/* No template is longer, in bytes. */
#define GSYM_STYLE_MAX_SIZE 1024

/* Write the template of a style; return its size. */
size_t gsym_style_text(uint32_t style, uint32_t flags, char *text, size_t capacity);

typedef enum gsym_format_flags {
    GSYM_FORMAT_LLVM = 1,      /* look up by LLVM's rules, and write paths as it does */
    GSYM_FORMAT_MERGED = 2,    /* show the functions merged at an address, too */
    GSYM_FORMAT_DEMANGLED = 4, /* take the names of functions from `texts` */
    /* Take strings that are not printable ASCII from `texts`, and with GSYM_FORMAT_JSON
     * also those that JSON escapes. */
    GSYM_FORMAT_PRINTABLE = 8,
    GSYM_FORMAT_JSON = 16
} gsym_format_flags;

/* The syntax of a line that has an address. */
typedef enum gsym_number_form {
    GSYM_NUMBERS_LLVM,  /* prefix, number whose base is that of its own prefix, suffix */
    GSYM_NUMBERS_PLAIN, /* decimal or with 0x, blanks around; blank lines are skipped */
    GSYM_NUMBERS_HEX    /* hexadecimal as for strtoul(), followed by anything */
} gsym_number_form;

typedef struct gsym_format_job {
    const gsym_style *style;
    const gsym_image *image; /* NULL: no address has an answer */
    gsym_name_texts *texts;  /* may be NULL if no flag needs texts */
    uint32_t flags;
    uint32_t numbers;      /* gsym_number_form */
    const char *prefix;    /* of a line with GSYM_NUMBERS_LLVM */
    size_t prefix_size;
    const char *suffix;
    size_t suffix_size;
    uint64_t line_size;    /* in bytes; a longer line counts as several */
    uint64_t address_mask; /* the bits that an address may have */
    uint64_t shift;        /* added to an address before it is looked up */
    uint64_t first; /* addresses before it and after `last` are outside of the module */
    uint64_t last;
    /* With sections, addresses count from the start of a section, and the answer is that in
     * the first section that has one. Without sections, they are link-time addresses. */
    const gsym_range *sections;
    size_t section_count;
    /* keep[0] is 1 if the function at an address is shown, keep[i] is 1 if the i-th
     * function that is merged into it is shown. Functions from number keep_count on are not
     * shown. With NULL, all are shown. */
    const uint8_t *keep;
    size_t keep_count;
    uint64_t missed;  /* incremented for each address without an answer */
    uint64_t damaged; /* incremented for those of them whose record is damaged */
} gsym_format_job;

/* Return how many addresses gsym_text_answer would look up for these lines, and store at
 * most `capacity` of them. */
size_t gsym_text_addresses(const gsym_format_job *job, const char *lines, size_t size,
                           uint64_t *addresses, size_t capacity);

/* Append the answers to lines of the form `numbers`, up to the first line of another form.
 * Many lines are looked up together, and answered until the text has `limit` bytes or many
 * names wait for their texts. *used_ret is the number of bytes of the lines that were
 * answered; if it is 0 and lines are left, the next line has another form or no end. If
 * `lines` is NULL, the answers to the last lines continue; the bytes of these lines need
 * not exist any more, but the job must be unchanged. The only error is lack of memory. */
gsym_status gsym_text_answer(gsym_text *text, gsym_format_job *job, const char *lines,
                             size_t size, size_t limit, size_t *used_ret,
                             gsym_error *error);

/* ---- text, as filters of symbolizer markup print it ----------------------------- */

typedef enum gsym_markup_flags {
    GSYM_MARKUP_INLINES = 1,
    GSYM_MARKUP_BASENAMES = 2,
    GSYM_MARKUP_ADJUSTED = 4, /* print the address that is looked up, not the logged one */
    GSYM_MARKUP_COLUMNS = 8,  /* print columns, which are always 0, and <invalid> for
                               * unknown values */
    GSYM_MARKUP_INDENTS = 16, /* repeat the indent of a frame on all its lines */
    GSYM_MARKUP_STOPS_AT_ESCAPE = 32,
    GSYM_MARKUP_COLOURED = 64,
    /* Use the format of Fuchsia, and repeat the text around an element on each line of its
     * frames; frames may have messages. */
    GSYM_MARKUP_FUCHSIA_FRAMES = 128,
    GSYM_MARKUP_PLAIN_PC_RETURNS = 256, /* a `pc` without a kind is a return address */
    GSYM_MARKUP_OUTERMOST_PC = 512,     /* a `pc` is named after the outermost function */
    GSYM_MARKUP_NO_FUNCTIONS = 1024,    /* print no names of functions */
    GSYM_MARKUP_JSON = 2048,            /* write only an object for each element */
    GSYM_MARKUP_HTML = 4096, /* escape all text, add details to elements */
    GSYM_MARKUP_PLAIN_EXACT = 8192, /* an address without a kind is no return address */
    /* An address without a kind is no return address if no call in the code can return to
     * it; see gsym_markup_module.code. */
    GSYM_MARKUP_READS_CODE = 16384
} gsym_markup_flags;

/* A longer text around a frame is not repeated. */
#define GSYM_MARKUP_MAX_REPEATED 4096

/* A module of a log. Its texts have the escapes of the output, which may be JSON or
 * HTML. */
typedef struct gsym_markup_module {
    const gsym_image *image; /* NULL: unknown */
    const char *name;
    size_t name_size;
    const char *build_id; /* for JSON and HTML: hexadecimal, ends in NUL */
    const char *reason;   /* for JSON and HTML: why an address has no symbol; ends in NUL */
    uint64_t unknown; /* incremented for each address without a frame */
    uint64_t damaged; /* incremented, not `unknown`, for one at a damaged record */
    uint64_t damaged_at; /* the last of these, as a link-time address */
    uint64_t is_map;  /* 1: the image is a mapped file that does not change */
    /* The code of the module, for GSYM_MARKUP_READS_CODE. NULL: it is not known yet, and
     * elements that need it are left to the caller. */
    const gsym_machine_code *code;
} gsym_markup_module;

/* The module of a segment whose addresses are not looked up. */
#define GSYM_MARKUP_NO_MODULE 0xffffffff

typedef struct gsym_markup_segment {
    uint64_t start;   /* runtime address */
    uint64_t size;    /* in bytes */
    uint64_t address; /* link-time address */
    uint32_t module;  /* its index, or GSYM_MARKUP_NO_MODULE */
    char mode[4];     /* ends in NUL */
} gsym_markup_segment;

typedef struct gsym_markup_job {
    uint32_t flags;
    gsym_markup_module *modules; /* fewer than 32768 */
    size_t module_count;
    const gsym_markup_segment *segments; /* sorted, without overlap */
    size_t segment_count;
    size_t line_limit;    /* greatest number of bytes of a line with an element */
    size_t prefix_size;   /* bytes of a line that are repeated before each of its frames */
    const char *process;  /* a member of each object of JSON, with its comma; ends in NUL */
    uint64_t line_number; /* of the next line, for JSON; incremented */
    size_t wanted;     /* index plus 1 of a segment whose module must be known to
                          continue, or 0 */
    const char *lines; /* internal */
    size_t at, line_begin;
} gsym_markup_job;

/* In `texts`, the lower bits of a name's number are its string offset, and the bits from
 * this one on are the index of its module. */
#define GSYM_MARKUP_MODULE_SHIFT 48

/* Answer lines of a log that have no markup, one `bt` element or `pc` elements. This stops
 * at a line of another form, at an address in no segment, at a line without an end, and
 * when the text has `limit` bytes or many gaps. The lines must stay in memory while later
 * calls continue. Without `texts`, names are printed unchanged; JSON and HTML need texts
 * with their escapes. The only error is lack of memory. */
gsym_status gsym_text_markup(gsym_text *text, gsym_name_texts *texts, gsym_markup_job *job,
                             const char *lines, size_t size, size_t limit,
                             size_t *used_ret, gsym_error *error);

/* Return the offset of the first "+0x" or "+ 0x", as stacks in logs have, or `size` without
 * one. */
size_t gsym_text_find_offset(const char *text, size_t size);

/* Return the offset after the first "Sanitizer: ", "libFuzzer: " or "runtime error: ", as
 * headings of reports have, or `size` without one. */
size_t gsym_text_find_heading(const char *text, size_t size);

/* Return the offset, from `at` on, of what may be an address or begin a frame of any form,
 * or `size` without one: `0x1189`, `+4735`, `00007ff6`1a2b1110`, `#3`, digits beside a
 * path, a range. Other hexadecimal digits are found if their value is in one of `count`
 * ranges, which are ascending. Those that end as the address of a page does are found
 * unless they are rare among numbers of their length: `gaps`, GSYM_PAGE_DIGITS + 1 counts
 * that begin with 0, tells so from one call to the next. NULL: all are found. */
#define GSYM_PAGE_DIGITS 12
size_t gsym_text_find_address(const char *text, size_t size, size_t at,
                              const gsym_range *ranges, size_t count, uint32_t *gaps);

/* ---- lines of reports ---------------------------------------------------------- */

/* Write `size` bytes that are equal for lines which only differ in the values of numbers,
 * and in names of functions of one size, whose bytes are 0xff.
 * A byte that UTF-8 does not use replaces each digit of a number. Which one depends on
 * whether the number is decimal, on its case, and whether it begins with a letter, not 0x.
 * Numbers with digits of both cases are kept, as are those in a word that repeats. */
void gsym_text_mask_numbers(const char *bytes, size_t size, uint8_t *masked_ret);

/* Numbers keys, which are bytes, in the order of their first occurrence. */
typedef struct gsym_line_keys gsym_line_keys;
gsym_status gsym_line_keys_create(gsym_line_keys **keys_ret, gsym_error *error);
void gsym_line_keys_destroy(gsym_line_keys *keys);

/* Number the shapes of lines, by their texts with masked numbers, without the newline. Each
 * line begins where the one before it ends. A line of more than `longest` bytes has the
 * number UINT32_MAX. */
gsym_status gsym_line_shapes(gsym_line_keys *keys, const char *text, size_t size,
                             const uint64_t *ends, size_t count, size_t longest,
                             uint32_t *shapes_ret, gsym_error *error);

/* Digits in each of some lines, from its begin; other characters among them are skipped. */
typedef struct gsym_line_digits {
    uint32_t begin;
    uint32_t end;
    uint32_t radix;
} gsym_line_digits;

/* Two numbers of a line whose sum is an address; one number, if they are the same. It is
 * in the region that has the byte `back` bytes before it. */
typedef struct gsym_line_sum {
    uint32_t first;
    uint32_t second;
    uint32_t back;
} gsym_line_sum;

typedef struct gsym_line_region {
    uint64_t start;
    uint64_t last;
    uint64_t address; /* of what is at `start`, in its module */
} gsym_line_region;

/* Lines of one shape, and what is to be read of them. The arrays of the caller have one
 * item for each line, `values` one column for each number and then one for each sum. */
typedef struct gsym_alike_lines {
    const char *text;
    uint64_t size;
    const uint64_t *begins;
    uint64_t count;
    const gsym_line_digits *digits;
    uint64_t digit_count;
    const gsym_line_sum *sums;
    uint64_t sum_count;
    const gsym_range *words;
    uint64_t word_count;
    const gsym_line_region *regions[2]; /* each ascending; the first come first */
    uint64_t region_counts[2];
    const uint64_t *starts; /* where modules are known to start, ascending */
    uint64_t start_count;
    uint64_t context; /* lines of different contexts are of different kinds */
    uint64_t *values; /* numbers, and the places of sums in their modules */
    uint32_t *kinds;  /* equal for lines that mean the same but for their values */
    uint8_t *placing; /* 1: the line may say where another module starts */
} gsym_alike_lines;

/* Read the numbers of lines, and number the kinds of lines by all that decides what these
 * numbers mean: the context, words, regions, and which of the values are equal or 0. */
gsym_status gsym_line_kinds(gsym_line_keys *keys, const gsym_alike_lines *lines,
                            gsym_error *error);

/* Write the order of rows by their keys; equal ones keep their order. */
gsym_status gsym_order_rows(const uint32_t *keys, size_t count, uint32_t *order_ret,
                            gsym_error *error);

/* Write the items of a column of `size` items of `width` bytes that stand `after` items
 * after each of some rows. */
gsym_status gsym_take_rows(const void *column, size_t width, size_t size,
                           const uint32_t *rows, size_t count, size_t after,
                           void *taken_ret, gsym_error *error);

/* ---- text, as servers of Mozilla's symbolication API send it ------------------- */

/* Texts for the values of a column of a batch, concatenated. */
typedef struct gsym_column_texts {
    const uint32_t *codes; /* for each row the index of its text */
    const char *bytes;
    const uint64_t *ends; /* end of each text, which begins where the previous one ends */
    size_t count;         /* of texts */
} gsym_column_texts;

/* The answers to consecutive offsets of a module. */
typedef struct gsym_frame_part {
    gsym_columns columns;    /* frames of a batch of these offsets */
    gsym_column_texts names; /* "NAME", quotes and all */
    gsym_column_texts files; /* ,"file":"PATH" or nothing */
    size_t end;              /* index after the last of these offsets, among all offsets
                                of the module */
} gsym_frame_part;

/* The frames of a module in the order in which stacks use them. */
typedef struct gsym_frame_queue {
    const gsym_image *image; /* may be NULL without parts */
    const char *head;        /* text of each frame up to its offset */
    size_t head_size;
    const uint64_t *offsets;
    size_t count;
    const gsym_frame_part *parts; /* offsets after the last part have no answer */
    size_t part_count;
    const uint64_t *unknown; /* ascending indexes of unknown offsets, which are printed
                                as -0x1 */
    size_t unknown_count;
    size_t next; /* index of the next frame; the members below are its position in
                  * `parts`, in the columns of the part and in `unknown` */
    size_t next_part, next_row, next_unknown;
} gsym_frame_queue;

/* These two return a limit on the bytes of text: for all frames of a queue without what its
 * parts add, and for what a part adds. */
uint64_t gsym_frame_queue_size(const gsym_frame_queue *queue);
uint64_t gsym_frame_part_size(const gsym_frame_part *part);

/* Append stacks, each a JSON array, separated by commas. Each item of modules[] is the
 * index of a queue, whose next frame is written; -1 is the last queue. ends[i] is the end
 * of stack i in modules[]. */
gsym_status gsym_text_stacks(gsym_text *text, gsym_frame_queue *const *queues,
                             size_t queue_count, const int64_t *modules,
                             const uint64_t *ends, size_t stack_count, gsym_error *error);

/* Counts of what an export leaves out so that the functions that it writes do not
 * overlap. */
typedef struct gsym_walk_losses {
    uint64_t damaged;            /* entries with damaged records */
    uint64_t functions_cut;      /* functions that end where another one starts */
    uint64_t functions_left_out; /* functions with the same start as another one */
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
    /* What the format cannot express: */
    gsym_walk_losses losses;
    uint64_t details_left_out;       /* symbols without a size that have lines or calls */
    uint64_t inlined_calls_left_out; /* calls outside of their caller, or that overlap a
                                        sibling */
    uint64_t call_sites_left_out;
    uint64_t unknown_left_out; /* unknown InfoTypes */
    uint64_t names_changed; /* names that are empty, have several lines or are not UTF-8 */
    uint64_t visited;       /* entries; each is visited twice */
} gsym_breakpad_export_counts;

/* The state of writing FILE, INLINE_ORIGIN, FUNC, INLINE, line and PUBLIC records of all
 * functions of a file. Addresses are relative to base_address. */
typedef struct gsym_breakpad_export gsym_breakpad_export;
gsym_status gsym_breakpad_export_create(const gsym_image *image,
                                        gsym_breakpad_export **export_ret,
                                        gsym_error *error);
void gsym_breakpad_export_destroy(gsym_breakpad_export *exporter);
/* Append the next records, slightly more than `size` bytes, or none while names are
 * collected. *is_done_ret 1: these were the last. */
gsym_status gsym_breakpad_export_next(gsym_breakpad_export *exporter, gsym_text *text,
                                      size_t size, uint32_t *is_done_ret,
                                      gsym_error *error);
void gsym_breakpad_export_count(const gsym_breakpad_export *exporter,
                                gsym_breakpad_export_counts *counts_ret);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
