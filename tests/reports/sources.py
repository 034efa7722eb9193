"""Programs that crash, or print their stacks: each `@NAME` names a line."""

from __future__ import annotations

import re

APP = r"""
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int sink;
volatile int *nowhere;
static void print_stack(void) {
    void *frames[64];
    int count = backtrace(frames, 64);            // @backtrace
    backtrace_symbols_fd(frames, count, 1);
}
static void handler(int number) {
    (void)number;
    print_stack();                                // @handler
    _exit(0);
}
__attribute__((noinline)) void act(const char *mode) {
    if (!strcmp(mode, "backtrace"))
        print_stack();                            // @print
    if (!strcmp(mode, "handler")) {
        signal(SIGSEGV, handler);
        sink = *nowhere;                          // @read
    }
    if (!strcmp(mode, "crash"))
        *nowhere = 1;                             // @crash
    if (!strcmp(mode, "abort"))
        abort();                                  // @abort
    if (!strcmp(mode, "sleep"))
        sleep(100);                               // @sleep
    if (!strcmp(mode, "spin"))
        for (long n = 0; n < 900000000L; n++)
            sink += n;                            // @spin
    if (!strcmp(mode, "allocate"))
        for (int n = 0; n < 20; n++)
            nowhere = malloc(4000);               // @allocate
    sink++;
}
__attribute__((noinline)) void callback(const char *mode) {
    act(mode);                                    // @callback
    sink++;
}
__attribute__((noinline)) void load(const char *mode, const char *path) {
    void (*call)(void (*)(const char *), const char *);
    *(void **)&call = dlsym(dlopen(path, RTLD_NOW), "plugin_call");
    call(callback, mode);                         // @load
    sink++;
}
int main(int argc, char **argv) {
    if (argc > 2)
        load(argv[1], argv[2]);                   // @dynamic
    else
        callback(argv[1]);                        // @direct
    sink++;
    return 0;
}
"""

PLUGIN = r"""
volatile int plugged;
static __attribute__((always_inline)) inline void hop(void (*call)(const char *),
                                                      const char *mode) {
    call(mode);                                   // @hop
    plugged++;
}
void plugin_call(void (*call)(const char *), const char *mode) {
    hop(call, mode);                              // @plugin
    plugged++;
}
"""

MISTAKES = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int sink;
int *volatile kept;
int shared;
static void *race(void *unused) {
    shared++;                                     // @race
    return unused;
}
__attribute__((noinline)) void act(const char *mode, int n) {
    if (!strcmp(mode, "freed")) {
        int *p = malloc(40);                      // @malloc
        free(p);                                  // @free
        sink = p[n];                              // @use
    }
    if (!strcmp(mode, "leak"))
        for (int i = 0; i < 20; i++)
            kept = malloc(40);                    // @leak
    if (!strcmp(mode, "overflow"))
        sink = 0x7fffffff + n;                    // @overflow
    if (!strcmp(mode, "uninitialized")) {
        int *p = malloc(40);
        if (p[n])                                 // @branch
            puts("yes");
    }
    if (!strcmp(mode, "race")) {
        pthread_t t;
        pthread_create(&t, 0, race, 0);           // @create
        usleep(50000); // of accesses at the same instant none sees the other
        shared++;                                 // @shared
        pthread_join(t, 0);
    }
    sink++;
}
int main(int argc, char **argv) {
    act(argv[1], argc);                           // @main
    sink++;
    return 0;
}
"""

BOOST = r"""
#include <boost/stacktrace.hpp>
#include <iostream>
int sink;
__attribute__((noinline)) void act() {
    std::cout << boost::stacktrace::stacktrace(); // @act
    asm volatile("" : : "r"(&sink) : "memory");
}
int main() {
    act();                                        // @main
    asm volatile("" : : "r"(&sink) : "memory");
}
"""

RUST = r"""
#[inline(never)]
fn act(v: &[i32], n: usize) -> i32 {
    v[n]                                          // @act
}
fn main() {
    let v = vec![1, 2, 3];
    let n = std::env::args().count() + 7;
    println!("{}", act(&v, n) + 1);               // @main
}
"""

GO = r"""
package main

import "os"

//go:noinline
func act(v []int, n int) int {
	return v[n] // @act
}

func main() {
	println(act([]int{1, 2}, len(os.Args)+7)) // @main
}
"""

ZIG = r"""
noinline fn act(v: []const i32, n: usize) i32 {
    return v[n]; // @act
}
var index: usize = 7;
pub fn main() void {
    const v = [_]i32{ 1, 2, 3 };
    const p: *volatile usize = &index;
    if (act(&v, p.*) == 3) index = 2; // @main
}
"""

JAVA = r"""
public class Crash {
    static native void act();
    public static void main(String[] arguments) {
        System.load(System.getProperty("user.dir") + "/libjcrash.so");
        act();
    }
}
"""

NATIVE = r"""
volatile int *nowhere;
volatile int sink;
static __attribute__((noinline)) void fail(void) {
    *nowhere = 1;                                 // @crash
    sink++;
}
void Java_Crash_act(void *environment, void *own_class) {
    (void)environment;
    (void)own_class;
    fail();                                       // @native
    sink++;
}
"""

D = r"""
void act(int n) {
    if (n > 1)
        throw new Exception("too many");          // @act
}
void main() {
    act(3);                                       // @main
}
"""

FORTRAN = r"""
subroutine act(n)
  integer, intent(in) :: n
  integer, pointer :: p
  nullify(p)
  if (n > 0) p = n                                ! // @act
end subroutine
program crash
  call act(3)                                     ! // @main
end program                                       ! // @end
"""

PASCAL = r"""
program crash;
procedure act(p: PInteger);
begin
  p^ := 1;                                        // @act
end;
begin
  act(nil);                                       // @main
end.
"""

ADA = r"""
procedure Crash is
   Values : array (1 .. 3) of Integer := (others => 1);
   procedure Act (N : Integer) is
   begin
      Values (N) := 5;                            -- // @act
   end Act;
begin
   Act (Values (1) + 7);                          -- // @main
end Crash;
"""

ADDON = r"""
#include <stddef.h>
extern void napi_fatal_error(const char *, size_t, const char *, size_t);
volatile int sink;
static __attribute__((noinline)) void fail(void) {
    napi_fatal_error("addon", 5, "failed", 6);    // @fatal
    sink++;
}
void *napi_register_module_v1(void *environment, void *exports) {
    (void)environment;
    fail();                                       // @register
    sink++;
    return exports;
}
"""

FILES = {
    "app.c": APP,
    "plugin.c": PLUGIN,
    "mistakes.c": MISTAKES,
    "boost.cc": BOOST,
    "crash.rs": RUST,
    "crash.go": GO,
    "crash.zig": ZIG,
    "Crash.java": JAVA,
    "native.c": NATIVE,
    "addon.c": ADDON,
    "crash.d": D,
    "crash.f90": FORTRAN,
    "crash.pas": PASCAL,
    "crash.adb": ADA,
}


def marked_lines(text: str) -> dict[str, int]:
    """Numbers of the named lines."""
    return {
        found[1]: number
        for number, line in enumerate(text.split("\n"), 1)
        if (found := re.search(r"// @(\w+)", line))
    }


PLACES = {
    f"{name}@{mark}": f"{name}:{line}"
    for name, text in FILES.items()
    for mark, line in marked_lines(text).items()
}
