"""Frames in lines of reports: the forms of tools, in order of preference.

They tell what evidence cannot: what a tool calls a frame, which of its addresses
return, what they count from. For the groups of patterns, see
`gsym.reports.stacks.line_forms`.
"""

from __future__ import annotations

from gsym.lazy import regex
from gsym.memory.stack_parts import FOLDED
from gsym.reports.stacks.line_forms import ADDRESS, HEX, NUMBER, OFFSET, FrameForm

# `   4:     0x5620f3f6a1b5 - app::main::h0123456789abcdef`
_RUST = regex(rf"^\s*{NUMBER}: +(?P<shown>{ADDRESS} - (?P<symbol>\S(?:.*\S)?))\s*$")
# Go: `	/src/main.go:12 +0x1d fp=0xc00 sp=0xc00 pc=0x45e4a5`, after `main.f(...)`;
# libbacktrace has places in other languages below its addresses
_GO = regex(
    r"^\t(?=[^\s:]+\.(?:go|s):|.* (?:\+|pc=)0x)"
    rf"(?P<shown>(?P<symbol>[^\s:]+:\d+)(?: \+0x{HEX})?)"
    rf"(?: fp=0x{HEX} sp=0x{HEX} pc={ADDRESS})?\s*$"
)
# `/src/x.zig:3:5: 0x1034e2a in main (x)`, `???:?:?: 0x1034e2a in ??? (x)`
_ZIG = regex(
    rf"(?<!\S)(?P<shown>\S+:[\d?]+:[\d?]+: {ADDRESS} in (?P<symbol>\S+) "
    r"\((?P<module>[^()\s]+)\))"
)
# `    #00 abs 00007f1c virt 0000000000001234 _kDartIsolateSnapshotInstructions+0x5678`,
# of adjusted return addresses; once without `virt`, not adjusted
_DART = regex(
    rf"#{NUMBER} abs {HEX} virt (?P<shown>(?P<offset>{HEX})"
    r"(?: _kDart\w{1,64}\+0x[0-9a-f]{1,16})?)"
)
_DART_ABSOLUTE = regex(
    rf"#{NUMBER} abs (?P<shown>(?P<address>{HEX}) _kDart\w{{1,64}}\+0x[0-9a-f]{{1,16}})"
)
DART_MODULE = "libapp.so"
# hs_err: `C  [libfoo.so+0x1234]  bar+0x10`, also after `# `
_JVM = regex(
    rf"(?:^|# )[CVv]  (?P<shown>\[(?P<module>[^\[\]]+?)\+{OFFSET}\]"
    r"(?:  (?P<symbol>\S.*?))?)(?=  |\s*$)"
)
# Node.js: ` 3: 0xb78db3 node::Abort() [node]`, ` 4: 0x7f64fba45249  [/opt/addon.node]`
_NODE = regex(
    rf"^\s*{NUMBER}: (?P<shown>{ADDRESS} (?P<symbol>.*?) \[(?P<module>[^\[\]]+)\])\s*$"
)
# D, of adjusted addresses: `crash.d:2 void app.act(int) [0x55d72b186358]`,
# `??:? f [0x1]`, `??:? ???[0x1]`, `??:? [0x1]`. A log may have a place, too,
# before a frame of the C library: `crash.c:2 /opt/app(f+0x1) [0x55d72b186358]`
_D = regex(
    r"^(?!\S+ \S*(?:/|\+0x))"
    r"(?P<shown>(?=\?\?:\? |[^\s:]+\.[a-z]\w*:\d+ )(?:\S+ (?!\[))?"
    rf"(?P<symbol>\S.*?) ?\[{ADDRESS}\])\s*$"
)
# Crystal: `[0x401002] *Foo(Int32) +2 in ./app`, also `(1234 times)`; before 1.0 without
# the file. Of an unknown function `?? +139746992965558 in ./app`, which is the address
_CRYSTAL = regex(
    rf"^\s*(?P<shown>\[{ADDRESS}\] (?P<symbol>\S.{{0,2048}}?) \+(?P<plus>\d{{1,20}})"
    r"(?: in (?P<module>\S+(?: \S+)*?))?)(?: \(\d+ times\))?[ \r\n]*$"
)
# Fortran (GNU), of adjusted addresses: `#3  0x561f03a1d16d in ???`
_FORTRAN = regex(rf"^#{NUMBER}  (?P<shown>{ADDRESS} in (?P<symbol>\S+))\s*$")
# Of V8 `at f (wasm://wasm/app.wasm-0133c842:wasm-function[3]:0x4e23)`, where the digits
# of a hash follow the name; of SpiderMonkey
# `f@https://example.org/app.wasm:wasm-function[3]:0x4e23`
_WASM = regex(
    r"(?<![^\s()@])(?P<shown>(?:[a-z-]{2,32}://[^\s()@]{0,256}/)?"
    r"(?P<module>[^\s()@/]{1,256}?)(?:-[0-9a-f]{1,8})?"
    r":wasm-function\[\d{1,9}\]:"
    rf"0x(?P<offset>{HEX}))"
)
# `    0:   0x4e23 - app.wasm!main`, `- <unknown>!<wasm function 3>`
_WASMTIME = regex(
    rf"^(?=.*(?:\.wasm!|<wasm function ))\s*{NUMBER}: +(?P<shown>{OFFSET} - "
    r"(?P<module>[^\s!]{1,256})!(?P<symbol>\S(?:.*\S)?))\s*$"
)
# `0x401136 <main+0x1a> at ./app`
_LIBEXECINFO = regex(
    rf"(?P<shown>{ADDRESS} <(?P<symbol>[^<>\s+]+)\+(?P<plus>(?:0x)?{HEX})>"
    r" at (?P<module>\S+))"
)
# ` 1# 0x000055D2C7E3A1B5 in ./app`
_BOOST = regex(rf"^\s*{NUMBER}# (?P<shown>{ADDRESS} in (?P<module>\S+))")
# ` 1# main at /src/app.cpp:12`, `   2#      at :0 [0x55d2c7e3a1b5]`
_STACKTRACE = regex(rf"^\s*{NUMBER}#\s+(?P<shown>(?:(?P<symbol>\S.*?) )?\[{ADDRESS}\])")
_STACKTRACE_ANSWERED = regex(
    rf"^\s*{NUMBER}# (?P<shown>(?P<symbol>\S.*? (?:at \S+:\d+|in \S+)))\s*$"
)
# Of LLVM's library: `  frame   1: 0x55d2c7e3a1b5: main: /src/app.cc:5`
_STACKTRACE_LLVM = regex(
    rf"^\s*frame +{NUMBER}: (?P<shown>{ADDRESS}(?:: (?P<symbol>\S(?:.*\S)?))?)\s*$"
)
# Chromium: `#1 0x55d2c7e3a1b5 (/opt/app/electron+0x1234)`
_CHROMIUM = regex(
    rf"#{NUMBER} {ADDRESS} (?P<shown>\((?P<module>[^()\s][^()]*?)\+{OFFSET}\))(?! \()"
)
# glog: `    @     0x55d2c7e3a1b5  main`, Abseil: `@ 0x55d2c7e3a1b5  1234  (unknown)`,
# and before it `PC: @     0x55d2c7e3a1b5  (unknown)  raise`
_GLOG_FRAME = (
    rf"@\s+(?P<shown>{ADDRESS} +(?:(?:\d+|\(unknown\))  )?(?P<symbol>[^\s0].*?))\s*$"
)
_GLOG = regex(rf"^\s*{_GLOG_FRAME}")
_GLOG_COUNTER = regex(rf"^PC: {_GLOG_FRAME}")
# backward-cpp: `#7    Object "/opt/app", at 0x55d1c0ffe189, in main`
_BACKWARD = regex(
    rf"#{NUMBER} +(?P<shown>Object \"(?P<module>[^\"]+)\", at {ADDRESS}"
    r"(?:, in (?P<symbol>\S(?:.*\S)?))?)"
)
# strace -k, with offsets in files: ` > /opt/app(main+0x19) [0x1189]`
_STRACE = regex(
    r"^ > (?P<shown>(?P<module>/.+?)\((?:(?P<symbol>\S.*?)\+(?P<plus>0x"
    rf"{HEX}))?\) \[{OFFSET}\])\s*$"
)
# `#1 0x55d1 in f (/opt/app+0x11a5) (BuildId: ab)`, `#0 f <null> (app+0x11a5)`
_SANITIZER = regex(
    rf"^[^#]*#{NUMBER} (?:{ADDRESS} {{1,3}})?(?P<shown>(?:in )?"
    r"(?:(?P<symbol>\S.*?) )?(?:<null> )?"
    rf"\((?P<module>[^()\s]+?)\+{OFFSET}\)"
    r"(?: \(BuildId: (?P<build_id>[0-9a-fA-F]{2,128})\))?)"
)
# `#0 0x55d1a8 in main /src/main.cc:5:3`
_SANITIZER_ANSWERED = regex(
    rf"^[^#]*#{NUMBER} (?:0x{HEX} )?(?P<shown>(?:in )?"
    r"(?P<symbol>\S.*? [^\s()]+:\d+(?::\d+)?)(?: \([^()]*\))*)\s*$"
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
# `#00 pc 0000000000012345  /lib/libfoo.so (foo+1) (BuildId: ab)`, HarmonyOS:
# `#00 pc 0000000000012345 /lib/libfoo.so(foo+1)(0123456789abcdef0123456789abcdef)`
_IN_PARENTHESES = r"\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)"
_ANDROID = regex(
    rf"#{NUMBER} +pc +(?P<shown>(?:0x)?(?P<offset>{HEX})[ \t]+"
    rf"(?P<module>\S+?)(?=\s|$|(?:{_IN_PARENTHESES}){{1,2}}\s*$"
    rf"|(?:{_IN_PARENTHESES})?\([0-9a-f]{{32,40}}\))"
    rf"(?:(?:[ \t]?{_IN_PARENTHESES}){{0,4}}?[ \t]?\((?:BuildId: |(?=[0-9a-f]{{32}}))"
    rf"(?P<build_id>[0-9a-fA-F]{{2,128}})\)|(?:[ \t]?{_IN_PARENTHESES}){{0,4}}))"
)
# `app[1]: segfault at 0 ip 000055d1c0ffe189 sp .. error 4 in app[55d1c0ffe000+1000]`,
# newer: `in app[1189,55d1c0ffe000+1000]`; `traps: .. ip:55.. sp:.. error:0 in app[..]`
_WHY = (
    r"(?P<reason>segfault at [0-9a-f]+|general protection(?: fault)?|trap [\w ]{1,40})"
)
_FAULT = regex(
    rf"(?:{_WHY})? (?P<shown>ip[: ](?P<address>{HEX})) sp[: ]{HEX}"
    r" error[: ][0-9a-f]+(?= in )"
)
_FAULT_OFFSET = regex(
    rf"(?:{_WHY})? (?P<shown>ip[: ]{HEX}) sp[: ]{HEX} error[: ][0-9a-f]+"
    r" in (?P<module>[^\[\]]+)"
    rf"\[(?P<offset>[0-9a-f]{{1,16}}),{HEX}\+[0-9a-f]+\]"
)
# `RIP: 0010:panic+0x12/0x34`, `? f+0x12/0x34 [nf_tables]`, `[<0>] wait+0x1b5/0x2c0`
_KERNEL = regex(
    rf"(?P<shown>(?<![\w.$])(?P<symbol>[A-Za-z_.][\w.$]*)\+(?P<plus>0x{HEX})"
    rf"/0x(?P<function_size>{HEX})"
    r"(?: \[(?P<module>[\w-]+)(?: (?P<build_id>[0-9a-f]{40}))?\])?)"
)
# `[<ffff82d040201175>] F middle+0xc/0x10`, of which R is the counter
_XEN = regex(
    rf"^\(XEN\) .*?\[<(?P<address>{HEX})>\] (?:[RFS] )?(?P<shown>(?P<symbol>[^\s+]+)"
    rf"\+(?P<plus>0(?:x{HEX})?)/0x{HEX})"
)
# SystemTap: ` 0x4005a6 : main+0x26/0x30 [/opt/app]`
_SYSTEMTAP = regex(
    rf"(?<!\w){ADDRESS} (?P<shown>: (?P<symbol>[^\s+]+)\+(?P<plus>0x{HEX})/0x{HEX}"
    r" \[(?P<module>[^\[\]]+)\])"
)
_SYSTEMTAP_UNNAMED = regex(
    rf"(?<!\w){ADDRESS} (?P<shown>\[(?P<module>[^\[\]]+)\+{OFFSET}/0x{HEX}\])"
)
# HAProxy: ` | 0x55d1c0ffe189 [85 c0 75 31]: f+0x3b/0x2e0`, `libc:+0x3c050`
_HAPROXY = regex(
    rf"\| {ADDRESS} \[[0-9a-f ]+\]: (?P<shown>(?:[^\s:+]+:)?"
    rf"(?P<symbol>[^\s:+]*)\+(?P<plus>0x{HEX})(?:/0x{HEX})?)\s*$"
)
_RIP = regex(rf"(?:RIP|PC is at|pc :|epc *:|ERA:|NIP \[).{{0,64}}?{_KERNEL.pattern}")
# ftrace: ` => do_syscall_64`, ` => /opt/app[+0x1189] <000055d1c0ffe189>`
_FTRACE = regex(rf"^ =>\s+(?P<shown>(?P<module>/\S+)\[\+{OFFSET}\](?: <{HEX}>)?)")
_FTRACE_NAME = regex(r"^ =>\s+(?P<shown>(?P<symbol>[A-Za-z_][\w.]*))\s*$")
# systemd-coredump: `#1  0x00007f... n/a (libc.so.6 + 0x3d98a)`
_COREDUMP = regex(
    rf"^[^#]*#(?P<number>\d{{1,6}})\s+0x(?P<address>{HEX}) (?P<shown>(?P<symbol>\S.*?) "
    rf"\((?P<module>\S+) \+ 0x(?P<offset>{HEX})\))"
)
# ` 1  libc.so.6 + 0x29d90`, ` 0  app!main [main.c : 12 + 0x5]`
_STACKWALK = regex(rf"^ ?{NUMBER}  (?P<shown>(?P<module>\S.*?) \+ {OFFSET})\s*$")
_STACKWALK_ANSWERED = regex(
    rf"^ ?{NUMBER}  "
    r"(?P<shown>[^\s!]+!(?P<symbol>.+? \[[^\[\]]+ : \d+ \+ 0x[0-9a-f]+\]))\s*$"
)
# For machines: `0|1|libc.so.6||||0x29d90`
_PIPES_FRAME = regex(
    rf"^\d{{1,6}}\|{NUMBER}\|(?P<shown>(?P<module>[^|]+)"
    rf"\|(?P<symbol>|\?\?)\|[^|]*\|\d*\|0x(?P<offset>{HEX}))"
)
# Socorro: `1  xul.dll  mod@0x128a`, Mozilla: `#01: ???[/lib/libxul.so +0x1a2b3c]`
_SOCORRO = regex(rf"^\s*{NUMBER}\s+(?:\S+\s+)*?(?P<shown>(?P<module>[^\s@]+)@{OFFSET})")
_MOZILLA = regex(
    rf"^[^#]*#{NUMBER}: (?:.*?[\s\[])?"
    rf"(?P<shown>(?P<module>(?!\()[^\s\[]+) \+ ?{OFFSET})"
)
# gdb: `#1  0x00005555555551a9 in ?? () from /lib/libfoo.so`, `#0  main () at a.c:5`
_GDB = regex(
    rf"^#{NUMBER}\s+{ADDRESS} in (?P<shown>(?P<symbol>\S[^ ]*(?: (?!\()[^ ]*)*) \(.*\)"
    r"(?: from (?P<module>\S(?:[^|]*[^|\s])?))?)\s*$"
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
# lldb: `  * frame #0: 0x0000000100003f59 app`main + 25 at a.c:12:5`
_LLDB = regex(
    rf"^[^#]*frame #{NUMBER}: (?P<shown>{ADDRESS}(?: (?P<module>[^`]+?)"
    r"`(?P<symbol>\S(?:.*\S)?)?)?)\s*$"
)
# WinDbg: `00 000000d5`1f 00007ff6`1a app!main+0x25`, at its start `app!f [a.c @ 1]`
WIN_HEX = r"[0-9a-f`]{8,17}"
_WINDBG = regex(
    rf"^(?:(?P<number>[0-9a-f]{{2,3}}) )?{WIN_HEX}(?: +{WIN_HEX}){{0,4}}"
    rf"(?: +:(?: {WIN_HEX}){{1,4}} :)? +(?P<shown>(?P<module>[\w.-]+)"
    rf"(?:\+0x(?P<offset>{HEX})|!(?P<symbol>\S.{{0,1024}}?)"
    rf"(?:\+(?=0x))?(?P<plus>(?<=\+)0x{HEX}|(?= \[[^\[\]]{{1,512}} @ \d{{1,9}}\]))))"
)
# IMAGEHLP: `00401169  0012FF00  0001:00000169 C:\\app.exe`, in the first section
_SECTION = regex(
    r"(?<!\S)(?P<shown>0{1,3}1:(?P<offset>[0-9a-fA-F]{8}|[0-9a-fA-F]{16})\s+"
    r"(?P<module>\S(?:.*\S)?))\s*$"
)
# Wine: `=>0 0x00000140001576 leaf+0x4(x=0x1) [Z:\a.c:4] in app (0x0000000c812e0)`,
# without symbols `  1 0x000001400015a7 in app (+0x15a7) (0x0000000c812e0)`, also of
# modules that its list leaves out
_WINE = regex(
    rf"^(?:=>|  ){NUMBER} (?P<shown>{ADDRESS}(?: (?P<symbol>\S.{{0,2048}}?))?"
    rf" in (?P<module>\S+)(?: \(\+{OFFSET}\))?) \((?:0x)?{HEX}\)\s*$"
)
# Visual Studio, the window Call Stack: `> app.exe!leaf(int * p) Line 12 + 0x3 bytes C`,
# `    app.exe!00007ff61a2b1110()    Unknown`
_VISUAL_STUDIO = regex(
    r"^[>\s]*(?:\[Inline Frame\] )?(?P<shown>(?P<module>[\w.-]+\.\w{1,8})!(?:"
    r"(?P<address>[0-9a-fA-F]{8}(?:[0-9a-fA-F]{8})?)\(\)|(?P<symbol>[^\s\d][^(]*)(?:\(.*?\))?)"
    r"(?: Line \d+)?(?: ?\+ (?P<plus>0x[0-9a-fA-F]{1,8}) bytes)?)"
    r"\s+(?:C|C\+\+|C\+\+/CLI|Rust|Unknown|Annotated Frame)\s*$"
)
# `3   My App    0x0000000100001234 0x100000000 + 4660`, also `main + 25 (main.c:12)`
_APPLE = regex(
    r"^[ \t]*(?P<number>\d{1,6})[ \t]+(?=\S).{1,200}?[ \t]+"
    rf"(?P<shown>0x(?P<address>{HEX})[ \t]+(?P<symbol>\S.*?) \+ "
    r"(?P<plus>\d+)\b(?:.*\S)?)\s*$"
)
_EXCEPTION = regex(rf"(?<=[( ])(?P<shown>0x(?P<address>{HEX}))(?=[ )])")
_EXCEPTION_LINE = regex(rf"^\((?:0x{HEX}\s*)+\)\s*$")
# sample: `    + 2593 ???  (in app)  load address 0x100000000 + 0x3f59  [0x100003f59]`;
# spindump: `  1001  ??? (app + 16217) [0x100003f59]`
_APPLE_SAMPLE = regex(
    r"^[ +!:|*]*\d+ +(?P<shown>(?P<symbol>\S.*?)(?<! ) +\((?:in )?"
    r"(?P<module>[^()]+?)(?: \+ \d+)?\).{0,100}?"
    rf"\[0x(?P<address>{HEX})\])"
)
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
# perf script: `	    55d1c0ffe189 main+0x19 (/opt/app)`, `[unknown] (/opt/app)`
_PERF = regex(
    rf"^\s+(?P<address>{HEX}) (?P<shown>(?:(?P<symbol>[^\s\[(]\S*)\+(?P<plus>0x{HEX})"
    r"|\[unknown\]|[^\s+]+) \((?P<module>/[^()]+|\[[\w.]+\])\))"
)
_PERF_OFFSET = regex(
    rf"^\s+{HEX} (?P<shown>(?:(?P<symbol>\S+) )?\((?P<module>/[^()+]+)\+{OFFSET}\))"
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
# heaptrack and samply: `0x55d1c0ffe189 in /opt/app`, `in /opt/app` after a function
_IN_FILE = regex(
    rf"(?<!\+)(?<!\+ )(?P<shown>{ADDRESS}(?: in (?:\?\? )?|\s+)"
    r"\(?(?P<module>/(?!\S*\+0x)[^\s()]+)\)?)\s*$"
)

FRAMES = (
    FrameForm("WebAssembly", "wasm", _WASMTIME, "none", base="offset"),
    FrameForm("Rust panic", " 0x", _RUST, "all"),
    FrameForm("Go traceback", "\t", _GO, "all"),
    FrameForm("Zig panic", ": 0x", _ZIG),
    FrameForm("Dart", " virt ", _DART, "none", base="link", module=DART_MODULE),
    FrameForm("Dart", " abs ", _DART_ABSOLUTE, module=DART_MODULE),
    FrameForm("Node.js", ": 0x", _NODE, "all"),
    FrameForm("D exception", "[0x", _D, "none"),
    FrameForm("Crystal", "[0x", _CRYSTAL, "all"),
    FrameForm("Fortran", " in ", _FORTRAN, "none"),
    FrameForm("WebAssembly", "wasm", _WASM, "none", base="offset"),
    FrameForm("JVM error file", "[", _JVM),
    FrameForm("strace", " > /", _STRACE, base="file"),
    FrameForm("Chromium stack", "+0x", _CHROMIUM, "all"),
    FrameForm("glog", "PC: @", _GLOG_COUNTER),
    FrameForm("glog", " 0x", _GLOG, "all"),
    FrameForm("backward-cpp", "Object ", _BACKWARD, "all"),
    FrameForm("libexecinfo backtrace()", "> at ", _LIBEXECINFO, "all"),
    FrameForm("Boost.Stacktrace", "# 0x", _BOOST, "all"),
    FrameForm("std::stacktrace", "# ", _STACKTRACE, "none"),
    FrameForm("std::stacktrace", "# ", _STACKTRACE_ANSWERED, "none"),
    FrameForm("std::stacktrace", "frame ", _STACKTRACE_LLVM, "none"),
    FrameForm("compute-sanitizer", "+0x", _CUDA_DEVICE, "none"),
    FrameForm("compute-sanitizer", " Frame:", _CUDA_HOST, "all"),
    FrameForm("sanitizer", "+0x", _SANITIZER, "none"),
    FrameForm("sanitizer", "#", _SANITIZER_ANSWERED, "none"),
    FrameForm("Android backtrace", " pc ", _ANDROID, "none", base="link"),
    FrameForm("kernel segfault line", " error", _FAULT_OFFSET, "none", base="file"),
    FrameForm("kernel segfault line", " error", _FAULT, "none"),
    FrameForm("ftrace", "=>", _FTRACE, base="executable"),
    FrameForm("ftrace", "=>", _FTRACE_NAME),
    FrameForm("systemd-coredump", " + 0x", _COREDUMP, base="image"),
    FrameForm("SystemTap", "/0x", _SYSTEMTAP),
    FrameForm("SystemTap", "/0x", _SYSTEMTAP_UNNAMED, base="image"),
    FrameForm("HAProxy", "]: ", _HAPROXY, "all"),
    FrameForm("Xen stack", "(XEN)", _XEN, base="link", module="xen-syms"),
    FrameForm("kernel stack", "/0x", _RIP, "none", module="vmlinux"),
    FrameForm("kernel stack", "/0x", _KERNEL, "all", module="vmlinux"),
    FrameForm("minidump-stackwalk", " + 0x", _STACKWALK_ANSWERED, "none"),
    FrameForm("minidump-stackwalk", " + 0x", _STACKWALK, base="image"),
    FrameForm("minidump-stackwalk -m", "|", _PIPES_FRAME, base="image"),
    FrameForm("Socorro", "@0x", _SOCORRO, "none", base="image"),
    FrameForm("Mozilla stack walk", "0x", _MOZILLA, base="image"),
    FrameForm("gdb backtrace", ") at ", _GDB_ANSWERED),
    FrameForm("gdb backtrace", "0x", _GDB),
    FrameForm("eu-stack", "0x", _EU_STACK),
    FrameForm("lldb backtrace", "frame #", _LLDB),
    FrameForm("WinDbg stack", "+0x", _WINDBG, base="image", radix=16),
    FrameForm("WinDbg stack", "@ ", _WINDBG, base="image", radix=16),
    FrameForm("Windows stack", "1:0", _SECTION, base="text"),
    FrameForm("Wine backtrace", " in ", _WINE, base="image"),
    FrameForm("Visual Studio stack", "!", _VISUAL_STUDIO),
    FrameForm("Apple crash report", "0x", _APPLE, has_heading=True),
    FrameForm("Apple crash report", "(0x", _EXCEPTION, "all", whole=_EXCEPTION_LINE),
    FrameForm("Apple sample", " [0x", _APPLE_SAMPLE, "none"),
    FrameForm("valgrind", ": ", _VALGRIND_ANSWERED, "none"),
    FrameForm("valgrind", "(in ", _VALGRIND, "none"),
    FrameForm("perf script", "+0x", _PERF_OFFSET, base="file"),
    FrameForm("perf script", " (", _PERF, base="file"),
    FrameForm("bcc or bpftrace", "+", _BCC),
    FrameForm(FOLDED, ";", _FOLDED, "none", whole=_FOLDED_LINE),
    FrameForm(FOLDED, ";", _PY_SPY_FOLDED, "before others", whole=_FOLDED_LINE),
    FrameForm("py-spy", "    ", _PY_SPY),
    FrameForm("memray", "NATIVE_", _MEMRAY, "none"),
    FrameForm("addresses in files", "/", _IN_FILE),
)

BETWEEN = (
    # Of Go the function, of Rust the location, of Zig the source, of Java other frames
    regex(r"[jJAv]  \S"),
    regex(r"\{\"[^\[\n]*\Z"),  # an object of JSON in the same line
    # Between texts in JSON, and around those of gdb
    regex(r"\"\s*(?:[\],}]|\w+=|$)|.*[\[:,=]\s*\"\Z|[^\"]*[~&@]\"\Z"),
    regex(r"(?:created by )?[^\s:(]{1,512}\(.*\)\s*$"),
    regex(r"created by \S+"),
    regex(r"\s+at \S+:\d+(?::\d+)?\s*$"),
    regex(r"=+ {2,}\S"),  # of compute-sanitizer
    # perf's places of calls, and heaptrack's places and modules
    regex(r"  \S+(?::\d+|\[[0-9a-f]+\])\s*$"),
    regex(r"\s+(?:at|in) \S+\s*$"),
    regex(r"[\d,.]+ calls with \S+ .{1,40} from:\s*$"),
)
"""Lines among the frames of a stack that do not end it."""
