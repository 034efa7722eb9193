#!/usr/bin/env bash
# memray shows no file and line of a function that only the line table describes.
#
# Guess: `memray run --native` shows file and line of each frame that has them, as debuggers do.
# Seen: in a library of clang -gline-tables-only, which has no DIE for functions into which
#   nothing is inlined, `middle` is `<unknown>:0`, while the functions beside it in the same
#   file have their lines. libbacktrace gives memray file and line of `middle` without a name,
#   memray passes over what has no name and takes the symbol alone. The same with functions of
#   assembly. llvm-symbolizer of the same address prints the line.
# Versions: memray 1.20.0, clang 22 of Debian, CPython 3.11 and later.
# Source: seen; MemorySegment::resolveFromDebugInfo (src/memray/_memray/native_resolver.cpp of
#   bloomberg/memray) returns early for an empty name.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v clang-22 >/dev/null || { echo "not available: clang-22"; exit 77; }
python3 -m venv venv
venv/bin/pip install -q memray==1.20.0 || { echo "not available: memray 1.20.0"; exit 77; }

cat > calls.c <<'C'
#include <stdlib.h>
void *volatile kept;
static void keep(void *p) { kept = p; }
__attribute__((noinline)) void leaf(size_t n)
{
    void *p = malloc(n);
    keep(p);
}
__attribute__((noinline)) int middle(size_t n)
{
    leaf(n);
    return kept != 0;
}
static inline int inlined(size_t n)
{
    int a = middle(n);
    return a + !kept;
}
int outer(size_t n)
{
    return inlined(n) + 2;
}
C
cat > run.py <<'PYTHON'
import ctypes
library = ctypes.CDLL("./libcalls.so")
library.outer.argtypes = [ctypes.c_size_t]
library.outer(123_456_789)
PYTHON
cat > show.py <<'PYTHON'
import memray
records = memray.FileReader("out.bin").get_high_watermark_allocation_records()
record = next(each for each in records if each.size == 123_456_789)
for name, file, line in list(record.hybrid_stack_trace())[:4]:
    print(name, file.rpartition("/")[2], line)
PYTHON
for options in -g -gline-tables-only; do
  clang-22 $options -O1 -shared -fPIC calls.c -o libcalls.so
  venv/bin/memray run --native -q -f -o out.bin run.py
  echo "with $options"
  venv/bin/python show.py
done | tee out.txt
middle=$(printf '0x%x' $((0x$(nm libcalls.so | grep ' middle$' | cut -d' ' -f1) + 5)))
llvm-symbolizer-22 -e libcalls.so -f -s "$middle" | tee -a out.txt
lines=$(printf '%s\n' 'leaf calls.c 6' 'middle calls.c 11' 'inlined calls.c 16' 'outer calls.c 21')
[[ $(sed -n 2,5p out.txt) == "$lines" ]]
[[ $(sed -n 7,10p out.txt) == "${lines/middle calls.c 11/middle <unknown> 0}" ]]
[[ $(sed -n 12p out.txt) == calls.c:11:* ]]
