/* mozilla_stacks.c - write the stacks in responses of Mozilla's symbolication API.
 *
 *     [{"frame":0,HEAD0x734e3c","function":"f","function_offset":"0x7dc",
 *     "function_size":"0x900","file":"a.cpp","line":172,
 *     "inlines":[{"function":"g","file":"b.h","line":3}]}]
 *
 * without the line breaks. Unknown values have no key. The texts of names and files are
 * made outside of the engine, each once for all rows. */
#include "text/text.h"

typedef struct piece {
    const char *bytes;
    size_t size;
} piece;

/* The size of the function that was written last, since frames in one function follow each
 * other. */
typedef struct function_size {
    const gsym_image *image;
    uint32_t entry;
    uint64_t size; /* 0: unknown */
} function_size;

enum {
    FRAME_SIZE = /* bytes of a frame without numbers, names and files */
        sizeof ",{\"frame\":,0x\",\"function\":,\"function_offset\":\"0x\"" +
        sizeof ",\"function_size\":\"0x\",\"line\":,\"inlines\":[]}",
    MAX_FRAME_SIZE = FRAME_SIZE + 2 * MAX_DECIMAL_SIZE + 3 * MAX_HEX_SIZE,
    CALL_SIZE = sizeof ",{\"function\":,\"line\":}", /* without the same */
    MAX_CALL_SIZE = CALL_SIZE + MAX_DECIMAL_SIZE
};

static piece text_of_row(const gsym_column_texts *texts, size_t row) {
    uint32_t code = texts->codes[row];
    uint64_t begin;
    if (code >= texts->count) return (piece){NULL, 0};
    begin = code == 0 ? 0 : texts->ends[code - 1];
    return (piece){texts->bytes + begin, (size_t)(texts->ends[code] - begin)};
}

static uint64_t size_of_function(function_size *known, const gsym_image *image,
                                 uint32_t entry) {
    if (entry != known->entry || image != known->image) {
        gsym_function_range range;
        gsym_error ignored;
        size_t count;
        bool is_known =
            gsym_image_functions(image, entry, &range, 1, &count, &ignored) == GSYM_OK;
        *known = (function_size){image, entry, is_known ? range.size : 0};
    }
    return known->size;
}

/* Put a file and its line; a line without a file has no meaning and is omitted. */
static uint8_t *put_place(uint8_t *at, piece file, uint32_t line) {
    at = put_bytes_unchecked(at, file.bytes, file.size);
    if (line == 0 || file.size == 0) return at;
    at = put_literal_unchecked(at, ",\"line\":");
    return put_decimal_unchecked(at, line);
}

static void put_calls(gsym_text *text, const gsym_frame_part *part, size_t first,
                      size_t end) {
    text_put_literal(text, ",\"inlines\":[");
    for (size_t row = first; row < end; ++row) {
        piece name = text_of_row(&part->names, row);
        piece file = text_of_row(&part->files, row);
        uint8_t *at = text_begin(text, MAX_CALL_SIZE + name.size + file.size);
        if (at == NULL) return;
        if (row > first) *at++ = ',';
        at = put_literal_unchecked(at, "{\"function\":");
        at = put_bytes_unchecked(at, name.bytes, name.size);
        at = put_place(at, file, part->columns.line[row]);
        *at++ = '}';
        text_end(text, at);
    }
    text_put_char(text, ']');
}

/* Put a function, which is the last row; its inlined calls come before it. */
static void put_function(gsym_text *text, const gsym_frame_part *part, uint64_t size,
                         size_t first, size_t end) {
    size_t row = end - 1;
    piece name = text_of_row(&part->names, row);
    piece file = text_of_row(&part->files, row);
    uint8_t *at = text_begin(text, MAX_FRAME_SIZE + name.size + file.size);
    if (at == NULL) return;
    at = put_literal_unchecked(at, ",\"function\":");
    at = put_bytes_unchecked(at, name.bytes, name.size);
    at = put_literal_unchecked(at, ",\"function_offset\":\"0x");
    at = put_hex_unchecked(at, part->columns.offset[row]);
    *at++ = '"';
    if (size > 0) {
        at = put_literal_unchecked(at, ",\"function_size\":\"0x");
        at = put_hex_unchecked(at, size);
        *at++ = '"';
    }
    at = put_place(at, file, part->columns.line[row]);
    text_end(text, at);
    if (first < row) put_calls(text, part, first, row);
}

/* ---- queues -------------------------------------------------------------------------- */

uint64_t gsym_frame_queue_size(const gsym_frame_queue *queue) {
    /* Reserve space for the longest numbers: the number of the frame and the size of its
     * function are not known yet. */
    uint64_t size = queue->count * (uint64_t)(FRAME_SIZE + MAX_DECIMAL_SIZE +
                                              MAX_HEX_SIZE + queue->head_size);
    for (size_t i = 0; i < queue->count; ++i) size += hex_size(queue->offsets[i]);
    return size;
}

uint64_t gsym_frame_part_size(const gsym_frame_part *part) {
    uint64_t size = 0;
    for (size_t row = 0; row < part->columns.count; ++row)
        size += text_of_row(&part->names, row).size + text_of_row(&part->files, row).size +
                (part->columns.inlined[row] ? CALL_SIZE : 0) +
                decimal_size(part->columns.line[row]) +
                hex_size(part->columns.offset[row]);
    return size;
}

static bool is_next_unknown(gsym_frame_queue *queue) {
    bool is_unknown = queue->next_unknown < queue->unknown_count &&
                      queue->unknown[queue->next_unknown] == queue->next;
    if (is_unknown) ++queue->next_unknown;
    return is_unknown;
}

/* Find the part of the next frame, and the number of its rows from queue->next_row on. NULL
 * if the frame has no answer. */
static const gsym_frame_part *find_rows(gsym_frame_queue *queue, size_t *count_ret) {
    const gsym_frame_part *part;
    size_t first, row = queue->next_row;
    while (queue->next_part < queue->part_count &&
           queue->next >= queue->parts[queue->next_part].end) {
        ++queue->next_part;
        row = queue->next_row = 0;
    }
    if (queue->next_part == queue->part_count) return NULL;
    part = &queue->parts[queue->next_part];
    first = queue->next_part == 0 ? 0 : part[-1].end;
    while (row < part->columns.count &&
           part->columns.address_index[row] == queue->next - first)
        ++row;
    *count_ret = row - queue->next_row;
    return *count_ret == 0 ? NULL : part;
}

static void put_frame(gsym_text *text, gsym_frame_queue *queue, size_t number,
                      function_size *known) {
    bool is_unknown = is_next_unknown(queue);
    size_t count = 0, first;
    const gsym_frame_part *part = find_rows(queue, &count);
    uint8_t *at = text_begin(text, MAX_FRAME_SIZE + queue->head_size);
    if (at == NULL) return;
    if (number > 0) *at++ = ',';
    at = put_literal_unchecked(at, "{\"frame\":");
    at = put_decimal_unchecked(at, number);
    *at++ = ',';
    at = put_bytes_unchecked(at, queue->head, queue->head_size);
    at = is_unknown ? put_literal_unchecked(at, "-0x1") : put_literal_unchecked(at, "0x");
    if (!is_unknown) at = put_hex_unchecked(at, queue->offsets[queue->next]);
    *at++ = '"';
    text_end(text, at);
    first = queue->next_row;
    queue->next_row += count;
    ++queue->next;
    if (part != NULL && !is_unknown) {
        uint32_t entry = part->columns.function[first + count - 1];
        put_function(text, part, size_of_function(known, queue->image, entry), first,
                     first + count);
    }
    text_put_char(text, '}');
}

/* ---- stacks -------------------------------------------------------------------------- */

static bool put_stack(gsym_text *text, gsym_frame_queue *const *queues,
                      size_t queue_count, const int64_t *modules, size_t count) {
    function_size known = {0};
    text_put_char(text, '[');
    for (size_t i = 0; i < count; ++i) {
        size_t module = modules[i] < 0 ? queue_count - 1 : (size_t)modules[i];
        if (module >= queue_count || queues[module]->next == queues[module]->count)
            return false;
        put_frame(text, queues[module], i, &known);
    }
    text_put_char(text, ']');
    return true;
}

gsym_status gsym_text_stacks(gsym_text *text, gsym_frame_queue *const *queues,
                             size_t queue_count, const int64_t *modules,
                             const uint64_t *ends, size_t stack_count, gsym_error *error) {
    size_t first = 0;
    for (size_t i = 0; i < stack_count; ++i) {
        if (i > 0) text_put_char(text, ',');
        if (!put_stack(text, queues, queue_count, modules + first, ends[i] - first))
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a stack of other frames");
        first = (size_t)ends[i];
    }
    return text_status(text, error);
}
