/* format_markup.c - symbolize lines of a log with symbolizer markup.
 *
 * A line with one element
 *
 *     PREFIX{{{bt:NUMBER:0xADDRESS:ra}}}SUFFIX
 *
 * becomes a line for each frame at the address, the innermost first, with the suffix
 * after the last of them:
 *
 *     PREFIX    #0.1  0x0000000000401135 FUNCTION DIRECTORY/FILE:LINE (MODULE+0x1135)
 *         #0    0x0000000000401135 FUNCTION DIRECTORY/FILE:LINE (MODULE+0x1135)SUFFIX
 *
 * or, as Fuchsia has them:
 *
 *     PREFIX   #0.1   0x0000000000401136 in FUNCTION DIRECTORY/FILE:LINE <MODULE>+0x1136
 *        #0     0x0000000000401136 in FUNCTION DIRECTORY/FILE:LINE <MODULE>+0x1136SUFFIX
 *
 * A line may have any number of elements `{{{pc:0xADDRESS}}}`; each becomes
 * FUNCTION[DIRECTORY/FILE:LINE].
 *
 * Lines without an element are unchanged. Lines with any other element, or with an address
 * in no segment, are left to the caller. */
#include "text/markup.h"
enum { ESCAPE = 0x1b };

/* ---- blocks of lines ----------------------------------------------------------------- */

/* Return the offset of the first escape; `size` if there is none, or escapes are text. */
static size_t find_escape(const markup_work *work, const char *bytes, size_t at,
                          size_t size) {
    const char *escape = NULL;
    if (markup_wants(work->job, GSYM_MARKUP_STOPS_AT_ESCAPE) && at < size)
        escape = memchr(bytes + at, ESCAPE, size - at);
    return escape == NULL ? size : (size_t)(escape - bytes);
}

/* Whether a line sets colours that must be restored after an element. */
static bool sets_colours(const markup_work *work, const char *line, size_t size) {
    const uint32_t flags =
        GSYM_MARKUP_STOPS_AT_ESCAPE | GSYM_MARKUP_COLOURED;
    return markup_wants(work->job, flags) &&
           memchr(line, ESCAPE, size) != NULL;
}

/* Return the start of the line that contains `stop`, at least `used`. */
static size_t line_start(const char *lines, size_t used, size_t stop) {
    while (stop > used && lines[stop - 1] != '\n') --stop;
    return stop;
}

/* Add a line to the queue as parts, each of which ends with an element; the last part
 * extends to the end of the line. False if the line cannot be handled here. */
static bool add_elements(const markup_work *work, const char *line, size_t size,
                         size_t begin, gsym_error *error, gsym_status *status) {
    answer_queue *queue = &work->text->queue;
    size_t from = 0;
    while (begin < size) {
        code_element element;
        size_t next, end;
        if (!markup_read_element(work->job, line, size, begin, &element)) {
            if (element.segment != NULL)
                work->job->wanted = (size_t)(element.segment - work->job->segments) + 1;
            return false;
        }
        next = markup_find_element(line, element.end, size);
        /* With other text or elements in the line, the text between frames would depend on
         * the style; leave that to the caller. */
        if (element.is_frame && (from > 0 || next < size)) return false;
        end = next < size ? element.end : size;
        if (!queue_add(queue, begin - from + 1, end - from, element.looked_up)) {
            *status = gsym_fail_memory(error);
            return false;
        }
        from = end;
        begin = next;
    }
    return true;
}

/* Add the line at `used`, whose first element is at `begin`. Return its size, or 0 if it
 * cannot be handled here. */
static size_t add_line(const markup_work *work, const char *lines, size_t used,
                       size_t begin, size_t size, gsym_error *error, gsym_status *status) {
    answer_queue *queue = &work->text->queue;
    const queue_mark mark = queue_end(queue);
    const char *newline = memchr(lines + begin, '\n', size - begin);
    const char *line = lines + used;
    size_t line_size;
    if (newline == NULL) return 0;
    line_size = (size_t)(newline - line) + 1;
    if (line_size > work->job->line_limit || line_size > UINT32_MAX - 1 ||
        sets_colours(work, line, line_size))
        return 0;
    if (add_elements(work, line, line_size, begin - used, error, status)) return line_size;
    queue_cut(queue, mark);
    return 0;
}

/* Look up the lines in the order of their addresses in memory, segment by segment. */
static gsym_status find(const markup_work *work, gsym_error *error) {
    answer_queue *queue = &work->text->queue;
    numbered_address *order;
    order = queue_order(queue, false);
    for (size_t i = 0, end; i < queue->sought; i = end) {
        const gsym_markup_segment *segment =
            markup_find_segment(work->job, order[i].address);
        const gsym_markup_module *module = &work->job->modules[segment->module];
        const gsym_image *image = module->image;
        const uint64_t first = order[i].address, past = segment->start + segment->size;
        for (end = i; end < queue->sought && order[end].address - first < past - first;
             ++end) {
            uint64_t linked = markup_linked(segment, order[end].address);
            /* Link-time addresses may wrap around to 0. */
            if (end > i && linked < order[end - 1].address) break;
            order[end].address = linked;
        }
        queue->sweep.releases_pages = module->is_map != 0;
        if (image != NULL)
            GSYM_TRY(address_sweep_find(&queue->sweep, image, order + i, end - i, error));
    }
    return GSYM_OK;
}

/* Return the image of the module with the most functions. */
static const gsym_image *largest_image(const gsym_markup_job *job) {
    const gsym_image *largest = NULL;
    for (size_t i = 0; i < job->module_count; ++i) {
        const gsym_image *image = job->modules[i].image;
        if (image != NULL && (largest == NULL || image->header.num_addresses >
                                                     largest->header.num_addresses))
            largest = image;
    }
    return largest;
}

static gsym_status add_lines(const markup_work *work, const char *lines, size_t size,
                             gsym_error *error) {
    answer_queue *queue = &work->text->queue;
    gsym_status status = GSYM_OK;
    size_t used = 0;
    queue_begin(queue, largest_image(work->job));
    while (used < size && !queue_is_full(queue)) {
        size_t begin = markup_find_element(lines, used, size);
        size_t stop = find_escape(work, lines, used, begin);
        size_t start = line_start(lines, used, stop);
        size_t line_size;
        if (start > used && !queue_add_unsought(queue, 0, start - used))
            return gsym_fail_memory(error);
        used = start;
        if (stop < begin || begin == size) break;
        line_size = add_line(work, lines, used, begin, size, error, &status);
        if (line_size == 0) break;
        used += line_size;
    }
    return status == GSYM_OK ? find(work, error) : status;
}

/* Prefetch data for the following lines, most of which are about the same module. */
static void look_ahead(const markup_work *work) {
    const answer_queue *queue = &work->text->queue;
    if (work->texts == NULL)
        queue_look_ahead(queue, work->module->image);
    else
        name_texts_look_ahead(work->texts, queue, work->number << GSYM_MARKUP_MODULE_SHIFT);
}

/* Count the lines of some text, for the line numbers of objects. */
static void count_lines(const markup_work *work, const char *bytes, size_t size) {
    gsym_markup_job *job = work->job;
    const char *end = bytes + size, *newline;
    if (!markup_wants(work->job, GSYM_MARKUP_JSON)) return;
    while ((newline = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
        ++job->line_number;
        bytes = newline + 1;
        job->line_begin = (size_t)(bytes - job->lines);
    }
}

static gsym_status put_answer(const void *of_work, uint64_t place, gsym_error *error) {
    markup_work work = *(const markup_work *)of_work;
    gsym_markup_job *job = work.job;
    gsym_text *text = work.text;
    const char *line = job->lines + job->at;
    const size_t size = (size_t)queue_next(&text->queue)->size;
    const size_t begin = (size_t)place - 1;
    code_element element;
    code_answer answer = {.element = &element};
    job->at += size;
    if (place == 0 || !markup_read_element(job, line, size, begin, &element)) {
        put_log_text(&work, line, size);
        count_lines(&work, line, size);
        return GSYM_OK;
    }
    work.number = element.segment->module;
    work.module = &job->modules[work.number];
    if (work.module->image != NULL) look_ahead(&work);
    GSYM_TRY(text_next_frames(text, work.module->image, element.linked, &answer.frames,
                              &answer.count, error));
    answer.is_merged = answer.count > 0 && !markup_wants(work.job, GSYM_MARKUP_INLINES);
    answer.is_damaged = answer.count == 0 && work.module->image != NULL &&
                        queue_found(&text->queue)->count == FRAMES_UNKNOWN;
    if (answer.is_damaged) {
        ++work.module->damaged;
        work.module->damaged_at = element.linked;
    } else if (answer.count == 0) {
        ++work.module->unknown;
    }
    put_log_text(&work, line, begin);
    put_code_element(&work, &answer, line, begin, size);
    put_log_text(&work, line + element.end, size - element.end);
    count_lines(&work, line, size);
    return GSYM_OK;
}

gsym_status gsym_text_markup(gsym_text *text, gsym_name_texts *texts, gsym_markup_job *job,
                             const char *lines, size_t size, size_t limit,
                             size_t *used_ret, gsym_error *error) {
    markup_work work = {.text = text,
                        .texts = texts,
                        .job = job,
                        .is_coloured = markup_wants(job, GSYM_MARKUP_COLOURED)};
    if (lines != NULL) {
        bool is_short = markup_wants(work.job, GSYM_MARKUP_BASENAMES);
        if (!path_cache_begin(&text->paths, is_short ? PATH_BASENAME : PATH_WHOLE))
            return gsym_fail_memory(error);
        job->lines = lines;
        job->at = job->line_begin = job->wanted = 0;
        GSYM_TRY(add_lines(&work, lines, size, error));
    }
    return text_answer_lines(text, NULL, limit, put_answer, &work, used_ret, error);
}
