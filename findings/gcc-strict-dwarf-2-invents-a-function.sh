#!/usr/bin/env bash
# GCC describes the second part of a function as a function that nobody wrote.
#
# Guess: a function that GCC splits in two is described once, or as `work` twice.
# Seen: strict DWARF 2 has no DW_AT_ranges, so GCC writes a second DW_TAG_subprogram for the cold
#   part, named `__second_sect_of_work`, at the line of `work`. No symbol has that name: the one
#   there is `work.cold`. Readers that prefer names of DWARF print it (eu-addr2line 0.188).
# Versions: GCC 12.2.0; pyelftools 0.33 (PyPI) reads.
# Source: seen.
set -euo pipefail

command -v gcc >/dev/null || { echo "not available: gcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check pyelftools==0.33

cat > program.c <<'C'
void report(int) __attribute__((cold));
int check(int x);
int work(int x) {
  int y = check(x);
  if (y < 0) {
    report(y);
    report(x);
    y = check(-y);
  }
  return check(y + 1) * 2;
}
C
gcc -gdwarf-2 -gstrict-dwarf -O2 -fPIC -shared -nostdlib -o program.so program.c
nm program.so | grep -q ' work.cold$' || { echo "not available: a GCC that splits"; exit 77; }

seen=$(venv/bin/python - <<'PYTHON'
from elftools.elf.elffile import ELFFile

with open("program.so", "rb") as stream:
    binary = ELFFile(stream)
    symbols = {
        symbol["st_value"]: symbol.name
        for symbol in binary.get_section_by_name(".symtab").iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC"
    }
    (unit,) = binary.get_dwarf_info().iter_CUs()
    for die in unit.iter_DIEs():
        if die.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in die.attributes:
            start = die.attributes["DW_AT_low_pc"].value
            name = die.attributes["DW_AT_name"].value.decode()
            line = die.attributes["DW_AT_decl_line"].value
            print(name, "line", line, "symbol", symbols[start])
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
work line 3 symbol work
__second_sect_of_work line 3 symbol work.cold
EXPECTED
