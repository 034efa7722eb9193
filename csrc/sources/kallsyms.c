/* kallsyms.c - add the functions that a kernel of Linux lists itself.
 *
 * A stripped kernel has the names and addresses of its functions in .rodata, where it reads
 * them for its messages. Nothing names the parts of this table, so they are found by
 * content, in this order:
 *   tokens     256 strings; that of a digit is the digit
 *   index      their offsets, 16 bits each, right after them
 *   markers    before the tokens: the offset of every 256th name, 32 bits or a word
 *   names      their count; then for each its length and as many tokens; before the markers
 *   addresses  before that number or, since Linux 6.4, after the index: words, or 32 bits
 *              each and a base
 *
 * Source: Linux 4.0 to 6.12, which writes it in scripts/ and reads it in kernel/. */
#include "sources/conversion.h"
#include "sources/symbols.h"

enum {
    TOKEN_COUNT = 256,
    FIRST_DIGIT = '0',
    TOKENS_SIZE = 1 << 16, /* the most that the index can reach */
    TOKENS_STEPS = 1 << 12, /* what it costs to read them */
    NAMES_OF_MARKER = 256,
    LONG_LENGTH = 0x80, /* the length has a second byte, since Linux 6.1 */
    MAX_NAME = 512,
    MIN_ENTRY = 2, /* bytes of a name: its length and a token */
    MAX_ENTRY = 2 + MAX_NAME,
    MIN_MARKERS = 16, /* the smallest kernels have some 10,000 symbols */
    MAX_PADDING = 512, /* around the names, of 256 bytes each */
    MIN_CODE_SHARE = 16 /* one of so many addresses is in code, else they are others */
};

/* Limit: Steps of reading the symbol table of a kernel */
LIMIT(KERNEL_STEPS, 1 << 20, 4);

typedef enum address_kind {
    WORDS,          /* addresses */
    OFFSETS,        /* 32 bits each, which are added to the base */
    OFFSETS_PER_CPU /* the same with a sign: below 0 they are subtracted from the base less
                       one, else they are addresses of variables of a processor */
} address_kind;

typedef struct kernel_table {
    gsym_conversion *conversion;
    const elf_object *elf;
    const uint8_t *data; /* a section or segment; all offsets are in it */
    size_t size;
    uint64_t steps_left;
    range_list code;
    uint64_t lowest; /* the lowest address of a section */
    unsigned word;
    uint16_t token_offsets[TOKEN_COUNT];
    uint64_t tokens, index_end;
    uint64_t markers, marker_count;
    unsigned marker_size;
    uint64_t count_offset, names;
    uint32_t count;
    address_kind kind;
    uint64_t addresses, base;
    buffer name; /* scratch */
} kernel_table;

static const unsigned alignments[] = {4, 8, 16, 256};
enum { ALIGNMENT_COUNT = sizeof alignments / sizeof *alignments };

static uint64_t align_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

static cursor table_cursor(const kernel_table *table, uint64_t offset) {
    return cursor_at(table->data, table->size, offset,
                     table->elf->object.header.big_endian != 0);
}

/* Spend steps; false if none are left. */
static bool spend(kernel_table *table, uint64_t steps) {
    if (steps > table->steps_left) {
        if (table->steps_left > 0)
            dwarf_warn(conversion_warnings(table->conversion), GSYM_WARN_LIMIT, 0, 0);
        table->steps_left = 0;
        return false;
    }
    table->steps_left -= steps;
    return true;
}

/* ---- tokens -------------------------------------------------------------------------- */

/* Return whether the tokens, followed by their index, start at an offset. */
static bool open_tokens_at(kernel_table *table, uint64_t start) {
    cursor c = table_cursor(table, start);
    uint64_t end;
    if (!spend(table, TOKENS_STEPS)) return false;
    if (cursor_left(&c) > TOKENS_SIZE) c.end = c.at + TOKENS_SIZE;
    for (size_t i = 0; i < TOKEN_COUNT; ++i) {
        size_t size;
        table->token_offsets[i] = (uint16_t)(cursor_offset(&c) - start);
        (void)cursor_cstring(&c, &size);
    }
    if (c.failed) return false;
    end = cursor_offset(&c);
    for (size_t a = 0; a < ALIGNMENT_COUNT; ++a) {
        uint64_t offset = align_up(end, alignments[a]);
        size_t i = 0;
        c = table_cursor(table, offset);
        while (i < TOKEN_COUNT && cursor_u16(&c) == table->token_offsets[i]) ++i;
        if (i < TOKEN_COUNT || c.failed) continue;
        table->tokens = start;
        table->index_end = cursor_offset(&c);
        return true;
    }
    return false;
}

/* Find the start of the tokens from that of the digit 0. Padding or a marker, whose last
 * byte need not be 0, is before the first token, which is aligned. */
static bool open_tokens_before(kernel_table *table, uint64_t digits) {
    uint64_t start = digits, end;
    for (size_t i = 0; i < FIRST_DIGIT; ++i) {
        if (start == 0 || table->data[start - 1] != 0) return false;
        end = --start;
        while (start > 0 && table->data[start - 1] != 0) --start;
        if (digits - start > TOKENS_SIZE) return false;
    }
    for (start = align_up(start, 4); start <= end; start += 4)
        if (open_tokens_at(table, start)) return true;
    return false;
}

static bool find_tokens(kernel_table *table) {
    static const char digits[] = "0\0" "1\0" "2\0" "3\0" "4\0" "5\0" "6\0" "7\0" "8\0" "9";
    const uint8_t *at = table->data, *end = at + table->size;
    if (!spend(table, table->size)) return false; /* sections may overlap */
    while ((size_t)(end - at) >= sizeof digits) {
        at = memchr(at, digits[0], (size_t)(end - at) - sizeof digits + 1);
        if (at == NULL) return false;
        if (memcmp(at, digits, sizeof digits) == 0 &&
            (open_tokens_before(table, (uint64_t)(at - table->data)) ||
             table->steps_left == 0))
            return table->steps_left > 0;
        ++at;
    }
    return false;
}

/* ---- names --------------------------------------------------------------------------- */

static uint64_t read_marker(cursor *c, unsigned size) {
    return size == 4 ? cursor_u32(c) : cursor_u64(c);
}

/* Count the markers from an offset on, which ascend from 0 by what 256 names may take. */
static uint64_t count_markers(const kernel_table *table, uint64_t offset, unsigned size) {
    cursor c = table_cursor(table, offset);
    uint64_t count = 1, last = 0;
    if (read_marker(&c, size) != 0) return 0;
    while (cursor_offset(&c) + size <= table->tokens) {
        uint64_t next = read_marker(&c, size);
        if (next - last < MIN_ENTRY * NAMES_OF_MARKER ||
            next - last > MAX_ENTRY * NAMES_OF_MARKER)
            break;
        last = next;
        ++count;
    }
    return count;
}

static bool find_markers(kernel_table *table) {
    if (!spend(table, table->tokens)) return false;
    for (uint64_t offset = table->tokens & ~UINT64_C(3); offset >= 4; offset -= 4)
        for (unsigned size = 4; size <= table->word; size += 4) {
            uint64_t count = count_markers(table, offset - 4, size);
            if (count < MIN_MARKERS) continue;
            table->markers = offset - 4;
            table->marker_size = size;
            table->marker_count = count;
            return true;
        }
    return false;
}

/* Return a cursor over the tokens of the next name. */
static cursor next_name(cursor *c) {
    size_t length = cursor_u8(c);
    cursor name;
    if (length & LONG_LENGTH)
        length = (length & (LONG_LENGTH - 1)) | (size_t)cursor_u8(c) << 7;
    name = *c;
    if (length == 0 || length > MAX_NAME) c->failed = true;
    cursor_skip(c, length);
    if (!c->failed) name.end = c->at;
    return name;
}

/* Whether the names start at an offset: they are where the markers say, and end before
 * these. */
static bool open_names_at(kernel_table *table, uint64_t start, uint32_t count) {
    cursor c = table_cursor(table, start), markers = table_cursor(table, table->markers);
    for (uint32_t i = 0; i < count; ++i) {
        if (i % NAMES_OF_MARKER == 0 &&
            (cursor_offset(&c) - start != read_marker(&markers, table->marker_size) ||
             !spend(table, NAMES_OF_MARKER)))
            return false;
        (void)next_name(&c);
        if (c.failed) return false;
    }
    if (cursor_offset(&c) > table->markers ||
        table->markers - cursor_offset(&c) >= alignments[ALIGNMENT_COUNT - 1])
        return false;
    table->names = start;
    table->count = count;
    return true;
}

/* Find the count, which is 32 bits or the low half of a word, and the names after it. */
static bool find_names(kernel_table *table) {
    uint64_t last_marker = table->markers + (table->marker_count - 1) * table->marker_size;
    cursor c = table_cursor(table, last_marker);
    uint64_t last = read_marker(&c, table->marker_size), offset = 0;
    uint64_t reach = last + MAX_ENTRY * NAMES_OF_MARKER + MAX_PADDING;
    if (last > table->markers) return false;
    if (reach < table->markers) offset = align_up(table->markers - reach, 4);
    for (; offset + last < table->markers; offset += 4) {
        c = table_cursor(table, offset);
        uint32_t count = cursor_u32(&c);
        if (count == 0 || (count - 1) / NAMES_OF_MARKER + 1 != table->marker_count)
            continue;
        for (size_t a = 0; a < ALIGNMENT_COUNT; ++a)
            if (open_names_at(table, align_up(offset + 4, alignments[a]), count)) {
                table->count_offset = offset;
                return true;
            }
    }
    return false;
}

/* ---- addresses ----------------------------------------------------------------------- */

static uint64_t address_of(const kernel_table *table, uint32_t number) {
    unsigned size = table->kind == WORDS ? table->word : 4;
    cursor c = table_cursor(table, table->addresses + (uint64_t)number * size);
    uint64_t value = cursor_uint(&c, size);
    if (table->kind == WORDS) return value;
    if (table->kind == OFFSETS_PER_CPU) {
        int32_t offset = (int32_t)(uint32_t)value;
        if (offset >= 0) return value;
        value = UINT64_MAX - (uint64_t)(int64_t)offset;
    }
    value += table->base;
    return table->word == 4 ? (uint32_t)value : value;
}

/* Return the end of the code that has an address; 0 for another address. */
static uint64_t end_of_code(const kernel_table *table, uint64_t address) {
    size_t at = 0;
    SEARCH_SORTED(at, table->code.count, table->code.items[middle].end <= address);
    return at < table->code.count && table->code.items[at].start <= address
               ? table->code.items[at].end
               : 0;
}

/* Return whether addresses start at an offset: they ascend, and many are in code. That of a
 * kernel without headers may be anywhere, but no longer than the kernel. */
static bool open_addresses_at(kernel_table *table, address_kind kind, uint64_t offset,
                              uint64_t base) {
    uint64_t size = kind == WORDS ? table->word : 4, last = 0;
    uint64_t first = base;
    uint32_t in_code = 0;
    bool is_bare = table->lowest == 0;
    if (offset > table->size || (table->size - offset) / size < table->count) return false;
    table->kind = kind;
    table->addresses = offset;
    table->base = base;
    for (uint32_t i = 0; i < table->count; ++i) {
        uint64_t address = address_of(table, i);
        if (address < last) return false;
        if (first == 0) first = address;
        in_code += address > last && end_of_code(table, address) != 0 &&
                   (!is_bare || address - first < table->size);
        last = address;
    }
    return in_code > table->count / MIN_CODE_SHARE;
}

/* ---- relocations --------------------------------------------------------------------- */

enum { RELA_SIZE = 24, KERNEL_ALIGNMENT = 1 << 16, BASE_ALIGNMENT = 1 << 12 };

typedef struct relocation {
    uint64_t place, type, value;
} relocation;

/* Return the type of relocations that add the distance of the kernel from where it was
 * linked to be; 0 if it is not known. */
static uint64_t relative_type(const kernel_table *table) {
    switch (table->elf->object.header.machine) {
        case EM_AARCH64: return 1027;
        case EM_S390: return 12;
        case EM_RISCV:
        case EM_LOONGARCH: return 3;
        default: return 0;
    }
}

enum { R_390_64 = 22 };

/* Read an entry of the relocations of a kernel that moves itself: address of the place,
 * type, value. False if none is there. On s390 that of the base has a symbol, _text, which
 * is where the image starts. */
static bool read_relocation(const kernel_table *table, uint64_t at, uint64_t base_offset,
                            relocation *ret) {
    cursor c = table_cursor(table, at);
    ret->place = cursor_u64(&c);
    ret->type = cursor_u64(&c);
    ret->value = cursor_u64(&c);
    if (table->elf->object.header.machine == EM_S390 && (uint32_t)ret->type == R_390_64) {
        ret->type = relative_type(table);
        ret->value = ret->place - base_offset;
    }
    return !c.failed && ret->type == relative_type(table) && ret->place % 8 == 0 &&
           ret->place >= KERNEL_ALIGNMENT && /* smaller numbers are not places */
           ret->place - ret->value + table->size < 2 * table->size;
}

/* Return the base that a relocation gives, whose place is at `base_offset`; 0 if there is
 * none. The image starts at a multiple of KERNEL_ALIGNMENT, and all places are in it. */
static uint64_t relocated_base(kernel_table *table, uint64_t base_offset) {
    uint64_t first = UINT64_MAX, last = 0, start = 0, base = 0;
    relocation entry, next;
    if (table->word != 8 || relative_type(table) == 0 || !spend(table, table->size))
        return 0;
    for (uint64_t at = 0; at < table->size; at += 8) {
        if (!read_relocation(table, at, base_offset, &entry) ||
            !read_relocation(table, at + RELA_SIZE, base_offset, &next))
            continue;
        if (entry.place < first) first = entry.place;
        if (entry.place > last) last = entry.place;
        at += RELA_SIZE - 8;
        if ((entry.place - base_offset) % KERNEL_ALIGNMENT != 0 ||
            entry.value % BASE_ALIGNMENT != 0 ||
            entry.value - (entry.place - base_offset) >= table->size)
            continue;
        if (start != 0 && start <= first && last - start < table->size) continue;
        start = entry.place - base_offset;
        base = entry.value;
    }
    return start <= first && last - start < table->size ? base : 0;
}

/* ---- offsets and words --------------------------------------------------------------- */

/* Whether offsets are there whose base is at `base_offset`. Where a relocation gives the
 * base, as on ARM64, its place has 0; it is the lowest address of the kernel. */
static bool open_offsets_at(kernel_table *table, uint64_t offset, uint64_t base_offset) {
    cursor c = table_cursor(table, base_offset);
    uint64_t base = cursor_uint(&c, table->word);
    if (c.failed || base_offset % table->word != 0) return false;
    if (base == 0) base = table->lowest;
    if (base == 0) {
        /* Few places have ascending offsets, and the search reads all. */
        if (!open_addresses_at(table, OFFSETS, offset, 0) &&
            !open_addresses_at(table, OFFSETS_PER_CPU, offset, 0))
            return false;
        base = relocated_base(table, base_offset);
        if (base == 0) return false;
    }
    return open_addresses_at(table, OFFSETS, offset, base) ||
           open_addresses_at(table, OFFSETS_PER_CPU, offset, base);
}

static bool find_addresses(kernel_table *table) {
    uint64_t count = table->count;
    for (size_t i = 0; i < ALIGNMENT_COUNT; ++i) {
        uint64_t a = alignments[i], offsets_size = align_up(4 * count, a);
        uint64_t words_size = align_up(table->word * count, a);
        uint64_t offset = align_up(table->index_end, a);
        uint64_t end = table->count_offset & ~(a - 1);
        uint64_t base_size = align_up(table->word, a);
        if (!spend(table, 6 * count)) return false;
        if (open_offsets_at(table, offset, offset + offsets_size)) return true;
        if (end >= base_size + offsets_size &&
            open_offsets_at(table, end - base_size - offsets_size, end - base_size))
            return true;
        if (end >= words_size && open_addresses_at(table, WORDS, end - words_size, 0))
            return true;
    }
    return false;
}

/* ---- functions ----------------------------------------------------------------------- */

/* Expand the tokens of a name, whose first character is the type of the symbol; false if
 * it is too long. */
static bool expand_name(kernel_table *table, cursor tokens) {
    table->name.size = 0;
    while (cursor_left(&tokens) > 0) {
        uint8_t token = cursor_u8(&tokens);
        cursor c = table_cursor(table, table->tokens + table->token_offsets[token]);
        size_t size;
        const char *text = cursor_cstring(&c, &size);
        if (c.failed || !spend(table, size + 1) || size > MAX_NAME - table->name.size)
            return false;
        buffer_put(&table->name, text, size);
    }
    return !table->name.failed;
}

static gsym_status add_function(kernel_table *table, gsym_range range, gsym_error *error) {
    gsym_creator *creator = conversion_creator(table->conversion);
    const uint8_t *stored;
    symbol_binding binding;
    size_t size = table->name.size - 1;
    if (table->name.size < 2) return GSYM_OK;
    switch (table->name.bytes[0]) {
        case 'T': binding = SYMBOL_GLOBAL; break;
        case 'W':
        case 'w': binding = SYMBOL_WEAK; break;
        case 't': binding = SYMBOL_LOCAL; break;
        default: return GSYM_OK;
    }
    GSYM_TRY(creator_store(creator, table->name.bytes + 1, size, &stored, error));
    return creator_keep_symbol(creator, range.start, range.end - range.start,
                               (const char *)stored, size, binding, error);
}

/* Add the functions, each of which extends to the next address of a symbol. */
static gsym_status add_functions(kernel_table *table, gsym_error *error) {
    cursor c = table_cursor(table, table->names);
    uint32_t next = 0;
    for (uint32_t i = 0; i < table->count; ++i) {
        cursor tokens = next_name(&c);
        gsym_range range = {.start = address_of(table, i)};
        range.end = end_of_code(table, range.start);
        if (next <= i) next = i + 1;
        while (next < table->count && address_of(table, next) == range.start) ++next;
        if (next < table->count && address_of(table, next) < range.end)
            range.end = address_of(table, next);
        if (range.end == 0 ||
            !creator_needs_symbol(conversion_creator(table->conversion), range.start,
                                  range.end - range.start))
            continue;
        if (expand_name(table, tokens)) GSYM_TRY(add_function(table, range, error));
        if (table->name.failed) return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

/* A section, or a segment of a kernel without section headers. */
typedef struct kernel_part {
    cursor bytes;
    uint64_t address, size;
    bool holds_code, may_have_table;
} kernel_part;

/* Move to the next part that is loaded; false at the end. */
static bool next_part(const elf_object *elf, uint32_t *index, kernel_part *ret) {
    uint64_t offset, size;
    while (elf->object.header.section_count > 0) {
        elf_section section;
        if (++*index >= elf->object.header.section_count) return false;
        section = elf_section_at(elf, *index);
        if (!(section.flags & SHF_ALLOC)) continue;
        ret->holds_code = elf_section_holds_code(&section);
        ret->may_have_table = !ret->holds_code && section.type != SHT_NOBITS;
        ret->bytes = elf_section_bytes(elf, &section);
        ret->address = section.address;
        ret->size = section.size;
        return true;
    }
    if (!elf_load_segment(elf, index, &ret->address, &offset, &size)) return false;
    ret->holds_code = elf_segment_holds_code(elf, *index);
    ret->may_have_table = true;
    ret->bytes = elf_cursor(elf, offset);
    if (cursor_left(&ret->bytes) > size) ret->bytes.end = ret->bytes.at + size;
    ret->size = elf_segment_memory(elf, *index);
    return true;
}

static gsym_status list_code(kernel_table *table, gsym_error *error) {
    uint32_t index = 0;
    bool has_sections = table->elf->object.header.section_count > 0;
    kernel_part part;
    table->lowest = UINT64_MAX;
    while (next_part(table->elf, &index, &part)) {
        if (has_sections && part.address == 0) continue;
        if (part.address < table->lowest) table->lowest = part.address;
        if (part.holds_code && part.size <= UINT64_MAX - part.address &&
            !LIST_ADD(table->code,
                      (gsym_range){part.address, part.address + part.size}))
            return gsym_fail_memory(error);
    }
    ranges_join(&table->code, 0);
    return GSYM_OK;
}

static gsym_status add_kernel_symbols(kernel_table *table, gsym_error *error) {
    uint32_t index = 0;
    kernel_part part;
    GSYM_TRY(list_code(table, error));
    while (table->steps_left > 0 && next_part(table->elf, &index, &part)) {
        if (!part.may_have_table) continue;
        table->data = part.bytes.at;
        table->size = cursor_left(&part.bytes);
        if (find_tokens(table) && find_markers(table) && find_names(table) &&
            find_addresses(table))
            return add_functions(table, error);
    }
    return GSYM_OK;
}

gsym_status elf_add_kernel_symbols(gsym_conversion *conversion, const elf_object *elf,
                                   gsym_error *error) {
    kernel_table table = {.conversion = conversion,
                          .elf = elf,
                          .steps_left = LIMIT_OF(KERNEL_STEPS, elf->object.size),
                          .word = elf->object.header.is_64 ? 8 : 4};
    gsym_status status = GSYM_OK;
    if (!elf->object.header.is_relocatable) status = add_kernel_symbols(&table, error);
    free(table.code.items);
    buffer_deinit(&table.name);
    return status;
}
