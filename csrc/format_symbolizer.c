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
#include "text.h"

typedef struct symbolizer_job {
    gsym_text *text;
    const gsym_image *image;
    gsym_name_texts *texts;
    const gsym_symbolizer_style *style;
} symbolizer_job;

static bool wants(const symbolizer_job *job, gsym_symbolizer_flags flag) {
    return (job->style->flags & flag) != 0;
}

static void put_function(const symbolizer_job *job, uint64_t name) {
    size_t size;
    gsym_image_string(job->image, name, &size);
    if (size == 0)
        text_put_literal(job->text, "??");
    else if (job->texts != NULL)
        text_put_name(job->text, job->texts, name);
    else
        text_put_string(job->text, job->image, name);
}

static void put_path(const symbolizer_job *job, uint32_t file) {
    text_put_path(job->text, job->image, file, wants(job, GSYM_SYMBOLIZER_BASENAMES));
}

static void put_file(const symbolizer_job *job, uint32_t file) {
    size_t before = job->text->out.size;
    put_path(job, file);
    if (job->text->out.size == before) text_put_literal(job->text, "??");
}

/* The place of `frame` under a name, which is that of the frame but for merged ones. */
static void put_frame(const symbolizer_job *job, uint64_t name, const gsym_frame *frame) {
    if (wants(job, GSYM_SYMBOLIZER_FUNCTIONS)) {
        put_function(job, name);
        if (wants(job, GSYM_SYMBOLIZER_PRETTY))
            text_put_literal(job->text, " at ");
        else
            text_put_char(job->text, '\n');
    }
    put_file(job, frame->file);
    text_put_char(job->text, ':');
    text_put_decimal(job->text, frame->line);
    if (wants(job, GSYM_SYMBOLIZER_GNU))
        text_put_char(job->text, '\n');
    else
        text_put_literal(job->text, ":0\n");
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

static void put_plain_frames(const symbolizer_job *job, uint32_t count) {
    const gsym_frame *frames = job->text->frames;
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

/* Whether the bytes can stand in a string as they are. */
static bool is_plain_json(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\')
            return false;
    return true;
}

/* False where a path cannot stand there as it is. */
static bool put_json_frame(const symbolizer_job *job, uint64_t name,
                           const gsym_frame *frame, uint64_t start) {
    gsym_text *text = job->text;
    size_t path_at, name_size;
    text_put_literal(text, "{\"Column\":0,\"Discriminator\":0,\"FileName\":\"");
    path_at = text->out.size;
    put_path(job, frame->file);
    if (!is_plain_json(text->out.bytes + path_at, text->out.size - path_at)) return false;
    text_put_literal(text, "\",\"FunctionName\":\"");
    gsym_image_string(job->image, name, &name_size);
    if (wants(job, GSYM_SYMBOLIZER_FUNCTIONS) && name_size > 0)
        text_put_name(text, job->texts, name);
    text_put_literal(text, "\",\"Line\":");
    text_put_decimal(text, frame->line);
    text_put_literal(text, ",\"StartAddress\":\"");
    text_put_hex(text, start, 1);
    text_put_literal(text, "\",\"StartFileName\":\"\",\"StartLine\":0}");
    return true;
}

static bool put_json_frames(const symbolizer_job *job, uint64_t address, uint32_t count) {
    const gsym_frame *frames = job->text->frames;
    if (!wants(job, GSYM_SYMBOLIZER_INLINES)) {
        bool is_outer = wants(job, GSYM_SYMBOLIZER_OUTER_NAME);
        const gsym_frame *named = &frames[is_outer ? count - 1 : 0];
        return put_json_frame(job, named->name, frames, address - named->offset);
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) text_put_char(job->text, ',');
        if (!put_json_frame(job, frames[i].name, &frames[i], address - frames[i].offset))
            return false;
    }
    return true;
}

static bool put_json(const symbolizer_job *job, uint64_t address,
                     const gsym_answer *answer) {
    const gsym_symbolizer_style *style = job->style;
    gsym_text *text = job->text;
    text_put_literal(text, "{\"Address\":\"");
    text_put_hex(text, address, 1);
    text_put_literal(text, "\",\"ModuleName\":\"");
    buffer_put(&text->out, style->module, style->module_size);
    text_put_literal(text, "\",\"Symbol\":[");
    if (!answer->found || answer->frame_count == 0)
        text_put_literal(
            text, "{\"Column\":0,\"Discriminator\":0,\"FileName\":\"\","
                  "\"FunctionName\":\"\",\"Line\":0,\"StartAddress\":\"\","
                  "\"StartFileName\":\"\",\"StartLine\":0}");
    else if (!put_json_frames(job, address + style->shift, answer->frame_count))
        return false;
    text_put_literal(text, "]}\n");
    return true;
}

/* ---- lines ----------------------------------------------------------------------- */

static void put_plain(const symbolizer_job *job, uint64_t address,
                      const gsym_answer *answer) {
    if (wants(job, GSYM_SYMBOLIZER_ADDRESSES)) {
        text_put_hex(job->text, address, 1);
        if (wants(job, GSYM_SYMBOLIZER_PRETTY))
            text_put_literal(job->text, ": ");
        else
            text_put_char(job->text, '\n');
    }
    if (answer->found && answer->frame_count > 0)
        put_plain_frames(job, answer->frame_count);
    else
        put_nothing(job);
    if (!wants(job, GSYM_SYMBOLIZER_GNU)) text_put_char(job->text, '\n');
}

/* *put_ret is false where the answer is not one for here; then nothing was put. */
static gsym_status put_answer(const symbolizer_job *job, uint64_t address, bool *put_ret,
                              gsym_error *error) {
    gsym_answer answer;
    size_t size = job->text->out.size, gap_count = job->text->gaps.count;
    GSYM_TRY(text_find(job->text, job->image, address + job->style->shift, &answer,
                       error));
    *put_ret = true;
    if (!wants(job, GSYM_SYMBOLIZER_JSON)) {
        put_plain(job, address, &answer);
    } else if (!put_json(job, address, &answer)) {
        job->text->out.size = size;
        job->text->gaps.count = gap_count;
        *put_ret = false;
    }
    return GSYM_OK;
}

gsym_status gsym_text_symbolize(gsym_text *text, const gsym_image *image,
                                gsym_name_texts *texts,
                                const gsym_symbolizer_style *style, const char *prefix,
                                size_t prefix_size, const char *lines, size_t size,
                                size_t limit, size_t *used_ret, gsym_error *error) {
    symbolizer_job job = {text, image, texts, style};
    size_t used = 0;
    while (used < size && text->out.size < limit && text->gaps.count < TEXT_MAX_GAPS) {
        const char *line = lines + used;
        const char *end = memchr(line, '\n', size - used);
        size_t number_size;
        uint64_t address;
        bool is_put;
        if (end == NULL) break;
        number_size = (size_t)(end - line);
        if (number_size < prefix_size || memcmp(line, prefix, prefix_size) != 0) break;
        number_size -= prefix_size;
        if (number_size > 0 && end[-1] == '\r') --number_size;
        if (!text_parse_number(line + prefix_size, number_size, &address)) break;
        GSYM_TRY(put_answer(&job, address, &is_put, error));
        if (!is_put) break;
        used += (size_t)(end - line) + 1;
    }
    *used_ret = used;
    return text_status(text, error);
}
