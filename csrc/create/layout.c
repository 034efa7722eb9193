/* layout.c - lay out the finished file, and hand out its bytes in order.
 *
 *     version 1: header, address offsets, info offsets, file table, string table,
 *                records, index
 *     version 2: header, directory of sections, UUID, address offsets, info
 *                offsets, file table, string table, records, foreign sections, index
 *
 * If the string table continues in that of the binary around the file, it comes last
 * instead, after a record that says what is shared.
 *
 * Records are in the order of the address table, each at a multiple of 4.
 * Foreign sections have a type that has no meaning here and are copied from another file.
 * They are last in the directory and come after the records in the file, at multiples of 8:
 * so a reader finds all other sections at the same offsets as without them.
 *
 * The index is laid out as the last of these sections, also in version 1, where no
 * directory names it.
 *
 * The bytes up to the file table are made at once. Strings, records and sections are handed
 * out in pieces from the memory where they are, so that the complete file is never in
 * memory. Records get the numbers of their strings in the file just before. */
#include <inttypes.h>

#include "base/checksum.h"
#include "create/state.h"
#include "gsym/image.h"
#include "gsym/index.h"

enum { FOREIGN_ALIGNMENT = INDEX_ALIGNMENT, SHARING_ALIGNMENT = 8 };

/* ---- where the parts of the file are ----------------------------------------- */

typedef struct extent {
    uint64_t offset;
    uint64_t size;
} extent;

typedef struct file_layout {
    uint64_t base_address;
    unsigned addr_off_size;
    unsigned info_off_size;
    extent uuid; /* version 2 only */
    extent addr_offsets;
    extent addr_info_offsets;
    extent file_table;
    extent string_table;
    extent function_info;
    uint64_t file_size;
} file_layout;

/* Place a part of `size` bytes at the next multiple of `alignment`, and move *end after
 * it. */
static extent append_extent(uint64_t *end, uint64_t size, uint64_t alignment) {
    extent p = {align_up(*end, alignment), size};
    *end = p.offset + size;
    return p;
}

static bool is_sharing(const gsym_creator *creator) {
    return creator->strings.shared != NULL;
}

static uint64_t function_info_size(const gsym_creator *creator) {
    uint64_t end = 0;
    for (size_t i = 0; i < creator->records.count; ++i)
        end = align_up(end, FUNCTION_INFO_ALIGNMENT) +
              creator_record_size(creator, &creator->records.items[i]);
    return end;
}

static uint64_t directory_size(const gsym_creator *creator) {
    uint64_t always = 6; /* five sections and EndOfList */
    uint64_t entries = always + (creator->uuid_size == 0 ? 0 : 1) + creator->sections.count;
    return entries * GSYM_V2_SECTION_ENTRY_SIZE;
}

static file_layout lay_out_parts(gsym_creator *creator) {
    const record_list *records = &creator->records;
    bool is_v1 = creator->options.version == GSYM_VERSION_1;
    uint64_t count = records->count, end, last = records->items[count - 1].address;
    file_layout l = {.info_off_size = creator->strp_size};
    l.base_address = creator->options.has_base_address ? creator->options.base_address
                                                       : records->items[0].address;
    if (creator->may_lower_base && records->items[0].address < l.base_address)
        l.base_address = records->items[0].address;
    l.addr_off_size = addr_off_size(last - l.base_address);
    end = is_v1 ? GSYM_V1_HEADER_SIZE : GSYM_V2_HEADER_SIZE + directory_size(creator);
    if (!is_v1) l.uuid = append_extent(&end, creator->uuid_size, 1);
    l.addr_offsets = append_extent(&end, count * l.addr_off_size, l.addr_off_size);
    l.addr_info_offsets = append_extent(&end, count * l.info_off_size, l.info_off_size);
    l.file_table =
        append_extent(&end, 4 + (uint64_t)creator->files.count * 2 * creator->strp_size, 4);
    if (!is_sharing(creator))
        l.string_table = append_extent(&end, creator->strings.size, 1);
    l.function_info =
        append_extent(&end, function_info_size(creator), FUNCTION_INFO_ALIGNMENT);
    for (size_t i = 0; i < creator->sections.count; ++i) {
        foreign_section *section = &creator->sections.items[i];
        section->offset = append_extent(&end, section->size, FOREIGN_ALIGNMENT).offset;
    }
    if (is_sharing(creator)) {
        (void)append_extent(&end, GSYM_SHARING_SIZE, SHARING_ALIGNMENT);
        l.string_table = append_extent(&end, creator->strings.size, 1);
        l.string_table.size = string_table_span(&creator->strings);
    }
    l.file_size = end;
    return l;
}

static gsym_status check_layout(const gsym_creator *creator, const file_layout *l,
                                gsym_error *error) {
    uint64_t first = creator->records.items[0].address;
    const creator_record *last_record =
        &creator->records.items[creator->records.count - 1];
    uint64_t last_offset = l->function_info.offset + l->function_info.size -
                           creator_record_size(creator, last_record);
    if (first < l->base_address)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "function at 0x%" PRIx64 " is below the base address 0x%" PRIx64,
                         first, l->base_address);
    if (creator->options.version != GSYM_VERSION_1) return GSYM_OK;
    if (l->string_table.offset > UINT32_MAX || last_offset > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "address info offset exceeded 32-bit max: version 1 cannot hold "
                         "the file, version 2 can (--output-version 2)");
    return GSYM_OK;
}

/* ---- the bytes up to the file table ----------------------------------------- */

static void put_v1_header(const gsym_creator *creator, const file_layout *l, buffer *out) {
    static const uint8_t zeros[GSYM_V1_MAX_UUID_SIZE];
    buffer_put_u32(out, GSYM_MAGIC);
    buffer_put_u16(out, GSYM_VERSION_1);
    buffer_put_u8(out, (uint8_t)l->addr_off_size);
    buffer_put_u8(out, (uint8_t)creator->uuid_size);
    buffer_put_u64(out, l->base_address);
    buffer_put_u32(out, (uint32_t)creator->records.count);
    buffer_put_u32(out, (uint32_t)l->string_table.offset);
    buffer_put_u32(out, (uint32_t)l->string_table.size);
    buffer_put(out, creator->uuid, creator->uuid_size);
    buffer_put(out, zeros, GSYM_V1_MAX_UUID_SIZE - creator->uuid_size);
}

static void put_directory_entry(buffer *out, uint32_t type, extent p) {
    buffer_put_u32(out, type);
    buffer_put_u64(out, p.offset);
    buffer_put_u64(out, p.size);
}

static void put_v2_header(const gsym_creator *creator, const file_layout *l, buffer *out) {
    buffer_put_u32(out, GSYM_MAGIC);
    buffer_put_u16(out, GSYM_VERSION_2);
    buffer_put_u8(out, (uint8_t)l->addr_off_size);
    buffer_put_u8(out, 0); /* string table encoding: NUL-terminated */
    buffer_put_u64(out, l->base_address);
    buffer_put_u32(out, (uint32_t)creator->records.count);
    if (creator->uuid_size != 0) put_directory_entry(out, GSYM_SECTION_UUID, l->uuid);
    put_directory_entry(out, GSYM_SECTION_ADDR_OFFSETS, l->addr_offsets);
    put_directory_entry(out, GSYM_SECTION_ADDR_INFO_OFFSETS, l->addr_info_offsets);
    put_directory_entry(out, GSYM_SECTION_FILE_TABLE, l->file_table);
    put_directory_entry(out, GSYM_SECTION_STRING_TABLE, l->string_table);
    put_directory_entry(out, GSYM_SECTION_FUNCTION_INFO, l->function_info);
    for (size_t i = 0; i < creator->sections.count; ++i) {
        const foreign_section *section = &creator->sections.items[i];
        put_directory_entry(out, section->type, (extent){section->offset, section->size});
    }
    put_directory_entry(out, GSYM_SECTION_END_OF_LIST, (extent){0, 0});
    buffer_put(out, creator->uuid, creator->uuid_size);
}

static void put_tables(const gsym_creator *creator, const file_layout *l, buffer *out) {
    const record_list *records = &creator->records;
    const file_table *files = &creator->files;
    /* Info offsets of version 1 count from the start of the file, those of version 2 from
     * the start of the section. */
    uint64_t offset =
        creator->options.version == GSYM_VERSION_1 ? l->function_info.offset : 0;
    buffer_align(out, l->addr_off_size);
    for (size_t i = 0; i < records->count; ++i)
        buffer_put_uint(out, records->items[i].address - l->base_address,
                        l->addr_off_size);
    buffer_align(out, l->info_off_size);
    for (size_t i = 0; i < records->count; ++i) {
        offset = align_up(offset, FUNCTION_INFO_ALIGNMENT);
        buffer_put_uint(out, offset, l->info_off_size);
        offset += creator_record_size(creator, &records->items[i]);
    }
    buffer_align(out, 4);
    buffer_put_u32(out, (uint32_t)files->count);
    for (size_t i = 0; i < files->count; ++i) {
        const file_entry *file = &files->items[i];
        buffer_put_uint(out, creator_final_strp(creator, file->directory),
                        creator->strp_size);
        buffer_put_uint(out, creator_final_strp(creator, file->basename),
                        creator->strp_size);
    }
}

/* ---- the index ---------------------------------------------------------------- */

/* Indexes that came with their records are copied, the others are made. */
static void add_indexes(gsym_creator *creator, buffer *index, uint32_t count) {
    index_encoder encoder = {.node_count = 0};
    for (uint32_t i = 0; i < count; ++i) {
        const creator_record *record = &creator->records.items[i];
        size_t offset = index->size;
        cursor c = cursor_at(record->blob, record->blob_size, 0,
                             creator_big_endian(creator));
        if (record->index_size != 0)
            buffer_put(index, record->blob + record->blob_size + record->names_size,
                       record->index_size);
        else if (record->blob != NULL)
            (void)function_index_encode(&encoder, index, &c, creator->strp_size);
        index_section_add(index, i, offset);
    }
    index_encoder_deinit(&encoder);
}

void *creator_make_indexes(void *context) {
    gsym_creator *creator = context;
    uint32_t count = (uint32_t)creator->records.count;
    /* In version 1, only the part that names the module may follow the index, so a file
     * that ends with shared strings has none. */
    if (is_sharing(creator) && creator->options.version == GSYM_VERSION_1)
        creator->options.has_index = 0;
    if (!creator->options.has_index) return NULL;
    index_section_begin(&creator->index, count);
    add_indexes(creator, &creator->index, count);
    return NULL;
}

static gsym_status end_index(gsym_creator *creator, gsym_error *error) {
    buffer *index = &creator->index;
    uint32_t count = (uint32_t)creator->records.count;
    foreign_section section = {.type = GSYM_SECTION_INDEX};
    size_t starts;
    file_layout l;
    creator->options.has_index = index_section_is_worth(index, count);
    if (!creator->options.has_index)
        return index->failed ? gsym_fail_memory(error) : GSYM_OK;
    l = lay_out_parts(creator);
    starts = index_starts_size(count, l.addr_off_size);
    if (creator->options.version == GSYM_VERSION_1)
        index_section_fill_up(index, align_up(l.file_size, FOREIGN_ALIGNMENT) + starts);
    for (size_t i = 0; starts > 0 && i < count; i += INDEX_STARTS_SPACING / l.addr_off_size)
        buffer_put_uint(index, creator->records.items[i].address - l.base_address,
                        l.addr_off_size);
    index_section_end(index, count, starts > 0);
    if (index->failed || !LIST_RESERVE(creator->sections, 1))
        return gsym_fail_memory(error);
    section.data = index->bytes;
    section.size = index->size;
    creator->sections.items[creator->sections.count++] = section;
    creator->report.index_size = index->size;
    return GSYM_OK;
}

/* Store the checksum of header and directory, with which `output.head` starts. */
static void identify_index(gsym_creator *creator) {
    size_t size = creator->options.version == GSYM_VERSION_1
                      ? GSYM_V1_HEADER_SIZE
                      : GSYM_V2_HEADER_SIZE + (size_t)directory_size(creator);
    index_section_identify(&creator->index, creator->output.head.bytes, size);
}

gsym_status creator_lay_out(gsym_creator *creator, gsym_error *error) {
    file_layout l;
    creator_output *output = &creator->output;
    if (creator->options.has_index) GSYM_TRY(end_index(creator, error));
    l = lay_out_parts(creator);
    GSYM_TRY(check_layout(creator, &l, error));
    buffer_reserve(&output->head, (size_t)(l.file_table.offset + l.file_table.size));
    if (creator->options.version == GSYM_VERSION_1)
        put_v1_header(creator, &l, &output->head);
    else
        put_v2_header(creator, &l, &output->head);
    put_tables(creator, &l, &output->head);
    if (output->head.failed) return gsym_fail_memory(error);
    if (creator->options.has_index) identify_index(creator);
    creator->report.file_size = l.file_size;
    return GSYM_OK;
}

/* ---- handing out ------------------------------------------------------------ */

static void put_out_piece(creator_output *output, const uint8_t *bytes, size_t size) {
    output->piece = bytes;
    output->piece_left = size;
    output->offset += size;
}

/* Begin a small piece with the padding before it. */
static void start_padded(creator_output *output, unsigned alignment) {
    output->small.size = 0;
    for (uint64_t at = output->offset; at % alignment != 0; ++at)
        buffer_put_u8(&output->small, 0);
}

/* Hand out the start of a record: padding, size and name. Name and size may have changed
 * since the blob was encoded, so they are those of the creator_record. */
static void begin_record(gsym_creator *creator, const creator_record *record) {
    buffer *small = &creator->output.small;
    start_padded(&creator->output, FUNCTION_INFO_ALIGNMENT);
    buffer_put_u32(small, (uint32_t)record->size);
    buffer_put_uint(small, creator_final_strp(creator, record->name), creator->strp_size);
    if (record->blob == NULL) buffer_put_u64(small, 0); /* EndOfList */
    put_out_piece(&creator->output, small->bytes, small->size);
}

/* Hand out the body of a record. It is made where the caller wants it, if it fits. */
static void finish_record(gsym_creator *creator, const creator_record *record) {
    creator_output *output = &creator->output;
    buffer *small = &output->small;
    uint8_t *to = output->room;
    size_t size;
    if (record->blob == NULL) return;
    size = record->blob_size - creator_record_head_size(creator);
    if (size > output->room_size) {
        small->size = 0;
        if (!buffer_reserve(small, size)) return;
        to = small->bytes;
    }
    if (creator_put_body(creator, record, to))
        put_out_piece(output, to, size);
    else
        small->failed = true;
}

static void put_out_padding(creator_output *output) {
    start_padded(output, FOREIGN_ALIGNMENT);
    put_out_piece(output, output->small.bytes, output->small.size);
}

static void put_out_sharing(creator_output *output, const string_table *strings) {
    buffer *small = &output->small;
    start_padded(output, SHARING_ALIGNMENT);
    buffer_put_u32(small, GSYM_SHARING_MAGIC);
    buffer_put_u32(small, GSYM_SHARING_XXH64);
    buffer_put_u64(small, xxh64(strings->shared, strings->shared_size));
    buffer_put_u64(small, strings->shared_strp);
    buffer_put_u64(small, strings->shared_size);
    put_out_piece(output, small->bytes, small->size);
}

/* Hand out the next piece. A record has two: its start and its body. */
static void next_record_piece(gsym_creator *creator) {
    creator_output *output = &creator->output;
    const creator_record *record = &creator->records.items[output->index];
    if (!output->is_inside) {
        begin_record(creator, record);
    } else {
        finish_record(creator, record);
        output->index++;
    }
    output->is_inside = !output->is_inside;
}

static void next_section_piece(gsym_creator *creator) {
    creator_output *output = &creator->output;
    const foreign_section *section = &creator->sections.items[output->index];
    if (!output->is_inside) {
        put_out_padding(output);
    } else {
        put_out_piece(output, section->data, section->size);
        output->index++;
    }
    output->is_inside = !output->is_inside;
}

/* Make the next piece, which may be empty; false at the end of the file. */
static bool next_piece(gsym_creator *creator) {
    creator_output *output = &creator->output;
    bool shares = is_sharing(creator);
    size_t start, size;
    switch (output->part) {
        case OUTPUT_HEAD:
            put_out_piece(output, output->head.bytes, output->head.size);
            output->part = shares ? OUTPUT_RECORDS : OUTPUT_STRINGS;
            return true;
        case OUTPUT_STRINGS:
            if (creator_next_strings(creator, output->index++, &start, &size)) {
                put_out_piece(output, creator->strings.bytes + start, size);
                return true;
            }
            output->index = 0;
            output->part = shares ? OUTPUT_END : OUTPUT_RECORDS;
            return true;
        case OUTPUT_RECORDS:
            if (output->index < creator->records.count) {
                next_record_piece(creator);
                return true;
            }
            output->index = 0;
            output->part = OUTPUT_SECTIONS;
            return true;
        case OUTPUT_SECTIONS:
            if (output->index < creator->sections.count)
                next_section_piece(creator);
            else
                output->part = shares ? OUTPUT_SHARING : OUTPUT_END;
            return true;
        case OUTPUT_SHARING:
            put_out_sharing(output, &creator->strings);
            output->index = 0;
            output->part = OUTPUT_STRINGS;
            return true;
        case OUTPUT_END: return false;
    }
    return false;
}

gsym_status gsym_creator_read(gsym_creator *creator, uint8_t *bytes, size_t capacity,
                              size_t *size_ret, gsym_error *error) {
    creator_output *output = &creator->output;
    size_t size = 0;
    if (creator->report.file_size == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the creator has no finished file");
    while (size < capacity) {
        size_t left = capacity - size;
        size_t step = output->piece_left < left ? output->piece_left : left;
        if (step == 0) {
            output->room = bytes + size;
            output->room_size = left;
            if (!next_piece(creator)) break;
            if (output->small.failed) return gsym_fail_memory(error);
            continue;
        }
        if (output->piece != bytes + size) memcpy(bytes + size, output->piece, step);
        output->piece += step;
        output->piece_left -= step;
        size += step;
    }
    *size_ret = size;
    return GSYM_OK;
}
