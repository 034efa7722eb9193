/* machine_code.c - find the machine code in a binary, and the code at an address. */
#include "code/calls.h"
#include "containers/elf.h"

/* Sections are preferred to segments: they say better what is code and whether the file has
 * it. The segments of a debug file refer to bytes that are not in it. */
static gsym_status next_section(const gsym_object *object, uint32_t *next,
                                gsym_object_section *ret, gsym_error *error) {
    for (ret->size = 0; *next < object->header.section_count;) {
        GSYM_TRY(gsym_object_section_at(object, (*next)++, ret, error));
        if (ret->holds_code && ret->compression == GSYM_COMPRESSION_NONE && ret->size > 0)
            return GSYM_OK;
        ret->size = 0;
    }
    return GSYM_OK;
}

static gsym_status next_segment(const gsym_object *object, uint32_t *next, gsym_code *ret,
                                gsym_error *error) {
    uint64_t offset;
    if (!elf_load_segment(elf_of(object), next, &ret->address, &offset, &ret->size))
        return GSYM_OK;
    if (offset > object->size || ret->size > object->size - offset)
        return gsym_fail(error, GSYM_E_FORMAT, offset,
                         "a segment reaches past the end of the file");
    ret->bytes = object->data + offset;
    return GSYM_OK;
}

gsym_status gsym_object_next_code(const gsym_object *object, uint32_t *next,
                                  gsym_code *code_ret, gsym_error *error) {
    gsym_object_section section;
    memset(code_ret, 0, sizeof *code_ret);
    if (object->header.format == GSYM_OBJECT_ELF && object->header.section_count == 0)
        return next_segment(object, next, code_ret, error);
    GSYM_TRY(next_section(object, next, &section, error));
    if (section.size == 0) return GSYM_OK;
    *code_ret = (gsym_code){
        .bytes = object->data + section.offset,
        .size = section.size < section.memory_size ? section.size : section.memory_size,
        .address = section.address,
    };
    return GSYM_OK;
}

const gsym_code *code_piece_at(const gsym_machine_code *code, uint64_t address) {
    size_t low = 0, left = code->count;
    while (left > 1) {
        size_t half = left / 2;
        if (code->pieces[low + half].address <= address) low += half;
        left -= half;
    }
    return left == 1 && code->pieces[low].address <= address &&
                   address - code->pieces[low].address < code->pieces[low].size
               ? &code->pieces[low]
               : NULL;
}
