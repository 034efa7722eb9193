#!/usr/bin/env bash
# mold types the mapping symbols of its ARM thunks as functions.
#
# Guess: $a, $t and $d, which say where Arm code, Thumb code and data start, have no type, as
#   the ABI demands ("all mapping symbols have type STT_NOTYPE and binding STB_LOCAL", ELF for
#   the Arm Architecture, 5.5.5); what has the type STT_FUNC is a function.
# Seen: in each thunk that mold adds for a far call, $t, $a and $d are STT_FUNC, as the thunk's
#   own symbol. A reader that goes by the type calls the three parts of a thunk $t, $a and $d.
# Versions: mold 1.10.1 (Debian 12); clang of ziglang 0.17.0 (PyPI).
# Source: seen.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ziglang==0.17.0 pyelftools==0.32
apt-get download -qq -o APT::Sandbox::User=root mold=1.10.1+dfsg-1 2>/dev/null \
  || { echo "not available: mold=1.10.1+dfsg-1"; exit 77; }
dpkg-deb -x mold_*.deb debian

cat > far.c <<'C'
int far(int x);
int start(int x) { return far(x) + 1; }
C
venv/bin/python -m ziglang cc -target arm-linux-musleabihf -O1 -c far.c
debian/usr/bin/mold --defsym=far=0x9000000 -e start -o far far.o

cat > symbols.py <<'P'
from elftools.elf.elffile import ELFFile

for symbol in ELFFile(open("far", "rb")).get_section_by_name(".symtab").iter_symbols():
    if symbol.name.startswith(("far$", "$")):
        print(symbol.name, symbol["st_info"]["type"], symbol["st_size"])
P
seen=$(venv/bin/python symbols.py)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
far$thunk STT_FUNC 0
$t STT_FUNC 0
$a STT_FUNC 0
$d STT_FUNC 0
$a STT_NOTYPE 0
EXPECTED
