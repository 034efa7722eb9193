/* name_work.c - estimate the cost of demangling a name of C++.
 *
 * A mangled name may refer to its earlier parts, so its text can be much longer than the
 * name: a reference may double it. */
#include "base/error.h"

enum {
    MAX_REFERENCE = 4,  /* characters of a reference before its `_` */
    MAX_REFERENCES = 64 /* greatest number of distinct references, each of which may
                           double the text */
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

/* Return the cost of the part to which a reference refers: an upper bound is the cost of
 * all that came before the first reference to it. */
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
            ++doublings; /* the reference repeats an argument */
            continue;
        }
        work += (uint64_t)(end - begin);
        /* If the reference can be read in several ways, use the longest one, which is most
         * likely new and so has the highest cost. */
        work += cost_of(parts, &count, reference_key(first == last ? last : from, end),
                        work);
        if (work >= ENDLESS) return ENDLESS;
        begin = end;
    }
    work += (uint64_t)(stop - begin);
    return doublings > 62 || work >= ENDLESS >> doublings ? ENDLESS : work << doublings;
}
