/* dump.c - dump a GSYM file as text, as llvm-gsymutil does.
 *
 * A dump is made part by part and, inside a part, item by item, so that the text of a large
 * file is never completely in memory; gsym_dump_position is the position. The two versions
 * differ in their header and in the titles and widths of their tables. */
#include <inttypes.h>

#include "gsym/image.h"
#include "text/text.h"

/* Find the error for which LLVM's decoder refuses a record, and the text of its message.
 *
 * The engine reports an error by file offset; a dump equal to llvm-gsymutil's needs the
 * message of that tool, with offsets from the start of the record or of the InfoType. So
 * the record is walked again as LLVM does: a truncated LEB128 is read as 0 and not
 * consumed. */

enum { MAX_MERGE_DEPTH = 8 };

typedef struct fault_walk {
    unsigned strp_size;
    gsym_error *error;
} fault_walk;

static bool at_fault(const fault_walk *walk, const cursor *c, const char *what) {
    gsym_fail(walk->error, GSYM_E_FORMAT, 0, "0x%08" PRIx64 ": %s", cursor_offset(c), what);
    return true;
}

static bool lacks(const fault_walk *walk, const cursor *c, size_t size, const char *what) {
    return cursor_left(c) < size && at_fault(walk, c, what);
}

/* Cut off the next `size` bytes; offsets count from their start. */
static cursor cut_payload(cursor *c, size_t size) {
    cursor part = *c;
    part.start = c->at;
    part.end = c->at + size;
    c->at += size;
    return part;
}

static uint64_t read_uleb(cursor *c) {
    const uint8_t *at = c->at;
    uint64_t value = cursor_uleb(c);
    if (c->failed) {
        c->at = at;
        c->failed = false;
    }
    return value;
}

static bool line_table_at_fault(const fault_walk *walk, cursor c) {
    if (lacks(walk, &c, 1, "missing LineTable MinDelta")) return true;
    (void)read_uleb(&c);
    if (lacks(walk, &c, 1, "missing LineTable MaxDelta")) return true;
    (void)read_uleb(&c);
    if (lacks(walk, &c, 1, "missing LineTable FirstLine")) return true;
    (void)read_uleb(&c);
    for (;;) {
        if (lacks(walk, &c, 1, "EOF found before EndSequence")) return true;
        switch (cursor_u8(&c)) {
            case 0: return false;
            case 1:
                if (lacks(walk, &c, 1, "EOF found before SetFile value")) return true;
                (void)read_uleb(&c);
                break;
            case 2:
                if (lacks(walk, &c, 1, "EOF found before AdvancePC value")) return true;
                (void)read_uleb(&c);
                break;
            case 3:
                if (lacks(walk, &c, 1, "EOF found before AdvanceLine value")) return true;
                (void)read_uleb(&c);
                break;
            default: break;
        }
    }
}

/* Skip a list of ranges; returns whether one of them is not empty. */
static bool skip_ranges(cursor *c) {
    bool any = false;
    for (uint64_t left = read_uleb(c); left > 0; --left) {
        const uint8_t *at = c->at;
        (void)read_uleb(c);
        if (read_uleb(c) != 0) any = true;
        if (c->at == at) break; /* nothing left: all further ranges are empty */
    }
    return any;
}

static bool inline_info_at_fault(const fault_walk *walk, cursor c) {
    uint64_t open_lists = 0;
    do {
        if (lacks(walk, &c, 1, "missing InlineInfo address ranges data")) return true;
        if (skip_ranges(&c)) {
            if (lacks(walk, &c, 1, "missing InlineInfo uint8_t indicating children"))
                return true;
            if (cursor_u8(&c) != 0) open_lists++;
            if (lacks(walk, &c, walk->strp_size, "missing InlineInfo name")) return true;
            cursor_skip(&c, walk->strp_size);
            if (lacks(walk, &c, 1, "missing ULEB128 for InlineInfo call file")) return true;
            (void)read_uleb(&c);
            if (lacks(walk, &c, 1, "missing ULEB128 for InlineInfo call line")) return true;
            (void)read_uleb(&c);
        } else if (open_lists > 0) {
            open_lists--;
        }
    } while (open_lists > 0);
    return false;
}

static bool call_sites_at_fault(const fault_walk *walk, cursor c) {
    if (lacks(walk, &c, 4, "missing CallSiteInfo count")) return true;
    for (uint32_t sites = cursor_u32(&c); sites > 0; --sites) {
        if (lacks(walk, &c, 8, "missing ReturnOffset")) return true;
        cursor_skip(&c, 8);
        if (lacks(walk, &c, 1, "missing Flags")) return true;
        cursor_skip(&c, 1);
        if (lacks(walk, &c, 4, "missing MatchRegex count")) return true;
        for (uint32_t regexes = cursor_u32(&c); regexes > 0; --regexes) {
            if (lacks(walk, &c, walk->strp_size, "missing MatchRegex entry")) return true;
            cursor_skip(&c, walk->strp_size);
        }
    }
    return false;
}

/* Check the sizes of all merged functions, as LLVM does before it decodes one. */
static bool merged_extents_at_fault(const fault_walk *walk, cursor c) {
    uint32_t count;
    if (cursor_left(&c) < 4) {
        gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                  "unable to read the function count at offset 0x%08" PRIx64,
                  cursor_offset(&c));
        return true;
    }
    count = cursor_u32(&c);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t size;
        if (cursor_left(&c) < 4) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "unable to read size of function %" PRIu32 " at offset 0x%08" PRIx64,
                      i, cursor_offset(&c));
            return true;
        }
        size = cursor_u32(&c);
        if (cursor_left(&c) < size) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "function data is truncated for function %" PRIu32
                      " at offset 0x%08" PRIx64 ", expected size %" PRIu32,
                      i, cursor_offset(&c), size);
            return true;
        }
        cursor_skip(&c, size);
    }
    return false;
}

static bool function_at_fault(const fault_walk *walk, cursor c, unsigned merge_depth);

static bool merged_at_fault(const fault_walk *walk, cursor c, unsigned merge_depth) {
    if (merged_extents_at_fault(walk, c)) return true;
    if (merge_depth == MAX_MERGE_DEPTH) return false;
    for (uint32_t left = cursor_u32(&c); left > 0; --left) {
        uint32_t size = cursor_u32(&c);
        if (function_at_fault(walk, cut_payload(&c, size), merge_depth + 1)) return true;
    }
    return false;
}

static bool info_at_fault(const fault_walk *walk, uint32_t type, cursor info,
                          unsigned merge_depth) {
    switch (type) {
        case GSYM_INFO_LINE_TABLE: return line_table_at_fault(walk, info);
        case GSYM_INFO_INLINE_INFO: return inline_info_at_fault(walk, info);
        case GSYM_INFO_MERGED_FUNCTIONS: return merged_at_fault(walk, info, merge_depth);
        default: return call_sites_at_fault(walk, info);
    }
}

static bool function_at_fault(const fault_walk *walk, cursor c, unsigned merge_depth) {
    if (lacks(walk, &c, 4, "missing FunctionInfo Size")) return true;
    cursor_skip(&c, 4);
    if (lacks(walk, &c, walk->strp_size, "missing FunctionInfo Name")) return true;
    cursor name = c;
    if (cursor_uint(&c, walk->strp_size) == 0)
        return at_fault(walk, &name, "invalid FunctionInfo Name value 0x0");
    for (;;) {
        uint32_t type, size;
        if (lacks(walk, &c, 4, "missing FunctionInfo InfoType value")) return true;
        type = cursor_u32(&c);
        if (lacks(walk, &c, 4, "missing FunctionInfo InfoType length")) return true;
        size = cursor_u32(&c);
        if (cursor_left(&c) < size) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "0x%08" PRIx64 ": missing FunctionInfo data for InfoType %" PRIu32,
                      cursor_offset(&c), type);
            return true;
        }
        if (type == GSYM_INFO_END_OF_LIST) return false;
        if (type > GSYM_INFO_CALL_SITES) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "0x%08" PRIx64 ": unsupported InfoType %" PRIu32,
                      cursor_offset(&c) - 8, type);
            return true;
        }
        if (info_at_fault(walk, type, cut_payload(&c, size), merge_depth)) return true;
    }
}

/* Put LLVM's reason to refuse the record of an entry into *error; the text is unchanged if
 * LLVM finds no error. Returns GSYM_E_FORMAT. */
static gsym_status record_fault(const gsym_image *image, uint32_t index,
                                gsym_error *error) {
    fault_walk walk = {image->strp_size, error};
    uint64_t offset = image_record_offset(image, index);
    cursor c = cursor_at(image->data, image->record_end, offset,
                         image->header.big_endian != 0);
    if (cursor_left(&c) == 0)
        return gsym_fail(error, GSYM_E_FORMAT, offset,
                         "invalid address info offset 0x%" PRIx64, offset);
    (void)function_at_fault(&walk, cut_payload(&c, cursor_left(&c)), 0);
    return error->status = GSYM_E_FORMAT;
}

enum dump_part {
    DUMP_HEADER = 0,
    DUMP_ADDRESSES,
    DUMP_INFO_OFFSETS,
    DUMP_FILES,
    DUMP_STRINGS,
    DUMP_FUNCTIONS
};

typedef struct dump {
    gsym_text *text;
    const gsym_image *image;
    gsym_record *record;
} dump;

static bool is_version_1(const dump *d) {
    return d->image->header.version == GSYM_VERSION_1;
}

/* ---- small pieces --------------------------------------------------------------- */

static void put_field(gsym_text *text, const char *name, uint64_t value, unsigned digits) {
    text_put_literal(text, "  ");
    buffer_put(&text->out, name, strlen(name));
    text_put_literal(text, " = ");
    text_put_hex(text, value, digits);
    text_put_char(text, '\n');
}

static void put_uuid(const dump *d) {
    const uint8_t *uuid = d->image->data + d->image->header.uuid_offset;
    for (uint32_t i = 0; i < d->image->header.uuid_size; ++i) {
        text_put_char(d->text, "0123456789abcdef"[uuid[i] >> 4]);
        text_put_char(d->text, "0123456789abcdef"[uuid[i] & 15]);
    }
}

static void put_index(gsym_text *text, uint64_t index) {
    text_put_char(text, '[');
    for (uint64_t bound = 1000; bound > 1 && index < bound; bound /= 10)
        text_put_char(text, ' ');
    text_put_decimal(text, index);
    text_put_literal(text, "] ");
}

static void put_path(gsym_text *text, const gsym_image *image, uint32_t file) {
    image_path path;
    bool is_known = image_path_get(image, file, &path);
    if (is_known && path.directory_strp == 0 && path.basename_strp == 0) return;
    if (path.directory_size == 0 && path.basename_size == 0)
        text_put_literal(text, "<invalid-file>");
    image_path_put(&path, &text->out);
}

static void put_range(gsym_text *text, uint64_t start, uint64_t end) {
    text_put_char(text, '[');
    text_put_hex(text, start, 16);
    text_put_literal(text, " - ");
    text_put_hex(text, end, 16);
    text_put_char(text, ')');
}

/* ---- header and tables ------------------------------------------------------------ */

static void put_header_1(const dump *d) {
    const gsym_header *h = &d->image->header;
    gsym_text *text = d->text;
    text_put_literal(text, "Header:\n");
    put_field(text, "Magic       ", GSYM_MAGIC, 8);
    put_field(text, "Version     ", h->version, 4);
    put_field(text, "AddrOffSize ", h->addr_off_size, 2);
    put_field(text, "UUIDSize    ", h->uuid_size, 2);
    put_field(text, "BaseAddress ", h->base_address, 16);
    put_field(text, "NumAddresses", h->num_addresses, 8);
    put_field(text, "StrtabOffset", h->strtab_offset, 8);
    put_field(text, "StrtabSize  ", h->strtab_size, 8);
    text_put_literal(text, "  UUID         = ");
    put_uuid(d);
    text_put_literal(text, "\n\n");
}

static const char *section_name(uint32_t type) {
    switch (type) {
        case GSYM_SECTION_END_OF_LIST: return "EndOfList";
        case GSYM_SECTION_ADDR_OFFSETS: return "AddrOffsets";
        case GSYM_SECTION_ADDR_INFO_OFFSETS: return "AddrInfoOffsets";
        case GSYM_SECTION_STRING_TABLE: return "StringTable";
        case GSYM_SECTION_FILE_TABLE: return "FileTable";
        case GSYM_SECTION_FUNCTION_INFO: return "FunctionInfo";
        case GSYM_SECTION_UUID: return "UUID";
        default: return "Unknown";
    }
}

static void put_section(gsym_text *text, const gsym_section *section) {
    const char *name = section_name(section->type);
    buffer_put(&text->out, name, strlen(name));
    text_put_spaces(text, 16 - (unsigned)strlen(name));
    text_put_hex(text, section->offset, 16);
    text_put_literal(text, "  ");
    text_put_hex(text, section->size, 16);
    text_put_char(text, '\n');
}

static void put_sections(const dump *d) {
    gsym_text *text = d->text;
    gsym_section section = {GSYM_SECTION_END_OF_LIST, 0, 0, 0};
    gsym_error ignored;
    text_put_literal(text, "Global Data Sections:\n"
                           "TYPE            FILE OFFSET         FILE SIZE\n"
                           "=============== ==================  ==================\n");
    for (uint32_t i = 0; i < d->image->header.section_count; ++i)
        if (gsym_image_section(d->image, i, &section, &ignored) == GSYM_OK)
            put_section(text, &section);
    memset(&section, 0, sizeof section);
    put_section(text, &section);
    text_put_char(text, '\n');
}

static void put_header_2(const dump *d) {
    const gsym_header *h = &d->image->header;
    gsym_text *text = d->text;
    text_put_literal(text, "Header:\n");
    put_field(text, "Magic         ", GSYM_MAGIC, 8);
    put_field(text, "Version       ", h->version, 4);
    put_field(text, "AddrOffSize   ", h->addr_off_size, 2);
    put_field(text, "StrTableEnc   ", 0, 2);
    put_field(text, "BaseAddress   ", h->base_address, 16);
    put_field(text, "NumAddresses  ", h->num_addresses, 8);
    text_put_char(text, '\n');
    put_sections(d);
    if (h->uuid_size == 0) return;
    text_put_literal(text, "UUID:\n");
    put_uuid(d);
    text_put_literal(text, "\n\n");
}

static void put_addresses_title(const dump *d) {
    gsym_text *text = d->text;
    text_put_literal(text, "Address Table:\nINDEX  OFFSET");
    if (!is_version_1(d)) text_put_char(text, ' ');
    text_put_decimal(text, 8 * d->image->header.addr_off_size);
    if (d->image->header.addr_off_size == 1) text_put_char(text, ' ');
    if (is_version_1(d))
        text_put_literal(text, " (ADDRESS)\n====== =============================== \n");
    else
        text_put_literal(text, " (ADDRESS 64)\n"
                               "====== ========================================\n");
}

static void put_address(const dump *d, uint64_t index) {
    unsigned size = d->image->header.addr_off_size;
    uint64_t offset = image_addr_offset(d->image, (uint32_t)index);
    put_index(d->text, index);
    text_put_hex(d->text, offset, size < 4 ? 2 * size : 8);
    text_put_literal(d->text, " (");
    text_put_hex(d->text, d->image->header.base_address + offset, 16);
    text_put_literal(d->text, ")\n");
}

static void put_info_offsets_title(const dump *d) {
    if (is_version_1(d))
        text_put_literal(d->text, "\nAddress Info Offsets:\n"
                                  "INDEX  Offset\n"
                                  "====== ==========\n");
    else
        text_put_literal(d->text, "\nAddress Info Offsets:\n"
                                  "INDEX  OFFSET 64 (FILE OFFSET 64)\n"
                                  "====== ========================================\n");
}

static void put_info_offset(const dump *d, uint64_t index) {
    uint64_t offset = image_record_offset(d->image, (uint32_t)index);
    put_index(d->text, index);
    if (is_version_1(d)) {
        text_put_hex(d->text, offset, 8);
    } else {
        text_put_hex(d->text, offset - d->image->record_base, 16);
        text_put_literal(d->text, " (");
        text_put_hex(d->text, offset, 16);
        text_put_char(d->text, ')');
    }
    text_put_char(d->text, '\n');
}

static void put_files_title(const dump *d) {
    text_put_literal(d->text, "\nFiles:\n"
                              "INDEX  DIRECTORY  BASENAME   PATH\n"
                              "====== ========== ========== "
                              "==============================");
    if (!is_version_1(d)) text_put_literal(d->text, "==========");
    text_put_char(d->text, '\n');
}

static void put_file(const dump *d, uint64_t index) {
    uint64_t directory = 0, basename = 0;
    (void)image_file(d->image, (uint32_t)index, &directory, &basename);
    put_index(d->text, index);
    text_put_hex(d->text, directory, 8);
    text_put_char(d->text, ' ');
    text_put_hex(d->text, basename, 8);
    text_put_char(d->text, ' ');
    put_path(d->text, d->image, (uint32_t)index);
    text_put_char(d->text, '\n');
}

/* Put the string at offset *at, and move *at after it. Bytes between the file's own strings
 * and those of the binary are skipped. */
static void put_string_line(const dump *d, uint64_t *at) {
    const gsym_header *header = &d->image->header;
    const char *bytes;
    size_t size;
    if (*at < header->shared_strp && *at + header->strtab_offset >= header->file_size)
        *at = header->shared_strp;
    bytes = gsym_image_string(d->image, *at, &size);
    text_put_hex(d->text, *at, is_version_1(d) ? 8 : 16);
    text_put_literal(d->text, ": \"");
    text_put_bytes(d->text, bytes, size);
    text_put_literal(d->text, "\"\n");
    *at += size + 1;
}

/* ---- functions ---------------------------------------------------------------------- */

static void put_line_table(gsym_text *text, const gsym_image *image,
                           const gsym_function *function, unsigned indent) {
    text_put_spaces(text, indent);
    text_put_literal(text, "LineTable:\n");
    for (size_t i = 0; i < function->row_count; ++i) {
        const gsym_line_row *row = &function->rows[i];
        text_put_spaces(text, indent + 2);
        text_put_hex(text, row->address, 16);
        text_put_char(text, ' ');
        if (row->file != 0) put_path(text, image, row->file);
        text_put_char(text, ':');
        text_put_decimal(text, row->line);
        text_put_char(text, '\n');
    }
}

/* Put ranges: adjacent ones are joined, empty ones left out. */
static void put_ranges(gsym_text *text, const gsym_range *ranges, size_t count) {
    bool first = true;
    for (size_t i = 0; i < count;) {
        gsym_range joined = ranges[i++];
        if (joined.start >= joined.end) continue;
        while (i < count && ranges[i].start - joined.start <= joined.end - joined.start) {
            if (ranges[i].end > joined.end) joined.end = ranges[i].end;
            ++i;
        }
        if (!first) text_put_char(text, ' ');
        put_range(text, joined.start, joined.end);
        first = false;
    }
}

static void put_inline_node(gsym_text *text, const gsym_image *image,
                            const gsym_function *function, const gsym_inline_node *node) {
    put_ranges(text, function->ranges + node->range_first, node->range_count);
    text_put_char(text, ' ');
    text_put_string(text, image, node->name);
    if (node->call_file != 0 && node->call_file < image->header.num_files) {
        text_put_literal(text, " called from ");
        put_path(text, image, node->call_file);
        text_put_char(text, ':');
        text_put_decimal(text, node->call_line);
    }
    text_put_char(text, '\n');
}

/* Put a tree of inlined calls. As LLVM does, put the title only without indentation, so the
 * tree of a merged function has none. */
static void put_inline_info(gsym_text *text, const gsym_image *image,
                            const gsym_function *function, unsigned indent) {
    if (indent == 0) text_put_literal(text, "InlineInfo:\n");
    for (size_t i = 0; i < function->node_count; ++i) {
        text_put_spaces(text, indent + 2 * function->nodes[i].depth);
        put_inline_node(text, image, function, &function->nodes[i]);
    }
}

static void put_call_site_flags(gsym_text *text, uint32_t flags) {
    text_put_literal(text, " Flags[");
    if (flags == 0) text_put_literal(text, "None");
    if (flags & GSYM_CALL_SITE_INTERNAL) text_put_literal(text, "InternalCall");
    if ((flags & GSYM_CALL_SITE_INTERNAL) && (flags & GSYM_CALL_SITE_EXTERNAL))
        text_put_literal(text, " | ");
    if (flags & GSYM_CALL_SITE_EXTERNAL) text_put_literal(text, "ExternalCall");
    text_put_char(text, ']');
}

static void put_call_sites(gsym_text *text, const gsym_image *image,
                           const gsym_function *function, unsigned indent) {
    text_put_spaces(text, indent);
    text_put_literal(text, "CallSites (by relative return offset):\n");
    for (size_t i = 0; i < function->call_site_count; ++i) {
        const gsym_call_site *site = &function->call_sites[i];
        text_put_spaces(text, indent + 2);
        text_put_hex(text, site->return_offset, 4);
        put_call_site_flags(text, site->flags);
        for (uint32_t j = 0; j < site->regex_count; ++j) {
            if (j == 0)
                text_put_literal(text, " MatchRegex[");
            else
                text_put_char(text, ';');
            text_put_string(text, image, function->regexes[site->regex_first + j]);
        }
        if (site->regex_count > 0) text_put_char(text, ']');
        text_put_char(text, '\n');
    }
}

static void put_function(gsym_text *text, const gsym_image *image,
                         const gsym_function *function, unsigned indent) {
    text_put_spaces(text, indent);
    put_range(text, function->address, function->address + function->size);
    text_put_literal(text, " \"");
    text_put_string(text, image, function->name);
    text_put_literal(text, "\"\n");
    if (function->row_count > 0) put_line_table(text, image, function, indent);
    if (function->node_count > 0) put_inline_info(text, image, function, indent);
    if (function->call_site_count > 0) put_call_sites(text, image, function, indent);
}

static void put_function_and_merged(gsym_text *text, const gsym_image *image,
                                    const gsym_function *function) {
    put_function(text, image, function, 0);
    for (size_t i = 0; i < function->merged_count; ++i) {
        text_put_literal(text, "++ Merged FunctionInfos[");
        text_put_decimal(text, i);
        text_put_literal(text, "]:\n");
        put_function(text, image, &function->merged[i], 4);
    }
}

/* Decode as LLVM does: an InfoType that it does not know is an error. */
static gsym_status decode(const dump *d, uint32_t index,
                          const gsym_function **function_ret, gsym_error *error) {
    gsym_status status =
        gsym_record_decode(d->record, d->image, index, function_ret, error);
    bool unknown = false;
    if (status == GSYM_OK) {
        unknown = (*function_ret)->extra_count > 0;
        for (size_t i = 0; i < (*function_ret)->merged_count; ++i)
            unknown |= (*function_ret)->merged[i].extra_count > 0;
    }
    if (status == GSYM_E_NO_MEMORY || (status == GSYM_OK && !unknown)) return status;
    return record_fault(d->image, index, error);
}

static gsym_status put_entry(const dump *d, uint32_t index, gsym_error *error) {
    const gsym_function *function;
    gsym_status status;
    text_put_literal(d->text, "FunctionInfo @ ");
    text_put_hex(d->text, image_record_offset(d->image, index), 8);
    text_put_literal(d->text, ": ");
    status = decode(d, index, &function, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK) {
        put_function_and_merged(d->text, d->image, function);
    } else {
        text_put_literal(d->text, "FunctionInfo:");
        buffer_put(&d->text->out, error->what, strlen(error->what));
        text_put_char(d->text, '\n');
    }
    return GSYM_OK;
}

gsym_status gsym_text_dump_entry(gsym_text *text, const gsym_image *image,
                                 gsym_record *record, uint32_t index, gsym_error *error) {
    const gsym_function *function;
    gsym_status status;
    dump d = {text, image, record};
    status = decode(&d, index, &function, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK) put_function_and_merged(text, image, function);
    return text_status(text, error);
}

/* ---- the parts in order --------------------------------------------------------- */

static void put_title(const dump *d, uint32_t part) {
    switch (part) {
        case DUMP_HEADER:
            if (is_version_1(d))
                put_header_1(d);
            else
                put_header_2(d);
            break;
        case DUMP_ADDRESSES: put_addresses_title(d); break;
        case DUMP_INFO_OFFSETS: put_info_offsets_title(d); break;
        case DUMP_FILES: put_files_title(d); break;
        case DUMP_STRINGS: text_put_literal(d->text, "\nString table:\n"); break;
        default: text_put_char(d->text, '\n'); break;
    }
}

/* Number of positions in a part. */
static uint64_t part_size(const dump *d, uint32_t part) {
    switch (part) {
        case DUMP_HEADER: return 0;
        case DUMP_FILES: return d->image->header.num_files;
        case DUMP_STRINGS: return d->image->header.strtab_size;
        default: return d->image->header.num_addresses;
    }
}

static gsym_status put_item(const dump *d, gsym_dump_position *position,
                            gsym_error *error) {
    if (position->part == DUMP_STRINGS) {
        put_string_line(d, &position->next);
        return GSYM_OK;
    }
    switch (position->part) {
        case DUMP_ADDRESSES: put_address(d, position->next); break;
        case DUMP_INFO_OFFSETS: put_info_offset(d, position->next); break;
        case DUMP_FILES: put_file(d, position->next); break;
        default: GSYM_TRY(put_entry(d, (uint32_t)position->next, error)); break;
    }
    position->next++;
    return GSYM_OK;
}

gsym_status gsym_text_dump(gsym_text *text, const gsym_image *image, gsym_record *record,
                           gsym_dump_position *position, size_t size, gsym_error *error) {
    size_t limit = text->out.size + size;
    dump d = {text, image, record};
    for (; position->part < GSYM_DUMP_DONE; position->part++, position->next = 0) {
        uint64_t end = part_size(&d, position->part);
        if (position->next == 0) put_title(&d, position->part);
        while (position->next < end) {
            GSYM_TRY(put_item(&d, position, error));
            if (text->out.size >= limit) return text_status(text, error);
        }
    }
    return text_status(text, error);
}
