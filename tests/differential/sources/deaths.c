/* Ways to die, each at the end of a chain of calls: deaths WAY. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define STACK 65536

static volatile int one = 1;
static int (*volatile nowhere)(void);
static char data[64];
static ucontext_t first, second;
static char other_stack[STACK] __attribute__((aligned(64)));

APART static int leaf(volatile int *p) { return *p + one; }
APART static int by_leaf(void) { return leaf(0) + one; }
APART static int by_null(void) { return nowhere() + one; }
APART static int by_data(void) { return ((int (*)(void))(void *)data)() + one; }
APART static int by_freed(void) {
    int (*volatile freed)(void);
    void *code = mmap(0, STACK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(code, STACK);
    freed = (int (*)(void))code;
    return freed() + one;
}

APART static int deep(int n) {
    volatile char some[200];
    some[0] = (char)n;
    return deep(n + one) + some[0];
}
APART static int by_overflow(void) { return deep(0) + one; }
APART static int even(int n);
APART static int odd(int n) { return n ? even(n - one) + one : leaf(0); }
APART static int even(int n) { return n ? odd(n - one) + one : leaf(0); }
APART static int by_recursion(void) { return even(5000) + one; }

APART static int by_abort(void) {
    if (one) abort();
    return one;
}
APART static void fatal(void) { abort(); }
APART static int by_tail(void) {
    if (one) fatal();
    return one;
}
APART static int by_assert(void) {
    assert(!one);
    return one;
}
APART static int by_trap(void) {
    if (one) __builtin_trap();
    return one;
}
APART static void breakpoint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("int3");
#elif defined(__aarch64__)
    __asm__ volatile("brk #1");
#elif defined(__riscv)
    __asm__ volatile("ebreak");
#else
    __builtin_trap();
#endif
    __builtin_unreachable();
}
APART static int by_breakpoint(void) {
    if (one) breakpoint();
    return one;
}
__attribute__((noinline, optimize("stack-protector-all"))) static int by_smash(void) {
    char little[16];
    memset(little, 1, 25 * (size_t)one);
    return little[0];
}
APART static int by_free(void) {
    char *block = malloc(64);
    free(block + 16 * one);
    return one;
}
APART static int by_quit(void) { return raise(SIGQUIT) + one; }

static void handler(int number) { leaf((volatile int *)0 + 0 * number); }
static void last(int number) {
    (void)number;
    abort();
}
static void handle(void (*how)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = how;
    action.sa_flags = flags;
    sigaction(SIGSEGV, &action, 0);
}
APART static int by_handler(void) {
    handle(handler, SA_RESETHAND | SA_NODEFER);
    return leaf(0) + one;
}
static void use_other_stack(void) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = other_stack;
    stack.ss_size = STACK;
    sigaltstack(&stack, 0);
    handle(last, SA_ONSTACK | SA_SIGINFO);
}
APART static int by_other_stack(void) {
    use_other_stack();
    return leaf(0) + one;
}
APART static int by_handled_null(void) {
    use_other_stack();
    return nowhere() + one;
}
APART static int by_handled_overflow(void) {
    use_other_stack();
    return deep(0) + one;
}

static int compare(const void *a, const void *b) { return leaf((volatile int *)0) + (a < b); }
APART static int by_callback(void) {
    qsort(data, 8, 4, compare);
    return data[0] + one;
}

static void routine(void) { data[0] = (char)leaf(0); }
APART static int by_coroutine(void) {
#if defined(__GLIBC__)
    getcontext(&second);
    second.uc_stack.ss_sp = other_stack;
    second.uc_stack.ss_size = STACK;
    second.uc_link = &first;
    makecontext(&second, routine, 0);
    swapcontext(&first, &second);
#else
    (void)first, (void)second;
    routine();
#endif
    return one;
}

APART static void *run(void *unused) {
    data[0] = (char)(leaf(0) + one);
    return unused;
}
APART static int by_thread(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return one;
}
APART static int bare(void *unused) { return leaf(unused) + one; }
APART static int by_bare_thread(void) {
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    clone(bare, other_stack + STACK, flags | CLONE_SYSVSEM, 0);
    for (;;) pause();
    return one;
}
APART static int by_vfork(void) {
    pid_t child = vfork();
    if (child == 0) _exit(leaf(0) + one);
    if (child > 0) waitpid(child, 0, 0);
    return one;
}

APART static int by_lost_stack(void) {
#if defined(__x86_64__)
    __asm__ volatile("mov $64, %rsp; mov 0, %rax");
#elif defined(__i386__)
    __asm__ volatile("mov $64, %esp; mov 0, %eax");
#elif defined(__aarch64__)
    __asm__ volatile("mov x0, #64; mov sp, x0; ldr x0, [sp]");
#elif defined(__riscv)
    __asm__ volatile("li sp, 64; ld a0, 0(sp)");
#elif defined(__powerpc64__)
    __asm__ volatile("li 1, 64; ld 3, 0(1)");
#elif defined(__s390x__)
    __asm__ volatile("lghi %r15, 64; lg %r2, 0(%r15)");
#endif
    return one;
}

/* Calls its argument, and keeps a frame pointer. */
static const unsigned char code[] = {
#if defined(__x86_64__)
    0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
#elif defined(__i386__)
    0x55, 0x89, 0xe5, 0xff, 0x55, 0x08, 0x5d, 0xc3,
#elif defined(__aarch64__)
    0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00, 0x3f, 0xd6,
    0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
#elif defined(__riscv)
    0x41, 0x11, 0x06, 0xe4, 0x22, 0xe0, 0x00, 0x08, 0x02, 0x95,
    0xa2, 0x60, 0x02, 0x64, 0x41, 0x01, 0x82, 0x80,
#elif defined(__powerpc64__)
    0xa6, 0x02, 0x08, 0x7c, 0x10, 0x00, 0x01, 0xf8, 0xe1, 0xff, 0x21, 0xf8,
    0xa6, 0x03, 0x69, 0x7c, 0x78, 0x1b, 0x6c, 0x7c, 0x21, 0x04, 0x80, 0x4e,
#elif defined(__s390x__)
    0xeb, 0x6f, 0xf0, 0x30, 0x00, 0x24, 0xa7, 0xfb, 0xff, 0x60, 0x0d, 0xe2,
#endif
};
APART static int by_made_code(void) {
    void *made = mmap(0, STACK, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, code, sizeof code);
    __builtin___clear_cache((char *)made, (char *)made + sizeof code);
    return ((int (*)(int (*)(void)))made)(by_leaf) + one;
}

static const struct {
    const char *name;
    int (*die)(void);
} ways[] = {
#define WAY(name) {#name, by_##name}
    WAY(leaf), WAY(null), WAY(data), WAY(freed), WAY(overflow), WAY(recursion),
    WAY(abort), WAY(tail), WAY(assert), WAY(trap), WAY(breakpoint), WAY(smash),
    WAY(free), WAY(quit), WAY(handler), WAY(other_stack), WAY(handled_null),
    WAY(handled_overflow), WAY(callback), WAY(coroutine), WAY(thread),
    WAY(bare_thread), WAY(vfork), WAY(lost_stack), WAY(made_code),
};

APART int work(const char *name) {
    for (size_t each = 0; each < sizeof ways / sizeof ways[0]; each++)
        if (strcmp(ways[each].name, name) == 0) return ways[each].die() + one;
    return 0;
}
APART int outer(const char *name) { return work(name) + one; }
int main(int count, char **words) { return outer(words[count - 1]); }
