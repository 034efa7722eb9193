/* go_search.c - find the pclntab of a Go binary. */
#include "sources/go.h"

enum {
    SCAN_STEP = 4,
    BUILD_INFO_STEP = 16,
    BUILD_INFO_REACH = 1 << 16,
    /* Limit: Candidates for a pclntab without a section of its own */
    MAX_CANDIDATES = 16
};

/* Limit: Words of a file that are searched for a pclntab and its module data */
LIMIT(SEARCH_STEPS, 1 << 16, 4);

/* ---- the table --------------------------------------------------------------------- */

/* Whether a section has Go's build information: at its start or, in a PE image, in its
 * first BUILD_INFO_REACH bytes. */
static bool has_build_info(const gsym_object *object, const gsym_object_section *section) {
    static const char mark[BUILD_INFO_STEP] = "\xff Go buildinf:";
    uint64_t reach = object->header.format == GSYM_OBJECT_PE ? BUILD_INFO_REACH : 1;
    cursor c = go_section_bytes(object, section);
    for (uint64_t at = 0; at < reach && cursor_left(&c) >= sizeof mark; at += sizeof mark) {
        if (memcmp(c.at, mark, strlen(mark)) == 0) return true;
        cursor_skip(&c, sizeof mark);
    }
    return false;
}

/* Whether to search all data for the table: it may be in another section, as in PE
 * files, and some tools damage the names of sections. Only Go binaries are searched. */
static bool may_hide_table(const gsym_object *object) {
    for (uint32_t i = 0; i < object->header.section_count; ++i) {
        gsym_object_section section;
        if (go_holds_data(object, i, &section) && has_build_info(object, &section))
            return true;
    }
    return false;
}

static gsym_status open_at(go_pclntab *table, const gsym_object *object,
                           const gsym_object_section *section, uint64_t offset,
                           uint32_t magic, gsym_error *error) {
    *table = (go_pclntab){.object = object,
                          .work_left = table->work_left,
                          .pointer_size = object->header.is_64 ? 8 : 4,
                          .address = section->address + (offset - section->offset),
                          .offset = offset,
                          .end = section->offset + section->size};
    return go_pclntab_read_header(table, magic, error);
}

/* Open the table in the section that is named for it. */
static gsym_status open_named(const gsym_object *object, go_pclntab *table,
                              bool *is_found_ret, gsym_error *error) {
    static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab",
                                        "__gopclntab"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        gsym_object_section section;
        uint32_t magic;
        GSYM_TRY(gsym_object_find_section(object, 0, names[i], strlen(names[i]), &section,
                                          error));
        if (!section.present || section.size == 0 ||
            section.compression != GSYM_COMPRESSION_NONE)
            continue;
        if (!go_pclntab_starts(go_section_bytes(object, &section), object, &magic))
            return gsym_fail(error, GSYM_E_FORMAT, section.offset,
                             "the pclntab does not start as one");
        *is_found_ret = true;
        return open_at(table, object, &section, section.offset, magic, error);
    }
    return GSYM_OK;
}

/* Search a section for tables, and open the first one that is sound; false if there is
 * none. */
static bool open_within(const gsym_object *object, const gsym_object_section *section,
                        unsigned *candidates_left, go_pclntab *table) {
    cursor c = go_section_bytes(object, section);
    if (!go_pclntab_spend(table, section->size / SCAN_STEP)) return false;
    for (; cursor_left(&c) >= GO_MAGIC_SIZE; cursor_skip(&c, SCAN_STEP)) {
        uint32_t magic;
        gsym_error ignored;
        if (!go_pclntab_starts(c, object, &magic) ||
            open_at(table, object, section, cursor_offset(&c), magic, &ignored) != GSYM_OK)
            continue;
        if (*candidates_left == 0) {
            table->work_left = 0;
            return false;
        }
        --*candidates_left;
        if (go_read_module(table)) return true;
    }
    return false;
}

gsym_status go_pclntab_open(const gsym_object *object, go_pclntab *table_ret,
                            bool *is_found_ret, gsym_error *error) {
    unsigned candidates_left = MAX_CANDIDATES;
    *is_found_ret = false;
    *table_ret = (go_pclntab){.work_left = LIMIT_OF(SEARCH_STEPS, object->size)};
    if (object->header.is_relocatable) return GSYM_OK;
    GSYM_TRY(open_named(object, table_ret, is_found_ret, error));
    if (*is_found_ret) {
        if (go_read_module(table_ret) || table_ret->text != 0) return GSYM_OK;
        return gsym_fail(error, GSYM_E_FORMAT, table_ret->offset,
                         "no module data with the start of the code of the pclntab");
    }
    if (!may_hide_table(object)) return GSYM_OK;
    for (uint32_t i = 0; i < object->header.section_count && !*is_found_ret; ++i) {
        gsym_object_section section;
        if (go_holds_data(object, i, &section))
            *is_found_ret = open_within(object, &section, &candidates_left, table_ret);
    }
    return GSYM_OK;
}
