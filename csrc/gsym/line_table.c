/* line_table.c - encode and decode InfoType 1: the rows of a function, as a small opcode
 * program.
 *
 *     sleb min_delta, sleb max_delta, uleb first_line, opcodes
 *     state: address = function start, file = 1, line = first_line
 *     00 EndSequence      stop
 *     01 SetFile uleb     file = n
 *     02 AdvancePC uleb   address += n, emit a row
 *     03 AdvanceLine sleb line += n
 *     04..FF special      a = opcode - 4; line += min_delta + a % range;
 *                         address += a / range; emit a row
 *
 * where range = max_delta - min_delta + 1. The encoder chooses the deltas as
 * LLVM does, so that equal rows give equal bytes. */
#include "gsym/function_info.h"

#include <inttypes.h>

enum {
    OP_END_SEQUENCE = 0,
    OP_SET_FILE = 1,
    OP_ADVANCE_PC = 2,
    OP_ADVANCE_LINE = 3,
    OP_FIRST_SPECIAL = 4,
    OP_LAST_SPECIAL = 255,

    WINDOW = 14, /* greatest max_delta - min_delta that the encoder chooses */

    NEAR = 128, /* deltas -NEAR .. NEAR - 1 are counted one by one */
    BUCKETS = 128,
    BUCKET_BITS = 4, /* a bucket is wider than WINDOW */
    FAR_ON_STACK = 256,

    ROWS_PER_RESERVE = 256,
    MAX_ROW_SIZE = 3 * (1 + MAX_LEB_SIZE) /* SetFile, AdvanceLine, AdvancePC */
};

/* ---- the line deltas of special opcodes ------------------------------------ */

typedef struct delta_window {
    int64_t min;
    int64_t max;
    uint32_t count; /* rows whose delta lies in it */
} delta_window;

/* Counts of all deltas of a table: the near ones exactly, the others summed in buckets of
 * neighbours, modulo BUCKETS. A window past the near ones touches two adjacent buckets at
 * most, so their sum bounds its count. Near deltas within a window of either edge are in a
 * bucket as well. The last item of each array has the deltas that the array does not count,
 * so that no branch depends on a delta. */
typedef struct delta_counts {
    uint32_t near[2 * NEAR + 1];
    uint32_t bucket[BUCKETS + 1];
    uint32_t bucketed; /* sum of bucket[], without the last one */
    uint32_t most;     /* greatest of these */
    uint64_t present[2 * NEAR / 64 + 1]; /* bits: which of near[] are not 0 */
} delta_counts;

static inline int64_t row_delta(const gsym_line_row *row) {
    return (int64_t)row[0].line - (int64_t)row[-1].line;
}

static inline uint32_t bucket_of(int64_t delta) {
    return (uint32_t)((uint64_t)delta >> BUCKET_BITS) & (BUCKETS - 1);
}

/* Whether all deltas of every window that contains this one are near. */
static inline bool is_inside(int64_t delta) {
    return (uint64_t)(delta + NEAR - WINDOW) < 2 * (NEAR - WINDOW);
}

static void count_deltas(delta_counts *counts, const gsym_line_row *rows, size_t count) {
    memset(counts, 0, sizeof *counts);
    for (size_t i = 1; i < count; ++i) {
        int64_t delta = row_delta(&rows[i]);
        uint64_t at = (uint64_t)(delta + NEAR);
        bool inside = is_inside(delta);
        uint32_t here;
        at = at < 2 * NEAR ? at : 2 * NEAR;
        counts->near[at]++;
        counts->present[at / 64] |= UINT64_C(1) << at % 64;
        here = ++counts->bucket[inside ? BUCKETS : bucket_of(delta)];
        here = inside ? 0 : here;
        counts->most = here > counts->most ? here : counts->most;
    }
    counts->bucketed = (uint32_t)(count - 1) - counts->bucket[BUCKETS];
}

/* Return the indexes in near[] of deltas that occur, in ascending order. */
static unsigned list_near(const delta_counts *counts, uint8_t list[2 * NEAR]) {
    unsigned count = 0;
    for (unsigned i = 0; i < 2 * NEAR / 64; ++i)
        for (uint64_t bits = counts->present[i]; bits != 0; bits &= bits - 1)
            list[count++] = (uint8_t)(64 * i + (unsigned)__builtin_ctzll(bits));
    return count;
}

/* Return the best window that starts and ends at near deltas. */
static delta_window best_near_window(const delta_counts *counts) {
    delta_window best = {0, 0, 0};
    uint8_t list[2 * NEAR];
    unsigned count = list_near(counts, list), end = 0;
    uint32_t sum = 0;
    for (unsigned i = 0; i < count && list[i] + WINDOW < 2 * NEAR; ++i) {
        for (; end < count && list[end] <= list[i] + WINDOW; ++end)
            sum += counts->near[list[end]];
        if (sum > best.count)
            best = (delta_window){list[i] - NEAR, list[end - 1] - NEAR, sum};
        sum -= counts->near[list[i]];
    }
    return best;
}

/* Whether a window that contains this delta, and some delta that is not near, may hold
 * `count` deltas. */
static inline bool may_reach(const delta_counts *counts, int64_t delta, uint32_t count) {
    uint32_t at = bucket_of(delta);
    uint32_t here = counts->bucket[at];
    return here + counts->bucket[(at + 1) & (BUCKETS - 1)] >= count ||
           here + counts->bucket[(at - 1) & (BUCKETS - 1)] >= count;
}

static bool may_any_reach(const delta_counts *counts, uint32_t count) {
    uint32_t max_sum = counts->bucket[BUCKETS - 1] + counts->bucket[0];
    if (counts->bucketed < count || 2 * (uint64_t)counts->most < count) return false;
    for (size_t i = 1; i < BUCKETS; ++i) {
        uint32_t sum = counts->bucket[i - 1] + counts->bucket[i];
        max_sum = sum > max_sum ? sum : max_sum;
    }
    return max_sum >= count;
}

static void sort_deltas(int64_t *deltas, size_t count) {
    size_t gap = 1;
    while (gap < count / 9) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < count; ++i) {
            int64_t delta = deltas[i];
            size_t at = i;
            for (; at >= gap && deltas[at - gap] > delta; at -= gap)
                deltas[at] = deltas[at - gap];
            deltas[at] = delta;
        }
    }
}

/* Return the best window of sorted deltas; of several equally good ones, the lowest. */
static delta_window best_sorted_window(const int64_t *deltas, size_t count) {
    delta_window best = {0, 0, 0};
    size_t end = 0;
    for (size_t i = 0; i < count; ++i) {
        while (end < count && deltas[end] - deltas[i] <= WINDOW) end++;
        if (end - i > best.count) {
            best.min = deltas[i];
            best.max = deltas[end - 1];
            best.count = (uint32_t)(end - i);
        }
    }
    return best;
}

/* Find the window that covers most deltas; the lowest if several do. */
static gsym_status best_window(const gsym_line_row *rows, size_t count,
                               delta_window *window_ret, gsym_error *error) {
    int64_t few[FAR_ON_STACK], *deltas = few;
    size_t candidates = 0;
    delta_counts counts;
    delta_window near, far;
    count_deltas(&counts, rows, count);
    near = best_near_window(&counts);
    if (!may_any_reach(&counts, near.count)) {
        *window_ret = near;
        return GSYM_OK;
    }
    for (size_t i = 1; i < count; ++i) {
        int64_t delta = row_delta(&rows[i]);
        if (is_inside(delta) || !may_reach(&counts, delta, near.count)) continue;
        if (candidates == FAR_ON_STACK) {
            deltas = malloc(count * sizeof *deltas);
            if (deltas == NULL) return gsym_fail_memory(error);
            memcpy(deltas, few, sizeof few);
        }
        deltas[candidates++] = delta;
    }
    sort_deltas(deltas, candidates);
    far = best_sorted_window(deltas, candidates);
    if (deltas != few) free(deltas);
    *window_ret = far.count > near.count || (far.count == near.count && far.min < near.min)
                      ? far
                      : near;
    return GSYM_OK;
}

static gsym_status choose_deltas(const gsym_line_row *rows, size_t count,
                                 delta_window *window_ret, gsym_error *error) {
    delta_window window = {0, 0, 0};
    if (count > 1) window.min = window.max = row_delta(&rows[1]);
    for (size_t i = 2; i < count && window.max - window.min <= WINDOW; ++i) {
        int64_t delta = row_delta(&rows[i]);
        if (delta < window.min) window.min = delta;
        if (delta > window.max) window.max = delta;
    }
    if (window.max - window.min > WINDOW)
        GSYM_TRY(best_window(rows, count, &window, error));
    if (window.min == window.max && window.min > 0 && window.min < WINDOW) window.min = 0;
    *window_ret = window;
    return GSYM_OK;
}

/* ---- encode ----------------------------------------------------------------- */

/* Return the difference of two lines, modulo 2^32 where it is below -2^31. */
static inline int64_t line_step(uint32_t from, uint32_t to) {
    int64_t step = (int64_t)to - (int64_t)from;
    return GSYM_LIKELY(step >= INT32_MIN) ? step : step + (INT64_C(1) << 32);
}

static gsym_status refuse_row(uint64_t address, uint64_t start, gsym_error *error) {
    if (address < start)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "LineEntry has address 0x%" PRIx64
                         " which is less than the function start address 0x%" PRIx64,
                         address, start);
    return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                     "LineEntry in LineTable not in ascending order");
}

/* Whether rows differ in their file or only move in address is hard to predict, so opcodes
 * are written in any case, and written over where they are not needed. */
static inline uint8_t *put_row(uint8_t *at, int64_t min_delta, uint64_t range, int64_t line,
                               uint64_t address) {
    uint64_t above = (uint64_t)(line - min_delta);
    uint64_t op = above + address * range + OP_FIRST_SPECIAL;
    uint8_t *next;
    if ((above < range) & (address <= OP_LAST_SPECIAL) & (op <= OP_LAST_SPECIAL)) {
        *at = (uint8_t)op;
        return at + 1;
    }
    *at = OP_ADVANCE_LINE;
    next = put_sleb_unchecked(at + 1, line);
    at = line != 0 ? next : at;
    *at = OP_ADVANCE_PC;
    return put_uleb_unchecked(at + 1, address);
}

/* Where checkpoints are collected, and which row gets the next one. A row takes fewer bytes
 * than the spacing of checkpoints, so no row gets two. */
typedef struct checkpoint_sink {
    index_source *source; /* collects the checkpoints; NULL: none are wanted */
    size_t payload; /* offset of the table in the output */
    size_t next;    /* offset from which a row gets the next one */
} checkpoint_sink;

static bool put_checkpoint(index_source *source, size_t at, uint64_t offset,
                           const gsym_line_row *row) {
    source->is_far |= offset > UINT32_MAX;
    line_checkpoint checkpoint = {(uint32_t)offset, (uint32_t)at, row->file, row->line};
    return LIST_ADD(source->checkpoints, checkpoint);
}

/* Encode up to ROWS_PER_RESERVE rows, after one reservation for the longest numbers. */
static gsym_status encode_rows(buffer *out, const delta_window *window, uint64_t start,
                               const gsym_line_row *rows, size_t count,
                               gsym_line_row *previous, checkpoint_sink *sink,
                               gsym_error *error) {
    uint64_t range = (uint64_t)(window->max - window->min) + 1;
    int64_t min_delta = window->min;
    gsym_line_row last = *previous;
    size_t next = sink->next;
    uint8_t *at, *with_file;
    if (!buffer_reserve(out, count * MAX_ROW_SIZE)) return gsym_fail_memory(error);
    at = out->bytes + out->size;
    for (size_t i = 0; i < count; ++i) {
        gsym_line_row row = rows[i];
        if (GSYM_UNLIKELY(row.address < last.address))
            return refuse_row(row.address, start, error);
        *at = OP_SET_FILE;
        with_file = put_uleb_unchecked(at + 1, row.file);
        at = row.file != last.file ? with_file : at;
        at = put_row(at, min_delta, range, line_step(last.line, row.line),
                     row.address - last.address);
        last = row;
        if (GSYM_LIKELY((size_t)(at - out->bytes) < next)) continue;
        next += INDEX_LINE_SPACING;
        if (!put_checkpoint(sink->source, (size_t)(at - out->bytes) - sink->payload,
                            row.address - start, &row))
            return gsym_fail_memory(error);
    }
    out->size = (size_t)(at - out->bytes);
    sink->next = next;
    *previous = last;
    return GSYM_OK;
}

gsym_status line_table_encode(buffer *out, uint64_t start, const gsym_line_row *rows,
                              size_t count, index_source *source, gsym_error *error) {
    gsym_line_row previous = {start, 1, 0};
    checkpoint_sink sink = {source, out->size, SIZE_MAX};
    delta_window window;
    if (count == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "a line table has no row");
    GSYM_TRY(choose_deltas(rows, count, &window, error));
    previous.line = rows[0].line;
    if (source != NULL) sink.next = out->size + INDEX_LINE_SPACING;
    buffer_put_sleb(out, window.min);
    buffer_put_sleb(out, window.max);
    buffer_put_uleb(out, previous.line);
    for (size_t i = 0; i < count; i += ROWS_PER_RESERVE) {
        size_t more = count - i < ROWS_PER_RESERVE ? count - i : ROWS_PER_RESERVE;
        GSYM_TRY(encode_rows(out, &window, start, rows + i, more, &previous, &sink,
                             error));
    }
    buffer_put_u8(out, OP_END_SEQUENCE);
    if (source != NULL) source->lines_size = out->size - sink.payload;
    return out->failed ? gsym_fail_memory(error) : GSYM_OK;
}

/* ---- decode ----------------------------------------------------------------- */

static gsym_status fail_at(const cursor *c, const uint8_t *at, const char *what,
                           gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, (uint64_t)(at - c->start), "%s", what);
}

static gsym_status line_program_begin(line_program *program, const cursor *payload,
                                      uint64_t start, gsym_error *error) {
    cursor c = *payload;
    const uint8_t *at = c.at;
    int64_t min, max;
    uint64_t range;
    min = cursor_short_sleb(&c);
    if (c.failed) return cursor_missing(&c, at, "LineTable MinDelta", error);
    at = c.at;
    max = cursor_short_sleb(&c);
    if (c.failed) return cursor_missing(&c, at, "LineTable MaxDelta", error);
    range = (uint64_t)max - (uint64_t)min + 1;
    if ((int64_t)range <= 0)
        return gsym_fail(error, GSYM_E_FORMAT, cursor_offset(payload),
                         "invalid LineTable deltas, min %" PRId64 " max %" PRId64, min,
                         max);
    at = c.at;
    program->row = (gsym_line_row){start, 1, (uint32_t)cursor_uleb_2(&c)};
    if (c.failed) return cursor_missing(&c, at, "LineTable FirstLine", error);
    program->min_delta = (uint64_t)min;
    /* Every range greater than the number of special opcodes acts like 256: the quotient is
     * 0. */
    program->range = range < 256 ? (uint32_t)range : 256;
    program->reciprocal = (65536 + program->range - 1) / program->range;
    program->c = c;
    return GSYM_OK;
}

static inline __attribute__((always_inline)) void
run_special(const line_program *p, uint32_t op, gsym_line_row *row) {
    uint32_t steps = ((op - OP_FIRST_SPECIAL) * p->reciprocal) >> 16;
    row->address += steps;
    row->line += (uint32_t)p->min_delta + (op - OP_FIRST_SPECIAL) - steps * p->range;
}

/* Run up to the next row. False at the end, with c.failed if the program is truncated. */
static inline __attribute__((always_inline)) bool line_program_next(line_program *p) {
    for (;;) {
        uint32_t op;
        if (GSYM_UNLIKELY(p->c.at == p->c.end)) {
            if (!p->c.failed) p->op = p->c.end; /* otherwise p->op stays at the opcode
                                                   whose operand is cut off */
            p->c.failed = true;
            return false;
        }
        p->op = p->c.at;
        op = cursor_u8_unchecked(&p->c);
        if (op >= OP_FIRST_SPECIAL) {
            run_special(p, op, &p->row);
            return true;
        }
        if (op == OP_ADVANCE_PC) {
            p->row.address += cursor_uleb_1(&p->c);
            return !p->c.failed;
        }
        if (op == OP_ADVANCE_LINE) p->row.line += (uint32_t)cursor_short_sleb(&p->c);
        else if (op == OP_SET_FILE)
            p->row.file = (uint32_t)cursor_uleb_1(&p->c);
        else return false;
    }
}

static gsym_status line_program_failure(cursor c, const uint8_t *op, gsym_error *error) {
    if (op == c.end) return fail_at(&c, op, "EOF found before EndSequence", error);
    switch (*op) {
        case OP_SET_FILE:
            return fail_at(&c, op + 1, "EOF found before SetFile value", error);
        case OP_ADVANCE_PC:
            return fail_at(&c, op + 1, "EOF found before AdvancePC value", error);
        default: return fail_at(&c, op + 1, "EOF found before AdvanceLine value", error);
    }
}

gsym_status line_table_decode(cursor *payload, uint64_t start, row_list *rows,
                              gsym_error *error) {
    line_program program;
    GSYM_TRY(line_program_begin(&program, payload, start, error));
    while (line_program_next(&program)) {
        if (!LIST_ADD(*rows, program.row)) return gsym_fail_memory(error);
    }
    if (program.c.failed) return line_program_failure(program.c, program.op, error);
    return GSYM_OK;
}

/* Continue after a checkpoint. */
static void line_program_resume(line_program *program, const cursor *payload,
                                uint64_t start, const line_checkpoint *checkpoint) {
    program->c.at = payload->at + checkpoint->at;
    program->row = (gsym_line_row){start + checkpoint->offset, checkpoint->file,
                                   checkpoint->line};
}

gsym_status line_table_find(const cursor *payload, uint64_t start, uint64_t address,
                            gsym_line_row *row_ret, gsym_error *error) {
    line_program begun, program;
    gsym_line_row row = {0, 0, 0};
    GSYM_TRY(line_program_begin(&begun, payload, start, error));
    program = begun; /* a copy: its address is not taken, so it can be in registers */
    while (line_program_next(&program)) {
        if (program.row.address > address) break;
        row = program.row;
    }
    if (program.c.failed) return line_program_failure(program.c, program.op, error);
    *row_ret = row;
    return GSYM_OK;
}

void line_table_find_after(const cursor *payload, const line_checkpoint *checkpoint,
                            uint64_t start, uint64_t address, gsym_line_row *row_ret) {
    line_program begun, program;
    gsym_line_row row;
    gsym_error ignored;
    *row_ret = (gsym_line_row){0, 0, 0};
    if (line_program_begin(&begun, payload, start, &ignored) != GSYM_OK) return;
    line_program_resume(&begun, payload, start, checkpoint);
    program = begun; /* a copy: its address is not taken, so it can be in registers */
    do row = program.row;
    while (line_program_next(&program) && program.row.address <= address);
    *row_ret = row;
}

bool line_table_checkpoints(const cursor *payload, checkpoint_list *list) {
    line_program begun, program;
    gsym_error ignored;
    size_t size = cursor_left(payload), next = INDEX_LINE_SPACING;
    uint64_t address = 0;
    if (size > UINT32_MAX ||
        line_program_begin(&begun, payload, 0, &ignored) != GSYM_OK)
        return false;
    program = begun; /* a copy: its address is not taken, so it can be in registers */
    while (line_program_next(&program)) {
        size_t at = (size_t)(program.c.at - payload->at);
        if (program.row.address - address > UINT32_MAX) return false;
        address = program.row.address;
        if (GSYM_LIKELY(at < next)) continue;
        next += INDEX_LINE_SPACING;
        /* The row is beyond 32 bits, or would have two checkpoints. */
        if (address > UINT32_MAX || at >= next) return false;
        list->items[list->count++] = (line_checkpoint){
            (uint32_t)address, (uint32_t)at, program.row.file, program.row.line};
    }
    return !program.c.failed && program.c.at == program.c.end && next >= size;
}

bool line_sweep_begin(line_sweep *sweep, const cursor *payload, uint64_t start) {
    gsym_error ignored;
    sweep->payload = *payload;
    sweep->start = start;
    sweep->row = (gsym_line_row){0, 0, 0};
    if (line_program_begin(&sweep->program, payload, start, &ignored) != GSYM_OK)
        return false;
    sweep->has_next = line_program_next(&sweep->program);
    return true;
}

void line_sweep_skip(line_sweep *sweep, const line_checkpoint *checkpoint) {
    if (sweep->payload.at + checkpoint->at <= sweep->program.c.at) return;
    line_program_resume(&sweep->program, &sweep->payload, sweep->start, checkpoint);
    sweep->row = sweep->program.row;
    sweep->has_next = line_program_next(&sweep->program);
}

void line_sweep_advance(line_sweep *sweep, uint64_t address) {
    while (sweep->has_next && sweep->program.row.address <= address) {
        sweep->row = sweep->program.row;
        sweep->has_next = line_program_next(&sweep->program);
    }
}

int line_table_compare_addresses(const cursor *left, const cursor *right) {
    line_program a, b;
    gsym_error ignored;
    if (line_program_begin(&a, left, 0, &ignored) != GSYM_OK ||
        line_program_begin(&b, right, 0, &ignored) != GSYM_OK)
        return 0;
    while (line_program_next(&a) && line_program_next(&b))
        if (a.row.address != b.row.address)
            return a.row.address < b.row.address ? -1 : 1;
    return 0;
}
