#!/usr/bin/env bash
# Wine's debugger lists the DWARF 5 of a program as its debug information and reads none.
#
# Guess: a backtrace of a program that has DWARF 5, the default of GCC since version 11, has
#   names and lines, or the list of modules says that there is no debug information; names
#   of the symbol table are shown in any case.
# Seen: the list says "Dwarf-5", and each frame is `in program (+0x1000)`, as if it were
#   stripped; symbols of MinGW's programs are not read either. With -gdwarf-4 the same
#   source has names, arguments and lines. Only the channel `warn+dbghelp_dwarf` says
#   "DWARF version 5 isn't supported".
# Versions: Wine 8.0 (Debian 12), x86_64-w64-mingw32-gcc 12.
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
int work(int *p) { return *p + 1; }
int mainCRTStartup(void) { return work((int *)16); }
C
for version in 4 5; do
  x86_64-w64-mingw32-gcc -O0 -gdwarf-$version -nostdlib program.c -o program$version.exe
  (wine64 program$version.exe 2>&1 || true) | tr -d '\r' | grep -E '^=>0|^PE.*program' \
    | sed -E 's/0x0+/0x/g; s/\[.*\\/[/; s/ \([0-9a-fx]+\)$//; s/^PE\s+\S+\s+//; s/ +/ /g'
done | tee seen.txt
diff - seen.txt <<'EXPECTED'
=>0 0x14000100c work+0xc(p=0000000000000010) [program.c:1] in program4
Dwarf-4 program4
=>0 0x14000100c in program5 (+0x100c)
Dwarf-5 program5
EXPECTED
