"""Images in lines of reports: what tools say to be loaded where, and ids of modules.

For the groups of patterns, see `gsym.reports.stacks.line_forms`.
"""

from __future__ import annotations

from gsym.lazy import regex
from gsym.modules.maps import MAPPING
from gsym.reports.stacks.frames import DART_MODULE, WIN_HEX
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
# `0x7ff61a2b0000 - 0x7ff61a2bffff  My Lib.dll  1.0.0.0  (main)`
_STACKWALK = regex(
    rf"^0x(?P<start>{HEX}) - 0x(?P<last>{HEX})  (?P<module>\S.*?)  \S+(?:  .*)?$"
)
# For machines: `Module|app||app|DEBUGID|0x55..|0x55..|1`
_PIPES_MODULE = regex(
    rf"^Module\|[^|]*\|[^|]*\|(?P<module>[^|]*)\|(?P<debug_id>[0-9A-Fa-f]*)"
    rf"\|0x(?P<start>{HEX})\|0x(?P<last>{HEX})\|"
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
# `[  0] 5F2C0A7E-... 0x0000000100000000 /opt/app`, also with `(0x0000000100000000)`
_LLDB = regex(
    rf"^\[\s*\d+\] (?P<uuid>[0-9A-F-]{{32,64}})\s+0x(?P<start>{HEX}) "
    rf"(?P<module>\S.*?)(?: \(0x{HEX}\))?\s*$"
)
# lm: `00007ff6`1a2b0000 00007ff6`1a2c0000   app  (...)`
_WINDBG = regex(
    rf"^(?P<start>{WIN_HEX}) (?P<end>{WIN_HEX})  +(?P<module>[\w.-]+)"
    r"(?:\s*$|  .*|\s+(?:[A-Z#*] )?\()"
)
# Visual Studio, the window Modules: name, path, ..., addresses, process
_VISUAL_STUDIO = regex(
    r"^(?P<module>[^\s:][^\t:]*\.\w{1,8})\t[^\t]*\\(?i:(?P=module))\t.*\t"
    rf"(?P<start>{HEX})-(?P<end>{HEX})(?:\t|\s*$)"
)
# Wine: `PE	0000000140000000-000000014003f000	Dwarf-5         app`
_WINE = regex(
    rf"^(?:PE|ELF)[\w-]*\s+(?P<start>{HEX})-(?P<end>{HEX})\s+\S+\s+(?P<module>\S+)\s*$"
)
# `0x100000000 - 0x10000ffff +org.demo.Example (1.0 - 1) <UUID> /Applications/Example`
_APPLE_RANGE = (
    rf"^[ \t]*\*?0x(?P<start>{HEX})[ \t]+-[ \t]+(?:0x(?P<last>{HEX})|\?\?\?)[ \t]+"
)
_APPLE_ID = r"<(?P<uuid>[0-9a-fA-F-]{32,36})>"
_APPLE = regex(rf"{_APPLE_RANGE}.*{_APPLE_ID}[ \t]*(?P<module>(?!\?)\S(?:.*\S)?)\s*$")
_APPLE_NAME = regex(
    rf"{_APPLE_RANGE}\+?(?P<module>\S+)(?!\S).*{_APPLE_ID}(?: \?\?\?)?\s*$"
)
# `3   My App    0x0000000100001234 0x100000000 + 4660`
_APPLE_LOADED = regex(
    r"^[ \t]*\d{1,6}[ \t]+(?P<module>(?!\?\?\?)\S.{0,200}?)[ \t]+"
    rf"0x{HEX}[ \t]+0x(?P<start>{HEX}) \+ \d+\s*$"
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
    ImageForm(" error", _FAULT_IMAGE, base="executable", has_frame=True),
    ImageForm("build-id", _COREDUMP_ID),
    ImageForm("0x", _STACKWALK),
    ImageForm("(WARNING: ", _NO_SYMBOLS),
    ImageForm("Module|", _PIPES_MODULE),
    ImageForm("0x", _GDB_SHARED, base="text"),
    ImageForm("0x", _GDB_MAPPING),
    ImageForm("0x", _LLDB),
    ImageForm("   ", _WINDBG),
    ImageForm(":\\", _VISUAL_STUDIO),
    ImageForm("-", _WINE),
    ImageForm("<", _APPLE),
    ImageForm("<", _APPLE_NAME),
    ImageForm("0x", _APPLE_LOADED, has_frame=True),
    ImageForm(
        *("(in ", _VALGRIND_PROGRAM),
        usual=range(0x108000, 0x400000),
        has_frame=True,
    ),
    ImageForm("PERF_RECORD_MMAP", _PERF_IMAGE),
    ImageForm("SEGMENT_HEADER", _MEMRAY_IMAGE),
    ImageForm("-", MAPPING),
)
