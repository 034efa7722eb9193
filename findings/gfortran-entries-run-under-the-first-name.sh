#!/usr/bin/env bash
# All entries of a Fortran procedure run in one function, named after the first of them.
#
# Guess: `entry erase(n)` is a DW_TAG_entry_point of `paint`, as DWARF has one for it, or a
#   function of its own: a crash after `call erase` is in `erase`.
# Seen: gfortran makes a function `master.0.paint` of all statements, which no source names,
#   and of each entry a function that jumps into it. DWARF has three subprograms, no
#   entry point. With optimization the jump leaves no frame: libgfortran's own backtrace is
#   `master.0.paint`, then `main`; the name `erase` is nowhere, and the one that is
#   there, `paint`, was never called. The linkage name, `master.0.paint_`, is in the symbol
#   table only, with Fortran's underscore.
# Versions: gfortran 12.2.0 (Debian 12), llvm-dwarfdump 22.1.8.
# Source: seen; build_entry_thunks in gcc/fortran/trans-decl.cc.
set -euo pipefail

for tool in gfortran nm llvm-dwarfdump-22; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > a.f90 <<'FORTRAN'
subroutine paint(n)
  integer :: n
  n = 1 / n
  return
entry erase(n)
  n = 100 / n
  call abort
end subroutine
program main
  integer :: n = 7
  call erase(n)
end program
FORTRAN
gfortran -g -O2 -fno-inline a.f90 -o program
{
  llvm-dwarfdump-22 --debug-info program | grep -c DW_TAG_entry_point || true
  llvm-dwarfdump-22 --debug-info program |
    sed -nE 's/.*DW_AT_(linkage_)?name.*"(.*(paint|erase).*)".*/\1name \2/p'
  nm program | awk '/paint|erase/ { print "symbol", $3 }' | sort
  (bash -c './program; true' 2>&1) | sed -n 's/^#.* in \([a-z].*\)/frame \1/p'
} | tee seen
diff - seen <<'EXPECTED'
0
name master.0.paint
name erase
linkage_name erase_
name paint
linkage_name paint_
symbol erase_
symbol master.0.paint_
symbol paint_
frame master.0.paint
frame main
EXPECTED
