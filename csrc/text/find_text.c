/* find_text.c - find offsets (`+0x`) and headings of sanitizers in the text of a report. */
#include "base/error.h"

size_t gsym_text_find_offset(const char *text, size_t size) {
    const char *end = text + size, *at = text;
    while (at < end && (at = memchr(at, '+', (size_t)(end - at))) != NULL) {
        const char *digits = at + (end - at > 1 && at[1] == ' ' ? 2 : 1);
        if (end - digits >= 2 && digits[0] == '0' && digits[1] == 'x')
            return (size_t)(at - text);
        ++at;
    }
    return size;
}

/* Size of the endings by which headings are found, and of the block that is searched at
 * once. */
enum { ENDING_SIZE = 11, BLOCK = 64 };
static const char endings[][ENDING_SIZE + 1] = {"Sanitizer: ", "libFuzzer: ",
                                                "ime error: "};

/* Whether "r:" begins at any of BLOCK bytes. Compilers use vector instructions for this
 * loop. */
static bool may_end_heading(const char *text) {
    unsigned char found = 0;
    for (size_t i = 0; i < BLOCK; ++i)
        found |= (text[i] == 'r') & (text[i + 1] == ':');
    return found;
}

static bool ends_heading(const char *end) {
    bool found = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i)
        found |= memcmp(end - ENDING_SIZE, endings[i], ENDING_SIZE) == 0;
    return found;
}

size_t gsym_text_find_heading(const char *text, size_t size) {
    size_t end = ENDING_SIZE;
    while (end <= size) {
        size_t next = end + BLOCK;
        if (size - end >= BLOCK && !may_end_heading(text + end - 3)) {
            end = next;
            continue;
        }
        for (; end <= size && end < next; ++end)
            if (text[end - 2] == ':' && ends_heading(text + end)) return end;
    }
    return size;
}
