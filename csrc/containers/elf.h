/* elf.h - define an open ELF file, and read its sections, segments and dynamic section. */
#ifndef GSYM_CONTAINERS_ELF_H
#define GSYM_CONTAINERS_ELF_H

#include "containers/object.h"

#define EM_SPARC 2
#define EM_386 3
#define EM_68K 4
#define EM_MIPS 8
#define EM_PARISC 15
#define EM_SPARC32PLUS 18
#define EM_PPC 20
#define EM_PPC64 21
#define EM_S390 22
#define EM_ALPHA 0x9026
#define EM_ARM 40
#define EM_SH 42
#define EM_SPARCV9 43
#define EM_IA_64 50
#define EM_X86_64 62
#define EM_68HC08 71
#define EM_AVR 83
#define EM_M32R 88
#define EM_OPENRISC 92
#define EM_ARC_COMPACT 93
#define EM_XTENSA 94
#define EM_MSP430 105
#define EM_ALTERA_NIOS2 113
#define EM_DSPIC30F 118
#define EM_HEXAGON 164
#define EM_AARCH64 183
#define EM_STM8 186
#define EM_MICROBLAZE 189
#define EM_CUDA 190
#define EM_ARC_COMPACT2 195
#define EM_AMDGPU 224
#define EM_RISCV 243
#define EM_BPF 247
#define EM_VE 251
#define EM_CSKY 252
#define EM_LOONGARCH 258

/* Without this flag, Microchip's compiler writes a phantom byte after each byte of DWARF: a
 * word of program memory has three bytes and is read as four. */
#define EF_PIC30_NO_PHANTOM_BYTE 0x80000000u

/* Mask of the ABI version of 64-bit PowerPC in the flags; 0 means that the file does not
 * say it. */
#define EF_PPC64_ABI 3u

#define SHT_NULL 0
#define SHT_SYMTAB 2
#define SHT_STRTAB 3
#define SHT_RELA 4
#define SHT_NOTE 7
#define SHT_NOBITS 8
#define SHT_REL 9
#define SHT_CREL 0x40000014
#define SHT_DYNSYM 11
#define SHT_SYMTAB_SHNDX 18

#define SHF_ALLOC 0x2
#define SHF_EXECINSTR 0x4
#define SHF_COMPRESSED 0x800

#define SHN_LORESERVE 0xff00
#define SHN_ABS 0xfff1
#define SHN_XINDEX 0xffff /* also PN_XNUM: the number is in another field */

/* Where a section of a relocatable file was placed, and its relocations. */
typedef struct elf_placement {
    uint64_t address; /* of a debug section: offset in all sections of its name */
    uint32_t relocations; /* index of the first section with its relocations, 0: none */
    uint32_t next;        /* for a section of relocations: index of the next one with the
                           * same target, 0: none */
} elf_placement;

typedef struct elf_object {
    gsym_object object;
    uint64_t entry; /* address of the entry point; 0 in a file without one */
    uint32_t flags; /* e_flags, whose meaning depends on the machine */
    bool has_phantom_bytes;
    uint64_t section_table;
    uint64_t program_table;
    uint32_t section_entry_size;
    uint32_t program_entry_size;
    uint32_t program_count;
    uint64_t names_offset; /* of the section name string table */
    uint64_t names_size;
    elf_placement *placements; /* one for each section of a relocatable file, else NULL */
    uint32_t extended_section; /* SHT_SYMTAB_SHNDX of a relocatable file, 0: none */
    uint64_t relocations_size; /* of all relocation sections */
} elf_object;

static inline const elf_object *elf_of(const gsym_object *object) {
    return (const elf_object *)object;
}

/* Return a cursor over the file from `offset` on. */
static inline cursor elf_cursor(const elf_object *elf, uint64_t offset) {
    return cursor_at(elf->object.data, elf->object.size, offset,
                     elf->object.header.big_endian);
}

/* Read a number as wide as an address. */
static inline uint64_t elf_read_word(cursor *c, const elf_object *elf) {
    return elf->object.header.is_64 ? cursor_u64(c) : cursor_u32(c);
}

/* A section header with its fields widened. */
typedef struct elf_section {
    uint32_t name;
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    uint64_t offset;
    uint64_t size;
    uint32_t link;
    uint32_t info;
    uint64_t alignment;
    uint64_t entry_size;
} elf_section;

/* Read a section header; in a relocatable file, `address` is where the section was
 * placed. */
elf_section elf_section_at(const elf_object *elf, uint32_t index);
/* Return the name of a section; "" if it is outside of the name table. */
const char *elf_section_name(const elf_object *elf, const elf_section *section);
/* Return the bytes of a section, cut at the end of the file. */
cursor elf_section_bytes(const elf_object *elf, const elf_section *section);
static inline bool elf_section_holds_code(const elf_section *section) {
    return (section->flags & SHF_EXECINSTR) && section->size > 0;
}

/* Find the next loaded segment from program header *index on, and its size in the file;
 * *index moves after it. False at the end. */
bool elf_load_segment(const elf_object *elf, uint32_t *index, uint64_t *address_ret,
                      uint64_t *offset_ret, uint64_t *size_ret);
/* Return p_memsz of the program header before `index`. p_filesz of a debug file may differ
 * from it. */
uint64_t elf_segment_memory(const elf_object *elf, uint32_t index);
/* Return whether the segment of the program header before `index` is executable. */
bool elf_segment_holds_code(const elf_object *elf, uint32_t index);
/* Find the dynamic section by its program header; false if the file has none. */
bool elf_dynamic_segment(const elf_object *elf, uint64_t *offset_ret, uint64_t *size_ret);
/* Find the value of the first dynamic entry with the tag `wanted`; false without one. */
bool elf_dynamic_value(const elf_object *elf, uint64_t wanted, uint64_t *value_ret);
/* Return the bytes of the file from an address to the end of its segment. */
cursor elf_loaded_bytes(const elf_object *elf, uint64_t address);
/* Find the dynamic symbols and their names without section headers; false if there are
 * none. */
bool elf_dynamic_symbols(const elf_object *elf, cursor *entries_ret, cursor *names_ret);

/* ---- elf_relocations.c -------------------------------------------------------------- */

/* Place the sections of a relocatable file, and find their relocations. */
gsym_status elf_place_sections(elf_object *elf, gsym_error *error);
/* Apply the relocations of a section, as object_format.relocate does. */
gsym_status elf_relocate(const gsym_object *object, uint32_t index, uint8_t *bytes,
                         size_t size, gsym_unapplied *unapplied_ret,
                         gsym_error *error);

#endif
