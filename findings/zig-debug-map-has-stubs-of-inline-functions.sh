#!/usr/bin/env bash
# zig's linker puts the address of the stub of an inline function into the debug map.
#
# Guess: in a program for macOS the N_FUN entry of a function has the address of its code, as
#   its symbol has; dsymutil and debuggers move the lines of the object file there.
# Seen: of an inline function (a weak definition) that is called, N_FUN has the address of its
#   stub in __stubs, 6 or 12 bytes long, and the symbol that of the code in __text. So dsymutil
#   describes stubs and what stands behind them as the function; the function has no lines.
# Versions: ziglang 0.17.0 (PyPI), for x86-64 and arm64.
# Source: seen.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0 lief==0.17.0

cat > one.cc <<'C'
inline int twice(int x) { return x * 2; }
int half(int x);
int main(int count, char **) { return twice(count) + half(count); }
C
cat > two.cc <<'C'
inline int twice(int x) { return x * 2; }
int half(int x) { return twice(x) / 2; }
C
cat > symbols.py <<'P'
import sys
import lief

binary = lief.MachO.parse(sys.argv[1]).at(0)
stubs = binary.get_section("__stubs")
for name in ("_main", "__Z4halfi", "__Z5twicei"):
    at = {each.raw_type: each.value for each in binary.symbols if each.name == name}
    places = {0x24: "N_FUN", 0x0F: "symbol"}
    print(name, *(
        f"{title} in {'stubs' if 0 <= at[kind] - stubs.virtual_address < stubs.size else 'text'}"
        for kind, title in places.items()
    ))
P
seen=$(for target in x86_64-macos aarch64-macos; do
  for unit in one two; do
    venv/bin/python -m ziglang c++ -target $target -g -O0 -fno-sanitize=undefined -c $unit.cc
  done
  venv/bin/python -m ziglang c++ -target $target -nostdlib one.o two.o -o program
  venv/bin/python symbols.py program
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
_main N_FUN in text symbol in text
__Z4halfi N_FUN in text symbol in text
__Z5twicei N_FUN in stubs symbol in text
_main N_FUN in text symbol in text
__Z4halfi N_FUN in text symbol in text
__Z5twicei N_FUN in stubs symbol in text
EXPECTED
