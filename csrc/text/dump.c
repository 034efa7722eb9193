/* dump.c - dump a GSYM file as text, as llvm-gsymutil does.
 *
 * A dump is made part by part and, inside a part, item by item, so that the text of a large
 * file is never completely in memory. gsym_dump_position says how far the dump has come.
 * The two versions differ in their header and in the titles and widths of their tables. */
#include <inttypes.h>

#include "gsym/image.h"
#include "text/text.h"

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
    text_put_bytes(text, path.directory, path.directory_size);
    if (path.separator != 0) text_put_char(text, path.separator);
    text_put_bytes(text, path.basename, path.basename_size);
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

/* Put a tree of inlined calls. As LLVM does, put the title only if the function is not
 * indented: the tree of a merged function has no title. */
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

/* Fail if a function has an InfoType that LLVM does not know, as LLVM does. */
static gsym_status refuse_extras(const gsym_image *image, const gsym_function *function,
                                 gsym_error *error) {
    if (function->extra_count > 0)
        return gsym_fail(error, GSYM_E_FORMAT,
                         (uint64_t)(function->extras->data - image->data) - 8,
                         "unsupported InfoType %" PRIu32, function->extras->type);
    for (size_t i = 0; i < function->merged_count; ++i)
        GSYM_TRY(refuse_extras(image, &function->merged[i], error));
    return GSYM_OK;
}

static gsym_status decode(const dump *d, uint32_t index,
                          const gsym_function **function_ret, gsym_error *error) {
    GSYM_TRY(gsym_record_decode(d->record, d->image, index, function_ret, error));
    return refuse_extras(d->image, *function_ret, error);
}

static gsym_status put_entry(const dump *d, uint32_t index, gsym_error *error) {
    const uint64_t offset = image_record_offset(d->image, index);
    const gsym_function *function;
    gsym_status status;
    text_put_literal(d->text, "FunctionInfo @ ");
    text_put_hex(d->text, offset, 8);
    text_put_literal(d->text, ": ");
    status = decode(d, index, &function, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK) {
        put_function_and_merged(d->text, d->image, function);
    } else {
        text_put_literal(d->text, "FunctionInfo:");
        text_put_hex(d->text, error->offset - offset, 8);
        text_put_literal(d->text, ": ");
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

/* Return the number of positions in a part. */
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
