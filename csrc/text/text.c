/* text.c - append to a text, and look up the frames of which its answers are made. */
#include "text/text.h"

enum { FRAMES_AT_FIRST = 64, REGEXES_AT_FIRST = 16 };

gsym_status gsym_text_create(gsym_text **text_ret, gsym_error *error) {
    gsym_text *text = calloc(1, sizeof *text);
    if (text == NULL) return gsym_fail_memory(error);
    if (!array_reserve(&text->frames, &text->frame_capacity, FRAMES_AT_FIRST,
                       sizeof *text->frames) ||
        !array_reserve(&text->regexes, &text->regex_capacity, REGEXES_AT_FIRST,
                       sizeof *text->regexes)) {
        gsym_text_destroy(text);
        return gsym_fail_memory(error);
    }
    *text_ret = text;
    return GSYM_OK;
}

void gsym_text_destroy(gsym_text *text) {
    if (text == NULL) return;
    buffer_deinit(&text->out);
    buffer_deinit(&text->spare);
    free(text->frames);
    free(text->regexes);
    free(text->gaps.items);
    queue_deinit(&text->queue);
    path_cache_deinit(&text->paths);
    free(text);
}

void gsym_text_clear(gsym_text *text) {
    text->out.size = 0;
    text->out.failed = false;
    text->gaps.count = 0;
}

const char *gsym_text_bytes(const gsym_text *text, size_t *size_ret) {
    *size_ret = text->out.size;
    return text->out.size == 0 ? "" : (const char *)text->out.bytes;
}

gsym_status gsym_text_put(gsym_text *text, const char *bytes, size_t size,
                          gsym_error *error) {
    buffer_put(&text->out, bytes, size);
    return text_status(text, error);
}

void gsym_text_escape(gsym_text *text) { text->paths.escapes = true; }

gsym_status gsym_text_reserve(gsym_text *text, size_t size, gsym_error *error) {
    buffer *out = &text->out;
    uint8_t *bytes;
    if (size <= out->capacity - out->size) return text_status(text, error);
    bytes = size > SIZE_MAX - out->size ? NULL : realloc(out->bytes, out->size + size);
    if (bytes == NULL) return gsym_fail_memory(error);
    out->bytes = bytes;
    out->capacity = out->size + size;
    return text_status(text, error);
}

/* ---- numbers and strings ---------------------------------------------------------- */

void text_put_hex(gsym_text *text, uint64_t value, unsigned digits) {
    uint8_t *at = text_begin(text, 2 + MAX_HEX_SIZE);
    if (at != NULL)
        text_end(text,
                 put_padded_hex_unchecked(put_literal_unchecked(at, "0x"), value, digits));
}

void text_put_decimal(gsym_text *text, uint64_t value) {
    uint8_t *at = text_begin(text, MAX_DECIMAL_SIZE);
    if (at != NULL) text_end(text, put_decimal_unchecked(at, value));
}

void text_put_bytes(gsym_text *text, const char *bytes, size_t size) {
    if (text->paths.escapes)
        buffer_put_escaped(&text->out, bytes, size);
    else
        buffer_put(&text->out, bytes, size);
}

void text_put_string(gsym_text *text, const gsym_image *image, uint64_t strp) {
    size_t size;
    const char *bytes = gsym_image_string(image, strp, &size);
    text_put_bytes(text, bytes, size);
}

bool text_get_path(gsym_text *text, const gsym_image *image, uint32_t file,
                   joined_path *path_ret) {
    if (path_cache_get(&text->paths, image, file, path_ret)) return true;
    text->out.failed = true;
    return false;
}

/* ---- lookups ------------------------------------------------------------------------ */

gsym_status text_look_up(gsym_text *text, const gsym_image *image, uint64_t address,
                         uint32_t child, uint32_t flags, gsym_answer *answer,
                         gsym_error *error) {
    for (;;) {
        gsym_lookup_room room = {text->frames, text->frame_capacity, text->regexes,
                                 text->regex_capacity};
        GSYM_TRY(gsym_image_lookup(image, address, child, flags, &room, answer, error));
        if (answer->frame_count <= text->frame_capacity &&
            answer->regex_count <= text->regex_capacity)
            return GSYM_OK;
        if (!array_reserve(&text->frames, &text->frame_capacity, answer->frame_count,
                           sizeof *text->frames) ||
            !array_reserve(&text->regexes, &text->regex_capacity, answer->regex_count,
                           sizeof *text->regexes))
            return gsym_fail_memory(error);
    }
}

gsym_status text_find(gsym_text *text, const gsym_image *image, uint64_t address,
                      const gsym_frame **frames_ret, uint32_t *count_ret,
                      gsym_error *error) {
    gsym_answer answer;
    gsym_status status;
    *frames_ret = NULL;
    *count_ret = 0;
    if (image == NULL) return GSYM_OK;
    status = text_look_up(text, image, address, 0, 0, &answer, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK) {
        *frames_ret = text->frames;
        *count_ret = answer.frame_count;
    }
    return GSYM_OK;
}

gsym_status text_next_frames(gsym_text *text, const gsym_image *image, uint64_t address,
                             const gsym_frame **frames_ret, uint32_t *count_ret,
                             gsym_error *error) {
    const found_frames *found = queue_found(&text->queue);
    if (found->count == FRAMES_UNKNOWN)
        return text_find(text, image, address, frames_ret, count_ret, error);
    *frames_ret = text->queue.sweep.frames.items + found->first;
    *count_ret = found->count;
    return GSYM_OK;
}

gsym_status text_answer_lines(gsym_text *text, const gsym_image *image, size_t limit,
                              text_put_answer put, const void *job, size_t *used_ret,
                              gsym_error *error) {
    const waiting_line *line;
    *used_ret = 0;
    while (text->out.size < limit && text->gaps.count < TEXT_MAX_GAPS &&
           (line = queue_next(&text->queue)) != NULL) {
        if (image != NULL) queue_look_ahead(&text->queue, image);
        GSYM_TRY(put(job, line->address, error));
        *used_ret += (size_t)line->size;
        ++text->queue.next;
    }
    return text_status(text, error);
}
