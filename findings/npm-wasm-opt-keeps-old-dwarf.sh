#!/usr/bin/env bash
# wasm-opt of npm's package binaryen keeps the DWARF of the code that it replaces.
#
# Guess: `wasm-opt -g -O2` moves the addresses in .debug_info and .debug_line with the code, as
#   Debian's wasm-opt 108 does, or removes these sections.
# Seen: the package of npm is built without DWARF support: `wasm-opt --dwarfdump` says so, and -g
#   does not. It inlines `outer` into `run` and copies the sections byte for byte. The line table
#   reaches beyond the end of the code, and answers after the first change are of other lines.
# Versions: binaryen 132.0.0 (npm), clang of ziglang 0.17.0 (PyPI).
# Source: seen.
set -euo pipefail

for tool in node npm; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0
npm install --silent --no-save --prefix "$folder" binaryen@132.0.0

cat > program.c <<'C'
__attribute__((noinline)) int leaf(int x) { return x * 3 + 1; }
__attribute__((noinline)) int outer(int x) {
  int total = 0;
  for (int i = 0; i < x; i++)
    total += leaf(i) + 2;
  return total;
}
__attribute__((export_name("run"))) int run(int x) { return outer(x) + leaf(x); }
C
venv/bin/python -m ziglang cc -target wasm32-freestanding -g -O1 -nostdlib -Wl,--no-entry \
  -o before.wasm program.c
node_modules/.bin/wasm-opt -g -O2 before.wasm -o after.wasm 2> warnings

seen=$(python3 - <<'PYTHON'
def number(data, at):
    size = next(count for count in range(1, 6) if data[at + count - 1] < 0x80)
    value = sum((data[at + n] & 0x7F) << 7 * n for n in range(size))
    return value, at + size

def sections(path):
    data, at, found = open(path, "rb").read(), 8, {}
    while at < len(data):
        kind = data[at]
        size, start = number(data, at + 1)
        at = start + size
        if kind == 0:
            length, start = number(data, start)
            kind, start = data[start : start + length].decode(), start + length
        found[kind] = data[start:at]
    return found

before, after = sections("before.wasm"), sections("after.wasm")
print("code shrank:", len(after[10]) < len(before[10]))
for name in (".debug_line", ".debug_info"):
    print(name, "is the same:", after[name] == before[name])
print("warnings:", repr(open("warnings").read()))
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
code shrank: True
.debug_line is the same: True
.debug_info is the same: True
warnings: ''
EXPECTED
