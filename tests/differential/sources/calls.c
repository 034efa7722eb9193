/* Calls of each kind: out of deep chains of inlined functions, through pointers, in tail
   position, and such that never return. */
#include <stdlib.h>
#include <unistd.h>

#define INLINED static inline __attribute__((always_inline))
#define APART __attribute__((noinline))

typedef int (*operation)(int);

static volatile int sink;

APART static int called(int value) { return value * sink; }
APART static int other(int value) { return value - sink; }
static operation const operations[] = {called, other};

INLINED int depth_8(int value) { return called(value + 8) + other(value); }
INLINED int depth_7(int value) { return depth_8(value + 7) ^ called(value); }
INLINED int depth_6(int value) { return depth_7(value + 6) + depth_8(value); }
INLINED int depth_5(int value) { return depth_6(value + 5) - called(value); }
INLINED int depth_4(int value) { return value & 4 ? depth_5(value + 4) : 4; }
INLINED int depth_3(int value) {
    int sum = 0;
    for (int i = 0; i < value; ++i) sum += operations[i & 1](depth_4(i));
    return sum;
}
INLINED int depth_2(int value) { return depth_3(value + 2) + depth_4(value); }
INLINED int depth_1(int value) { return depth_2(value + 1); }

APART static int tail(int value) { return called(value + 1); }
APART static int tail_through_pointer(int value) { return operations[value & 1](value); }
APART static void failing(int value) {
    if (value == 12345) abort();
    sink = value;
}
APART static long system_call(void) {
#if defined __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(39L) : "rcx", "r11", "memory");
    return result;
#else
    return getpid();
#endif
}

int main(int argc, char **argv) {
    (void)argv;
    failing(argc);
    return depth_1(argc) + tail(argc) + tail_through_pointer(argc) + (int)system_call();
}
