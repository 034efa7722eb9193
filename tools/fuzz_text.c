/* fuzz_text.c - libFuzzer target: bytes that claim to be a GSYM file, printed.
 *
 * Masks their numbers, dumps them, exports them as Breakpad text, demangles their names,
 * and answers lines with addresses, logs with markup and stacks of requests. After a lack
 * of memory the same text and names are used again, as Python does. tools/fuzz.sh builds
 * and runs this under sanitizers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_output.h"

enum { ENTRIES = 16, LINE = 64, LIMIT = 100, NAMES = 64 };

static const char STYLE[] =
    "<address>:<?found><*functions><?later>=</><function>+<start>/<size><*frames> "
    "<name>+<offset> <path>:<?line><line><:>?</><?inlined>i</></><?patterns><*patterns>"
    "(<pattern>)</></></><:>?? <?damaged><error></></>\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is printed, and with what. */
typedef struct printer {
    const gsym_image *image;
    gsym_text *text;
    gsym_name_texts *names;
    gsym_format_job answers;
    gsym_markup_job markup;
    char lines[ENTRIES * LINE];
    size_t size;
    uint64_t sum;
} printer;

/* Read and forget the text. */
static void take(printer *this) {
    size_t size;
    const char *bytes = gsym_text_bytes(this->text, &size);
    for (size_t i = 0; i < size; ++i) this->sum += (uint8_t)bytes[i];
    gsym_text_clear(this->text);
}

/* Fill the gaps: each name has the text "n". */
static gsym_status fill(printer *this, gsym_error *error) {
    gsym_status status;
    size_t count;
    char *block;
    (void)gsym_name_texts_missing(this->names, &count);
    block = calloc(count + 1, 2);
    if (block == NULL) abort();
    for (size_t i = 0; i < count; ++i) block[2 * i] = 'n';
    status = gsym_name_texts_add(this->names, block, 2 * count, error);
    if (status == GSYM_OK) status = gsym_text_fill(this->text, this->names, error);
    free(block);
    return status;
}

static gsym_status go_on(printer *this, int is_markup, const char *lines, size_t size,
                         size_t *used, gsym_error *error) {
    return is_markup ? gsym_text_markup(this->text, this->names, &this->markup, lines, size,
                                        LIMIT, used, error)
                     : gsym_text_answer(this->text, &this->answers, lines, size, LIMIT,
                                        used, error);
}

/* Have all lines answered, as gsym/engine/text_buffer.py does. */
static void answer(printer *this, int is_markup) {
    const char *asked = this->lines;
    size_t done = 0, used;
    gsym_error error;
    gsym_text_clear(this->text); /* of what a failure left */
    while (done < this->size &&
           succeeds(go_on(this, is_markup, asked, this->size - done, &used, &error))) {
        if (used != 0) {
            done += used;
            if (!succeeds(fill(this, &error))) return;
            take(this);
            asked = NULL;
        } else if (asked == NULL) {
            asked = this->lines + done;
        } else {
            return;
        }
    }
}

/* A line for each of the first entries; addresses that are returned to are in `bt`. */
static void write_lines(printer *this, const char *form) {
    uint64_t address, record_offset;
    gsym_error error;
    this->size = 0;
    for (uint32_t i = 0; i < ENTRIES; ++i)
        if (gsym_image_entry(this->image, i, &address, &record_offset, &error) == GSYM_OK)
            this->size +=
                (size_t)snprintf(this->lines + this->size, LINE, form, address + 1);
}

static void answer_lines(printer *this) {
    gsym_error error;
    gsym_style *style = NULL;
    write_lines(this, "0x%" PRIx64 "\n");
    if (!succeeds(gsym_style_create(STYLE, sizeof STYLE - 1, &style, &error))) return;
    for (uint32_t flags = 0; flags < 32; flags += 4) {
        this->answers = (gsym_format_job){.style = style,
                                          .image = this->image,
                                          .texts = this->names,
                                          .flags = flags | GSYM_FORMAT_MERGED,
                                          .numbers = GSYM_NUMBERS_PLAIN,
                                          .line_size = UINT64_MAX,
                                          .address_mask = UINT64_MAX,
                                          .last = UINT64_MAX};
        answer(this, 0);
    }
    gsym_style_destroy(style);
}

static void answer_markup(printer *this) {
    static const uint32_t outputs[] = {0, GSYM_MARKUP_FUCHSIA_FRAMES, GSYM_MARKUP_JSON,
                                       GSYM_MARKUP_HTML};
    gsym_markup_module module = {
        .image = this->image, .name = "m", .name_size = 1, .build_id = "", .reason = ""};
    gsym_markup_segment whole = {.size = UINT64_MAX, .mode = "rx"};
    write_lines(this, "a {{{bt:0:0x%" PRIx64 ":ra}}} b\n");
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; ++i) {
        this->markup = (gsym_markup_job){.flags = outputs[i] | GSYM_MARKUP_INLINES,
                                         .modules = &module,
                                         .module_count = 1,
                                         .segments = &whole,
                                         .segment_count = 1,
                                         .line_limit = LINE,
                                         .process = ""};
        answer(this, 1);
    }
}

static void dump(printer *this) {
    gsym_dump_position place = {0};
    gsym_record *record = NULL;
    gsym_error error;
    gsym_text_clear(this->text);
    if (!succeeds(gsym_record_create(&record, &error))) return;
    while (place.part != GSYM_DUMP_DONE &&
           succeeds(gsym_text_dump(this->text, this->image, record, &place, LIMIT, &error)))
        take(this);
    gsym_record_destroy(record);
}

static void export_breakpad(printer *this) {
    gsym_breakpad_export *exporter = NULL;
    uint32_t is_done = 0;
    gsym_error error;
    gsym_text_clear(this->text);
    if (!succeeds(gsym_breakpad_export_create(this->image, &exporter, &error))) return;
    while (!is_done && gsym_breakpad_export_next(exporter, this->text, LIMIT, &is_done,
                                                 &error) == GSYM_OK)
        take(this);
    gsym_breakpad_export_destroy(exporter);
}

/* One that knows no name. */
static char *demangle(const char *name, char *text, size_t *size, int *status) {
    (void)name;
    (void)text;
    (void)size;
    *status = -2;
    return NULL;
}

static void release(char *text) {
    free(text);
}

static void demangle_names(printer *this) {
    const gsym_cxx_demangler demangler = {demangle, release, 1000, 1000};
    gsym_function_range functions[NAMES];
    uint64_t names[NAMES];
    gsym_cxx_texts *texts = NULL;
    gsym_distinct *distinct = NULL;
    gsym_error error;
    size_t count = 0;
    if (gsym_image_all_functions(this->image, functions, NAMES, &count, &error) != GSYM_OK)
        return;
    if (count > NAMES) count = NAMES;
    for (size_t i = 0; i < count; ++i) names[i] = functions[i].name;
    if (succeeds(gsym_cxx_texts_create(this->image, names, count, &demangler, 1, &texts,
                                       &error)))
        gsym_cxx_texts_destroy(texts);
    if (succeeds(gsym_distinct_create(names, count, sizeof *names, &distinct, &error)))
        gsym_distinct_destroy(distinct);
}

/* The stack of all entries, with an offset that is not known at its end. */
static void answer_request(printer *this) {
    uint64_t offsets[ENTRIES + 1], record_offset, ends[] = {1};
    int64_t modules[ENTRIES + 1] = {0};
    uint32_t codes[ENTRIES * NAMES] = {0};
    gsym_batch *batch = NULL;
    gsym_frame_part part = {.names = {codes, "\"n\"", (uint64_t[]){3}, 1},
                            .files = {codes, "", (uint64_t[]){0}, 1}};
    gsym_frame_queue queue = {.image = this->image, .head = "{", .head_size = 1,
                              .offsets = offsets, .parts = &part, .part_count = 1};
    gsym_frame_queue *queues[] = {&queue};
    gsym_error error;
    while (part.end < ENTRIES &&
           gsym_image_entry(this->image, (uint32_t)part.end, &offsets[part.end],
                            &record_offset, &error) == GSYM_OK)
        part.end++;
    offsets[part.end] = UINT64_MAX;
    ends[0] = queue.count = part.end + 1;
    gsym_text_clear(this->text);
    if (gsym_image_lookup_many(this->image, offsets, part.end, 1, &batch, &error) !=
        GSYM_OK)
        return;
    gsym_batch_columns(batch, &part.columns);
    if (part.columns.count <= ENTRIES * NAMES)
        (void)succeeds(gsym_text_stacks(this->text, queues, 1, modules, ends, 1, &error));
    take(this);
    gsym_batch_destroy(batch);
}

/* Read all bytes as lines of a report: twice, so that all keys are known. */
static void read_lines(printer *this, const uint8_t *data, size_t size) {
    const gsym_line_digits digits[] = {{0, 9, 16}, {3, 8, 10}};
    const gsym_line_sum sums[] = {{0, 0, 1}, {0, 1, 0}};
    const gsym_line_region regions[] = {{1, 0x1000, 0}, {0x2000, UINT64_MAX, 7}};
    const gsym_range words[] = {{2, 20}};
    uint64_t begins[ENTRIES + 1] = {0}, values[4 * ENTRIES];
    uint64_t taken[ENTRIES];
    uint32_t kinds[ENTRIES], order[ENTRIES];
    uint8_t placing[ENTRIES];
    gsym_line_keys *keys;
    gsym_error error;
    gsym_alike_lines lines = {
        .text = (const char *)data, .size = size, .begins = begins,
        .digits = digits, .digit_count = 2, .sums = sums, .sum_count = 2,
        .words = words, .word_count = 1, .regions = {regions, regions},
        .region_counts = {2, 1}, .values = values, .kinds = kinds, .placing = placing};
    if (!succeeds(gsym_line_keys_create(&keys, &error))) return;
    while (lines.count < ENTRIES && begins[lines.count] < size) {
        uint64_t end = begins[lines.count];
        while (end < size && data[end++] != '\n') {}
        begins[++lines.count] = end;
    }
    for (int i = 0; i < 2; ++i) {
        if (succeeds(gsym_line_shapes(keys, lines.text, size, begins + 1, lines.count, 64,
                                      kinds, &error)) &&
            succeeds(gsym_line_kinds(keys, &lines, &error)))
            this->sum += lines.count == 0 ? 0 : kinds[0] + values[0];
        if (succeeds(gsym_order_rows(kinds, lines.count, order, &error)) &&
            succeeds(gsym_take_rows(values, sizeof *values, lines.count, order,
                                    lines.count, 0, taken, &error)))
            this->sum += lines.count == 0 ? 0 : taken[0];
    }
    gsym_line_keys_destroy(keys);
}

static void print(printer *this) {
    answer_lines(this);
    answer_markup(this);
    dump(this);
    export_breakpad(this);
    demangle_names(this);
    answer_request(this);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsym_image *image;
    printer this = {0};
    gsym_error error;
    read_lines(&this, data, size);
    if (gsym_image_open(data, size, &image, &error) != GSYM_OK) return 0;
    this.image = image;
    if (succeeds(gsym_text_create(&this.text, &error)) &&
        succeeds(gsym_name_texts_create(&this.names, &error)))
        print(&this);
    gsym_name_texts_destroy(this.names);
    gsym_text_destroy(this.text);
    gsym_image_close(image);
    return 0;
}
