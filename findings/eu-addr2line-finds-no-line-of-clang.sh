#!/usr/bin/env bash
# eu-addr2line finds neither lines nor inlined calls in programs of clang.
#
# Guess: without .debug_aranges, which clang does not write, a reader takes the ranges of the
#   units, as DW_AT_ranges or DW_AT_low_pc of each say.
# Seen: eu-addr2line answers the name of the symbol and `??:0` for every address. With
#   -gdwarf-aranges the same program has all lines and inlined calls.
# Versions: elfutils 0.188 (Debian 12); clang of ziglang 0.17.0 (PyPI).
# Source: seen. llvm-symbolizer 22.1.8, addr2line 2.40 and symbolic 13.9.0 need no aranges.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0
for package in elfutils=0.188-2.1 libelf1=0.188-2.1 libdw1=0.188-2.1 libasm1=0.188-2.1; do
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

seen=$(for option in -gno-dwarf-aranges -gdwarf-aranges; do
  venv/bin/python -m ziglang c++ -target x86_64-linux-gnu -g "$option" -O1 \
    -fPIC -shared -nostdlib -o box.so box.cc
  addresses box.so | debian/usr/bin/eu-addr2line -fie box.so > answers
  echo "$option: $(($(grep -c box.cc answers || true) > 0)) lines," \
    "$(($(grep -c twice answers || true) > 0)) inlined"
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
-gno-dwarf-aranges: 0 lines, 0 inlined
-gdwarf-aranges: 1 lines, 1 inlined
EXPECTED
