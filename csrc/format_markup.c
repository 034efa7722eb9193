/* format_markup.c - lines of a log with symbolizer markup, whose addresses are answered.
 *
 * A line with one element
 *
 *     PREFIX{{{bt:NUMBER:0xADDRESS:ra}}}SUFFIX
 *
 * becomes a line for each frame at the address, the innermost first, with the suffix
 * behind the last of them:
 *
 *     PREFIX    #0.1  0x0000000000401135 FUNCTION DIRECTORY/FILE:LINE (MODULE+0x1135)
 *         #0    0x0000000000401135 FUNCTION DIRECTORY/FILE:LINE (MODULE+0x1135)SUFFIX
 *
 * or, as Fuchsia has them:
 *
 *     PREFIX   #0.1   0x0000000000401136 in FUNCTION DIRECTORY/FILE:LINE <MODULE>+0x1136
 *        #0     0x0000000000401136 in FUNCTION DIRECTORY/FILE:LINE <MODULE>+0x1136SUFFIX
 *
 * Of `{{{pc:0xADDRESS}}}` a line may have any number; each becomes
 * FUNCTION[DIRECTORY/FILE:LINE].
 *
 * Lines without an element stay as they are. A line with any other element is for others,
 * and so is an address that is in none of the segments. */
#include "markup_element.h"
#include "text.h"

enum { ESCAPE = 0x1b, INDEX_WIDTH = 6, FUCHSIA_INDEX_WIDTH = 9 };

typedef struct markup_work {
    gsym_text *text;
    gsym_name_texts *texts;
    gsym_markup_job *job;
    uint64_t number; /* of the module that is written about */
    gsym_markup_module *module;
    bool is_coloured;
} markup_work;

static bool wants(const markup_work *work, gsym_markup_flags flag) {
    return markup_wants(work->job, flag);
}

/* ---- lines that are looked up together ----------------------------------------------- */

/* The offset of the first escape, `size` where there is none or escapes are text. */
static size_t find_escape(const markup_work *work, const char *bytes, size_t at,
                          size_t size) {
    const char *escape = NULL;
    if (wants(work, GSYM_MARKUP_STOPS_AT_ESCAPE) && at < size)
        escape = memchr(bytes + at, ESCAPE, size - at);
    return escape == NULL ? size : (size_t)(escape - bytes);
}

/* Whether the colours behind an element depend on those in front of it. */
static bool sets_colours(const markup_work *work, const char *line, size_t size) {
    return wants(work, GSYM_MARKUP_STOPS_AT_ESCAPE | GSYM_MARKUP_COLOURED) &&
           memchr(line, ESCAPE, size) != NULL;
}

/* Behind the last whole line in front of `stop`. */
static size_t line_start(const char *lines, size_t used, size_t stop) {
    while (stop > used && lines[stop - 1] != '\n') --stop;
    return stop;
}

/* Take a line in by pieces: each goes up to the end of an element, the last one to that of
 * the line. False where it cannot be answered here. */
static bool ask_elements(const markup_work *work, const char *line, size_t size,
                         size_t begin, gsym_error *error, gsym_status *status) {
    answer_queue *queue = &work->text->queue;
    size_t from = 0;
    while (begin < size) {
        code_element element;
        size_t next, end;
        if (!markup_read_element(work->job, line, size, begin, &element)) return false;
        next = markup_find_element(line, element.end, size);
        /* What stands between frames depends on the style. */
        if (element.is_frame && (from > 0 || next < size)) return false;
        end = next < size ? element.end : size;
        /* Where the element is in the piece, counted from 1; 0 tells text. */
        if (!queue_add(queue, begin - from + 1, end - from, element.looked_up)) {
            *status = gsym_fail_memory(error);
            return false;
        }
        from = end;
        begin = next;
    }
    return true;
}

/* Take the line at `used` in, whose first element is at `begin`. Gives its size, 0 where it
 * cannot be answered here. */
static size_t ask_line(const markup_work *work, const char *lines, size_t used,
                       size_t begin, size_t size, gsym_error *error,
                       gsym_status *status) {
    answer_queue *queue = &work->text->queue;
    const queue_mark mark = queue_end(queue);
    const char *newline = memchr(lines + begin, '\n', size - begin);
    const char *line = lines + used;
    size_t line_size;
    if (newline == NULL) return 0;
    line_size = (size_t)(newline - line) + 1;
    if (line_size > work->job->line_limit || sets_colours(work, line, line_size)) return 0;
    if (ask_elements(work, line, line_size, begin - used, error, status)) return line_size;
    queue_cut(queue, mark);
    return 0;
}

/* Look up the lines, which are in the order of their addresses in memory: those of one
 * segment after the other. */
static gsym_status find(const markup_work *work, gsym_error *error) {
    answer_queue *queue = &work->text->queue;
    placed_address *order = queue_order(queue, false);
    for (size_t i = 0, end; i < queue->sought; i = end) {
        const gsym_markup_segment *segment =
            markup_find_segment(work->job, order[i].address);
        const gsym_image *image = work->job->modules[segment->module].image;
        const uint64_t first = order[i].address, past = segment->start + segment->size;
        for (end = i; end < queue->sought && order[end].address - first < past - first; ++end) {
            uint64_t linked = markup_linked(segment, order[end].address);
            /* They may begin anew at 0. */
            if (end > i && linked < order[end - 1].address) break;
            order[end].address = linked;
        }
        if (image != NULL)
            GSYM_TRY(address_sweep_find(&queue->sweep, image, order + i, end - i, error));
    }
    return GSYM_OK;
}

/* Of the module with most functions. */
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

static gsym_status ask(const markup_work *work, const char *lines, size_t size,
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
        line_size = ask_line(work, lines, used, begin, size, error, &status);
        if (line_size == 0) break;
        used += line_size;
    }
    return status == GSYM_OK ? find(work, error) : status;
}

/* ---- colours: an element is blue, what it says is green ------------------------------- */

static void put_colour(const markup_work *work, const char *code) {
    if (work->is_coloured) buffer_put(&work->text->out, code, strlen(code));
}

static void begin_element(const markup_work *work) { put_colour(work, "\x1b[0;34m"); }
static void end_element(const markup_work *work) { put_colour(work, "\x1b[0m"); }
static void begin_value(const markup_work *work) { put_colour(work, "\x1b[0;32m"); }
static void end_value(const markup_work *work) { put_colour(work, "\x1b[0;34m"); }

static void put_value(const markup_work *work, const char *bytes, size_t size) {
    begin_value(work);
    buffer_put(&work->text->out, bytes, size);
    end_value(work);
}

/* ---- what is at an address ------------------------------------------------------------ */

/* The frames at the address of an element, innermost first. */
typedef struct code_answer {
    const code_element *element;
    const gsym_frame *frames;
    uint32_t count;
    bool is_merged; /* one frame: the name of the outermost, the line of the innermost */
} code_answer;

static uint64_t name_of(const code_answer *answer, uint32_t frame) {
    return answer->frames[answer->is_merged ? answer->count - 1 : frame].name;
}

static void put_function(const markup_work *work, uint64_t name) {
    const gsym_image *image = work->module->image;
    const bool is_known = image_has_string(image, name);
    begin_value(work);
    if (is_known && work->texts != NULL)
        text_put_name(work->text, work->texts,
                      work->number << GSYM_MARKUP_MODULE_SHIFT | name);
    else if (is_known)
        text_put_string(work->text, image, name);
    else if (wants(work, GSYM_MARKUP_COLUMNS))
        text_put_literal(work->text, "<invalid>");
    end_value(work);
}

static void put_path(const markup_work *work, const joined_path *path) {
    if (path->size > 0)
        put_value(work, path->bytes, path->size);
    else
        put_value(work, "<invalid>", sizeof "<invalid>" - 1);
}

static void put_line(const markup_work *work, uint32_t line) {
    begin_value(work);
    text_put_decimal(work->text, line);
    end_value(work);
}

/* `FUNCTION FILE:LINE `, as far as it is known. */
static void put_location(const markup_work *work, const code_answer *answer, uint32_t frame) {
    gsym_text *text = work->text;
    const bool has_columns = wants(work, GSYM_MARKUP_COLUMNS);
    const uint64_t name = name_of(answer, frame);
    joined_path path;
    if (has_columns || wants(work, GSYM_MARKUP_FUCHSIA_FRAMES) ||
        image_has_string(work->module->image, name)) {
        put_function(work, name);
        text_put_char(text, ' ');
    }
    if (!text_get_path(text, work->module->image, answer->frames[frame].file, &path)) return;
    if (path.size == 0 && !has_columns) return;
    put_path(work, &path);
    text_put_char(text, ':');
    put_line(work, answer->frames[frame].line);
    if (has_columns) {
        text_put_char(text, ':');
        put_value(work, "0", 1);
    }
    text_put_char(text, ' ');
}

static void put_hex_value(const markup_work *work, uint64_t value) {
    begin_value(work);
    text_put_hex(work->text, value, 1);
    end_value(work);
}

/* ---- frames --------------------------------------------------------------------------- */

/* `#3.1  ` with the number to the right, `depth` 0 for the outermost frame. */
static void put_index(const markup_work *work, uint64_t number, uint32_t depth) {
    gsym_text *text = work->text;
    uint8_t digits[MAX_DECIMAL_SIZE];
    size_t size = (size_t)(put_decimal_covered(digits, number) - digits);
    if (size + 1 < INDEX_WIDTH) text_put_spaces(text, (unsigned)(INDEX_WIDTH - 1 - size));
    text_put_char(text, '#');
    put_value(work, (const char *)digits, size);
    if (depth == 0) {
        text_put_literal(text, "   ");
        return;
    }
    text_put_char(text, '.');
    begin_value(work);
    text_put_decimal(text, depth);
    if (depth < 10) text_put_char(text, ' ');
    end_value(work);
}

static void put_frame(const markup_work *work, const code_answer *answer, uint32_t frame,
                      uint32_t shown) {
    const code_element *element = answer->element;
    gsym_text *text = work->text;
    const bool is_adjusted = wants(work, GSYM_MARKUP_ADJUSTED);
    put_index(work, element->number, frame + 1 == shown ? 0 : frame + 1);
    begin_value(work);
    text_put_char(text, ' ');
    text_put_hex(text, is_adjusted ? element->looked_up : element->logged, 16);
    text_put_char(text, ' ');
    end_value(work);
    if (answer->count > 0) put_location(work, answer, frame);
    text_put_char(text, '(');
    put_value(work, work->module->name, work->module->name_size);
    text_put_char(text, '+');
    put_hex_value(work, element->linked);
    text_put_char(text, ')');
}

/* `   #3.1  `; the innermost frame has the highest depth. */
static void put_fuchsia_index(gsym_text *text, uint64_t number, uint32_t depth) {
    const size_t begin = text->out.size;
    size_t size;
    text_put_literal(text, "   #");
    text_put_decimal(text, number);
    if (depth > 0) {
        text_put_char(text, '.');
        text_put_decimal(text, depth);
    }
    size = text->out.size - begin;
    if (size < FUCHSIA_INDEX_WIDTH)
        text_put_spaces(text, (unsigned)(FUCHSIA_INDEX_WIDTH - size));
}

static void put_fuchsia_frame(const markup_work *work, const code_answer *answer,
                              uint32_t frame, uint32_t shown) {
    const code_element *element = answer->element;
    gsym_text *text = work->text;
    put_fuchsia_index(text, element->number, shown - 1 - frame);
    text_put_hex(text, element->logged, 16);
    text_put_literal(text, " in ");
    if (answer->count > 0) put_location(work, answer, frame);
    text_put_char(text, '<');
    buffer_put(&text->out, work->module->name, work->module->name_size);
    text_put_literal(text, ">+");
    text_put_hex(text, element->linked + (element->logged - element->looked_up), 1);
    if (element->message_size > 0) {
        text_put_char(text, ' ');
        buffer_put(&text->out, element->message, element->message_size);
    }
}

/* What stands between the frames of an element: the text behind it, the end of a line, the
 * text in front of it, as far as they are repeated. */
typedef struct frame_gap {
    const char *behind, *before;
    size_t behind_size, before_size;
    bool has_return;
} frame_gap;

static void put_gap(const markup_work *work, const frame_gap *gap) {
    buffer *out = &work->text->out;
    buffer_put(out, gap->behind, gap->behind_size);
    if (gap->has_return) buffer_put_u8(out, '\r');
    buffer_put_u8(out, '\n');
    buffer_put(out, gap->before, gap->before_size);
}

static void put_frames(const markup_work *work, const code_answer *answer,
                       const frame_gap *gap) {
    const uint32_t shown = answer->count == 0 || answer->is_merged ? 1 : answer->count;
    for (uint32_t frame = 0; frame < shown; ++frame) {
        if (frame > 0) put_gap(work, gap);
        if (wants(work, GSYM_MARKUP_FUCHSIA_FRAMES))
            put_fuchsia_frame(work, answer, frame, shown);
        else
            put_frame(work, answer, frame, shown);
    }
}

static bool is_blank(const char *bytes, size_t size) {
    for (size_t at = 0; at < size; ++at)
        if (bytes[at] != ' ' && bytes[at] != '\t') return false;
    return true;
}

static frame_gap gap_of(const markup_work *work, const char *line, size_t begin,
                        size_t end, size_t size) {
    frame_gap gap = {.behind = line + end,
                     .before = line,
                     .has_return = size > 1 && line[size - 2] == '\r'};
    if (wants(work, GSYM_MARKUP_INDENTS) && is_blank(line, begin)) gap.before_size = begin;
    if (!wants(work, GSYM_MARKUP_FUCHSIA_FRAMES)) return gap;
    while (size > end && (line[size - 1] == '\r' || line[size - 1] == '\n')) --size;
    if (begin + (size - end) > GSYM_MARKUP_MOST_REPEATED) return gap;
    gap.before_size = begin;
    gap.behind_size = size - end;
    return gap;
}

/* ---- code locations ------------------------------------------------------------------- */

/* The element as it stands, in other brackets. */
static void put_raw(const markup_work *work, const code_element *element) {
    gsym_text *text = work->text;
    const char *at = element->fields, *end = at + element->fields_size;
    text_put_literal(text, "[[[");
    for (;;) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        put_value(work, at, (size_t)((colon == NULL ? end : colon) - at));
        if (colon == NULL) break;
        text_put_char(text, ':');
        at = colon + 1;
    }
    text_put_literal(text, "]]]");
}

static void put_unknown(const markup_work *work, const code_element *element) {
    if (wants(work, GSYM_MARKUP_COLUMNS)) {
        put_raw(work, element);
        return;
    }
    buffer_put(&work->text->out, work->module->name, work->module->name_size);
    text_put_char(work->text, '+');
    text_put_hex(work->text, element->linked, 1);
}

/* `FUNCTION[FILE:LINE]`. */
static void put_pc(const markup_work *work, const code_answer *answer) {
    gsym_text *text = work->text;
    const bool is_outermost = wants(work, GSYM_MARKUP_OUTERMOST_PC);
    joined_path path;
    if (answer->count == 0) {
        put_unknown(work, answer->element);
        return;
    }
    put_function(work, name_of(answer, is_outermost ? answer->count - 1 : 0));
    if (!text_get_path(text, work->module->image, answer->frames->file, &path)) return;
    if (path.size == 0 && !wants(work, GSYM_MARKUP_COLUMNS)) return;
    text_put_char(text, '[');
    put_path(work, &path);
    text_put_char(text, ':');
    put_line(work, answer->frames->line);
    text_put_char(text, ']');
}

/* ---- lines ---------------------------------------------------------------------------- */

static void put_answered(markup_work *work, const code_answer *answer, const char *line,
                         size_t begin, size_t size) {
    const code_element *element = answer->element;
    buffer *out = &work->text->out;
    if (element->is_frame && wants(work, GSYM_MARKUP_FUCHSIA_FRAMES))
        work->is_coloured = false; /* these never are */
    if (answer->count == 0) ++work->module->unknown;
    buffer_put(out, line, begin);
    begin_element(work);
    if (element->is_frame) {
        frame_gap gap = gap_of(work, line, begin, element->end, size);
        put_frames(work, answer, &gap);
    } else {
        put_pc(work, answer);
    }
    end_element(work);
    buffer_put(out, line + element->end, size - element->end);
}

/* Most lines that follow are about the module of this one. */
static void look_ahead(const markup_work *work) {
    const answer_queue *queue = &work->text->queue;
    if (work->texts == NULL)
        queue_look_ahead(queue, work->module->image);
    else
        name_texts_look_ahead(work->texts, queue, work->number << GSYM_MARKUP_MODULE_SHIFT);
}

static gsym_status put_answer(const void *of_work, uint64_t place, gsym_error *error) {
    markup_work work = *(const markup_work *)of_work;
    gsym_markup_job *job = work.job;
    const char *line = job->lines + job->at;
    const size_t size = (size_t)queue_next(&work.text->queue)->size;
    code_element element;
    code_answer answer = {.element = &element};
    job->at += size;
    if (place == 0 || !markup_read_element(job, line, size, (size_t)place - 1, &element)) {
        buffer_put(&work.text->out, line, size);
        return GSYM_OK;
    }
    work.number = element.segment->module;
    work.module = &job->modules[work.number];
    if (work.module->image != NULL) look_ahead(&work);
    GSYM_TRY(text_next_frames(work.text, work.module->image, element.linked, &answer.frames,
                              &answer.count, error));
    answer.is_merged = answer.count > 0 && !wants(&work, GSYM_MARKUP_INLINES);
    put_answered(&work, &answer, line, (size_t)place - 1, size);
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
        bool is_short = wants(&work, GSYM_MARKUP_BASENAMES);
        if (!path_cache_begin(&text->paths, is_short ? PATH_BASENAME : PATH_WHOLE))
            return gsym_fail_memory(error);
        job->lines = lines;
        job->at = 0;
        GSYM_TRY(ask(&work, lines, size, error));
    }
    return text_answer_lines(text, NULL, limit, put_answer, &work, used_ret, error);
}
