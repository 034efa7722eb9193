#!/usr/bin/env bash
# eu-readelf gives the notes of a core of FreeBSD the names that other systems have for the
# same numbers.
#
# Guess: the types of notes are those of their owner, as for GNU's and Xen's. Those of an owner
#   that a tool does not know have no name.
# Seen: the owner is printed and not asked. The table of mappings (NT_PROCSTAT_VMMAP, 10) is a
#   PSTATUS, the auxiliary vector (NT_PROCSTAT_AUXV, 16) an LWPSTATUS, as on Solaris; only what
#   Solaris has not is unknown. GNU readelf says what they are.
# Versions: elfutils 0.188, binutils 2.40 (Debian 12).
# Source: seen; sys/sys/elf_common.h of FreeBSD has the numbers.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in elfutils=0.188-2.1 libelf1=0.188-2.1 libdw1=0.188-2.1 libasm1=0.188-2.1 \
  binutils-x86-64-linux-gnu=2.40-2 binutils-common=2.40-2 libbinutils=2.40-2; do
  apt-get download -qq -o APT::Sandbox::User=root "$package" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu

# A core file of x86-64: a header with FreeBSD's ABI, 9, and one segment of notes.
python3 - <<'PY'
from struct import pack

notes = b"".join(pack("<III8s8s", 8, 8, kind, b"FreeBSD", b"") for kind in (1, 7, 10, 16))
header = b"\x7fELF\2\1\1\x09".ljust(16, b"\0")
header += pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
segment = pack("<II6Q", 4, 4, 120, 0, 0, len(notes), 0, 4)
open("core", "wb").write(header + segment + notes)
PY

seen=$(
  debian/usr/bin/eu-readelf -n core | awk '$1 == "FreeBSD" { print "eu-readelf:", $3 }'
  debian/usr/bin/x86_64-linux-gnu-readelf -n core \
    | awk '$1 == "FreeBSD" { print "readelf:", $3 }'
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
eu-readelf: PRSTATUS
eu-readelf: GWINDOWS
eu-readelf: PSTATUS
eu-readelf: LWPSTATUS
readelf: NT_PRSTATUS
readelf: NT_THRMISC
readelf: NT_PROCSTAT_VMMAP
readelf: NT_PROCSTAT_AUXV
EXPECTED
