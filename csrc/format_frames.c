/* format_frames.c - frames as servers of Mozilla's symbolication API send them.
 *
 *     HEAD0x734e3c","function":"f","function_offset":"0x7dc","function_size":"0x900",
 *     "file":"a.cpp","line":172,"inlines":[{"function":"g","file":"b.h","line":3}]}
 *
 * without the breaks. What is not known has no key. The texts of names and files are made
 * outside of the engine, each once for all rows. */
#include "text.h"

typedef struct frames_job {
    gsym_text *text;
    const gsym_image *image;
    const gsym_frame_style *style;
    gsym_columns columns;
    uint32_t sized_entry; /* what `size` is the size of */
    uint64_t size;        /* 0: it is not known */
} frames_job;

typedef struct piece {
    const char *bytes;
    size_t size;
} piece;

enum {
    NO_ENTRY = UINT32_MAX,
    MAX_NUMBERS_SIZE =
        3 * MAX_HEX_SIZE + MAX_DECIMAL_SIZE +
        sizeof "0x\",\"function\":,\"function_offset\":\"0x\",\"function_size\":\"0x\"" +
        sizeof ",\"line\":,\"inlines\":[]}",
    MAX_CALL_SIZE = MAX_DECIMAL_SIZE + sizeof ",{\"function\":,\"line\":}"
};

static piece text_of_row(const gsym_column_texts *texts, size_t row) {
    uint32_t code = texts->codes[row];
    uint64_t begin;
    if (code >= texts->count) return (piece){NULL, 0};
    begin = code == 0 ? 0 : texts->ends[code - 1];
    return (piece){texts->bytes + begin, (size_t)(texts->ends[code] - begin)};
}

static uint64_t size_of_function(frames_job *job, uint32_t entry) {
    gsym_function_range range;
    gsym_error ignored;
    size_t count;
    if (entry != job->sized_entry) {
        bool is_known = gsym_image_functions(job->image, entry, &range, 1, &count,
                                             &ignored) == GSYM_OK;
        job->sized_entry = entry;
        job->size = is_known ? range.size : 0;
    }
    return job->size;
}

/* A line without a file means nothing. */
static uint8_t *put_place_covered(uint8_t *at, piece file, uint32_t line) {
    at = put_bytes_covered(at, file.bytes, file.size);
    if (line == 0 || file.size == 0) return at;
    at = put_literal_covered(at, ",\"line\":");
    return put_decimal_covered(at, line);
}

static void put_calls(frames_job *job, size_t first, size_t end) {
    gsym_text *text = job->text;
    text_put_literal(text, ",\"inlines\":[");
    for (size_t row = first; row < end && text->out.size <= job->style->limit; ++row) {
        piece name = text_of_row(&job->style->names, row);
        piece file = text_of_row(&job->style->files, row);
        uint8_t *at = text_begin(text, MAX_CALL_SIZE + name.size + file.size);
        if (at == NULL) return;
        if (row > first) *at++ = ',';
        at = put_literal_covered(at, "{\"function\":");
        at = put_bytes_covered(at, name.bytes, name.size);
        at = put_place_covered(at, file, job->columns.line[row]);
        *at++ = '}';
        text_end(text, at);
    }
    text_put_char(text, ']');
}

/* The function itself stands in the last row, the calls in it before. */
static void put_function(frames_job *job, size_t first, size_t end) {
    size_t row = end - 1;
    piece name = text_of_row(&job->style->names, row);
    piece file = text_of_row(&job->style->files, row);
    uint64_t size = size_of_function(job, job->columns.function[row]);
    uint8_t *at = text_begin(job->text, MAX_NUMBERS_SIZE + name.size + file.size);
    if (at == NULL) return;
    at = put_literal_covered(at, ",\"function\":");
    at = put_bytes_covered(at, name.bytes, name.size);
    at = put_literal_covered(at, ",\"function_offset\":\"0x");
    at = put_hex_covered(at, job->columns.offset[row]);
    *at++ = '"';
    if (size > 0) {
        at = put_literal_covered(at, ",\"function_size\":\"0x");
        at = put_hex_covered(at, size);
        *at++ = '"';
    }
    at = put_place_covered(at, file, job->columns.line[row]);
    text_end(job->text, at);
    if (first < row) put_calls(job, first, row);
}

static void put_frame(frames_job *job, uint64_t offset, size_t first, size_t end) {
    const gsym_frame_style *style = job->style;
    uint8_t *at = text_begin(job->text, MAX_NUMBERS_SIZE + style->head_size);
    if (at == NULL) return;
    at = put_bytes_covered(at, style->head, style->head_size);
    at = put_literal_covered(at, "0x");
    at = put_hex_covered(at, offset);
    *at++ = '"';
    text_end(job->text, at);
    if (first < end) put_function(job, first, end);
    text_put_char(job->text, '}');
}

gsym_status gsym_text_frames(gsym_text *text, const gsym_image *image,
                             const gsym_batch *batch, const gsym_frame_style *style,
                             const uint64_t *offsets, size_t count, uint64_t *ends_ret,
                             gsym_error *error) {
    frames_job job = {.text = text, .image = image, .style = style};
    size_t row = 0;
    job.sized_entry = NO_ENTRY;
    if (batch != NULL) gsym_batch_columns(batch, &job.columns);
    for (size_t i = 0; i < count; ++i) {
        size_t first = row;
        while (row < job.columns.count && job.columns.address_index[row] == i) ++row;
        put_frame(&job, offsets[i], first, row);
        if (text->out.size > style->limit)
            return gsym_fail(error, GSYM_E_LIMIT, 0, "the frames have too much text");
        ends_ret[i] = text->out.size;
    }
    return text_status(text, error);
}

/* ---- stacks -------------------------------------------------------------------------- */

enum { MAX_OPENING_SIZE = MAX_DECIMAL_SIZE + sizeof ",{\"frame\":," };

static bool take_frame(gsym_frame_queue *queue, piece *frame_ret) {
    uint64_t begin;
    if (queue->next >= queue->count) return false;
    begin = queue->next == 0 ? 0 : queue->ends[queue->next - 1];
    *frame_ret = (piece){queue->bytes + begin, (size_t)(queue->ends[queue->next] - begin)};
    ++queue->next;
    return true;
}

static bool put_stack(gsym_text *text, gsym_frame_queue *const *queues,
                      size_t queue_count, const int64_t *modules, size_t count) {
    text_put_char(text, '[');
    for (size_t i = 0; i < count; ++i) {
        size_t module = modules[i] < 0 ? queue_count - 1 : (size_t)modules[i];
        piece frame;
        uint8_t *at;
        if (module >= queue_count || !take_frame(queues[module], &frame)) return false;
        at = text_begin(text, MAX_OPENING_SIZE + frame.size);
        if (at == NULL) return true;
        if (i > 0) *at++ = ',';
        at = put_literal_covered(at, "{\"frame\":");
        at = put_decimal_covered(at, i);
        *at++ = ',';
        at = put_bytes_covered(at, frame.bytes, frame.size);
        text_end(text, at);
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
