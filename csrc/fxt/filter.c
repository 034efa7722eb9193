/* filter.c - select records by time, process, thread and strings. */
#include "fxt/reader.h"

enum verdict { NOT_LOOKED_AT = 0, MATCHES, MATCHES_NOT };

static bool copy_koids(fxt_koids *koids, const uint64_t *items, size_t count) {
    if (count == 0) return true;
    koids->items = malloc(count * sizeof *items);
    if (koids->items == NULL) return false;
    memcpy(koids->items, items, count * sizeof *items);
    koids->count = count;
    return true;
}

static bool copy_patterns(fxt_patterns *patterns, const char *bytes, size_t size) {
    if (size == 0) return true;
    patterns->bytes = malloc(size);
    if (patterns->bytes == NULL) return false;
    memcpy(patterns->bytes, bytes, size);
    patterns->size = size;
    return true;
}

bool fxt_filter_set(fxt_filter *filter, const gsym_fxt_filter *wanted) {
    fxt_filter_deinit(filter);
    *filter = (fxt_filter){.is_set = true,
                           .from_ns = wanted->from_ns,
                           .to_ns = wanted->to_ns};
    return copy_koids(&filter->processes, wanted->processes, wanted->process_count) &&
           copy_koids(&filter->threads, wanted->threads, wanted->thread_count) &&
           copy_patterns(&filter->categories, wanted->categories,
                         wanted->categories_size) &&
           copy_patterns(&filter->names, wanted->names, wanted->names_size);
}

void fxt_filter_deinit(fxt_filter *filter) {
    free(filter->processes.items);
    free(filter->threads.items);
    free(filter->categories.bytes);
    free(filter->categories.verdicts.items);
    free(filter->names.bytes);
    free(filter->names.verdicts.items);
}

/* Return the position after a UTF-8 character. */
static size_t after_character(const uint8_t *text, size_t size, size_t at) {
    do ++at;
    while (at < size && (text[at] & 0xc0) == 0x80);
    return at;
}

/* Whether a text matches a pattern, in which `*` matches any text and `?` one character. A
 * mismatch goes back to the last `*`. */
static bool matches(const char *pattern, const uint8_t *text, size_t size) {
    const char *star = NULL;
    size_t at = 0, star_at = 0;
    while (at < size) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = at;
        } else if (*pattern == '?') {
            ++pattern;
            at = after_character(text, size, at);
        } else if (*pattern != 0 && (uint8_t)*pattern == text[at]) {
            ++pattern;
            ++at;
        } else if (star != NULL) {
            pattern = star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*') ++pattern;
    return *pattern == 0;
}

static bool matches_any(const fxt_patterns *patterns, const uint8_t *text, size_t size) {
    const char *end = patterns->bytes + patterns->size;
    for (const char *at = patterns->bytes; at < end; at += strlen(at) + 1)
        if (matches(at, text, size)) return true;
    return false;
}

/* Match a string with the patterns, once for each string. False if out of memory. */
static bool judge_string(fxt_patterns *patterns, const fxt_strings *strings,
                         uint32_t number, bool *passes_ret) {
    size_t count = strings->ends.count + 1, size;
    uint8_t *verdict;
    const uint8_t *text;
    if (patterns->age != strings->age) patterns->verdicts.count = 0;
    patterns->age = strings->age;
    if (patterns->verdicts.count < count) {
        size_t more = count - patterns->verdicts.count;
        if (!LIST_RESERVE(patterns->verdicts, more)) return false;
        memset(patterns->verdicts.items + patterns->verdicts.count, NOT_LOOKED_AT, more);
        patterns->verdicts.count = count;
    }
    verdict = &patterns->verdicts.items[number];
    if (*verdict == NOT_LOOKED_AT) {
        text = fxt_strings_text(strings, number, &size);
        *verdict = matches_any(patterns, text, size) ? MATCHES : MATCHES_NOT;
    }
    *passes_ret = *verdict == MATCHES;
    return true;
}

static bool has_any(const fxt_koids *wanted, const uint64_t *koids, unsigned count) {
    if (wanted->items == NULL) return true;
    for (unsigned i = 0; i < count; ++i)
        for (size_t j = 0; j < wanted->count; ++j)
            if (koids[i] == wanted->items[j]) return true;
    return false;
}

static bool is_in_time(const fxt_filter *filter, const fxt_subject *subject) {
    if (!subject->has_time) return filter->from_ns == 0 && filter->to_ns == UINT64_MAX;
    return subject->end_ns >= filter->from_ns && subject->ns <= filter->to_ns;
}

/* Decide whether a record passes; a record that lacks a field that the filter compares does
 * not. False if out of memory. */
static bool judge_subject(fxt_filter *filter, const fxt_strings *strings,
                          const fxt_subject *subject, bool *passes_ret) {
    bool passes =
        is_in_time(filter, subject) &&
        has_any(&filter->processes, subject->processes, subject->process_count) &&
        has_any(&filter->threads, subject->threads, subject->thread_count) &&
        (filter->categories.bytes == NULL || subject->has_category) &&
        (filter->names.bytes == NULL || subject->has_name);
    if (passes && filter->categories.bytes != NULL &&
        !judge_string(&filter->categories, strings, subject->category, &passes))
        return false;
    if (passes && filter->names.bytes != NULL &&
        !judge_string(&filter->names, strings, subject->name, &passes))
        return false;
    *passes_ret = passes;
    return true;
}

/* Return the compared fields of the last event. */

static fxt_subject event_subject(const fxt_event_columns *events) {
    size_t at = events->count - 1;
    uint64_t end_ns = events->end_ns[at];
    return (fxt_subject){.processes = &events->process[at],
                         .threads = &events->thread[at],
                         .process_count = 1,
                         .thread_count = 1,
                         .has_time = true,
                         .has_category = true,
                         .has_name = true,
                         .ns = events->ns[at],
                         .end_ns = end_ns > events->ns[at] ? end_ns : events->ns[at],
                         .category = events->category[at],
                         .name = events->name[at]};
}

/* Set the processes and threads of a record, which are adjacent in its fields, `words`. */
static void set_threads(fxt_subject *subject, const uint64_t *words) {
    subject->processes = words;
    subject->threads = words + 1;
    subject->process_count = subject->thread_count = 1;
}

static void set_names(fxt_subject *subject, gsym_fxt_kind kind, const uint64_t *words) {
    bool is_blob = kind == GSYM_FXT_BLOB;
    subject->has_name = true;
    subject->has_category = !is_blob;
    if (!is_blob) subject->category = (uint32_t)words[0];
    subject->name = (uint32_t)words[is_blob ? 0 : 1];
}

static fxt_subject other_subject(const fxt_other_columns *others, gsym_fxt_kind kind,
                                 const uint64_t *words, uint64_t legacy[4]) {
    uint64_t ns = others->ns[others->count - 1];
    fxt_subject subject = {.ns = ns, .end_ns = ns};
    subject.has_time = kind >= GSYM_FXT_LEGACY_CONTEXT_SWITCH &&
                       kind <= GSYM_FXT_LARGE_BLOB_WITH_METADATA;
    switch (kind) {
        case GSYM_FXT_BLOB:
        case GSYM_FXT_LARGE_BLOB: set_names(&subject, kind, words); break;
        case GSYM_FXT_LARGE_BLOB_WITH_METADATA:
            set_names(&subject, kind, words);
            set_threads(&subject, words + 2);
            break;
        case GSYM_FXT_LOG:
        case GSYM_FXT_BACKTRACE: set_threads(&subject, words); break;
        case GSYM_FXT_CONTEXT_SWITCH:
            subject.threads = words + 2;
            subject.thread_count = 2;
            break;
        case GSYM_FXT_THREAD_WAKEUP:
            subject.threads = words + 1;
            subject.thread_count = 1;
            break;
        case GSYM_FXT_LEGACY_CONTEXT_SWITCH:
            legacy[0] = words[2];
            legacy[1] = words[4];
            legacy[2] = words[3];
            legacy[3] = words[5];
            subject.processes = legacy;
            subject.threads = legacy + 2;
            subject.process_count = subject.thread_count = 2;
            break;
        default: break;
    }
    return subject;
}

/* Whether records of a kind always pass, because other records need them. */
static bool is_context(gsym_fxt_kind kind) {
    switch (kind) {
        case GSYM_FXT_USERSPACE_OBJECT:
        case GSYM_FXT_KERNEL_OBJECT:
        case GSYM_FXT_MODULE:
        case GSYM_FXT_MMAP: return true;
        default: return kind >= GSYM_FXT_PROVIDER_INFO && kind <= GSYM_FXT_THREAD;
    }
}

gsym_status fxt_judge(gsym_fxt_reader *reader, gsym_fxt_kind kind, size_t first_word,
                      bool *passes_ret, gsym_error *error) {
    uint64_t legacy[4];
    fxt_subject subject;
    *passes_ret = true;
    if (!reader->filter.is_set || is_context(kind)) return GSYM_OK;
    if (kind <= GSYM_FXT_FLOW_END)
        subject = event_subject(&reader->events);
    else
        subject = other_subject(&reader->others, kind, reader->words.items + first_word,
                                legacy);
    return judge_subject(&reader->filter, &reader->strings, &subject, passes_ret)
               ? GSYM_OK
               : gsym_fail_memory(error);
}
