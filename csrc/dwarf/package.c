/* package.c - find a unit by its signature: in a package (.dwp), with its parts of other
 * sections, or among the type units of a file.
 *
 * The index of a package is a hash table of signatures. Each leads to a row of offsets and
 * sizes, with one column for each section. The index is not copied: each request for a unit
 * reads it where it is.
 *
 * Source: DWARF 5, section 7.3.5; version 2 is GCC's, "DebugFissionDWP". */
#include "dwarf/package.h"

/* Kinds of columns. Only version 2 has COLUMN_TYPES, only version 5 COLUMN_RNGLISTS. */
enum column_kind {
    COLUMN_INFO = 1,
    COLUMN_TYPES = 2,
    COLUMN_ABBREV = 3,
    COLUMN_STR_OFFSETS = 6,
    COLUMN_RNGLISTS = 8,
    COLUMN_KINDS
};

#define MAX_COLUMNS 64  /* DWARF defines only 8 kinds of columns */
#define MAX_PROBES 1024 /* a sound table keeps a third of its slots empty */
#define NO_COLUMN UINT32_MAX

typedef struct package_index {
    cursor bytes; /* the complete section */
    uint32_t version;
    uint32_t column_count;
    uint32_t row_count;
    uint32_t slot_count;
    /* offsets of the tables in the section */
    uint64_t signatures;
    uint64_t row_numbers;
    uint64_t offsets;
    uint64_t sizes;
    uint32_t columns[COLUMN_KINDS]; /* number of the column of each kind, or NO_COLUMN */
} package_index;

bool dwarf_is_package(const dwarf_input *input) {
    return input->sections[GSYM_DEBUG_CU_INDEX].size > 0 ||
           input->sections[GSYM_DEBUG_TU_INDEX].size > 0;
}

static void read_columns(package_index *index, cursor *c) {
    for (unsigned kind = 0; kind < COLUMN_KINDS; ++kind) index->columns[kind] = NO_COLUMN;
    for (uint32_t i = 0; i < index->column_count; ++i) {
        uint32_t kind = cursor_u32(c);
        if (kind < COLUMN_KINDS) index->columns[kind] = i;
    }
    index->columns[index->version == 2 ? COLUMN_RNGLISTS : COLUMN_TYPES] = NO_COLUMN;
}

/* Open an index. False if there is none, or if it is damaged or has an unknown version. */
static bool open_index(package_index *index, const dwarf_input *input,
                       gsym_debug_section which) {
    cursor c = dwarf_section(input, which, 0);
    uint64_t table_size;
    index->bytes = c;
    index->version = cursor_u32(&c);
    if (index->version != 2) /* later versions have 2 bytes of version and 2 of padding */
        index->version = input->big_endian ? index->version >> 16 : index->version & 0xffff;
    index->column_count = cursor_u32(&c);
    index->row_count = cursor_u32(&c);
    index->slot_count = cursor_u32(&c);
    if ((index->version != 2 && index->version != 5) || index->slot_count == 0 ||
        index->column_count == 0 || index->column_count > MAX_COLUMNS)
        return false;
    index->signatures = cursor_offset(&c);
    cursor_skip(&c, UINT64_C(8) * index->slot_count);
    index->row_numbers = cursor_offset(&c);
    cursor_skip(&c, UINT64_C(4) * index->slot_count);
    read_columns(index, &c);
    table_size = UINT64_C(4) * index->column_count * index->row_count;
    index->offsets = cursor_offset(&c);
    index->sizes = index->offsets + table_size;
    return !c.failed && cursor_left(&c) / 2 >= table_size;
}

/* Read entry `position` of a table whose entries have `size` bytes. */
static uint64_t entry_at(const package_index *index, uint64_t table, uint64_t position,
                         unsigned size) {
    cursor c = index->bytes;
    cursor_skip(&c, table + position * size);
    return cursor_uint(&c, size);
}

/* Find the row of a signature, from 0. */
static bool find_row(const package_index *index, uint64_t signature, uint64_t *row_ret) {
    uint32_t mask = index->slot_count - 1; /* the number of slots is a power of two */
    uint32_t step = ((uint32_t)(signature >> 32) & mask) | 1;
    uint32_t slot = (uint32_t)signature & mask;
    for (unsigned probes = 0; probes < MAX_PROBES && slot < index->slot_count; ++probes) {
        uint64_t number = entry_at(index, index->row_numbers, slot, 4);
        if (number == 0 || number > index->row_count) return false;
        if (entry_at(index, index->signatures, slot, 8) == signature) {
            *row_ret = number - 1;
            return true;
        }
        slot = (slot + step) & mask;
    }
    return false;
}

static uint64_t cell_at(const package_index *index, uint64_t table, uint64_t row,
                        enum column_kind kind) {
    uint32_t column = index->columns[kind];
    if (column == NO_COLUMN) return 0;
    return entry_at(index, table, row * index->column_count + column, 4);
}

/* Whether a unit may be that of a signature; before version 5 the header of a compile unit
 * has no signature. */
static bool is_signed(const dwarf_unit_header *header, uint64_t signature) {
    return header->signature == signature ||
           (header->version < 5 && !dwarf_is_type_unit(header));
}

/* Read the header of the unit in a row, at `from` or later. The row has 32 bits of the
 * offset, so that in a section of more than 4 GiB the unit may be at one of several. */
static bool find_unit(const package_index *index, const dwarf_input *input, uint64_t row,
                      uint64_t signature, uint64_t from, dwarf_unit_header *header_ret) {
    bool is_in_types = index->columns[COLUMN_TYPES] != NO_COLUMN;
    enum column_kind kind = is_in_types ? COLUMN_TYPES : COLUMN_INFO;
    gsym_debug_section section = is_in_types ? GSYM_DEBUG_TYPES : GSYM_DEBUG_INFO;
    uint64_t size = cell_at(index, index->sizes, row, kind);
    uint64_t offset = cell_at(index, index->offsets, row, kind);
    for (; offset < input->sections[section].size; offset += UINT64_C(1) << 32) {
        dwarf_unit_header header = {.is_in_types = is_in_types};
        cursor c = dwarf_section(input, section, offset);
        if (offset < from || !dwarf_read_unit_header(&c, &header) ||
            !dwarf_is_known_unit(&header) || header.end > offset + size ||
            !is_signed(&header, signature))
            continue;
        *header_ret = header;
        return true;
    }
    return false;
}

bool dwarf_package_unit(const dwarf_input *input, gsym_debug_section which,
                        uint64_t signature, uint64_t from, dwarf_unit_header *header_ret) {
    package_index index;
    uint64_t row;
    if (!open_index(&index, input, which) || !find_row(&index, signature, &row) ||
        !find_unit(&index, input, row, signature, from, header_ret))
        return false;
    header_ret->abbrev_offset += cell_at(&index, index.offsets, row, COLUMN_ABBREV);
    header_ret->str_offsets_start =
        cell_at(&index, index.offsets, row, COLUMN_STR_OFFSETS);
    header_ret->rnglists_start = cell_at(&index, index.offsets, row, COLUMN_RNGLISTS);
    return true;
}

bool dwarf_package_abbrevs(const dwarf_input *input, gsym_debug_section which,
                           offset_list *keys) {
    package_index index;
    if (!open_index(&index, input, which)) return true;
    if (!LIST_RESERVE(*keys, index.row_count)) return false;
    for (uint64_t row = 0; row < index.row_count; ++row)
        keys->items[keys->count++] =
            abbrev_key(cell_at(&index, index.offsets, row, COLUMN_ABBREV),
                         which == GSYM_DEBUG_TU_INDEX);
    return true;
}

bool dwarf_type_unit(const dwarf_input *input, uint64_t signature,
                     dwarf_unit_header *header_ret) {
    size_t low = 0;
    if (dwarf_is_package(input))
        return dwarf_package_unit(input, GSYM_DEBUG_TU_INDEX, signature, 0, header_ret);
    SEARCH_SORTED(low, input->type_unit_count,
                  input->type_units[middle].signature < signature);
    if (low == input->type_unit_count || input->type_units[low].signature != signature)
        return false;
    *header_ret = input->type_units[low];
    return true;
}
