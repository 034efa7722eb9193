/* symbol_lines.c - give lines to symbols that no DIE describes.
 *
 * Line tables also cover code without a DIE: assembly, units compiled with
 * -gline-tables-only, thunks, folded functions. Each symbol without lines gets the rows of
 * its addresses. If several line tables have an address, the one that starts first is
 * used. */
#include "create/state.h"

/* Limit: Rows of symbols that share them: bytes of the records */
LIMIT(LINE_BYTES, 1 << 20, 32);
/* Limit: Rows of symbols that share them: steps through the tables */
LIMIT(LINE_STEPS, 1 << 28, 256);

typedef struct line_assigner {
    gsym_creator *creator;
    const record_key *keys; /* sorted keys of creator->lines */
    size_t first;           /* index of the first key whose lines may cover a later
                               symbol */
    gsym_record *record;    /* memory for the lines that were decoded last */
    const gsym_function *decoded;
    uint32_t decoded_index;
    row_list rows; /* of the symbol */
    bool is_head;  /* whether a function with lines begins behind it and ends with it */
    uint64_t visits_left, bytes_left;
} line_assigner;

static gsym_status decode(line_assigner *assigner, uint32_t index, gsym_error *error) {
    const creator_record *lines = &assigner->creator->lines.items[index];
    if (assigner->decoded != NULL && assigner->decoded_index == index) return GSYM_OK;
    assigner->decoded_index = index;
    assigner->visits_left -=
        lines->blob_size < assigner->visits_left ? lines->blob_size : assigner->visits_left;
    return record_decode(
        assigner->record,
        cursor_at(lines->blob, lines->blob_size, 0, creator_big_endian(assigner->creator)),
        assigner->creator->strp_size, lines->address, &assigner->decoded, error);
}

/* Append a row that says: from `address` on, file and line are unknown. */
static bool put_gap(row_list *rows, uint64_t address) {
    return LIST_ADD(*rows, (gsym_line_row){address, 0, 0});
}

/* Append the decoded rows of the addresses from `start` to `last`. Addresses from `next` to
 * `start` have no rows, so a gap goes there. The row that began before the lines is none of
 * a head: GCC describes a patchable function from behind the NOPs before its entry. */
static bool add_rows(line_assigner *assigner, const creator_record *lines, uint64_t next,
                     uint64_t start, uint64_t last) {
    gsym_function decoded = *assigner->decoded;
    if (assigner->rows.count > 0 && start > next && !put_gap(&assigner->rows, next))
        return false;
    if (assigner->is_head && decoded.row_count > lines->row_count) {
        decoded.rows++;
        decoded.row_count--;
    }
    return creator_cut_rows(&assigner->rows, &decoded, start, last);
}

/* List the rows of the addresses from `start` to `last`. */
static gsym_status gather(line_assigner *assigner, uint64_t start, uint64_t last,
                          gsym_error *error) {
    record_list *all = &assigner->creator->lines;
    uint64_t next = start;
    assigner->rows.count = 0;
    while (assigner->first < all->count &&
           record_last(&all->items[assigner->keys[assigner->first].index]) < start)
        assigner->first++;
    for (size_t i = assigner->first; i < all->count && assigner->visits_left > 0; ++i) {
        uint32_t index = assigner->keys[i].index;
        creator_record *lines = &all->items[index];
        uint64_t from = lines->address < next ? next : lines->address;
        uint64_t to = record_last(lines) < last ? record_last(lines) : last;
        assigner->visits_left--;
        if (lines->address > last) break;
        if (to < from) continue;
        GSYM_TRY(decode(assigner, index, error));
        if (!add_rows(assigner, lines, next, from, to)) return gsym_fail_memory(error);
        lines->flags |= RECORD_USED;
        if (to == last) return GSYM_OK;
        next = to + 1;
    }
    return assigner->rows.count == 0 || put_gap(&assigner->rows, next)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

static gsym_status assign_lines(line_assigner *assigner, creator_record *record,
                                uint64_t last, gsym_error *error) {
    gsym_creator *creator = assigner->creator;
    gsym_function function = {
        .address = record->address, .size = record->size, .name = record->name};
    creator_record made = *record;
    const buffer *out = &creator->encoded;
    GSYM_TRY(gather(assigner, record->address, last, error));
    if (assigner->visits_left == 0) creator->cut_functions++;
    if (assigner->rows.count == 0 || assigner->visits_left == 0) return GSYM_OK;
    function.rows = assigner->rows.items;
    function.row_count = assigner->rows.count;
    GSYM_TRY(creator_encode(creator, &function, &made, error));
    if (out->size > assigner->bytes_left) {
        assigner->visits_left = 0;
        creator->cut_functions++;
        return GSYM_OK;
    }
    assigner->bytes_left -= out->size;
    creator->report.functions_with_lines++;
    *record = made;
    return creator_store_blob(creator, out, record, error);
}

/* Whether a record behind another one has lines and ends where that one ends. */
static bool is_head(line_assigner *assigner, size_t index, uint64_t last) {
    const record_list *records = &assigner->creator->records;
    for (size_t i = index + 1; i < records->count && assigner->visits_left > 0; ++i) {
        const creator_record *other = &records->items[i];
        if (other->address > last) break;
        if (record_last(other) == last && record_is_rich(assigner->creator, other))
            return other->address > records->items[index].address;
        assigner->visits_left--;
    }
    return false;
}

/* Give lines to all records without any; those without a size extend to the next one. */
static gsym_status assign_all_lines(line_assigner *assigner, gsym_error *error) {
    record_list *records = &assigner->creator->records;
    for (size_t i = 0; i < records->count; ++i) {
        creator_record *record = &records->items[i];
        uint64_t last = UINT64_MAX;
        if ((record->flags & RECORD_NOT_ASKED) != 0 ||
            creator_record_size(assigner->creator, record) >
                creator_minimum_record_size(assigner->creator))
            continue;
        if (record->size > 0)
            last = record_last(record);
        else if (i + 1 < records->count)
            last = records->items[i + 1].address - 1;
        assigner->is_head = is_head(assigner, i, last);
        if (assigner->visits_left > 0)
            GSYM_TRY(assign_lines(assigner, record, last, error));
        else
            assigner->creator->cut_functions++;
    }
    return GSYM_OK;
}

gsym_status creator_assign_lines(gsym_creator *creator, gsym_error *error) {
    const record_list *lines = &creator->lines;
    line_assigner assigner = {.creator = creator};
    record_key *keys = NULL;
    uint64_t size = 0;
    gsym_status status;
    if (lines->count == 0) return GSYM_OK;
    for (size_t i = 0; i < lines->count; ++i)
        size += lines->items[i].blob_size;
    assigner.bytes_left = LIMIT_OF(LINE_BYTES, size);
    assigner.visits_left = LIMIT_OF(LINE_STEPS, size + creator->records.count);
    status = gsym_record_create(&assigner.record, error);
    if (status == GSYM_OK) status = record_order_sort(lines, &keys, error);
    assigner.keys = keys;
    if (status == GSYM_OK) status = assign_all_lines(&assigner, error);
    for (size_t i = 0; i < lines->count; ++i)
        if ((lines->items[i].flags & RECORD_USED) == 0)
            creator->report.line_rows_unused += lines->items[i].row_count;
    gsym_record_destroy(assigner.record);
    free(assigner.rows.items);
    free(keys);
    return status;
}
