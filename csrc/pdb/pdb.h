/* pdb.h - read program databases: streams, modules, types and names.
 *
 * A PDB is a small file system, MSF 7.00: a stream is a list of pages that may be anywhere
 * in the file. msf.c reads streams; pdb.c the streams that describe the others;
 * code_symbols.c symbols for code; shared_ids.c ids that modules share; types.c records of
 * types and the names made of them; source_names.c names of source files.
 * sources/pdb_functions.c reads the symbols of modules, sources/pdb_lines.c their lines.
 * All numbers are little-endian. */
#ifndef GSYM_PDB_PDB_H
#define GSYM_PDB_PDB_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/cursor.h"
#include "base/tables.h"

/* ---- MSF: streams of pages (msf.c) ------------------------------------------------- */

#define MSF_NO_STREAM UINT16_MAX

typedef struct msf_stream {
    uint32_t size;
    uint32_t page_first; /* index in the list of pages of all streams */
} msf_stream;

typedef struct msf_file {
    const uint8_t *data;
    size_t size;
    bool is_file_mapping; /* pages may be released */
    uint32_t page_size;   /* a power of two */
    LIST(uint32_t) pages;
    LIST(msf_stream) streams;
} msf_file;

/* Open a file. No two streams share a page, so all streams together are no larger than the
 * file. */
gsym_status msf_open(msf_file *file, const uint8_t *data, size_t size,
                     bool is_file_mapping, gsym_error *error);
void msf_close(msf_file *file);
/* Return the size of a stream, 0 if it does not exist. */
uint32_t msf_stream_size(const msf_file *file, uint32_t stream);
/* Return the file offset of byte `offset` of a stream, for messages. */
uint64_t msf_file_offset(const msf_file *file, uint32_t stream, uint64_t offset);
/* Return a cursor over `size` bytes of a stream. Adjacent pages are read in place, others
 * are copied to `copy`. The cursor has failed if the stream is too short, or if memory ran
 * out, which sets copy->failed. */
cursor msf_read(const msf_file *file, uint32_t stream, uint64_t offset, uint64_t size,
                buffer *copy);
/* Let the system drop the pages of a stream, if the file is mapped. */
void msf_release(const msf_file *file, uint32_t stream);

/* ---- types and ids (types.c) --------------------------------------------------------- */

/* Records of a TPI or IPI stream, by index. */
typedef struct pdb_types {
    uint32_t stream;
    uint32_t first, end;        /* the first index and that after the last, in the header
                                   TypeIndexBegin and TypeIndexEnd */
    LIST(uint32_t) offsets;     /* offset in the stream of every fourth record */
} pdb_types;

struct gsym_pdb;

gsym_status pdb_types_open(pdb_types *types, const msf_file *file, uint32_t stream,
                           gsym_error *error);
static inline void pdb_types_close(pdb_types *types) { free(types->offsets.items); }

/* The state of making names, of which each thread has its own. */
typedef struct pdb_namer {
    const struct gsym_pdb *pdb;
    buffer *out;
    size_t start;       /* of the present name in `out` */
    unsigned work_left; /* records that may still be read for this name */
    buffer copy;        /* bytes of the last record whose pages were not adjacent */
} pdb_namer;

void pdb_namer_deinit(pdb_namer *namer);
/* Append the name at the end of the symbol of a function and, with `has_parameters`, the
 * parameters of its type, such as `(int, char const *)`. An empty name appends nothing.
 * False where memory ran out. */
bool pdb_put_procedure(pdb_namer *namer, cursor *name, uint32_t type, bool has_parameters);
/* Append the name of a function id as pdb_put_procedure() does, with the scope of the
 * function in front. */
bool pdb_put_function_id(pdb_namer *namer, uint32_t id, bool has_parameters);

/* ---- the streams that describe others (pdb.c) ---------------------------------------- */

typedef struct pdb_module {
    uint32_t stream;      /* MSF_NO_STREAM: it has no symbols */
    uint32_t symbol_size; /* bytes of symbols, with the signature before them */
    uint32_t c11_size;
    uint32_t c13_size;
    uint64_t name_hash; /* of the name in lower case */
} pdb_module;

typedef struct pdb_section {
    uint32_t address; /* relative to the image */
    uint32_t size;
    bool holds_code;
} pdb_section;

/* Code that an optimizer moved after linking. The image that the linker wrote is called the
 * source; sections, symbols and lines have its addresses. */
typedef struct pdb_moved {
    uint32_t start, end; /* in the source */
    uint32_t reach;      /* the greatest end of this item and those before it */
    uint32_t to;         /* in the image */
} pdb_moved;

typedef LIST(pdb_moved) pdb_moved_list;

struct gsym_pdb {
    msf_file file;
    gsym_pdb_header header;
    uint32_t symbol_stream; /* the stream of public and global symbols */
    LIST(pdb_module) modules;
    LIST(pdb_section) sections; /* of the source */
    bool has_omap;              /* false: code has the same addresses in source and image */
    pdb_moved_list moved;       /* sorted by start; code in none of them was removed */
    size_t omap_size;           /* number of entries of the omap */
    bool has_ids;
    pdb_types types, ids;
    buffer names_copy;
    cursor names; /* of source files, by offset */
    number_map taken; /* streams of modules */
    pdb_module linker; /* the module of the linker; without one, it has no stream */
    bool is_ltcg; /* the linker generated code; modules may use ids of other modules */
    number_map exporters; /* name_hash of a module -> its index */
    number_map exports;   /* index of the module << 32 | local id -> id */
};

/* Find the address of segment:offset in the source; false without such a segment. */
bool pdb_address(const gsym_pdb *pdb, uint32_t segment, uint32_t offset,
                 uint32_t *address_ret);
/* Find the ranges of the image to which the source's code from `start` to `end` was moved,
 * in the order of the image: several if the code was cut or copied, none if it was removed.
 * *steps grows by the entries of the omap that were visited. False where memory ran out. */
bool pdb_find_moved(const gsym_pdb *pdb, uint32_t start, uint32_t end,
                    pdb_moved_list *ret, uint64_t *steps);
/* Return the number of ranges from `first` on that are adjacent in the image, and their
 * size. */
size_t pdb_moved_run(const pdb_moved_list *moved, size_t first, uint32_t *size_ret);

/* ---- names of source files (source_names.c) ------------------------------------------ */

/* Return the string of /names at an offset; "" for an invalid offset. */
const char *pdb_name_at(const gsym_pdb *pdb, uint32_t offset, size_t *size_ret);

/* ---- subsections of C13, and ids that modules share (shared_ids.c) ------------------- */

enum pdb_subsection_kind {
    DEBUG_S_LINES = 0xf2,
    DEBUG_S_FILECHKSMS = 0xf4,
    DEBUG_S_INLINEELINES = 0xf6,
    DEBUG_S_CROSSSCOPEIMPORTS = 0xf7,
    DEBUG_S_CROSSSCOPEEXPORTS = 0xf8
};

/* Read the next subsection. False at the end, or if it is damaged, which fails the
 * cursor. */
static inline bool pdb_next_subsection(cursor *c, uint32_t *kind_ret, cursor *content_ret) {
    uint32_t size;
    if (cursor_left(c) < 8) return false;
    *kind_ret = cursor_u32_unchecked(c);
    size = cursor_u32_unchecked(c);
    *content_ret = *c;
    if (!cursor_need(c, size)) return false;
    content_ret->end = c->at + size;
    c->at += size;
    if (size % 4 != 0 && cursor_left(c) > 0) cursor_skip(c, 4 - size % 4);
    return true;
}

uint64_t pdb_module_name_hash(const char *name, size_t size);
/* Read which ids modules export, if the program was optimized as a whole. */
gsym_status pdb_exports_read(gsym_pdb *pdb, gsym_error *error);
/* Find the id to which a reference to another module leads; `imports` is the subsection
 * with these references. False if the id is unknown. */
bool pdb_import(const gsym_pdb *pdb, cursor imports, uint32_t reference, uint32_t *id_ret);
static inline bool pdb_is_import(uint32_t id) { return id >> 31 != 0; }

/* ---- records of symbols -------------------------------------------------------------- */

/* In kinds below S_ST_MAX, which compilers wrote before 2002, a name begins with its
 * size. */
enum pdb_symbol_kind {
    S_COMPILE = 0x0001,
    S_END = 0x0006,
    S_THUNK32_ST = 0x0206,
    S_BLOCK32_ST = 0x0207,
    S_WITH32_ST = 0x0208,
    S_PUB32_ST = 0x1009,
    S_LPROC32_ST = 0x100a,
    S_GPROC32_ST = 0x100b,
    S_COMPILE2_ST = 0x1013,
    S_GMANPROC_ST = 0x101a,
    S_LMANPROC_ST = 0x101b,
    S_ST_MAX = 0x1100,
    S_THUNK32 = 0x1102,
    S_BLOCK32 = 0x1103,
    S_WITH32 = 0x1104,
    S_PUB32 = 0x110e,
    S_LPROC32 = 0x110f,
    S_GPROC32 = 0x1110,
    S_COMPILE2 = 0x1116,
    S_GMANPROC = 0x112a,
    S_LMANPROC = 0x112b,
    S_TRAMPOLINE = 0x112c,
    S_SEPCODE = 0x1132,
    S_COMPILE3 = 0x113c,
    S_LPROC32_ID = 0x1146,
    S_GPROC32_ID = 0x1147,
    S_INLINESITE = 0x114d,
    S_INLINESITE_END = 0x114e,
    S_PROC_ID_END = 0x114f,
    S_LPROC32_DPC = 0x1155,
    S_LPROC32_DPC_ID = 0x1156,
    S_INLINESITE2 = 0x115d
};

typedef struct pdb_symbol {
    uint32_t kind;
    cursor c; /* the bytes after the kind */
} pdb_symbol;

/* Read the next symbol. False at the end, or if it is damaged: the cursor has failed. */
static inline bool pdb_next_symbol(cursor *c, pdb_symbol *ret) {
    uint32_t size;
    if (cursor_left(c) == 0) return false;
    size = cursor_u16(c);
    ret->c = *c;
    if (size < 2 || !cursor_need(c, size)) {
        c->failed = true;
        return false;
    }
    ret->c.end = c->at + size;
    ret->kind = cursor_u16(&ret->c);
    c->at += size;
    return true;
}

/* Return the name at the end of a record; its NUL may be missing. */
static inline const char *pdb_symbol_name(cursor *c, size_t *size_ret) {
    const char *name = (const char *)c->at;
    const void *nul = memchr(name, 0, cursor_left(c));
    *size_ret = nul == NULL ? cursor_left(c) : (size_t)((const char *)nul - name);
    return name;
}

/* Skip the size in front of the name of an old kind of symbol. */
static inline void pdb_skip_to_name(const pdb_symbol *symbol, cursor *c) {
    uint8_t size;
    if (symbol->kind >= S_ST_MAX) return;
    size = cursor_u8(c);
    if (cursor_need(c, size)) c->end = c->at + size;
}

/* A symbol for code. */
typedef struct pdb_code {
    uint32_t segment, offset, size;
    uint32_t type;
    uint32_t parent_segment, parent_offset; /* of S_SEPCODE */
    cursor name; /* a failed cursor if the symbol is cut off */
} pdb_code;

/* Read a symbol for code; false for a symbol of another kind. */
bool pdb_read_code(const pdb_symbol *symbol, pdb_code *ret);

#endif
