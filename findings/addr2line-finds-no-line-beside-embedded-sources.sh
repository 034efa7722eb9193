#!/usr/bin/env bash
# addr2line finds no line in a program whose line table has the text of a source file.
#
# Guess: DW_LNCT_LLVM_source, which clang writes for -gembed-source and which Zig's own backend
#   writes by itself (for the file builtin.zig that it generates), is skipped by readers that do
#   not know it: the header says its form, so that they can.
# Seen: addr2line says "unknown format content type 8193", finds no line at all in the unit, and
#   no inlined call; the exit status is 0.
# Versions: addr2line of binutils 2.40 (Debian 12); clang of ziglang 0.17.0 (PyPI).
# Source: seen. llvm-symbolizer 22.1.8, symbolic 13.9.0 and pyelftools 0.33 find the lines.
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

seen=$(for option in -gno-embed-source -gembed-source; do
  venv/bin/python -m ziglang c++ -target x86_64-linux-gnu -gdwarf-5 "$option" -O1 \
    -fPIC -shared -nostdlib -o box.so box.cc
  start=0x$(nm box.so | awk '$3 == "_ZN3Box4growEi" { print $1 }')
  status=0
  debian/usr/bin/x86_64-linux-gnu-addr2line -e box.so "$start" > answer 2> said || status=$?
  echo "$option: $(sed 's,.*/,,' answer) status $status$(sed 's/.*error/, error/' said)"
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
-gno-embed-source: box.cc:4 status 0
-gembed-source: box.cc:? status 0, error: unknown format content type 8193
EXPECTED
