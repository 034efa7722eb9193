#!/usr/bin/env bash
# addr2line does not see inlined calls of several ranges that clang describes in DWARF 5.
#
# Guess: the ranges of an inlined call are found in either of the forms that DWARF 5 has for
#   them, a section offset (GCC) or an index (DW_FORM_rnglistx, clang), as those of a unit are.
# Seen: of a call whose code lies in one piece `addr2line -fi` prints both frames; of one in
#   several pieces it prints one frame, the name of the caller with the line of the callee, if
#   the ranges are an index. With -gdwarf-4 the same program has both frames everywhere.
# Versions: addr2line of binutils 2.40 (Debian 12); clang of ziglang 0.17.0 (PyPI).
# Source: seen. llvm-symbolizer 22.1.8 prints both frames.
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

cat > work.c <<'C'
extern volatile int sink;
static inline __attribute__((always_inline)) int split(int x) {
  sink = x;
  if (__builtin_expect(x == 77, 0)) { sink = 1; sink = 2; sink = 3; }
  return x * 3;
}
int work(int x) {
  sink = 5;
  return split(x) + sink;
}
C

# All addresses of the function, each once.
addresses() {
  nm -S "$1" | awk '$4 == "work" { print "0x" $1, "0x" $2 }' | while read -r start size; do
    for ((at = start; at < start + size; at++)); do printf '0x%x\n' "$at"; done
  done
}

seen=$(for version in 4 5; do
  venv/bin/python -m ziglang cc -target x86_64-linux-gnu -gdwarf-$version -O2 \
    -fPIC -shared -nostdlib -o work.so work.c
  addresses work.so | debian/usr/bin/x86_64-linux-gnu-addr2line -fie work.so > answers
  echo "DWARF $version: $(($(grep -c '^split$' answers || true) > 0)) inlined"
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
DWARF 4: 1 inlined
DWARF 5: 0 inlined
EXPECTED
