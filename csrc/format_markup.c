/* format_markup.c - lines of a log with symbolizer markup, whose backtraces are answered.
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
 * Lines without an element stay as they are. A line with any other element is for others,
 * and so is an address that is in none of the segments. */
#include "text.h"

enum { MOST_NUMBER_DIGITS = 18, ESCAPE = 0x1b, INDEX_WIDTH = 6 };

static const char ELEMENT[] = "{{{bt:";
static const char END[] = "}}}";

typedef struct markup_work {
    gsym_text *text;
    const gsym_image *image;
    gsym_name_texts *texts;
    gsym_markup_job *job;
} markup_work;

/* A backtrace element of a line. */
typedef struct frame_element {
    uint64_t number;
    uint64_t logged;    /* its address */
    uint64_t looked_up; /* one less for a return address */
    uint64_t linked;    /* the link-time address of that */
    size_t end;         /* offset in the line behind it */
} frame_element;

static bool wants(const markup_work *work, gsym_markup_flags flag) {
    return (work->job->flags & flag) != 0;
}

/* The offset of the first `{{{` at `at` or behind it, `size` where there is none. */
static size_t find_element(const char *bytes, size_t at, size_t size) {
    while (size - at >= 3) {
        const char *brace = memchr(bytes + at, '{', size - at - 2);
        if (brace == NULL) break;
        if (brace[1] == '{' && brace[2] == '{') return (size_t)(brace - bytes);
        at = (size_t)(brace - bytes) + 1;
    }
    return size;
}

/* The offset of the first escape, `size` where there is none or escapes are text. */
static size_t find_escape(const markup_work *work, const char *bytes, size_t at,
                          size_t size) {
    const char *escape = NULL;
    if (wants(work, GSYM_MARKUP_STOPS_AT_ESCAPE) && at < size)
        escape = memchr(bytes + at, ESCAPE, size - at);
    return escape == NULL ? size : (size_t)(escape - bytes);
}

static bool skip(const char *line, size_t size, size_t *at, const char *expected,
                 size_t expected_size) {
    if (size - *at < expected_size || memcmp(line + *at, expected, expected_size) != 0)
        return false;
    *at += expected_size;
    return true;
}

static bool read_number(const char *line, size_t size, size_t *at, uint64_t *value_ret) {
    size_t begin = *at;
    uint64_t value = 0;
    for (; *at < size && line[*at] >= '0' && line[*at] <= '9'; ++*at) {
        if (*at - begin >= MOST_NUMBER_DIGITS) return false;
        value = value * 10 + (uint64_t)(line[*at] - '0');
    }
    *value_ret = value;
    return *at > begin;
}

static bool read_hex(const char *line, size_t size, size_t *at, uint64_t *value_ret) {
    size_t begin = *at;
    uint64_t value = 0;
    for (; *at < size; ++*at) {
        unsigned digit = (unsigned)(unsigned char)line[*at] - '0';
        unsigned letter = ((unsigned)(unsigned char)line[*at] | 0x20) - 'a';
        if (digit > 9 && letter > 5) break;
        if (*at - begin >= MAX_HEX_SIZE) return false;
        value = value << 4 | (digit <= 9 ? digit : letter + 10);
    }
    *value_ret = value;
    return *at > begin;
}

/* Whether `address` is in a segment; they are sorted and do not overlap. */
static bool find_linked(const gsym_markup_job *job, uint64_t address,
                        uint64_t *linked_ret) {
    size_t low = 0, high = job->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const gsym_markup_segment *segment = &job->segments[middle];
        if (address < segment->start)
            high = middle;
        else if (address - segment->start >= segment->size)
            low = middle + 1;
        else {
            *linked_ret = address - segment->start + segment->address;
            return true;
        }
    }
    return false;
}

/* The element of a line at `at`; false where it is none that can be answered here. */
static bool read_element(const gsym_markup_job *job, const char *line, size_t size,
                         size_t at, frame_element *element) {
    bool is_return = true;
    if (!skip(line, size, &at, ELEMENT, sizeof ELEMENT - 1) ||
        !read_number(line, size, &at, &element->number) || !skip(line, size, &at, ":0x", 3) ||
        !read_hex(line, size, &at, &element->logged))
        return false;
    if (skip(line, size, &at, ":pc", 3))
        is_return = false;
    else
        skip(line, size, &at, ":ra", 3);
    if (!skip(line, size, &at, END, sizeof END - 1)) return false;
    element->end = at;
    element->looked_up = element->logged - is_return;
    return find_linked(job, element->looked_up, &element->linked);
}

/* ---- lines that are looked up together ----------------------------------------------- */

/* Behind the last whole line in front of `stop`. */
static size_t line_start(const char *lines, size_t used, size_t stop) {
    while (stop > used && lines[stop - 1] != '\n') --stop;
    return stop;
}

/* Take the line at `used` in, whose first element is at `begin`. Gives its size, 0 where it
 * cannot be answered here. */
static size_t ask_line(const markup_work *work, const char *lines, size_t used,
                       size_t begin, size_t size, gsym_error *error,
                       gsym_status *status) {
    const char *newline = memchr(lines + begin, '\n', size - begin);
    const char *line = lines + used;
    frame_element element;
    size_t line_size, end;
    if (newline == NULL) return 0;
    line_size = (size_t)(newline - line) + 1;
    if (line_size > work->job->line_limit) return 0;
    if (!read_element(work->job, line, line_size, begin - used, &element)) return 0;
    end = element.end;
    if (find_element(line, end, line_size) < line_size) return 0;
    if (find_escape(work, line, end, line_size) < line_size) return 0;
    /* Where the element is, counted from 1; 0 tells text. */
    if (!queue_add(&work->text->queue, begin - used + 1, line_size, element.linked)) {
        *status = gsym_fail_memory(error);
        return 0;
    }
    return line_size;
}

static gsym_status ask(const markup_work *work, const char *lines, size_t size,
                       gsym_error *error) {
    answer_queue *queue = &work->text->queue;
    gsym_status status = GSYM_OK;
    size_t used = 0;
    queue_begin(queue, work->image);
    while (used < size && !queue_is_full(queue)) {
        size_t begin = find_element(lines, used, size);
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
    if (status != GSYM_OK) return status;
    return queue_find(queue, work->image, false, error);
}

/* ---- answers ------------------------------------------------------------------------- */

static void put_location(const markup_work *work, uint64_t name, const gsym_frame *frame) {
    gsym_text *text = work->text;
    const bool has_columns = wants(work, GSYM_MARKUP_COLUMNS);
    joined_path path;
    if (image_has_string(work->image, name))
        text_put_function(text, work->image, work->texts, name);
    else if (has_columns)
        text_put_literal(text, "<invalid>");
    if (!text_get_path(text, work->image, frame->file, &path)) return;
    text_put_char(text, ' ');
    if (path.size > 0)
        buffer_put(&text->out, path.bytes, path.size);
    else if (has_columns)
        text_put_literal(text, "<invalid>");
    else
        return;
    text_put_char(text, ':');
    text_put_decimal(text, frame->line);
    if (has_columns)
        text_put_literal(text, ":0 ");
    else
        text_put_char(text, ' ');
}

/* `#3.1  ` with the number to the right, `depth` 0 for the outermost frame. */
static void put_index(gsym_text *text, uint64_t number, uint32_t depth) {
    uint8_t digits[MAX_DECIMAL_SIZE];
    size_t size = (size_t)(put_decimal_covered(digits, number) - digits);
    if (size + 1 < INDEX_WIDTH) text_put_spaces(text, (unsigned)(INDEX_WIDTH - 1 - size));
    text_put_char(text, '#');
    buffer_put(&text->out, digits, size);
    if (depth == 0) {
        text_put_literal(text, "   ");
        return;
    }
    text_put_char(text, '.');
    text_put_decimal(text, depth);
    if (depth < 10) text_put_char(text, ' ');
}

static void put_frames(const markup_work *work, const frame_element *element,
                       const gsym_frame *frames, uint32_t count, const char *line,
                       size_t indent, bool has_return) {
    gsym_text *text = work->text;
    const gsym_markup_job *job = work->job;
    const bool is_merged = count > 0 && !wants(work, GSYM_MARKUP_INLINES);
    const uint32_t shown = count == 0 || is_merged ? 1 : count;
    for (uint32_t i = 0; i < shown; ++i) {
        if (i > 0) {
            if (has_return) text_put_char(text, '\r');
            text_put_char(text, '\n');
            buffer_put(&text->out, line, indent);
        }
        put_index(text, element->number, i + 1 == shown ? 0 : i + 1);
        text_put_char(text, ' ');
        text_put_hex(text,
                     wants(work, GSYM_MARKUP_ADJUSTED) ? element->looked_up
                                                       : element->logged,
                     16);
        text_put_char(text, ' ');
        if (count > 0)
            put_location(work, frames[is_merged ? count - 1 : i].name, &frames[i]);
        text_put_char(text, '(');
        buffer_put(&text->out, job->module, job->module_size);
        text_put_char(text, '+');
        text_put_hex(text, element->linked, 1);
        text_put_char(text, ')');
    }
}

/* How many bytes the blanks in front of an element are, 0 where there is anything else. */
static size_t indent_size(const char *line, size_t begin) {
    for (size_t at = 0; at < begin; ++at)
        if (line[at] != ' ' && line[at] != '\t') return 0;
    return begin;
}

static gsym_status put_answer(const void *of_work, uint64_t place, gsym_error *error) {
    const markup_work *work = of_work;
    gsym_markup_job *job = work->job;
    const char *line = job->lines + job->at;
    const size_t size = (size_t)queue_next(&work->text->queue)->size;
    const size_t begin = (size_t)place - 1;
    frame_element element;
    const gsym_frame *frames;
    uint32_t count;
    job->at += size;
    if (place == 0 || !read_element(job, line, size, begin, &element)) {
        buffer_put(&work->text->out, line, size);
        return GSYM_OK;
    }
    GSYM_TRY(text_next_frames(work->text, work->image, element.linked, &frames, &count,
                              error));
    if (count == 0) ++job->unknown;
    buffer_put(&work->text->out, line, begin);
    put_frames(work, &element, frames, count, line,
               wants(work, GSYM_MARKUP_INDENTS) ? indent_size(line, begin) : 0,
               size > 1 && line[size - 2] == '\r');
    buffer_put(&work->text->out, line + element.end, size - element.end);
    return GSYM_OK;
}

gsym_status gsym_text_markup(gsym_text *text, const gsym_image *image,
                             gsym_name_texts *texts, gsym_markup_job *job,
                             const char *lines, size_t size, size_t limit,
                             size_t *used_ret, gsym_error *error) {
    markup_work work = {text, image, texts, job};
    if (lines != NULL) {
        bool is_short = wants(&work, GSYM_MARKUP_BASENAMES);
        if (!path_cache_begin(&text->paths, is_short ? PATH_BASENAME : PATH_WHOLE))
            return gsym_fail_memory(error);
        job->lines = lines;
        job->at = 0;
        GSYM_TRY(ask(&work, lines, size, error));
    }
    return text_answer_lines(text, image, limit, put_answer, &work, used_ret, error);
}
