/* format_lookup.c - answers to addresses as text, as `gsym lookup` prints them.
 *
 *     0x401136: NAME + OFFSET at DIRECTORY/FILE:LINE [inlined]
 *               NAME + OFFSET at DIRECTORY/FILE:LINE
 *               calls PATTERN, PATTERN
 *     0x1: ?? (REASON)
 *
 * As JSON, an answer is one line:
 *
 *     {"address": 4198710, "function": {"name": "f", "start": 4198688, "size": 40},
 *      "frames": [{"name": "f", "directory": "/d", "filename": "a.c", "line": 3,
 *      "offset": 22, "inlined": false}], "call_site_patterns": ["g"]}
 *
 * Strings that are not plain ASCII come from the table of texts. */
#include "text/text.h"

typedef struct lookup_job {
    gsym_text *text;
    const gsym_image *image;
    gsym_name_texts *texts;
    gsym_lookup_style *style;
} lookup_job;

/* One answer, whichever way it was found. */
typedef struct found_answer {
    uint64_t address; /* as it was asked for */
    uint64_t sought;
    const gsym_frame *frames;
    uint32_t frame_count;
    uint32_t regex_count; /* of text->regexes */
    uint32_t entry;
} found_answer;

enum {
    MAX_FRAME_SIZE = 2 * MAX_DECIMAL_SIZE + sizeof " +  at : [inlined]",
    MAX_FIELDS_SIZE =
        2 * MAX_DECIMAL_SIZE + sizeof "\", \"line\": , \"offset\": , \"inlined\": false}"
};

static bool wants(const lookup_job *job, gsym_lookup_text_flags flag) {
    return (job->style->flags & flag) != 0;
}

static void put_string(const lookup_job *job, uint64_t strp, bool is_name) {
    size_t size;
    const char *bytes = gsym_image_string(job->image, strp, &size);
    if (!image_has_string(job->image, strp)) return;
    if (is_name && wants(job, GSYM_LOOKUP_TEXT_DEMANGLED))
        text_put_name(job->text, job->texts, strp);
    else if (wants(job, GSYM_LOOKUP_TEXT_JSON) ? is_quotable_text(bytes, size)
                                               : is_printable_text(bytes, size))
        buffer_put(&job->text->out, bytes, size);
    else
        text_put_name(job->text, job->texts,
                      is_name ? strp : strp | GSYM_PLAIN_STRING);
}

/* ---- text for people ---------------------------------------------------------------- */

static void put_source(const lookup_job *job, const gsym_frame *frame) {
    joined_path path;
    uint8_t *at;
    if (!text_get_path(job->text, job->image, frame->file, &path) || path.size == 0)
        return;
    text_put_literal(job->text, " at ");
    if (path.is_printable)
        buffer_put(&job->text->out, path.bytes, path.size);
    else
        text_put_odd_path(job->text, job->image, job->texts, frame->file, "\\");
    at = text_begin(job->text, 1 + MAX_DECIMAL_SIZE);
    if (at == NULL) return;
    *at++ = ':';
    if (frame->line == 0)
        *at++ = '?';
    else
        at = put_decimal_covered(at, frame->line);
    text_end(job->text, at);
}

static void put_frame(const lookup_job *job, const gsym_frame *frame) {
    put_string(job, frame->name, true);
    if (frame->offset != 0) {
        text_put_literal(job->text, " + ");
        text_put_decimal(job->text, frame->offset);
    }
    put_source(job, frame);
    if (frame->inlined) text_put_literal(job->text, " [inlined]");
}

static void put_patterns(const lookup_job *job, uint32_t count, const char *quote) {
    size_t quote_size = strlen(quote);
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) text_put_literal(job->text, ", ");
        buffer_put(&job->text->out, quote, quote_size);
        put_string(job, job->text->regexes[i], false);
        buffer_put(&job->text->out, quote, quote_size);
    }
}

static void put_text(const lookup_job *job, const found_answer *answer) {
    gsym_text *text = job->text;
    size_t at = text->out.size, indent;
    text_put_hex(text, answer->address, 1);
    text_put_literal(text, ": ");
    indent = text->out.size - at;
    for (uint32_t i = 0; i < answer->frame_count; ++i) {
        if (i > 0) {
            text_put_char(text, '\n');
            text_put_spaces(text, (unsigned)indent);
        }
        put_frame(job, &answer->frames[i]);
    }
    if (answer->regex_count > 0) {
        text_put_char(text, '\n');
        text_put_spaces(text, (unsigned)indent);
        text_put_literal(text, "calls ");
        put_patterns(job, answer->regex_count, "");
    }
    text_put_char(text, '\n');
}

/* ---- JSON for programs ---------------------------------------------------------------- */

static void put_json_frame(const lookup_job *job, const gsym_frame *frame) {
    gsym_text *text = job->text;
    joined_path path;
    uint8_t *at;
    text_put_literal(text, "{\"name\": \"");
    put_string(job, frame->name, true);
    text_put_literal(text, "\", \"directory\": \"");
    if (!text_get_path(text, job->image, frame->file, &path)) return;
    if (path.is_quotable)
        buffer_put(&text->out, path.bytes, path.size);
    else
        text_put_odd_path(text, job->image, job->texts, frame->file, NULL);
    at = text_begin(text, MAX_FIELDS_SIZE);
    if (at == NULL) return;
    at = put_literal_covered(at, "\", \"line\": ");
    at = put_decimal_covered(at, frame->line);
    at = put_literal_covered(at, ", \"offset\": ");
    at = put_decimal_covered(at, frame->offset);
    at = frame->inlined ? put_literal_covered(at, ", \"inlined\": true}")
                        : put_literal_covered(at, ", \"inlined\": false}");
    text_end(text, at);
}

static uint64_t function_size(const lookup_job *job, uint32_t entry) {
    gsym_error ignored;
    cursor record;
    if (image_record(job->image, entry, &record, &ignored) != GSYM_OK) return 0;
    return cursor_u32(&record);
}

static void put_json_address(const lookup_job *job, uint64_t address) {
    text_put_literal(job->text, "{\"address\": ");
    text_put_decimal(job->text, address);
    text_put_literal(job->text, ", \"function\": ");
}

static void put_json(const lookup_job *job, const found_answer *answer) {
    gsym_text *text = job->text;
    const gsym_frame *outermost = &answer->frames[answer->frame_count - 1];
    put_json_address(job, answer->address);
    text_put_literal(text, "{\"name\": \"");
    put_string(job, outermost->name, true);
    text_put_literal(text, "\", \"start\": ");
    text_put_decimal(text, answer->sought - outermost->offset);
    text_put_literal(text, ", \"size\": ");
    text_put_decimal(text, function_size(job, answer->entry));
    text_put_literal(text, "}, \"frames\": [");
    for (uint32_t i = 0; i < answer->frame_count; ++i) {
        if (i > 0) text_put_literal(text, ", ");
        put_json_frame(job, &answer->frames[i]);
    }
    text_put_char(text, ']');
    if (answer->regex_count > 0) {
        text_put_literal(text, ", \"call_site_patterns\": [");
        put_patterns(job, answer->regex_count, "\"");
        text_put_char(text, ']');
    }
    text_put_literal(text, "}\n");
}

/* ---- lines ---------------------------------------------------------------------------- */

static void put_miss(const lookup_job *job, uint64_t address, const char *reason,
                     const char *detail) {
    gsym_text *text = job->text;
    bool is_json = wants(job, GSYM_LOOKUP_TEXT_JSON);
    job->style->missed++;
    if (is_json) {
        put_json_address(job, address);
        text_put_literal(text, "null, \"frames\": [], \"reason\": \"");
    } else {
        text_put_hex(text, address, 1);
        text_put_literal(text, ": ?? (");
    }
    buffer_put(&text->out, reason, strlen(reason));
    buffer_put(&text->out, detail, strlen(detail));
    if (is_json)
        text_put_literal(text, "\"}\n");
    else
        text_put_literal(text, ")\n");
}

static bool is_of_module(const lookup_job *job, uint64_t address) {
    return address >= job->style->first && address <= job->style->last;
}

/* By itself: a record that is damaged, or has more than frames. */
static gsym_status look_up(const lookup_job *job, found_answer *answer,
                           gsym_error *error) {
    gsym_answer found;
    gsym_status status =
        text_look_up(job->text, job->image, answer->sought, 0, 0, &found, error);
    if (status == GSYM_E_FORMAT) {
        job->style->damaged++;
        put_miss(job, answer->address, "damaged record: ", error->what);
        return GSYM_OK;
    }
    if (status != GSYM_OK) return status;
    answer->frames = job->text->frames;
    answer->frame_count = found.frame_count;
    answer->regex_count = found.regex_count;
    answer->entry = found.entry;
    if (answer->frame_count == 0)
        put_miss(job, answer->address, "no function covers this address", "");
    return GSYM_OK;
}

static gsym_status put_answer(const void *of_job, uint64_t address, gsym_error *error) {
    const lookup_job *job = of_job;
    const found_frames *found = queue_found(&job->text->queue);
    found_answer answer = {.address = address, .sought = address + job->style->shift};
    if (!is_of_module(job, address)) {
        put_miss(job, address, "not an address of this module", "");
    } else if (found->count == FRAMES_UNKNOWN) {
        GSYM_TRY(look_up(job, &answer, error));
    } else if (found->count == 0) {
        put_miss(job, address, "no function covers this address", "");
    } else {
        answer.frames = job->text->queue.sweep.frames.items + found->first;
        answer.frame_count = found->count;
        answer.entry = found->entry;
    }
    if (answer.frame_count == 0) return GSYM_OK;
    if (wants(job, GSYM_LOOKUP_TEXT_JSON))
        put_json(job, &answer);
    else
        put_text(job, &answer);
    return GSYM_OK;
}

/* A number, but for those with a prefix other than 0x and those that are written with
 * needless zeros. */
static bool parse_word(const char *word, const char *end, uint64_t *address_ret) {
    size_t size = (size_t)(end - word);
    bool is_hex = size > 2 && word[0] == '0' && (word[1] | 0x20) == 'x';
    if (size > 1 && word[0] == '0' && !is_hex) return false;
    return text_parse_number(word, size, address_ret);
}

static gsym_status ask(const lookup_job *job, const char *lines, size_t size,
                       gsym_error *error) {
    answer_queue *queue = &job->text->queue;
    size_t from = 0, used = 0; /* of the next line with those in front that are blank */
    queue_begin(queue, job->image);
    while (used < size && !queue_is_full(queue)) {
        const char *word = lines + used;
        const char *end = memchr(word, '\n', size - used), *behind;
        uint64_t address;
        if (end == NULL) break;
        behind = end + 1;
        while (word < end && is_space(*word)) ++word;
        while (end > word && is_space(end[-1])) --end;
        used = (size_t)(behind - lines);
        if (word == end) continue;
        if (!parse_word(word, end, &address)) break;
        if (!(is_of_module(job, address)
                  ? queue_add(queue, address, used - from, address + job->style->shift)
                  : queue_add_unsought(queue, address, used - from)))
            return gsym_fail_memory(error);
        from = used;
    }
    return queue_find(queue, job->image, false, error);
}

gsym_status gsym_text_lookup(gsym_text *text, const gsym_image *image,
                             gsym_name_texts *texts, gsym_lookup_style *style,
                             const char *lines, size_t size, size_t limit,
                             size_t *used_ret, gsym_error *error) {
    lookup_job job = {text, image, texts, style};
    if (lines != NULL) {
        path_form form = wants(&job, GSYM_LOOKUP_TEXT_JSON) ? PATH_FIELDS : PATH_WHOLE;
        if (!path_cache_begin(&text->paths, form)) return gsym_fail_memory(error);
        GSYM_TRY(ask(&job, lines, size, error));
    }
    return text_answer_lines(text, image, limit, put_answer, &job, used_ret, error);
}
