#!/usr/bin/env bash
# The line table of a unit that GCC writes as 64-bit DWARF is 32-bit DWARF.
#
# Guess: with -gdwarf64 all of a unit is 64-bit DWARF, as DWARF 5 section 7.4 asks.
# Seen: GCC writes .debug_info in the 64-bit format, and leaves .debug_line to the assembler,
#   which it does not tell: that table is in the 32-bit format. pyelftools takes the format of
#   the unit, reads offsets of 8 bytes where 4 stand, and raises an error about something else.
# Versions: GCC 12.2.0 with GNU as 2.40; pyelftools 0.33 (PyPI).
# Source: seen.
set -euo pipefail

for tool in gcc as; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
echo 'int one;' | gcc -gdwarf64 -x c -c -o /dev/null - 2>/dev/null \
  || { echo "not available: a gcc with -gdwarf64"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check pyelftools==0.33

cat > program.c <<'C'
int work(int x) {
  return x * 3;
}
C
gcc -gdwarf-5 -gdwarf64 -O1 -fPIC -shared -nostdlib -o program.so program.c

seen=$(venv/bin/python - <<'PYTHON'
from elftools.elf.elffile import ELFFile

with open("program.so", "rb") as stream:
    binary = ELFFile(stream)
    for name in (".debug_info", ".debug_line"):
        first = binary.get_section_by_name(name).data()[:4]
        print(name, "64-bit" if first == b"\xff\xff\xff\xff" else "32-bit")
    dwarf = binary.get_dwarf_info()
    (unit,) = dwarf.iter_CUs()
    try:
        print(len(dwarf.line_program_for_CU(unit).get_entries()), "entries")
    except Exception as error:
        print(type(error).__name__)
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
.debug_info 64-bit
.debug_line 32-bit
ELFParseError
EXPECTED
