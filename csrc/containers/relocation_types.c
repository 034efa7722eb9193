/* relocation_types.c - list the relocation types of each machine that assemblers use in
 * debug sections.
 *
 * Types for thread-local variables are treated as absolute, because the values that they
 * change describe variables, not code.
 *
 * Source: the processor supplements of the System V ABI. */
#include "containers/elf.h"
#include "containers/pe.h"
#include "containers/relocations.h"

/* The name is not used by the code; a test compares it with other projects. */
#define TYPE(name, number, kind, bits) {number, RELOCATION_##kind, bits}
#define NONE(name, number) TYPE(name, number, NONE, 0)
#define ABSOLUTE(name, number, bits) TYPE(name, number, ABSOLUTE, bits)
#define RELATIVE(name, number, bits) TYPE(name, number, RELATIVE, bits)
#define ADD(name, number, bits) TYPE(name, number, ADD, bits)
#define SUBTRACT(name, number, bits) TYPE(name, number, SUBTRACT, bits)

/* ---- ELF -------------------------------------------------------------------------- */

static const relocation_type types_386[] = {
    NONE(R_386_NONE, 0),
    ABSOLUTE(R_386_32, 1, 32),
    RELATIVE(R_386_PC32, 2, 32),
    ABSOLUTE(R_386_16, 20, 16),
    RELATIVE(R_386_PC16, 21, 16),
    ABSOLUTE(R_386_8, 22, 8),
    RELATIVE(R_386_PC8, 23, 8),
    ABSOLUTE(R_386_TLS_LDO_32, 32, 32),
    ABSOLUTE(R_386_TLS_DTPOFF32, 36, 32),
};

static const relocation_type types_68k[] = {
    NONE(R_68K_NONE, 0),
    ABSOLUTE(R_68K_32, 1, 32),
    ABSOLUTE(R_68K_16, 2, 16),
    ABSOLUTE(R_68K_8, 3, 8),
    RELATIVE(R_68K_PC32, 4, 32),
    RELATIVE(R_68K_PC16, 5, 16),
    RELATIVE(R_68K_PC8, 6, 8),
    ABSOLUTE(R_68K_TLS_LDO32, 31, 32),
};

static const relocation_type types_mips[] = {
    NONE(R_MIPS_NONE, 0),
    ABSOLUTE(R_MIPS_16, 1, 16),
    ABSOLUTE(R_MIPS_32, 2, 32),
    ABSOLUTE(R_MIPS_64, 18, 64),
    ABSOLUTE(R_MIPS_TLS_DTPREL32, 39, 32),
    ABSOLUTE(R_MIPS_TLS_DTPREL64, 41, 64),
    RELATIVE(R_MIPS_PC32, 248, 32),
};

/* PowerPC, 32 and 64 bits. */
static const relocation_type types_ppc[] = {
    NONE(R_PPC_NONE, 0),
    ABSOLUTE(R_PPC_ADDR32, 1, 32),
    ABSOLUTE(R_PPC_ADDR16, 3, 16),
    ABSOLUTE(R_PPC_UADDR32, 24, 32),
    ABSOLUTE(R_PPC_UADDR16, 25, 16),
    RELATIVE(R_PPC_REL32, 26, 32),
    ABSOLUTE(R_PPC64_ADDR64, 38, 64),
    ABSOLUTE(R_PPC64_UADDR64, 43, 64),
    RELATIVE(R_PPC64_REL64, 44, 64),
    ABSOLUTE(R_PPC_DTPREL32, 78, RELOCATION_WORD),
};

static const relocation_type types_s390[] = {
    NONE(R_390_NONE, 0),
    ABSOLUTE(R_390_8, 1, 8),
    ABSOLUTE(R_390_16, 3, 16),
    ABSOLUTE(R_390_32, 4, 32),
    RELATIVE(R_390_PC32, 5, 32),
    RELATIVE(R_390_PC16, 16, 16),
    ABSOLUTE(R_390_64, 22, 64),
    RELATIVE(R_390_PC64, 23, 64),
    ABSOLUTE(R_390_TLS_LDO32, 52, 32),
    ABSOLUTE(R_390_TLS_LDO64, 53, 64),
};

static const relocation_type types_arm[] = {
    NONE(R_ARM_NONE, 0),
    ABSOLUTE(R_ARM_ABS32, 2, 32),
    RELATIVE(R_ARM_REL32, 3, 32),
    ABSOLUTE(R_ARM_ABS16, 5, 16),
    ABSOLUTE(R_ARM_ABS8, 8, 8),
    ABSOLUTE(R_ARM_SBREL32, 9, 32),
    ABSOLUTE(R_ARM_TLS_DTPOFF32, 18, 32),
    ABSOLUTE(R_ARM_TARGET1, 38, 32),
    RELATIVE(R_ARM_PREL31, 42, 31),
    ABSOLUTE(R_ARM_TLS_LDO32, 106, 32),
};

static const relocation_type types_sparc[] = {
    NONE(R_SPARC_NONE, 0),
    ABSOLUTE(R_SPARC_8, 1, 8),
    ABSOLUTE(R_SPARC_16, 2, 16),
    ABSOLUTE(R_SPARC_32, 3, 32),
    RELATIVE(R_SPARC_DISP8, 4, 8),
    RELATIVE(R_SPARC_DISP16, 5, 16),
    RELATIVE(R_SPARC_DISP32, 6, 32),
    ABSOLUTE(R_SPARC_UA32, 23, 32),
    ABSOLUTE(R_SPARC_64, 32, 64),
    RELATIVE(R_SPARC_DISP64, 46, 64),
    ABSOLUTE(R_SPARC_UA64, 54, 64),
    ABSOLUTE(R_SPARC_UA16, 55, 16),
    ABSOLUTE(R_SPARC_TLS_DTPOFF32, 76, 32),
    ABSOLUTE(R_SPARC_TLS_DTPOFF64, 77, 64),
};

static const relocation_type types_x86_64[] = {
    NONE(R_X86_64_NONE, 0),
    ABSOLUTE(R_X86_64_64, 1, 64),
    RELATIVE(R_X86_64_PC32, 2, 32),
    ABSOLUTE(R_X86_64_32, 10, 32),
    ABSOLUTE(R_X86_64_32S, 11, 32),
    ABSOLUTE(R_X86_64_16, 12, 16),
    RELATIVE(R_X86_64_PC16, 13, 16),
    ABSOLUTE(R_X86_64_8, 14, 8),
    RELATIVE(R_X86_64_PC8, 15, 8),
    ABSOLUTE(R_X86_64_DTPOFF64, 17, 64),
    ABSOLUTE(R_X86_64_DTPOFF32, 21, 32),
    RELATIVE(R_X86_64_PC64, 24, 64),
};

static const relocation_type types_hexagon[] = {
    NONE(R_HEX_NONE, 0),
    ABSOLUTE(R_HEX_32, 6, 32),
    ABSOLUTE(R_HEX_16, 7, 16),
    ABSOLUTE(R_HEX_8, 8, 8),
    RELATIVE(R_HEX_32_PCREL, 31, 32),
    ABSOLUTE(R_HEX_DTPREL_32, 47, 32),
};

static const relocation_type types_aarch64[] = {
    NONE(R_AARCH64_NONE, 0),
    NONE(R_AARCH64_NONE, 256),
    ABSOLUTE(R_AARCH64_ABS64, 257, 64),
    ABSOLUTE(R_AARCH64_ABS32, 258, 32),
    ABSOLUTE(R_AARCH64_ABS16, 259, 16),
    RELATIVE(R_AARCH64_PREL64, 260, 64),
    RELATIVE(R_AARCH64_PREL32, 261, 32),
    RELATIVE(R_AARCH64_PREL16, 262, 16),
    ABSOLUTE(R_AARCH64_TLS_DTPREL64, 1029, 64),
};

static const relocation_type types_aarch64_ilp32[] = {
    NONE(R_AARCH64_P32_NONE, 0),
    ABSOLUTE(R_AARCH64_P32_ABS32, 1, 32),
    ABSOLUTE(R_AARCH64_P32_ABS16, 2, 16),
    RELATIVE(R_AARCH64_P32_PREL32, 3, 32),
    RELATIVE(R_AARCH64_P32_PREL16, 4, 16),
    ABSOLUTE(R_AARCH64_P32_TLS_DTPREL, 185, 32),
};

static const relocation_type types_riscv[] = {
    NONE(R_RISCV_NONE, 0),
    ABSOLUTE(R_RISCV_32, 1, 32),
    ABSOLUTE(R_RISCV_64, 2, 64),
    ABSOLUTE(R_RISCV_TLS_DTPREL32, 8, 32),
    ABSOLUTE(R_RISCV_TLS_DTPREL64, 9, 64),
    ADD(R_RISCV_ADD8, 33, 8),
    ADD(R_RISCV_ADD16, 34, 16),
    ADD(R_RISCV_ADD32, 35, 32),
    ADD(R_RISCV_ADD64, 36, 64),
    SUBTRACT(R_RISCV_SUB8, 37, 8),
    SUBTRACT(R_RISCV_SUB16, 38, 16),
    SUBTRACT(R_RISCV_SUB32, 39, 32),
    SUBTRACT(R_RISCV_SUB64, 40, 64),
    NONE(R_RISCV_ALIGN, 43),
    NONE(R_RISCV_RELAX, 51),
    SUBTRACT(R_RISCV_SUB6, 52, 6),
    ABSOLUTE(R_RISCV_SET6, 53, 6),
    ABSOLUTE(R_RISCV_SET8, 54, 8),
    ABSOLUTE(R_RISCV_SET16, 55, 16),
    ABSOLUTE(R_RISCV_SET32, 56, 32),
    RELATIVE(R_RISCV_32_PCREL, 57, 32),
    RELATIVE(R_RISCV_PLT32, 59, 32),
    TYPE(R_RISCV_SET_ULEB128, 60, SET_ULEB128, 0),
    TYPE(R_RISCV_SUB_ULEB128, 61, SUBTRACT_ULEB128, 0),
};

static const relocation_type types_bpf[] = {
    NONE(R_BPF_NONE, 0),
    ABSOLUTE(R_BPF_64_64, 1, 64), /* clang 12 and earlier use the numbers 1 and 10 */
    ABSOLUTE(R_BPF_64_32, 10, 32),
    ABSOLUTE(R_BPF_64_ABS64, 2, 64),
    ABSOLUTE(R_BPF_64_ABS32, 3, 32),
    ABSOLUTE(R_BPF_64_NODYLD32, 4, 32),
};

static const relocation_type types_loongarch[] = {
    NONE(R_LARCH_NONE, 0),
    ABSOLUTE(R_LARCH_32, 1, 32),
    ABSOLUTE(R_LARCH_64, 2, 64),
    ABSOLUTE(R_LARCH_TLS_DTPREL32, 8, 32),
    ABSOLUTE(R_LARCH_TLS_DTPREL64, 9, 64),
    NONE(R_LARCH_MARK_LA, 20),
    NONE(R_LARCH_MARK_PCREL, 21),
    ADD(R_LARCH_ADD8, 47, 8),
    ADD(R_LARCH_ADD16, 48, 16),
    ADD(R_LARCH_ADD24, 49, 24),
    ADD(R_LARCH_ADD32, 50, 32),
    ADD(R_LARCH_ADD64, 51, 64),
    SUBTRACT(R_LARCH_SUB8, 52, 8),
    SUBTRACT(R_LARCH_SUB16, 53, 16),
    SUBTRACT(R_LARCH_SUB24, 54, 24),
    SUBTRACT(R_LARCH_SUB32, 55, 32),
    SUBTRACT(R_LARCH_SUB64, 56, 64),
    RELATIVE(R_LARCH_32_PCREL, 99, 32),
    NONE(R_LARCH_RELAX, 100),
    NONE(R_LARCH_ALIGN, 102),
    ADD(R_LARCH_ADD6, 105, 6),
    SUBTRACT(R_LARCH_SUB6, 106, 6),
    TYPE(R_LARCH_ADD_ULEB128, 107, ADD_ULEB128, 0),
    TYPE(R_LARCH_SUB_ULEB128, 108, SUBTRACT_ULEB128, 0),
    RELATIVE(R_LARCH_64_PCREL, 109, 64),
};

/* ---- COFF ------------------------------------------------------------------------- */

static const relocation_type coff_types_386[] = {
    NONE(IMAGE_REL_I386_ABSOLUTE, 0),
    ABSOLUTE(IMAGE_REL_I386_DIR32, 6, 32),
    ABSOLUTE(IMAGE_REL_I386_DIR32NB, 7, 32), /* relative to the image base, which is 0 in an
                                                object file */
    NONE(IMAGE_REL_I386_SECTION, 10),
    TYPE(IMAGE_REL_I386_SECREL, 11, SECTION_OFFSET, 32),
};

static const relocation_type coff_types_x86_64[] = {
    NONE(IMAGE_REL_AMD64_ABSOLUTE, 0),
    ABSOLUTE(IMAGE_REL_AMD64_ADDR64, 1, 64),
    ABSOLUTE(IMAGE_REL_AMD64_ADDR32, 2, 32),
    ABSOLUTE(IMAGE_REL_AMD64_ADDR32NB, 3, 32),
    NONE(IMAGE_REL_AMD64_SECTION, 10),
    TYPE(IMAGE_REL_AMD64_SECREL, 11, SECTION_OFFSET, 32),
};

static const relocation_type coff_types_arm[] = {
    NONE(IMAGE_REL_ARM_ABSOLUTE, 0),
    ABSOLUTE(IMAGE_REL_ARM_ADDR32, 1, 32),
    ABSOLUTE(IMAGE_REL_ARM_ADDR32NB, 2, 32),
    NONE(IMAGE_REL_ARM_SECTION, 14),
    TYPE(IMAGE_REL_ARM_SECREL, 15, SECTION_OFFSET, 32),
};

static const relocation_type coff_types_arm64[] = {
    NONE(IMAGE_REL_ARM64_ABSOLUTE, 0),
    ABSOLUTE(IMAGE_REL_ARM64_ADDR32, 1, 32),
    ABSOLUTE(IMAGE_REL_ARM64_ADDR32NB, 2, 32),
    TYPE(IMAGE_REL_ARM64_SECREL, 8, SECTION_OFFSET, 32),
    NONE(IMAGE_REL_ARM64_SECTION, 13),
    ABSOLUTE(IMAGE_REL_ARM64_ADDR64, 14, 64),
};

/* ---- by machine ------------------------------------------------------------------- */

typedef struct machine_types {
    uint32_t machine;
    uint32_t count;
    const relocation_type *types;
} machine_types;

#define MACHINE(number, types) {number, sizeof types / sizeof types[0], types}

/* For each machine its relocation types; sorted by e_machine. */
static const machine_types elf_machines[] = {
    MACHINE(EM_SPARC, types_sparc),
    MACHINE(EM_386, types_386),
    MACHINE(EM_68K, types_68k),
    MACHINE(EM_MIPS, types_mips),
    MACHINE(EM_SPARC32PLUS, types_sparc),
    MACHINE(EM_PPC, types_ppc),
    MACHINE(EM_PPC64, types_ppc),
    MACHINE(EM_S390, types_s390),
    MACHINE(EM_ARM, types_arm),
    MACHINE(EM_SPARCV9, types_sparc),
    MACHINE(EM_X86_64, types_x86_64),
    MACHINE(EM_HEXAGON, types_hexagon),
    MACHINE(EM_AARCH64, types_aarch64),
    MACHINE(EM_RISCV, types_riscv),
    MACHINE(EM_BPF, types_bpf),
    MACHINE(EM_LOONGARCH, types_loongarch)
};

static const machine_types elf_ilp32 = MACHINE(EM_AARCH64, types_aarch64_ilp32);

static const machine_types coff_machines[] = {
    MACHINE(IMAGE_FILE_MACHINE_I386, coff_types_386),
    MACHINE(IMAGE_FILE_MACHINE_ARMNT, coff_types_arm),
    MACHINE(IMAGE_FILE_MACHINE_AMD64, coff_types_x86_64),
    MACHINE(IMAGE_FILE_MACHINE_ARM64, coff_types_arm64),
};

static const machine_types *find_machine(const machine_types *machines, size_t count,
                                         uint32_t machine) {
    for (size_t i = 0; i < count; ++i)
        if (machines[i].machine == machine) return &machines[i];
    return NULL;
}

const relocation_type *relocation_types(const gsym_object_header *header,
                                        size_t *count_ret) {
    const machine_types *found = NULL;
    if (header->format == GSYM_OBJECT_PE)
        found = find_machine(coff_machines, sizeof coff_machines / sizeof coff_machines[0],
                             header->machine);
    else if (header->machine == EM_AARCH64 && !header->is_64)
        found = &elf_ilp32;
    else
        found = find_machine(elf_machines, sizeof elf_machines / sizeof elf_machines[0],
                             header->machine);
    *count_ret = found == NULL ? 0 : found->count;
    return found == NULL ? NULL : found->types;
}
