/* string_order.c - move the strings that many lookups need to the start of the table.
 *
 * Strings get their numbers in the order of the input, so those of one unit are together.
 * Names and files of functions that are inlined everywhere are where their first unit is,
 * all over the table. They move to its start, in the same order, so that few pages hold
 * them, which a reader of a remote file gets with its first request. The others stay in
 * their order.
 *
 * Encoded records keep the numbers that they were made with, until they are handed out. */
#include "create/state.h"

enum {
    FEW_BYTES = 64 << 10, /* the first request has all of a smaller table */
    MANY_USES = 64, /* strings with so many take 160 KB of a file of 60 MB, ceph-osd */
    RECORDS_PER_COUNTED = 8, /* of so many records, the uses in one are counted */
    LEAST_COUNTED = 1 << 10, /* of fewer records, all are */
    BLOCK_BITS = 9 /* of the table; in most blocks at most one string moves */
};

/* Uses by a hash of the number: a string that shares its slot may move although few calls
 * use it, or stay although many do. */
typedef struct use_counts {
    uint8_t *slots; /* up to 2 * most */
    unsigned shift;
    uint32_t *files; /* calls in each file */
    uint32_t most;   /* uses after which a string moves */
    LIST(uint64_t) found;
    bool failed; /* memory ran out */
} use_counts;

static void count_uses(use_counts *uses, uint64_t strp, uint32_t more) {
    uint8_t *slot = &uses->slots[(strp * HASH_KEY_A) >> uses->shift];
    if (strp == 0 || *slot >= uses->most) return;
    *slot = (uint8_t)(*slot + (more < uses->most ? more : uses->most));
    if (*slot >= uses->most && !LIST_ADD(uses->found, strp)) uses->failed = true;
}

/* ---- the numbers of strings in a record ------------------------------------------ */

/* A record, whose numbers become those of the file or, if `uses` is not NULL, are
 * counted. */
typedef struct number_visit {
    const gsym_creator *creator;
    use_counts *uses;
    uint8_t *bytes; /* a copy of what follows its size and name */
    bool *failed;   /* memory ran out */
} number_visit;

static void renumber(const number_visit *visit, size_t at) {
    const gsym_creator *creator = visit->creator;
    bool swap = creator->encoded.swap;
    uint8_t *number = visit->bytes + at - creator_record_head_size(creator);
    if (creator->strp_size == 4) {
        uint32_t strp =
            (uint32_t)creator_final_strp(creator, cursor_load32(number, swap));
        strp = swap ? __builtin_bswap32(strp) : strp;
        memcpy(number, &strp, sizeof strp);
    } else {
        uint64_t strp = creator_final_strp(creator, cursor_load64(number, swap));
        strp = swap ? __builtin_bswap64(strp) : strp;
        memcpy(number, &strp, sizeof strp);
    }
}

static void count_call(const number_visit *visit, cursor at) {
    uint64_t file;
    count_uses(visit->uses, cursor_strp(&at, visit->creator->strp_size), 1);
    file = cursor_uleb_1(&at);
    if (file < visit->creator->files.count) ++visit->uses->files[file];
}

static void visit_calls(const number_visit *visit, const record_info *info) {
    unsigned strp_size = visit->creator->strp_size;
    size_t most = cursor_left(&info->payload) / (SMALLEST_NODE + strp_size) + 1, count;
    uint32_t *names = malloc(most * sizeof *names);
    *visit->failed |= names == NULL;
    if (names == NULL) return;
    count = inline_info_names(&info->payload, strp_size, names);
    for (size_t i = 0; i < count; ++i) {
        cursor at = info->payload;
        at.at += names[i];
        if (visit->uses != NULL)
            count_call(visit, at);
        else
            renumber(visit, (size_t)info->offset + names[i]);
    }
    free(names);
}

/* Visit the names of a record whose encoder noted where they are: decoding the tree of
 * calls would take as long as encoding it. */
static void visit_names(const number_visit *visit, const creator_record *record) {
    cursor places =
        cursor_at(record->blob + record->blob_size, record->names_size, 0, false);
    cursor at = cursor_at(record->blob, record->blob_size, 0,
                          creator_big_endian(visit->creator));
    while (cursor_left(&places) > 0) {
        cursor_skip(&at, cursor_uleb_1(&places));
        if (visit->uses != NULL)
            count_call(visit, at);
        else
            renumber(visit, (size_t)cursor_offset(&at));
    }
}

static void renumber_call_sites(const number_visit *visit, cursor payload) {
    unsigned strp_size = visit->creator->strp_size;
    uint32_t count = cursor_u32(&payload);
    for (; count > 0 && !payload.failed; --count) {
        uint32_t regex_count;
        cursor_skip(&payload, 8 + 1); /* return offset and flags */
        regex_count = cursor_u32(&payload);
        for (; regex_count > 0 && cursor_need(&payload, strp_size); --regex_count) {
            renumber(visit, (size_t)cursor_offset(&payload));
            payload.at += strp_size;
        }
    }
}

/* Visit what follows size and name of a record, but for the functions merged into it. */
static void visit_infos(const number_visit *visit, cursor *record, cursor *merged_ret) {
    record_info info;
    gsym_error ignored;
    while (function_info_next(record, &info, &ignored) == GSYM_OK &&
           info.type != GSYM_INFO_END_OF_LIST) {
        if (info.type == GSYM_INFO_INLINE_INFO)
            visit_calls(visit, &info);
        else if (info.type == GSYM_INFO_CALL_SITES && visit->uses == NULL)
            renumber_call_sites(visit, info.payload);
        else if (info.type == GSYM_INFO_MERGED_FUNCTIONS)
            *merged_ret = info.payload;
    }
}

static void visit_record(const gsym_creator *creator, const creator_record *record,
                         use_counts *uses, uint8_t *copy, bool *failed) {
    const number_visit visit = {creator, uses, copy, failed};
    unsigned head_size = creator_record_head_size(creator);
    cursor c = cursor_at(record->blob, record->blob_size, head_size,
                         creator_big_endian(creator));
    cursor merged = {.at = NULL}, child, ignored;
    uint32_t count = 0;
    gsym_error error;
    if ((record->flags & RECORD_HAS_NAMES) != 0) {
        visit_names(&visit, record);
        return;
    }
    visit_infos(&visit, &c, &merged);
    if (merged.at == NULL) return;
    (void)merged_functions_count(&merged, &count, &error);
    for (uint32_t i = 0; i < count; ++i) {
        if (merged_functions_next(&merged, i, &child, &error) != GSYM_OK) return;
        if (uses == NULL && cursor_left(&child) >= head_size)
            renumber(&visit, (size_t)cursor_offset(&child) + 4);
        cursor_skip(&child, head_size);
        visit_infos(&visit, &child, &ignored);
    }
}

bool creator_put_body(const gsym_creator *creator, const creator_record *record,
                      uint8_t *to) {
    unsigned head_size = creator_record_head_size(creator);
    bool failed = false;
    memcpy(to, record->blob + head_size, record->blob_size - head_size);
    if (creator->order.moved.count > 0) visit_record(creator, record, NULL, to, &failed);
    return !failed;
}

/* ---- the order ------------------------------------------------------------------- */

static void count_all(const gsym_creator *creator, use_counts *uses) {
    size_t step = creator->records.count < LEAST_COUNTED ? 1 : RECORDS_PER_COUNTED;
    uses->most = MANY_USES / (uint32_t)step;
    for (size_t i = 0; i < creator->records.count; i += step) {
        const creator_record *record = &creator->records.items[i];
        if (record->blob != NULL) visit_record(creator, record, uses, NULL, &uses->failed);
    }
    for (size_t i = 0; i < creator->files.count; ++i) {
        const file_entry *file = &creator->files.items[i];
        if (uses->files[i] == 0) continue;
        count_uses(uses, file->directory, uses->files[i]);
        count_uses(uses, file->basename, uses->files[i]);
    }
}

static int compare_numbers(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Give the strings that move their numbers. */
static bool place_strings(string_order *order, const string_table *strings,
                          use_counts *uses) {
    size_t blocks = (strings->size >> BLOCK_BITS) + 1, block = 0;
    size_t count = uses->found.count;
    uint64_t to = 1;
    if (count == 0) return true;
    order->starts = malloc(blocks * sizeof *order->starts);
    if (order->starts == NULL || !LIST_RESERVE(order->moved, count + 2)) return false;
    qsort(uses->found.items, count, sizeof *uses->found.items, compare_numbers);
    order->moved.items[0] = (moved_string){0, 0};
    for (size_t i = 0; i < count; ++i) {
        uint64_t from = uses->found.items[i];
        order->moved.items[i + 1] = (moved_string){.from = from, .to = to};
        to += strlen(string_table_at(strings, from)) + 1;
        while (block <= from >> BLOCK_BITS) order->starts[block++] = (uint32_t)i + 1;
    }
    while (block < blocks) order->starts[block++] = (uint32_t)count + 1;
    order->moved.items[count + 1] = (moved_string){.from = strings->size, .to = to};
    order->moved.count = count + 2;
    return true;
}

gsym_status creator_order_strings(gsym_creator *creator, gsym_error *error) {
    const string_table *strings = &creator->strings;
    use_counts uses = {.shift = 63};
    size_t slots = 2;
    bool is_done;
    if (strings->shared != NULL || strings->size <= FEW_BYTES) return GSYM_OK;
    for (; slots < strings->slots.count; slots *= 2) --uses.shift;
    uses.slots = calloc(slots, sizeof *uses.slots);
    uses.files = calloc(creator->files.count, sizeof *uses.files);
    is_done = uses.slots != NULL && uses.files != NULL;
    if (is_done) count_all(creator, &uses);
    is_done = is_done && !uses.failed && place_strings(&creator->order, strings, &uses);
    free(uses.slots);
    free(uses.files);
    free(creator->strings.slots.slots);
    creator->strings.slots.slots = NULL;
    free(uses.found.items);
    return is_done ? GSYM_OK : gsym_fail_memory(error);
}

uint64_t creator_final_strp(const gsym_creator *creator, uint64_t strp) {
    const string_order *order = &creator->order;
    const moved_string *next;
    uint64_t inside;
    if (order->moved.count == 0 || strp >= creator->strings.size) return strp;
    next = order->moved.items + order->starts[strp >> BLOCK_BITS];
    next += next->from <= strp; /* without a branch, which would be mispredicted */
    while (GSYM_UNLIKELY(next->from <= strp)) ++next;
    inside = strp - next[-1].from;
    return inside < next->to - next[-1].to
               ? next[-1].to + inside
               : strp + (order->moved.items[order->moved.count - 1].to - next->to);
}

bool creator_next_strings(const gsym_creator *creator, size_t index, size_t *start_ret,
                          size_t *size_ret) {
    const moved_string *moved = creator->order.moved.items;
    size_t count = creator->order.moved.count;
    if (count == 0) {
        *start_ret = 0;
        *size_ret = creator->strings.size;
        return index == 0;
    }
    --count; /* of the strings that move, the empty one among them */
    if (index < count) {
        *start_ret = (size_t)moved[index].from;
        *size_ret = (size_t)(moved[index + 1].to - moved[index].to);
        return true;
    }
    index -= count; /* the strings after one that moves */
    if (index == count) return false;
    *start_ret = (size_t)(moved[index].from + moved[index + 1].to - moved[index].to);
    *size_ret = (size_t)moved[index + 1].from - *start_ret;
    return true;
}
