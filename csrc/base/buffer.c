/* buffer.c - allocate memory for buffers; escape and align what is appended. */
#include "base/buffer.h"

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
