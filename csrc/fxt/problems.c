/* problems.c - list problems of a trace, or return them as errors. */
#include <stdio.h>

#include "fxt/reader.h"

enum { MAX_PROBLEMS = 1 << 16 }; /* more are only counted */

static const char *const TEXTS[] = {
    [GSYM_FXT_EMPTY_RECORDS] = "%llu bytes of records with size 0",
    [GSYM_FXT_TRUNCATED] = "the trace ends inside a record after %llu bytes",
    [GSYM_FXT_SHORT_RECORD] = "a record of %llu bytes is too short for its fields",
    [GSYM_FXT_LARGE_RECORD] = "a record of %llu bytes is too large for memory: skipped",
    [GSYM_FXT_UNDEFINED_STRING] = "string %llu is not defined",
    [GSYM_FXT_UNDEFINED_THREAD] = "thread %llu is not defined",
    [GSYM_FXT_NO_TICK_RATE] = "invalid tick rate: %llu ticks per second",
    [GSYM_FXT_WRONG_MAGIC] = "the magic number is %llu",
    [GSYM_FXT_FRAME_COUNT] = "a backtrace has %llu frames but declares more",
};

_Static_assert(sizeof TEXTS / sizeof *TEXTS == GSYM_FXT_FAULT_COUNT, "each has a text");

void gsym_fxt_problem_text(const gsym_fxt_problem *problem, char *text, size_t size) {
    snprintf(text, size, TEXTS[problem->fault], (unsigned long long)problem->detail);
}

gsym_status fxt_report(gsym_fxt_reader *reader, gsym_fxt_fault fault, uint64_t offset,
                       uint64_t detail, gsym_error *error) {
    gsym_fxt_problem problem = {offset, detail, fault, 0};
    char text[GSYM_ERROR_TEXT_SIZE];
    reader->counts.faults[fault]++;
    if (reader->is_strict) {
        gsym_fxt_problem_text(&problem, text, sizeof text);
        return gsym_fail(error, GSYM_E_FORMAT, offset, "%s", text);
    }
    if (reader->problems_kept == MAX_PROBLEMS) return GSYM_OK;
    if (!LIST_ADD(reader->problems, problem)) return gsym_fail_memory(error);
    reader->problems_kept++;
    return GSYM_OK;
}
