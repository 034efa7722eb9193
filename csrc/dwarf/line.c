/* line.c - run line programs of versions 2 to 6: rows, sequences, files.
 *
 * Each row takes at least one byte of the program. So memory for as many rows as the
 * program has bytes is reserved once, and appending a row needs no check.
 *
 * Source: DWARF 5, section 6.2; DWARF 2 to 4, section 6.2. */
#include "base/sort.h"
#include "base/system.h"
#include "dwarf/line.h"
#include "dwarf/values.h"

#define LARGE_PROGRAM (1u << 20) /* bytes from which its rows get huge pages */

typedef struct line_header {
    uint16_t version;
    uint8_t offset_size;
    uint8_t min_inst_length;
    uint8_t max_ops;
    uint8_t line_range;
    int8_t line_base;
    uint8_t opcode_base;
    uint8_t operand_counts[256];
} line_header;

void dwarf_line_table_deinit(dwarf_line_table *table) {
    free(table->files.items);
    free(table->directories.items);
    free(table->sources.items);
    free(table->sequences.items);
    free(table->by_low.items);
}

/* ---- header ----------------------------------------------------------------------- */

static inline bool add_directory(dwarf_line_table *table, line_string directory) {
    return LIST_ADD(table->directories, directory);
}

static inline bool add_file(dwarf_line_table *table, line_string name, uint64_t directory) {
    return LIST_ADD(table->files, (line_file){name, directory});
}

static line_string inline_string(cursor *c) {
    size_t size;
    const char *bytes = cursor_cstring(c, &size);
    return (line_string){.bytes = bytes, .raw = size};
}

static line_string string_at(uint16_t form, uint64_t raw) {
    return (line_string){.form = form, .raw = raw};
}

static dwarf_string find_string(const dwarf_unit *unit, const line_string *string) {
    if (string->bytes != NULL) return (dwarf_string){string->bytes, (size_t)string->raw};
    return dwarf_string_value(unit, string->form, string->raw);
}

dwarf_string dwarf_line_text(const dwarf_unit *unit, const line_string *string,
                             uint64_t *left) {
    if (string->bytes != NULL) return (dwarf_string){string->bytes, (size_t)string->raw};
    return dwarf_long_string_value(unit, string->form, string->raw, left);
}

/* Read a file of version 2 to 4 after its name: directory, time, size. */
static bool read_old_file(dwarf_line_table *table, cursor *c, line_string name) {
    uint64_t directory = cursor_uleb(c);
    cursor_skip_leb(c);
    cursor_skip_leb(c);
    return c->failed || add_file(table, name, directory);
}

static bool read_old_tables(dwarf_line_table *table, cursor *c) {
    line_string string;
    while ((string = inline_string(c)).raw > 0)
        if (!add_directory(table, string)) return false;
    while (!c->failed && (string = inline_string(c)).raw > 0)
        if (!read_old_file(table, c, string)) return false;
    return true;
}

#define MAX_ENTRY_FORMATS 255

typedef struct entry_formats {
    uint8_t count;
    uint16_t types[MAX_ENTRY_FORMATS];
    uint16_t forms[MAX_ENTRY_FORMATS];
} entry_formats;

/* Read one value of a version-5 entry into `raw` or `string`, which depends on its form. */
static bool read_form(const line_header *header, uint16_t form, cursor *c, uint64_t *raw,
                      line_string *string) {
    switch (form) {
        case DW_FORM_string: *string = inline_string(c); break;
        case DW_FORM_strp:
        case DW_FORM_strp_sup:
        case DW_FORM_line_strp:
            *string = string_at(form, cursor_uint(c, header->offset_size));
            break;
        case DW_FORM_sec_offset: cursor_skip(c, header->offset_size); break;
        case DW_FORM_strx: *string = string_at(form, cursor_uleb(c)); break;
        case DW_FORM_strx1:
        case DW_FORM_strx2:
        case DW_FORM_strx3:
        case DW_FORM_strx4:
            *string = string_at(form, cursor_uint(c, (unsigned)(form - DW_FORM_strx1 + 1)));
            break;
        case DW_FORM_data1:
        case DW_FORM_flag: *raw = cursor_u8(c); break;
        case DW_FORM_data2: *raw = cursor_u16(c); break;
        case DW_FORM_data4: *raw = cursor_u32(c); break;
        case DW_FORM_data8: *raw = cursor_u64(c); break;
        case DW_FORM_data16: cursor_skip(c, 16); break;
        case DW_FORM_udata: *raw = cursor_uleb(c); break;
        case DW_FORM_sdata: *raw = (uint64_t)cursor_sleb(c); break;
        case DW_FORM_block: cursor_skip(c, cursor_uleb(c)); break;
        case DW_FORM_block1: cursor_skip(c, cursor_u8(c)); break;
        case DW_FORM_block2: cursor_skip(c, cursor_u16(c)); break;
        case DW_FORM_block4: cursor_skip(c, cursor_u32(c)); break;
        default: return false;
    }
    return !c->failed;
}

/* Whether entries are as GCC writes them: a path in a string section and, of a file, the
 * number of its directory. */
static bool has_usual_formats(const entry_formats *formats, bool is_files) {
    return formats->count == 1 + is_files && formats->types[0] == DW_LNCT_path &&
           (formats->forms[0] == DW_FORM_line_strp || formats->forms[0] == DW_FORM_strp) &&
           (!is_files || (formats->types[1] == DW_LNCT_directory_index &&
                          formats->forms[1] == DW_FORM_udata));
}

/* Read entries of such formats, up to one that is cut off: then `at` has failed. False
 * where memory ran out. */
static bool read_usual_entries(dwarf_line_table *table, const line_header *header,
                               cursor *at, uint16_t form, uint64_t count, bool is_files) {
    cursor c = *at;
    bool is_done = true;
    for (; count > 0 && is_done; --count) {
        line_string name = string_at(form, cursor_strp(&c, header->offset_size));
        uint64_t directory = is_files ? cursor_uleb_1(&c) : 0;
        if (c.failed) break;
        is_done = is_files ? add_file(table, name, directory) : add_directory(table, name);
    }
    *at = c;
    return is_done;
}

/* Read a directory or file table of version 5. *is_known becomes false at a form of unknown
 * size. False where memory ran out. */
static bool read_table(dwarf_line_table *table, const line_header *header, cursor *c,
                       bool is_files, bool *is_known) {
    entry_formats formats;
    uint64_t count;
    formats.count = cursor_u8(c);
    for (unsigned i = 0; i < formats.count; ++i) {
        formats.types[i] = (uint16_t)cursor_uleb(c);
        formats.forms[i] = (uint16_t)cursor_uleb(c);
    }
    count = cursor_uleb(c);
    /* An entry has at least one byte: else a large count could fill memory. */
    if (count > cursor_left(c)) {
        *is_known = false;
        return true;
    }
    if (GSYM_LIKELY(has_usual_formats(&formats, is_files))) {
        if (!read_usual_entries(table, header, c, formats.forms[0], count, is_files))
            return false;
        *is_known = !c->failed;
        return true;
    }
    for (uint64_t n = 0; n < count; ++n) {
        line_string name = {.bytes = ""};
        uint64_t directory = 0;
        for (unsigned i = 0; i < formats.count; ++i) {
            line_string string = {.bytes = ""};
            uint64_t raw = 0;
            if (!read_form(header, formats.forms[i], c, &raw, &string)) {
                *is_known = false;
                return true;
            }
            if (formats.types[i] == DW_LNCT_path) name = string;
            if (formats.types[i] == DW_LNCT_directory_index) directory = raw;
            if (formats.types[i] == DW_LNCT_LLVM_source && is_files &&
                table->reads_sources &&
                !LIST_ADD(table->sources, (line_source){(uint32_t)n, string}))
                return false;
        }
        if (!(is_files ? add_file(table, name, directory) : add_directory(table, name)))
            return false;
    }
    return true;
}

/* Read the header and set `c` to the bytes of the program. *is_known is false if the tables
 * cannot be read. False where memory ran out. */
static bool read_header(dwarf_line_table *table, line_header *header, cursor *c,
                        bool *is_known) {
    uint64_t length, program;
    *is_known = false;
    length = dwarf_read_length(c, &header->offset_size);
    if (c->failed || length > cursor_left(c)) return true;
    c->end = c->at + length;
    table->end = cursor_offset(c) + length;
    header->version = cursor_u16(c);
    if (header->version < 2 || header->version > 6) return true;
    if (header->version >= 5) cursor_skip(c, 2); /* address and segment selector size */
    length = cursor_uint(c, header->offset_size);
    if (c->failed || length > cursor_left(c)) return true;
    program = cursor_offset(c) + length;
    header->min_inst_length = cursor_u8(c);
    header->max_ops = header->version >= 4 ? cursor_u8(c) : 1;
    (void)cursor_u8(c); /* default_is_stmt */
    header->line_base = (int8_t)cursor_u8(c);
    header->line_range = cursor_u8(c);
    header->opcode_base = cursor_u8(c);
    for (unsigned i = 1; i < header->opcode_base; ++i)
        header->operand_counts[i] = cursor_u8(c);
    if (c->failed) return true;
    table->version = header->version;
    *is_known = true;
    if (header->version < 5) {
        if (!read_old_tables(table, c)) return false;
    } else {
        if (!read_table(table, header, c, false, is_known)) return false;
        if (*is_known && !read_table(table, header, c, true, is_known)) return false;
    }
    /* Damaged tables leave the rows readable: the header says where they start. */
    c->at = c->start + program;
    *is_known = *is_known && !c->failed;
    c->failed = false;
    return true;
}

/* ---- program ------------------------------------------------------------------------ */

typedef struct line_state {
    uint64_t address;
    uint64_t place; /* place_of() the present file and line */
    uint32_t op_index;
    bool is_descending;
    gsym_line_row *sequence; /* first row of the present sequence */
    gsym_line_row *end;      /* of the rows */
    /* address and place of the row emitted last, which would be slow to read from memory */
    uint64_t previous_address;
    uint64_t last_place;
} line_state;

typedef struct line_run {
    dwarf_line_table *table;
    row_list *rows;
    const dwarf_unit *unit;
    warning_list *warnings;
    const line_header *header;
    uint64_t program_offset; /* of the present sequence */
    bool goes_back;          /* addresses descend in some sequence; the program is run
                                again and rows are sorted */
    bool sorts;              /* this is the second run, which sorts such sequences */
    line_calls *calls;       /* gets the inlined calls; NULL: they are not read */
    uint32_t call;           /* the innermost call of the next row, as in of_rows */
} line_run;

/* Join file and line in one number, so that both are compared and stored at once. */
static inline uint64_t place_of(uint32_t file, uint32_t line) {
    return (uint64_t)line << 32 | file;
}

/* No row has the last place: no table has a file with this number. */
static line_state begin_sequence(gsym_line_row *rows) {
    return (line_state){.place = place_of(1, 1),
                        .sequence = rows,
                        .end = rows,
                        .last_place = place_of(UINT32_MAX, UINT32_MAX)};
}

static inline void set_file(line_state *state, uint64_t file) {
    state->place = place_of((uint32_t)file, (uint32_t)(state->place >> 32));
}

static inline void add_lines(line_state *state, int64_t lines) {
    state->place += (uint64_t)lines << 32;
}

static inline void advance(line_state *state, const line_header *header, uint64_t count) {
    if (GSYM_LIKELY(header->max_ops <= 1)) {
        state->address += count * header->min_inst_length;
        return;
    }
    state->address += header->min_inst_length *
                      ((state->op_index + count) / header->max_ops);
    state->op_index = (uint32_t)((state->op_index + count) % header->max_ops);
}

/* Append a row unless it repeats file and line of the previous one. With `keeps_repeats`,
 * append every row: the rows will be sorted, which may put another row before it. */
static inline void emit(line_state *state, bool keeps_repeats) {
    *state->end = (gsym_line_row){state->address, (uint32_t)state->place,
                                  (uint32_t)(state->place >> 32)};
    if (GSYM_UNLIKELY(state->address < state->previous_address))
        state->is_descending = true;
    state->end += (state->place != state->last_place) | keeps_repeats;
    state->previous_address = state->address;
    state->last_place = state->place;
}

/* Clear the bit of object_isa_bit() in the rows of a sequence. Clear it in the end of the
 * sequence only if the start has it, because the end may be a label between functions,
 * which has no such bit. */
static void clear_isa_bit(line_state *state, uint64_t isa_bit) {
    if (isa_bit == 0 || state->end == state->sequence) return;
    state->address -= state->address & state->sequence->address & isa_bit;
    for (gsym_line_row *row = state->sequence; row < state->end; ++row)
        row->address &= ~isa_bit;
}

static bool is_row_before(const void *left, const void *right, const void *context) {
    const gsym_line_row *a = left, *b = right;
    (void)context;
    return a->address < b->address;
}

/* Keep a sequence if it is in code, and begin the next one. False where memory ran out. */
static bool end_sequence(line_run *run, line_state *state, uint64_t next_offset) {
    dwarf_line_table *table = run->table;
    const dwarf_input *input = run->unit->input;
    uint64_t low;
    bool is_kept;
    if (state->is_descending && !run->sorts) {
        run->goes_back = true;
        return true;
    }
    clear_isa_bit(state, input->isa_bit);
    /* Rows of CUDA do not descend; if they did, the calls of sorted rows would be lost. */
    if (state->is_descending && run->calls != NULL)
        memset(run->calls->of_rows.items + (state->sequence - run->rows->items), 0,
               (size_t)(state->end - state->sequence) * sizeof *run->calls->of_rows.items);
    if (state->is_descending &&
        !sort_stable(state->sequence, (size_t)(state->end - state->sequence),
                     sizeof *state->sequence, is_row_before, NULL))
        return false;
    low = state->end > state->sequence ? state->sequence->address : UINT64_MAX;
    /* With spans, each sequence is kept: its start may be outside of the program, but
     * functions after it inside. */
    is_kept = low < state->address &&
              (input->span_count != 0 || dwarf_in_text(input, low));
    if (state->is_descending && is_kept)
        dwarf_warn(run->warnings, GSYM_WARN_LINE_ORDER, run->program_offset, low);
    if (is_kept) {
        if (!LIST_RESERVE(table->sequences, 1)) return false;
        table->sequences.items[table->sequences.count++] = (line_sequence){
            low, state->address, (uint32_t)(state->sequence - run->rows->items),
            (uint32_t)(state->end - state->sequence), run->program_offset, false};
    }
    *state = begin_sequence(is_kept ? state->end : state->sequence);
    run->program_offset = next_offset;
    run->call = 0;
    return true;
}

/* Begin an inlined call, or end all calls. The caller must be an earlier row of the
 * sequence; in damaged input it may be another one, which ends all calls, too. */
static bool begin_call(line_run *run, const line_state *state, cursor *c) {
    uint64_t caller = cursor_uleb(c), name = cursor_uleb(c);
    run->call = 0;
    if (caller == 0) return true;
    if (c->failed || caller > (uint64_t)(state->end - state->sequence)) {
        dwarf_warn(run->warnings, GSYM_WARN_LINE_PROGRAM, run->program_offset, caller);
        return true;
    }
    if (!LIST_ADD(run->calls->calls, (line_call){(uint32_t)caller, name})) return false;
    run->call = (uint32_t)run->calls->calls.count;
    return true;
}

/* Note the call of the row that is emitted next. */
static inline void note_call(const line_run *run, const line_state *state) {
    run->calls->of_rows.items[state->end - run->rows->items] = run->call;
}

/* Run an extended opcode. False where memory ran out. */
static inline __attribute__((always_inline)) bool
run_extended(line_run *run, line_state *state, cursor *c) {
    uint64_t size = cursor_uleb(c);
    const uint8_t *next;
    if (c->failed || size == 0 || !cursor_need(c, size)) return true;
    next = c->at + size;
    switch (cursor_u8(c)) {
        case DW_LNE_end_sequence:
            c->at = next;
            if (!end_sequence(run, state, cursor_offset(c))) return false;
            break;
        case DW_LNE_set_address:
            state->address = size - 1 <= 8 ? cursor_uint(c, (unsigned)(size - 1)) : 0;
            state->op_index = 0;
            break;
        case DW_LNE_define_file:
            if (!read_old_file(run->table, c, inline_string(c))) return false;
            break;
        case DW_LNE_CUDA_inlined_call:
            if (run->calls != NULL && !begin_call(run, state, c)) return false;
            break;
        default: break;
    }
    c->at = next;
    return true;
}

/* Compute the advances of special opcodes, unless the last program had the same: most
 * programs of a file do. */
static void prepare_special(special_steps *special, const line_header *header) {
    if (special->opcode_base == header->opcode_base &&
        special->line_range == header->line_range &&
        special->line_base == header->line_base &&
        special->min_inst_length == header->min_inst_length)
        return;
    *special = (special_steps){.opcode_base = header->opcode_base,
                               .line_range = header->line_range,
                               .line_base = header->line_base,
                               .min_inst_length = header->min_inst_length};
    for (unsigned opcode = header->opcode_base; opcode < 256 && header->line_range > 0;
         ++opcode) {
        unsigned adjusted = opcode - header->opcode_base;
        special->steps[opcode].operations = (uint8_t)(adjusted / header->line_range);
        special->steps[opcode].advance =
            (uint16_t)(special->steps[opcode].operations * header->min_inst_length);
        special->steps[opcode].line =
            (uint32_t)(header->line_base + (int)(adjusted % header->line_range));
    }
}

/* Skip the operands of an unknown opcode, whose number is in the header. */
static void skip_operands(const line_header *header, cursor *c, uint8_t opcode) {
    for (unsigned i = 0; i < header->operand_counts[opcode]; ++i) cursor_skip_leb(c);
}

/* Skip an extended opcode that does not affect addresses and lines, such as the
 * discriminators that compilers write for every other row. False if it is another one. */
static inline bool skip_harmless(cursor *c) {
    size_t size;
    if (cursor_left(c) < 2) return false;
    size = cursor_peek_unchecked(c, 0);
    if (size >= 0x80 || size == 0 || size > cursor_left(c) - 1 ||
        cursor_peek_unchecked(c, 1) <= DW_LNE_define_file)
        return false;
    c->at += 1 + size;
    return true;
}

enum { BEFORE_ROW = 7 }; /* bytes that are left for run_before_row(), at least */

/* Run the opcodes that assemblers write before a row, in the order in which they do. Each
 * has a branch of its own, because processors predict these better than one jump to all
 * opcodes. */
static inline __attribute__((always_inline)) void run_before_row(line_state *state,
                                                                 cursor *c) {
    if (cursor_peek_unchecked(c, 0) == DW_LNS_set_file &&
        cursor_peek_unchecked(c, 1) < 0x80) {
        set_file(state, cursor_peek_unchecked(c, 1));
        c->at += 2;
    }
    if (cursor_peek_unchecked(c, 0) == DW_LNS_set_column &&
        cursor_peek_unchecked(c, 1) < 0x80)
        c->at += 2;
    c->at += cursor_peek_unchecked(c, 0) == DW_LNS_negate_stmt; /* too random to branch */
    if (cursor_peek_unchecked(c, 0) == DW_LNS_advance_line) {
        c->at += 1;
        add_lines(state, cursor_short_sleb(c));
    }
}

/* Run the opcodes of a program. False where memory ran out. Cursor and state are local and
 * stay in registers; functions for extended opcodes get copies. */
static inline __attribute__((always_inline)) bool
run_opcodes(line_run *run, cursor program, bool keeps_repeats, bool has_calls) {
    const line_header *header = run->header;
    const special_step *steps = run->table->special.steps;
    line_state state = begin_sequence(run->rows->items);
    cursor c = program;
    size_t roomy = header->opcode_base > DW_LNS_negate_stmt ? BEFORE_ROW : SIZE_MAX;
    const uint8_t *roomy_end = cursor_left(&c) < roomy ? c.at : c.end - roomy + 1;
    bool is_plain = header->max_ops <= 1;
    while (c.at < c.end) {
        uint8_t opcode;
        if (GSYM_LIKELY(c.at < roomy_end)) {
            run_before_row(&state, &c);
            if (GSYM_UNLIKELY(c.at >= c.end)) break;
            if (cursor_peek_unchecked(&c, 0) == DW_LNS_copy) {
                c.at += 1;
                if (has_calls) note_call(run, &state);
                emit(&state, keeps_repeats);
                continue;
            }
        }
        opcode = cursor_u8_unchecked(&c);
        if (opcode >= header->opcode_base) {
            if (GSYM_UNLIKELY(header->line_range == 0)) break;
            if (GSYM_LIKELY(is_plain))
                state.address += steps[opcode].advance;
            else
                advance(&state, header, steps[opcode].operations);
            add_lines(&state, steps[opcode].line);
            if (has_calls) note_call(run, &state);
            emit(&state, keeps_repeats);
            continue;
        }
        switch (opcode) {
            case 0:
                if (has_calls || !skip_harmless(&c)) {
                    line_state state_copy = state;
                    cursor copy = c;
                    if (!run_extended(run, &state_copy, &copy)) return false;
                    if (GSYM_UNLIKELY(run->goes_back)) return true;
                    state = state_copy;
                    c = copy;
                    if (GSYM_UNLIKELY(c.failed)) c.at = c.end;
                }
                break;
            case DW_LNS_copy:
                if (has_calls) note_call(run, &state);
                emit(&state, keeps_repeats);
                break;
            case DW_LNS_advance_pc: advance(&state, header, cursor_uleb_2(&c)); break;
            case DW_LNS_advance_line: add_lines(&state, cursor_short_sleb(&c)); break;
            case DW_LNS_set_file: set_file(&state, cursor_uleb_2(&c)); break;
            case DW_LNS_set_column:
            case DW_LNS_set_isa: cursor_skip_leb(&c); break;
            case DW_LNS_negate_stmt:
            case DW_LNS_set_basic_block:
            case DW_LNS_set_prologue_end:
            case DW_LNS_set_epilogue_begin: break;
            case DW_LNS_const_add_pc:
                advance(&state, header, steps[255].operations);
                break;
            case DW_LNS_fixed_advance_pc:
                state.address += cursor_u16(&c);
                state.op_index = 0;
                break;
            default: skip_operands(header, &c, opcode); break;
        }
        /* A read past the end moves the cursor to the end, so the loop ends there. */
    }
    if (state.end > state.sequence) /* the program was cut off inside of a sequence */
        dwarf_warn(run->warnings, GSYM_WARN_LINE_PROGRAM, run->program_offset,
                   state.address);
    run->rows->count = (size_t)(state.sequence - run->rows->items);
    return true;
}

/* Run a program, a second time if rows must be sorted. False where memory ran out. */
static bool run_program(line_run *run, cursor program) {
    dwarf_line_table *table = run->table;
    size_t file_count = table->files.count;
    uint64_t program_offset = run->program_offset;
    if (run->calls != NULL) {
        run->sorts = true; /* so that the program is run once */
        return run_opcodes(run, program, true, true);
    }
    if (!run_opcodes(run, program, false, false)) return false;
    if (GSYM_LIKELY(!run->goes_back)) return true;
    table->files.count = file_count;
    table->sequences.count = 0;
    run->program_offset = program_offset;
    run->goes_back = false;
    run->sorts = true;
    return run_opcodes(run, program, true, false);
}

/* ---- the table -------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right) {
    const sequence_entry *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return a->sequence < b->sequence ? -1 : 1;
}

static bool sort_by_low(dwarf_line_table *table) {
    size_t count = table->sequences.count;
    sequence_entry *entries;
    uint64_t reach = 0;
    bool ascends = true; /* linkers usually leave sequences in order */
    if (!LIST_RESERVE(table->by_low, count + 1)) return false;
    entries = table->by_low.items;
    for (size_t i = 0; i < count; ++i) {
        uint64_t low = table->sequences.items[i].low;
        entries[i] = (sequence_entry){low, 0, (uint32_t)i};
        ascends &= i == 0 || entries[i - 1].low <= low;
    }
    if (!ascends) qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; ++i) {
        uint64_t high = table->sequences.items[entries[i].sequence].high;
        if (high > reach) reach = high;
        entries[i].reach = reach;
    }
    table->by_low.count = count;
    return true;
}

static void clear(dwarf_line_table *table) {
    table->version = 0;
    table->end = 0;
    table->files.count = table->directories.count = table->sources.count = 0;
    table->sequences.count = table->by_low.count = 0;
}

static bool run_line_program(dwarf_line_table *table, row_list *rows, line_calls *calls,
                             const dwarf_unit *unit, dwarf_budget *budget,
                             warning_list *warnings) {
    line_header header = {0};
    line_run run = {.table = table,
                    .rows = rows,
                    .unit = unit,
                    .warnings = warnings,
                    .header = &header,
                    .calls = calls};
    cursor c;
    bool is_known;
    clear(table);
    rows->count = 0;
    if (!unit->has_stmt_list) return true;
    c = dwarf_section(unit->input, GSYM_DEBUG_LINE, unit->stmt_list);
    if (!read_header(table, &header, &c, &is_known)) return false;
    if (!is_known)
        dwarf_warn(warnings, GSYM_WARN_LINE_PROGRAM, unit->stmt_list, table->version);
    if (table->version == 0) return true;
    if (!dwarf_spend(&budget->lines, table->end - unit->stmt_list)) return false;
    if (cursor_left(&c) >= UINT32_MAX) return true;
    if (!LIST_RESERVE(*rows, cursor_left(&c) + 1)) return false;
    if (cursor_left(&c) >= LARGE_PROGRAM)
        pages_enlarge(rows->items, rows->capacity * sizeof *rows->items);
    if (calls != NULL && !LIST_RESERVE(calls->of_rows, cursor_left(&c) + 1)) return false;
    run.program_offset = cursor_offset(&c);
    prepare_special(&table->special, &header);
    return run_program(&run, c) && sort_by_low(table);
}

bool dwarf_run_line_program(dwarf_line_table *table, row_list *rows, const dwarf_unit *unit,
                            dwarf_budget *budget, warning_list *warnings) {
    return run_line_program(table, rows, NULL, unit, budget, warnings);
}

bool dwarf_run_line_program_with_calls(dwarf_line_table *table, row_list *rows,
                                       line_calls *calls, const dwarf_unit *unit,
                                       dwarf_budget *budget, warning_list *warnings) {
    calls->calls.count = 0;
    return run_line_program(table, rows, calls, unit, budget, warnings);
}

bool dwarf_read_line_files(dwarf_line_table *table, const dwarf_unit *unit) {
    line_header header = {0};
    cursor c;
    bool is_known;
    clear(table);
    if (!unit->has_stmt_list) return true;
    c = dwarf_section(unit->input, GSYM_DEBUG_LINE, unit->stmt_list);
    return read_header(table, &header, &c, &is_known);
}

/* ---- files --------------------------------------------------------------------------- */

const line_file *dwarf_line_table_file(const dwarf_line_table *table, uint64_t index,
                                       bool *is_none) {
    *is_none = table->version < 5 && index == 0;
    if (table->version < 5) --index; /* older versions count files from 1; index 0
                                        becomes a number out of range */
    return index < table->files.count ? &table->files.items[index] : NULL;
}

static bool is_separator(char c) { return c == '/' || c == '\\'; }

/* Whether a path is absolute on some system: `/x`, `C:\x`, `\\host\x`. */
static bool is_absolute(const dwarf_string *path) {
    const char *bytes = path->bytes;
    if (path->size > 0 && bytes[0] == '/') return true;
    if (path->size < 3) return false;
    if (bytes[1] == ':' && is_separator(bytes[2]))
        return (bytes[0] | 0x20) >= 'a' && (bytes[0] | 0x20) <= 'z';
    return bytes[0] == '\\' && bytes[1] == '\\' && !is_separator(bytes[2]);
}

static void append_part(buffer *out, size_t path_first, const dwarf_string *part) {
    if (part->size == 0) return;
    if (out->size > path_first && out->bytes[out->size - 1] != '/' && part->bytes[0] != '/')
        buffer_put_u8(out, '/');
    buffer_put(out, part->bytes, part->size);
}

/* Return the directory to which relative directories are relative: directory 0 of version 5
 * if it is absolute, else the comp_dir of the unit. */
static dwarf_string base_directory(const dwarf_line_table *table, const dwarf_unit *unit) {
    if (table->version >= 5 && table->directories.count > 0) {
        dwarf_string first = find_string(unit, &table->directories.items[0]);
        if (is_absolute(&first)) return first;
    }
    return unit->comp_dir;
}

void dwarf_line_table_path(const dwarf_line_table *table, const line_file *file,
                           const dwarf_unit *unit, buffer *out) {
    dwarf_string directory = {"", 0}, name = find_string(unit, &file->name);
    size_t first = out->size;
    uint64_t index = file->directory;
    if (!is_absolute(&name)) {
        bool is_comp_dir = index == 0; /* in version 5 directory 0 is the comp_dir; older
                                          versions do not list it */
        if (table->version < 5) --index;
        if (index < table->directories.count)
            directory = find_string(unit, &table->directories.items[index]);
        if ((table->version < 5 || !is_comp_dir) && !is_absolute(&directory)) {
            dwarf_string base = base_directory(table, unit);
            append_part(out, first, &base);
        }
        append_part(out, first, &directory);
    }
    append_part(out, first, &name);
}
