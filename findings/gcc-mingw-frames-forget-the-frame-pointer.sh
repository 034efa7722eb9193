#!/usr/bin/env bash
# At the RET of a function of Windows with a frame pointer, GCC's DWARF has a caller far off.
#
# Guess: the rules of .debug_frame hold at each instruction; at a RET the return address is on
# top of the stack, so the frame is rsp+8.
# What happens: where the prologue sets RBP into the middle of the frame (a frame of more than
# 128 bytes, -O0), the last row says rsp+N with the N of the whole frame: the return address
# is read beyond it. Debuggers that stop or sample there lose the stack; .pdata, which
# Windows walks by, is right. The same source for Linux has rsp+8.
# Versions: x86_64-w64-mingw32-gcc 12 (Debian 12), binutils 2.40. Source: seen.
set -euo pipefail
for tool in x86_64-w64-mingw32-gcc x86_64-w64-mingw32-objdump gcc objdump; do
    command -v "$tool" >/dev/null || { echo "$tool is not available"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >app.c <<'C'
int leaf(int *p) { return *p; }
int large(int n) {
    volatile char some[9000];
    some[n] = 1;
    return some[0] + leaf(&n);
}
int mainCRTStartup(void) { return large(1); }
C

# last_row OBJDUMP FILE: where the frame is at the RET of the function with 9000 bytes
last_row() {
    "$1" --dwarf=frames-interp "$2" \
        | awk '/FDE/ {last = ""; large = 0} /[0-9]+ +r[bs]p\+/ {
            split($2, part, "+"); if (part[2] > 8000) large = 1; if (large) last = $2; found = large ? last : found
        } END {print found}'
}

x86_64-w64-mingw32-gcc -g -O0 -nostartfiles -nostdlib -o app.exe app.c -lgcc
gcc -g -O0 -c -fno-omit-frame-pointer -fno-stack-protector app.c -o app.o
windows=$(last_row x86_64-w64-mingw32-objdump app.exe)
echo "frame at the RET: $windows"
linux=$(objdump --dwarf=frames-interp app.o | awk '/^[0-9a-f]+ +r[bs]p\+/ {print $2}' | grep -v rbp | sort -u)
echo "rows by the stack pointer for Linux: $linux"
[[ $windows == rsp+9* && ! $linux =~ 9[0-9][0-9][0-9] ]]
