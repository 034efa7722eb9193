/* elf_dynamic.c - read the dynamic section of an ELF file, and find the symbols of a file
 * without section headers.
 *
 * Symbols are found as the loader finds them: by the tags of the dynamic section (System
 * V ABI, "Dynamic Section"). No tag has the number of symbols, but the hash tables have
 * it. */
#include "containers/elf.h"

enum { DT_NULL = 0, DT_HASH = 4, DT_STRTAB = 5, DT_SYMTAB = 6, DT_STRSZ = 10 };
#define DT_GNU_HASH 0x6ffffef5

typedef struct dynamic_tags {
    uint64_t hash, gnu_hash, strings, symbols; /* addresses, 0: none */
    uint64_t strings_size;
} dynamic_tags;

static cursor bytes_in_file(const elf_object *elf, uint64_t offset, uint64_t size) {
    elf_section bytes = {.offset = offset, .size = size};
    return elf_section_bytes(elf, &bytes);
}

cursor elf_loaded_bytes(const elf_object *elf, uint64_t address) {
    uint64_t start, offset, size;
    uint32_t index = 0;
    while (elf_load_segment(elf, &index, &start, &offset, &size))
        if (address != 0 && address >= start && address - start < size)
            return bytes_in_file(elf, offset + (address - start), size - (address - start));
    return bytes_in_file(elf, elf->object.size, 0);
}

bool elf_dynamic_value(const elf_object *elf, uint64_t wanted, uint64_t *value_ret) {
    uint64_t offset, size;
    cursor c;
    if (!elf_dynamic_segment(elf, &offset, &size)) return false;
    c = bytes_in_file(elf, offset, size);
    for (;;) {
        uint64_t tag = elf_read_word(&c, elf), value = elf_read_word(&c, elf);
        if (c.failed || tag == DT_NULL) return false;
        if (tag != wanted) continue;
        *value_ret = value;
        return true;
    }
}

static dynamic_tags read_tags(const elf_object *elf, cursor c) {
    dynamic_tags tags = {0};
    for (;;) {
        uint64_t tag = elf_read_word(&c, elf), value = elf_read_word(&c, elf);
        if (c.failed || tag == DT_NULL) return tags;
        switch (tag) {
            case DT_HASH: tags.hash = value; break;
            case DT_GNU_HASH: tags.gnu_hash = value; break;
            case DT_STRTAB: tags.strings = value; break;
            case DT_SYMTAB: tags.symbols = value; break;
            case DT_STRSZ: tags.strings_size = value; break;
            default: break;
        }
    }
}

/* Return the number of symbols that the GNU hash table implies: the index of the last
 * symbol of the last chain, plus 1. */
static uint64_t count_gnu(const elf_object *elf, cursor c) {
    uint32_t buckets = cursor_u32(&c), first = cursor_u32(&c), filters = cursor_u32(&c);
    uint32_t last = 0;
    (void)cursor_u32(&c); /* shift count of the Bloom filter */
    cursor_skip(&c, (uint64_t)filters * (elf->object.header.is_64 ? 8 : 4));
    for (uint32_t i = 0; i < buckets && !c.failed; ++i) {
        uint32_t chain = cursor_u32(&c);
        if (chain > last) last = chain;
    }
    if (c.failed || last < first) return c.failed ? 0 : first;
    cursor_skip(&c, (uint64_t)(last - first) * 4);
    while (!c.failed && (cursor_u32(&c) & 1) == 0) ++last;
    return c.failed ? 0 : (uint64_t)last + 1;
}

static uint64_t count_symbols(const elf_object *elf, const dynamic_tags *tags) {
    cursor hash;
    if (tags->gnu_hash != 0) return count_gnu(elf, elf_loaded_bytes(elf, tags->gnu_hash));
    hash = elf_loaded_bytes(elf, tags->hash);
    if (elf->object.header.is_64 && (elf->object.header.machine == EM_S390 ||
                                     elf->object.header.machine == EM_ALPHA)) {
        cursor_skip(&hash, 8); /* the number of buckets, here 8 bytes wide */
        return cursor_u64(&hash);
    }
    cursor_skip(&hash, 4);
    return cursor_u32(&hash);
}

bool elf_dynamic_symbols(const elf_object *elf, cursor *entries_ret, cursor *names_ret) {
    uint64_t offset, size, count, left;
    unsigned entry_size = elf->object.header.is_64 ? 24 : 16;
    dynamic_tags tags;
    if (!elf_dynamic_segment(elf, &offset, &size)) return false;
    tags = read_tags(elf, bytes_in_file(elf, offset, size));
    count = count_symbols(elf, &tags);
    *entries_ret = elf_loaded_bytes(elf, tags.symbols);
    left = cursor_left(entries_ret);
    if (count < left / entry_size) entries_ret->end = entries_ret->at + count * entry_size;
    *names_ret = elf_loaded_bytes(elf, tags.strings);
    if (tags.strings_size < cursor_left(names_ret))
        names_ret->end = names_ret->at + tags.strings_size;
    return count > 0 && left > 0;
}
