/* fuzz_breakpad.c - libFuzzer target: bytes that claim to be a Breakpad symbol file.
 *
 * Converts them as gsym/conversion/inputs/breakpad.py does, once as a whole and once in
 * blocks of a few bytes, and demands that both make the same file and the same findings,
 * and that the file can be decoded whole. Half of the mutations insert or double words of
 * the format. tools/fuzz.sh builds and runs this under sanitizers. */
#include <string.h>

#include "fuzz_output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static const char *const WORDS[] = {
    "MODULE Linux x86_64 ", "\nINFO CODE_ID 00\n", "\nSTACK CFI\n",
    "\nFILE 0 a.c\n", "\nINLINE_ORIGIN 0 i\n", "\nINLINE_ORIGIN 1 2 i\n",
    "\nFUNC 1000 40 0 f\n", "\nFUNC m 0 ffffffff 0 g\n",
    "\n1000 8 5 0\n", "\nff8 10 -1 1\n",
    "\nINLINE 0 1 0 0 1000 10 1020 4\n", "\nINLINE 1 1 0 1 1004 20\n",
    "\nINLINE 0 1 0 1004 4\n",
    "\nPUBLIC 1004 0 p\n", "\nPUBLIC m 2000 0 q\n",
    "\r\n", " ", "\t", "0x", "ffffffffffffffff", "4294967295", "-",
};
enum { WORD_COUNT = sizeof WORDS / sizeof *WORDS };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    const char *word = WORDS[seed / 2 % WORD_COUNT];
    size_t length = strlen(word), at = size == 0 ? 0 : seed / 2 / WORD_COUNT % size;
    if (seed % 2 == 0 || length > max_size - size)
        return LLVMFuzzerMutate(data, size, max_size);
    while (word[0] == '\n' && at > 0 && data[at - 1] != '\n') at--;
    memmove(data + at + length, data + at, size - at);
    memcpy(data + at, word, length);
    return size + length;
}

typedef struct outcome {
    gsym_status status;
    uint8_t *file;
    size_t file_size;
    gsym_breakpad_counts counts;
    gsym_breakpad_finding *findings;
    size_t finding_count;
} outcome;

/* The functions read so far go to the creator. */
static gsym_status keep(gsym_breakpad *breakpad, gsym_error *error) {
    gsym_breakpad_batch *batch;
    for (;;) {
        gsym_status status = gsym_breakpad_next_batch(breakpad, &batch, error);
        if (status != GSYM_OK || batch == NULL) return status;
        status = gsym_breakpad_batch_encode(batch, error);
        if (status == GSYM_OK) status = gsym_breakpad_keep_batch(breakpad, batch, error);
        if (status != GSYM_OK) return status;
    }
}

static gsym_status feed(gsym_breakpad *breakpad, const uint8_t *data, size_t size,
                        size_t block, gsym_error *error) {
    gsym_status status = GSYM_OK;
    for (size_t at = 0; at < size && status == GSYM_OK; at += block) {
        size_t more = size - at < block ? size - at : block;
        uint8_t *copy = malloc(more); /* of its own, so that a read past its end is seen */
        if (copy == NULL) abort();
        memcpy(copy, data + at, more);
        status = gsym_breakpad_feed(breakpad, copy, more, error);
        free(copy);
        if (status == GSYM_OK) status = keep(breakpad, error);
    }
    return status;
}

static outcome convert(const uint8_t *data, size_t size, size_t block) {
    gsym_creator_options options = {.version = 1 + (uint32_t)(size & 1),
                                    .has_base_address = 1};
    outcome made = {0};
    gsym_creator *creator = NULL;
    gsym_breakpad *breakpad = NULL;
    gsym_creator_report report;
    const gsym_breakpad_finding *findings;
    gsym_error error;
    if (!succeeds(gsym_creator_create(&options, &creator, &error)) ||
        !succeeds(gsym_breakpad_create(creator, 1, &breakpad, &error)) ||
        !succeeds(gsym_breakpad_add_path_map(breakpad, "a", 1, "/bc", 3, &error))) {
        gsym_breakpad_destroy(breakpad);
        gsym_creator_destroy(creator);
        made.status = GSYM_E_NO_MEMORY;
        return made;
    }
    made.status = feed(breakpad, data, size, block, &error);
    if (made.status == GSYM_OK) made.status = gsym_breakpad_finish(breakpad, &error);
    if (made.status == GSYM_OK) made.status = keep(breakpad, &error);
    if (made.status == GSYM_OK && (size & 2))
        made.status = gsym_creator_merge_functions(creator, &error);
    if (made.status == GSYM_OK) made.status = gsym_breakpad_add_publics(breakpad, &error);
    if (made.status == GSYM_OK) made.status = gsym_creator_finish(creator, &report, &error);
    if (made.status == GSYM_OK) {
        made.file = read_finished(creator, &made.file_size);
        if (made.file == NULL) made.status = GSYM_E_NO_MEMORY;
    }
    gsym_breakpad_count(breakpad, &made.counts);
    findings = gsym_breakpad_findings(breakpad, &made.finding_count);
    made.findings = calloc(made.finding_count + 1, sizeof *findings);
    if (made.findings == NULL) abort();
    if (made.finding_count != 0)
        memcpy(made.findings, findings, made.finding_count * sizeof *findings);
    gsym_breakpad_destroy(breakpad);
    gsym_creator_destroy(creator);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    outcome whole = convert(data, size, size + 1);
    outcome cut = convert(data, size, 1 + size % 13);
    if (whole.status == GSYM_OK) decode_whole(whole.file, whole.file_size);
    if (whole.status == GSYM_E_NO_MEMORY || cut.status == GSYM_E_NO_MEMORY) {
        /* There is nothing to compare. */
    } else if (whole.status != cut.status || whole.file_size != cut.file_size ||
        whole.finding_count != cut.finding_count ||
        memcmp(&whole.counts, &cut.counts, sizeof whole.counts) != 0 ||
        memcmp(whole.findings, cut.findings,
               whole.finding_count * sizeof *whole.findings) != 0 ||
        (whole.file_size != 0 && memcmp(whole.file, cut.file, whole.file_size) != 0))
        abort();
    free(whole.file);
    free(whole.findings);
    free(cut.file);
    free(cut.findings);
    return 0;
}
