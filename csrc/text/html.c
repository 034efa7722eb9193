/* html.c - write text as HTML: escape it, and replace characters that HTML cannot have. */
#include "base/characters.h"
#include "text/markup.h"

static const char *escape_of(uint8_t byte) {
    switch (byte) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        case '\'': return "&#x27;";
        default: return NULL;
    }
}

/* Return the size of a malformed sequence: the longest prefix that a valid one could
 * have. */
static size_t malformed_size(const uint8_t *at, size_t left) {
    const uint8_t lead = *at;
    size_t max = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead < 0xc2 || lead > 0xf4) max = 1;
    size_t size = 1;
    for (; size < max && size < left; ++size) {
        uint8_t low = 0x80, high = 0xbf;
        if (size == 1 && lead == 0xe0) low = 0xa0;
        if (size == 1 && lead == 0xed) high = 0x9f;
        if (size == 1 && lead == 0xf0) low = 0x90;
        if (size == 1 && lead == 0xf4) high = 0x8f;
        if (at[size] < low || at[size] > high) break;
    }
    return size;
}

/* Append the first UTF-8 sequence of some bytes, and return its size. */
static size_t put_html_character(buffer *out, const uint8_t *at, size_t left) {
    const char *escape = escape_of(*at);
    const size_t size = utf8_size(at, left);
    if (escape != NULL) {
        buffer_put(out, escape, strlen(escape));
    } else if (size == 0) {
        buffer_put(out, "\xef\xbf\xbd", 3);
        return malformed_size(at, left);
    } else if (*at < ' ' && *at != '\t' && *at != '\n' && *at != '\r') {
        buffer_put(out, "\xe2\x90", 2);
        buffer_put_u8(out, (uint8_t)(0x80 + *at));
    } else {
        buffer_put(out, at, size);
    }
    return size;
}

/* Return the number of bytes that need no escape: printable ASCII. */
static size_t plain_size(const uint8_t *bytes, size_t size) {
    size_t at = 0;
    while (at < size && bytes[at] >= ' ' && bytes[at] < 0x7f &&
           escape_of(bytes[at]) == NULL)
        ++at;
    return at;
}

void put_html(buffer *out, const char *bytes, size_t size) {
    const uint8_t *at = (const uint8_t *)bytes, *end = at + size;
    while (at < end) {
        const size_t plain = plain_size(at, (size_t)(end - at));
        buffer_put(out, at, plain);
        at += plain;
        if (at < end) at += put_html_character(out, at, (size_t)(end - at));
    }
}
