/* breakpad_records.c - one line of a .sym file: which record it is, and its fields.
 *
 *     MODULE os arch id name               INFO anything
 *     FILE number name                     INLINE_ORIGIN number [file] name
 *     FUNC [m] address size params name    PUBLIC [m] address params name
 *     INLINE level call_line [call_file] origin (address size)+
 *     address size line file               STACK anything
 *
 * Addresses and sizes are hexadecimal, other numbers decimal; names run to the end of
 * the line. What stands in brackets may be missing. */
#include "breakpad.h"
#include "breakpad_fields.h"

static const char UNKNOWN_NAME[] = "<unknown>";
static const char NAME_OMITTED[] = "<name omitted>";

enum { HEAD_SIZE_LIMIT = 65536 };

static gsym_status lose(gsym_breakpad *breakpad, gsym_breakpad_fault fault,
                        uint64_t value) {
    breakpad->counts.bad_records++;
    breakpad_report(breakpad, fault, breakpad->place, value, 1);
    return GSYM_OK;
}

static void complain(gsym_breakpad *breakpad, gsym_breakpad_fault fault, uint64_t value) {
    breakpad_report(breakpad, fault, breakpad->place, value, 1);
}

/* ---- names -------------------------------------------------------------------------- */

typedef struct text {
    const char *bytes;
    size_t size;
} text;

/* The rest of the line; `instead` where there is none. */
static text read_name(gsym_breakpad *breakpad, const cursor *line, const char *instead) {
    text name = {(const char *)line->at, cursor_left(line)};
    const char *nul = name.size == 0 ? NULL : memchr(name.bytes, 0, name.size);
    if (nul != NULL) name.size = (size_t)(nul - name.bytes);
    if (nul != NULL || name.size == 0) complain(breakpad, GSYM_BREAKPAD_NAME, 0);
    return name.size != 0 ? name : (text){instead, strlen(instead)};
}

static gsym_status intern(gsym_breakpad *breakpad, text name, uint64_t *strp_ret,
                          gsym_error *error) {
    return gsym_creator_add_string(breakpad->creator, name.bytes, name.size, strp_ret,
                                   error);
}

/* ---- MODULE and INFO ------------------------------------------------------------------ */

static gsym_status keep_head(gsym_breakpad *breakpad, const uint8_t *record,
                             const uint8_t *end, gsym_error *error) {
    size_t size = (size_t)(end - record);
    if (size > HEAD_SIZE_LIMIT - breakpad->head.size) return GSYM_OK;
    if (!ARRAY_RESERVE(breakpad->head_ends, 1)) return gsym_fail_memory(error);
    buffer_put(&breakpad->head, record, size);
    if (breakpad->head.failed) return gsym_fail_memory(error);
    breakpad->head_ends.items[breakpad->head_ends.count++] = breakpad->head.size;
    return GSYM_OK;
}

static bool skip_field(cursor *line) {
    const uint8_t *first = line->at;
    while (line->at < line->end && !is_blank(*line->at)) line->at++;
    return line->at > first && field_end(line);
}

static gsym_status read_module(gsym_breakpad *breakpad, cursor line, const uint8_t *record,
                               gsym_error *error) {
    bool is_complete = skip_field(&line) && skip_field(&line) && skip_field(&line);
    if (!is_complete || breakpad->has_module)
        return lose(breakpad, GSYM_BREAKPAD_MODULE, 0);
    breakpad->has_module = true;
    return keep_head(breakpad, record, line.end, error);
}

/* ---- FILE and INLINE_ORIGIN ------------------------------------------------------------ */

/* The definition that was read last counts for the functions that end behind it. */
static gsym_status define(gsym_breakpad *breakpad, number_map *map, uint32_t number,
                          uint64_t value, gsym_error *error) {
    uint64_t before;
    if (number_map_find(map, number, &before)) {
        if (before == value) return GSYM_OK;
        complain(breakpad, GSYM_BREAKPAD_REDEFINED, number);
    }
    return number_map_set(map, number, value) ? GSYM_OK : gsym_fail_memory(error);
}

static gsym_status read_file(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    uint32_t number, file;
    text path;
    if (!field_decimal(&line, &number)) return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    breakpad->counts.files++;
    path = read_name(breakpad, &line, "");
    if (breakpad->path_rules.count != 0) {
        breakpad->path.size = 0;
        buffer_put(&breakpad->path, path.bytes, path.size);
        path_rules_apply(&breakpad->path_rules, &breakpad->path, 0);
        if (breakpad->path.failed) return gsym_fail_memory(error);
        path = (text){(const char *)breakpad->path.bytes, breakpad->path.size};
    }
    GSYM_TRY(gsym_creator_add_path(breakpad->creator, path.bytes, path.size, &file, error));
    return define(breakpad, &breakpad->files, number, file, error);
}

/* The form of 2021 has the number of a file in front of the name, -1 for none. */
static void skip_file_number(cursor *line) {
    cursor behind = *line;
    uint32_t ignored;
    if (cursor_left(&behind) != 0 && *behind.at == '-') behind.at++;
    if (field_decimal(&behind, &ignored) && cursor_left(&behind) != 0) *line = behind;
}

static gsym_status read_inline_origin(gsym_breakpad *breakpad, cursor line,
                                      gsym_error *error) {
    uint32_t number;
    uint64_t strp;
    if (!field_decimal(&line, &number)) return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    breakpad->counts.inline_origins++;
    skip_file_number(&line);
    GSYM_TRY(intern(breakpad, read_name(breakpad, &line, NAME_OMITTED), &strp, error));
    return define(breakpad, &breakpad->origins, number, strp, error);
}

/* ---- FUNC and PUBLIC ------------------------------------------------------------------- */

static gsym_status read_function(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    uint64_t address, size, parameters, name;
    GSYM_TRY(breakpad_close_function(breakpad, error));
    (void)field_word(&line, "m");
    if (!field_hex(&line, &address)) return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    if (!field_hex(&line, &size) || !field_hex(&line, &parameters))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, address);
    if (size == 0 || size > UINT32_MAX || address > UINT64_MAX - (size - 1))
        return lose(breakpad, GSYM_BREAKPAD_RANGE, address);
    breakpad->counts.functions++;
    GSYM_TRY(intern(breakpad, read_name(breakpad, &line, UNKNOWN_NAME), &name, error));
    return breakpad_open_function(breakpad, address, size, name, error);
}

static gsym_status read_public(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    uint64_t address, parameters;
    text name;
    GSYM_TRY(breakpad_close_function(breakpad, error));
    (void)field_word(&line, "m");
    if (!field_hex(&line, &address)) return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    if (!field_hex(&line, &parameters))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, address);
    breakpad->counts.publics++;
    name = read_name(breakpad, &line, UNKNOWN_NAME);
    return breakpad_add_public(breakpad, address, name.bytes, name.size, error);
}

/* ---- what belongs to a FUNC ------------------------------------------------------------- */

/* A range as offsets in the function; empty where it lies outside. */
static void clip(gsym_breakpad *breakpad, uint64_t address, uint64_t size,
                 uint32_t *start_ret, uint32_t *end_ret) {
    const breakpad_function *function = &breakpad->function;
    uint64_t start = address - function->address, end;
    if (GSYM_LIKELY(start < function->size && size <= function->size - start)) {
        *start_ret = (uint32_t)start;
        *end_ret = (uint32_t)(start + size);
        return;
    }
    complain(breakpad, GSYM_BREAKPAD_OUTSIDE, address);
    if (address >= function->address) {
        end = function->size;
        start = start < end ? start : end;
    } else {
        uint64_t before = function->address - address;
        start = 0;
        end = size > before ? size - before : 0;
        end = end < function->size ? end : function->size;
    }
    *start_ret = (uint32_t)start;
    *end_ret = (uint32_t)end;
}

static gsym_status add_row(gsym_breakpad *breakpad, uint64_t address, uint64_t size,
                           uint32_t line, uint32_t file, gsym_error *error) {
    breakpad_function *function = &breakpad->function;
    breakpad_row row = {.line = line, .file = file};
    size_t count = breakpad->parts.rows.count;
    if (!breakpad->is_in_function)
        return lose(breakpad, GSYM_BREAKPAD_NO_FUNCTION, address);
    breakpad->counts.lines++;
    clip(breakpad, address, size, &row.start, &row.end);
    if (row.start == row.end) return GSYM_OK;
    if (!ARRAY_RESERVE(breakpad->parts.rows, 1)) return gsym_fail_memory(error);
    if (count > function->row_first &&
        row.start < breakpad->parts.rows.items[count - 1].start)
        function->is_ordered = false;
    breakpad->parts.rows.items[breakpad->parts.rows.count++] = row;
    return GSYM_OK;
}

/* A line; one below 0 means that none is known. */
static bool read_line_number(cursor *line, uint32_t *number_ret) {
    bool is_negative = cursor_left(line) != 0 && *line->at == '-';
    if (is_negative) line->at++;
    if (!field_decimal(line, number_ret)) return false;
    if (is_negative) *number_ret = 0;
    return true;
}

static gsym_status read_row(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    const uint8_t *first = line.at;
    uint64_t address, size;
    uint32_t number, file;
    if (!field_hex(&line, &address)) {
        bool opens_as_number = digit_value(*first) < NO_DIGIT;
        return lose(breakpad,
                    opens_as_number ? GSYM_BREAKPAD_NUMBER : GSYM_BREAKPAD_UNKNOWN_RECORD,
                    0);
    }
    if (!field_hex(&line, &size) || !read_line_number(&line, &number) ||
        !field_decimal(&line, &file))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, address);
    return add_row(breakpad, address, size, number, file, error);
}

static gsym_status add_piece(gsym_breakpad *breakpad, uint32_t level, uint32_t record,
                             uint64_t address, uint64_t size, gsym_error *error) {
    inline_piece_list *pieces = &breakpad->parts.pieces;
    uint32_t start, end;
    clip(breakpad, address, size, &start, &end);
    if (start == end) return GSYM_OK;
    if (!ARRAY_RESERVE(*pieces, 1)) return gsym_fail_memory(error);
    pieces->items[pieces->count++] =
        (inline_piece){(uint64_t)level << 32 | start, end, record};
    return GSYM_OK;
}

/* The ranges at the end of an INLINE record. All of them have to be sound. */
static gsym_status read_ranges(gsym_breakpad *breakpad, cursor line, uint32_t level,
                               uint32_t record, bool *is_sound_ret, gsym_error *error) {
    size_t piece_count = breakpad->parts.pieces.count;
    *is_sound_ret = false;
    do {
        uint64_t address, size;
        if (!field_hex(&line, &address) || !field_hex(&line, &size)) {
            breakpad->parts.pieces.count = piece_count;
            return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
        }
        GSYM_TRY(add_piece(breakpad, level, record, address, size, error));
    } while (cursor_left(&line) != 0);
    *is_sound_ret = true;
    return GSYM_OK;
}

/* Fields to the end of the line. */
static size_t count_fields(cursor line) {
    size_t count = 0;
    while (cursor_left(&line) != 0) {
        (void)skip_field(&line);
        count++;
    }
    return count;
}

static gsym_status read_inline(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    breakpad_inline call = {.has_call_file = count_fields(line) % 2 == 0};
    size_t record = breakpad->parts.inlines.count - breakpad->function.inline_first;
    uint32_t level;
    bool is_sound;
    if (!breakpad->is_in_function) return lose(breakpad, GSYM_BREAKPAD_NO_FUNCTION, 0);
    if (!field_decimal(&line, &level) || !read_line_number(&line, &call.call_line) ||
        (call.has_call_file && !field_decimal(&line, &call.call_file)) ||
        !field_decimal(&line, &call.origin))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    if (record >= UINT32_MAX) return lose(breakpad, GSYM_BREAKPAD_LIMIT, 0);
    if (!ARRAY_RESERVE(breakpad->parts.inlines, 1)) return gsym_fail_memory(error);
    GSYM_TRY(read_ranges(breakpad, line, level, (uint32_t)record, &is_sound, error));
    if (!is_sound) return GSYM_OK;
    breakpad->parts.inlines.items[breakpad->parts.inlines.count++] = call;
    breakpad->counts.inlines++;
    return GSYM_OK;
}

/* What some editors write in front of UTF-8. */
static void skip_byte_order_mark(cursor *line) {
    if (cursor_left(line) >= 3 && memcmp(line->at, "\xef\xbb\xbf", 3) == 0) line->at += 3;
}

/* ---- any line ---------------------------------------------------------------------------- */

gsym_status breakpad_read_line(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    const uint8_t *record;
    if (breakpad->place.line == 1) skip_byte_order_mark(&line);
    while (line.end > line.at && line.end[-1] == '\r') line.end--;
    field_skip_blanks(&line);
    if (line.at == line.end) return GSYM_OK;
    record = line.at;
    switch (*record) {
        case 'F':
            if (field_word(&line, "FUNC")) return read_function(breakpad, line, error);
            if (field_word(&line, "FILE")) return read_file(breakpad, line, error);
            break;
        case 'I':
            if (field_word(&line, "INLINE")) return read_inline(breakpad, line, error);
            if (field_word(&line, "INLINE_ORIGIN"))
                return read_inline_origin(breakpad, line, error);
            if (field_word(&line, "INFO"))
                return keep_head(breakpad, record, line.end, error);
            break;
        case 'M':
            if (field_word(&line, "MODULE"))
                return read_module(breakpad, line, record, error);
            break;
        case 'P':
            if (field_word(&line, "PUBLIC")) return read_public(breakpad, line, error);
            break;
        case 'S':
            if (field_word(&line, "STACK")) {
                breakpad->counts.stack_records++;
                return GSYM_OK;
            }
            break;
        default: break;
    }
    return read_row(breakpad, line, error);
}

/* ---- many lines -------------------------------------------------------------------------- */

/* Longest line record in the usual form, with its end. */
enum { PLAIN_SIZE = 16 + 1 + 8 + 1 + 9 + 1 + 9 + 1 };

static inline bool plain_hex(cursor *c, unsigned most, uint64_t *value_ret) {
    const uint8_t *first = c->at;
    uint64_t value = 0;
    unsigned digit;
    while ((digit = digit_value(*c->at)) < NO_DIGIT) {
        if (c->at == first + most) return false;
        value = value << 4 | digit;
        c->at++;
    }
    *value_ret = value;
    return c->at > first && *c->at++ == ' ';
}

static inline bool plain_decimal(cursor *c, uint8_t end, uint32_t *value_ret) {
    const uint8_t *first = c->at;
    uint32_t value = 0;
    unsigned digit;
    while ((digit = digit_value(*c->at)) < 10) {
        if (c->at == first + 9) return false;
        value = value * 10 + digit;
        c->at++;
    }
    *value_ret = value;
    return c->at > first && *c->at++ == end;
}

/* A line record in the usual form: single blanks, no byte too much. Nine lines of ten
 * are. False, with the cursor where it was, for any other line. */
static inline bool read_plain_row(gsym_breakpad *breakpad, cursor *lines,
                                  gsym_status *status_ret, gsym_error *error) {
    cursor c = *lines;
    uint64_t address, size;
    uint32_t line, file;
    if (GSYM_UNLIKELY(cursor_left(&c) < PLAIN_SIZE) || !plain_hex(&c, 16, &address) ||
        !plain_hex(&c, 8, &size) || !plain_decimal(&c, ' ', &line) ||
        !plain_decimal(&c, '\n', &file))
        return false;
    *lines = c;
    *status_ret = add_row(breakpad, address, size, line, file, error);
    return true;
}

gsym_status breakpad_read_lines(gsym_breakpad *breakpad, cursor *lines,
                                gsym_error *error) {
    uint64_t base = breakpad->offset;
    while (lines->at < lines->end) {
        gsym_status status = GSYM_OK;
        breakpad->place.line++;
        breakpad->place.offset = base + cursor_offset(lines);
        if (!read_plain_row(breakpad, lines, &status, error)) {
            cursor line = *lines;
            line.end = memchr(line.at, '\n', cursor_left(&line));
            lines->at = line.end + 1;
            if (GSYM_UNLIKELY(cursor_left(&line) > GSYM_BREAKPAD_LINE_SIZE_LIMIT))
                status = lose(breakpad, GSYM_BREAKPAD_LONG_LINE, 0);
            else
                status = breakpad_read_line(breakpad, line, error);
        }
        if (GSYM_UNLIKELY(status != GSYM_OK)) return status;
    }
    return GSYM_OK;
}
