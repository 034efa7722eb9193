#!/usr/bin/env bash
# The DWARF that wasmtime makes of a module leaves parts of functions out of their unit.
#
# Guess: DW_AT_ranges of a unit cover all code of its functions, and calls inlined side by
#   side into a function share no instruction, as in the DWARF of the module.
# Seen: with debug_info=True wasmtime moves the DWARF of the module to the machine code that it
#   compiles. A function has its whole range; its unit lacks hundreds of bytes of it, from
#   the middle, where a reader that looks for the unit of an address first finds none. Ranges of
#   inlined calls next to each other overlap.
# Versions: wasmtime 50.0.1, ziglang 0.17.0, pyelftools 0.33 (PyPI), on x86-64.
# Source: seen.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check wasmtime==50.0.1 ziglang==0.17.0 \
  pyelftools==0.33

cat > program.c <<'C'
#include <stdlib.h>
int main(int count, char **words) { return malloc(count * 100000) == words; }
C
venv/bin/python -m ziglang cc -target wasm32-wasi -O1 -g -gdwarf-4 program.c -o program.wasm

venv/bin/python - <<'PYTHON'
from io import BytesIO

import wasmtime
from elftools.elf.elffile import ELFFile

config = wasmtime.Config()
config.debug_info = True
engine = wasmtime.Engine(config)
module = wasmtime.Module.from_file(engine, "program.wasm")
dwarf = ELFFile(BytesIO(module.serialize())).get_dwarf_info(relocate_dwarf_sections=True)
lists = dwarf.range_lists()


def code(die):
    """The addresses of a unit, a function or a call."""
    if "DW_AT_ranges" in die.attributes:
        entries = lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value)
        return {at for e in entries for at in range(e.begin_offset, e.end_offset)}
    if "DW_AT_low_pc" not in die.attributes:
        return set()
    low = die.attributes["DW_AT_low_pc"].value
    return set(range(low, low + die.attributes["DW_AT_high_pc"].value))


lost, shared = 0, 0
for unit in dwarf.iter_CUs():
    of_unit = code(unit.get_top_DIE())
    for die in unit.iter_DIEs():
        if die.tag == "DW_TAG_subprogram":
            lost += len(code(die) - of_unit)
        calls = [d for d in die.iter_children() if d.tag == "DW_TAG_inlined_subroutine"]
        covered = [code(each) for each in calls]
        shared += sum(map(len, covered)) - len(set().union(*covered))
print(lost, "bytes of functions are outside of their unit,", shared, "are in two calls")
assert lost > 100 and shared > 0, (lost, shared)
PYTHON
