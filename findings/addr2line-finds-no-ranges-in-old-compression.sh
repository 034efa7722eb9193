#!/usr/bin/env bash
# addr2line finds no line where objcopy of the same binutils compressed DWARF 5 the old way.
#
# Guess: `objcopy --compress-debug-sections=zlib-gnu` renames .debug_* to .zdebug_*, which
#   addr2line reads, whatever the version of DWARF.
# Seen: in DWARF 4 each function has its line. In DWARF 5 addr2line and objdump -dl print
#   "can't find .debug_rnglists section", and no line of a unit with several ranges, as soon
#   as that section is large enough to shrink: it is called .zdebug_rnglists, and libbfd
#   looks for .zdebug_rnglist. So a small program has its lines and a larger one has none.
# Versions: binutils 2.40, GCC 12.2 (Debian 12).
# Source: seen; the names are in the text of libbfd. eu-addr2line 0.188 and gdb 13.1, which has
#   names of its own, find the lines; llvm-symbolizer 22 reads no .zdebug_* at all.
set -euo pipefail

command -v gcc >/dev/null || { echo "not available: gcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in binutils-x86-64-linux-gnu libbinutils binutils-common libctf0; do
  apt-get download -qq -o APT::Sandbox::User=root "$package=2.40-2" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu
tool() { "$folder/debian/usr/bin/x86_64-linux-gnu-$1" "${@:2}"; }

functions() { # as many functions as the number given, each in a section of its own
  local at
  for at in $(seq "$1"); do
    echo "__attribute__((section(\".text.f$at\"))) int times$at(int x) { return x * $at; }"
  done
}
line() { # of times2, in a program of $1 functions with DWARF $2
  functions "$1" > many.c
  gcc -g -gdwarf-"$2" -shared -fPIC many.c -o plain.so
  tool objcopy --compress-debug-sections=zlib-gnu plain.so old.so
  local address
  address=0x$(tool nm plain.so | awk '$3 == "times2" { print $1 }')
  echo "$1 functions, DWARF $2: $(tool addr2line -s -e plain.so "$address")," \
    "compressed $(tool addr2line -s -e old.so "$address" 2>/dev/null)"
}
for count in 2 40; do line "$count" 4; line "$count" 5; done | tee seen
diff - seen <<'EXPECTED'
2 functions, DWARF 4: many.c:2, compressed many.c:2
2 functions, DWARF 5: many.c:2, compressed many.c:2
40 functions, DWARF 4: many.c:2, compressed many.c:2
40 functions, DWARF 5: many.c:2, compressed ??:?
EXPECTED
