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
    ABSOLUTE(R_BPF_DATA_32, 11, 32), /* these two by binutils up to 2.40 */
    ABSOLUTE(R_BPF_DATA_64, 12, 64),
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

/* GNU tools write entries with an addend of 0, and the addend in place. */
static const relocation_type types_sh[] = {
    NONE(R_SH_NONE, 0),
    ADD(R_SH_DIR32, 1, 32),
    ADD(R_SH_TLS_LDO_32, 146, 32),
    ADD(R_SH_TLS_DTPOFF32, 150, 32),
};

static const relocation_type types_alpha[] = {
    NONE(R_ALPHA_NONE, 0),
    ABSOLUTE(R_ALPHA_REFLONG, 1, 32),
    ABSOLUTE(R_ALPHA_REFQUAD, 2, 64),
    RELATIVE(R_ALPHA_SREL16, 9, 16),
    RELATIVE(R_ALPHA_SREL32, 10, 32),
    RELATIVE(R_ALPHA_SREL64, 11, 64),
    ABSOLUTE(R_ALPHA_DTPREL64, 33, 64),
};

/* PA-RISC, 32 and 64 bits. */
static const relocation_type types_parisc[] = {
    NONE(R_PARISC_NONE, 0),
    ABSOLUTE(R_PARISC_DIR32, 1, 32),
    RELATIVE(R_PARISC_PCREL32, 9, 32),
    ABSOLUTE(R_PARISC_SECREL32, 41, 32),
    RELATIVE(R_PARISC_PCREL64, 72, 64),
    ABSOLUTE(R_PARISC_DIR64, 80, 64),
    ABSOLUTE(R_PARISC_SECREL64, 104, 64),
    ABSOLUTE(R_PARISC_TLS_DTPOFF32, 244, 32),
    ABSOLUTE(R_PARISC_TLS_DTPOFF64, 245, 64),
};

/* IA-64; the names end in the byte order, which is that of the file. */
static const relocation_type types_ia64[] = {
    NONE(R_IA64_NONE, 0x00),
    ABSOLUTE(R_IA64_DIR32MSB, 0x24, 32),
    ABSOLUTE(R_IA64_DIR32LSB, 0x25, 32),
    ABSOLUTE(R_IA64_DIR64MSB, 0x26, 64),
    ABSOLUTE(R_IA64_DIR64LSB, 0x27, 64),
    RELATIVE(R_IA64_PCREL32MSB, 0x4c, 32),
    RELATIVE(R_IA64_PCREL32LSB, 0x4d, 32),
    RELATIVE(R_IA64_PCREL64MSB, 0x4e, 64),
    RELATIVE(R_IA64_PCREL64LSB, 0x4f, 64),
    ABSOLUTE(R_IA64_SECREL32MSB, 0x64, 32),
    ABSOLUTE(R_IA64_SECREL32LSB, 0x65, 32),
    ABSOLUTE(R_IA64_SECREL64MSB, 0x66, 64),
    ABSOLUTE(R_IA64_SECREL64LSB, 0x67, 64),
    ABSOLUTE(R_IA64_DTPREL32MSB, 0xb4, 32),
    ABSOLUTE(R_IA64_DTPREL32LSB, 0xb5, 32),
    ABSOLUTE(R_IA64_DTPREL64MSB, 0xb6, 64),
    ABSOLUTE(R_IA64_DTPREL64LSB, 0xb7, 64),
};

/* The DIFF types mark differences that are already in place. */
static const relocation_type types_avr[] = {
    NONE(R_AVR_NONE, 0),
    ABSOLUTE(R_AVR_32, 1, 32),
    ABSOLUTE(R_AVR_16, 4, 16),
    ABSOLUTE(R_AVR_8, 26, 8),
    NONE(R_AVR_DIFF8, 30),
    NONE(R_AVR_DIFF16, 31),
    NONE(R_AVR_DIFF32, 32),
};

static const relocation_type types_m32r[] = {
    NONE(R_M32R_NONE, 0),
    ABSOLUTE(R_M32R_16, 1, 16),
    ABSOLUTE(R_M32R_32, 2, 32),
    ABSOLUTE(R_M32R_16_RELA, 33, 16),
    ABSOLUTE(R_M32R_32_RELA, 34, 32),
    RELATIVE(R_M32R_REL32, 45, 32),
};

static const relocation_type types_or1k[] = {
    NONE(R_OR1K_NONE, 0),
    ABSOLUTE(R_OR1K_32, 1, 32),
    ABSOLUTE(R_OR1K_16, 2, 16),
    ABSOLUTE(R_OR1K_8, 3, 8),
    RELATIVE(R_OR1K_32_PCREL, 9, 32),
    RELATIVE(R_OR1K_16_PCREL, 10, 16),
    RELATIVE(R_OR1K_8_PCREL, 11, 8),
};

static const relocation_type types_arc[] = {
    NONE(R_ARC_NONE, 0),
    ABSOLUTE(R_ARC_8, 1, 8),
    ABSOLUTE(R_ARC_16, 2, 16),
    ABSOLUTE(R_ARC_32, 4, 32),
    RELATIVE(R_ARC_32_PCREL, 49, 32),
    ABSOLUTE(R_ARC_TLS_DTPOFF, 67, 32),
};

/* As for SuperH, the addend is in place. The DIFF types mark differences that are already
 * there. */
static const relocation_type types_xtensa[] = {
    NONE(R_XTENSA_NONE, 0),
    ADD(R_XTENSA_32, 1, 32),
    NONE(R_XTENSA_DIFF8, 17),
    NONE(R_XTENSA_DIFF16, 18),
    NONE(R_XTENSA_DIFF32, 19),
    ADD(R_XTENSA_TLS_DTPOFF, 52, 32),
    NONE(R_XTENSA_PDIFF8, 57),
    NONE(R_XTENSA_PDIFF16, 58),
    NONE(R_XTENSA_PDIFF32, 59),
    NONE(R_XTENSA_NDIFF8, 60),
    NONE(R_XTENSA_NDIFF16, 61),
    NONE(R_XTENSA_NDIFF32, 62),
};

static const relocation_type types_msp430[] = {
    NONE(R_MSP430_NONE, 0),
    ABSOLUTE(R_MSP430_32, 1, 32),
    ABSOLUTE(R_MSP430_16, 3, 16),
    ABSOLUTE(R_MSP430_16_BYTE, 5, 16),
    ABSOLUTE(R_MSP430_8, 9, 8),
};

static const relocation_type types_microblaze[] = {
    NONE(R_MICROBLAZE_NONE, 0),
    ABSOLUTE(R_MICROBLAZE_32, 1, 32),
    RELATIVE(R_MICROBLAZE_32_PCREL, 2, 32),
};

static const relocation_type types_cuda[] = {
    NONE(R_CUDA_NONE, 0),
    ABSOLUTE(R_CUDA_32, 1, 32),
    ABSOLUTE(R_CUDA_64, 2, 64),
};

static const relocation_type types_amdgpu[] = {
    NONE(R_AMDGPU_NONE, 0),
    ABSOLUTE(R_AMDGPU_ABS64, 3, 64),
    RELATIVE(R_AMDGPU_REL32, 4, 32),
    RELATIVE(R_AMDGPU_REL64, 5, 64),
    ABSOLUTE(R_AMDGPU_ABS32, 6, 32),
};

static const relocation_type types_csky[] = {
    NONE(R_CKCORE_NONE, 0),
    ABSOLUTE(R_CKCORE_ADDR32, 1, 32),
    RELATIVE(R_CKCORE_PCREL32, 5, 32),
    ABSOLUTE(R_CKCORE_TLS_DTPOFF32, 57, 32),
};

static const relocation_type types_nios2[] = {
    NONE(R_NIOS2_NONE, 0),
    ABSOLUTE(R_NIOS2_BFD_RELOC_32, 12, 32),
    ABSOLUTE(R_NIOS2_BFD_RELOC_16, 13, 16),
    ABSOLUTE(R_NIOS2_BFD_RELOC_8, 14, 8),
    ABSOLUTE(R_NIOS2_TLS_DTPREL, 34, 32),
};

static const relocation_type types_ve[] = {
    NONE(R_VE_NONE, 0),
    ABSOLUTE(R_VE_REFLONG, 1, 32),
    ABSOLUTE(R_VE_REFQUAD, 2, 64),
    RELATIVE(R_VE_SREL32, 3, 32),
    ABSOLUTE(R_VE_DTPOFF64, 23, 64),
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
    MACHINE(EM_PARISC, types_parisc),
    MACHINE(EM_SPARC32PLUS, types_sparc),
    MACHINE(EM_PPC, types_ppc),
    MACHINE(EM_PPC64, types_ppc),
    MACHINE(EM_S390, types_s390),
    MACHINE(EM_ARM, types_arm),
    MACHINE(EM_SH, types_sh),
    MACHINE(EM_SPARCV9, types_sparc),
    MACHINE(EM_IA_64, types_ia64),
    MACHINE(EM_X86_64, types_x86_64),
    MACHINE(EM_AVR, types_avr),
    MACHINE(EM_M32R, types_m32r),
    MACHINE(EM_OPENRISC, types_or1k),
    MACHINE(EM_ARC_COMPACT, types_arc),
    MACHINE(EM_XTENSA, types_xtensa),
    MACHINE(EM_MSP430, types_msp430),
    MACHINE(EM_ALTERA_NIOS2, types_nios2),
    MACHINE(EM_HEXAGON, types_hexagon),
    MACHINE(EM_AARCH64, types_aarch64),
    MACHINE(EM_MICROBLAZE, types_microblaze),
    MACHINE(EM_CUDA, types_cuda),
    MACHINE(EM_ARC_COMPACT2, types_arc),
    MACHINE(EM_AMDGPU, types_amdgpu),
    MACHINE(EM_RISCV, types_riscv),
    MACHINE(EM_BPF, types_bpf),
    MACHINE(EM_VE, types_ve),
    MACHINE(EM_CSKY, types_csky),
    MACHINE(EM_LOONGARCH, types_loongarch),
    MACHINE(EM_ALPHA, types_alpha),
};

static const machine_types elf_ilp32 = MACHINE(EM_AARCH64, types_aarch64_ilp32);

static const machine_types coff_machines[] = {
    MACHINE(IMAGE_FILE_MACHINE_I386, coff_types_386),
    MACHINE(IMAGE_FILE_MACHINE_ARMNT, coff_types_arm),
    MACHINE(IMAGE_FILE_MACHINE_AMD64, coff_types_x86_64),
    MACHINE(IMAGE_FILE_MACHINE_ARM64EC, coff_types_arm64),
    MACHINE(IMAGE_FILE_MACHINE_ARM64X, coff_types_arm64),
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
