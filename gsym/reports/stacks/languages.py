"""Stacks that programs print of themselves, and strace of them."""

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

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re

# `   4:     0x5620f3f6a1b5 - app::main::h0123456789abcdef`
_RUST = regex(rf"^\s*{NUMBER}: +(?P<shown>{ADDRESS} - (?P<symbol>\S(?:.*\S)?))\s*$")
# Go: `	/src/main.go:12 +0x1d fp=0xc00 sp=0xc00 pc=0x45e4a5`, after `main.f(...)`;
# libbacktrace has places in other languages below its addresses
_GO = regex(
    r"^\t(?=[^\s:]+\.(?:go|s):|.* (?:\+|pc=)0x)"
    rf"(?P<shown>(?P<symbol>[^\s:]+:\d+)(?: \+0x{HEX})?)"
    rf"(?: fp=0x{HEX} sp=0x{HEX} pc={ADDRESS})?\s*$"
)
# Of Go the function, of Rust the location, of Zig the source, of Java other frames
BETWEEN = (
    regex(r"[jJAv]  \S"),
    regex(r"(?:created by )?[^\s:(]{1,512}\(.*\)\s*$"),
    regex(r"created by \S+"),
    regex(r"\s+at \S+:\d+(?::\d+)?\s*$"),
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
_DART_ID = regex(r"build_id: '(?P<build_id>[0-9a-f]{8,64})'")
_DART_START = regex(rf"isolate_dso_base: (?P<start>{HEX})")
_DART_MODULE = "libapp.so"
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
    rf"^\s*{NUMBER}: +(?P<shown>0x(?P<offset>{HEX}) - "
    r"(?P<module>[^\s!]{1,256})!(?P<symbol>\S(?:.*\S)?))\s*$"
)


def _is_wasm(found: re.Match[str]) -> bool:
    return ".wasm!" in found.string or "<wasm function " in found.string


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
# Of Microsoft's library: `1> C:\src\app.cpp(12): app!main+0x1D`, `1> app!main+0x1D`
_STACKTRACE_WINDOWS = regex(
    rf"^\s*{NUMBER}> (?P<shown>(?:\S.*?\(\d+\): )?(?P<module>[\w.-]+)"
    rf"(?:!(?P<symbol>\S.{{0,512}}?)\+(?P<plus>0x{HEX})|\+0x(?P<offset>{HEX})))\s*$"
)
# Chromium: `#1 0x55d2c7e3a1b5 (/opt/app/electron+0x1234)`
_CHROMIUM = regex(
    rf"#{NUMBER} {ADDRESS} (?P<shown>\((?P<module>[^()\s]+)\+{OFFSET}\))\s*$"
)
# glog: `    @     0x55d2c7e3a1b5  main`, Abseil: `@ 0x55d2c7e3a1b5  1234  (unknown)`
_GLOG = regex(rf"^\s*@\s+(?P<shown>{ADDRESS}  +(?:\d+  )?(?P<symbol>\S(?:.*\S)?))\s*$")
# backward-cpp: `#7    Object "/opt/app", at 0x55d1c0ffe189, in main`
_BACKWARD = regex(
    rf"#{NUMBER} +(?P<shown>Object \"(?P<module>[^\"]+)\", at {ADDRESS}"
    r"(?:, in (?P<symbol>\S(?:.*\S)?))?)"
)
# strace -k, with offsets in files: ` > /opt/app(main+0x19) [0x1189]`
_STRACE = regex(
    r"^ > (?P<shown>(?P<module>/.+?)\((?:(?P<symbol>[^()\s+]+)\+(?P<plus>0x"
    rf"{HEX}))?\) \[{OFFSET}\])\s*$"
)

FRAMES = (
    FrameForm(
        *("WebAssembly", " 0x", _WASMTIME),
        returns="none",
        base="offset",
        accepts=_is_wasm,
    ),
    FrameForm("Rust panic", " 0x", _RUST, returns="all"),
    FrameForm("Go traceback", "\t", _GO, returns="all"),
    FrameForm("Zig panic", ": 0x", _ZIG),
    FrameForm(
        "Dart", " virt ", _DART, returns="none", base="link", module=_DART_MODULE
    ),
    FrameForm("Dart", " abs ", _DART_ABSOLUTE, module=_DART_MODULE),
    FrameForm("Node.js", ": 0x", _NODE, returns="all"),
    FrameForm("D exception", "[0x", _D, returns="none"),
    FrameForm("Crystal", "[0x", _CRYSTAL, returns="all"),
    FrameForm("Fortran", " in ", _FORTRAN, returns="none"),
    FrameForm("WebAssembly", "wasm", _WASM, returns="none", base="offset"),
    FrameForm("JVM error file", "+0x", _JVM),
    FrameForm("strace", " > /", _STRACE, base="file"),
    FrameForm("Chromium stack", "+0x", _CHROMIUM, returns="all"),
    FrameForm("glog", " 0x", _GLOG, returns="all"),
    FrameForm("backward-cpp", "Object ", _BACKWARD, returns="all"),
    FrameForm("libexecinfo backtrace()", "> at ", _LIBEXECINFO, returns="all"),
    FrameForm("Boost.Stacktrace", "# 0x", _BOOST, returns="all"),
    FrameForm("std::stacktrace", "# ", _STACKTRACE, returns="none"),
    FrameForm("std::stacktrace", "# ", _STACKTRACE_ANSWERED, returns="none"),
    FrameForm("std::stacktrace", "frame ", _STACKTRACE_LLVM, returns="none"),
    FrameForm("std::stacktrace", "> ", _STACKTRACE_WINDOWS, base="image"),
)
IMAGES = (
    ImageForm("build_id", _DART_ID, module=_DART_MODULE),
    ImageForm("isolate_dso_base", _DART_START, module=_DART_MODULE),
)
