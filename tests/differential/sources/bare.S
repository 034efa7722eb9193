// Functions of any processor and container, by their instruction that does nothing: with
// a size and without, a label inside, one behind padding, one in a section of its own.
#if defined(__s390x__)
#define NOP lr %r1, %r1
#elif defined(__bpf__)
#define NOP r1 = r1
#elif defined(__AMDGCN__)
#define NOP s_nop 0
#else
#define NOP nop
#endif
#define PASTE(prefix, name) prefix##name
#define EXPAND(prefix, name) PASTE(prefix, name)
#define NAME(name) EXPAND(__USER_LABEL_PREFIX__, name)
#if defined(__ELF__)
#define FUNCTION(name) .type name, STT_FUNC
#define END(name) .size name, . - name
#define SECTION .section .text.apart, "ax"
#else
#define FUNCTION(name)
#define END(name)
#define SECTION .text
#endif

    .text
    .globl NAME(start)
    FUNCTION(NAME(start))
NAME(start):
    NOP
    NOP
inside:
    NOP
    NOP
    END(NAME(start))

NAME(unsized):
    NOP
    NOP

    .p2align 5
    .globl NAME(aligned)
    FUNCTION(NAME(aligned))
NAME(aligned):
    NOP

    NOP
    END(NAME(aligned))
// Nothing names these.
    NOP
    NOP

    SECTION
    FUNCTION(NAME(apart))
NAME(apart):
    NOP
    NOP
    END(NAME(apart))
