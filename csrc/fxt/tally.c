/* tally.c - count events by provider, category, name and kind. */
#include "base/tables.h"
#include "fxt/reader.h"

struct gsym_fxt_tally {
    LIST(gsym_fxt_group) groups;
    slot_table slots; /* hash -> number of a group, from 1 */
};

gsym_status gsym_fxt_tally_create(gsym_fxt_tally **tally_ret, gsym_error *error) {
    *tally_ret = calloc(1, sizeof **tally_ret);
    return *tally_ret != NULL ? GSYM_OK : gsym_fail_memory(error);
}

void gsym_fxt_tally_destroy(gsym_fxt_tally *tally) {
    if (tally == NULL) return;
    free(tally->groups.items);
    free(tally->slots.slots);
    free(tally);
}

void gsym_fxt_tally_clear(gsym_fxt_tally *tally) {
    tally->groups.count = 0;
    slot_table_clear(&tally->slots);
}

void gsym_fxt_tally_view(const gsym_fxt_tally *tally, const gsym_fxt_group **groups_ret,
                         size_t *count_ret) {
    *groups_ret = tally->groups.items;
    *count_ret = tally->groups.count;
}

/* Hash a group: every bit of its numbers affects the low bits, which choose the slot. */
static uint64_t group_hash(const gsym_fxt_group *group) {
    uint64_t hash = (uint64_t)group->category << 32 | group->name;
    hash = (hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= (uint64_t)group->provider << 32 | group->kind;
    hash = (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 29;
}

static bool is_same(const gsym_fxt_group *one, const gsym_fxt_group *other) {
    return one->category == other->category && one->name == other->name &&
           one->provider == other->provider && one->kind == other->kind;
}

/* Find or add the group of an event; NULL if out of memory. */
static gsym_fxt_group *find_group(gsym_fxt_tally *tally, const gsym_fxt_group *wanted) {
    uint64_t hash = group_hash(wanted), at = hash, number;
    while ((number = slot_table_next(&tally->slots, hash, &at)) != 0)
        if (is_same(&tally->groups.items[number - 1], wanted))
            return &tally->groups.items[number - 1];
    if (!slot_table_reserve(&tally->slots) || !LIST_ADD(tally->groups, *wanted))
        return NULL;
    slot_table_insert(&tally->slots, hash, tally->groups.count);
    return &tally->groups.items[tally->groups.count - 1];
}

gsym_status gsym_fxt_tally_add(gsym_fxt_tally *tally, const gsym_fxt_columns *columns,
                               gsym_error *error) {
    size_t event = 0;
    for (size_t at = 0; at < columns->count; ++at) {
        gsym_fxt_group wanted = {.kind = columns->kinds[at]}, *group;
        if (wanted.kind > GSYM_FXT_FLOW_END) continue;
        wanted.provider = columns->event_provider[event];
        wanted.category = columns->event_category[event];
        wanted.name = columns->event_name[event];
        group = find_group(tally, &wanted);
        if (group == NULL) return gsym_fail_memory(error);
        group->events++;
        group->bytes += columns->event_size[event++];
    }
    return GSYM_OK;
}
