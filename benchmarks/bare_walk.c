/* bare_walk.c - the least that any conversion must do: pass every DIE but those of types
 * and call sites, run every line program. What it finds is summed up and printed, so that
 * the compiler cannot leave it out.
 *
 *     bare_walk FILE
 *
 * prints the number of DIEs, the seconds they took, and the same of rows. A yardstick, not
 * a tool: it reads 64-bit little-endian ELF files with plain DWARF 2 to 5, checks no
 * bounds and keeps nothing. */
#define _DEFAULT_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    DW_TAG_array_type = 0x01,
    DW_TAG_class_type = 0x02,
    DW_TAG_enumeration_type = 0x04,
    DW_TAG_structure_type = 0x13,
    DW_TAG_subroutine_type = 0x15,
    DW_TAG_union_type = 0x17,
    DW_TAG_call_site = 0x48,
    DW_TAG_GNU_call_site = 0x4109,
    DW_AT_sibling = 0x01,
    DW_FORM_ref4 = 0x13,
    DW_FORM_implicit_const = 0x21
};

typedef struct section {
    const uint8_t *at;
    size_t size;
} section;

/* Neighbouring attributes of fixed size are one step. */
enum { STEP_FIXED, STEP_LEB, STEP_STRING, STEP_BLOCK, STEP_INDIRECT };

typedef struct step {
    uint8_t kind;
    uint32_t size; /* of STEP_FIXED; of the length of a block, 0: LEB128 */
} step;

typedef struct abbrev {
    uint32_t size; /* of all attributes; VARIES: take the steps */
    uint32_t first, count;
    uint32_t sibling; /* where DW_AT_sibling stands, by 4 bytes; VARIES: no jump */
} abbrev;

#define VARIES UINT32_MAX

typedef struct unit {
    unsigned version, address_size, offset_size;
} unit;

static abbrev *abbrevs;
static size_t abbrev_capacity;
static step *steps;
static size_t step_count, step_capacity;

static uint64_t read_uint(const uint8_t **at, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, *at, size);
    *at += size;
    return value;
}

static inline uint64_t read_uleb(const uint8_t **at) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

static inline int64_t read_sleb(const uint8_t **at) {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80) continue;
        if (shift < 64 && (byte & 0x40)) value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
}

static step step_of(const unit *u, uint64_t form) {
    switch (form) {
        case 0x19: return (step){STEP_FIXED, 0}; /* flag_present */
        case 0x21: return (step){STEP_FIXED, 0}; /* implicit_const */
        case 0x0b: case 0x0c: case 0x11: case 0x25: case 0x29: return (step){STEP_FIXED, 1};
        case 0x05: case 0x12: case 0x26: case 0x2a: return (step){STEP_FIXED, 2};
        case 0x27: case 0x2b: return (step){STEP_FIXED, 3};
        case 0x06: case 0x13: case 0x1c: case 0x28: case 0x2c: return (step){STEP_FIXED, 4};
        case 0x07: case 0x14: case 0x20: case 0x24: return (step){STEP_FIXED, 8};
        case 0x1e: return (step){STEP_FIXED, 16};
        case 0x01: return (step){STEP_FIXED, u->address_size};
        case 0x10: /* ref_addr */
            return (step){STEP_FIXED, u->version == 2 ? u->address_size : u->offset_size};
        case 0x0e: case 0x17: case 0x1d: case 0x1f: case 0x1f20: case 0x1f21:
            return (step){STEP_FIXED, u->offset_size};
        case 0x0d: case 0x0f: case 0x15: case 0x1a: case 0x1b: case 0x22: case 0x23:
        case 0x1f01: case 0x1f02: return (step){STEP_LEB, 0};
        case 0x08: return (step){STEP_STRING, 0};
        case 0x09: case 0x18: return (step){STEP_BLOCK, 0};
        case 0x0a: return (step){STEP_BLOCK, 1};
        case 0x03: return (step){STEP_BLOCK, 2};
        case 0x04: return (step){STEP_BLOCK, 4};
        case 0x16: return (step){STEP_INDIRECT, 0};
        default:
            fprintf(stderr, "unknown form 0x%llx\n", (unsigned long long)form);
            exit(1);
    }
}

static void *grown(void *items, size_t *capacity, size_t count, size_t size) {
    if (count <= *capacity) return items;
    *capacity = 2 * count;
    items = realloc(items, *capacity * size);
    if (items == NULL) exit(1);
    return items;
}

static void add_step(const abbrev *a, step next) {
    step *last = step_count > a->first ? &steps[step_count - 1] : NULL;
    if (next.kind == STEP_FIXED && next.size == 0) return;
    if (last != NULL && last->kind == STEP_FIXED && next.kind == STEP_FIXED) {
        last->size += next.size;
        return;
    }
    steps = grown(steps, &step_capacity, step_count + 1, sizeof *steps);
    steps[step_count++] = next;
}

/* Bytes of the attributes so far. */
static uint32_t fixed_size(const abbrev *a) {
    if (step_count == a->first) return 0;
    return step_count == a->first + 1 && steps[a->first].kind == STEP_FIXED
               ? steps[a->first].size
               : VARIES;
}

static int is_jumped_over(uint64_t tag) {
    switch (tag) {
        case DW_TAG_array_type:
        case DW_TAG_class_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_structure_type:
        case DW_TAG_subroutine_type:
        case DW_TAG_union_type:
        case DW_TAG_call_site:
        case DW_TAG_GNU_call_site: return 1;
        default: return 0;
    }
}

/* Codes ascend from 1, as compilers give them; a gap would show as an abbreviation
 * without children and attributes. */
static void compile_abbrevs(const unit *u, const uint8_t *at) {
    uint64_t code;
    step_count = 0;
    while ((code = read_uleb(&at)) != 0) {
        int holds_no_code;
        abbrev *a;
        abbrevs = grown(abbrevs, &abbrev_capacity, code + 1, sizeof *abbrevs);
        a = &abbrevs[code];
        holds_no_code = is_jumped_over(read_uleb(&at));
        ++at; /* whether it has children */
        a->sibling = VARIES;
        a->first = (uint32_t)step_count;
        for (;;) {
            uint64_t attribute = read_uleb(&at), form = read_uleb(&at);
            if (form == DW_FORM_implicit_const) (void)read_sleb(&at);
            if (attribute == 0 && form == 0) break;
            if (attribute == DW_AT_sibling && form == DW_FORM_ref4 && holds_no_code)
                a->sibling = fixed_size(a);
            add_step(a, step_of(u, form));
        }
        a->count = (uint32_t)(step_count - a->first);
        a->size = fixed_size(a);
    }
}

static const uint8_t *take_step(const unit *u, const step *s, const uint8_t *at) {
    uint64_t size;
    step own;
    switch (s->kind) {
        case STEP_FIXED: return at + s->size;
        case STEP_LEB:
            while (*at++ >= 0x80) continue;
            return at;
        case STEP_STRING: return at + strlen((const char *)at) + 1;
        case STEP_BLOCK:
            size = s->size == 0 ? read_uleb(&at) : read_uint(&at, s->size);
            return at + size;
        default:
            own = step_of(u, read_uleb(&at));
            return take_step(u, &own, at);
    }
}

static uint64_t read_length(const uint8_t **at, unsigned *offset_size_ret) {
    uint64_t length = read_uint(at, 4);
    *offset_size_ret = 4;
    if (length != 0xffffffff) return length;
    *offset_size_ret = 8;
    return read_uint(at, 8);
}

static uint64_t walk_dies(section info, section abbrev_section) {
    const uint8_t *at = info.at, *end = info.at + info.size;
    uint64_t dies = 0;
    while (at < end) {
        unit u;
        const uint8_t *start = at;
        uint64_t length = read_length(&at, &u.offset_size), offset;
        const uint8_t *next = at + length;
        unsigned type = 1;
        u.version = (unsigned)read_uint(&at, 2);
        if (u.version >= 5) {
            type = *at++;
            u.address_size = *at++;
            offset = read_uint(&at, u.offset_size);
        } else {
            offset = read_uint(&at, u.offset_size);
            u.address_size = *at++;
        }
        if (type == 2 || type == 6) at += 8 + u.offset_size; /* type units */
        if (type == 4 || type == 5) at += 8;                 /* skeleton and split units */
        compile_abbrevs(&u, abbrev_section.at + offset);
        while (at < next) {
            uint64_t code = *at < 0x80 ? *at++ : read_uleb(&at);
            const abbrev *a = &abbrevs[code];
            if (code == 0) continue;
            ++dies;
            if (a->sibling != VARIES) {
                at += a->sibling;
                at = start + read_uint(&at, 4);
                continue;
            }
            if (a->size != VARIES) {
                at += a->size;
                continue;
            }
            for (uint32_t i = 0; i < a->count; ++i)
                at = take_step(&u, &steps[a->first + i], at);
        }
        at = next;
    }
    return dies;
}

static uint64_t run_line_programs(section line) {
    const uint8_t *at = line.at, *end = line.at + line.size;
    uint64_t rows = 0, sum = 0;
    while (at < end) {
        unsigned offset_size, version, line_range, opcode_base, min_inst_length;
        uint64_t length = read_length(&at, &offset_size), address = 0;
        const uint8_t *next = at + length, *operands;
        uint32_t number = 1, file = 1;
        int line_base;
        version = (unsigned)read_uint(&at, 2);
        if (version >= 5) at += 2;
        length = read_uint(&at, offset_size);
        operands = at + length; /* the program, for now */
        min_inst_length = *at++;
        if (version >= 4) ++at;
        ++at;
        line_base = (int8_t)*at++;
        line_range = *at++;
        opcode_base = *at++;
        {
            const uint8_t *counts = at;
            at = operands;
            operands = counts;
        }
        while (at < next) {
            unsigned opcode = *at++;
            if (opcode >= opcode_base) {
                unsigned adjusted = opcode - opcode_base;
                address += adjusted / line_range * min_inst_length;
                number += (uint32_t)(line_base + (int)(adjusted % line_range));
                ++rows;
                sum += address ^ number ^ file;
                continue;
            }
            switch (opcode) {
                case 0: {
                    uint64_t size = read_uleb(&at);
                    const uint8_t *behind = at + size;
                    unsigned extended = *at++;
                    if (extended == 2) address = read_uint(&at, (unsigned)(size - 1));
                    if (extended == 1) {
                        address = 0;
                        number = file = 1;
                    }
                    at = behind;
                    break;
                }
                case 1:
                    ++rows;
                    sum += address ^ number ^ file;
                    break;
                case 2: address += read_uleb(&at) * min_inst_length; break;
                case 3: number += (uint32_t)read_sleb(&at); break;
                case 4: file = (uint32_t)read_uleb(&at); break;
                case 8:
                    address += (255 - opcode_base) / line_range * min_inst_length;
                    break;
                case 9: address += read_uint(&at, 2); break;
                default:
                    for (unsigned i = operands[opcode - 1]; i > 0; --i)
                        while (*at++ >= 0x80) continue;
                    break;
            }
        }
        at = next;
    }
    return rows ^ (sum & 1);
}

static section find(const uint8_t *file, const char *name) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);
    const char *names = (const char *)file + sections[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; ++i)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return (section){file + sections[i].sh_offset, sections[i].sh_size};
    fprintf(stderr, "no section %s\n", name);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    struct stat status;
    const uint8_t *file;
    double start, middle;
    uint64_t dies, rows;
    int descriptor = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return 1;
    file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (file == MAP_FAILED) return 1;
    start = seconds();
    dies = walk_dies(find(file, ".debug_info"), find(file, ".debug_abbrev"));
    middle = seconds();
    rows = run_line_programs(find(file, ".debug_line"));
    printf("%llu %.6f %llu %.6f\n", (unsigned long long)dies, middle - start,
           (unsigned long long)rows, seconds() - middle);
    return 0;
}
