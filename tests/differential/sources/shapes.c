/* A C program with inlined calls from two files, a cold part split from its hot
 * one, a nested function, recursion, duplicates that a linker may fold, hand-written
 * assembly, a symbol inside a function, and code that never returns. */
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>

volatile int sink;

static inline __attribute__((always_inline)) int twice(int value) {
    return mix(value) + mix(value + 1);
}

static __attribute__((noinline, cold, noreturn)) void give_up(int reason) {
    fprintf(stderr, "gave up: %d\n", reason);
    exit(reason);
}

static __attribute__((noinline)) int hot_and_cold(int value) {
    int sum = 0;
    for (int i = 0; i < value; i++) {
        if (__builtin_expect(sink == 12345, 0)) {
            fprintf(stderr, "rare: %d\n", twice(i));
            if (sink) give_up(i);
        }
        sum += twice(i);
    }
    return sum;
}

static __attribute__((noinline)) int same_one(int value) { return value * 7 + 1; }
static __attribute__((noinline)) int same_two(int value) { return value * 7 + 1; }

#ifndef __clang__
static __attribute__((noinline)) int with_nested(int base) {
    int nested(int value) { return base + twice(value); }
    int (*volatile call)(int) = nested;
    return call(sink) + nested(3);
}
#else
static __attribute__((noinline)) int with_nested(int base) { return base; }
#endif

static __attribute__((noinline)) int factorial(int value) {
    return value < 2 ? 1 : value * factorial(value - 1);
}

/* The second symbol covers one byte; what follows it is still this function. */
static __attribute__((noinline, noclone)) int marked(int value) {
    int sum = mix(value);
    __asm__ volatile(".type inside_marked, @function\n"
                     "inside_marked:\n"
                     "  nop\n"
                     ".size inside_marked, 1\n");
    return sum + mix(sum + sink);
}

__attribute__((noinline)) int choose(int value) {
    switch (value & 7) {
    case 0: return twice(value);
    case 1: return factorial(value & 3);
    case 2: return same_one(value);
    case 3: return same_two(value);
    case 4: return hot_and_cold(value);
    case 5: return with_nested(value);
    case 6: return marked(value);
    default: return clamp(value, 0, 9);
    }
}

/* Only the symbol table knows these: one without type and size, one with a label
 * inside that has neither. */
__asm__(".pushsection .text\n"
        ".globl written_by_hand, with_label\n"
        "written_by_hand:\n"
        "  nop\n  nop\n  nop\n  ret\n"
        ".type with_label, @function\n"
        "with_label:\n"
        "  nop\n  nop\n"
        "label_inside:\n"
        "  nop\n  ret\n"
        ".size with_label, .-with_label\n"
        ".popsection\n");
extern void written_by_hand(void);
extern void with_label(void);

int main(int argc, char **argv) {
    (void)argv;
    written_by_hand();
    with_label();
    for (int i = 0; i < argc + 8; i++) sink += choose(i);
    return sink == 42;
}
