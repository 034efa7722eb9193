/* A program that logs the location of its crash without using symbols.
 *
 *     cc -g crash.c -o crash -I "$(python -m gsym.include)"
 *     ./crash 2> crash.log
 *     gsym store add crash
 *     gsym filter crash.log
 */
#ifndef _GNU_SOURCE /* C++ compilers set it */
#define _GNU_SOURCE
#endif
#include <execinfo.h>
#include <signal.h>

#include "gsym_markup.h"

static void on_fault(int number) {
  void *addresses[64];
  int count = backtrace(addresses, 64);
  gsym_markup_context(2);
  /* The first two frames are this function and the trampoline of the signal. */
  if (count > 2) gsym_markup_frames(2, addresses + 2, (unsigned)count - 2, 1);
  _exit(128 + number);
}

__attribute__((noinline)) static int look_up(const volatile int *table, int index) {
  return table[index];
}

int main(void) {
  void *first[1];
  backtrace(first, 1); /* loads what it needs, which a handler must not */
  signal(SIGSEGV, on_fault);
  return look_up(0, 3) + 1;
}
