/* format_addr2line.c - answers to addresses as text, as GNU addr2line prints them.
 *
 *     0x0000000000401136         with -a
 *     FUNCTION                   with -f
 *     DIRECTORY/FILE:LINE
 *
 * and with -i the same of each function that it was inlined into. With -p an answer is
 *
 *     0x0000000000401136: FUNCTION at DIRECTORY/FILE:LINE
 *      (inlined by) FUNCTION at DIRECTORY/FILE:LINE
 *
 * A part that is not known is `??`, an unknown line `?`; `??:0` stands for no answer. */
#include "text/text.h"

/* Digits as strtoul() takes them; all ones where they do not fit. */
static uint64_t parse_hex(const char *at, const char *end) {
    uint64_t value = 0;
    bool overflows = false;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) at += 2;
    for (; at < end; ++at) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        unsigned letter = ((unsigned)(unsigned char)*at | 0x20) - 'a';
        if (digit > 9) digit = letter < 6 ? letter + 10 : 16;
        if (digit > 15) break;
        overflows |= value >> 60 != 0;
        value = value << 4 | digit;
    }
    return overflows ? UINT64_MAX : value;
}

/* The number that a line begins with, 0 for an empty line; false for what names a
 * symbol: a word that does not begin as a number does, or could, and has a `+`. */
static bool parse_line(const char *at, const char *end, uint64_t *address_ret) {
    const char *nul = memchr(at, '\0', (size_t)(end - at));
    if (nul != NULL) end = nul;
    while (at < end && is_space(*at)) ++at;
    *address_ret = 0;
    if (at == end) return true;
    if (*at < '0' || *at > '9') {
        unsigned letter = ((unsigned)(unsigned char)*at | 0x20) - 'a';
        if (letter > 5 || memchr(at, '+', (size_t)(end - at)) != NULL) return false;
    }
    *address_ret = parse_hex(at, end);
    return true;
}

/* ---- one answer ------------------------------------------------------------------ */

typedef struct addr2line_job {
    gsym_text *text;
    const gsym_image *image;
    gsym_name_texts *texts;
    const gsym_addr2line_style *style;
} addr2line_job;

static bool wants(const addr2line_job *job, gsym_addr2line_flags flag) {
    return (job->style->flags & flag) != 0;
}

static gsym_status find_in_sections(const addr2line_job *job, uint64_t offset,
                                    const gsym_frame **frames_ret, uint32_t *count_ret,
                                    gsym_error *error) {
    const gsym_addr2line_style *style = job->style;
    *count_ret = 0;
    for (size_t i = 0; i < style->section_count && *count_ret == 0; ++i) {
        gsym_range section = style->sections[i];
        if (offset < section.end - section.start)
            GSYM_TRY(text_find(job->text, job->image, section.start + offset, frames_ret,
                               count_ret, error));
    }
    return GSYM_OK;
}

static void put_address(const addr2line_job *job, uint64_t address) {
    text_put_hex(job->text, address, wants(job, GSYM_ADDR2LINE_32_BITS) ? 8 : 16);
    if (wants(job, GSYM_ADDR2LINE_PRETTY))
        text_put_literal(job->text, ": ");
    else
        text_put_char(job->text, '\n');
}

static void put_function(const addr2line_job *job, uint64_t name) {
    text_put_function(job->text, job->image, job->texts, name);
    if (wants(job, GSYM_ADDR2LINE_PRETTY))
        text_put_literal(job->text, " at ");
    else
        text_put_char(job->text, '\n');
}

static void put_place(const addr2line_job *job, const gsym_frame *frame) {
    joined_path path;
    uint8_t *at;
    if (!text_get_path(job->text, job->image, frame->file, &path)) return;
    at = text_begin(job->text, path.size + sizeof "??:\n" + MAX_DECIMAL_SIZE);
    if (at == NULL) return;
    at = path.size > 0 ? put_bytes_covered(at, path.bytes, path.size)
                       : put_literal_covered(at, "??");
    *at++ = ':';
    if (frame->line != 0)
        at = put_decimal_covered(at, frame->line);
    else
        *at++ = '?';
    *at++ = '\n';
    text_end(job->text, at);
}

static void put_frame(const addr2line_job *job, const gsym_frame *frame) {
    if (wants(job, GSYM_ADDR2LINE_FUNCTIONS)) put_function(job, frame->name);
    put_place(job, frame);
}

static void put_nothing(const addr2line_job *job) {
    if (wants(job, GSYM_ADDR2LINE_FUNCTIONS)) {
        text_put_literal(job->text, "??");
        text_put_char(job->text, wants(job, GSYM_ADDR2LINE_PRETTY) ? ' ' : '\n');
    }
    text_put_literal(job->text, "??:0\n");
}

static gsym_status put_answer(const void *of_job, uint64_t address, gsym_error *error) {
    const addr2line_job *job = of_job;
    const gsym_frame *frames;
    uint32_t count;
    if (wants(job, GSYM_ADDR2LINE_ADDRESSES)) put_address(job, address);
    if (job->style->section_count > 0)
        GSYM_TRY(find_in_sections(job, address, &frames, &count, error));
    else
        GSYM_TRY(text_next_frames(job->text, job->image, address, &frames, &count, error));
    if (count == 0) {
        put_nothing(job);
        return GSYM_OK;
    }
    put_frame(job, &frames[0]);
    if (!wants(job, GSYM_ADDR2LINE_INLINES)) return GSYM_OK;
    for (uint32_t i = 1; i < count; ++i) {
        if (wants(job, GSYM_ADDR2LINE_PRETTY))
            text_put_literal(job->text, " (inlined by) ");
        put_frame(job, &frames[i]);
    }
    return GSYM_OK;
}

/* ---- lines ------------------------------------------------------------------------- */

static gsym_status ask(const addr2line_job *job, const char *lines, size_t size,
                       gsym_error *error) {
    const gsym_addr2line_style *style = job->style;
    answer_queue *queue = &job->text->queue;
    size_t used = 0;
    queue_begin(queue, job->image);
    while (used < size && !queue_is_full(queue)) {
        const char *line = lines + used;
        size_t left = size - used, window = left;
        const char *end;
        uint64_t address, line_size;
        if (window > style->line_size) window = (size_t)style->line_size;
        end = memchr(line, '\n', window);
        if (end != NULL)
            ++end;
        else if (left >= style->line_size)
            end = line + window;
        else
            break;
        if (!parse_line(line, end, &address)) break;
        if (wants(job, GSYM_ADDR2LINE_32_BITS)) address = (uint32_t)address;
        line_size = (uint64_t)(end - line);
        if (!(style->section_count > 0 ? queue_add_unsought(queue, address, line_size)
                                       : queue_add(queue, address, line_size, address)))
            return gsym_fail_memory(error);
        used += (size_t)line_size;
    }
    return queue_find(queue, job->image, false, error);
}

gsym_status gsym_text_addr2line(gsym_text *text, const gsym_image *image,
                                gsym_name_texts *texts, const gsym_addr2line_style *style,
                                const char *lines, size_t size, size_t limit,
                                size_t *used_ret, gsym_error *error) {
    addr2line_job job = {text, image, texts, style};
    if (lines != NULL) {
        bool is_short = wants(&job, GSYM_ADDR2LINE_BASENAMES);
        if (!path_cache_begin(&text->paths, is_short ? PATH_BASENAME : PATH_WHOLE))
            return gsym_fail_memory(error);
        GSYM_TRY(ask(&job, lines, size, error));
    }
    return text_answer_lines(text, image, limit, put_answer, &job, used_ret, error);
}
