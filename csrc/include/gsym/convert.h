/* convert.h - read object files, PDB and Breakpad files, and pass their functions to a
 * creator. */
#ifndef GSYM_CONVERT_H
#define GSYM_CONVERT_H

#include <gsym/create.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- object files: ELF, Mach-O, PE/COFF -------------------------------------- */

/* A binary or object file; its format is recognized by content. */
typedef struct gsym_object gsym_object;

typedef enum gsym_object_format {
    GSYM_OBJECT_ELF = 1,
    GSYM_OBJECT_MACHO = 2,
    GSYM_OBJECT_PE = 3,
    GSYM_OBJECT_WASM = 4
} gsym_object_format;

typedef enum gsym_compression {
    GSYM_COMPRESSION_NONE = 0,
    GSYM_COMPRESSION_ZLIB = 1,
    GSYM_COMPRESSION_ZSTD = 2,
    GSYM_COMPRESSION_UNKNOWN = 3,
    GSYM_COMPRESSION_PHANTOM_BYTES = 4 /* the reader has to drop every second byte */
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

/* Bits for what is not read in sections of ELF or PE files: debug information other than
 * DWARF 2 and later, and compressed symbols, which no tool reads. */
typedef enum gsym_unread_debug_info {
    GSYM_UNREAD_STABS = 1,    /* .stab */
    GSYM_UNREAD_CODEVIEW = 2, /* .debug$S, in object files */
    GSYM_UNREAD_ECOFF = 4,    /* .mdebug */
    GSYM_UNREAD_DWARF_1 = 8,  /* .debug */
    GSYM_UNREAD_COMPRESSED_SYMBOLS = 16 /* .symtab or .strtab */
} gsym_unread_debug_info;

typedef struct gsym_object_header {
    uint32_t format; /* gsym_object_format */
    uint32_t is_64;
    uint32_t big_endian;
    uint32_t machine;        /* ELF: e_machine; Mach-O: cputype; PE: Machine */
    uint32_t machine_kind;   /* Mach-O: cpusubtype; else 0 */
    uint32_t type;           /* ELF: e_type; Mach-O: filetype; PE: Characteristics */
    uint32_t is_relocatable; /* its sections have no addresses yet */
    uint32_t section_count;
    uint32_t has_base_address;
    uint32_t unread_debug_info; /* gsym_unread_debug_info */
    uint64_t base_address; /* ELF: p_vaddr of the first PT_LOAD; Mach-O: of __TEXT; PE:
                            * ImageBase */
    uint64_t bias; /* the number that gsym_object_align added to the addresses, modulo
                      2^64 */
    uint64_t code_offset; /* WebAssembly: offset in the file from which addresses count */
    uint64_t symbol_table_size; /* in bytes, not counting .dynsym and exports; 0:
                                   stripped */
} gsym_object_header;

typedef struct gsym_object_section {
    uint32_t present; /* 0: the section does not exist */
    uint32_t index;
    const char *name; /* in the file; not NUL-terminated */
    size_t name_size;
    uint64_t address; /* gsym_object_open assigns those of a relocatable file */
    uint64_t offset;  /* of the payload in the file */
    uint64_t size;    /* of the payload in the file, in bytes; may be 0 */
    uint64_t uncompressed_size; /* equal to size unless compressed */
    uint64_t memory_size;       /* bytes of memory at `address` */
    uint64_t flags;
    uint32_t type;
    uint32_t compression; /* gsym_compression */
    uint32_t holds_code;
    uint32_t has_relocations; /* 1: the payload needs gsym_object_relocate */
} gsym_object_section;

/* Open a binary or object file; `data` must outlive the object. */
gsym_status gsym_object_open(const uint8_t *data, size_t size, gsym_object **object_ret,
                             gsym_error *error);
void gsym_object_close(gsym_object *object);
/* Say that `data` is a mapped file: pages with relocations that were applied may be
 * released (MADV_DONTNEED). */
void gsym_object_mark_mapped(gsym_object *object);
void gsym_object_header_get(const gsym_object *object, gsym_object_header *header_ret);
/* Add a number to the addresses of `object`, which has debug information or symbols of
 * `binary`, so that they are those of `binary`; prelinking and rebasing make them differ.
 * The number is the distance of sections with code that both files have, or else of the
 * segments of ELF files. The DWARF of `object` keeps its addresses, see
 * gsym_conversion_add_object_spans. Fails with GSYM_E_FORMAT, and moves nothing, if
 * sections differ by several distances, or if the distance is unknown and the code of the
 * two files does not overlap. */
gsym_status gsym_object_align(gsym_object *object, const gsym_object *binary,
                              gsym_error *error);
/* Return section `index` < header.section_count; `present` 0: it does not exist. */
gsym_status gsym_object_section_at(const gsym_object *object, uint32_t index,
                                   gsym_object_section *section_ret, gsym_error *error);
/* Find the first section with a name, from index `first` on. `present` is 0 if no section
 * has it. */
gsym_status gsym_object_find_section(const gsym_object *object, uint32_t first,
                                     const char *name, size_t name_size,
                                     gsym_object_section *section_ret, gsym_error *error);
/* Find a DWARF section by any of the names that it may have in this format; `is_split` 1:
 * the section of split units (NAME.dwo). `present` is 0 if the file has no such section. */
gsym_status gsym_object_debug_section(const gsym_object *object, gsym_debug_section which,
                                      uint32_t is_split, gsym_object_section *section_ret,
                                      gsym_error *error);
/* Return the build's identifier, bytes of the file: GNU build id, LC_UUID or CodeView GUID;
 * size 0: none. */
gsym_status gsym_object_identifier(const gsym_object *object, const uint8_t **bytes_ret,
                                   size_t *size_ret, gsym_error *error);
enum { GSYM_UNAPPLIED_TYPES = 4 };

/* Relocations that could not be applied because they have an unknown type, or an invalid
 * place or symbol. */
typedef struct gsym_unapplied {
    uint64_t count;
    uint64_t start; /* all their places are in [start, end), offsets in the section */
    uint64_t end;
    uint32_t types[GSYM_UNAPPLIED_TYPES];  /* the first types, as the file numbers them */
    uint64_t counts[GSYM_UNAPPLIED_TYPES]; /* number of each of these types; other types
                                              count in `count` only */
} gsym_unapplied;

/* Apply the relocations of section `index` to `bytes`, its uncompressed payload. Those
 * that cannot be applied change nothing: see gsym_conversion_distrust. */
gsym_status gsym_object_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                                 size_t size, gsym_unapplied *unapplied_ret,
                                 gsym_error *error);

/* Write the link-time addresses at which functions start by .eh_frame_hdr of an ELF image,
 * .pdata of a 64-bit PE image, or LC_FUNCTION_STARTS of a Mach-O file, in the order of that
 * table; return how many there are, which may be more than `capacity`. */
size_t gsym_object_function_starts(const gsym_object *object, uint64_t *starts,
                                   size_t capacity);

/* ---- calls in machine code --------------------------------------------------- */

/* A part of the machine code of a binary. */
typedef struct gsym_code {
    const uint8_t *bytes; /* NULL: none */
    uint64_t size;
    uint64_t address; /* link-time address of the first byte */
} gsym_code;

/* Return the next section with code of a binary or, in an ELF file without sections, the
 * next segment. *next is 0 at first; `bytes` is NULL after the last one. */
gsym_status gsym_object_next_code(const gsym_object *object, uint32_t *next,
                                  gsym_code *code_ret, gsym_error *error);

typedef enum gsym_instruction_set {
    GSYM_INSTRUCTIONS_OTHER = 0, /* not decoded here */
    GSYM_INSTRUCTIONS_X86_64 = 1,
    GSYM_INSTRUCTIONS_AARCH64 = 2,
    /* Of the following only calls are recognized; functions are not gone through. */
    GSYM_INSTRUCTIONS_X86 = 3,
    GSYM_INSTRUCTIONS_ARM = 4, /* and Thumb */
    GSYM_INSTRUCTIONS_RISCV = 5,
    GSYM_INSTRUCTIONS_S390 = 6,
    GSYM_INSTRUCTIONS_POWERPC = 7,
    GSYM_INSTRUCTIONS_POWERPC_LE = 8,
    GSYM_INSTRUCTIONS_MIPS = 9,
    GSYM_INSTRUCTIONS_MIPS_LE = 10,
    GSYM_INSTRUCTIONS_RISCV32 = 11, /* whose compressed code has one call more */
    GSYM_INSTRUCTIONS_LOONGARCH = 12
} gsym_instruction_set;

/* All machine code of a binary. */
typedef struct gsym_machine_code {
    const gsym_code *pieces; /* ascending, without overlap */
    size_t count;
    gsym_instruction_set set;
} gsym_machine_code;

/* Whether a call may return to `address`: 1 if the code before it is unknown, or if some
 * bytes that end there are a call instruction when they are decoded. */
uint32_t gsym_code_may_return(const gsym_machine_code *code, uint64_t address);

/* Whether the code before `address` is known, so that the answer of gsym_code_may_return
 * depends on it. */
uint32_t gsym_code_is_known(const gsym_machine_code *code, uint64_t address);

/* What is at an address. */
typedef enum gsym_place {
    GSYM_PLACE_FUNCTION = 1, /* a function covers it */
    GSYM_PLACE_AFTER = 2,    /* a function covers the byte before it */
    GSYM_PLACE_CODE = 4,     /* the code before it is known */
    GSYM_PLACE_CALL = 8      /* and a call may return to it */
} gsym_place;

/* Write what is at each address, as a set of gsym_place. */
gsym_status gsym_code_places(const gsym_machine_code *code, const gsym_image *image,
                             const uint64_t *addresses, size_t count, uint8_t *places_ret,
                             gsym_error *error);

/* Whether the bytes that end at `address` are a call of x86, x86-64 or AArch64 that names
 * what it calls: the link-time address *target_ret. */
uint32_t gsym_code_call_target(const gsym_machine_code *code, uint64_t address,
                               uint64_t *target_ret);

/* Return the size of the instruction of x86-64, or of x86, that `bytes` begin with; 0 if it
 * is undefined or cut off. */
uint32_t gsym_x86_instruction_size(const uint8_t *bytes, size_t size, uint32_t is_64);

typedef struct gsym_call_columns {
    size_t count;
    const uint64_t *address; /* of a call; ascending in valid files */
    const uint8_t *size;     /* bytes of its instruction; the return address follows */
    const uint8_t *has_line; /* 0: not a call, but a return address that no call pushes,
                              * as in the first function of a goroutine */
    uint64_t ranges;         /* number of ranges of functions that were decoded */
    uint64_t ended_early;    /* of these: number of these in which decoding stopped at an
                              * undefined or truncated instruction */
    uint64_t instructions;
    uint64_t without_code; /* ranges without code */
    uint64_t damaged;      /* entries with damaged records */
} gsym_call_columns;

/* Find the calls in the functions of a file by decoding each function from its start. The
 * code is not needed afterwards. The result owns its columns. */
typedef struct gsym_calls gsym_calls;
gsym_status gsym_calls_find(const gsym_image *image, const gsym_machine_code *code,
                            gsym_calls **calls_ret, gsym_error *error);
/* Make the calls of the call sites in the file, without code. A call site has only a return
 * address, so the byte before it is taken as the call. Tail calls are included. */
gsym_status gsym_calls_recall(const gsym_image *image, gsym_calls **calls_ret,
                              gsym_error *error);
void gsym_calls_columns(const gsym_calls *calls, gsym_call_columns *columns_ret);
void gsym_calls_destroy(gsym_calls *calls);

/* ---- debug maps: the object files that a linked Mach-O file was made of ----- */

typedef struct gsym_debug_map gsym_debug_map;

typedef struct gsym_debug_map_entry {
    const char *path; /* path of an object file, or ARCHIVE(MEMBER); points into the
                         object */
    size_t path_size;
    uint64_t mtime; /* of the object file at link time, seconds since 1970 */
    uint64_t function_count; /* functions that the map lists for the object file */
} gsym_debug_map_entry;

/* Read the debug map of an object, which must outlive the map; the map may be empty. */
gsym_status gsym_debug_map_create(const gsym_object *object, gsym_debug_map **map_ret,
                                  gsym_error *error);
void gsym_debug_map_destroy(gsym_debug_map *map);
size_t gsym_debug_map_count(const gsym_debug_map *map);
/* Return entry `index` < gsym_debug_map_count(). */
void gsym_debug_map_entry_at(const gsym_debug_map *map, size_t index,
                             gsym_debug_map_entry *entry_ret);
/* Count the functions of entry `index` that `object` does not have. If several files have
 * the path of the entry, this shows which one is meant. */
gsym_status gsym_debug_map_compare(const gsym_debug_map *map, size_t index,
                                   const gsym_object *object, uint64_t *missing_ret,
                                   gsym_error *error);

/* ---- PDB: program databases of Windows ------------------------------------------ */

typedef struct gsym_pdb gsym_pdb;

typedef struct gsym_pdb_header {
    uint8_t guid[16];
    uint32_t signature;   /* time stamp of the first link */
    uint32_t age;         /* age of stream DBI, which equals that in the image */
    uint32_t machine;     /* as in PE files */
    uint32_t is_stripped; /* 1: it has only public symbols (/PDBSTRIPPED) */
} gsym_pdb_header;

/* Open a PDB; `data` must outlive it. `is_file_mapping` 1: finished pages may be
 * released. */
gsym_status gsym_pdb_open(const uint8_t *data, size_t size, uint32_t is_file_mapping,
                          gsym_pdb **pdb_ret, gsym_error *error);
void gsym_pdb_close(gsym_pdb *pdb);
void gsym_pdb_header_get(const gsym_pdb *pdb, gsym_pdb_header *header_ret);
/* Return the size of a stream by its number, 0 if it does not exist. */
uint32_t gsym_pdb_stream_size(const gsym_pdb *pdb, uint32_t stream);
/* Copy a stream, all of its bytes. */
gsym_status gsym_pdb_stream_read(const gsym_pdb *pdb, uint32_t stream, uint8_t *bytes,
                                 size_t size, gsym_error *error);

/* ---- conversion: DWARF and symbols to a creator ------------------------------- */

typedef struct gsym_conversion gsym_conversion;

typedef enum gsym_conversion_flags {
    GSYM_CONVERT_CALL_SITES = 1,
    GSYM_CONVERT_KEEP_WARNINGS = 2, /* keep warnings, not only counts */
    GSYM_CONVERT_FULL_WALK = 4,     /* visit every DIE, so that tests can compare with a
                                       usual walk, which skips some */
    GSYM_CONVERT_KEEP_REPEATED = 8  /* pass repeated functions to the creator, which merges
                                     * them */
} gsym_conversion_flags;

typedef struct gsym_conversion_options {
    uint32_t flags;
    uint32_t thread_count; /* threads that will call gsym_conversion_work */
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
    GSYM_WARN_TOO_LARGE, /* a function whose size does not fit into the 32 bits of a
                            record */
    GSYM_WARN_RANGE_OUTSIDE_TEXT,
    GSYM_WARN_RANGE_LIST,
    GSYM_WARN_LINE_PROGRAM,
    GSYM_WARN_LINE_FILE_INDEX,
    GSYM_WARN_LINE_ORDER,
    GSYM_WARN_CALL_FILE_INDEX,
    GSYM_WARN_INLINE_UNCONTAINED,
    GSYM_WARN_INLINE_EMPTY,
    GSYM_WARN_DEPTH,
    GSYM_WARN_LIMIT,
    GSYM_WARN_SPLIT_MISSING,         /* value: the dwo_id */
    GSYM_WARN_UNIT_NOT_RELOCATED, /* value: the end of the unit */
    GSYM_WARN_SPLIT_CONTRADICTS,     /* value: the address of the function */
    GSYM_WARN_SUPPLEMENTARY_MISSING, /* value: the offset in the missing file */
    GSYM_WARN_SYMBOL,
    /* pclntab. Offset: of the function in the file; value: its address. */
    GSYM_WARN_GO_FUNCTION,
    GSYM_WARN_GO_VALUES,
    GSYM_WARN_GO_CALLS,
    /* PDB. Offset: of the symbol or line in the file. */
    GSYM_WARN_PDB_SYMBOL,
    GSYM_WARN_PDB_LINES,
    GSYM_WARN_PDB_REMOVED, /* value: where the linker had put the removed code */
    GSYM_WARN_PDB_MANAGED, /* value: the kind of its symbol */
    GSYM_WARN_COUNT
} gsym_warning_category;

typedef struct gsym_warning {
    uint32_t category; /* gsym_warning_category */
    uint32_t file;     /* number from gsym_conversion_add_file */
    uint64_t offset; /* of the DIE in .debug_info, or as said at the category */
    uint64_t value;  /* the invalid address, index or offset */
} gsym_warning;

/* Create a conversion that passes functions to `creator`, which must be valid while the
 * conversion is used. */
gsym_status gsym_conversion_create(gsym_creator *creator,
                                   const gsym_conversion_options *options,
                                   gsym_conversion **conversion_ret, gsym_error *error);
void gsym_conversion_destroy(gsym_conversion *conversion);
/* Add a range of addresses that may contain code, for main files without address spans. If
 * no range is added, all addresses may. */
gsym_status gsym_conversion_add_text_range(gsym_conversion *conversion, uint64_t start,
                                           uint64_t end, gsym_error *error);
/* Add the code sections of an object as text ranges. */
gsym_status gsym_conversion_add_object_text(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error);

/* Note from the symbols and the entry point of an object where it has code. If this is
 * called after its text ranges were added and before gsym_conversion_scan, it decides which
 * functions at address 0 exist: linkers give this address to the debug information of code
 * that they drop. Without the call, all of them count as existing. If it is called after
 * the scan, functions of split units that contradict the symbols are found. The bytes of
 * the object must be valid until gsym_conversion_collect. */
gsym_status gsym_conversion_add_live_code(gsym_conversion *conversion,
                                          const gsym_object *object, gsym_error *error);

/* Role of a set of debug sections. */
typedef enum gsym_dwarf_role {
    GSYM_DWARF_MAIN = 0, /* its units are converted; file 0 exists from the start */
    GSYM_DWARF_SUPPLEMENTARY = 1, /* shared by main files: .gnu_debugaltlink, .debug_sup */
    GSYM_DWARF_SPLIT = 2 /* a .dwo or .dwp: its units complete skeleton units */
} gsym_dwarf_role;

/* Add a set of debug sections; *file_ret is its number. Main files and the one
 * supplementary file are added before gsym_conversion_scan. */
gsym_status gsym_conversion_add_file(gsym_conversion *conversion, gsym_dwarf_role role,
                                     uint32_t *file_ret, gsym_error *error);
/* Set a section of a file. `data` must be valid until gsym_conversion_collect.
 * `is_file_mapping` 1: finished pages may be released (MADV_DONTNEED). */
gsym_status gsym_conversion_set_section(gsym_conversion *conversion, uint32_t file,
                                        gsym_debug_section which, const uint8_t *data,
                                        size_t size, uint32_t is_file_mapping,
                                        gsym_error *error);
/* Declare that [start, end) of a section that was set has values to which relocations could
 * not be applied. Units in such a range of .debug_info are left out; what units would read
 * in such ranges of other sections is left out, too. */
gsym_status gsym_conversion_distrust(gsym_conversion *conversion, uint32_t file,
                                     gsym_debug_section which, uint64_t start, uint64_t end,
                                     gsym_error *error);
/* Move functions of main file `file` that start in [start, start + size) to `address`.
 * Spans do not overlap. With at least one span, even an empty one, functions outside of
 * all spans are dropped. */
gsym_status gsym_conversion_add_address_span(gsym_conversion *conversion, uint32_t file,
                                             uint64_t start, uint64_t size,
                                             uint64_t address, gsym_error *error);
/* Move functions of main file `file`, whose sections are those of `object`, to the
 * addresses that entry `index` of a debug map gives for their names. *missing_ret counts
 * names that `object` does not have. */
gsym_status gsym_conversion_add_debug_map(gsym_conversion *conversion, uint32_t file,
                                          const gsym_debug_map *map, size_t index,
                                          const gsym_object *object, uint64_t *missing_ret,
                                          gsym_error *error);
/* Move all functions of main file `file`, whose sections are those of `object`, as
 * gsym_object_align has moved `object`. */
gsym_status gsym_conversion_add_object_spans(gsym_conversion *conversion, uint32_t file,
                                             const gsym_object *object,
                                             gsym_error *error);
/* Add a rule that replaces the prefix `old` of source paths. The first rule that matches a
 * path applies. */
gsym_status gsym_conversion_add_path_map(gsym_conversion *conversion, const char *old_bytes,
                                         size_t old_size, const char *new_bytes,
                                         size_t new_size, gsym_error *error);
/* Find the units of the main files; call once, before the workers. */
gsym_status gsym_conversion_scan(gsym_conversion *conversion, gsym_error *error);

/* An index by which units with code at an address are found, made of the root DIEs of
 * units. */
typedef struct gsym_unit_index gsym_unit_index;

/* Find and index the units of the main files; call this in place of gsym_conversion_scan.
 * The conversion must outlive the index, which is incomplete if it has skeletons. */
gsym_status gsym_unit_index_create(gsym_conversion *conversion,
                                   gsym_unit_index **index_ret, gsym_error *error);
void gsym_unit_index_destroy(gsym_unit_index *index);
/* Find the units that may have code at one of `addresses`, which ascend, and for each
 * address the unit with the last code before it. At most `capacity` units are stored,
 * ascending. *size_ret is the sum of their sizes in .debug_info, *total_ret the sum of the
 * sizes of all units. */
gsym_status gsym_unit_index_find(const gsym_unit_index *index, const uint64_t *addresses,
                                 size_t address_count, uint32_t *units, size_t capacity,
                                 size_t *count_ret, uint64_t *size_ret,
                                 uint64_t *total_ret, gsym_error *error);
/* Convert only `units`, which ascend, of the conversion of which `index` was made. Call
 * this in place of adding files, setting sections and the scan. The other conversion must
 * have no skeletons and must outlive this one. */
gsym_status gsym_conversion_select(gsym_conversion *conversion,
                                   const gsym_unit_index *index, const uint32_t *units,
                                   size_t count, gsym_error *error);

/* The texts of source files that line tables have embedded (DW_LNCT_LLVM_source of DWARF
 * 5), each path once. */
typedef struct gsym_embedded_sources gsym_embedded_sources;

typedef struct gsym_embedded_source {
    const char *path; /* as functions have it; not NUL-terminated */
    size_t path_size;
    const char *text; /* bytes of a section */
    size_t text_size; /* at least 1 */
} gsym_embedded_source;

/* Collect the texts of all units of a conversion that was scanned; its sections must
 * outlive the result. */
gsym_status gsym_embedded_sources_create(gsym_conversion *conversion,
                                         gsym_embedded_sources **sources_ret,
                                         gsym_error *error);
void gsym_embedded_sources_destroy(gsym_embedded_sources *sources);
size_t gsym_embedded_sources_count(const gsym_embedded_sources *sources);
/* Return source `index` < gsym_embedded_sources_count(). */
void gsym_embedded_source_at(const gsym_embedded_sources *sources, size_t index,
                             gsym_embedded_source *source_ret);

/* A skeleton unit of a main file. */
typedef struct gsym_skeleton {
    uint64_t unit_offset; /* in .debug_info */
    uint64_t dwo_id;
    const char *dwo_name; /* path, relative to comp_dir; bytes of a section */
    size_t dwo_name_size;
    const char *comp_dir;
    size_t comp_dir_size;
    uint32_t file;        /* the main file */
    uint32_t is_complete; /* 1: gsym_conversion_link_split has found its split unit */
} gsym_skeleton;

/* Skeletons can be read after gsym_conversion_scan and until gsym_conversion_collect. */
size_t gsym_conversion_skeleton_count(gsym_conversion *conversion);
gsym_status gsym_conversion_skeleton(gsym_conversion *conversion, size_t index,
                                     gsym_skeleton *skeleton_ret, gsym_error *error);
/* Find the split units of skeletons in the split file `file` by dwo_id; *matched_ret is the
 * number of skeletons that have one there. Call this when the sections of the file are set,
 * after the scan and before the workers start. */
gsym_status gsym_conversion_link_split(gsym_conversion *conversion, uint32_t file,
                                       uint64_t *matched_ret, gsym_error *error);

/* Convert units until none is left. Each worker thread calls this once. */
gsym_status gsym_conversion_work(gsym_conversion *conversion, gsym_error *error);
/* Return how many bytes of .debug_info have been converted, and how many there are. May be
 * called while workers run. */
void gsym_conversion_progress(gsym_conversion *conversion, uint64_t *done_ret,
                              uint64_t *total_ret);
/* Let the workers fail with GSYM_E_CANCELLED before they take another unit. May be called
 * while they run. */
void gsym_conversion_cancel(gsym_conversion *conversion);
/* Pass the functions to the creator. Call this after the workers have returned. */
gsym_status gsym_conversion_collect(gsym_conversion *conversion, gsym_error *error);
/* Add the functions of the symbol table (.dynsym if an ELF file has no .symtab). `image` is
 * the binary that `object` belongs to: symbols of PE files end where the unwind table of
 * the image says, which a debug file does not have. The bytes of both must be valid until
 * gsym_creator_finish, which copies the names that it needs. */
gsym_status gsym_conversion_add_object_symbols(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               const gsym_object *image,
                                               gsym_error *error);
/* Note where functions start according to the unwind information of an ELF image: a symbol
 * without a size ends at the next of these addresses. */
gsym_status gsym_conversion_add_object_code(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error);
/* Add the stubs by which an image calls functions of others: `puts@plt` of ELF, `symbol
 * stub for: puts` of Mach-O, `puts` of a PE image without symbols. An ELF or PE file that
 * gave no other function gets no stubs. The bytes of the object must be valid until
 * gsym_creator_finish. */
gsym_status gsym_conversion_add_object_stubs(gsym_conversion *conversion,
                                             const gsym_object *object, gsym_error *error);
/* Add the functions of line tables that no unit refers to, after gsym_conversion_scan and
 * before gsym_conversion_work: those of symbols of `object`, whose sections the first file
 * has. Such tables are read in a file without .debug_info, and in files of CUDA, whose line
 * tables have inlined calls. *count_ret is the number added. */
gsym_status gsym_conversion_add_line_functions(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               uint64_t *count_ret, gsym_error *error);
/* Add the functions of .BTF and .BTF.ext, the debug information of BPF programs that have
 * no DWARF; at the same time. *count_ret is the number added. */
gsym_status gsym_conversion_add_btf_functions(gsym_conversion *conversion,
                                              const gsym_object *object,
                                              uint64_t *count_ret, gsym_error *error);
/* Add the functions of a Go binary's pclntab, after gsym_conversion_collect;
 * `only_undescribed` 1: skip all if an existing function starts where one of them does.
 * *count_ret is the number added, 0 without a pclntab. Fails if it is damaged or of a Go
 * before 1.16. */
gsym_status gsym_conversion_add_go_functions(gsym_conversion *conversion,
                                             const gsym_object *object,
                                             uint32_t only_undescribed,
                                             uint64_t *count_ret, gsym_error *error);
/* Convert the modules of a PDB, which must be open until gsym_creator_finish, in place of
 * units of DWARF. Call this before the workers, in place of setting sections and the
 * scan. */
gsym_status gsym_conversion_set_pdb(gsym_conversion *conversion, const gsym_pdb *pdb,
                                    uint64_t base_address, gsym_error *error);
/* Add the public symbols of the PDB. Call this after gsym_conversion_collect. */
gsym_status gsym_conversion_add_pdb_publics(gsym_conversion *conversion,
                                            gsym_error *error);
/* Return the number of warnings of each gsym_warning_category; the conversion owns them. */
const uint64_t *gsym_conversion_warning_counts(const gsym_conversion *conversion);
/* Return the kept warnings, ordered by file and offset; the conversion owns them. */
const gsym_warning *gsym_conversion_warnings(gsym_conversion *conversion,
                                             size_t *count_ret);

/* ---- Breakpad: .sym files to a creator ----------------------------------------- */

typedef struct gsym_breakpad gsym_breakpad;

/* A longer line is not a record.
 * Limit: Line of a Breakpad file */
#define GSYM_BREAKPAD_LINE_SIZE_LIMIT 1048576
/* Further findings are only counted. */
#define GSYM_BREAKPAD_FINDING_LIMIT 10000

typedef enum gsym_breakpad_fault {
    /* The record is dropped. */
    GSYM_BREAKPAD_UNKNOWN_RECORD = 0,
    GSYM_BREAKPAD_LONG_LINE,
    GSYM_BREAKPAD_NUMBER,      /* missing, damaged or too large */
    GSYM_BREAKPAD_MODULE,      /* incomplete, or a second MODULE */
    GSYM_BREAKPAD_RANGE,       /* FUNC of size 0, or past the last address */
    GSYM_BREAKPAD_TOO_LARGE,   /* FUNC of 4 GiB or more */
    GSYM_BREAKPAD_NO_FUNCTION, /* line record or INLINE without a FUNC */
    GSYM_BREAKPAD_HEAD,        /* MODULE or INFO after 64 KiB of such records */
    /* A part of the record is dropped. */
    GSYM_BREAKPAD_NAME,      /* missing, or cut at a NUL */
    GSYM_BREAKPAD_OUTSIDE,   /* line record or INLINE outside of its FUNC */
    GSYM_BREAKPAD_OVERLAP,   /* line records or INLINE of one level that overlap */
    GSYM_BREAKPAD_UNCOVERED, /* INLINE outside of its parent */
    GSYM_BREAKPAD_NO_FILE,   /* undefined FILE number */
    GSYM_BREAKPAD_NO_ORIGIN, /* undefined INLINE_ORIGIN number */
    GSYM_BREAKPAD_REDEFINED, /* number defined again differently */
    GSYM_BREAKPAD_LIMIT,     /* INLINE nested too deeply or split into too many pieces */
    GSYM_BREAKPAD_FAULT_COUNT
} gsym_breakpad_fault;

typedef struct gsym_breakpad_finding {
    uint32_t fault; /* gsym_breakpad_fault */
    uint32_t reserved;
    uint64_t line;   /* number of the line, from 1; some faults give that of the FUNC */
    uint64_t offset; /* offset of that line, from the start of the text */
    uint64_t value;  /* the invalid address or number */
} gsym_breakpad_finding;

typedef struct gsym_breakpad_counts {
    uint64_t functions; /* FUNC records */
    uint64_t publics;   /* PUBLIC records */
    uint64_t lines;     /* line records */
    uint64_t inlines;   /* INLINE records */
    uint64_t files;     /* FILE records */
    uint64_t inline_origins;
    uint64_t stack_records; /* STACK records, which are skipped */
    uint64_t bad_records;   /* records that are dropped because of a fault */
} gsym_breakpad_counts;

/* Create a reader. `keep_findings` 1: keep findings, not only their counts. */
gsym_status gsym_breakpad_create(gsym_creator *creator, uint32_t keep_findings,
                                 gsym_breakpad **breakpad_ret, gsym_error *error);
void gsym_breakpad_destroy(gsym_breakpad *breakpad);
/* Add a rule for source paths as gsym_conversion_add_path_map does, before the first FILE
 * is read. */
gsym_status gsym_breakpad_add_path_map(gsym_breakpad *breakpad, const char *old_bytes,
                                       size_t old_size, const char *new_bytes,
                                       size_t new_size, gsym_error *error);
/* Read the next bytes of the text, which may be split anywhere. Faults of records are
 * findings; only lack of memory and limits of the output are errors. */
gsym_status gsym_breakpad_feed(gsym_breakpad *breakpad, const uint8_t *bytes, size_t size,
                               gsym_error *error);
/* End the text. Functions that wait for the definition of a number are closed without
 * it. */
gsym_status gsym_breakpad_finish(gsym_breakpad *breakpad, gsym_error *error);

/* A batch of functions that the reader passes to the creator. */
typedef struct gsym_breakpad_batch gsym_breakpad_batch;

/* Return a batch of the functions that were read if they are many or if the text has ended;
 * else NULL. The caller has to encode and to keep each batch. The reader owns it. */
gsym_status gsym_breakpad_next_batch(gsym_breakpad *breakpad,
                                     gsym_breakpad_batch **batch_ret, gsym_error *error);
/* Encode a batch; may run in another thread than the reader. */
gsym_status gsym_breakpad_batch_encode(gsym_breakpad_batch *batch, gsym_error *error);
/* Pass the functions to the creator and return the batch to the reader, in the order of
 * gsym_breakpad_next_batch. */
gsym_status gsym_breakpad_keep_batch(gsym_breakpad *breakpad, gsym_breakpad_batch *batch,
                                     gsym_error *error);
/* Add the PUBLIC records outside of all functions, each up to the next address that has a
 * record. Call this after the last batch was kept and after
 * gsym_creator_merge_functions. */
gsym_status gsym_breakpad_add_publics(gsym_breakpad *breakpad, gsym_error *error);
/* Return the record `index` of MODULE and the first INFO records, in file order; NULL after
 * the last. It is valid until the next gsym_breakpad_feed. */
const char *gsym_breakpad_head(const gsym_breakpad *breakpad, size_t index,
                               size_t *size_ret);
void gsym_breakpad_count(const gsym_breakpad *breakpad, gsym_breakpad_counts *counts_ret);
uint64_t gsym_breakpad_fault_count(const gsym_breakpad *breakpad,
                                   gsym_breakpad_fault fault);
/* Return the kept findings, ordered by line; the reader owns them. */
const gsym_breakpad_finding *gsym_breakpad_findings(gsym_breakpad *breakpad,
                                                    size_t *count_ret);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
