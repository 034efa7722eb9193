/* fxt_subjects.c - what a filter judges the record that was read last by. */
#include "fxt/fxt_reader.h"

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

/* Processes and threads stand next to each other in `words`, which are the fields. */
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

/* What other records are read by is handed out whatever is asked for. */
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
    return fxt_filter_judge(&reader->filter, &reader->strings, &subject, passes_ret)
               ? GSYM_OK
               : gsym_fail_memory(error);
}
