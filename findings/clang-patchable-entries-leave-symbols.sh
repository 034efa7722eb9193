#!/usr/bin/env bash
# Functions of clang with patchable entries leave symbols of the assembler in the program.
#
# Guess: names that begin with .L are local to the assembler and reach no ELF file; the
#   instructions before a function that ftrace or a hot patcher fills belong to the function.
# Seen: for -fpatchable-function-entry=8,4 (here by its attribute) clang 22 writes a symbol
#   `.Ltmp0`, NOTYPE, without a size, at the first of the four instructions before the function,
#   and the linker keeps it in .symtab. No symbol with a size covers these bytes, so
#   llvm-symbolizer 22.1.8 calls them `.Ltmp0`. GCC 12.2.0 leaves no such symbol.
# Versions: clang and lld of ziglang 0.17.0, pyelftools 0.33 (both PyPI).
# Source: seen.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0 pyelftools==0.33

cat > program.c <<'C'
volatile int sink;
__attribute__((noinline, patchable_function_entry(8, 4))) int leaf(int x) {
  sink = x;
  return x * 3;
}
int entry(int x) {
  return leaf(x) + 1;
}
C
venv/bin/python -m ziglang cc -target x86_64-freestanding -g -O1 -nostdlib -Wl,-e,entry \
  -o program program.c

seen=$(venv/bin/python - <<'PYTHON'
from elftools.elf.elffile import ELFFile

with open("program", "rb") as stream:
    symbols = ELFFile(stream).get_section_by_name(".symtab")
    (leaf,) = symbols.get_symbol_by_name("leaf")
    for symbol in symbols.iter_symbols():
        if leaf["st_value"] - 16 < symbol["st_value"] <= leaf["st_value"]:
            offset = symbol["st_value"] - leaf["st_value"]
            print(symbol.name, offset, symbol["st_info"]["type"], symbol["st_size"] > 0)
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
.Ltmp0 -4 STT_NOTYPE False
leaf 0 STT_FUNC True
EXPECTED
