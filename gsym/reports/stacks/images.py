"""Images in lines of reports: what tools say to be loaded where, and ids of modules.

For the groups of patterns, see `gsym.reports.stacks.line_forms`.
"""

from __future__ import annotations

from gsym.modules.maps import MAPPING
from gsym.patterns import regex
from gsym.reports.stacks.frames import DART_MODULE
from gsym.reports.stacks.line_forms import HEX, ImageForm

_DART_ID = regex(r"build_id: '(?P<build_id>[0-9a-f]{8,64})'")
_DART_START = regex(rf"isolate_dso_base: (?P<start>{HEX})")
# `app[1]: segfault at 0 ip 000055d1c0ffe189 sp .. error 4 in app[55d1c0ffe000+1000]`
_FAULT_IMAGE = regex(
    rf" ip[: ]{HEX} sp[: ]{HEX} error[: ][0-9a-f]+ in (?P<module>[^\[\]]+)"
    rf"\[(?P<start>{HEX})\+(?P<size>[0-9a-f]+)\]"
)
_COREDUMP_ID = regex(
    r"Module (?P<module>\S+) with build-id (?P<build_id>[0-9a-f]{8,64})"
)
_NO_SYMBOLS = regex(
    r"\(WARNING: (?:No|Corrupt) symbols, (?P<module>\S+), "
    r"(?P<debug_id>[0-9A-Fa-f]{32,40})\)"
)
# For machines: `Module|app||app|DEBUGID|0x55..|0x55..|1`
_PIPES_MODULE = regex(
    rf"^Module\|[^|]*\|[^|]*\|(?P<module>[^|]*)\|(?P<debug_id>[0-9A-Fa-f]*)"
    rf"\|0x(?P<start>{HEX})\|0x(?P<end>{HEX})\|"
)
# `0x00007ffff7dd5000  0x00007ffff7f2a000  Yes (*)     /lib/x86_64-linux-gnu/libc.so.6`
_GDB_SHARED = regex(
    rf"^0x(?P<start>{HEX})\s+0x(?P<end>{HEX})\s+(?:Yes|No)(?: \(\*\))?\s+"
    r"(?P<module>\S(?:.*\S)?)\s*$"
)
# info proc mappings: `0x555555554000 0x555555555000 0x1000 0x0 r--p /opt/app`
_GDB_MAPPING = regex(
    rf"^\s*0x(?P<start>{HEX})\s+0x(?P<end>{HEX})\s+0x{HEX}\s+0x(?P<at>{HEX})\s+"
    r"(?:[r-][w-][x-]\S\s+)?(?P<module>/\S(?:.*\S)?)\s*$"
)
# It loads programs that can be moved there.
_VALGRIND_PROGRAM = regex(
    r"(?:at|by|B\)) 0x(?P<address>[0-9A-F]{6}): .{1,1024}? \(in (?P<module>[^()]+)\)"
)
# `PERF_RECORD_MMAP2 4711/4711: [0x55d1c0ffe000(0x1000) @ 0x1000..]: r-xp /opt/app`
_PERF_IMAGE = regex(
    rf"PERF_RECORD_MMAP2? .{{0,64}}?: \[0x(?P<start>{HEX})\(0x(?P<size>[0-9a-f]+)\) @ "
    rf"(?:0x)?(?P<at>{HEX}) .{{0,128}}?\]: \S+ (?P<module>/\S(?:.*\S)?)\s*$"
)
_MEMRAY_IMAGE = regex(
    rf"^SEGMENT_HEADER filename=(?P<module>.+) num_segments=\d+ addr=0x(?P<start>{HEX})"
)

IMAGES = (
    ImageForm("build_id", _DART_ID, module=DART_MODULE),
    ImageForm("isolate_dso_base", _DART_START, module=DART_MODULE),
    ImageForm(" sp", _FAULT_IMAGE, base="executable", has_frame=True),
    ImageForm("build-id", _COREDUMP_ID),
    ImageForm("(WARNING: ", _NO_SYMBOLS),
    ImageForm("Module|", _PIPES_MODULE),
    ImageForm("0x", _GDB_SHARED, base="text"),
    ImageForm("0x", _GDB_MAPPING),
    ImageForm(
        *("0x", _VALGRIND_PROGRAM),
        usual=range(0x108000, 0x400000),
        has_frame=True,
    ),
    ImageForm("PERF_RECORD_MMAP", _PERF_IMAGE),
    ImageForm("SEGMENT_HEADER", _MEMRAY_IMAGE),
    ImageForm("-", MAPPING),
)
