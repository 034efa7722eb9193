/* pdb.c - read the streams of a PDB that describe the others: PDB, DBI, section headers,
 * and the omap, which says where an optimizer moved code. */
#include "pdb/pdb.h"
#include "containers/pe.h"

enum {
    STREAM_PDB = 1,
    STREAM_TPI = 2,
    STREAM_DBI = 3,
    STREAM_IPI = 4,
    DBI_HEADER_SIZE = 64,
    DBI_VERSION_V60 = 19970606, /* the first version whose modules have MODULE_SIZE */
    MODULE_SIZE = 64, /* bytes of an entry for a module, up to its two names */
    SECTION_SIZE = 40,
    OMAP_SIZE = 8,
    STRIPPED = 2, /* bit of the flags in DBI */
    HOLDS_CODE = 0x20000020 /* IMAGE_SCN_CNT_CODE, IMAGE_SCN_MEM_EXECUTE */
};

/* Streams that the optional header of DBI names. */
enum { DEBUG_OMAP_TO_SRC = 3, DEBUG_OMAP_FROM_SRC = 4, DEBUG_SECTIONS = 5,
       DEBUG_ORIGINAL_SECTIONS = 10, DEBUG_COUNT = 11 };

/* Features that the PDB stream lists. Stream 4 is the IPI stream only if one of these is
 * listed; before Visual Studio 2012 it may be any stream. */
enum { FEATURE_VC110 = 20091201, FEATURE_VC140 = 20140508 };
#define FEATURE_FASTLINK 0x494e494d /* MinimalDebugInfo */

#define ADDRESS_END 0x80000000u /* no image is larger */

#define NAMES_MAGIC 0xeffeeffe
#define LTCG "* CIL *" /* name of the module with code that the linker generated */
#define LINKER "* Linker *"

static gsym_status fail_at(const gsym_pdb *pdb, uint32_t stream, const char *what,
                           gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, msf_file_offset(&pdb->file, stream, 0),
                     "%s in stream %u is damaged", what, stream);
}

/* ---- the PDB stream ------------------------------------------------------------------ */

/* Move past a set of bits, stored as a count of words and the words. *bits_ret is a cursor
 * at the words. */
static void read_bits(cursor *c, cursor *bits_ret, uint32_t *count_ret) {
    *count_ret = cursor_u32(c);
    *bits_ret = *c;
    cursor_skip(c, (uint64_t)*count_ret * 4);
}

/* Return the number of the stream /names, or MSF_NO_STREAM. The cursor moves over the table
 * of named streams. */
static uint32_t find_names(cursor *c) {
    static const char wanted[] = "/names";
    uint32_t size = cursor_u32(c), count, words, found = MSF_NO_STREAM;
    cursor strings = *c, bits;
    cursor_skip(c, size);
    if (!c->failed) strings.end = strings.at + size;
    count = cursor_u32(c);
    cursor_skip(c, 4); /* capacity */
    read_bits(c, &bits, &words);
    read_bits(c, &bits, &words);
    for (uint32_t i = 0; i < count && !c->failed; ++i) {
        cursor name = strings;
        uint32_t offset = cursor_u32(c), stream = cursor_u32(c);
        cursor_skip(&name, offset);
        if (cursor_left(&name) >= sizeof wanted &&
            memcmp(name.at, wanted, sizeof wanted) == 0)
            found = stream;
    }
    return found;
}

static gsym_status open_names(gsym_pdb *pdb, uint32_t stream, gsym_error *error) {
    uint32_t size = msf_stream_size(&pdb->file, stream), bytes;
    cursor c;
    pdb->names = cursor_at(NULL, 0, 0, false);
    if (size == 0) return GSYM_OK;
    c = msf_read(&pdb->file, stream, 0, size, &pdb->names_copy);
    if (pdb->names_copy.failed) return gsym_fail_memory(error);
    if (cursor_u32(&c) != NAMES_MAGIC)
        return fail_at(pdb, stream, "the header of the names", error);
    cursor_skip(&c, 4); /* version of the hash */
    bytes = cursor_u32(&c);
    if (!cursor_need(&c, bytes))
        return fail_at(pdb, stream, "the header of the names", error);
    pdb->names = c;
    pdb->names.end = c.at + bytes;
    return GSYM_OK;
}

static gsym_status read_info(gsym_pdb *pdb, gsym_error *error) {
    uint32_t size = msf_stream_size(&pdb->file, STREAM_PDB), names;
    buffer copy = {0};
    cursor c = msf_read(&pdb->file, STREAM_PDB, 0, size, &copy);
    bool is_fastlink = false;
    uint32_t feature;
    cursor_skip(&c, 4); /* version */
    pdb->header.signature = cursor_u32(&c);
    pdb->header.age = cursor_u32(&c);
    if (cursor_need(&c, sizeof pdb->header.guid)) {
        memcpy(pdb->header.guid, c.at, sizeof pdb->header.guid);
        cursor_skip(&c, sizeof pdb->header.guid);
    }
    names = find_names(&c);
    if (!c.failed) cursor_skip(&c, 4); /* number of the next name */
    while (!c.failed && cursor_left(&c) >= 4) {
        feature = cursor_u32(&c);
        is_fastlink |= feature == FEATURE_FASTLINK;
        pdb->has_ids |= feature == FEATURE_VC110 || feature == FEATURE_VC140;
    }
    buffer_deinit(&copy);
    if (copy.failed) return gsym_fail_memory(error);
    if (c.failed) return fail_at(pdb, STREAM_PDB, "the PDB stream", error);
    if (is_fastlink)
        return gsym_fail(error, GSYM_E_UNSUPPORTED,
                         msf_file_offset(&pdb->file, STREAM_PDB, 0),
                         "made with /DEBUG:FASTLINK: the debug information is in the "
                         "object files; link with /DEBUG:FULL or use mspdbcmf");
    return open_names(pdb, names, error);
}

/* ---- sections ------------------------------------------------------------------------ */

static gsym_status read_sections(gsym_pdb *pdb, uint32_t stream, gsym_error *error) {
    uint32_t size = msf_stream_size(&pdb->file, stream);
    buffer copy = {0};
    cursor c = msf_read(&pdb->file, stream, 0, size, &copy);
    if (!copy.failed && !LIST_RESERVE(pdb->sections, size / SECTION_SIZE))
        copy.failed = true;
    while (!copy.failed && cursor_left(&c) >= SECTION_SIZE) {
        pdb_section section;
        cursor_skip(&c, 8); /* name */
        section.size = cursor_u32_unchecked(&c);
        section.address = cursor_u32_unchecked(&c);
        cursor_skip(&c, 20);
        section.holds_code = (cursor_u32_unchecked(&c) & HOLDS_CODE) != 0;
        pdb->sections.items[pdb->sections.count++] = section;
    }
    buffer_deinit(&copy);
    return copy.failed ? gsym_fail_memory(error) : GSYM_OK;
}

/* ---- omap ---------------------------------------------------------------------------- */

typedef struct omap_entry {
    uint32_t at; /* ascends from entry to entry; an entry ends where the next one begins */
    uint32_t to;
} omap_entry;

static int compare_by_image(const void *left, const void *right) {
    const pdb_moved *a = left, *b = right;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int compare_by_source(const void *left, const void *right) {
    const pdb_moved *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return compare_by_image(left, right);
}

/* Add the move that an entry describes. For code that was removed, or that the source does
 * not have, an entry has 0 or a mark such as 0x80000000 or 0xffffffff in place of an
 * address; it is no move. */
static void add_moved(gsym_pdb *pdb, const omap_entry *entry, uint32_t end,
                      bool is_to_source) {
    uint32_t size = end - entry->at;
    uint32_t start = is_to_source ? entry->to : entry->at;
    if (entry->to == 0 || entry->to >= ADDRESS_END || entry->at >= end) return;
    if (size > ADDRESS_END - entry->to) size = ADDRESS_END - entry->to;
    pdb->moved.items[pdb->moved.count++] = (pdb_moved){
        .start = start, .end = start + size, .to = is_to_source ? entry->at : entry->to};
}

/* Cut moves that overlap in the image, where each address has one source: a move then ends
 * where the next one starts. */
static void clip_moved(gsym_pdb *pdb) {
    pdb_moved *items = pdb->moved.items;
    size_t count = pdb->moved.count;
    pdb->moved.count = 0;
    if (count > 1) qsort(items, count, sizeof *items, compare_by_image);
    for (size_t i = 0; i < count; ++i) {
        pdb_moved moved = items[i];
        if (i + 1 < count && items[i + 1].to - moved.to < moved.end - moved.start)
            moved.end = moved.start + (items[i + 1].to - moved.to);
        if (moved.end > moved.start) items[pdb->moved.count++] = moved;
    }
}

static void sort_moved(gsym_pdb *pdb) {
    pdb_moved *items = pdb->moved.items;
    uint32_t reach = 0;
    if (pdb->moved.count > 1)
        qsort(items, pdb->moved.count, sizeof *items, compare_by_source);
    for (size_t i = 0; i < pdb->moved.count; ++i) {
        if (items[i].end > reach) reach = items[i].end;
        items[i].reach = reach;
    }
}

/* Read one of the two tables of moved code: with is_to_source, the one that translates
 * addresses of the image, which debuggers use; else the one that translates addresses of
 * the source. */
static gsym_status read_omap(gsym_pdb *pdb, uint32_t stream, bool is_to_source,
                             gsym_error *error) {
    uint32_t size = msf_stream_size(&pdb->file, stream);
    buffer copy = {0};
    omap_entry entry = {0};
    bool ascends = true;
    cursor c;
    if (pdb->has_omap || size < OMAP_SIZE) return GSYM_OK;
    c = msf_read(&pdb->file, stream, 0, size, &copy);
    pdb->has_omap = true;
    pdb->omap_size = size / OMAP_SIZE;
    if (!copy.failed && !LIST_RESERVE(pdb->moved, pdb->omap_size)) copy.failed = true;
    while (!copy.failed && cursor_left(&c) >= OMAP_SIZE) {
        uint32_t at = cursor_u32_unchecked(&c);
        ascends &= entry.at <= at;
        add_moved(pdb, &entry, at, is_to_source);
        entry = (omap_entry){at, cursor_u32_unchecked(&c)};
    }
    buffer_deinit(&copy);
    if (copy.failed) return gsym_fail_memory(error);
    if (!ascends) return fail_at(pdb, stream, "the omap", error);
    add_moved(pdb, &entry, ADDRESS_END, is_to_source);
    if (!is_to_source) clip_moved(pdb);
    sort_moved(pdb);
    return GSYM_OK;
}

bool pdb_find_moved(const gsym_pdb *pdb, uint32_t start, uint32_t end, pdb_moved_list *ret,
                    uint64_t *steps) {
    const pdb_moved *items = pdb->moved.items;
    size_t at = 0, first = ret->count;
    if (!pdb->has_omap) return LIST_ADD(*ret, (pdb_moved){start, end, end, start});
    SEARCH_SORTED(at, pdb->moved.count, items[middle].reach <= start);
    for (; at < pdb->moved.count && items[at].start < end; ++at) {
        pdb_moved moved = items[at];
        ++*steps;
        if (moved.end <= start) continue;
        if (moved.start < start) {
            moved.to += start - moved.start;
            moved.start = start;
        }
        if (moved.end > end) moved.end = end;
        if (!LIST_ADD(*ret, moved)) return false;
    }
    if (ret->count - first > 1)
        qsort(ret->items + first, ret->count - first, sizeof *items, compare_by_image);
    return true;
}

size_t pdb_moved_run(const pdb_moved_list *moved, size_t first, uint32_t *size_ret) {
    const pdb_moved *items = moved->items;
    uint32_t end = items[first].to;
    size_t at = first;
    for (; at < moved->count && items[at].to == end; ++at)
        end += items[at].end - items[at].start;
    *size_ret = end - items[first].to;
    return at - first;
}

/* ---- addresses ----------------------------------------------------------------------- */

bool pdb_address(const gsym_pdb *pdb, uint32_t segment, uint32_t offset,
                 uint32_t *address_ret) {
    const pdb_section *section;
    if (segment == 0 || segment > pdb->sections.count) return false;
    section = &pdb->sections.items[segment - 1];
    if (!section->holds_code || offset >= section->size ||
        section->address > UINT32_MAX - offset)
        return false;
    *address_ret = section->address + offset;
    if (pdb->header.machine == IMAGE_FILE_MACHINE_ARMNT) *address_ret &= ~1u; /* Thumb */
    return true;
}

/* ---- DBI ----------------------------------------------------------------------------- */

typedef struct dbi_header {
    uint32_t module_size;
    uint64_t debug_offset; /* of the optional header in the stream */
    uint32_t debug_size;
} dbi_header;

static gsym_status read_dbi_header(gsym_pdb *pdb, dbi_header *header, gsym_error *error) {
    buffer copy = {0};
    cursor c = msf_read(&pdb->file, STREAM_DBI, 0, DBI_HEADER_SIZE, &copy);
    bool has_version = cursor_u32(&c) == UINT32_MAX;
    uint32_t version = cursor_u32(&c);
    uint64_t offset = DBI_HEADER_SIZE;
    pdb->header.age = cursor_u32(&c);
    cursor_skip(&c, 8); /* GSI, build, PSI, DLL */
    pdb->symbol_stream = cursor_u16(&c);
    cursor_skip(&c, 2);
    header->module_size = cursor_u32(&c);
    offset += header->module_size;
    for (unsigned i = 0; i < 4; ++i) offset += cursor_u32(&c);
    cursor_skip(&c, 4); /* type server for MFC */
    header->debug_size = cursor_u32(&c);
    header->debug_offset = offset + cursor_u32(&c); /* after the edit-and-continue part */
    pdb->header.is_stripped = (cursor_u16(&c) & STRIPPED) != 0;
    pdb->header.machine = cursor_u16(&c);
    buffer_deinit(&copy);
    if (copy.failed) return gsym_fail_memory(error);
    if (c.failed || !has_version)
        return fail_at(pdb, STREAM_DBI, "the DBI header", error);
    if (version < DBI_VERSION_V60)
        return gsym_fail(error, GSYM_E_UNSUPPORTED,
                         msf_file_offset(&pdb->file, STREAM_DBI, 4),
                         "its DBI stream is of version %u, of before Visual C++ 6; link "
                         "the program again", version);
    return GSYM_OK;
}

/* Note that a stream belongs to a module, and fail if another module has it: a hostile file
 * could give one stream to all modules. */
static gsym_status take_stream(gsym_pdb *pdb, uint32_t stream, gsym_error *error) {
    uint64_t ignored;
    if (number_map_find(&pdb->taken, stream, &ignored))
        return gsym_fail(error, GSYM_E_FORMAT, msf_file_offset(&pdb->file, stream, 0),
                         "stream %u is of two modules", stream);
    return number_map_set(&pdb->taken, stream, 0) ? GSYM_OK : gsym_fail_memory(error);
}

static gsym_status read_modules(gsym_pdb *pdb, uint32_t size, gsym_error *error) {
    buffer copy = {0};
    cursor c = msf_read(&pdb->file, STREAM_DBI, DBI_HEADER_SIZE, size, &copy);
    gsym_status status = copy.failed ? gsym_fail_memory(error) : GSYM_OK;
    while (status == GSYM_OK && cursor_left(&c) >= MODULE_SIZE) {
        pdb_module module = {0};
        size_t name_size, ignored;
        const char *name;
        cursor_skip(&c, 34);
        module.stream = cursor_u16(&c);
        module.symbol_size = cursor_u32(&c);
        module.c11_size = cursor_u32(&c);
        module.c13_size = cursor_u32(&c);
        cursor_skip(&c, 16);
        name = cursor_cstring(&c, &name_size);
        (void)cursor_cstring(&c, &ignored); /* the library that it is from */
        module.name_hash = pdb_module_name_hash(name, name_size);
        pdb->is_ltcg |= name_size == strlen(LTCG) && memcmp(name, LTCG, name_size) == 0;
        if (name_size == strlen(LINKER) && memcmp(name, LINKER, name_size) == 0)
            pdb->linker = module;
        cursor_skip(&c, (0 - cursor_offset(&c)) % 4);
        if (!LIST_ADD(pdb->modules, module)) status = gsym_fail_memory(error);
        if (status == GSYM_OK && module.stream != MSF_NO_STREAM)
            status = take_stream(pdb, module.stream, error);
    }
    buffer_deinit(&copy);
    if (status != GSYM_OK || !c.failed) return status;
    return fail_at(pdb, STREAM_DBI, "the list of modules", error);
}

/* Read section headers and omap. A copy of the original headers exists only if an optimizer
 * changed the sections. */
static gsym_status read_debug_streams(gsym_pdb *pdb, const dbi_header *header,
                                      gsym_error *error) {
    uint32_t streams[DEBUG_COUNT], sections;
    buffer copy = {0};
    cursor c = msf_read(&pdb->file, STREAM_DBI, header->debug_offset, header->debug_size,
                        &copy);
    for (unsigned i = 0; i < DEBUG_COUNT; ++i)
        streams[i] = cursor_left(&c) >= 2 ? cursor_u16(&c) : MSF_NO_STREAM;
    buffer_deinit(&copy);
    if (copy.failed) return gsym_fail_memory(error);
    if (c.failed) return fail_at(pdb, STREAM_DBI, "the optional DBI header", error);
    GSYM_TRY(read_omap(pdb, streams[DEBUG_OMAP_TO_SRC], true, error));
    GSYM_TRY(read_omap(pdb, streams[DEBUG_OMAP_FROM_SRC], false, error));
    sections = streams[DEBUG_ORIGINAL_SECTIONS];
    if (!pdb->has_omap || msf_stream_size(&pdb->file, sections) < SECTION_SIZE)
        sections = streams[DEBUG_SECTIONS];
    return read_sections(pdb, sections, error);
}

static gsym_status read_streams(gsym_pdb *pdb, gsym_error *error) {
    dbi_header header;
    GSYM_TRY(read_info(pdb, error));
    if (msf_stream_size(&pdb->file, STREAM_DBI) == 0)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, 0,
                         "a PDB of types alone, as compilers write them: convert the one "
                         "that the linker wrote");
    GSYM_TRY(read_dbi_header(pdb, &header, error));
    GSYM_TRY(read_modules(pdb, header.module_size, error));
    GSYM_TRY(read_debug_streams(pdb, &header, error));
    GSYM_TRY(pdb_exports_read(pdb, error));
    GSYM_TRY(pdb_types_open(&pdb->types, &pdb->file, STREAM_TPI, error));
    if (!pdb->has_ids) return GSYM_OK;
    return pdb_types_open(&pdb->ids, &pdb->file, STREAM_IPI, error);
}

/* ---- opening ------------------------------------------------------------------------- */

gsym_status gsym_pdb_open(const uint8_t *data, size_t size, uint32_t is_file_mapping,
                          gsym_pdb **pdb_ret, gsym_error *error) {
    gsym_pdb *pdb = calloc(1, sizeof *pdb);
    gsym_status status;
    if (pdb == NULL) return gsym_fail_memory(error);
    pdb->linker.stream = MSF_NO_STREAM;
    status = msf_open(&pdb->file, data, size, is_file_mapping != 0, error);
    if (status == GSYM_OK) status = read_streams(pdb, error);
    if (status != GSYM_OK) {
        gsym_pdb_close(pdb);
        return status;
    }
    *pdb_ret = pdb;
    return GSYM_OK;
}

void gsym_pdb_close(gsym_pdb *pdb) {
    if (pdb == NULL) return;
    msf_close(&pdb->file);
    pdb_types_close(&pdb->types);
    pdb_types_close(&pdb->ids);
    free(pdb->modules.items);
    free(pdb->sections.items);
    free(pdb->moved.items);
    buffer_deinit(&pdb->names_copy);
    number_map_deinit(&pdb->taken);
    number_map_deinit(&pdb->exporters);
    number_map_deinit(&pdb->exports);
    free(pdb);
}

void gsym_pdb_header_get(const gsym_pdb *pdb, gsym_pdb_header *header_ret) {
    *header_ret = pdb->header;
}

/* ---- streams by number --------------------------------------------------------------- */

uint32_t gsym_pdb_stream_size(const gsym_pdb *pdb, uint32_t stream) {
    return msf_stream_size(&pdb->file, stream);
}

gsym_status gsym_pdb_stream_read(const gsym_pdb *pdb, uint32_t stream, uint8_t *bytes,
                                 size_t size, gsym_error *error) {
    buffer copy = {0};
    cursor c = msf_read(&pdb->file, stream, 0, size, &copy);
    bool has_failed = copy.failed;
    bool is_whole = !has_failed && cursor_need(&c, size);
    if (is_whole && size > 0) memcpy(bytes, c.at, size);
    buffer_deinit(&copy);
    if (has_failed) return gsym_fail_memory(error);
    return is_whole ? GSYM_OK : fail_at(pdb, stream, "the end", error);
}
