#!/usr/bin/env bash
# A PDB that GNU ld makes of an object with clang's CodeView has nothing, not even symbols.
#
# Guess: `ld --pdb` reads the CodeView that clang writes for MinGW (-gcodeview), or leaves out
#   what it does not know: the public symbols, which need no CodeView, are there in any case.
# Seen: one record that ld does not know costs the whole PDB: its DBI stream (modules, sections,
#   publics, lines) is not written. There are two warnings, the status is 0, and the file
#   stays, without what llvm-pdbutil asks for. The same source without debug information has a
#   PDB with publics.
# Versions: x86_64-w64-mingw32-ld of binutils 2.40 (Debian 12); clang and llvm-pdbutil 22.1.8.
# Source: seen; issue 166743 of llvm/llvm-project has the messages. lld-link 22.1.8 makes a
#   complete PDB of the object.
set -euo pipefail

linker=x86_64-w64-mingw32-ld
for tool in clang-22 llvm-pdbutil-22 $linker; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
[[ $($linker --version | head -1) == *" 2.40" ]] || { echo "not available: ld 2.40"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > a.c <<'C'
static inline int twice(int x) { return x * 2; }
int sink;
int work(int x) { sink = twice(x); return twice(sink); }
int start(void) { return work(3); }
C
seen=$(
  for options in -g0 "-g -gcodeview"; do
    clang-22 --target=x86_64-w64-mingw32 -O1 $options -c a.c -o a.o
    rm -f a.pdb
    $linker --pdb=a.pdb --build-id -e start a.o -o a.exe 2>messages || echo "status $?"
    echo "$options: $(grep -c 'unrecognized CodeView record' messages || true) unknown," \
      "$(grep -c 'cannot populate DBI stream' messages || true) without DBI stream;" \
      "publics: $(llvm-pdbutil-22 dump -publics a.pdb 2>/dev/null | grep -c '`work`' || true)"
  done
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
-g0: 0 unknown, 0 without DBI stream; publics: 1
-g -gcodeview: 1 unknown, 1 without DBI stream; publics: 0
EXPECTED
