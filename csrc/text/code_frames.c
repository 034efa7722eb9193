/* code_frames.c - put names and paths of the frames at an address of code. */
#include "text/markup.h"

uint64_t code_name(const code_answer *answer, uint32_t frame) {
    return answer->frames[answer->is_merged ? answer->count - 1 : frame].name;
}

uint32_t code_frame_count(const code_answer *answer) {
    return answer->is_merged ? 1 : answer->count;
}

bool is_code_name_known(const markup_work *work, uint64_t name) {
    return !markup_wants(work->job, GSYM_MARKUP_NO_FUNCTIONS) &&
           image_has_string(work->module->image, name);
}

bool put_code_name(const markup_work *work, uint64_t name) {
    const uint64_t number = work->number << GSYM_MARKUP_MODULE_SHIFT | name;
    if (markup_wants(work->job, GSYM_MARKUP_NO_FUNCTIONS)) return false;
    /* First try names with a text, for which the file is not read again. */
    if (work->texts != NULL && text_put_known_name(work->text, work->texts, number))
        return true;
    if (!is_code_name_known(work, name)) return false;
    if (work->texts != NULL)
        text_put_name(work->text, work->texts, number);
    else
        text_put_string(work->text, work->module->image, name);
    return true;
}

/* Put a path whose parts need escapes, from the texts of the parts. */
static void put_odd_path(const markup_work *work, uint32_t file) {
    const gsym_image *image = work->module->image;
    const uint64_t prefix = work->number << GSYM_MARKUP_MODULE_SHIFT | GSYM_PLAIN_STRING;
    gsym_text *text = work->text;
    image_path path;
    if (!image_path_get(image, file, &path)) return;
    if (path.separator != 0 && !markup_wants(work->job, GSYM_MARKUP_BASENAMES)) {
        text_put_name(text, work->texts, prefix | path.directory_strp);
        if (path.separator == '\\' && markup_wants(work->job, GSYM_MARKUP_JSON))
            text_put_char(text, '\\');
        text_put_char(text, path.separator);
    }
    if (path.basename_size > 0)
        text_put_name(text, work->texts, prefix | path.basename_strp);
}

bool put_code_path(const markup_work *work, uint32_t file) {
    gsym_text *text = work->text;
    joined_path path;
    if (!text_get_path(text, work->module->image, file, &path) || path.size == 0)
        return false;
    if (markup_wants(work->job, GSYM_MARKUP_HTML) ||
        (markup_wants(work->job, GSYM_MARKUP_JSON) && !path.is_quotable))
        put_odd_path(work, file);
    else
        buffer_put(&text->out, path.bytes, path.size);
    return true;
}

bool has_code_path(const markup_work *work, uint32_t file) {
    joined_path path;
    return text_get_path(work->text, work->module->image, file, &path) && path.size > 0;
}
