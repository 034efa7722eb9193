/* code_element_records.c - write the answer for a code element as a JSON object, or as the
 * lines of an HTML detail, which a page shows on request.
 *
 *     {"log_line": 3, "column": 5, "element": "bt", "frame": 0, "address": "0x401136",
 *      "kind": "ra", "message": "", "looked_up": "0x401135", "module": "NAME",
 *      "build_id": "HEX", "linked_address": "0x1135", "frames": [{"function": "f",
 *      "file": "/d/a.c", "line": 3}]}
 */
#include "text/markup.h"
#include "base/characters.h"

void put_log_text(const markup_work *work, const char *bytes, size_t size) {
    if (markup_wants(work->job, GSYM_MARKUP_JSON)) return;
    if (markup_wants(work->job, GSYM_MARKUP_HTML))
        put_html(&work->text->out, bytes, size);
    else
        buffer_put(&work->text->out, bytes, size);
}

/* ---- members of an object ------------------------------------------------------------ */

static void put_chars(const markup_work *work, const char *text) {
    buffer_put(&work->text->out, text, strlen(text));
}

static void put_address(const markup_work *work, const char *before, uint64_t value) {
    put_chars(work, before);
    text_put_hex(work->text, value, 1);
}

void put_json_begin(const markup_work *work, const code_element *element, size_t at) {
    const gsym_markup_job *job = work->job;
    gsym_text *text = work->text;
    text_put_literal(text, "{\"log_line\": ");
    text_put_decimal(text, job->line_number);
    text_put_literal(text, ", \"column\": ");
    text_put_decimal(text, at - job->line_begin + 1);
    text_put_literal(text, ", ");
    put_chars(work, job->process);
    if (element->is_frame) {
        text_put_literal(text, "\"element\": \"bt\", \"frame\": ");
        text_put_decimal(text, element->number);
    } else {
        text_put_literal(text, "\"element\": \"pc\"");
    }
    put_address(work, ", \"address\": \"", element->logged);
    text_put_literal(text, "\", \"kind\": \"");
    put_chars(work, element->kind);
    put_chars(work, element->is_frame ? "\", \"message\": \"\"" : "\"");
}

static void put_json_frame(const markup_work *work, const code_answer *answer,
                           uint32_t frame) {
    gsym_text *text = work->text;
    const uint32_t line = answer->frames[frame].line;
    text_put_literal(text, "{\"function\": \"");
    put_code_name(work, code_name(answer, frame));
    text_put_literal(text, "\", \"file\": ");
    if (has_code_path(work, answer->frames[frame].file)) {
        text_put_char(text, '"');
        put_code_path(work, answer->frames[frame].file);
        text_put_char(text, '"');
    } else {
        text_put_literal(text, "null");
    }
    text_put_literal(text, ", \"line\": ");
    if (line == 0)
        text_put_literal(text, "null");
    else
        text_put_decimal(text, line);
    text_put_char(text, '}');
}

/* Append the reason for which an address has no frame; for a damaged record, the text of
 * `DAMAGED` in gsym/model.py. */
static void put_reason(const markup_work *work, const code_answer *answer) {
    put_chars(work, answer->is_damaged ? "damaged record" : work->module->reason);
}

void put_json_answer(const markup_work *work, const code_answer *answer) {
    const gsym_markup_module *module = work->module;
    gsym_text *text = work->text;
    put_address(work, ", \"looked_up\": \"", answer->element->looked_up);
    text_put_literal(text, "\", \"module\": \"");
    buffer_put(&text->out, module->name, module->name_size);
    text_put_literal(text, "\", \"build_id\": \"");
    put_chars(work, module->build_id);
    put_address(work, "\", \"linked_address\": \"", answer->element->linked);
    text_put_literal(text, "\", \"frames\": [");
    for (uint32_t frame = 0; frame < code_frame_count(answer); ++frame) {
        if (frame > 0) text_put_literal(text, ", ");
        put_json_frame(work, answer, frame);
    }
    text_put_char(text, ']');
    if (answer->count == 0) {
        text_put_literal(text, ", \"reason\": \"");
        put_reason(work, answer);
        text_put_char(text, '"');
    }
    text_put_literal(text, "}\n");
}

/* ---- lines of a detail --------------------------------------------------------------- */

void put_html_detail(const markup_work *work, const code_answer *answer) {
    const code_element *element = answer->element;
    gsym_text *text = work->text;
    text_put_char(text, '\n');
    buffer_put(&text->out, work->module->name, work->module->name_size);
    put_address(work, " + ", element->linked);
    text_put_literal(text, " (");
    put_chars(work, element->segment->mode);
    text_put_literal(text, "), build id ");
    put_chars(work, work->module->build_id);
    for (uint32_t frame = 0; frame < code_frame_count(answer); ++frame) {
        text_put_char(text, '\n');
        put_code_name(work, code_name(answer, frame));
        text_put_char(text, ' ');
        put_code_path(work, answer->frames[frame].file);
        text_put_char(text, ':');
        text_put_decimal(text, answer->frames[frame].line);
    }
    if (answer->count > 0) return;
    text_put_char(text, '\n');
    put_reason(work, answer);
}
