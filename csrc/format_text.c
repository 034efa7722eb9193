/* format_text.c - answers to addresses as text, as llvm-gsymutil prints them.
 *
 *     0x0000000000401136: NAME + OFFSET @ DIRECTORY/FILE:LINE [inlined]
 *                         NAME + OFFSET @ DIRECTORY/FILE:LINE
 *           CallSites: PATTERN, PATTERN
 *     0x0000000000000001: error: REASON
 *
 * All lookups here follow LLVM's rules, its faults included. */
#include "text.h"

#include <inttypes.h>

enum { FRAMES_AT_FIRST = 64, REGEXES_AT_FIRST = 16 };

/* ---- the growing text --------------------------------------------------------- */

gsym_status gsym_text_create(gsym_text **text_ret, gsym_error *error) {
    gsym_text *text = calloc(1, sizeof *text);
    if (text == NULL) return gsym_fail_memory(error);
    if (!array_reserve(&text->frames, &text->frame_capacity, FRAMES_AT_FIRST,
                       sizeof *text->frames) ||
        !array_reserve(&text->regexes, &text->regex_capacity, REGEXES_AT_FIRST,
                       sizeof *text->regexes)) {
        gsym_text_destroy(text);
        return gsym_fail_memory(error);
    }
    *text_ret = text;
    return GSYM_OK;
}

void gsym_text_destroy(gsym_text *text) {
    if (text == NULL) return;
    buffer_deinit(&text->out);
    free(text->frames);
    free(text->regexes);
    free(text->gaps.items);
    free(text);
}

void gsym_text_clear(gsym_text *text) {
    text->out.size = 0;
    text->out.failed = false;
    text->gaps.count = 0;
}

const char *gsym_text_bytes(const gsym_text *text, size_t *size_ret) {
    *size_ret = text->out.size;
    return text->out.size == 0 ? "" : (const char *)text->out.bytes;
}

void text_put_hex(gsym_text *text, uint64_t value, unsigned digits) {
    char reversed[16];
    unsigned count = 0;
    do {
        reversed[count++] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    while (count < digits && count < sizeof reversed) reversed[count++] = '0';
    if (!buffer_reserve(&text->out, 2 + sizeof reversed)) return;
    text_put_literal(text, "0x");
    while (count > 0) text->out.bytes[text->out.size++] = (uint8_t)reversed[--count];
}

void text_put_decimal(gsym_text *text, uint64_t value) {
    char digits[20];
    unsigned at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    buffer_put(&text->out, digits + at, sizeof digits - at);
}

void text_put_string(gsym_text *text, const gsym_image *image, uint64_t strp) {
    size_t size;
    const char *bytes = gsym_image_string(image, strp, &size);
    buffer_put(&text->out, bytes, size);
}

void text_put_directory(gsym_text *text, const char *directory, size_t size) {
    if (size == 0) return;
    buffer_put(&text->out, directory, size);
    /* A directory from Windows keeps its separator. */
    text_put_char(text, memchr(directory, '/', size) == NULL &&
                                memchr(directory, '\\', size) != NULL
                            ? '\\'
                            : '/');
}

void text_put_path(gsym_text *text, const gsym_image *image, uint32_t file,
                   bool is_short) {
    uint64_t directory, basename;
    size_t directory_size, basename_size;
    const char *directory_bytes, *basename_bytes;
    gsym_error ignored;
    if (file == 0 || gsym_image_file(image, file, &directory, &basename, &ignored)) return;
    directory_bytes = gsym_image_string(image, directory, &directory_size);
    basename_bytes = gsym_image_string(image, basename, &basename_size);
    if (!is_short) text_put_directory(text, directory_bytes, directory_size);
    buffer_put(&text->out, basename_bytes, basename_size);
}

/* ---- one answer ----------------------------------------------------------------- */

static void put_source(gsym_text *text, const gsym_image *image, const gsym_frame *frame) {
    uint64_t directory, basename;
    size_t directory_size, basename_size;
    const char *directory_bytes, *basename_bytes;
    gsym_error ignored;
    if (frame->file == 0) return; /* whatever the file table says of it */
    if (gsym_image_file(image, frame->file, &directory, &basename, &ignored) != GSYM_OK)
        return;
    directory_bytes = gsym_image_string(image, directory, &directory_size);
    basename_bytes = gsym_image_string(image, basename, &basename_size);
    if (directory_size == 0 && basename_size == 0) return;
    text_put_literal(text, " @ ");
    text_put_directory(text, directory_bytes, directory_size);
    if (basename_size == 0)
        text_put_literal(text, "<invalid-file>");
    else
        buffer_put(&text->out, basename_bytes, basename_size);
    text_put_char(text, ':');
    text_put_decimal(text, frame->line);
}

static void put_answer(gsym_text *text, const gsym_image *image, uint64_t address,
                       const gsym_answer *answer, bool with_call_sites) {
    text_put_hex(text, address, 16);
    text_put_literal(text, ": ");
    for (uint32_t i = 0; i < answer->frame_count; ++i) {
        const gsym_frame *frame = &text->frames[i];
        if (i > 0) text_put_literal(text, "\n                    ");
        text_put_string(text, image, frame->name);
        if (frame->offset > 0) {
            text_put_literal(text, " + ");
            text_put_decimal(text, frame->offset);
        }
        put_source(text, image, frame);
        if (i + 1 < answer->frame_count) text_put_literal(text, " [inlined]");
    }
    if (with_call_sites && answer->regex_count > 0) {
        text_put_literal(text, "\n      CallSites: ");
        for (uint32_t i = 0; i < answer->regex_count; ++i) {
            if (i > 0) text_put_literal(text, ", ");
            text_put_string(text, image, text->regexes[i]);
        }
    }
    text_put_char(text, '\n');
}

static void put_reason(gsym_text *text, uint64_t address, const char *reason) {
    text_put_hex(text, address, 16);
    text_put_literal(text, ": error: ");
    buffer_put(&text->out, reason, strlen(reason));
    text_put_char(text, '\n');
}

/* Look up into the scratch arrays, which grow until all fits. GSYM_E_FORMAT stands
 * for every way not to get an answer, with the reason in *error. */
static gsym_status look_up(gsym_text *text, const gsym_image *image, uint64_t address,
                           uint32_t child, gsym_answer *answer, gsym_error *error) {
    for (;;) {
        GSYM_TRY(gsym_image_lookup(image, address, child, GSYM_LOOKUP_LLVM, text->frames,
                                   text->frame_capacity, text->regexes,
                                   text->regex_capacity, answer, error));
        if (!answer->found)
            return gsym_fail(error, GSYM_E_FORMAT, 0,
                             "address 0x%" PRIx64 " is not in GSYM", address);
        if (answer->frame_count <= text->frame_capacity &&
            answer->regex_count <= text->regex_capacity)
            return GSYM_OK;
        if (!array_reserve(&text->frames, &text->frame_capacity, answer->frame_count,
                           sizeof *text->frames) ||
            !array_reserve(&text->regexes, &text->regex_capacity, answer->regex_count,
                           sizeof *text->regexes))
            return gsym_fail_memory(error);
    }
}

static gsym_status put_lookup(gsym_text *text, const gsym_image *image, uint64_t address,
                              gsym_error *error) {
    gsym_answer answer;
    gsym_status status = look_up(text, image, address, 0, &answer, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK)
        put_answer(text, image, address, &answer, false);
    else
        put_reason(text, address, error->what);
    return GSYM_OK;
}

gsym_status text_find(gsym_text *text, const gsym_image *image, uint64_t address,
                      gsym_answer *answer, gsym_error *error) {
    answer->found = 0;
    if (image == NULL) return GSYM_OK;
    for (;;) {
        gsym_status status =
            gsym_image_lookup(image, address, 0, 0, text->frames, text->frame_capacity,
                              NULL, 0, answer, error);
        if (status == GSYM_E_NO_MEMORY) return status;
        if (status != GSYM_OK) answer->found = 0;
        if (!answer->found || answer->frame_count <= text->frame_capacity) return GSYM_OK;
        if (!array_reserve(&text->frames, &text->frame_capacity, answer->frame_count,
                           sizeof *text->frames))
            return gsym_fail_memory(error);
    }
}

/* ---- the functions merged at one address ------------------------------------------ */

static void put_found(gsym_text *text, uint64_t address, size_t count) {
    text_put_literal(text, "Found ");
    text_put_decimal(text, count);
    if (count == 1)
        text_put_literal(text, " function at address ");
    else
        text_put_literal(text, " functions at address ");
    text_put_hex(text, address, 16);
    text_put_literal(text, ":\n");
}

static size_t count_kept(const uint8_t *keep, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) kept += keep[i] != 0;
    return kept;
}

/* The empty line between results hangs on the place in the whole list, so that it
 * stands at the end where the last one is not kept. */
static gsym_status put_merged(gsym_text *text, const gsym_image *image, uint64_t address,
                              const uint8_t *keep, size_t keep_count, gsym_error *error) {
    gsym_answer answer;
    size_t count;
    GSYM_TRY(look_up(text, image, address, 0, &answer, error));
    count = (size_t)answer.merged_count + 1;
    put_found(text, address, keep == NULL ? count : count_kept(keep, keep_count));
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) GSYM_TRY(look_up(text, image, address, (uint32_t)i, &answer, error));
        if (keep != NULL && (i >= keep_count || !keep[i])) continue;
        text_put_spaces(text, 3);
        put_answer(text, image, address, &answer, true);
        if (i + 1 < count) text_put_char(text, '\n');
    }
    return GSYM_OK;
}

gsym_status gsym_text_lookup_merged(gsym_text *text, const gsym_image *image,
                                    uint64_t address, const uint8_t *keep,
                                    size_t keep_count, gsym_error *error) {
    size_t size = text->out.size;
    gsym_status status = put_merged(text, image, address, keep, keep_count, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status != GSYM_OK) {
        text->out.size = size; /* one bad child spoils the whole answer */
        put_reason(text, address, error->what);
    }
    return text_status(text, error);
}

/* ---- many addresses ---------------------------------------------------------------- */

static gsym_status put_any(gsym_text *text, const gsym_image *image, uint64_t address,
                           uint32_t flags, gsym_error *error) {
    if (flags & GSYM_TEXT_MERGED)
        GSYM_TRY(gsym_text_lookup_merged(text, image, address, NULL, 0, error));
    else
        GSYM_TRY(put_lookup(text, image, address, error));
    if (flags & GSYM_TEXT_BLANK_LINE) text_put_char(text, '\n');
    return GSYM_OK;
}

gsym_status gsym_text_lookup_many(gsym_text *text, const gsym_image *image,
                                  const uint64_t *addresses, size_t count, uint32_t flags,
                                  gsym_error *error) {
    for (size_t i = 0; i < count; ++i)
        GSYM_TRY(put_any(text, image, addresses[i], flags, error));
    return text_status(text, error);
}

/* Hexadecimal behind 0x, octal behind 0o or 0, binary behind 0b, else decimal. */
static unsigned number_base(const char *bytes, size_t size, size_t *prefix_ret) {
    *prefix_ret = 0;
    if (size < 2 || bytes[0] != '0') return 10;
    *prefix_ret = 2;
    switch (bytes[1]) {
        case 'x':
        case 'X': return 16;
        case 'b':
        case 'B': return 2;
        case 'o': return 8;
        default: *prefix_ret = 1; return 8;
    }
}

/* 36 for what is no digit in any base. */
static unsigned digit_value(char character) {
    unsigned digit = (unsigned)(unsigned char)character - '0';
    unsigned letter = ((unsigned)(unsigned char)character | 0x20) - 'a';
    if (digit < 10) return digit;
    return letter < 26 ? letter + 10 : 36;
}

bool text_parse_number(const char *bytes, size_t size, uint64_t *value_ret) {
    size_t at;
    unsigned base = number_base(bytes, size, &at);
    uint64_t value = 0;
    if (at == size) return false;
    for (; at < size; ++at) {
        unsigned digit = digit_value(bytes[at]);
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *value_ret = value;
    return true;
}

gsym_status gsym_text_lookup_lines(gsym_text *text, const gsym_image *image,
                                   const char *lines, size_t size, const char *path,
                                   size_t path_size, uint32_t flags, size_t limit,
                                   size_t *used_ret, gsym_error *error) {
    size_t used = 0;
    while (used < size && text->out.size < limit) {
        const char *line = lines + used;
        const char *end = memchr(line, '\n', size - used);
        const char *space;
        uint64_t address;
        if (end == NULL) break;
        space = memchr(line, ' ', (size_t)(end - line));
        if (space == NULL || (size_t)(end - space) - 1 != path_size ||
            memcmp(space + 1, path, path_size) != 0 ||
            !text_parse_number(line, (size_t)(space - line), &address))
            break;
        GSYM_TRY(put_any(text, image, address, flags, error));
        used += (size_t)(end - line) + 1;
    }
    *used_ret = used;
    return text_status(text, error);
}
