"""Programs that are compiled and run for a test, and wait while it looks at them."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIBRARY = """\
__attribute__((noinline)) int in_library(int x) { return x * 3; }
__attribute__((noinline)) static int deep(const int *p) { return *p + 1; }
__attribute__((noinline)) int crash(const int *p) { return deep(p) + 1; }
"""

PROGRAM = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline __attribute__((always_inline)) int inlined(int *p) { return *p + 1; }
__attribute__((noinline)) int leaf(int *p) { return inlined(p) * 2; }
__attribute__((noinline)) int middle(int *p) { return leaf(p) + 1; }
static void handler(int number) { (void)number; abort(); }
static pthread_barrier_t barrier;
__attribute__((noinline)) static void wait_forever(void) { for (;;) pause(); }
static void *thread(void *unused) {
    pthread_barrier_wait(&barrier);
    wait_forever();
    return unused;
}

int main(int count, char **words) {
    const char *library = count > 1 ? words[1] : "";
    const char *mode = count > 2 ? words[2] : "";
    void *open = *library ? dlopen(library, RTLD_NOW) : 0;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW);
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(code, 0xC3, 4096);
    printf("main %p\\n", (void *)main);
    printf("leaf %p\\n", (void *)leaf);
    printf("code %p\\n", (void *)code);
    if (open) printf("in_library %p\\n", dlsym(open, "in_library"));
    if (vdso) printf("vdso %p\\n", dlsym(vdso, "__vdso_clock_gettime"));
    printf("end 0x0\\n");
    fflush(stdout);
    if (*mode) {
        pthread_t other;
        pthread_barrier_init(&barrier, 0, 2);
        pthread_create(&other, 0, thread, 0);
        pthread_barrier_wait(&barrier);
    }
    if (!strcmp(mode, "library")) {
        int (*crash)(int *);
        *(void **)&crash = dlsym(open, "crash");
        return crash(0) + 1;
    }
    if (!strcmp(mode, "handled")) signal(SIGSEGV, handler);
    if (*mode && strcmp(mode, "wait")) return middle(0);
    return getchar() == 'x';
}
"""


def build(folder: Path, compiler: str, *flags: str) -> tuple[Path, Path]:
    """The program and its library, in *folder*."""
    (folder / "library.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM)
    library, program = folder / "library.so", folder / "program"
    common = [compiler, "-g", "-O1", "-Wl,--build-id"]
    for command in (
        [*common, "-shared", "-fPIC", "-o", str(library), "library.c"],
        [*common, "-pthread", *flags, "-o", str(program), "program.c", "-ldl"],
    ):
        subprocess.run(command, check=True, cwd=folder)
    return program, library


@contextmanager
def running(
    *command: str | Path, root: Path | None = None
) -> Iterator[tuple[int, dict[str, int]]]:
    """The number of a process, in a root of its own, and the addresses it printed."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=None if root is None else lambda: os.chroot(root),  # noqa: PLW1509
    )
    try:
        assert process.stdout is not None
        printed: dict[str, int] = {}
        for line in process.stdout:
            name, _, address = line.partition(" ")
            printed[name] = int(address, 16)
            if name == "end":
                break
        yield process.pid, printed
    finally:
        process.kill()
        process.communicate()
