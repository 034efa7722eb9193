/* formatter.c - answer lines with addresses, in the style of a template.
 *
 * Many lines are looked up together, then answered one by one: a template is a list of
 * operations (its language is described in style.c), executed for each answer.
 *
 * Strings of the file are written
 *     unchanged, or with control characters as \xNN (gsym_text_escape);
 *     GSYM_FORMAT_PRINTABLE: as they are if they are printable ASCII, else as their text;
 *     GSYM_FORMAT_JSON: the same, also if they hold what JSON escapes;
 * and names of functions as their texts with GSYM_FORMAT_DEMANGLED. */
#include "base/digits.h"
#include "text/style.h"
#include "text/text.h"

/* The ways in which strings of the file are written. */
typedef enum string_form {
    AS_THEY_ARE,
    WITH_ESCAPES,
    IF_PRINTABLE,
    IF_QUOTABLE
} string_form;

/* The data of one answer, and the position in the output. */
typedef struct answer {
    gsym_format_job *job;
    gsym_text *text;
    const gsym_image *image;
    gsym_name_texts *names; /* NULL: names of functions are plain strings */
    string_form form;
    uint64_t address; /* as requested */
    uint64_t sought;
    const gsym_frame *frames;
    uint32_t frame_count;
    uint32_t regex_count; /* of text->regexes */
    uint32_t merged_count;
    uint32_t shown_count; /* functions that are shown */
    uint32_t entry;
    uint64_t size; /* size of the function; UNKNOWN_SIZE: it has to be read from the
                      record */
    size_t begin;  /* offset in the output at which the answer begins */
    size_t indent; /* size of the text before the first frame; UNKNOWN_INDENT: there was
                      no frame yet */
    const char *reason; /* describes the damage */
    bool is_outside, is_damaged;
    uint8_t *limit; /* end of the reserved output; see reserve_output() */
    /* The state of loops. */
    bool is_later, was_later, has_more, has_path;
    uint32_t frame_number;
    const style_op *loop; /* the loop over frames, or NULL */
    const gsym_frame *frame;
    const gsym_frame *named; /* the frame whose name is printed: the current one, except
                                for <*combined> */
    joined_path path;
    uint64_t pattern;
} answer;

#define UNKNOWN_SIZE UINT64_MAX
#define UNKNOWN_INDENT SIZE_MAX

static bool job_wants(const gsym_format_job *job, gsym_format_flags flag) {
    return (job->flags & flag) != 0;
}

/* ---- writing --------------------------------------------------------------------- */

/* A write of variable size also reserves space for all texts and numbers of the style,
 * which are then written without checks. In all these functions, `at` is the position in
 * the output, or NULL after memory ran out. */

static uint8_t *reserve_output(answer *a, size_t size) {
    buffer *out = &a->text->out;
    size_t room = a->job->style->room;
    if (!buffer_reserve(out, size + room)) return NULL;
    a->limit = out->bytes + out->capacity - room;
    return out->bytes + out->size;
}

/* Reserve space for `size` bytes and the following texts. */
static inline uint8_t *reserve_for(answer *a, uint8_t *at, size_t size) {
    if (GSYM_LIKELY(at <= a->limit && size <= (size_t)(a->limit - at))) return at;
    text_end(a->text, at);
    return reserve_output(a, size);
}

static inline uint8_t *put_bytes(answer *a, uint8_t *at, const char *bytes, size_t size) {
    at = reserve_for(a, at, size);
    return at == NULL ? NULL : put_bytes_unchecked(at, bytes, size);
}

/* ---- strings --------------------------------------------------------------------- */

static bool is_plain(string_form form, const char *bytes, size_t size) {
    if (form == IF_QUOTABLE) return is_quotable_text(bytes, size);
    return form == IF_PRINTABLE && is_printable_text(bytes, size);
}

/* Put a string of the file; `mark` is GSYM_PLAIN_STRING, or 0 for a name. */
static void put_string(answer *a, uint64_t strp, uint64_t mark) {
    size_t size;
    const char *bytes = gsym_image_string(a->image, strp, &size);
    if (!image_has_string(a->image, strp)) return;
    if (a->form <= WITH_ESCAPES || is_plain(a->form, bytes, size))
        text_put_bytes(a->text, bytes, size);
    else
        text_put_name(a->text, a->job->texts, strp | mark);
}

static uint8_t *put_name(answer *a, uint8_t *at, uint64_t strp) {
    size_t size;
    const char *bytes;
    if (a->names == NULL) {
        bytes = gsym_image_string(a->image, strp, &size);
        if (a->form == AS_THEY_ARE || is_plain(a->form, bytes, size))
            return put_bytes(a, at, bytes, size);
    }
    text_end(a->text, at);
    if (a->names == NULL)
        put_string(a, strp, 0);
    else if (strp < a->image->header.strtab_size)
        text_put_name(a->text, a->names, strp);
    return reserve_output(a, 0);
}

static inline const joined_path *path_of(answer *a) {
    if (a->has_path) return &a->path;
    a->has_path = true;
    if (!text_get_path(a->text, a->image, a->frame->file, &a->path))
        a->path = (joined_path){.bytes = ""};
    return &a->path;
}

/* Put a path, or one of its parts, that needs escapes. */
static void put_odd_path(answer *a, style_kind part) {
    image_path path;
    if (!image_path_get(a->image, a->frame->file, &path)) return;
    if (part != STYLE_FILENAME) put_string(a, path.directory_strp, GSYM_PLAIN_STRING);
    if (part == STYLE_PATH && path.separator != 0) {
        if (path.separator == '\\' && a->form == IF_QUOTABLE) text_put_char(a->text, '\\');
        text_put_char(a->text, path.separator);
    }
    if (part != STYLE_DIRECTORY) put_string(a, path.basename_strp, GSYM_PLAIN_STRING);
}

static inline uint8_t *put_path(answer *a, uint8_t *at, style_kind part) {
    const joined_path *path = path_of(a);
    size_t from = part == STYLE_FILENAME ? path->filename_at : 0;
    size_t end = part == STYLE_DIRECTORY ? path->directory_size : path->size;
    if (a->form <= WITH_ESCAPES ||
        (a->form == IF_QUOTABLE ? path->is_quotable : path->is_printable))
        return put_bytes(a, at, path->bytes + from, end - from);
    text_end(a->text, at);
    put_odd_path(a, part);
    return reserve_output(a, 0);
}

static void put_source_mark(answer *a) {
    const joined_path *path = path_of(a);
    text_put_char(a->text, '\0');
    buffer_put(&a->text->out, path->bytes, path->size);
    text_put_char(a->text, '\0');
    text_put_decimal(a->text, a->frame->line);
    text_put_char(a->text, '\0');
}

/* ---- lookups --------------------------------------------------------------------- */

/* Look up the function at the address, or the `child`-th function merged into it. The only
 * error that is returned is lack of memory. */
static gsym_status look_up(answer *a, uint32_t child, gsym_error *error) {
    uint32_t flags = job_wants(a->job, GSYM_FORMAT_LLVM) ? GSYM_LOOKUP_LLVM : 0;
    gsym_answer found = {0};
    gsym_status status = GSYM_OK;
    if (a->image != NULL)
        status = text_look_up(a->text, a->image, a->sought, child, flags, &found, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    a->is_damaged = status != GSYM_OK;
    a->reason = error->what;
    a->frames = a->text->frames;
    a->frame_count = a->is_damaged ? 0 : found.frame_count;
    a->regex_count = a->is_damaged ? 0 : found.regex_count;
    a->entry = found.entry;
    a->size = found.function_size;
    if (child == 0)
        a->merged_count = job_wants(a->job, GSYM_FORMAT_MERGED) && a->frame_count > 0
                              ? found.merged_count
                              : 0;
    return GSYM_OK;
}

static bool keeps(const gsym_format_job *job, uint32_t child) {
    return job->keep == NULL || (child < job->keep_count && job->keep[child]);
}

/* Check all merged functions before writing: one that is damaged makes the answer
 * damaged. */
static gsym_status check_merged(answer *a, gsym_error *error) {
    uint32_t count;
    GSYM_TRY(look_up(a, 0, error));
    count = a->merged_count;
    a->shown_count = keeps(a->job, 0);
    for (uint32_t child = 1; child <= count; ++child) {
        GSYM_TRY(look_up(a, child, error));
        if (a->is_damaged) return GSYM_OK;
        if (a->frame_count > 0)
            a->shown_count += keeps(a->job, child);
        else if (job_wants(a->job, GSYM_FORMAT_LLVM))
            return GSYM_OK;
    }
    return count == 0 ? GSYM_OK : look_up(a, 0, error);
}

static gsym_status find_in_sections(answer *a, gsym_error *error) {
    const gsym_format_job *job = a->job;
    a->frame_count = 0;
    for (size_t i = 0; i < job->section_count && a->frame_count == 0; ++i) {
        gsym_range section = job->sections[i];
        if (a->address >= section.end - section.start) continue;
        a->sought = section.start + a->address;
        GSYM_TRY(look_up(a, 0, error));
    }
    return GSYM_OK;
}

static gsym_status find(answer *a, gsym_error *error) {
    const gsym_format_job *job = a->job;
    const answer_queue *queue = &a->text->queue;
    const found_frames *found = queue_found(queue);
    a->is_outside = a->address < job->first || a->address > job->last;
    if (a->is_outside) return GSYM_OK;
    if (job->section_count > 0) return find_in_sections(a, error);
    if (job_wants(job, GSYM_FORMAT_MERGED)) return check_merged(a, error);
    if (found->count == FRAMES_UNKNOWN) return look_up(a, 0, error);
    a->frames = queue->sweep.frames.items + found->first;
    a->frame_count = found->count;
    a->entry = found->entry;
    a->size = UNKNOWN_SIZE;
    return GSYM_OK;
}

static uint64_t function_size(answer *a) {
    gsym_error ignored;
    cursor record;
    if (a->size != UNKNOWN_SIZE) return a->size;
    if (image_record(a->image, a->entry, &record, &ignored) != GSYM_OK) return 0;
    return cursor_u32(&record);
}

/* ---- operations ------------------------------------------------------------------ */

static inline const gsym_frame *outermost(const answer *a) {
    return &a->frames[a->frame_count - 1];
}

static inline bool has_name(const answer *a) {
    return image_has_string(a->image, a->named->name);
}

static inline uint64_t frame_start(const answer *a) { return a->sought - a->named->offset; }

static void run(answer *a, const style_op *op);

static void run_patterns(answer *a, const style_op *op) {
    for (uint32_t i = 0; i < a->regex_count; ++i) {
        a->pattern = a->text->regexes[i];
        a->is_later = i > 0;
        run(a, op);
    }
}

/* Run the body of a loop for each function from number `first` on: 0 is the function
 * itself, the others are merged into it. Afterwards, the answer has no function. */
static void run_functions(answer *a, const style_op *op, uint32_t first) {
    bool is_later = false;
    gsym_error error;
    if (a->frame_count == 0) return;
    for (uint32_t child = first; child <= a->merged_count; ++child) {
        if (!keeps(a->job, child)) continue;
        if (child > 0 && look_up(a, child, &error) != GSYM_OK) {
            a->text->out.failed = true;
            break;
        }
        if (a->frame_count == 0) continue;
        a->is_later = is_later;
        a->has_more = child < a->merged_count;
        run(a, op);
        is_later = true;
    }
    a->frame_count = a->regex_count = 0;
    a->is_damaged = false;
}

static void run_loop(answer *a, const style_op *op) {
    const style_op *loop = a->loop; /* a loop over patterns may be inside the loop over
                                       frames */
    bool was_later = a->is_later;
    a->loop = NULL;
    if (op->rare == STYLE_PATTERNS)
        run_patterns(a, op + 1);
    else
        run_functions(a, op + 1, op->rare == STYLE_MERGED);
    a->loop = loop;
    a->is_later = was_later;
}

/* Move to the next frame and return the operation before the body of the loop; NULL after
 * the last frame. */
static const style_op *next_frame(answer *a) {
    uint32_t number = a->frame_number++;
    if (number >= (a->loop->kind == STYLE_FRAMES ? a->frame_count : 1)) return NULL;
    a->frame = a->named = &a->frames[number];
    if (a->loop->kind == STYLE_COMBINED) a->named = outermost(a);
    a->has_path = false;
    a->is_later = number > 0;
    return a->loop;
}

/* Begin a loop over frames, and return the operation before the one that is run next. */
static const style_op *begin_frames(answer *a, const uint8_t *at, const style_op *op) {
    if (a->indent == UNKNOWN_INDENT)
        a->indent = (size_t)(at - a->text->out.bytes) - a->begin;
    if (a->frame_count == 0) return op + op->next;
    a->was_later = a->is_later;
    a->loop = op;
    a->frame_number = 0;
    return next_frame(a);
}

/* End one run of the body of a loop over frames, and return the operation before the one
 * that is run next; NULL at the end of the template or of another loop. */
static const style_op *end_frames(answer *a, const style_op *op) {
    const style_op *next;
    if (a->loop == NULL) return NULL;
    next = next_frame(a);
    if (next != NULL) return next;
    a->loop = NULL;
    a->is_later = a->was_later;
    return op;
}

static bool holds(answer *a, style_kind condition) {
    switch (condition) {
        case STYLE_IF_OUTSIDE: return a->is_outside;
        case STYLE_IF_DAMAGED: return a->is_damaged;
        case STYLE_IF_MERGED: return a->shown_count > 1;
        case STYLE_IF_MORE: return a->has_more;
        case STYLE_IF_FILENAME: return path_of(a)->size > path_of(a)->filename_at;
        default: return false;
    }
}

static void put_rare_field(answer *a, style_kind field) {
    gsym_text *text = a->text;
    switch (field) {
        case STYLE_ADDRESS_8: text_put_hex(text, a->address, 8); break;
        case STYLE_INDENT: text_put_spaces(text, (unsigned)a->indent); break;
        case STYLE_PATTERN: put_string(a, a->pattern, GSYM_PLAIN_STRING); break;
        case STYLE_SOURCE: put_source_mark(a); break;
        case STYLE_ERROR:
            if (a->is_damaged) buffer_put(&text->out, a->reason, strlen(a->reason));
            break;
        default: break;
    }
}

/* Run an operation of a kind after STYLE_RARE. */
static uint8_t *run_rare(answer *a, uint8_t *at, const style_op **op) {
    style_kind kind = (*op)->rare;
    if (kind < STYLE_FUNCTIONS) {
        if (!holds(a, kind)) *op += (*op)->next;
        return at;
    }
    if (kind == STYLE_FUNCTION)
        return a->frame_count > 0 ? put_name(a, at, outermost(a)->name) : at;
    text_end(a->text, at);
    if (kind <= STYLE_PATTERNS) {
        run_loop(a, *op);
        *op += (*op)->next;
    } else {
        put_rare_field(a, kind);
    }
    return reserve_output(a, 0);
}

static inline uint8_t *put_hex(uint8_t *at, uint64_t value, unsigned digits) {
    return put_padded_hex_unchecked(put_literal_unchecked(at, "0x"), value, digits);
}

static uint8_t *put_of_function(answer *a, uint8_t *at, style_kind field) {
    if (a->frame_count == 0) return at;
    return put_decimal_unchecked(
        at, field == STYLE_SIZE ? function_size(a) : a->sought - outermost(a)->offset);
}

/* Execute operations up to the end of the template or loop. */
static void run(answer *a, const style_op *op) {
    uint8_t *at = reserve_output(a, 0);
    const style_op *next;
    if (at == NULL) return;
    for (;; ++op) {
        memcpy(at, op->text, STYLE_TEXT_SIZE);
        at += op->size;
        switch (op->kind) {
            case STYLE_TEXT: continue;
            case STYLE_GOTO: op += op->next; continue;
            case STYLE_IF_FOUND: op += a->frame_count > 0 ? 0 : op->next; continue;
            case STYLE_IF_PATTERNS: op += a->regex_count > 0 ? 0 : op->next; continue;
            case STYLE_IF_SEVERAL: op += a->shown_count != 1 ? 0 : op->next; continue;
            case STYLE_IF_LATER: op += a->is_later ? 0 : op->next; continue;
            case STYLE_IF_NAME: op += has_name(a) ? 0 : op->next; continue;
            case STYLE_IF_PATH: op += path_of(a)->size > 0 ? 0 : op->next; continue;
            case STYLE_IF_LINE: op += a->frame->line != 0 ? 0 : op->next; continue;
            case STYLE_IF_OFFSET: op += a->named->offset != 0 ? 0 : op->next; continue;
            case STYLE_IF_INLINED: op += a->frame->inlined ? 0 : op->next; continue;
            case STYLE_FRAMES:
            case STYLE_INNERMOST:
            case STYLE_COMBINED: op = begin_frames(a, at, op); continue;
            case STYLE_ADDRESS: at = put_hex(at, a->address, 1); continue;
            case STYLE_ADDRESS_16: at = put_hex(at, a->address, 16); continue;
            case STYLE_ADDRESS_DECIMAL:
                at = put_decimal_unchecked(at, a->address);
                continue;
            case STYLE_COUNT: at = put_decimal_unchecked(at, a->shown_count); continue;
            case STYLE_START:
            case STYLE_SIZE: at = put_of_function(a, at, op->kind); continue;
            case STYLE_LINE: at = put_decimal_unchecked(at, a->frame->line); continue;
            case STYLE_OFFSET: at = put_decimal_unchecked(at, a->named->offset); continue;
            case STYLE_FRAME_START: at = put_hex(at, frame_start(a), 1); continue;
            case STYLE_LINE_OR:
                if (a->frame->line == 0) continue;
                at = put_decimal_unchecked(at, a->frame->line);
                op += op->next;
                continue;
            /* The following operations may run out of memory. */
            case STYLE_NAME: at = put_name(a, at, a->named->name); break;
            case STYLE_PATH: at = put_path(a, at, STYLE_PATH); break;
            case STYLE_NAME_OR:
                if (!has_name(a)) continue;
                at = put_name(a, at, a->named->name);
                op += op->next;
                break;
            case STYLE_PATH_OR:
                if (path_of(a)->size == 0) continue;
                at = put_path(a, at, STYLE_PATH);
                op += op->next;
                break;
            case STYLE_DIRECTORY: at = put_path(a, at, STYLE_DIRECTORY); break;
            case STYLE_FILENAME: at = put_path(a, at, STYLE_FILENAME); break;
            case STYLE_RARE: at = run_rare(a, at, &op); break;
            case STYLE_END:
                next = end_frames(a, op);
                if (next == NULL) {
                    text_end(a->text, at);
                    return;
                }
                op = next;
                at = reserve_for(a, at, 0);
                break;
            default: __builtin_unreachable();
        }
        if (at == NULL) return;
    }
}

/* ---- lines ----------------------------------------------------------------------- */

static gsym_status put_answer(const void *place, uint64_t address, gsym_error *error) {
    answer *a = *(answer *const *)place;
    a->address = address;
    a->sought = address + a->job->shift;
    a->frame_count = a->regex_count = a->merged_count = 0;
    a->shown_count = 1;
    a->begin = a->text->out.size;
    a->indent = UNKNOWN_INDENT;
    a->is_damaged = a->is_later = a->has_more = false;
    a->loop = NULL;
    GSYM_TRY(find(a, error));
    if (a->frame_count == 0) {
        a->job->missed++;
        a->job->damaged += a->is_damaged;
    }
    run(a, a->job->style->ops.items);
    return GSYM_OK;
}

static bool is_space_only(const char *at, const char *end) {
    while (at < end && is_space(*at)) ++at;
    return at == end;
}

/* Return the position after the next line, which ends with its newline or has the maximum
 * length; NULL if the line is incomplete. */
static const char *next_line(const gsym_format_job *job, const char *line, size_t left) {
    size_t window = left < job->line_size ? left : (size_t)job->line_size;
    const char *newline = memchr(line, '\n', window);
    if (newline != NULL) return newline + 1;
    return left >= job->line_size ? line + window : NULL;
}

static gsym_status read_lines(const gsym_format_job *job, answer_queue *queue,
                              const char *lines, size_t size, gsym_error *error) {
    const char *line = lines, *from = lines; /* `from` is before the empty lines in front
                                                of the line */
    const char *end = lines + size;
    bool sought = job->section_count == 0 && !job_wants(job, GSYM_FORMAT_MERGED);
    queue_begin(queue, job->image);
    while (line < end && !queue_is_full(queue)) {
        const char *next = next_line(job, line, (size_t)(end - line));
        const char *stop = next == NULL ? NULL : next[-1] == '\n' ? next - 1 : next;
        uint64_t address;
        if (next == NULL) break;
        if (job->numbers == GSYM_NUMBERS_PLAIN && is_space_only(line, stop)) {
            line = next;
            continue;
        }
        if (!text_read_address(job, line, stop, &address)) break;
        address &= job->address_mask;
        if (!(sought && address >= job->first && address <= job->last
                  ? queue_add(queue, address, (uint64_t)(next - from),
                              address + job->shift)
                  : queue_add_unsought(queue, address, (uint64_t)(next - from))))
            return gsym_fail_memory(error);
        from = line = next;
    }
    return queue_find(queue, job->image, job_wants(job, GSYM_FORMAT_LLVM), error);
}

/* List the addresses that have to be looked up to answer `address`. */
static size_t list_sought(const gsym_format_job *job, uint64_t address, uint64_t *addresses,
                          size_t capacity) {
    size_t count = 0;
    if (address < job->first || address > job->last) return 0;
    if (job->section_count == 0) {
        if (capacity > 0) *addresses = address + job->shift;
        return 1;
    }
    for (size_t i = 0; i < job->section_count; ++i) {
        gsym_range section = job->sections[i];
        if (address >= section.end - section.start) continue;
        if (count < capacity) addresses[count] = section.start + address;
        ++count;
    }
    return count;
}

size_t gsym_text_addresses(const gsym_format_job *job, const char *lines, size_t size,
                           uint64_t *addresses, size_t capacity) {
    const char *line = lines, *end = lines + size;
    size_t count = 0;
    while (line < end) {
        const char *next = next_line(job, line, (size_t)(end - line));
        const char *stop = next == NULL ? NULL : next[-1] == '\n' ? next - 1 : next;
        uint64_t address;
        size_t stored = count < capacity ? count : capacity;
        if (next == NULL) break;
        if (job->numbers != GSYM_NUMBERS_PLAIN || !is_space_only(line, stop)) {
            if (!text_read_address(job, line, stop, &address)) break;
            count += list_sought(job, address & job->address_mask, addresses + stored,
                                 capacity - stored);
        }
        line = next;
    }
    return count;
}

static string_form form_of(const gsym_text *text, const gsym_format_job *job) {
    if (job_wants(job, GSYM_FORMAT_JSON)) return IF_QUOTABLE;
    if (job_wants(job, GSYM_FORMAT_PRINTABLE)) return IF_PRINTABLE;
    return text->paths.escapes ? WITH_ESCAPES : AS_THEY_ARE;
}

gsym_status gsym_text_answer(gsym_text *text, gsym_format_job *job, const char *lines,
                             size_t size, size_t limit, size_t *used_ret,
                             gsym_error *error) {
    answer a = {.job = job,
                .text = text,
                .image = job->image,
                .names = job_wants(job, GSYM_FORMAT_DEMANGLED) ? job->texts : NULL,
                .form = form_of(text, job)};
    answer *place = &a;
    if (lines != NULL) {
        path_form form = job_wants(job, GSYM_FORMAT_LLVM) ? PATH_LLVM : PATH_WHOLE;
        if (!path_cache_begin(&text->paths, form)) return gsym_fail_memory(error);
        GSYM_TRY(read_lines(job, &text->queue, lines, size, error));
    }
    return text_answer_lines(text, job->image, limit, put_answer, &place, used_ret, error);
}
