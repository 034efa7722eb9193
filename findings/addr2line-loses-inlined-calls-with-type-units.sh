#!/usr/bin/env bash
# One type unit of DWARF 5 in a program, and addr2line prints no inlined calls any more.
#
# Guess: -fdebug-types-section moves types to units of their own, and changes nothing about the
#   functions in the other units; with DWARF 4 it does not.
# Seen: with -gdwarf-5 `addr2line -fi` prints one frame for an address of an inlined call: the
#   name of the function that made the call with the line of the function that was inlined,
#   `Box::grow` at the line of `twice`. Nothing is said on stderr. So do programs of GCC 12.2.0.
# Versions: addr2line of binutils 2.40 (Debian 12); clang of ziglang 0.17.0 (PyPI).
# Source: seen. llvm-symbolizer 22.1.8 and symbolic 13.9.0 print both frames.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0
for package in binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2; do
  apt-get download -qq -o APT::Sandbox::User=root "$package" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu

cat > box.cc <<'C'
struct Box { int size; int grow(int x); };
volatile int sink;
static inline __attribute__((always_inline)) int twice(int x) { sink = x; return x * 2; }
int Box::grow(int x) {
  return twice(x) + size;
}
C

# All addresses of the function, each once.
addresses() {
  nm -S "$1" | awk '$4 == "_ZN3Box4growEi" { print "0x" $1, "0x" $2 }' \
    | while read -r start size; do
        for ((at = start; at < start + size; at++)); do printf '0x%x\n' "$at"; done
      done
}

seen=$(for version in 4 5; do
  for option in -fno-debug-types-section -fdebug-types-section; do
    venv/bin/python -m ziglang c++ -target x86_64-linux-gnu -gdwarf-$version "$option" -O1 \
      -fPIC -shared -nostdlib -o box.so box.cc
    addresses box.so | debian/usr/bin/x86_64-linux-gnu-addr2line -fie box.so > answers
    inlined=$(grep -c twice answers || true)
    echo "DWARF $version $option: $((inlined > 0)) inlined"
  done
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
DWARF 4 -fno-debug-types-section: 1 inlined
DWARF 4 -fdebug-types-section: 1 inlined
DWARF 5 -fno-debug-types-section: 1 inlined
DWARF 5 -fdebug-types-section: 0 inlined
EXPECTED
