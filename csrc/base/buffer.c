/* buffer.c - allocate memory for buffers and lists; append, and join ranges. */
#include "base/buffer.h"
#include "base/sort.h"

bool buffer_grow(buffer *out, size_t more) {
    size_t wanted, capacity;
    uint8_t *bytes;
    if (out->failed || __builtin_add_overflow(out->size, more, &wanted)) {
        out->failed = true;
        return false;
    }
    capacity = out->capacity < 256 ? 256 : out->capacity;
    while (capacity < wanted) capacity = capacity > SIZE_MAX / 2 ? wanted : capacity * 2;
    bytes = realloc(out->bytes, capacity);
    if (bytes == NULL) {
        out->failed = true;
        return false;
    }
    out->bytes = bytes;
    out->capacity = capacity;
    return true;
}

void buffer_trim(buffer *out) {
    uint8_t *bytes = out->size == 0 ? NULL : realloc(out->bytes, out->size);
    if (bytes == NULL) return;
    out->bytes = bytes;
    out->capacity = out->size;
}

void buffer_deinit(buffer *out) {
    free(out->bytes);
    out->bytes = NULL;
    out->size = out->capacity = 0;
}

void buffer_put_escaped(buffer *out, const char *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; ++i) {
        uint8_t byte = (uint8_t)bytes[i];
        if (byte >= ' ' && byte != 0x7f) {
            buffer_put_u8(out, byte);
            continue;
        }
        buffer_put(out, "\\x", 2);
        buffer_put_u8(out, (uint8_t)digits[byte >> 4]);
        buffer_put_u8(out, (uint8_t)digits[byte & 15]);
    }
}

void buffer_align(buffer *out, size_t alignment) {
    while (out->size & (alignment - 1)) {
        buffer_put_u8(out, 0);
        if (out->failed) return;
    }
}

bool array_reserve(void *items, size_t *capacity, size_t count, size_t item_size) {
    void *old, *grown;
    size_t wanted, bytes;
    memcpy(&old, items, sizeof old);
    wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < count) wanted = wanted > SIZE_MAX / 2 ? count : wanted * 2;
    if (__builtin_mul_overflow(wanted, item_size, &bytes)) return false;
    grown = realloc(old, bytes);
    if (grown == NULL) return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

void *zeroed_table(size_t count, size_t item_size) {
    enum { PAGE = 4096 };
    char *table = calloc(count, item_size);
    if (table == NULL) return NULL;
    for (size_t at = 0; at < count * item_size; at += PAGE)
        *(volatile char *)(table + at) = 0;
    return table;
}

void ranges_join(range_list *ranges, size_t first) {
    gsym_range *items = ranges->items;
    bool is_joined = true;
    size_t kept = first;
    for (size_t i = first + 1; i < ranges->count; ++i)
        is_joined &= items[i].start > items[i - 1].end;
    if (is_joined) return;
    sort_by_u64(items + first, ranges->count - first, sizeof *items);
    for (size_t i = first + 1; i < ranges->count; ++i) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
    }
    ranges->count = kept + 1;
}
