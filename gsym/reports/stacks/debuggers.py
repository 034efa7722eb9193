"""Backtraces and modules of debuggers, and of those that read minidumps."""

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

# ` 1  libc.so.6 + 0x29d90`, ` 0  app!main [main.c : 12 + 0x5]`
_STACKWALK = regex(rf"^ ?{NUMBER}  (?P<shown>(?P<module>\S.*?) \+ {OFFSET})\s*$")
_STACKWALK_ANSWERED = regex(
    rf"^ ?{NUMBER}  "
    r"(?P<shown>[^\s!]+!(?P<symbol>.+? \[[^\[\]]+ : \d+ \+ 0x[0-9a-f]+\]))\s*$"
)
_STACKWALK_PLUS = regex(
    rf"^ ?{NUMBER}  "
    rf"(?P<shown>(?P<module>[^\s!]+)!(?P<symbol>\S.*?) \+ (?P<plus>0x{HEX}))\s*$"
)
_STACKWALK_IMAGE = regex(
    rf"^0x(?P<start>{HEX}) - 0x(?P<last>{HEX})  (?P<module>\S.*?)  \S+(?:  .*)?$"
)
_NO_SYMBOLS = regex(
    r"\(WARNING: (?:No|Corrupt) symbols, (?P<module>\S+), "
    r"(?P<debug_id>[0-9A-Fa-f]{32,40})\)"
)
# For machines: `Module|app||app|DEBUGID|0x55..|0x55..|1`, `0|1|libc.so.6||||0x29d90`
_PIPES_MODULE = regex(
    rf"^Module\|(?P<code>[^|]*)\|[^|]*\|(?P<module>[^|]*)\|(?P<debug_id>[0-9A-Fa-f]*)"
    rf"\|0x(?P<start>{HEX})\|0x(?P<last>{HEX})\|"
)
_PIPES_FRAME = regex(
    rf"^(?P<thread>\d{{1,6}})\|{NUMBER}\|(?P<shown>(?P<module>[^|]+)"
    rf"\|(?P<symbol>[^|]*)\|[^|]*\|\d*\|0x(?P<offset>{HEX}))"
)
# Socorro: `1  xul.dll  mod@0x128a`, Mozilla: `#01: ???[/lib/libxul.so +0x1a2b3c]`
_SOCORRO = regex(rf"^\s*{NUMBER}\s+(?:\S+\s+)*?(?P<shown>(?P<module>[^\s@]+)@{OFFSET})")
_MOZILLA = regex(
    rf"^[^#]*#{NUMBER}: (?:.*?[\s\[])?(?P<shown>(?P<module>[^\s\[]+) \+ ?{OFFSET})"
)

_IS_UNANSWERED = "", "??"

# gdb: `#1  0x00005555555551a9 in ?? () from /lib/libfoo.so`, `#0  main () at a.c:5`
_GDB = regex(
    rf"^#{NUMBER}\s+{ADDRESS} in (?P<shown>(?P<symbol>\S[^ ]*(?: (?!\()[^ ]*)*) \(.*\)"
    r"(?: from (?P<module>\S+))?)\s*$"
)
_GDB_ANSWERED = regex(
    rf"^#{NUMBER}\s+(?:0x{HEX} in )?"
    r"(?P<shown>(?P<symbol>\S[^ ]*(?: (?!\()[^ ]*)* \(.*\) at \S.*:\d+))\s*$"
)
# eu-stack: `#3  0x000056207c0cb307 main`, `#3  0x000056207c0cb307 main - /opt/app`
_EU_STACK = regex(
    rf"^#{NUMBER}\s+(?P<shown>0x(?P<address>[0-9a-f]{{16}})(?: (?P<symbol>[^\s-]\S*))?"
    r"(?: - (?P<module>/\S+))?)\s*$"
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
# lldb: `  * frame #0: 0x0000000100003f59 app`main + 25 at a.c:12:5`
_LLDB = regex(
    rf"^[^#]*frame #{NUMBER}: (?P<shown>{ADDRESS}(?: (?P<module>[^`]+?)"
    r"`(?P<symbol>\S(?:.*\S)?)?)?)\s*$"
)
# `[  0] 5F2C0A7E-... 0x0000000100000000 /opt/app`
_LLDB_IMAGE = regex(
    rf"^\[\s*\d+\] (?P<uuid>[0-9A-F-]{{32,64}})\s+0x(?P<start>{HEX}) "
    r"(?P<module>\S(?:.*\S)?)\s*$"
)
# WinDbg: `00 000000d5`1f 00007ff6`1a app!main+0x25`;
# lm: `00007ff6`1a 00007ff6`1b   app  (...)`
_WIN_HEX = r"[0-9a-f`]{8,17}"
_WINDBG = regex(
    rf"^(?:(?P<number>[0-9a-f]{{2,3}}) )?{_WIN_HEX}(?: +{_WIN_HEX}){{0,4}}"
    rf"(?: +:(?: {_WIN_HEX}){{1,4}} :)? +(?P<shown>(?P<module>[\w.-]+)"
    rf"(?:\+0x(?P<offset>{HEX})|!(?P<symbol>\S.{{0,1024}}?)\+(?P<plus>0x{HEX})))"
)
_WINDBG_MODULE = regex(
    rf"^(?P<start>{_WIN_HEX}) (?P<end>{_WIN_HEX})  +(?P<module>[\w.-]+)"
    r"(?:\s*$|  .*|\s+(?:[A-Z#*] )?\()"
)
# Visual Studio, the window Call Stack: `> app.exe!leaf(int * p) Line 12 + 0x3 bytes C`,
# `    app.exe!00007ff61a2b1110()    Unknown`
_VISUAL_STUDIO = regex(
    r"^[>\s]*(?:\[Inline Frame\] )?(?P<shown>(?P<module>[\w.-]+\.\w{1,8})!(?:"
    r"(?P<address>[0-9a-fA-F]{8}(?:[0-9a-fA-F]{8})?)\(\)|(?P<symbol>[^\s\d][^(]*)(?:\(.*?\))?)"
    r"(?: Line \d+)?(?: ?\+ (?P<plus>0x[0-9a-fA-F]{1,8}) bytes)?)"
    r"\s+(?:C|C\+\+|C\+\+/CLI|Rust|Unknown|Annotated Frame)\s*$"
)
# The window "Modules": name, path, ..., addresses, process.
_VISUAL_STUDIO_MODULE = regex(
    r"^(?P<module>\S[^\t]*\.\w{1,8})\t[^\t]*\\.*\t"
    rf"(?P<start>{HEX})-(?P<end>{HEX})(?:\t|\s*$)"
)

FRAMES = (
    FrameForm("minidump-stackwalk", " + 0x", _STACKWALK_ANSWERED, returns="none"),
    FrameForm("minidump-stackwalk", " + 0x", _STACKWALK_PLUS),
    FrameForm("minidump-stackwalk", " + 0x", _STACKWALK, base="image"),
    FrameForm(
        "minidump-stackwalk -m",
        "|",
        _PIPES_FRAME,
        base="image",
        accepts=lambda found: found["symbol"] in _IS_UNANSWERED,
    ),
    FrameForm("Socorro", "@0x", _SOCORRO, returns="none", base="image"),
    FrameForm("Mozilla stack walk", "0x", _MOZILLA, base="image"),
    FrameForm("gdb backtrace", ") at ", _GDB_ANSWERED),
    FrameForm("gdb backtrace", "0x", _GDB),
    FrameForm("eu-stack", "0x", _EU_STACK),
    FrameForm("lldb backtrace", "frame #", _LLDB),
    FrameForm("WinDbg stack", "+0x", _WINDBG, base="image"),
    FrameForm("Visual Studio stack", "!", _VISUAL_STUDIO),
)
IMAGES = (
    ImageForm("0x", _STACKWALK_IMAGE),
    ImageForm("(WARNING: ", _NO_SYMBOLS),
    ImageForm("Module|", _PIPES_MODULE),
    ImageForm("0x", _GDB_SHARED, base="text"),
    ImageForm("0x", _GDB_MAPPING),
    ImageForm("0x", _LLDB_IMAGE),
    ImageForm("   ", _WINDBG_MODULE),
    ImageForm(":\\", _VISUAL_STUDIO_MODULE),
)
