/* relocation_types.c - relocation types of each machine, as far as assemblers use them in
 * debug sections.
 *
 * Offsets of thread-local variables count from the start of their block here; what is
 * at that place describes a variable and no code.
 *
 * Source: the processor supplements of the System V ABI. */
#include "containers/elf.h"
#include "containers/pe.h"
#include "containers/relocations.h"

#define NONE(number) {number, RELOCATION_NONE, 0}
#define ABSOLUTE(number, bits) {number, RELOCATION_ABSOLUTE, bits}
#define RELATIVE(number, bits) {number, RELOCATION_RELATIVE, bits}
#define ADD(number, bits) {number, RELOCATION_ADD, bits}
#define SUBTRACT(number, bits) {number, RELOCATION_SUBTRACT, bits}

/* ---- ELF -------------------------------------------------------------------------- */

static const relocation_type types_386[] = {
    NONE(0),         ABSOLUTE(1, 32), /* R_386_32 */
    RELATIVE(2, 32), ABSOLUTE(20, 16), RELATIVE(21, 16), ABSOLUTE(22, 8), RELATIVE(23, 8),
    ABSOLUTE(32, 32), /* R_386_TLS_LDO_32 */
    ABSOLUTE(36, 32), /* R_386_TLS_DTPOFF32 */
};

static const relocation_type types_68k[] = {
    NONE(0),         ABSOLUTE(1, 32), /* R_68K_32 */
    ABSOLUTE(2, 16), ABSOLUTE(3, 8),  RELATIVE(4, 32), RELATIVE(5, 16), RELATIVE(6, 8),
    ABSOLUTE(31, 32), /* R_68K_TLS_LDO32 */
};

static const relocation_type types_mips[] = {
    NONE(0),
    ABSOLUTE(1, 16),   /* R_MIPS_16 */
    ABSOLUTE(2, 32),   /* R_MIPS_32 */
    ABSOLUTE(18, 64),  /* R_MIPS_64 */
    ABSOLUTE(39, 32),  /* R_MIPS_TLS_DTPREL32 */
    ABSOLUTE(41, 64),  /* R_MIPS_TLS_DTPREL64 */
    RELATIVE(248, 32), /* R_MIPS_PC32 */
};

/* PowerPC, 32 and 64 bits. */
static const relocation_type types_ppc[] = {
    NONE(0),
    ABSOLUTE(1, 32),  /* R_PPC_ADDR32 */
    ABSOLUTE(3, 16),  /* R_PPC_ADDR16 */
    ABSOLUTE(24, 32), /* R_PPC_UADDR32 */
    ABSOLUTE(25, 16), /* R_PPC_UADDR16 */
    RELATIVE(26, 32), /* R_PPC_REL32 */
    ABSOLUTE(38, 64), /* R_PPC64_ADDR64 */
    ABSOLUTE(43, 64), /* R_PPC64_UADDR64 */
    RELATIVE(44, 64), /* R_PPC64_REL64 */
    ABSOLUTE(78, RELOCATION_WORD), /* R_PPC_DTPREL32, R_PPC64_DTPREL64 */
};

static const relocation_type types_s390[] = {
    NONE(0),
    ABSOLUTE(1, 8),   /* R_390_8 */
    ABSOLUTE(3, 16),  /* R_390_16 */
    ABSOLUTE(4, 32),  /* R_390_32 */
    RELATIVE(5, 32),  /* R_390_PC32 */
    RELATIVE(16, 16), /* R_390_PC16 */
    ABSOLUTE(22, 64), /* R_390_64 */
    RELATIVE(23, 64), /* R_390_PC64 */
    ABSOLUTE(52, 32), /* R_390_TLS_LDO32 */
    ABSOLUTE(53, 64), /* R_390_TLS_LDO64 */
};

static const relocation_type types_arm[] = {
    NONE(0),
    ABSOLUTE(2, 32),   /* R_ARM_ABS32 */
    RELATIVE(3, 32),   /* R_ARM_REL32 */
    ABSOLUTE(5, 16),   /* R_ARM_ABS16 */
    ABSOLUTE(8, 8),    /* R_ARM_ABS8 */
    ABSOLUTE(18, 32),  /* R_ARM_TLS_DTPOFF32 */
    ABSOLUTE(38, 32),  /* R_ARM_TARGET1 */
    RELATIVE(42, 31),  /* R_ARM_PREL31 */
    ABSOLUTE(106, 32), /* R_ARM_TLS_LDO32 */
};

static const relocation_type types_sparc[] = {
    NONE(0),
    ABSOLUTE(1, 8),   /* R_SPARC_8 */
    ABSOLUTE(2, 16),  /* R_SPARC_16 */
    ABSOLUTE(3, 32),  /* R_SPARC_32 */
    RELATIVE(4, 8),   /* R_SPARC_DISP8 */
    RELATIVE(5, 16),  /* R_SPARC_DISP16 */
    RELATIVE(6, 32),  /* R_SPARC_DISP32 */
    ABSOLUTE(23, 32), /* R_SPARC_UA32 */
    ABSOLUTE(32, 64), /* R_SPARC_64 */
    RELATIVE(46, 64), /* R_SPARC_DISP64 */
    ABSOLUTE(54, 64), /* R_SPARC_UA64 */
    ABSOLUTE(55, 16), /* R_SPARC_UA16 */
    ABSOLUTE(76, 32), /* R_SPARC_TLS_DTPOFF32 */
    ABSOLUTE(77, 64), /* R_SPARC_TLS_DTPOFF64 */
};

static const relocation_type types_x86_64[] = {
    NONE(0),
    ABSOLUTE(1, 64),  /* R_X86_64_64 */
    RELATIVE(2, 32),  /* R_X86_64_PC32 */
    ABSOLUTE(10, 32), /* R_X86_64_32 */
    ABSOLUTE(11, 32), /* R_X86_64_32S */
    ABSOLUTE(12, 16), /* R_X86_64_16 */
    RELATIVE(13, 16), /* R_X86_64_PC16 */
    ABSOLUTE(14, 8),  /* R_X86_64_8 */
    RELATIVE(15, 8),  /* R_X86_64_PC8 */
    ABSOLUTE(17, 64), /* R_X86_64_DTPOFF64 */
    ABSOLUTE(21, 32), /* R_X86_64_DTPOFF32 */
    RELATIVE(24, 64), /* R_X86_64_PC64 */
};

static const relocation_type types_hexagon[] = {
    NONE(0),
    ABSOLUTE(6, 32),  /* R_HEX_32 */
    ABSOLUTE(7, 16),  /* R_HEX_16 */
    ABSOLUTE(8, 8),   /* R_HEX_8 */
    RELATIVE(31, 32), /* R_HEX_32_PCREL */
    ABSOLUTE(68, 32), /* R_HEX_DTPREL_32 */
};

static const relocation_type types_aarch64[] = {
    NONE(0),
    NONE(256),
    ABSOLUTE(257, 64),  /* R_AARCH64_ABS64 */
    ABSOLUTE(258, 32),  /* R_AARCH64_ABS32 */
    ABSOLUTE(259, 16),  /* R_AARCH64_ABS16 */
    RELATIVE(260, 64),  /* R_AARCH64_PREL64 */
    RELATIVE(261, 32),  /* R_AARCH64_PREL32 */
    RELATIVE(262, 16),  /* R_AARCH64_PREL16 */
    ABSOLUTE(1029, 64), /* R_AARCH64_TLS_DTPREL */
};

static const relocation_type types_aarch64_ilp32[] = {
    NONE(0),
    ABSOLUTE(1, 32),   /* R_AARCH64_P32_ABS32 */
    ABSOLUTE(2, 16),   /* R_AARCH64_P32_ABS16 */
    RELATIVE(3, 32),   /* R_AARCH64_P32_PREL32 */
    RELATIVE(4, 16),   /* R_AARCH64_P32_PREL16 */
    ABSOLUTE(185, 32), /* R_AARCH64_P32_TLS_DTPREL */
};

static const relocation_type types_riscv[] = {
    NONE(0),
    ABSOLUTE(1, 32), /* R_RISCV_32 */
    ABSOLUTE(2, 64), /* R_RISCV_64 */
    ABSOLUTE(8, 32), /* R_RISCV_TLS_DTPREL32 */
    ABSOLUTE(9, 64), /* R_RISCV_TLS_DTPREL64 */
    ADD(33, 8),      /* R_RISCV_ADD8 */
    ADD(34, 16),
    ADD(35, 32),
    ADD(36, 64),
    SUBTRACT(37, 8), /* R_RISCV_SUB8 */
    SUBTRACT(38, 16),
    SUBTRACT(39, 32),
    SUBTRACT(40, 64),
    NONE(43),        /* R_RISCV_ALIGN */
    NONE(51),        /* R_RISCV_RELAX */
    SUBTRACT(52, 6), /* R_RISCV_SUB6 */
    ABSOLUTE(53, 6), /* R_RISCV_SET6 */
    ABSOLUTE(54, 8),
    ABSOLUTE(55, 16),
    ABSOLUTE(56, 32),
    RELATIVE(57, 32), /* R_RISCV_32_PCREL */
    RELATIVE(59, 32), /* R_RISCV_PLT32 */
    {60, RELOCATION_SET_ULEB128, 0},
    {61, RELOCATION_SUBTRACT_ULEB128, 0},
};

static const relocation_type types_bpf[] = {
    NONE(0),
    ABSOLUTE(2, 64), /* R_BPF_64_ABS64 */
    ABSOLUTE(3, 32), /* R_BPF_64_ABS32 */
    ABSOLUTE(4, 32), /* R_BPF_64_NODYLD32 */
};

static const relocation_type types_loongarch[] = {
    NONE(0),
    ABSOLUTE(1, 32), /* R_LARCH_32 */
    ABSOLUTE(2, 64), /* R_LARCH_64 */
    ABSOLUTE(8, 32), /* R_LARCH_TLS_DTPREL32 */
    ABSOLUTE(9, 64), /* R_LARCH_TLS_DTPREL64 */
    NONE(20),        /* R_LARCH_MARK_LA */
    NONE(21),        /* R_LARCH_MARK_PCREL */
    ADD(47, 8),      /* R_LARCH_ADD8 */
    ADD(48, 16),
    ADD(49, 24),
    ADD(50, 32),
    ADD(51, 64),
    SUBTRACT(52, 8), /* R_LARCH_SUB8 */
    SUBTRACT(53, 16),
    SUBTRACT(54, 24),
    SUBTRACT(55, 32),
    SUBTRACT(56, 64),
    RELATIVE(99, 32), /* R_LARCH_32_PCREL */
    NONE(100),        /* R_LARCH_RELAX */
    NONE(102),        /* R_LARCH_ALIGN */
    ADD(105, 6),      /* R_LARCH_ADD6 */
    SUBTRACT(106, 6), /* R_LARCH_SUB6 */
    {107, RELOCATION_ADD_ULEB128, 0},
    {108, RELOCATION_SUBTRACT_ULEB128, 0},
    RELATIVE(109, 64), /* R_LARCH_64_PCREL */
};

/* ---- COFF ------------------------------------------------------------------------- */

static const relocation_type coff_types_386[] = {
    NONE(0),
    ABSOLUTE(6, 32), /* IMAGE_REL_I386_DIR32 */
    ABSOLUTE(7, 32), /* IMAGE_REL_I386_DIR32NB: there is no image yet */
    NONE(10),        /* IMAGE_REL_I386_SECTION */
    {11, RELOCATION_SECTION_OFFSET, 32},
};

static const relocation_type coff_types_x86_64[] = {
    NONE(0),
    ABSOLUTE(1, 64), /* IMAGE_REL_AMD64_ADDR64 */
    ABSOLUTE(2, 32), /* IMAGE_REL_AMD64_ADDR32 */
    ABSOLUTE(3, 32), /* IMAGE_REL_AMD64_ADDR32NB */
    NONE(10),        /* IMAGE_REL_AMD64_SECTION */
    {11, RELOCATION_SECTION_OFFSET, 32},
};

static const relocation_type coff_types_arm[] = {
    NONE(0),
    ABSOLUTE(1, 32), /* IMAGE_REL_ARM_ADDR32 */
    ABSOLUTE(2, 32), /* IMAGE_REL_ARM_ADDR32NB */
    NONE(14),        /* IMAGE_REL_ARM_SECTION */
    {15, RELOCATION_SECTION_OFFSET, 32},
};

static const relocation_type coff_types_arm64[] = {
    NONE(0),
    ABSOLUTE(1, 32), /* IMAGE_REL_ARM64_ADDR32 */
    ABSOLUTE(2, 32), /* IMAGE_REL_ARM64_ADDR32NB */
    {8, RELOCATION_SECTION_OFFSET, 32},
    NONE(13),         /* IMAGE_REL_ARM64_SECTION */
    ABSOLUTE(14, 64), /* IMAGE_REL_ARM64_ADDR64 */
};

/* ---- by machine ------------------------------------------------------------------- */

typedef struct machine_types {
    uint32_t machine;
    uint32_t count;
    const relocation_type *types;
} machine_types;

#define MACHINE(number, types) {number, sizeof types / sizeof types[0], types}

/* By e_machine. */
static const machine_types elf_machines[] = {
    MACHINE(2, types_sparc), /* EM_SPARC */
    MACHINE(3, types_386),   /* EM_386 */
    MACHINE(4, types_68k),   /* EM_68K */
    MACHINE(ELF_MACHINE_MIPS, types_mips),
    MACHINE(18, types_sparc), /* EM_SPARC32PLUS */
    MACHINE(20, types_ppc),   /* EM_PPC */
    MACHINE(21, types_ppc),   /* EM_PPC64 */
    MACHINE(22, types_s390),  /* EM_S390 */
    MACHINE(ELF_MACHINE_ARM, types_arm),
    MACHINE(ELF_MACHINE_SPARCV9, types_sparc),
    MACHINE(62, types_x86_64),   /* EM_X86_64 */
    MACHINE(164, types_hexagon), /* EM_QDSP6 */
    MACHINE(ELF_MACHINE_AARCH64, types_aarch64),
    MACHINE(243, types_riscv),    /* EM_RISCV */
    MACHINE(247, types_bpf),      /* EM_BPF */
    MACHINE(258, types_loongarch) /* EM_LOONGARCH */
};

static const machine_types elf_ilp32 = MACHINE(ELF_MACHINE_AARCH64, types_aarch64_ilp32);

static const machine_types coff_machines[] = {
    MACHINE(PE_MACHINE_I386, coff_types_386),
    MACHINE(PE_MACHINE_ARM, coff_types_arm),
    MACHINE(PE_MACHINE_X86_64, coff_types_x86_64),
    MACHINE(PE_MACHINE_ARM64, coff_types_arm64),
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
    else if (header->machine == ELF_MACHINE_AARCH64 && !header->is_64)
        found = &elf_ilp32;
    else
        found = find_machine(elf_machines, sizeof elf_machines / sizeof elf_machines[0],
                             header->machine);
    *count_ret = found == NULL ? 0 : found->count;
    return found == NULL ? NULL : found->types;
}
