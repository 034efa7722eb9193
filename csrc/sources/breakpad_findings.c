/* breakpad_findings.c - count and list what a reader of Breakpad text found wrong. */
#include "sources/breakpad.h"

void breakpad_find(breakpad_findings *findings, gsym_breakpad_fault fault,
                   breakpad_position position, uint64_t value, uint64_t times) {
    if (times == 0) return;
    findings->counts[fault] += times;
    if (!findings->keeps_items || findings->kept.count >= GSYM_BREAKPAD_FINDING_LIMIT ||
        !LIST_RESERVE(findings->kept, 1))
        return; /* a finding for which there is no memory is only counted */
    findings->kept.items[findings->kept.count++] =
        (gsym_breakpad_finding){(uint32_t)fault, 0, position.line, position.offset, value};
}

void breakpad_findings_join(breakpad_findings *findings, const breakpad_findings *more) {
    size_t left = GSYM_BREAKPAD_FINDING_LIMIT - findings->kept.count;
    size_t count = more->kept.count < left ? more->kept.count : left;
    for (size_t i = 0; i < GSYM_BREAKPAD_FAULT_COUNT; ++i)
        findings->counts[i] += more->counts[i];
    if (count == 0 || !LIST_RESERVE(findings->kept, count)) return;
    memcpy(findings->kept.items + findings->kept.count, more->kept.items,
           count * sizeof *more->kept.items);
    findings->kept.count += count;
}

uint64_t gsym_breakpad_fault_count(const gsym_breakpad *breakpad,
                                   gsym_breakpad_fault fault) {
    if ((unsigned)fault >= GSYM_BREAKPAD_FAULT_COUNT) return 0;
    return breakpad->findings.counts[fault] + breakpad->encoder_findings.counts[fault];
}

/* Compare findings by line; those of one line by gsym_breakpad_fault. */
static int compare_findings(const void *left, const void *right) {
    const gsym_breakpad_finding *a = left, *b = right;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return a->fault < b->fault ? -1 : a->fault > b->fault;
}

const gsym_breakpad_finding *gsym_breakpad_findings(gsym_breakpad *breakpad,
                                                    size_t *count_ret) {
    gsym_breakpad_finding *items;
    size_t first = breakpad->findings.kept.count, count;
    /* Join both lists. Each has at most as many findings as are returned. */
    if (LIST_RESERVE(breakpad->findings.kept, breakpad->encoder_findings.kept.count) &&
        breakpad->encoder_findings.kept.count != 0)
        memcpy(breakpad->findings.kept.items + first, breakpad->encoder_findings.kept.items,
               breakpad->encoder_findings.kept.count * sizeof *items);
    count = first + breakpad->encoder_findings.kept.count;
    items = breakpad->findings.kept.items;
    breakpad->encoder_findings.kept.count = 0;
    if (count == 0) {
        *count_ret = 0;
        return items;
    }
    qsort(items, count, sizeof *items, compare_findings);
    if (count > GSYM_BREAKPAD_FINDING_LIMIT) count = GSYM_BREAKPAD_FINDING_LIMIT;
    breakpad->findings.kept.count = count;
    *count_ret = count;
    return items;
}
