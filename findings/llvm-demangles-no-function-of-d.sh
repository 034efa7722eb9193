#!/usr/bin/env bash
# LLVM demangles the names of D's variables, and of no function.
#
# Guess: LLVM has a demangler of D, so llvm-cxxfilt prints `_D1a5twiceFiZi` as
#   a.twice(int), and llvm-symbolizer does so in stacks.
# Seen: a variable is demangled; the name of a function, which has the types of its
#   parameters, comes back as it is, also from llvm-symbolizer. GNU c++filt reads it
#   with `-s dlang`, and not by default.
# Versions: llvm-22 22.1.8, binutils 2.40, ldc 1.30.0 (Debian 12).
# Source: seen; types of functions are a "TODO" in llvm/lib/Demangle/DLangDemangle.cpp.
set -euo pipefail

for tool in llvm-cxxfilt-22 llvm-symbolizer-22 c++filt ldc2 nm; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > a.d <<'SOURCE'
module a;
extern (C) int main() { return twice(1); }
int twice(int x) { return x * 2; }
SOURCE
ldc2 -g -betterC a.d -of=program
symbol=_D1a5twiceFiZi
{
  llvm-cxxfilt-22 _D1a5counti "$symbol"
  llvm-symbolizer-22 --demangle -s -e program \
    "0x$(nm program | awk -v name="$symbol" '$3 == name { print $1 }')" | head -n 1
  c++filt "$symbol"
  c++filt -s dlang "$symbol"
} | tee seen
diff - seen <<'EXPECTED'
a.count
_D1a5twiceFiZi
_D1a5twiceFiZi
_D1a5twiceFiZi
a.twice(int)
EXPECTED
