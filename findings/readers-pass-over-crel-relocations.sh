#!/usr/bin/env bash
# Readers of object files pass over CREL relocations and name every function alike.
#
# Guess: a reader that does not know the compact relocations that clang writes on request
#   (sections .crel.*, type SHT_CREL) refuses the DWARF that needs them, or warns.
# Seen: pyelftools finds no section .rela.debug_info, so it reads the offsets of strings as they
#   stand in the section, which is 0 for all of them: each name is the first string there, here
#   `x`, a parameter. It neither raises nor warns. addr2line 2.40 names the function `x` as well.
# Versions: clang of ziglang 0.17.0, pyelftools 0.33 (both PyPI).
# Source: seen. llvm-symbolizer 22.1.8 applies them.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0 pyelftools==0.33

cat > program.c <<'C'
int work(int x) {
  return x * 3;
}
C
compile=(venv/bin/python -m ziglang cc -target x86_64-linux-gnu -g -O1 -c program.c)
"${compile[@]}" -o rela.o
"${compile[@]}" -Wa,--crel,--allow-experimental-crel -o crel.o

seen=$(venv/bin/python - <<'PYTHON'
from elftools.elf.elffile import ELFFile

for path in ("rela.o", "crel.o"):
    with open(path, "rb") as stream:
        (unit,) = ELFFile(stream).get_dwarf_info().iter_CUs()
        names = [
            die.attributes["DW_AT_name"].value.decode()
            for die in unit.iter_DIEs()
            if "DW_AT_name" in die.attributes
        ]
    print(path, *names)
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
rela.o program.c work x int
crel.o x x x x
EXPECTED
