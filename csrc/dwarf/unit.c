/* unit.c - read the headers of units and their root DIEs. */
#include "base/system.h"
#include "dwarf/unit.h"
#include "dwarf/values.h"

/* ---- headers --------------------------------------------------------------------- */

bool dwarf_read_unit_header(cursor *c, dwarf_unit_header *header) {
    uint64_t length;
    header->offset = cursor_offset(c);
    length = dwarf_read_length(c, &header->offset_size);
    if (c->failed || length > cursor_left(c)) return false;
    header->end = cursor_offset(c) + length;
    header->version = cursor_u16(c);
    header->type = DW_UT_compile;
    if (header->version >= 5) {
        header->type = cursor_u8(c);
        header->address_size = cursor_u8(c);
        header->abbrev_offset = cursor_uint(c, header->offset_size);
        if (header->type == DW_UT_skeleton || header->type == DW_UT_split_compile)
            header->signature = cursor_u64(c);
    } else {
        header->abbrev_offset = cursor_uint(c, header->offset_size);
        header->address_size = cursor_u8(c);
        if (header->is_in_types) header->type = DW_UT_type;
    }
    if (dwarf_is_type_unit(header)) {
        header->signature = cursor_u64(c);
        header->type_offset = cursor_uint(c, header->offset_size);
    }
    header->header_size = (uint8_t)(cursor_offset(c) - header->offset);
    return !c->failed && header->offset + header->header_size <= header->end;
}

bool dwarf_is_known_unit(const dwarf_unit_header *header) {
    return header->version >= 2 && header->version <= 6 &&
           (header->address_size == 8 || header->address_size == 4 ||
            header->address_size == 2);
}

static bool add_unit(unit_list *units, const dwarf_unit_header *header,
                     dwarf_unit_visit *visit, void *context) {
    return LIST_ADD(*units, *header) && (visit == NULL || visit(context, header));
}

/* Release the pages of a section up to `end`, which was scanned: reading a header also maps
 * the pages around it. */
static void release_passed_pages(const dwarf_bytes *section, uint64_t end,
                                 uint64_t *released) {
    if (!section->is_file_mapping || end - *released < PAGES_DROP_SIZE) return;
    pages_release(section->data + *released, (size_t)(end - *released));
    *released = end;
}

static bool is_relocated(const dwarf_bytes *section, const dwarf_unit_header *header) {
    return header->end <= section->distrusted.start ||
           header->offset >= section->distrusted.end;
}

static gsym_status scan_section(const dwarf_input *input, gsym_debug_section section,
                                unit_list *units, unit_list *type_units,
                                dwarf_unit_visit *visit, void *context,
                                warning_list *warnings, gsym_error *error) {
    const dwarf_bytes *bytes = &input->sections[section];
    cursor c = cursor_at(bytes->data, bytes->size, 0, input->big_endian);
    uint64_t released = 0;
    while (cursor_left(&c) > 0) {
        dwarf_unit_header header = {.is_in_types = section == GSYM_DEBUG_TYPES};
        uint64_t offset = cursor_offset(&c);
        release_passed_pages(bytes, offset, &released);
        if (!dwarf_read_unit_header(&c, &header)) {
            if (header.end <= offset) {
                dwarf_warn(warnings, GSYM_WARN_UNIT_SKIPPED, offset, cursor_left(&c));
                return GSYM_OK;
            }
            header.version = 0;
        }
        c = cursor_at(bytes->data, bytes->size, header.end, input->big_endian);
        if (!is_relocated(bytes, &header)) {
            dwarf_warn(warnings, GSYM_WARN_UNIT_NOT_RELOCATED, offset, header.end);
            continue;
        }
        if (!dwarf_is_known_unit(&header)) {
            dwarf_warn(warnings, GSYM_WARN_UNIT_SKIPPED, offset, header.version);
            continue;
        }
        if ((section == GSYM_DEBUG_INFO && !add_unit(units, &header, visit, context)) ||
            (dwarf_is_type_unit(&header) && !LIST_ADD(*type_units, header)))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

static int compare_signatures(const void *left, const void *right) {
    const dwarf_unit_header *a = left, *b = right;
    if (a->signature != b->signature) return a->signature < b->signature ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

gsym_status dwarf_scan_units(const dwarf_input *input, unit_list *units,
                             unit_list *type_units, dwarf_unit_visit *visit, void *context,
                             warning_list *warnings, gsym_error *error) {
    GSYM_TRY(scan_section(input, GSYM_DEBUG_INFO, units, type_units, visit, context,
                          warnings, error));
    GSYM_TRY(scan_section(input, GSYM_DEBUG_TYPES, units, type_units, NULL, NULL, warnings,
                          error));
    if (type_units->count > 1)
        qsort(type_units->items, type_units->count, sizeof *type_units->items,
              compare_signatures);
    return GSYM_OK;
}

const dwarf_unit_header *dwarf_unit_holding(const dwarf_input *input, uint64_t offset) {
    size_t low = 0;
    const dwarf_unit_header *header;
    SEARCH_SORTED(low, input->unit_count, input->units[middle].end <= offset);
    if (low == input->unit_count) return NULL;
    header = &input->units[low];
    return header->offset + header->header_size <= offset ? header : NULL;
}

/* ---- the root DIE ------------------------------------------------------------------ */

/* Return the older number of a language that version 6 names; 0 for languages that are
 * treated alike. */
static uint64_t language_named(uint64_t name) {
    switch (name) {
        case DW_LNAME_Ada: return DW_LANG_Ada95;
        case DW_LNAME_C: return DW_LANG_C99;
        case DW_LNAME_Go: return DW_LANG_Go;
        case DW_LNAME_Assembly: return DW_LANG_Assembly;
        default: return 0;
    }
}

cursor dwarf_unit_cursor(const dwarf_unit *unit, uint64_t offset) {
    const dwarf_bytes *section = &unit->input->sections[unit->section];
    return cursor_at(section->data, (size_t)unit->header->end, offset,
                     unit->input->big_endian);
}

static uint64_t base_of(const dwarf_fields *fields, enum dwarf_field field,
                        uint64_t otherwise) {
    return dwarf_has(fields, field) ? fields->raw[field] : otherwise;
}

/* Return the offset of the entries of the table at `start`, whose header has `tail` bytes
 * after its length. */
static uint64_t after_header(uint64_t start, uint8_t offset_size, unsigned tail) {
    return start + (offset_size == 8 ? 12 : 4) + tail;
}

/* Return the size of the offsets in the table at `start`, which its length implies; 0 if no
 * table is there. */
static uint8_t offset_size_at(const dwarf_unit *unit, gsym_debug_section which,
                              uint64_t start, unsigned tail) {
    cursor c = dwarf_section(unit->input, which, start);
    uint8_t size;
    uint64_t length = dwarf_read_length(&c, &size);
    return length >= tail && length <= cursor_left(&c) && cursor_u16(&c) >= 5 ? size : 0;
}

/* Find the table of offsets of a unit, in .debug_str_offsets or .debug_rnglists. An
 * attribute of the unit says where its entries start; without it, the table is at `start`.
 * The header of the table gives the size of an entry, which may differ from the offset size
 * of the unit: llvm-dwp widens only tables of strings. Before version 5 there is no
 * header. */
static void read_offsets(dwarf_unit *unit, const dwarf_fields *fields,
                         enum dwarf_field field, gsym_debug_section which, uint64_t start,
                         unsigned tail, uint64_t *base_ret, uint8_t *size_ret) {
    const dwarf_unit_header *header = unit->header;
    uint64_t base = start + base_of(fields, field, 0);
    uint8_t size = 0;
    if (header->version >= 5 && !dwarf_has(fields, field)) {
        size = offset_size_at(unit, which, start, tail);
        base = after_header(start, size == 0 ? header->offset_size : size, tail);
    } else if (header->version >= 5) {
        /* Try the longer header first: its end may look like the shorter one. */
        size = offset_size_at(unit, which, base - after_header(0, 8, tail), tail);
        if (size != 8)
            size = offset_size_at(unit, which, base - after_header(0, 4, tail), tail);
    }
    *base_ret = base;
    *size_ret = size == 0 ? header->offset_size : size;
}

/* Return the offset of the addresses of a unit of version 5 that does not say where they
 * are: those of the only table. With several, as llvm-dwarfutil leaves them, no index has
 * an address. */
static uint64_t only_addresses(const dwarf_unit *unit) {
    uint8_t size;
    cursor c = dwarf_section(unit->code, GSYM_DEBUG_ADDR, 0);
    uint64_t length = dwarf_read_length(&c, &size);
    return length == cursor_left(&c) ? after_header(0, size, 4)
                                     : unit->code->sections[GSYM_DEBUG_ADDR].size;
}

static void read_bases(dwarf_unit *unit, const dwarf_fields *fields,
                       const dwarf_unit *skeleton) {
    const dwarf_unit_header *header = unit->header;
    read_offsets(unit, fields, FIELD_STR_OFFSETS_BASE, GSYM_DEBUG_STR_OFFSETS,
                 header->str_offsets_start, 4, &unit->str_offsets_base,
                 &unit->str_offset_size);
    read_offsets(unit, fields, FIELD_RNGLISTS_BASE, GSYM_DEBUG_RNGLISTS,
                 header->rnglists_start, 8, &unit->rnglists_base,
                 &unit->rnglist_offset_size);
    unit->addr_base = base_of(fields, FIELD_ADDR_BASE, 0);
    if (header->version >= 5 && !dwarf_has(fields, FIELD_ADDR_BASE))
        unit->addr_base = only_addresses(unit);
    unit->ranges_base = 0; /* the attribute of a skeleton is for the DIEs of its split
                              unit */
    unit->split_ranges_base = base_of(fields, FIELD_RANGES_BASE, 0);
    if (skeleton == NULL) return;
    unit->addr_base = skeleton->addr_base;
    unit->ranges_base = skeleton->split_ranges_base;
    unit->low_pc = skeleton->low_pc;
}

static void read_dwo_id(dwarf_unit *unit, const dwarf_fields *fields) {
    const dwarf_unit_header *header = unit->header;
    unit->has_dwo_id =
        header->type == DW_UT_skeleton || header->type == DW_UT_split_compile;
    unit->dwo_id = header->signature;
    if (header->version >= 5 || !dwarf_has(fields, FIELD_DWO_ID)) return;
    unit->has_dwo_id = true;
    unit->dwo_id = fields->raw[FIELD_DWO_ID];
}

bool dwarf_unit_open(dwarf_unit *unit, const dwarf_input *input,
                     const dwarf_unit_header *header, const dwarf_unit *skeleton,
                     abbrev_cache *abbrevs, warning_list *warnings) {
    uint64_t root = header->offset + header->header_size;
    const abbrev *a = NULL;
    dwarf_fields fields;
    cursor c;
    memset(unit, 0, sizeof *unit);
    unit->input = input;
    unit->code = skeleton == NULL ? input : skeleton->input;
    unit->header = header;
    unit->section = header->is_in_types ? GSYM_DEBUG_TYPES : GSYM_DEBUG_INFO;
    unit->abbrevs = abbrev_cache_get(abbrevs, input, header);
    if (unit->abbrevs == NULL) return false;
    if (unit->abbrevs->is_damaged)
        dwarf_warn(warnings,
                   unit->abbrevs->is_cut ? GSYM_WARN_LIMIT : GSYM_WARN_ABBREVIATIONS,
                   header->offset, header->abbrev_offset);
    c = dwarf_unit_cursor(unit, root);
    a = abbrev_find(unit->abbrevs, cursor_uleb(&c));
    if (c.failed || a == NULL || !abbrev_read(unit->abbrevs, a, &c, &fields)) {
        /* A unit of padding has no DIE, which is not an error. */
        c = dwarf_unit_cursor(unit, root);
        if (cursor_u8(&c) != 0)
            dwarf_warn(warnings, GSYM_WARN_DIE_DAMAGED, root, 0);
        return false;
    }
    unit->first_child = cursor_offset(&c);
    unit->has_code = dwarf_has(&fields, FIELD_LOW_PC) || dwarf_has(&fields, FIELD_RANGES);
    unit->tag = a->tag;
    unit->has_children = a->has_children;
    read_bases(unit, &fields, skeleton);
    if (dwarf_has(&fields, FIELD_LANGUAGE))
        unit->language = fields.raw[FIELD_LANGUAGE];
    else if (dwarf_has(&fields, FIELD_LANGUAGE_NAME))
        unit->language = language_named(fields.raw[FIELD_LANGUAGE_NAME]);
    if (dwarf_has(&fields, FIELD_STMT_LIST)) {
        unit->has_stmt_list = true;
        unit->stmt_list = fields.raw[FIELD_STMT_LIST];
    }
    if (dwarf_has(&fields, FIELD_LOW_PC))
        (void)dwarf_address_value(unit, fields.form[FIELD_LOW_PC], fields.raw[FIELD_LOW_PC],
                                  &unit->low_pc);
    if (dwarf_has(&fields, FIELD_COMP_DIR))
        unit->comp_dir = dwarf_string_value(unit, fields.form[FIELD_COMP_DIR],
                                            fields.raw[FIELD_COMP_DIR]);
    if (dwarf_has(&fields, FIELD_DWO_NAME))
        unit->dwo_name = dwarf_string_value(unit, fields.form[FIELD_DWO_NAME],
                                            fields.raw[FIELD_DWO_NAME]);
    read_dwo_id(unit, &fields);
    return true;
}

uint64_t dwarf_other_sibling(const dwarf_unit *unit, const abbrev *a,
                             const cursor *attributes) {
    cursor c = *attributes;
    dwarf_fields fields;
    uint64_t offset;
    if (!a->has_sibling) return 0;
    if (a->sibling_size != 0) {
        cursor_skip(&c, a->sibling_at);
        offset = unit->header->offset + cursor_uint(&c, a->sibling_size);
        return c.failed ? 0 : offset;
    }
    if (!abbrev_read(unit->abbrevs, a, &c, &fields) || !dwarf_has(&fields, FIELD_SIBLING) ||
        !dwarf_reference_value(unit, fields.form[FIELD_SIBLING], fields.raw[FIELD_SIBLING],
                               &offset))
        return 0;
    return offset;
}
