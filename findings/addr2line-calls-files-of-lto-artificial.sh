#!/usr/bin/env bash
# addr2line calls the source file of a program made with GCC's -flto `<artificial>`.
#
# Guess: the line is that of the source file, as without -flto and as with DWARF 4.
# Seen: `<artificial>:2`. The unit that lto1 writes has that name, its table of files of DWARF 5
#   has it as file 0 and the source as file 1, and addr2line takes the unit's name for file 1.
# Versions: addr2line of binutils 2.40 (Debian 12); GCC 12.2.0 with GNU as 2.40.
# Source: seen. llvm-symbolizer 22.1.8, eu-addr2line 0.188 and symbolic 13.9.0 name the file.
set -euo pipefail

command -v gcc >/dev/null || { echo "not available: gcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2; do
  apt-get download -qq -o APT::Sandbox::User=root "$package" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu

cat > program.c <<'C'
int work(int x) {
  return x * 3;
}
C
seen=$(for options in -gdwarf-5 "-gdwarf-5 -flto" "-gdwarf-4 -flto"; do
  # shellcheck disable=SC2086
  gcc $options -O1 -fPIC -shared -nostdlib -o program.so program.c
  start=0x$(nm program.so | awk '$3 == "work" { print $1 }')
  answer=$(debian/usr/bin/x86_64-linux-gnu-addr2line -e program.so "$start")
  echo "$options: ${answer##*/}"
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
-gdwarf-5: program.c:2
-gdwarf-5 -flto: <artificial>:2
-gdwarf-4 -flto: program.c:2
EXPECTED
