"""Reports of the sanitizers of CUDA, and of Clang and GCC, which adjust addresses."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    ADDRESS,
    HEX,
    NUMBER,
    OFFSET,
    FrameForm,
    ImageForm,
)

# `#1 0x55d1 in f (/opt/app+0x11a5) (BuildId: ab)`, `#0 f <null> (app+0x11a5)`
_FRAME = regex(
    rf"^[^#]*#{NUMBER} (?:{ADDRESS} {{1,3}})?(?P<shown>(?:in )?"
    r"(?:(?P<symbol>\S.*?) )?(?:<null> )?"
    rf"\((?P<module>[^()\s]+?)\+{OFFSET}\)"
    r"(?: \(BuildId: (?P<build_id>[0-9a-fA-F]{2,128})\))?)"
)
# `#0 0x55d1a8 in main /src/main.cc:5:3`
_ANSWERED = regex(
    rf"^[^#]*#{NUMBER} (?:0x{HEX} )?(?P<shown>(?:in )?"
    r"(?P<symbol>\S.*? [^\s()]+:\d+(?::\d+)?)(?: \([^()]*\))*)\s*$"
)
# `0x55d1c0ffd000-0x55d1c1000fff /opt/app (ab12)`, by print_module_map, and with a tab
# by each segment
_IMAGE = regex(
    rf"0x(?P<start>{HEX})-0x(?P<end>{HEX})[ \t](?P<module>/\S+)"
    r"(?: \((?P<build_id>[0-9A-F-]{8,64})\))?"
)
# compute-sanitizer, of code of the device: `=========     at scale(int *)+0x60`,
# `=========     Device Frame:scale(int *)+0x60 in /src/k.cu:6`
_CUDA_DEVICE = regex(
    r"^=+ +(?:at |Device Frame: ?)(?P<shown>(?P<symbol>\S.{0,2047}?)"
    rf"\+(?P<plus>0x{HEX})(?: in \S+:\d+)?)\s*$"
)
# and of the host: `=========         Host Frame: run(int) [0x9544e] in app.so`
_CUDA_HOST = regex(
    r"^=+ +Host Frame: ?(?P<shown>(?:(?P<symbol>\S.{0,2047}?) )?"
    rf"\[{OFFSET}\] in (?P<module>\S.*\S))\s*$"
)

BETWEEN = (regex(r"=+ {2,}\S"),)

FRAMES = (
    FrameForm("compute-sanitizer", "+0x", _CUDA_DEVICE, returns="none"),
    FrameForm("compute-sanitizer", " Frame:", _CUDA_HOST, returns="all"),
    FrameForm("sanitizer", "+0x", _FRAME, returns="none"),
    FrameForm("sanitizer", "#", _ANSWERED, returns="none"),
)
IMAGES = (ImageForm("0x", _IMAGE),)
