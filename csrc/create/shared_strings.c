/* shared_strings.c - omit strings that the binary around the file has in its own string
 * table.
 *
 * A string need only be the tail of a string there, as `main` is a tail of `_main`. The
 * binary's table is read once, backwards, and the hash of a string is computed from its end
 * to its start: so each longer tail costs one step of the hash and one search among the
 * wanted strings. */
#include "create/state.h"

enum { OWN_STRINGS_ALIGNMENT = 8 }; /* alignment of the end of the own strings, where the
                                       file ends */

#define NOT_FOUND SIZE_MAX

typedef struct wanted_string {
    uint64_t hash;
    const char *bytes;
    size_t size;
    size_t offset; /* offset in the binary's table, or NOT_FOUND */
} wanted_string;

typedef struct wanted_list {
    wanted_string *items; /* in the order of their table */
    size_t count;
    uint32_t *slots; /* by hash: index of an item + 1; 0: free */
    size_t mask;
} wanted_list;

#define EMPTY_TAIL UINT64_C(0x6a09e667f3bcc909)

static inline uint64_t longer_tail(uint64_t hash, char byte) {
    hash = (hash ^ (uint8_t)byte) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* ---- what is wanted --------------------------------------------------------- */

static void want(wanted_list *list, const char *bytes, size_t size) {
    uint64_t hash = EMPTY_TAIL;
    size_t at;
    for (size_t i = size; i-- > 0;) hash = longer_tail(hash, bytes[i]);
    list->items[list->count++] = (wanted_string){hash, bytes, size, NOT_FOUND};
    for (at = (size_t)hash & list->mask; list->slots[at] != 0;) at = (at + 1) & list->mask;
    list->slots[at] = (uint32_t)list->count;
}

static gsym_status wanted_list_init(wanted_list *list, const string_table *all,
                                    gsym_error *error) {
    size_t count = all->slots.count, capacity = 64;
    while (capacity / 2 < count) capacity *= 2;
    if (count >= UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "too many strings to share");
    list->items = calloc(count + 1, sizeof *list->items);
    list->slots = calloc(capacity, sizeof *list->slots);
    list->mask = capacity - 1;
    if (list->items == NULL || list->slots == NULL) return gsym_fail_memory(error);
    for (size_t strp = 1; strp < all->size;) {
        const char *string = string_table_at(all, strp);
        size_t size = strlen(string);
        want(list, string, size);
        strp += size + 1;
    }
    return GSYM_OK;
}

static void wanted_list_deinit(wanted_list *list) {
    free(list->items);
    free(list->slots);
}

/* ---- where the binary has it ------------------------------------------------ */

static void find_tail(wanted_list *list, uint64_t hash, const char *bytes, size_t offset,
                      size_t size) {
    for (size_t at = (size_t)hash & list->mask; list->slots[at] != 0;
         at = (at + 1) & list->mask) {
        wanted_string *wanted = &list->items[list->slots[at] - 1];
        if (wanted->hash == hash && wanted->offset == NOT_FOUND && wanted->size == size &&
            memcmp(wanted->bytes, bytes + offset, size) == 0)
            wanted->offset = offset;
    }
}

/* Visit all tails in bytes[0 .. size); bytes after the last NUL are no string. */
static void find_tails(wanted_list *list, const char *bytes, size_t size) {
    uint64_t hash = EMPTY_TAIL;
    size_t end = size;
    while (end > 0 && bytes[end - 1] != 0) end--;
    for (size_t offset = end; offset-- > 0;) {
        if (bytes[offset] == 0) {
            hash = EMPTY_TAIL;
            end = offset;
        } else {
            hash = longer_tail(hash, bytes[offset]);
            find_tail(list, hash, bytes, offset, end - offset);
        }
    }
}

/* ---- the creator's strings -------------------------------------------------- */

static gsym_status add_strings(string_table *strings, const wanted_list *list,
                               const uint8_t *bytes, size_t size, uint64_t distance,
                               gsym_error *error) {
    uint64_t ignored;
    for (size_t i = 0; i < list->count; ++i) {
        const wanted_string *own = &list->items[i];
        if (own->offset == NOT_FOUND)
            GSYM_TRY(string_table_intern(strings, own->bytes, own->size,
                                         string_hash(own->bytes, own->size), &ignored,
                                         error));
    }
    GSYM_TRY(string_table_pad(strings, OWN_STRINGS_ALIGNMENT, error));
    GSYM_TRY(string_table_share(strings, bytes, size, distance, error));
    for (size_t i = 0; i < list->count; ++i) {
        const wanted_string *shared = &list->items[i];
        if (shared->offset != NOT_FOUND)
            GSYM_TRY(string_table_add_shared(strings, shared->offset, shared->size, error));
    }
    return GSYM_OK;
}

gsym_status gsym_creator_share_strings(gsym_creator *creator, const gsym_creator *all,
                                       const uint8_t *bytes, size_t size,
                                       uint64_t distance, gsym_error *error) {
    wanted_list list = {0};
    gsym_status status;
    GSYM_TRY(creator_check_open(creator, error));
    if (creator->strings.size != 1 || all->strings.shared != NULL || size == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "strings cannot be shared any more");
    status = wanted_list_init(&list, &all->strings, error);
    if (status == GSYM_OK) {
        find_tails(&list, (const char *)bytes, size);
        status = add_strings(&creator->strings, &list, bytes, size, distance, error);
    }
    wanted_list_deinit(&list);
    return status;
}
