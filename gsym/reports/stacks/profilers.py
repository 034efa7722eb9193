"""Stacks that profilers and memory checkers print."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    ADDRESS,
    HEX,
    OFFSET,
    FrameForm,
    ImageForm,
)

FOLDED = "folded stacks"
"""The form of lines that are stacks, the innermost frame last."""

# valgrind adjusts return addresses: `==7==    by 0x109151: ??? (in /opt/app)`, massif:
# `| ->99.80% (36,000B) 0x109151: ??? (in /opt/app)`
_VALGRIND = regex(
    rf"(?:at|by|B\)) 0x(?P<address>{HEX}): (?P<shown>(?P<symbol>\S.{{0,1024}}?) "
    r"\(in (?P<module>[^()]+)\))"
)
_VALGRIND_ANSWERED = regex(
    rf"(?:at|by|B\)) 0x{HEX}: "
    r"(?P<shown>(?P<symbol>\S.{0,1024}? \([^()\s]+:\d+\)))\s*$"
)
# It loads programs that can be moved there.
_VALGRIND_PROGRAM = regex(
    r"(?:at|by|B\)) 0x(?P<address>[0-9A-F]{6}): .{1,1024}? \(in (?P<module>[^()]+)\)"
)
# perf script: `	    55d1c0ffe189 main+0x19 (/opt/app)`, `[unknown] (/opt/app)`
_PERF = regex(
    rf"^\s+(?P<address>{HEX}) (?P<shown>(?:(?P<symbol>[^\s\[(]\S*)\+(?P<plus>0x{HEX})"
    r"|\[unknown\]|[^\s+]+) \((?P<module>/[^()]+|\[[\w.]+\])\))"
)
_PERF_OFFSET = regex(
    rf"^\s+{HEX} (?P<shown>(?:(?P<symbol>\S+) )?\((?P<module>/[^()+]+)\+{OFFSET}\))"
)
_PERF_IMAGE = regex(
    rf"PERF_RECORD_MMAP2? .{{0,64}}?: \[0x(?P<start>{HEX})\(0x(?P<size>[0-9a-f]+)\) @ "
    rf"(?:0x)?(?P<at>{HEX}) .{{0,128}}?\]: \S+ (?P<module>/\S(?:.*\S)?)\s*$"
)
# bcc: `    main+0x19 [app]`, `[unknown] [app]`; bpftrace: `main+25 (/opt/app)`
_BCC = regex(
    rf"^\s+(?:(?P<address>{HEX}) )?(?P<shown>(?P<symbol>[^\s\[(+]+)"
    rf"\+(?P<plus>0x{HEX}|\d+)"
    r" [\[(](?P<module>[^\[\]()]+)[\])])\s*$"
)
# Folded: `app;/opt/app+0x1189;/lib/libc.so.6+0x29d90 17`
_FOLDED = regex(
    rf"(?:^|(?<=;))(?P<shown>(?P<module>[^;\s]{{1,1024}})\+{OFFSET})(?=;| \d+\s*$)"
)
_FOLDED_LINE = regex(r"^[^;]+(?:;[^;]+)+ \d+\s*$")
# py-spy has addresses of the process: `    0x7fd3b2dd21d4 (ext.so)`, and what it knows
# itself: `    decode (ext.so)`, `    work (app.py:3)`; folded:
# `<module> (app.py:4);0x7fd3b2dd21d4 (ext.so) 17`
_PY_SPY_ADDRESS = r"0x(?P<address>[0-9a-f]{9,16}) \((?P<module>[^();]+)\)"
_PY_SPY = regex(
    rf"^    (?P<shown>{_PY_SPY_ADDRESS}|(?P<symbol>(?!at |by )[^\s()][^()]{{0,512}})"
    r" \([^()\s]+(?:\.so[.\d]*|:\d+)\))\s*$"
)
_PY_SPY_FOLDED = regex(rf"(?:^|(?<=;))(?P<shown>{_PY_SPY_ADDRESS})(?=;| \d+\s*$)")
# memray parse: `NATIVE_TRACE_INDEX ip=0x7f2cf2445249 index=2`, of adjusted addresses
_MEMRAY = regex(rf"^NATIVE_(?:FRAME_ID|TRACE_INDEX) ip=(?P<shown>{ADDRESS}) index=")
_MEMRAY_IMAGE = regex(
    rf"^SEGMENT_HEADER filename=(?P<module>.+) num_segments=\d+ addr=0x(?P<start>{HEX})"
)
# Copied from the Firefox Profiler: `0x1a2b3c [libxul.so]`
_COPIED = regex(rf"^\s*(?P<shown>{OFFSET} \[(?P<module>[^\[\]]+)\])\s*$")
# heaptrack and samply: `0x55d1c0ffe189 in /opt/app`, `in /opt/app` after a function
_IN_FILE = regex(
    rf"(?<!\+)(?<!\+ )(?P<shown>{ADDRESS}(?: in (?:\?\? )?|\s+)"
    r"\(?(?P<module>/[^\s()]+)\)?)\s*$"
)

# perf's places of calls, and heaptrack's places and modules
BETWEEN = (
    regex(r"  \S+(?::\d+|\[[0-9a-f]+\])\s*$"),
    regex(r"\s+(?:at|in) \S+\s*$"),
    regex(r"[\d,.]+ calls with \S+ .{1,40} from:\s*$"),
)

FRAMES = (
    FrameForm("valgrind", "0x", _VALGRIND_ANSWERED, returns="none"),
    FrameForm("valgrind", "0x", _VALGRIND, returns="none"),
    FrameForm("perf script", "+0x", _PERF_OFFSET, base="file"),
    FrameForm("perf script", " (", _PERF, base="file"),
    FrameForm("bcc or bpftrace", "+", _BCC),
    FrameForm(
        FOLDED,
        "+0x",
        _FOLDED,
        returns="none",
        repeats=True,
        is_stack=True,
        whole=_FOLDED_LINE,
    ),
    FrameForm(
        FOLDED,
        "0x",
        _PY_SPY_FOLDED,
        returns="before others",
        repeats=True,
        is_stack=True,
        whole=_FOLDED_LINE,
    ),
    FrameForm("py-spy", "    ", _PY_SPY),
    FrameForm("memray", "NATIVE_", _MEMRAY, returns="none"),
    FrameForm("copied profile frames", "0x", _COPIED, returns="none", base="image"),
    FrameForm("addresses in files", "0x", _IN_FILE),
)
IMAGES = (
    ImageForm(
        *("0x", _VALGRIND_PROGRAM),
        usual=range(0x108000, 0x400000),
        has_frame=True,
    ),
    ImageForm("PERF_RECORD_MMAP", _PERF_IMAGE),
    ImageForm("SEGMENT_HEADER", _MEMRAY_IMAGE),
)
