/* name_texts.c - keep the texts of names, which the caller supplies on demand.
 *
 * Names are demangled outside of the engine. A block of answers is written with gaps in
 * place of new names, and the gaps are filled when all these names have texts. */
#include "base/tables.h"
#include "text/text.h"

struct gsym_name_texts {
    number_map numbers; /* name -> its number, which is an index in `ends` */
    LIST(uint64_t) names;
    struct {
        size_t *items; /* end of each text, which begins at the end of the text before */
        size_t count, capacity; /* names with the number `count` or more have no text yet */
    } ends;
    buffer bytes;
};

enum { SIZE_OF_NAME = 8 + 8 + 3 * 16 }; /* memory for a name and its hash slots */

gsym_status gsym_name_texts_create(gsym_name_texts **texts_ret, gsym_error *error) {
    *texts_ret = calloc(1, sizeof **texts_ret);
    return *texts_ret != NULL ? GSYM_OK : gsym_fail_memory(error);
}

void gsym_name_texts_destroy(gsym_name_texts *texts) {
    if (texts == NULL) return;
    number_map_deinit(&texts->numbers);
    free(texts->names.items);
    free(texts->ends.items);
    buffer_deinit(&texts->bytes);
    free(texts);
}

size_t gsym_name_texts_size(const gsym_name_texts *texts) {
    return texts->bytes.size + texts->names.count * SIZE_OF_NAME;
}

const uint64_t *gsym_name_texts_missing(const gsym_name_texts *texts, size_t *count_ret) {
    *count_ret = texts->names.count - texts->ends.count;
    return *count_ret == 0 ? NULL : texts->names.items + texts->ends.count;
}

gsym_status gsym_name_texts_add(gsym_name_texts *texts, const char *bytes, size_t size,
                                gsym_error *error) {
    size_t missing = texts->names.count - texts->ends.count;
    const char *at = bytes, *end = bytes + size;
    if (!LIST_RESERVE(texts->ends, missing)) return gsym_fail_memory(error);
    for (; missing > 0; --missing) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        if (stop == NULL)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "fewer texts than names");
        buffer_put(&texts->bytes, at, (size_t)(stop - at));
        if (texts->bytes.failed) return gsym_fail_memory(error);
        texts->ends.items[texts->ends.count++] = texts->bytes.size;
        at = stop + 1;
    }
    return GSYM_OK;
}

/* ---- gaps in the text ------------------------------------------------------------ */

static bool number_of(gsym_name_texts *texts, uint64_t name, size_t *number_ret) {
    uint64_t number;
    if (!number_map_find(&texts->numbers, name, &number)) {
        number = texts->names.count;
        if (!LIST_RESERVE(texts->names, 1) ||
            !number_map_set(&texts->numbers, name, number))
            return false;
        texts->names.items[texts->names.count++] = name;
    }
    *number_ret = (size_t)number;
    return true;
}

static void put_known(buffer *out, const gsym_name_texts *texts, size_t number) {
    size_t begin = number == 0 ? 0 : texts->ends.items[number - 1];
    buffer_put(out, texts->bytes.bytes + begin, texts->ends.items[number] - begin);
}

static void fetch_text(const gsym_name_texts *texts, uint64_t name) {
    const uint8_t *text = texts->bytes.bytes;
    uint64_t number;
    if (text == NULL || !number_map_find(&texts->numbers, name, &number) ||
        number >= texts->ends.count)
        return;
    if (number > 0) text += texts->ends.items[number - 1];
    __builtin_prefetch(text);
    __builtin_prefetch(text + LINE_OF_CACHE);
}

void name_texts_look_ahead(const gsym_name_texts *texts, const answer_queue *queue,
                           uint64_t prefix) {
    const gsym_frame *frames;
    uint32_t count = queue_frames_ahead(queue, AHEAD_FRAMES, &frames);
    if (count > 0) __builtin_prefetch(frames);
    count = queue_frames_ahead(queue, AHEAD_NAMES, &frames);
    for (uint32_t i = 0; i < count; ++i)
        number_map_fetch(&texts->numbers, prefix | frames[i].name);
    count = queue_frames_ahead(queue, AHEAD_TEXTS, &frames);
    for (uint32_t i = 0; i < count; ++i) fetch_text(texts, prefix | frames[i].name);
}

bool text_put_known_name(gsym_text *text, const gsym_name_texts *texts, uint64_t strp) {
    uint64_t number;
    if (!number_map_find(&texts->numbers, strp, &number) || number >= texts->ends.count)
        return false;
    put_known(&text->out, texts, (size_t)number);
    return true;
}

void text_put_name(gsym_text *text, gsym_name_texts *texts, uint64_t strp) {
    size_t number;
    if (!number_of(texts, strp, &number)) {
        text->out.failed = true;
    } else if (number < texts->ends.count) {
        put_known(&text->out, texts, number);
    } else if (!LIST_RESERVE(text->gaps, 1)) {
        text->out.failed = true;
    } else {
        text->gaps.items[text->gaps.count++] = (text_gap){text->out.size, number};
    }
}

gsym_status gsym_text_fill(gsym_text *text, const gsym_name_texts *texts,
                           gsym_error *error) {
    buffer gapped = text->out;
    size_t from = 0;
    if (text->gaps.count == 0) return GSYM_OK;
    for (size_t i = 0; i < text->gaps.count; ++i)
        if (text->gaps.items[i].number >= texts->ends.count)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a name has no text yet");
    text->out = text->spare;
    text->spare = gapped;
    text->out.size = 0;
    for (size_t i = 0; i < text->gaps.count; ++i) {
        text_gap gap = text->gaps.items[i];
        buffer_put(&text->out, gapped.bytes + from, gap.at - from);
        put_known(&text->out, texts, gap.number);
        from = gap.at;
    }
    buffer_put(&text->out, gapped.bytes + from, gapped.size - from);
    text->gaps.count = 0;
    return text_status(text, error);
}
