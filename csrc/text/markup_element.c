/* markup_element.c - parse `{{{bt:NUMBER:0xADDRESS:ra}}}` and `{{{pc:0xADDRESS:ra}}}` as
 * programs write them. Other formats are left to the caller. */
#include "text/markup.h"
#include "base/digits.h"

enum { MAX_NUMBER_DIGITS = 18 };

#define BEGIN "{{{"
#define END "}}}"

size_t markup_find_element(const char *bytes, size_t at, size_t size) {
    while (size - at >= 3) {
        const char *brace = memchr(bytes + at, '{', size - at - 2);
        if (brace == NULL) break;
        if (brace[1] == '{' && brace[2] == '{') return (size_t)(brace - bytes);
        at = (size_t)(brace - bytes) + 1;
    }
    return size;
}

static bool skip(const char *line, size_t size, size_t *at, const char *expected,
                 size_t expected_size) {
    if (size - *at < expected_size || memcmp(line + *at, expected, expected_size) != 0)
        return false;
    *at += expected_size;
    return true;
}

#define skip_literal(line, size, at, literal)                                            \
    skip(line, size, at, literal, sizeof(literal) - 1)

static bool read_number(const char *line, size_t size, size_t *at, uint64_t *value_ret) {
    size_t begin = *at;
    uint64_t value = 0;
    for (; *at < size && line[*at] >= '0' && line[*at] <= '9'; ++*at) {
        if (*at - begin >= MAX_NUMBER_DIGITS) return false;
        value = value * 10 + (uint64_t)(line[*at] - '0');
    }
    *value_ret = value;
    return *at > begin;
}

static bool read_hex(const char *line, size_t size, size_t *at, uint64_t *value_ret) {
    const size_t begin = *at;
    size_t end = begin;
    uint64_t value = 0;
    unsigned digit;
    for (; end < size && (digit = digit_value((uint8_t)line[end])) < NO_DIGIT; ++end)
        value = value << 4 | digit;
    *value_ret = value;
    *at = end;
    return end > begin && end - begin <= MAX_HEX_SIZE;
}

const gsym_markup_segment *markup_find_segment(const gsym_markup_job *job,
                                               uint64_t address) {
    size_t low = 0, high = job->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const gsym_markup_segment *segment = &job->segments[middle];
        if (address < segment->start)
            high = middle;
        else if (address - segment->start >= segment->size)
            low = middle + 1;
        else
            return segment;
    }
    return NULL;
}

/* Read `:ra` or `:pc`, if it ends the element or a field follows. */
static void read_kind(const char *line, size_t size, size_t *at, code_element *element) {
    size_t after = *at;
    const char *kind = "ra";
    if (!skip_literal(line, size, &after, ":ra")) {
        if (!skip_literal(line, size, &after, ":pc")) return;
        kind = "pc";
    }
    if (after == size || (line[after] != ':' && line[after] != '}')) return;
    *at = after;
    element->kind = kind;
}

/* Read `:TEXT` up to the end of the element. */
static void read_message(const char *line, size_t size, size_t *at,
                         code_element *element) {
    if (!skip_literal(line, size, at, ":")) return;
    element->message = line + *at;
    while (*at < size && line[*at] != '{' && line[*at] != '}') ++*at;
    element->message_size = (size_t)(line + *at - element->message);
}

/* Set the address to look up and its segment; false if it is in no module. */
static bool find_place(const gsym_markup_job *job, code_element *element, bool is_return) {
    element->looked_up = element->logged - is_return;
    element->segment = markup_find_segment(job, element->looked_up);
    return element->segment != NULL && element->segment->module != GSYM_MARKUP_NO_MODULE;
}

/* Find the segment of an address; false if it is in no module, or in a module whose code
 * is needed and not known yet. */
static bool place_element(const gsym_markup_job *job, code_element *element) {
    bool is_return = element->kind[0] == 'r', is_placed, is_sure = true;
    if (element->kind[0] == '\0' && !markup_wants(job, GSYM_MARKUP_PLAIN_EXACT)) {
        is_return = element->is_frame || markup_wants(job, GSYM_MARKUP_PLAIN_PC_RETURNS);
        is_sure = !is_return || !markup_wants(job, GSYM_MARKUP_READS_CODE);
    }
    is_placed = find_place(job, element, is_return);
    if (!is_sure && is_placed) {
        const gsym_machine_code *code = job->modules[element->segment->module].code;
        const uint64_t before = markup_linked(element->segment, element->looked_up);
        if (code == NULL) return false;
        is_sure = gsym_code_may_return(code, before + 1);
    }
    /* No call returns to the first address of a segment either, so then it is no return
     * address. */
    if (!is_sure && (is_placed || element->segment == NULL))
        is_placed = find_place(job, element, false);
    if (is_placed) element->linked = markup_linked(element->segment, element->looked_up);
    return is_placed;
}

bool markup_read_element(const gsym_markup_job *job, const char *line, size_t size,
                         size_t at, code_element *element) {
    *element = (code_element){.kind = ""};
    if (!skip_literal(line, size, &at, BEGIN)) return false;
    element->fields = line + at;
    if (skip_literal(line, size, &at, "bt:")) {
        element->is_frame = true;
        if (!read_number(line, size, &at, &element->number)) return false;
    } else if (!skip_literal(line, size, &at, "pc")) {
        return false;
    }
    if (!skip_literal(line, size, &at, ":0x") ||
        !read_hex(line, size, &at, &element->logged))
        return false;
    read_kind(line, size, &at, element);
    if (element->is_frame && markup_wants(job, GSYM_MARKUP_FUCHSIA_FRAMES) &&
        !markup_wants(job, GSYM_MARKUP_JSON | GSYM_MARKUP_HTML))
        read_message(line, size, &at, element);
    element->fields_size = (size_t)(line + at - element->fields);
    if (!skip_literal(line, size, &at, END)) return false;
    element->end = at;
    return place_element(job, element);
}
