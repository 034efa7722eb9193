/* breakpad.c - convert Breakpad symbol files, and find the build id in them. */
#include "internal.h"

enum { BLOCK_SIZE = 256 << 10, GUID_SIZE = 16, MAX_ID_SIZE = 64, MAX_WORDS = 4 };

bool is_breakpad(const mapped_file *file) {
    static const char *const records[] = {"MODULE ",    "INFO CODE_ID ", "INLINE_ORIGIN ",
                                          "FUNC ",      "PUBLIC ",       "FILE ",
                                          "STACK CFI ", "STACK WIN "};
    for (size_t i = 0; i < sizeof records / sizeof *records; ++i) {
        size_t size = strlen(records[i]);
        if (file->size >= size && memcmp(file->bytes, records[i], size) == 0) return true;
    }
    return false;
}

/* ---- identity ------------------------------------------------------------------------ */

typedef struct word {
    const char *text;
    size_t size;
} word;

typedef struct identifier {
    uint8_t bytes[MAX_ID_SIZE];
    size_t size;
} identifier;

static size_t split(const char *text, size_t size, word *words) {
    size_t count = 0, at = 0;
    while (count < MAX_WORDS) {
        size_t start;
        while (at < size && (text[at] == ' ' || text[at] == '\t')) ++at;
        for (start = at; at < size && text[at] != ' ' && text[at] != '\t';) ++at;
        if (at == start) break;
        words[count++] = (word){text + start, at - start};
    }
    return count;
}

static bool is_word(word given, const char *text) {
    return given.size == strlen(text) && memcmp(given.text, text, given.size) == 0;
}

static int digit_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Read hexadecimal digits, without dashes, up to `max_size` bytes. The size is 0 if there
 * are other characters or half a byte. */
static identifier read_hexadecimal(word digits, size_t max_size) {
    identifier id = {.size = 0};
    int high = -1;
    for (size_t i = 0; i < digits.size && id.size < max_size; ++i) {
        int value = digit_value(digits.text[i]);
        if (digits.text[i] == '-') continue;
        if (value < 0) return (identifier){.size = 0};
        if (high < 0) {
            high = value;
            continue;
        }
        id.bytes[id.size++] = (uint8_t)(high << 4 | value);
        high = -1;
    }
    if (high >= 0) id.size = 0;
    return id;
}

static bool is_apple(word os) {
    static const char *const names[] = {"mac", "macos", "ios", "tvos", "watchos",
                                        "visionos"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (is_word(os, names[i])) return true;
    return false;
}

/* Reverse the bytes of the first three fields of a GUID: they are numbers, which a build id
 * stores in the other byte order. */
static void reverse_fields(uint8_t *guid) {
    static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6};
    uint8_t fields[sizeof order];
    for (size_t i = 0; i < sizeof order; ++i) fields[i] = guid[order[i]];
    memcpy(guid, fields, sizeof order);
}

/* Return the build id of the binary. The debug id holds its first 16 bytes. A code id that
 * begins with the same bytes is the complete build id; other code ids, such as those of PE
 * files, are no build ids. */
static identifier build_id(word os, word debug_id, word code_id) {
    static const uint8_t zeros[GUID_SIZE] = {0};
    identifier guid = read_hexadecimal(debug_id, GUID_SIZE);
    identifier all = read_hexadecimal(code_id, MAX_ID_SIZE);
    if (guid.size != GUID_SIZE || memcmp(guid.bytes, zeros, GUID_SIZE) == 0)
        return (identifier){.size = 0};
    if (!is_apple(os)) reverse_fields(guid.bytes);
    /* A debug id pads a shorter build id with zeros; `all` ends in zeros as well. */
    return all.size != 0 && memcmp(all.bytes, guid.bytes, GUID_SIZE) == 0 ? all : guid;
}

static gsym_status set_uuid(const gsym_breakpad *breakpad, gsym_creator *creator,
                            gsym_error *error) {
    word os = {"", 0}, debug_id = os, code_id = os, words[MAX_WORDS];
    identifier id;
    const char *text;
    size_t size;
    for (size_t i = 0; (text = gsym_breakpad_head(breakpad, i, &size)) != NULL; ++i) {
        size_t count = split(text, size, words);
        if (count == MAX_WORDS && is_word(words[0], "MODULE")) {
            os = words[1];
            debug_id = words[3];
        } else if (count > 2 && is_word(words[0], "INFO") && is_word(words[1], "CODE_ID") &&
                   code_id.size == 0)
            code_id = words[2];
    }
    id = build_id(os, debug_id, code_id);
    return gsym_creator_set_uuid(creator, id.bytes, id.size, error);
}

/* ---- records ------------------------------------------------------------------------- */

/* Pass the functions that were read to the creator. */
static gsym_status keep(gsym_breakpad *breakpad, gsym_error *error) {
    gsym_breakpad_batch *batch;
    for (;;) {
        GSYM_TRY(gsym_breakpad_next_batch(breakpad, &batch, error));
        if (batch == NULL) return GSYM_OK;
        GSYM_TRY(gsym_breakpad_batch_encode(batch, error));
        GSYM_TRY(gsym_breakpad_keep_batch(breakpad, batch, error));
    }
}

static gsym_status feed(gsym_breakpad *breakpad, const mapped_file *file,
                        gsym_error *error) {
    for (size_t at = 0; at < file->size; at += BLOCK_SIZE) {
        size_t size = file->size - at < BLOCK_SIZE ? file->size - at : BLOCK_SIZE;
        GSYM_TRY(gsym_breakpad_feed(breakpad, file->bytes + at, size, error));
        GSYM_TRY(keep(breakpad, error));
    }
    GSYM_TRY(gsym_breakpad_finish(breakpad, error));
    return keep(breakpad, error);
}

static gsym_status read_text(gsym_breakpad *breakpad, const mapped_file *file,
                             gsym_creator *creator, const gsym_convert_options *options,
                             gsym_error *error) {
    for (size_t i = 0; i + 1 < options->path_map_count; i += 2) {
        const char *old = options->path_map[i], *new = options->path_map[i + 1];
        GSYM_TRY(gsym_breakpad_add_path_map(breakpad, old, strlen(old), new, strlen(new),
                                            error));
    }
    GSYM_TRY(feed(breakpad, file, error));
    if (options->flags & GSYM_WITH_MERGED_FUNCTIONS)
        GSYM_TRY(gsym_creator_merge_functions(creator, error));
    GSYM_TRY(gsym_breakpad_add_publics(breakpad, error));
    return set_uuid(breakpad, creator, error);
}

gsym_status breakpad_convert(const mapped_file *file, gsym_creator *creator,
                             const gsym_convert_options *options,
                             gsym_convert_report *report, gsym_error *error) {
    gsym_breakpad *breakpad;
    gsym_status status;
    GSYM_TRY(gsym_breakpad_create(creator, 0, &breakpad, error));
    status = read_text(breakpad, file, creator, options, error);
    for (uint32_t fault = 0; fault < GSYM_BREAKPAD_FAULT_COUNT; ++fault)
        report->warnings += gsym_breakpad_fault_count(breakpad, (gsym_breakpad_fault)fault);
    gsym_breakpad_destroy(breakpad);
    return status;
}
