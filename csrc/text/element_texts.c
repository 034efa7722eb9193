/* element_texts.c - a ring of texts, and a hash table that tells where they are. What is
 * asked for is moved to the end of the ring if half of that came behind it. */
#include "text/markup.h"

enum {
    RING_SIZE = 6 << 20,
    MOST_TEXT_SIZE = 1 << 16,
    BUCKET_BITS = 14,
    ENTRIES = 2, /* of a bucket, which is a line of the cache */
    MARKS = 4,
    LINE_OF_CACHE = 64
};

typedef struct kept_text {
    uint64_t looked_up; /* the address */
    uint64_t at;        /* bytes that were kept before it */
    uint32_t size;
    uint16_t count; /* of its parts; 0: a free entry */
    uint16_t kind;  /* of its element */
} kept_text;

typedef struct element_bucket {
    kept_text entries[ENTRIES];
    uint32_t marks[MARKS]; /* of elements that came once, the last one first */
} element_bucket;

/* The places of texts in the table are no secret: who knows them can only slow this down
 * to what it takes without. */
static uint64_t hash_of(uint64_t looked_up) {
    uint64_t hash = looked_up * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static element_bucket *bucket_of(const element_texts *texts, uint64_t looked_up) {
    return &texts->buckets[hash_of(looked_up) >> (64 - BUCKET_BITS)];
}

/* What is printed of an address depends on it. */
static uint16_t kind_of(const code_element *element) {
    return (uint16_t)((element->logged != element->looked_up) * 2 + element->is_frame);
}

void element_texts_deinit(element_texts *texts) {
    free(texts->buckets);
    free(texts->bytes);
}

bool element_texts_begin(element_texts *texts, uint64_t version) {
    if (texts->buckets == NULL)
        texts->buckets = calloc((size_t)1 << BUCKET_BITS, sizeof *texts->buckets);
    if (texts->bytes == NULL) texts->bytes = malloc(RING_SIZE);
    if (texts->version != version) texts->begin = texts->end;
    texts->version = version;
    return texts->buckets != NULL && texts->bytes != NULL;
}

static bool is_kept(const element_texts *texts, const kept_text *entry) {
    return entry->count > 0 && entry->at >= texts->begin &&
           texts->end - entry->at <= RING_SIZE;
}

static kept_text *entry_at(const element_texts *texts, uint32_t place) {
    return &texts->buckets[(place - 1) / ENTRIES].entries[(place - 1) % ENTRIES];
}

/* Room for a text at the end of the ring. */
static uint8_t *begin_text(element_texts *texts, uint32_t size, kept_text *entry) {
    const uint64_t left = RING_SIZE - texts->end % RING_SIZE;
    if (left < size) texts->end += left; /* no text is in two pieces */
    entry->at = texts->end;
    entry->size = size;
    texts->end += size;
    return texts->bytes + entry->at % RING_SIZE;
}

/* Have a text outlive many that come. */
static void move_to_end(element_texts *texts, kept_text *entry) {
    const uint8_t *from = texts->bytes + entry->at % RING_SIZE;
    uint8_t *to = begin_text(texts, entry->size, entry);
    memmove(to, from, entry->size);
}

uint32_t element_texts_place(element_texts *texts, uint64_t looked_up) {
    element_bucket *bucket = bucket_of(texts, looked_up);
    for (size_t i = 0; i < ENTRIES; ++i) {
        kept_text *entry = &bucket->entries[i];
        if (entry->looked_up != looked_up || !is_kept(texts, entry)) continue;
        if (texts->end - entry->at > RING_SIZE / 2) move_to_end(texts, entry);
        return (uint32_t)((size_t)(bucket - texts->buckets) * ENTRIES + i + 1);
    }
    return 0;
}

void element_texts_fetch_bucket(const element_texts *texts, uint64_t looked_up) {
    __builtin_prefetch(bucket_of(texts, looked_up));
}

void element_texts_fetch_place(const element_texts *texts, uint32_t place) {
    __builtin_prefetch(entry_at(texts, place));
}

void element_texts_fetch_text(const element_texts *texts, uint32_t place) {
    const uint8_t *text = texts->bytes + entry_at(texts, place)->at % RING_SIZE;
    __builtin_prefetch(text);
    __builtin_prefetch(text + LINE_OF_CACHE);
    __builtin_prefetch(text + 2 * LINE_OF_CACHE);
}

static const kept_text *find_entry(const element_texts *texts,
                                   const code_element *element) {
    const element_bucket *bucket = bucket_of(texts, element->looked_up);
    const uint16_t kind = kind_of(element);
    for (size_t i = 0; i < ENTRIES; ++i) {
        const kept_text *entry = &bucket->entries[i];
        if (entry->looked_up == element->looked_up && entry->kind == kind &&
            is_kept(texts, entry))
            return entry;
    }
    return NULL;
}

void element_texts_get(const element_texts *texts, const code_element *element,
                       element_text *text_ret) {
    const kept_text *entry = find_entry(texts, element);
    const uint8_t *bytes;
    text_ret->count = 0;
    if (entry == NULL) return;
    bytes = texts->bytes + entry->at % RING_SIZE;
    text_ret->count = entry->count;
    text_ret->sizes = (const uint32_t *)(const void *)bytes;
    text_ret->bytes = bytes + entry->count * sizeof *text_ret->sizes;
}

/* Whether an element came before. */
static bool came_before(element_texts *texts, const code_element *element) {
    uint32_t *marks = bucket_of(texts, element->looked_up)->marks;
    const uint32_t mark = (uint32_t)hash_of(element->looked_up) | 1;
    for (size_t i = 0; i < MARKS; ++i)
        if (marks[i] == mark) return true;
    memmove(marks + 1, marks, (MARKS - 1) * sizeof *marks);
    marks[0] = mark;
    return false;
}

/* Sizes, parts, and what makes the whole a multiple of the size of a size; 0: too much. */
static uint32_t kept_size(const element_parts *parts) {
    size_t size = parts->count * sizeof *parts->sizes;
    for (uint32_t i = 0; i < parts->count; ++i) size += parts->sizes[i];
    size = (size + sizeof *parts->sizes - 1) / sizeof *parts->sizes * sizeof *parts->sizes;
    return size > MOST_TEXT_SIZE ? 0 : (uint32_t)size;
}

/* The free entry of a bucket, or that which was kept first. */
static kept_text *entry_for(const element_texts *texts, const code_element *element) {
    element_bucket *bucket = bucket_of(texts, element->looked_up);
    kept_text *entry = bucket->entries;
    for (size_t i = 1; i < ENTRIES; ++i)
        if (bucket->entries[i].count == 0 || bucket->entries[i].at < entry->at)
            entry = &bucket->entries[i];
    return entry;
}

void element_texts_meet(element_texts *texts, const code_element *element,
                        const buffer *out, const element_parts *parts) {
    kept_text *entry;
    uint32_t size;
    uint8_t *at;
    if (!came_before(texts, element) || out->failed || parts->count == 0 ||
        parts->count > MOST_ELEMENT_PARTS || (size = kept_size(parts)) == 0)
        return;
    entry = entry_for(texts, element);
    /* What lines that wait count on stays. */
    if (is_kept(texts, entry) && texts->end - entry->at <= RING_SIZE / 2) return;
    at = begin_text(texts, size, entry);
    memcpy(at, parts->sizes, parts->count * sizeof *parts->sizes);
    at += parts->count * sizeof *parts->sizes;
    for (uint32_t i = 0; i < parts->count; ++i) {
        if (parts->sizes[i] > 0) memcpy(at, out->bytes + parts->begins[i], parts->sizes[i]);
        at += parts->sizes[i];
    }
    entry->looked_up = element->looked_up;
    entry->count = (uint16_t)parts->count;
    entry->kind = kind_of(element);
}
