#!/usr/bin/env bash
# ld.lld --lto-emit-asm does not write the file that -o names.
#
# Guess: `ld.lld --lto-emit-asm a.o -o all.s` writes all.s, as `clang -S -o` does.
# Seen: it exits with 0, writes all.s.lto.s and no all.s, so that a build which names its
#   outputs assembles an old file or none.
# Versions: lld 19.1.7 (Debian 12); lld 22.1.8 does the same.
# Source: seen.
set -euo pipefail

command -v clang-19 >/dev/null || { echo "not available: clang-19"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in lld-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1; do
  apt-get download -qq -o APT::Sandbox::User=root "$package" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu:$folder/debian/usr/lib/llvm-19/lib

echo 'int work(int x) { return x / 3; }' > program.c
clang-19 -O1 -fPIC -flto -c program.c
debian/usr/bin/ld.lld-19 -shared --lto-emit-asm program.o -o all.s
seen=$(echo all.s*)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
all.s.lto.s
EXPECTED
