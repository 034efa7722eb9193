/* cxx_name_work.c - for how much text a mangled C++ name may stand.
 *
 * A demangler writes a repeated part out each time, so that parts that repeat parts
 * make gigabytes of 250 bytes. This reads no grammar: whatever looks like a reference
 * counts as one. */
#include "base/internal.h"

enum {
    MAX_REFERENCE = 4,  /* characters looked at in front of its `_` */
    MAX_REFERENCES = 64 /* different ones; each may double the text */
};

static const uint64_t ENDLESS = UINT64_C(1) << 62;

typedef struct known_part {
    uint32_t reference;
    uint64_t work;
} known_part;

static uint32_t reference_key(const char *at, const char *end) {
    uint32_t key = 0;
    for (; at < end; ++at) key = key << 8 | (uint8_t)*at;
    return key;
}

/* What the part cost when it was first referred to: it is complete in front of there. */
static uint64_t cost_of(known_part *parts, size_t *count, uint32_t reference,
                        uint64_t work) {
    for (size_t i = 0; i < *count; ++i)
        if (parts[i].reference == reference) return parts[i].work;
    if (*count == MAX_REFERENCES) return ENDLESS;
    parts[(*count)++] = (known_part){reference, work};
    return work;
}

uint64_t gsym_cxx_name_work(const char *name, size_t size) {
    known_part parts[MAX_REFERENCES];
    const char *begin = name, *stop = name + size, *end;
    size_t count = 0;
    uint64_t work = 0, doublings = 0;
    for (end = name; (end = memchr(end, '_', (size_t)(stop - end))) != NULL; ++end) {
        const char *from = end - begin > MAX_REFERENCE ? end - MAX_REFERENCE : begin;
        const char *first = NULL, *last = NULL;
        for (const char *at = from; at < end; ++at) {
            if (*at != 'S' && *at != 'T') continue;
            if (first == NULL && *at == 'S') first = at;
            last = at;
        }
        if (last == NULL) continue;
        if (*last == 'T') {
            ++doublings; /* repeats an argument, wherever that is */
            continue;
        }
        work += (uint64_t)(end - begin);
        /* Where it may be read in several ways, the longest: most likely a new one. */
        work += cost_of(parts, &count, reference_key(first == last ? last : from, end),
                        work);
        if (work >= ENDLESS) return ENDLESS;
        begin = end;
    }
    work += (uint64_t)(stop - begin);
    return doublings > 62 || work >= ENDLESS >> doublings ? ENDLESS : work << doublings;
}
