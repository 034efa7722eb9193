#!/usr/bin/env bash
# One unit of clang in DWARF 5 lets debugedit leave the paths of all units, with status 0.
#
# Guess: `debugedit -b BUILD -d DEST program` replaces the source paths that begin with
#   BUILD, and a unit that it cannot read costs that unit alone, or the exit status tells.
# Seen: clang writes strings as DW_FORM_strx1 (0x25). debugedit prints "Unknown DWARF
#   DW_FORM_0x25", changes no byte of the program, so that the units of GCC keep their
#   paths, too, and exits with 0. A package build goes on with paths of its machine, and
#   no source is found below DEST.
# Versions: debugedit 5.0 (Debian 12), clang 19.1.7, GCC 12.2.
# Source: seen.
set -euo pipefail

for tool in clang-19 gcc addr2line; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in debugedit=1:5.0-5 libdw1=0.188-2.1 libelf1=0.188-2.1; do
  apt-get download -qq -o APT::Sandbox::User=root "$package" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu
export PATH=$folder/debian/usr/bin:$PATH

echo 'int main(void) { return 0; }' > a.c
echo 'int twice(int x) { return x * 2; }' > b.c
gcc -g -gdwarf-5 -c a.c
edit() { # the source of main after debugedit, its message before
  gcc a.o "$@" -o program
  debugedit -b "$folder" -d /usr/src/package program 2>&1
  echo "status $?"
  addr2line -e program "0x$(nm program | awk '$3 == "main" { print $1 }')" \
    | sed "s#$folder#BUILD#"
}
gcc -g -gdwarf-5 -c b.c
edit b.o | tee seen
clang-19 -g -gdwarf-5 -c b.c
edit b.o | tee -a seen
diff - seen <<'EXPECTED'
status 0
/usr/src/package/a.c:1
debugedit: program: Unknown DWARF DW_FORM_0x25
status 0
BUILD/a.c:1
EXPECTED
