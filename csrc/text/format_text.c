/* format_text.c - answers to addresses as text, as llvm-gsymutil prints them.
 *
 *     0x0000000000401136: NAME + OFFSET @ DIRECTORY/FILE:LINE [inlined]
 *                         NAME + OFFSET @ DIRECTORY/FILE:LINE
 *           CallSites: PATTERN, PATTERN
 *     0x0000000000000001: error: REASON
 *
 * All lookups here follow LLVM's rules, its faults included. */
#include "text/text.h"

#include <inttypes.h>

/* What is around the name and the path of a frame. */
enum { MAX_FRAME_SIZE = 2 * MAX_DECIMAL_SIZE + sizeof " +  @ : [inlined]" };

/* ---- one answer ----------------------------------------------------------------- */

typedef struct llvm_job {
    gsym_text *text;
    const gsym_image *image;
    uint32_t flags; /* gsym_text_flags */
} llvm_job;

static void put_frame(const llvm_job *job, const gsym_frame *frame, bool is_inlined) {
    size_t name_size;
    const char *name = gsym_image_string(job->image, frame->name, &name_size);
    joined_path path;
    uint8_t *at;
    if (!path_cache_get(&job->text->paths, job->image, frame->file, &path)) {
        job->text->out.failed = true;
        return;
    }
    if (GSYM_UNLIKELY(job->text->paths.escapes)) {
        text_put_bytes(job->text, name, name_size);
        name_size = 0;
    }
    at = text_begin(job->text, name_size + path.size + MAX_FRAME_SIZE);
    if (at == NULL) return;
    at = put_bytes_covered(at, name, name_size);
    if (frame->offset > 0) {
        at = put_literal_covered(at, " + ");
        at = put_decimal_covered(at, frame->offset);
    }
    if (path.size > 0) {
        at = put_literal_covered(at, " @ ");
        at = put_bytes_covered(at, path.bytes, path.size);
        *at++ = ':';
        at = put_decimal_covered(at, frame->line);
    }
    if (is_inlined) at = put_literal_covered(at, " [inlined]");
    text_end(job->text, at);
}

static void put_head(const llvm_job *job, uint64_t address) {
    text_put_hex(job->text, address, 16);
    text_put_literal(job->text, ": ");
}

static void put_frames(const llvm_job *job, uint64_t address, const gsym_frame *frames,
                       uint32_t count) {
    put_head(job, address);
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) text_put_literal(job->text, "\n                    ");
        put_frame(job, &frames[i], i + 1 < count);
    }
}

static void put_call_sites(const llvm_job *job, uint32_t count) {
    if (count == 0) return;
    text_put_literal(job->text, "\n      CallSites: ");
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) text_put_literal(job->text, ", ");
        text_put_string(job->text, job->image, job->text->regexes[i]);
    }
}

static void put_reason(const llvm_job *job, uint64_t address, const char *reason) {
    put_head(job, address);
    text_put_literal(job->text, "error: ");
    buffer_put(&job->text->out, reason, strlen(reason));
    text_put_char(job->text, '\n');
}

/* GSYM_E_FORMAT stands for every way not to get an answer, with the reason in *error. */
static gsym_status look_up(const llvm_job *job, uint64_t address, uint32_t child,
                           gsym_answer *answer, gsym_error *error) {
    GSYM_TRY(text_look_up(job->text, job->image, address, child, GSYM_LOOKUP_LLVM, answer,
                          error));
    if (answer->found) return GSYM_OK;
    return gsym_fail(error, GSYM_E_FORMAT, 0, "address 0x%" PRIx64 " is not in GSYM",
                     address);
}

static gsym_status put_lookup(const llvm_job *job, uint64_t address, gsym_error *error) {
    gsym_answer answer;
    gsym_status status = look_up(job, address, 0, &answer, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK) {
        put_frames(job, address, job->text->frames, answer.frame_count);
        text_put_char(job->text, '\n');
    } else {
        put_reason(job, address, error->what);
    }
    return GSYM_OK;
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
static gsym_status put_kept(const llvm_job *job, uint64_t address, const uint8_t *keep,
                            size_t keep_count, gsym_error *error) {
    gsym_text *text = job->text;
    gsym_answer answer;
    size_t count;
    GSYM_TRY(look_up(job, address, 0, &answer, error));
    count = (size_t)answer.merged_count + 1;
    put_found(text, address, keep == NULL ? count : count_kept(keep, keep_count));
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) GSYM_TRY(look_up(job, address, (uint32_t)i, &answer, error));
        if (keep != NULL && (i >= keep_count || !keep[i])) continue;
        text_put_spaces(text, 3);
        put_frames(job, address, text->frames, answer.frame_count);
        put_call_sites(job, answer.regex_count);
        text_put_char(text, '\n');
        if (i + 1 < count) text_put_char(text, '\n');
    }
    return GSYM_OK;
}

static gsym_status put_merged(const llvm_job *job, uint64_t address, const uint8_t *keep,
                              size_t keep_count, gsym_error *error) {
    size_t size = job->text->out.size;
    gsym_status status = put_kept(job, address, keep, keep_count, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status != GSYM_OK) {
        job->text->out.size = size; /* one bad child spoils the whole answer */
        put_reason(job, address, error->what);
    }
    return GSYM_OK;
}

gsym_status gsym_text_lookup_merged(gsym_text *text, const gsym_image *image,
                                    uint64_t address, const uint8_t *keep,
                                    size_t keep_count, gsym_error *error) {
    llvm_job job = {text, image, GSYM_TEXT_MERGED};
    if (!path_cache_begin(&text->paths, PATH_LLVM)) return gsym_fail_memory(error);
    GSYM_TRY(put_merged(&job, address, keep, keep_count, error));
    return text_status(text, error);
}

/* ---- many addresses ---------------------------------------------------------------- */

static gsym_status put_any(const llvm_job *job, uint64_t address, gsym_error *error) {
    if (job->flags & GSYM_TEXT_MERGED)
        GSYM_TRY(put_merged(job, address, NULL, 0, error));
    else
        GSYM_TRY(put_lookup(job, address, error));
    if (job->flags & GSYM_TEXT_BLANK_LINE) text_put_char(job->text, '\n');
    return GSYM_OK;
}

gsym_status gsym_text_lookup_many(gsym_text *text, const gsym_image *image,
                                  const uint64_t *addresses, size_t count, uint32_t flags,
                                  gsym_error *error) {
    llvm_job job = {text, image, flags};
    if (!path_cache_begin(&text->paths, PATH_LLVM)) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) GSYM_TRY(put_any(&job, addresses[i], error));
    return text_status(text, error);
}

/* ---- lines -------------------------------------------------------------------------- */

static gsym_status ask(const llvm_job *job, const char *lines, size_t size,
                       const char *path, size_t path_size, gsym_error *error) {
    answer_queue *queue = &job->text->queue;
    size_t used = 0;
    queue_begin(queue, job->image);
    while (used < size && !queue_is_full(queue)) {
        const char *line = lines + used;
        const char *end = memchr(line, '\n', size - used);
        const char *space;
        uint64_t address, line_size;
        if (end == NULL) break;
        space = memchr(line, ' ', (size_t)(end - line));
        if (space == NULL || (size_t)(end - space) - 1 != path_size ||
            memcmp(space + 1, path, path_size) != 0 ||
            !text_parse_number(line, (size_t)(space - line), &address))
            break;
        line_size = (uint64_t)(end - line) + 1;
        if (!((job->flags & GSYM_TEXT_MERGED)
                  ? queue_add_unsought(queue, address, line_size)
                  : queue_add(queue, address, line_size, address)))
            return gsym_fail_memory(error);
        used += (size_t)line_size;
    }
    return queue_find(queue, job->image, true, error);
}

/* Where no frames were found, the lookup by itself says why. */
static gsym_status put_answer(const void *of_job, uint64_t address, gsym_error *error) {
    const llvm_job *job = of_job;
    const found_frames *found = queue_found(&job->text->queue);
    if (found->count == 0 || found->count == FRAMES_UNKNOWN)
        return put_any(job, address, error);
    put_frames(job, address, job->text->queue.sweep.frames.items + found->first,
               found->count);
    text_put_char(job->text, '\n');
    if (job->flags & GSYM_TEXT_BLANK_LINE) text_put_char(job->text, '\n');
    return GSYM_OK;
}

gsym_status gsym_text_lookup_lines(gsym_text *text, const gsym_image *image,
                                   const char *path, size_t path_size, uint32_t flags,
                                   const char *lines, size_t size, size_t limit,
                                   size_t *used_ret, gsym_error *error) {
    llvm_job job = {text, image, flags};
    if (lines != NULL) {
        if (!path_cache_begin(&text->paths, PATH_LLVM)) return gsym_fail_memory(error);
        GSYM_TRY(ask(&job, lines, size, path, path_size, error));
    }
    return text_answer_lines(text, image, limit, put_answer, &job, used_ret, error);
}
