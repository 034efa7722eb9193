/* breakpad_records.c - read lines of a .sym file: recognize records, read their fields.
 *
 *     MODULE os arch id name               INFO anything
 *     FILE number name                     INLINE_ORIGIN number [file] name
 *     FUNC [m] address size params name    PUBLIC [m] address params name
 *     INLINE level call_line [call_file] origin (address size)+
 *     address size line file               STACK anything
 *
 * Addresses and sizes are hexadecimal, other numbers decimal; names run to the end of
 * the line. Fields in brackets may be missing. */
#include "base/cursor.h"
#include "base/characters.h"
#include "base/digits.h"
#include "sources/breakpad.h"

/* ---- the fields of a line ----------------------------------------------------------- */

/* Any number of blanks separates fields. A function returns false if the number is missing,
 * is followed by something else than a blank or does not fit its type; the position of the
 * cursor is undefined then. */

static inline void field_skip_blanks(cursor *line) {
    while (line->at < line->end && is_blank(cursor_peek_unchecked(line, 0))) line->at++;
}

/* Whether the field ends at the cursor; if so, skip the blanks after it. */
static inline bool field_end(cursor *line) {
    if (line->at < line->end && !is_blank(cursor_peek_unchecked(line, 0))) return false;
    field_skip_blanks(line);
    return true;
}

/* Read a hexadecimal number, with or without 0x in front. */
static inline bool field_hex(cursor *line, uint64_t *value_ret) {
    const uint8_t *first;
    uint64_t value = 0, lost = 0;
    unsigned digit;
    if (cursor_left(line) > 2 && cursor_peek_unchecked(line, 0) == '0' &&
        (cursor_peek_unchecked(line, 1) | 0x20) == 'x')
        line->at += 2;
    first = line->at;
    while (line->at < line->end &&
           (digit = digit_value(cursor_peek_unchecked(line, 0))) < NO_DIGIT) {
        lost |= value >> 60;
        value = value << 4 | digit;
        line->at++;
    }
    *value_ret = value;
    return line->at > first && lost == 0 && field_end(line);
}

static inline bool field_decimal(cursor *line, uint32_t *value_ret) {
    const uint8_t *first = line->at;
    uint64_t value = 0;
    unsigned digit;
    while (line->at < line->end &&
           (digit = digit_value(cursor_peek_unchecked(line, 0))) < 10) {
        if (value <= UINT32_MAX) value = value * 10 + digit;
        line->at++;
    }
    *value_ret = (uint32_t)value;
    return line->at > first && value <= UINT32_MAX && field_end(line);
}

/* Skip the next field if it is `word`. */
static inline bool field_word(cursor *line, const char *word) {
    size_t size = strlen(word);
    cursor after = *line;
    if (cursor_left(line) < size || memcmp(line->at, word, size) != 0) return false;
    after.at += size;
    if (!field_end(&after)) return false;
    *line = after;
    return true;
}

/* ---- eight digits at a time ------------------------------------------------------ *
 * For records in their usual form: one blank between fields, at most eight digits. There
 * is no branch on the number of digits, which a processor could not predict. Each read
 * touches FIELD_SIZE bytes from the start of the field; the caller has checked that they
 * exist. False means another form, not an error. */

enum { FIELD_DIGITS = 8, FIELD_SIZE = FIELD_DIGITS + 1 };

/* Load eight bytes as a number; the first byte is the lowest one. */
static inline uint64_t field_word_at(const uint8_t *at) {
    return cursor_load64(at, CURSOR_HOST_BIG_ENDIAN);
}

/* Read the digits of a field, at most eight, as eight bytes with '0' in front. False if
 * there are none; the byte after them is not checked. */
static inline bool field_digits(cursor *line, uint64_t *digits_ret) {
    uint64_t word = field_word_at(line->at);
    /* Digits have bit 4 set, letters bit 6, blanks and line ends none of them. */
    uint64_t ends = ~(word >> 4 | word >> 6) & EACH_BYTE(1);
    unsigned bits;
    if (GSYM_UNLIKELY(ends == 0)) {
        line->at += FIELD_DIGITS;
        *digits_ret = word;
        return true;
    }
    bits = (unsigned)__builtin_ctzll(ends);
    if (bits == 0) return false;
    line->at += bits / 8;
    *digits_ret = word << (64 - bits) | EACH_BYTE('0') >> bits;
    return true;
}

/* Read a hexadecimal number with lower-case letters, and the byte after it. */
static inline bool field_plain_hex_to_any(cursor *line, uint8_t *end_ret,
                                          uint64_t *value_ret) {
    uint64_t digits, letters, value;
    if (!field_digits(line, &digits)) return false;
    letters = digits >> 6 & EACH_BYTE(1);
    /* Now each digit is its value. A byte that was no digit has a bit above the fourth, or
     * its value is that of the other kind of digit. */
    value = (digits - letters * ('a' - '0' - 10)) ^ EACH_BYTE('0');
    if (((value & EACH_BYTE(0xf0)) |
         (((value + EACH_BYTE(6)) >> 4 ^ letters) & EACH_BYTE(1))) != 0)
        return false;
    value = (value << 4 | value >> 8) & UINT64_C(0x00ff00ff00ff00ff);
    value = (value << 8 | value >> 16) & UINT64_C(0x0000ffff0000ffff);
    *value_ret = (value << 16 | value >> 32) & UINT32_MAX;
    *end_ret = cursor_u8_unchecked(line);
    return true;
}

static inline bool field_plain_hex(cursor *line, uint8_t end, uint64_t *value_ret) {
    uint8_t found;
    return field_plain_hex_to_any(line, &found, value_ret) && found == end;
}

static inline bool field_plain_decimal(cursor *line, uint8_t end, uint32_t *value_ret) {
    uint64_t digits, value;
    if (!field_digits(line, &digits) || cursor_u8_unchecked(line) != end) return false;
    value = digits ^ EACH_BYTE('0');
    if (((value | (value + EACH_BYTE(6))) & EACH_BYTE(0xf0)) != 0) return false;
    value = (value * 10 + (value >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    value = (value * 100 + (value >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *value_ret = (uint32_t)((value * 10000 + (value >> 32)) & UINT32_MAX);
    return true;
}

static const char UNKNOWN_NAME[] = "<unknown>";
static const char NAME_OMITTED[] = "<name omitted>";

/* Limit: `MODULE` and `INFO` records of a Breakpad file */
enum { HEAD_SIZE_LIMIT = 65536 };

static gsym_status lose(gsym_breakpad *breakpad, gsym_breakpad_fault fault,
                        uint64_t value) {
    breakpad->counts.bad_records++;
    breakpad_find(&breakpad->findings, fault, breakpad->position, value, 1);
    return GSYM_OK;
}

static void complain(gsym_breakpad *breakpad, gsym_breakpad_fault fault, uint64_t value) {
    breakpad_find(&breakpad->findings, fault, breakpad->position, value, 1);
}

/* ---- names ----------------------------------------------------------------------- */

typedef struct text {
    const char *bytes;
    size_t size;
} text;

/* Return the rest of the line as a name; if it is empty, return `instead`. */
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

/* ---- MODULE and INFO ------------------------------------------------------------- */

static gsym_status keep_head(gsym_breakpad *breakpad, const uint8_t *record,
                             const uint8_t *end, gsym_error *error) {
    size_t size = (size_t)(end - record);
    if (size > HEAD_SIZE_LIMIT - breakpad->head.size)
        return lose(breakpad, GSYM_BREAKPAD_HEAD, 0);
    if (!LIST_RESERVE(breakpad->head_ends, 1)) return gsym_fail_memory(error);
    buffer_put(&breakpad->head, record, size);
    if (breakpad->head.failed) return gsym_fail_memory(error);
    breakpad->head_ends.items[breakpad->head_ends.count++] = breakpad->head.size;
    return GSYM_OK;
}

static bool skip_field(cursor *line) {
    const uint8_t *first = line->at;
    while (line->at < line->end && !is_blank(cursor_peek_unchecked(line, 0))) line->at++;
    return line->at > first && field_end(line);
}

/* Whether addresses of an architecture may have the bit of object_isa_bit(). */
static bool has_isa_bit(const char *arch, size_t size) {
    bool is_arm = size >= 3 && memcmp(arch, "arm", 3) == 0;
    bool is_arm64 = size >= 5 && memcmp(arch, "arm64", 5) == 0;
    return (is_arm && !is_arm64) || (size >= 4 && memcmp(arch, "mips", 4) == 0);
}

static gsym_status read_module(gsym_breakpad *breakpad, cursor line, const uint8_t *record,
                               gsym_error *error) {
    bool is_complete = skip_field(&line);
    const char *arch = (const char *)line.at;
    size_t arch_size = cursor_left(&line);
    is_complete = is_complete && skip_field(&line) && skip_field(&line);
    if (!is_complete || breakpad->has_module)
        return lose(breakpad, GSYM_BREAKPAD_MODULE, 0);
    breakpad->has_module = true;
    breakpad->isa_bit = has_isa_bit(arch, arch_size);
    return keep_head(breakpad, record, line.end, error);
}

/* ---- FILE and INLINE_ORIGIN ------------------------------------------------------ */

/* Define the value of a number. A later definition replaces an earlier one for the
 * functions that are closed after it. */
static gsym_status define(gsym_breakpad *breakpad, numbering *numbers, uint32_t number,
                          uint64_t value, gsym_error *error) {
    uint32_t entry;
    uint64_t before;
    if (!numbering_entry(numbers, number, &entry)) return gsym_fail_memory(error);
    before = numbers->entries.items[entry].value;
    if (before != NUMBER_UNDEFINED && before != value)
        complain(breakpad, GSYM_BREAKPAD_REDEFINED, number);
    numbers->entries.items[entry].value = value;
    return GSYM_OK;
}

/* Find the entry of a number that the function uses. */
static inline bool use(gsym_breakpad *breakpad, numbering *numbers, uint32_t number,
                       uint32_t *entry_ret) {
    if (!numbering_entry(numbers, number, entry_ret)) return false;
    if (GSYM_UNLIKELY(numbers->entries.items[*entry_ret].value == NUMBER_UNDEFINED))
        breakpad->function.is_early = true;
    return true;
}

static gsym_status read_file(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    uint32_t number, file;
    text path;
    if (!field_decimal(&line, &number)) return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    breakpad->counts.files++;
    path = read_name(breakpad, &line, "");
    if (breakpad->path_rules.count != 0 && path.size != 0) {
        breakpad->path.size = 0;
        buffer_put(&breakpad->path, path.bytes, path.size);
        path_rules_apply(&breakpad->path_rules, &breakpad->path, 0);
        if (breakpad->path.failed) return gsym_fail_memory(error);
        path = (text){(const char *)breakpad->path.bytes, breakpad->path.size};
    }
    GSYM_TRY(gsym_creator_add_path(breakpad->creator, path.bytes, path.size, &file, error));
    return define(breakpad, &breakpad->files, number, file, error);
}

/* Skip the file number that the format of 2021 has before the name; -1 means none. */
static void skip_file_number(cursor *line) {
    cursor after = *line;
    uint32_t ignored;
    if (cursor_left(&after) != 0 && cursor_peek_unchecked(&after, 0) == '-') after.at++;
    if (field_decimal(&after, &ignored) && cursor_left(&after) != 0) *line = after;
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

/* ---- FUNC and PUBLIC ------------------------------------------------------------- */

static gsym_status read_func(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    uint64_t address, size, parameters, name;
    GSYM_TRY(breakpad_close_function(breakpad, error));
    (void)field_word(&line, "m");
    if (!field_hex(&line, &address)) return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    if (!field_hex(&line, &size) || !field_hex(&line, &parameters))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, address);
    if (size == 0 || address > UINT64_MAX - (size - 1))
        return lose(breakpad, GSYM_BREAKPAD_RANGE, address);
    if (size > UINT32_MAX) return lose(breakpad, GSYM_BREAKPAD_TOO_LARGE, address);
    breakpad->counts.functions++;
    address &= ~breakpad->isa_bit;
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
    return breakpad_add_public(breakpad, address & ~breakpad->isa_bit, name.bytes,
                               name.size, error);
}

/* ---- what belongs to a FUNC ------------------------------------------------------ */

/* Cut a range that is partly or completely outside of the function; return false, as clip()
 * does then. */
static bool clip_outside(const breakpad_function *function, uint64_t address,
                         uint64_t size, uint32_t *start_ret, uint32_t *end_ret) {
    uint64_t start = 0, end = function->size;
    if (address >= function->address) {
        start = address - function->address;
        if (start > end) start = end;
    } else {
        uint64_t before = function->address - address;
        size = size > before ? size - before : 0;
        if (size < end) end = size;
    }
    *start_ret = (uint32_t)start;
    *end_ret = (uint32_t)end;
    return false;
}

/* Return a range as offsets in the function; false if a part of it was cut off. */
static inline bool clip(const breakpad_function *function, uint64_t address, uint64_t size,
                        uint32_t *start_ret, uint32_t *end_ret) {
    uint64_t start = address - function->address, left = function->size - start;
    if (GSYM_UNLIKELY(start >= function->size || size > left))
        return clip_outside(function, address, size, start_ret, end_ret);
    *start_ret = (uint32_t)start;
    *end_ret = (uint32_t)(start + size);
    return true;
}

static inline gsym_status add_row(gsym_breakpad *breakpad, uint64_t address, uint64_t size,
                                  uint32_t line, uint32_t file, gsym_error *error) {
    size_t count = breakpad->parts.rows.count;
    breakpad_row *row;
    if (GSYM_UNLIKELY(!breakpad->is_in_function))
        return lose(breakpad, GSYM_BREAKPAD_NO_FUNCTION, address);
    if (!LIST_RESERVE(breakpad->parts.rows, 1)) return gsym_fail_memory(error);
    row = &breakpad->parts.rows.items[count];
    address &= ~breakpad->isa_bit;
    if (!clip(&breakpad->function, address, size, &row->start, &row->end))
        complain(breakpad, GSYM_BREAKPAD_OUTSIDE, address);
    row->line = line;
    if (!use(breakpad, &breakpad->files, file, &row->file)) return gsym_fail_memory(error);
    if (count > breakpad->function.row_first && row->start < row[-1].start)
        breakpad->function.is_ordered = false;
    breakpad->parts.rows.count += row->start != row->end;
    breakpad->counts.lines++;
    return GSYM_OK;
}

/* Read a line number; a negative one means that the line is unknown, which is 0 here. */
static bool read_line_number(cursor *line, uint32_t *number_ret) {
    bool is_negative = cursor_left(line) != 0 && cursor_peek_unchecked(line, 0) == '-';
    if (is_negative) line->at++;
    if (!field_decimal(line, number_ret)) return false;
    if (is_negative) *number_ret = 0;
    return true;
}

static gsym_status read_row(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    bool opens_as_number =
        cursor_left(&line) != 0 && digit_value(cursor_peek_unchecked(&line, 0)) < 10;
    uint64_t address, size;
    uint32_t number, file;
    if (!field_hex(&line, &address))
        return lose(breakpad,
                    opens_as_number ? GSYM_BREAKPAD_NUMBER : GSYM_BREAKPAD_UNKNOWN_RECORD,
                    0);
    if (!field_hex(&line, &size) || !read_line_number(&line, &number) ||
        !field_decimal(&line, &file))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, address);
    return add_row(breakpad, address, size, number, file, error);
}

/* An INLINE record that is being read, and may still turn out to be damaged. */
typedef struct inline_draft_record {
    uint32_t level, call_line, call_file, origin;
    bool has_call_file;
    uint64_t outside; /* address of a range that leaves the function */
    bool is_outside;
    size_t piece_first;
} inline_draft_record;

/* Add a range of a record. */
static inline bool add_piece(gsym_breakpad *breakpad, inline_draft_record *record,
                             uint64_t address, uint64_t size) {
    inline_piece_list *pieces = &breakpad->parts.pieces;
    size_t number = breakpad->parts.inlines.count - breakpad->function.inline_first;
    uint32_t start, end;
    address &= ~breakpad->isa_bit;
    if (!clip(&breakpad->function, address, size, &start, &end)) {
        record->is_outside = true;
        record->outside = address;
    }
    if (!LIST_RESERVE(*pieces, 1)) return false;
    pieces->items[pieces->count] =
        (inline_piece){(uint64_t)record->level << 32 | start, end, (uint32_t)number};
    pieces->count += start != end;
    return true;
}

/* Add an INLINE record whose ranges have been added. */
static gsym_status add_inline(gsym_breakpad *breakpad, const inline_draft_record *record,
                              gsym_error *error) {
    breakpad_inline call = {.call_line = record->call_line,
                            .has_call_file = record->has_call_file};
    uint32_t origin;
    if (record->is_outside) complain(breakpad, GSYM_BREAKPAD_OUTSIDE, record->outside);
    if (breakpad->parts.inlines.count - breakpad->function.inline_first == UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, breakpad->position.offset,
                         "a function of more than 2^32 INLINE records");
    if (!LIST_RESERVE(breakpad->parts.inlines, 1) ||
        (call.has_call_file &&
         !use(breakpad, &breakpad->files, record->call_file, &call.call_file)) ||
        !use(breakpad, &breakpad->origins, record->origin, &origin))
        return gsym_fail_memory(error);
    call.origin = origin;
    breakpad->parts.inlines.items[breakpad->parts.inlines.count++] = call;
    breakpad->counts.inlines++;
    return GSYM_OK;
}

/* Count the fields up to the end of the line. */
static size_t count_fields(cursor line) {
    size_t count = 0;
    while (cursor_left(&line) != 0) {
        (void)skip_field(&line);
        count++;
    }
    return count;
}

static gsym_status read_inline(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    inline_draft_record record = {.has_call_file = count_fields(line) % 2 == 0,
                                  .piece_first = breakpad->parts.pieces.count};
    if (!breakpad->is_in_function) return lose(breakpad, GSYM_BREAKPAD_NO_FUNCTION, 0);
    if (!field_decimal(&line, &record.level) ||
        !read_line_number(&line, &record.call_line) ||
        (record.has_call_file && !field_decimal(&line, &record.call_file)) ||
        !field_decimal(&line, &record.origin))
        return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
    do {
        uint64_t address, size;
        if (!field_hex(&line, &address) || !field_hex(&line, &size)) {
            breakpad->parts.pieces.count = record.piece_first;
            return lose(breakpad, GSYM_BREAKPAD_NUMBER, 0);
        }
        if (!add_piece(breakpad, &record, address, size)) return gsym_fail_memory(error);
    } while (cursor_left(&line) != 0);
    return add_inline(breakpad, &record, error);
}

/* Skip the mark that some editors write before UTF-8. */
static void skip_byte_order_mark(cursor *line) {
    if (cursor_left(line) >= 3 && memcmp(line->at, "\xef\xbb\xbf", 3) == 0) line->at += 3;
}

/* ---- any line -------------------------------------------------------------------- */

gsym_status breakpad_read_line(gsym_breakpad *breakpad, cursor line, gsym_error *error) {
    const uint8_t *record;
    if (breakpad->position.line == 1) skip_byte_order_mark(&line);
    while (line.end > line.at && line.end[-1] == '\r') line.end--;
    field_skip_blanks(&line);
    if (line.at == line.end) return GSYM_OK;
    record = line.at;
    switch (*record) {
        case 'F':
            if (field_word(&line, "FUNC")) return read_func(breakpad, line, error);
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

/* ---- many lines ------------------------------------------------------------------ */

static const char INLINE_WORD[] = "INLINE ";

enum {
    PLAIN_ROW_SIZE = 4 * FIELD_SIZE,
    PLAIN_RANGE_SIZE = 2 * FIELD_SIZE,
    PLAIN_INLINE_SIZE = sizeof INLINE_WORD - 1 + 4 * FIELD_SIZE
};

/* Read line records as long as they have the usual form and lie in the function. Nine of
 * ten lines of a file are such records. */
static gsym_status read_plain_rows(gsym_breakpad *breakpad, cursor *lines,
                                   gsym_error *error) {
    const uint64_t start = breakpad->function.address, size = breakpad->function.size;
    const uint64_t isa_bit = breakpad->isa_bit;
    size_t count = breakpad->parts.rows.count;
    uint64_t read = 0;
    uint32_t last_file = 0, last_start = 0;
    bool is_ordered = true;
    cursor c = *lines;
    breakpad_row row = {.file = UINT32_MAX};
    if (!breakpad->is_in_function) return GSYM_OK;
    if (count > breakpad->function.row_first)
        last_start = breakpad->parts.rows.items[count - 1].start;
    while (GSYM_LIKELY(cursor_left(&c) >= PLAIN_ROW_SIZE)) {
        uint64_t row_address, row_size;
        uint32_t file;
        if (!field_plain_hex(&c, ' ', &row_address) ||
            !field_plain_hex(&c, ' ', &row_size) ||
            !field_plain_decimal(&c, ' ', &row.line) ||
            !field_plain_decimal(&c, '\n', &file))
            break;
        row_address = (row_address & ~isa_bit) - start;
        if (row_address >= size || row_size > size - row_address) break;
        if (file != last_file || read == 0) {
            last_file = file;
            if (!use(breakpad, &breakpad->files, file, &row.file))
                return gsym_fail_memory(error);
        }
        row.start = (uint32_t)row_address;
        row.end = (uint32_t)(row_address + row_size);
        is_ordered &= row.start >= last_start;
        last_start = row.start;
        if (GSYM_UNLIKELY(count == breakpad->parts.rows.capacity) &&
            !LIST_RESERVE(breakpad->parts.rows, 1))
            return gsym_fail_memory(error);
        breakpad->parts.rows.items[count] = row;
        count += row_size != 0;
        breakpad->parts.rows.count = count;
        lines->at = c.at;
        read++;
    }
    if (!is_ordered) breakpad->function.is_ordered = false;
    breakpad->counts.lines += read;
    breakpad->position.line += read;
    return GSYM_OK;
}

/* Read an INLINE record in the usual form. False, with the cursor where it was, for any
 * other line. */
static inline bool read_plain_inline(gsym_breakpad *breakpad, cursor *lines,
                                     gsym_status *status_ret, gsym_error *error) {
    inline_draft_record record = {.has_call_file = true,
                                  .piece_first = breakpad->parts.pieces.count};
    cursor c = *lines;
    uint8_t end;
    if (cursor_left(&c) < PLAIN_INLINE_SIZE || !breakpad->is_in_function ||
        memcmp(c.at, INLINE_WORD, sizeof INLINE_WORD - 1) != 0)
        return false;
    c.at += sizeof INLINE_WORD - 1;
    if (!field_plain_decimal(&c, ' ', &record.level) ||
        !field_plain_decimal(&c, ' ', &record.call_line) ||
        !field_plain_decimal(&c, ' ', &record.call_file) ||
        !field_plain_decimal(&c, ' ', &record.origin))
        return false;
    do {
        uint64_t address, size;
        end = 0;
        if (cursor_left(&c) < PLAIN_RANGE_SIZE || !field_plain_hex(&c, ' ', &address) ||
            !field_plain_hex_to_any(&c, &end, &size))
            break;
        if (!add_piece(breakpad, &record, address, size)) {
            *status_ret = gsym_fail_memory(error);
            return true;
        }
    } while (end == ' ');
    if (end != '\n') {
        breakpad->parts.pieces.count = record.piece_first;
        return false;
    }
    *lines = c;
    *status_ret = add_inline(breakpad, &record, error);
    return true;
}

gsym_status breakpad_read_lines(gsym_breakpad *breakpad, cursor *lines,
                                gsym_error *error) {
    for (;;) {
        gsym_status status;
        GSYM_TRY(read_plain_rows(breakpad, lines, error));
        if (lines->at == lines->end) return GSYM_OK;
        breakpad->position.line++;
        breakpad->position.offset = breakpad->offset + cursor_offset(lines);
        if (!read_plain_inline(breakpad, lines, &status, error)) {
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
}
