/* format_symbolizer.c - answers to addresses as text, as llvm-symbolizer prints them.
 *
 *     0x401136                       with addresses
 *     FUNCTION                       with functions
 *     DIRECTORY/FILE:LINE:0          in the style of GNU without :0
 *
 * and the same of each function that it was inlined into, then, but for GNU, an empty
 * line. Made pretty, an answer is
 *
 *     0x401136: FUNCTION at DIRECTORY/FILE:LINE:0
 *      (inlined by) FUNCTION at DIRECTORY/FILE:LINE:0
 *
 * A part that is not known is `??`, an unknown line 0. As JSON, an answer is one line:
 *
 *     {"Address":"0x401136","ModuleName":"app","Symbol":[{...,"Line":3,...},...]} */
#include "text/text.h"

typedef struct symbolizer_job {
    gsym_text *text;
    const gsym_image *image;
    gsym_name_texts *texts;
    const gsym_symbolizer_style *style;
} symbolizer_job;

static bool wants(const symbolizer_job *job, gsym_symbolizer_flags flag) {
    return (job->style->flags & flag) != 0;
}

/* The place of `frame` under a name, which is that of the frame but for merged ones. */
static void put_frame(const symbolizer_job *job, uint64_t name, const gsym_frame *frame) {
    joined_path path;
    uint8_t *at;
    if (wants(job, GSYM_SYMBOLIZER_FUNCTIONS)) {
        text_put_function(job->text, job->image, job->texts, name);
        if (wants(job, GSYM_SYMBOLIZER_PRETTY))
            text_put_literal(job->text, " at ");
        else
            text_put_char(job->text, '\n');
    }
    if (!text_get_path(job->text, job->image, frame->file, &path)) return;
    at = text_begin(job->text, path.size + sizeof "??::0\n" + MAX_DECIMAL_SIZE);
    if (at == NULL) return;
    at = path.size > 0 ? put_bytes_covered(at, path.bytes, path.size)
                       : put_literal_covered(at, "??");
    *at++ = ':';
    at = put_decimal_covered(at, frame->line);
    if (!wants(job, GSYM_SYMBOLIZER_GNU)) at = put_literal_covered(at, ":0");
    *at++ = '\n';
    text_end(job->text, at);
}

static void put_nothing(const symbolizer_job *job) {
    if (wants(job, GSYM_SYMBOLIZER_FUNCTIONS)) {
        if (wants(job, GSYM_SYMBOLIZER_PRETTY))
            text_put_literal(job->text, "?? at ");
        else
            text_put_literal(job->text, "??\n");
    }
    if (wants(job, GSYM_SYMBOLIZER_GNU))
        text_put_literal(job->text, "??:0\n");
    else
        text_put_literal(job->text, "??:0:0\n");
}

static void put_plain_frames(const symbolizer_job *job, const gsym_frame *frames,
                             uint32_t count) {
    if (!wants(job, GSYM_SYMBOLIZER_INLINES)) {
        bool is_outer = wants(job, GSYM_SYMBOLIZER_OUTER_NAME);
        put_frame(job, frames[is_outer ? count - 1 : 0].name, frames);
        return;
    }
    for (uint32_t i = 0; i < count; ++i) {
        bool is_marked = i > 0 && wants(job, GSYM_SYMBOLIZER_PRETTY) &&
                         wants(job, GSYM_SYMBOLIZER_FUNCTIONS);
        if (is_marked) text_put_literal(job->text, " (inlined by) ");
        put_frame(job, frames[i].name, &frames[i]);
    }
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_json_path(const symbolizer_job *job, uint32_t file) {
    joined_path path;
    if (!text_get_path(job->text, job->image, file, &path)) return;
    if (path.is_quotable)
        buffer_put(&job->text->out, path.bytes, path.size);
    else
        text_put_odd_path(job->text, job->image, job->texts, file, "\\\\");
}

static void put_json_frame(const symbolizer_job *job, uint64_t name,
                           const gsym_frame *frame, uint64_t start) {
    gsym_text *text = job->text;
    text_put_literal(text, "{\"Column\":0,\"Discriminator\":0,\"FileName\":\"");
    put_json_path(job, frame->file);
    text_put_literal(text, "\",\"FunctionName\":\"");
    if (wants(job, GSYM_SYMBOLIZER_FUNCTIONS) && image_has_string(job->image, name))
        text_put_name(text, job->texts, name);
    text_put_literal(text, "\",\"Line\":");
    text_put_decimal(text, frame->line);
    text_put_literal(text, ",\"StartAddress\":\"");
    text_put_hex(text, start, 1);
    text_put_literal(text, "\",\"StartFileName\":\"\",\"StartLine\":0}");
}

static void put_json_frames(const symbolizer_job *job, uint64_t address,
                            const gsym_frame *frames, uint32_t count) {
    if (!wants(job, GSYM_SYMBOLIZER_INLINES)) {
        bool is_outer = wants(job, GSYM_SYMBOLIZER_OUTER_NAME);
        const gsym_frame *named = &frames[is_outer ? count - 1 : 0];
        put_json_frame(job, named->name, frames, address - named->offset);
        return;
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) text_put_char(job->text, ',');
        put_json_frame(job, frames[i].name, &frames[i], address - frames[i].offset);
    }
}

static void put_json(const symbolizer_job *job, uint64_t address,
                     const gsym_frame *frames, uint32_t count) {
    const gsym_symbolizer_style *style = job->style;
    gsym_text *text = job->text;
    text_put_literal(text, "{\"Address\":\"");
    text_put_hex(text, address, 1);
    text_put_literal(text, "\",\"ModuleName\":\"");
    buffer_put(&text->out, style->module, style->module_size);
    text_put_literal(text, "\",\"Symbol\":[");
    if (count == 0)
        text_put_literal(
            text, "{\"Column\":0,\"Discriminator\":0,\"FileName\":\"\","
                  "\"FunctionName\":\"\",\"Line\":0,\"StartAddress\":\"\","
                  "\"StartFileName\":\"\",\"StartLine\":0}");
    else
        put_json_frames(job, address + style->shift, frames, count);
    text_put_literal(text, "]}\n");
}

/* ---- lines ----------------------------------------------------------------------- */

static void put_plain(const symbolizer_job *job, uint64_t address,
                      const gsym_frame *frames, uint32_t count) {
    if (wants(job, GSYM_SYMBOLIZER_ADDRESSES)) {
        text_put_hex(job->text, address, 1);
        if (wants(job, GSYM_SYMBOLIZER_PRETTY))
            text_put_literal(job->text, ": ");
        else
            text_put_char(job->text, '\n');
    }
    if (count > 0)
        put_plain_frames(job, frames, count);
    else
        put_nothing(job);
    if (!wants(job, GSYM_SYMBOLIZER_GNU)) text_put_char(job->text, '\n');
}

static gsym_status put_answer(const void *of_job, uint64_t address, gsym_error *error) {
    const symbolizer_job *job = of_job;
    const gsym_frame *frames;
    uint32_t count;
    GSYM_TRY(text_next_frames(job->text, job->image, address + job->style->shift, &frames,
                              &count, error));
    if (wants(job, GSYM_SYMBOLIZER_JSON))
        put_json(job, address, frames, count);
    else
        put_plain(job, address, frames, count);
    return GSYM_OK;
}

static gsym_status ask(const symbolizer_job *job, const char *prefix, size_t prefix_size,
                       const char *lines, size_t size, gsym_error *error) {
    answer_queue *queue = &job->text->queue;
    size_t used = 0;
    queue_begin(queue, job->image);
    while (used < size && !queue_is_full(queue)) {
        const char *line = lines + used;
        const char *end = memchr(line, '\n', size - used);
        size_t number_size;
        uint64_t address, line_size;
        if (end == NULL) break;
        number_size = (size_t)(end - line);
        line_size = (uint64_t)number_size + 1;
        if (number_size < prefix_size || memcmp(line, prefix, prefix_size) != 0) break;
        number_size -= prefix_size;
        if (number_size > 0 && end[-1] == '\r') --number_size;
        if (!text_parse_number(line + prefix_size, number_size, &address)) break;
        if (!queue_add(queue, address, line_size, address + job->style->shift))
            return gsym_fail_memory(error);
        used += (size_t)line_size;
    }
    return queue_find(queue, job->image, false, error);
}

gsym_status gsym_text_symbolize(gsym_text *text, const gsym_image *image,
                                gsym_name_texts *texts,
                                const gsym_symbolizer_style *style, const char *prefix,
                                size_t prefix_size, const char *lines, size_t size,
                                size_t limit, size_t *used_ret, gsym_error *error) {
    symbolizer_job job = {text, image, texts, style};
    if (lines != NULL) {
        bool is_short = wants(&job, GSYM_SYMBOLIZER_BASENAMES);
        if (!path_cache_begin(&text->paths, is_short ? PATH_BASENAME : PATH_WHOLE))
            return gsym_fail_memory(error);
        GSYM_TRY(ask(&job, prefix, prefix_size, lines, size, error));
    }
    return text_answer_lines(text, image, limit, put_answer, &job, used_ret, error);
}
