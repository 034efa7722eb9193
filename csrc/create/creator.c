/* creator.c - take in functions, strings and files for a GSYM file.
 *
 * Strings and files of a function get their numbers when it comes. The function is kept as
 * an encoded record, which is not copied before the file is read out. */
#include <inttypes.h>

#include "base/system.h"
#include "create/state.h"

enum {
    CHUNK_SIZE = 1 << 20,
    CHUNK_SHARE = CHUNK_SIZE / 8 /* larger blobs get memory of their own */
};

gsym_status gsym_creator_create(const gsym_creator_options *options,
                                gsym_creator **creator_ret, gsym_error *error) {
    gsym_creator *creator;
    gsym_status status;
    bool is_v1 = options->version == GSYM_VERSION_1;
    if (!is_v1 && options->version != GSYM_VERSION_2)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "unsupported GSYM version %" PRIu32,
                         options->version);
    creator = calloc(1, sizeof *creator);
    if (creator == NULL) return gsym_fail_memory(error);
    creator->options = *options;
    creator->strp_size = is_v1 ? 4 : 8;
    creator->encoded.swap = creator_big_endian(creator) != CURSOR_HOST_BIG_ENDIAN;
    creator->index.swap = creator->encoded.swap;
    creator->output.head.swap = creator->encoded.swap;
    creator->output.small.swap = creator->encoded.swap;
    status = string_table_init(&creator->strings, is_v1 ? UINT32_MAX : UINT64_MAX, error);
    if (status == GSYM_OK) status = file_table_init(&creator->files, error);
    if (status != GSYM_OK) {
        gsym_creator_destroy(creator);
        return status;
    }
    *creator_ret = creator;
    return GSYM_OK;
}

void gsym_creator_release(gsym_creator *creator) {
    for (size_t i = 0; i < creator->owned.count; ++i) free(creator->owned.items[i]);
    free(creator->owned.items);
    free(creator->records.items);
    free(creator->lines.items);
    free(creator->asked.items);
    free(creator->around.items);
    free(creator->text_ranges.items);
    free(creator->symbol_ends.items);
    free(creator->sections.items);
    free(creator->call_sites.items);
    free(creator->uuid);
    string_table_deinit(&creator->strings);
    free(creator->order.moved.items);
    free(creator->order.starts);
    file_table_deinit(&creator->files);
    buffer_deinit(&creator->encoded);
    buffer_deinit(&creator->index);
    buffer_deinit(&creator->output.head);
    buffer_deinit(&creator->output.small);
    *creator = (gsym_creator){.options = creator->options, .is_finished = true};
}

void gsym_creator_destroy(gsym_creator *creator) {
    if (creator == NULL) return;
    gsym_creator_release(creator);
    free(creator);
}

gsym_status creator_check_open(const gsym_creator *creator, gsym_error *error) {
    if (GSYM_LIKELY(!creator->is_finished)) return GSYM_OK;
    return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the creator is finished");
}

unsigned creator_strp_size(const gsym_creator *creator) { return creator->strp_size; }

bool creator_big_endian(const gsym_creator *creator) {
    return creator->options.big_endian != 0;
}

bool creator_has_index(const gsym_creator *creator) {
    return creator->options.has_index != 0;
}

gsym_status gsym_creator_set_uuid(gsym_creator *creator, const uint8_t *uuid, size_t size,
                                  gsym_error *error) {
    uint8_t *copy;
    GSYM_TRY(creator_check_open(creator, error));
    if (creator->options.version == GSYM_VERSION_1 && size > GSYM_V1_MAX_UUID_SIZE)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "invalid UUID size %zu: version 1 holds at most %d bytes, "
                         "version 2 any number (--output-version 2)",
                         size, GSYM_V1_MAX_UUID_SIZE);
    copy = malloc(size + 1);
    if (copy == NULL) return gsym_fail_memory(error);
    if (size != 0) memcpy(copy, uuid, size);
    free(creator->uuid);
    creator->uuid = copy;
    creator->uuid_size = size;
    return GSYM_OK;
}

void creator_allow_thread(gsym_creator *creator) { creator->has_thread = true; }

/* ---- strings and files ------------------------------------------------------ */

gsym_status creator_intern(gsym_creator *creator, const char *bytes, size_t size,
                           uint64_t hash, uint64_t *strp_ret, gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    return string_table_intern(&creator->strings, bytes, size, hash, strp_ret, error);
}

void creator_fetch_string(const gsym_creator *creator, const char *bytes, uint64_t hash) {
    __builtin_prefetch(bytes);
    slot_table_fetch(&creator->strings.slots, hash);
}

gsym_status creator_intern_path(gsym_creator *creator, const char *bytes, size_t size,
                                uint64_t hash, uint32_t *file_ret, gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    return file_table_intern_path(&creator->files, &creator->strings, bytes, size, hash,
                                  file_ret, error);
}

gsym_status gsym_creator_add_string(gsym_creator *creator, const char *bytes, size_t size,
                                    uint64_t *strp_ret, gsym_error *error) {
    return creator_intern(creator, bytes, size, string_hash(bytes, size), strp_ret, error);
}

gsym_status gsym_creator_add_path(gsym_creator *creator, const char *bytes, size_t size,
                                  uint32_t *file_ret, gsym_error *error) {
    return creator_intern_path(creator, bytes, size, string_hash(bytes, size), file_ret,
                               error);
}

gsym_status gsym_creator_add_file(gsym_creator *creator, uint64_t directory,
                                  uint64_t basename, uint32_t *file_ret,
                                  gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    return file_table_intern(&creator->files, directory, basename, file_ret, error);
}

void gsym_creator_get_mark(const gsym_creator *creator, gsym_creator_mark *mark) {
    *mark = (gsym_creator_mark){creator->strings.size, creator->files.count};
}

gsym_status gsym_creator_forget(gsym_creator *creator, const gsym_creator_mark *mark,
                                gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    if (mark->strings == 0 || mark->strings > creator->strings.size || mark->files == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a mark of another creator");
    GSYM_TRY(file_table_shrink(&creator->files, &creator->strings, mark->files, error));
    string_table_shrink(&creator->strings, mark->strings);
    return GSYM_OK;
}

/* ---- memory of blobs -------------------------------------------------------- */

gsym_status creator_adopt(gsym_creator *creator, void *bytes, gsym_error *error) {
    return LIST_ADD(creator->owned, bytes) ? GSYM_OK : gsym_fail_memory(error);
}

static gsym_status allocate_owned(gsym_creator *creator, size_t size, uint8_t **bytes_ret,
                                  gsym_error *error) {
    gsym_status status;
    uint8_t *bytes = malloc(size);
    if (bytes == NULL) return gsym_fail_memory(error);
    status = creator_adopt(creator, bytes, error);
    if (status != GSYM_OK) {
        free(bytes);
        return status;
    }
    *bytes_ret = bytes;
    return GSYM_OK;
}

gsym_status creator_store(gsym_creator *creator, const uint8_t *bytes, size_t size,
                          const uint8_t **stored_ret, gsym_error *error) {
    uint8_t *stored = NULL;
    if (size > CHUNK_SHARE) {
        GSYM_TRY(allocate_owned(creator, size, &stored, error));
    } else {
        if (size > creator->chunk_left) {
            GSYM_TRY(allocate_owned(creator, CHUNK_SIZE, &creator->chunk, error));
            creator->chunk_left = CHUNK_SIZE;
        }
        stored = creator->chunk;
        creator->chunk += size;
        creator->chunk_left -= size;
    }
    memcpy(stored, bytes, size);
    *stored_ret = stored;
    return GSYM_OK;
}

gsym_status creator_encode(gsym_creator *creator, const gsym_function *function,
                           creator_record *record, gsym_error *error) {
    const creator_record counts = creator_record_of(function, 0);
    creator->encoded.size = 0;
    GSYM_TRY(
        function_info_encode(&creator->encoded, creator->strp_size, function, NULL, error));
    if (creator->encoded.size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "the record of the function at 0x%" PRIx64 " exceeds 4 GiB",
                         function->address);
    record->row_count = counts.row_count;
    record->node_count = counts.node_count;
    return GSYM_OK;
}

gsym_status creator_store_blob(gsym_creator *creator, const buffer *bytes,
                               creator_record *record, gsym_error *error) {
    record->blob_size = (uint32_t)bytes->size;
    record->names_size = record->index_size = 0;
    record->flags &= ~(uint32_t)RECORD_HAS_NAMES;
    return creator_store(creator, bytes->bytes, bytes->size, &record->blob, error);
}

gsym_status creator_store_minimum_record(gsym_creator *creator, creator_record *record,
                                         gsym_error *error) {
    buffer *out = &creator->encoded;
    out->size = 0;
    buffer_put_u32(out, (uint32_t)record->size);
    buffer_put_uint(out, record->name, creator->strp_size);
    buffer_put_u64(out, 0); /* EndOfList */
    if (out->failed) return gsym_fail_memory(error);
    return creator_store_blob(creator, out, record, error);
}

/* ---- functions -------------------------------------------------------------- */

static gsym_status check_extent(uint64_t address, uint64_t size, gsym_error *error) {
    if (size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "function at 0x%" PRIx64 " has size 0x%" PRIx64
                         ", more than fits in a GSYM file",
                         address, size);
    if (size != 0 && address > UINT64_MAX - (size - 1))
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "function at 0x%" PRIx64 " of size 0x%" PRIx64
                         " runs past the last address",
                         address, size);
    return GSYM_OK;
}

static void count_record(gsym_creator *creator, const creator_record *record) {
    if (creator_record_origin(record) == GSYM_ORIGIN_DEBUG_INFO)
        creator->report.functions_debug_info++;
    else
        creator->report.functions_symbol_table++;
}

gsym_status creator_expect(gsym_creator *creator, size_t count, gsym_error *error) {
    record_list *list = &creator->records;
    if (!LIST_RESERVE(*list, count)) return gsym_fail_memory(error);
    if (count > 0)
        pages_enlarge(list->items + list->count, count * sizeof *list->items);
    return GSYM_OK;
}

gsym_status creator_keep(gsym_creator *creator, const creator_record *records,
                         size_t count, gsym_error *error) {
    record_list *list = &creator->records;
    GSYM_TRY(creator_check_open(creator, error));
    if (count > UINT32_MAX - list->count)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "more functions than a GSYM file can contain");
    if (!LIST_RESERVE(*list, count)) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        GSYM_TRY(check_extent(records[i].address, records[i].size, error));
        if ((records[i].flags & RECORD_LINES) != 0) {
            if (!LIST_ADD(creator->lines, records[i])) return gsym_fail_memory(error);
            continue;
        }
        count_record(creator, &records[i]);
        list->items[list->count++] = records[i];
    }
    return GSYM_OK;
}

bool creator_describes(const gsym_creator *creator, const uint64_t *addresses,
                       size_t count) {
    for (size_t i = 0; i < creator->records.count; ++i) {
        const creator_record *record = &creator->records.items[i];
        size_t low = 0;
        if (creator_record_origin(record) != GSYM_ORIGIN_DEBUG_INFO) continue;
        SEARCH_SORTED(low, count, addresses[middle] < record->address);
        if (low < count && addresses[low] == record->address) return true;
    }
    return false;
}

void creator_count_repeated(gsym_creator *creator, uint64_t count) {
    creator->report.functions_debug_info += count;
}

void creator_raise_string_limit(gsym_creator *creator, uint64_t size) {
    string_table_raise_limit(&creator->strings, size);
}

void creator_share_string_limit(gsym_creator *creator, const gsym_creator *from) {
    creator->strings.input_limit = from->strings.input_limit;
}

uint64_t creator_string_limit(const gsym_creator *creator) {
    return creator->strings.input_limit;
}

void creator_count_symbols(gsym_creator *creator, uint64_t count) {
    creator->report.functions_symbol_table += count;
}

uint64_t gsym_creator_symbol_count(const gsym_creator *creator) {
    return creator->report.functions_symbol_table;
}

uint64_t gsym_creator_cut_functions(const gsym_creator *creator) {
    return creator->cut_functions;
}

void creator_allow_lower_base(gsym_creator *creator) { creator->may_lower_base = true; }

gsym_status creator_keep_symbol(gsym_creator *creator, uint64_t address, uint64_t size,
                                const char *name, size_t name_size,
                                uint32_t binding, gsym_error *error) {
    creator_record record = {
        .address = address,
        .size = size > UINT32_MAX ? 0 : size,
        .pending_name = name,
        .blob_size = (uint32_t)name_size,
        .flags = GSYM_ORIGIN_SYMBOL_TABLE | RECORD_NAME_PENDING |
                 binding << RECORD_BINDING_SHIFT,
    };
    if (name_size == 0 || name_size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "symbol at 0x%" PRIx64 " has no usable name", address);
    return creator_keep(creator, &record, 1, error);
}

bool creator_is_empty(const gsym_creator *creator) { return creator->records.count == 0; }

void creator_bound_symbols(gsym_creator *creator) { creator->bounds_symbols = true; }

gsym_status creator_end_symbols_at(gsym_creator *creator, uint64_t address,
                                   gsym_error *error) {
    return LIST_ADD(creator->symbol_ends, address) ? GSYM_OK : gsym_fail_memory(error);
}

gsym_status creator_add_text_range(gsym_creator *creator, uint64_t start, uint64_t end,
                                   gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    return LIST_ADD(creator->text_ranges,
                    (gsym_range){start, end}) ? GSYM_OK : gsym_fail_memory(error);
}

gsym_status gsym_creator_add_function(gsym_creator *creator, const gsym_function *function,
                                      gsym_origin origin, gsym_error *error) {
    creator_record record = creator_record_of(function, origin);
    GSYM_TRY(creator_check_open(creator, error));
    GSYM_TRY(check_extent(function->address, function->size, error));
    GSYM_TRY(creator_encode(creator, function, &record, error));
    GSYM_TRY(creator_store_blob(creator, &creator->encoded, &record, error));
    return creator_keep(creator, &record, 1, error);
}

gsym_status gsym_creator_add_section(gsym_creator *creator, uint32_t type,
                                     const uint8_t *data, size_t size, gsym_error *error) {
    foreign_section section = {.type = type, .size = size};
    GSYM_TRY(creator_check_open(creator, error));
    if (creator->options.version == GSYM_VERSION_1)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "version 1 has no section of type %" PRIu32
                         ", version 2 does (--output-version 2)",
                         type);
    if (type <= GSYM_SECTION_UUID || size == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "a section of type %" PRIu32 " and %zu bytes cannot be copied",
                         type, size);
    if (!LIST_RESERVE(creator->sections, 1)) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(creator, data, size, &section.data, error));
    creator->sections.items[creator->sections.count++] = section;
    return GSYM_OK;
}
