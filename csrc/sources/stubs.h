/* stubs.h - name stubs: the code by which an image calls functions of other images. */
#ifndef GSYM_SOURCES_STUBS_H
#define GSYM_SOURCES_STUBS_H

#include "containers/elf.h"
#include "containers/macho.h"
#include "containers/pe.h"
#include "sources/conversion.h"

/* The state of adding stubs to a conversion. The sum of their names is limited, because any
 * number of stubs may call one function with a long name. */
typedef struct stub_writer {
    gsym_conversion *conversion;
    const char *prefix; /* begins the name of each stub */
    const char *suffix;
    buffer name; /* of the current stub */
    uint64_t name_bytes_left;
} stub_writer;

/* Prepare a writer; `name_bytes` is the size of the names of imported functions in the
 * image. */
void stub_writer_init(stub_writer *writer, gsym_conversion *conversion,
                      uint64_t name_bytes);
void stub_writer_deinit(stub_writer *writer);
/* Warn that the stub, or the section of stubs, at `address` is left out. Once a name was
 * too long, all stubs are left out. */
void stub_writer_cut(stub_writer *writer, uint64_t address);
/* Add the stub that calls `target`. */
gsym_status stub_writer_add(stub_writer *writer, gsym_range stub, const char *target,
                            size_t target_size, gsym_error *error);

/* Find the slot from which two instructions of AArch64 load, `adrp x16` at `address` and
 * `ldr` to the register `target`; false for other instructions. */
static inline bool aarch64_slot_address(uint32_t adrp, uint32_t load, unsigned target,
                                        uint64_t address, uint64_t *slot_ret) {
    uint32_t page = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);
    bool is_64 = load >> 30 == 3; /* else w registers, of ILP32 */
    *slot_ret = (address & ~UINT64_C(0xfff)) +
                ((uint64_t)(int64_t)(int32_t)(page << 11) << 1) +
                (load >> 10 & 0xfff) * (is_64 ? 8u : 4u);
    return (adrp & 0x9f00001f) == 0x90000010 &&
           (load & 0xbfc003ff) == (0xb9400200 | target);
}

gsym_status elf_add_stubs(gsym_conversion *conversion, const elf_object *elf,
                          gsym_error *error);
gsym_status macho_add_stubs(gsym_conversion *conversion, const macho_object *macho,
                            gsym_error *error);

/* A stub of a PE image, which jumps to an imported function. */
typedef struct pe_stub {
    gsym_range code;
    uint32_t name; /* address of its name, minus the image base */
    bool is_delayed;
} pe_stub;

/* A slot, which the loader fills in with the address of an imported function. */
typedef struct pe_slot {
    uint64_t address;
    uint32_t name;
    bool is_delayed; /* the loader fills it in at its first use */
} pe_slot;

typedef struct pe_stubs {
    const pe_object *pe;
    pe_section imports[2]; /* sections with the names: [1] has those of delayed imports */
    LIST(pe_slot) slots;
    LIST(pe_stub) found;
} pe_stubs;

/* Find the stubs, in ascending order in each section. */
gsym_status pe_find_stubs(pe_stubs *stubs, gsym_error *error);
void pe_stubs_close(pe_stubs *stubs);
gsym_status pe_add_stubs(gsym_conversion *conversion, const pe_object *pe,
                         gsym_error *error);

#endif
