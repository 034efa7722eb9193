/* fuzz_fxt.c - libFuzzer target: bytes that claim to be a Fuchsia trace.
 *
 * Reads them as gsym/fxt/decoder.py does, once as a whole and once in pieces of a few
 * bytes, and demands that both see the same records, words, arguments and faults.
 * tools/fuzz.sh builds and runs this under sanitizers. */
#include <stdbool.h>
#include <string.h>

#include "fuzz_output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SIZE = 1 << 16 };

/* Sums over all that came out, whatever the columns it came in. */
typedef struct outcome {
    gsym_fxt_counts counts;
    gsym_status status;
    uint64_t error_offset;
    uint64_t records, events, words, signeds, texts;
} outcome;

static uint64_t mixed(uint64_t sum, uint64_t value) {
    return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static uint64_t text_sum(uint64_t sum, const gsym_fxt_columns *columns) {
    uint64_t at = 0;
    for (uint32_t i = 1; i < columns->string_first; ++i) at = columns->string_ends[i - 1];
    for (uint32_t i = columns->string_first; i < columns->string_end; ++i)
        for (; at < columns->string_ends[i - 1]; ++at)
            sum = mixed(sum, (uint8_t)columns->string_bytes[at]);
    return sum;
}

/* Words that are places in the bytes read differ with the pieces: their count counts. */
static void take(outcome *made, const gsym_fxt_columns *columns, size_t size) {
    for (size_t i = 0; i < columns->count; ++i)
        made->records = mixed(made->records, columns->kinds[i]);
    for (size_t i = 0; i < columns->event_count; ++i) {
        uint64_t sum = mixed(made->events, columns->event_offset[i]);
        sum = mixed(sum, columns->event_process[i] ^ columns->event_thread[i]);
        sum = mixed(sum, columns->event_ns[i] ^ columns->event_end_ns[i]);
        made->events = mixed(sum, columns->event_category[i] ^ columns->event_name[i]);
        if (columns->event_argument_first[i] > columns->event_argument_end[i]) abort();
        if (columns->event_argument_end[i] > columns->argument_count) abort();
        if (columns->event_provider[i] >= columns->provider_count) abort();
    }
    made->words += columns->word_count;
    for (size_t i = 0; i < columns->signed_count; ++i)
        made->signeds = mixed(made->signeds, (uint64_t)columns->signed_values[i]);
    for (size_t i = 0; i < columns->blob_count; ++i)
        if (columns->blob_values[i].start > size ||
            columns->blob_values[i].size > size - columns->blob_values[i].start)
            abort();
    made->texts = text_sum(made->texts, columns);
}

static outcome read_trace(const uint8_t *data, size_t size, size_t piece, bool is_strict) {
    static const char names[] = "a*\0?";
    const gsym_fxt_filter filter = {.to_ns = UINT64_MAX, .names = names,
                                    .names_size = size & 1 ? sizeof names : 0};
    outcome made = {0};
    size_t start = 0, end = size < piece ? size : piece, used, wanted;
    bool is_last = false;
    gsym_fxt_reader *reader = NULL;
    gsym_fxt_columns columns;
    gsym_error error;
    made.status = gsym_fxt_reader_create(UINT32_MAX, MAX_SIZE, is_strict, &reader, &error);
    if (succeeds(made.status))
        made.status = gsym_fxt_reader_set_filter(reader, &filter, &error);
    while (made.status == GSYM_OK) {
        uint8_t *copy = malloc(end - start + 1); /* a read past its end is seen */
        if (copy == NULL) abort();
        memcpy(copy + 1, data + start, end - start);
        made.status = gsym_fxt_reader_read(reader, copy + 1, end - start, is_last, &used,
                                           &wanted, &error);
        gsym_fxt_reader_columns(reader, &columns);
        take(&made, &columns, end - start);
        free(copy);
        start += used;
        if (made.status != GSYM_OK || wanted == 0) continue;
        if (is_last) break;
        is_last = end == size;
        end = size - end < piece ? size : end + piece;
    }
    if (made.status != GSYM_OK) made.error_offset = error.offset;
    if (reader != NULL) gsym_fxt_reader_count(reader, &made.counts);
    gsym_fxt_reader_destroy(reader);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool is_strict = size & 8;
    outcome whole = read_trace(data, size, size + 1, is_strict);
    outcome cut = read_trace(data, size, 1 + size % 13, is_strict);
    if (whole.status != GSYM_E_NO_MEMORY && cut.status != GSYM_E_NO_MEMORY &&
        memcmp(&whole, &cut, sizeof whole) != 0)
        abort();
    return 0;
}
