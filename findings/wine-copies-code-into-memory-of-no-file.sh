#!/usr/bin/env bash
# Code of a program that Wine runs is in memory of no file, though the file is mapped.
#
# Guess: /proc/PID/maps names the .exe beside its code, as it names the .dll files of Wine, so
#   perf, gdb and what else goes by mappings know which file an address is of.
# Seen: of a program whose sections are aligned to 512 bytes in the file, which is what
#   compilers for Windows do, only the headers and some data are mapped from the file. The
#   code was copied: its mapping has no name, no inode and no offset. Linked with
#   --file-alignment=4096, as Wine's own files, the code is mapped from the file.
# Versions: Wine 8.0 (Debian 12), x86_64-w64-mingw32-gcc 12, binutils 2.40.
# Source: seen.
set -euo pipefail

PATH=$PATH:/usr/lib/wine
for tool in wine64 wineserver64 x86_64-w64-mingw32-gcc; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
export WINEPREFIX=$folder/prefix WINEDEBUG=-all DISPLAY=
trap 'wineserver64 -k || true; rm -rf "$folder"' EXIT
cd "$folder"
wine64 wineboot -i >/dev/null 2>&1

cat > program.c <<'C'
__declspec(dllimport) void __stdcall Sleep(unsigned);
int mainCRTStartup(void) { Sleep(60000); return 0; }
C
for alignment in 512 4096; do
  x86_64-w64-mingw32-gcc -nostdlib program.c -lkernel32 -o program$alignment.exe \
    -Wl,--file-alignment=$alignment,--image-base=0x140000000
  wine64 program$alignment.exe >/dev/null 2>&1 &
  until grep -q '^140001000-.* r-xp' /proc/$!/maps; do
    sleep 0.2
    kill -0 $!
  done
  sed -nE 's/^(14000[01]000)-\S+ (\S+) \S+ \S+ \S+ */\1 \2 /p' /proc/$!/maps \
    | sed -E 's, /.*/, ,; s/ $//'
  kill $!
done | tee seen.txt
diff - seen.txt <<'EXPECTED'
140000000 r--p program512.exe
140001000 r-xp
140000000 r--p program4096.exe
140001000 r-xp program4096.exe
EXPECTED
