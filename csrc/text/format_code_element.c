/* format_code_element.c - format one element with a code address. */
#include "base/characters.h"
#include "text/markup.h"

enum { INDEX_WIDTH = 6, FUCHSIA_INDEX_WIDTH = 9 };

/* ---- colours: an element is blue, its values are green ------------------------------- */

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

/* ---- symbols at an address ----------------------------------------------------------- */

/* Put a mark such as `<invalid>`; in HTML it is escaped like other text. */
static void put_marks(const markup_work *work, const char *marks) {
    if (markup_wants(work->job, GSYM_MARKUP_HTML))
        put_html(&work->text->out, marks, strlen(marks));
    else
        buffer_put(&work->text->out, marks, strlen(marks));
}

static void put_function(const markup_work *work, uint64_t name) {
    begin_value(work);
    if (!put_code_name(work, name) && markup_wants(work->job, GSYM_MARKUP_COLUMNS))
        put_marks(work, "<invalid>");
    end_value(work);
}

static void put_path(const markup_work *work, uint32_t file) {
    begin_value(work);
    if (!put_code_path(work, file)) put_marks(work, "<invalid>");
    end_value(work);
}

static void put_line(const markup_work *work, uint32_t line) {
    begin_value(work);
    text_put_decimal(work->text, line);
    end_value(work);
}

/* Put `FUNCTION FILE:LINE `, as far as known. */
static void put_location(const markup_work *work, const code_answer *answer,
                         uint32_t frame) {
    gsym_text *text = work->text;
    const bool has_columns = markup_wants(work->job, GSYM_MARKUP_COLUMNS);
    const uint64_t name = code_name(answer, frame);
    const uint32_t file = answer->frames[frame].file;
    if (has_columns || markup_wants(work->job, GSYM_MARKUP_FUCHSIA_FRAMES) ||
        is_code_name_known(work, name)) {
        put_function(work, name);
        text_put_char(text, ' ');
    }
    if (!has_columns && !has_code_path(work, file)) return;
    put_path(work, file);
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

/* ---- frames -------------------------------------------------------------------------- */

/* Put `#3.1  ` with the number right-aligned; `depth` is 0 for the outermost frame. */
static void put_index(const markup_work *work, uint64_t number, uint32_t depth) {
    gsym_text *text = work->text;
    uint8_t digits[MAX_DECIMAL_SIZE];
    size_t size = (size_t)(put_decimal_unchecked(digits, number) - digits);
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

/* Put the text of a frame after its number. */
static void put_frame(const markup_work *work, const code_answer *answer, uint32_t frame) {
    const code_element *element = answer->element;
    gsym_text *text = work->text;
    const bool is_adjusted = markup_wants(work->job, GSYM_MARKUP_ADJUSTED);
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

/* Put `   #3.1  `; the innermost frame has the highest depth. */
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

/* Put the text of a frame between its number and the message. */
static void put_fuchsia_frame(const markup_work *work, const code_answer *answer,
                              uint32_t frame) {
    const code_element *element = answer->element;
    gsym_text *text = work->text;
    text_put_hex(text, element->logged, 16);
    text_put_literal(text, " in ");
    if (answer->count > 0) put_location(work, answer, frame);
    put_marks(work, "<");
    buffer_put(&text->out, work->module->name, work->module->name_size);
    put_marks(work, ">+");
    text_put_hex(text, element->linked + (element->logged - element->looked_up), 1);
}

static void put_message(gsym_text *text, const code_element *element) {
    if (element->message_size == 0) return;
    text_put_char(text, ' ');
    buffer_put(&text->out, element->message, element->message_size);
}

/* The text between two frames of an element: the text after the element, a newline, and the
 * part of the text before the element that each line repeats. */
typedef struct frame_gap {
    const char *after, *before;
    size_t after_size, before_size;
    bool has_return;
} frame_gap;

static void put_gap(const markup_work *work, const frame_gap *gap) {
    put_log_text(work, gap->after, gap->after_size);
    if (gap->has_return) text_put_char(work->text, '\r');
    text_put_char(work->text, '\n');
    put_log_text(work, gap->before, gap->before_size);
}

static void put_frames(const markup_work *work, const code_answer *answer,
                       const frame_gap *gap) {
    const uint32_t shown = answer->count == 0 ? 1 : code_frame_count(answer);
    const uint64_t number = answer->element->number;
    for (uint32_t frame = 0; frame < shown; ++frame) {
        if (frame > 0) put_gap(work, gap);
        if (markup_wants(work->job, GSYM_MARKUP_FUCHSIA_FRAMES)) {
            put_fuchsia_index(work->text, number, shown - 1 - frame);
            put_fuchsia_frame(work, answer, frame);
            put_message(work->text, answer->element);
        } else {
            put_index(work, number, frame + 1 == shown ? 0 : frame + 1);
            put_frame(work, answer, frame);
        }
    }
}

static frame_gap gap_of(const markup_work *work, const char *line, size_t begin,
                        size_t end, size_t size) {
    frame_gap gap = {.after = line + end,
                     .before = line,
                     .has_return = size > 1 && line[size - 2] == '\r'};
    gap.before_size = work->job->prefix_size < begin ? work->job->prefix_size : begin;
    if (markup_wants(work->job, GSYM_MARKUP_INDENTS) &&
        are_blank((const uint8_t *)line + gap.before_size, begin - gap.before_size))
        gap.before_size = begin;
    if (!markup_wants(work->job, GSYM_MARKUP_FUCHSIA_FRAMES)) return gap;
    while (size > end && (line[size - 1] == '\r' || line[size - 1] == '\n')) --size;
    if (begin + (size - end) > GSYM_MARKUP_MAX_REPEATED) return gap;
    gap.before_size = begin;
    gap.after_size = size - end;
    return gap;
}

/* ---- code locations ------------------------------------------------------------------ */

/* Put the unchanged element in square brackets. */
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
    if (markup_wants(work->job, GSYM_MARKUP_COLUMNS)) {
        put_raw(work, element);
        return;
    }
    buffer_put(&work->text->out, work->module->name, work->module->name_size);
    text_put_char(work->text, '+');
    text_put_hex(work->text, element->linked, 1);
}

/* Put `FUNCTION[FILE:LINE]`. */
static void put_pc(const markup_work *work, const code_answer *answer) {
    gsym_text *text = work->text;
    const bool is_outermost = markup_wants(work->job, GSYM_MARKUP_OUTERMOST_PC);
    if (answer->count == 0) {
        put_unknown(work, answer->element);
        return;
    }
    put_function(work, code_name(answer, is_outermost ? answer->count - 1 : 0));
    if (!markup_wants(work->job, GSYM_MARKUP_COLUMNS) &&
        !has_code_path(work, answer->frames->file))
        return;
    text_put_char(text, '[');
    put_path(work, answer->frames->file);
    text_put_char(text, ':');
    put_line(work, answer->frames->line);
    text_put_char(text, ']');
}

/* ---- frames and code locations ------------------------------------------------------- */

static void put_text(markup_work *work, const code_answer *answer, const char *line,
                     size_t begin, size_t size) {
    const code_element *element = answer->element;
    if (element->is_frame && markup_wants(work->job, GSYM_MARKUP_FUCHSIA_FRAMES))
        work->is_coloured = false; /* frames of Fuchsia have no colours */
    begin_element(work);
    if (element->is_frame) {
        frame_gap gap = gap_of(work, line, begin, element->end, size);
        put_frames(work, answer, &gap);
    } else {
        put_pc(work, answer);
    }
    end_element(work);
}

void put_code_element(markup_work *work, const code_answer *answer, const char *line,
                      size_t begin, size_t size) {
    const code_element *element = answer->element;
    if (markup_wants(work->job, GSYM_MARKUP_JSON)) {
        put_json_begin(work, element, (size_t)(line - work->job->lines) + begin);
        put_json_answer(work, answer);
    } else if (markup_wants(work->job, GSYM_MARKUP_HTML)) {
        text_put_literal(work->text, "<span class=\"e\" tabindex=\"0\">");
        put_text(work, answer, line, begin, size);
        text_put_literal(work->text, "<span role=\"tooltip\">");
        buffer_put(&work->text->out, line + begin, element->end - begin);
        put_html_detail(work, answer);
        text_put_literal(work->text, "</span></span>");
    } else {
        put_text(work, answer, line, begin, size);
    }
}
